//! The matrix unit against a plain matrix product (`semantics.md` 5.3, 5.4).

use half::f16;

use super::program::{CODE, Program, WORKER, ZERO, tile};
use crate::isa::AmpFlags;

const INPUT: u32 = 0x60000;
const PARTIAL: u32 = 0x64000;
const OUTPUT: u32 = 0x68000;
const WEIGHTS: u32 = 0x80000;

/// One of the four f16 forms.
struct Variant {
    form: &'static str,
    channels: usize,
    /// Partials and results in f32 instead of f16.
    wide_in: bool,
    wide_out: bool,
    engines: usize,
}

/// The unit of a channel (`semantics.md` 5.3), for two chains or one.
fn unit(channel: usize, channels_of_chains: usize) -> usize {
    if channels_of_chains == 1 { channel } else { 2 * (channel >> 2) + (channel & 1) + 8 * ((channel >> 1) & 1) }
}

fn bytes(values: &[f32], wide: bool) -> Vec<u8> {
    values
        .iter()
        .flat_map(|&v| if wide { v.to_le_bytes().to_vec() } else { f16::from_f32(v).to_le_bytes().to_vec() })
        .collect()
}

/// `out[r][c] = partial[r][c] + sum of x[r][k] w[c][k]` by the unit: prime, rows, drain, one worker, straight code.
fn product(v: &Variant, rows: usize, x: &[f32], w: &[f32], partial: Option<&[f32]>) -> Vec<f32> {
    let phases = v.engines;
    let depth = 4 * phases;
    let chains = if v.form.contains("v4amp") { 2 } else { 1 };
    let flags = AmpFlags::default();
    let flag = |p: usize| i32::from(flags.value(&format!("TAMP_F16V4_E{}_P{p}", v.engines)).expect("a name"));
    // Operand widths in 32-bit registers.
    let words_in = chains * if v.wide_in { 2 } else { 1 };
    let words_out = chains * if v.wide_out { 2 } else { 1 };

    let mut code = Program::at(WORKER);
    code.set(0, INPUT).set(1, PARTIAL).set(2, OUTPUT);
    code.op("setzi_aaan_zi", &[0, 8]).op("uput_aaan_zi", &[1, 0]);
    for step in 0..(rows + 2) * phases {
        let (window, phase) = (step / phases, step % phases);
        let (in_row, with_partial) = ((1..=rows).contains(&window), window < rows && partial.is_some());
        let x = if in_row { 0 } else { 14 };
        let p = if with_partial {
            2
        } else if words_in == 2 {
            14
        } else {
            ZERO
        };
        if in_row {
            code.op("ld64step_mmbn_si", &[0, ZERO, 0, 1]);
        }
        if with_partial {
            code.op(if words_in == 2 { "ld64step_mmbn_si" } else { "ld32step_mmbn_si" }, &[2, ZERO, 1, 1]);
        }
        code.op(v.form, &[4, x, p, flag(phase)]);
        if window >= 2 {
            code.op(if words_out == 2 { "st64step_mbmn_si" } else { "st32step_mbmn_si" }, &[4, ZERO, 2, 1]);
        }
    }
    code.op("exitz_mmmn", &[ZERO]);
    assert!(code.here() < INPUT);

    let mut supervisor = Program::at(CODE);
    supervisor.set(0, WEIGHTS).op("put_mmmn_zi", &[2, 1]).op("put_mmmn_zi", &[0x50, 0]);
    for c in 0..v.channels {
        for n in 0..phases {
            supervisor.op("ld64putcs_mmmn_zi", &[(4 * unit(c, chains) + n) as i32]);
        }
    }
    supervisor.set(0, WORKER).op("run_mmmn_zi", &[0, ZERO, 0]).op("sync_mmmn_zi", &[2]).ret();

    let mut machine = tile();
    code.load(&mut machine);
    supervisor.load(&mut machine);
    machine.load(INPUT, &bytes(x, false));
    machine.load(WEIGHTS, &bytes(w, false));
    if let Some(partial) = partial {
        machine.load(PARTIAL, &bytes(partial, v.wide_in));
    }
    machine.set_register(1, 4);
    let call = machine.call(CODE).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(call.amp_macs_f16, (rows * depth * v.channels) as u64, "{}", v.form);
    let size = if v.wide_out { 4 } else { 2 };
    let out = machine.read(OUTPUT, (rows * v.channels * size) as u32);
    if v.wide_out {
        out.chunks(4).map(|b| f32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
    } else {
        out.chunks(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
    }
}

fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for engines in [4, 2, 1] {
        for (form, chains, wide_in, wide_out) in [
            ("f16v4hihov4amp_aaan_ef", 2, false, false),
            ("f16v4hihoamp_aaan_ef", 1, false, false),
            ("f16v4sihoamp_aaan_ef", 1, true, false),
            ("f16v4sisoamp_aaan_ef", 1, true, true),
        ] {
            all.push(Variant { form, channels: chains * 2 * engines, wide_in, wide_out, engines });
        }
    }
    all
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
    fn integers(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| (self.next() % 9) as f32 - 4.0).collect()
    }
    fn reals(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| f16::from_f32(self.next() as f32 / (1u64 << 30) as f32 - 1.0).to_f32()).collect()
    }
}

fn reference(v: &Variant, rows: usize, x: &[f32], w: &[f32], partial: Option<&[f32]>) -> Vec<f64> {
    let depth = 4 * v.engines;
    let mut out = Vec::new();
    for r in 0..rows {
        for c in 0..v.channels {
            let dot: f64 = (0..depth).map(|k| f64::from(x[r * depth + k]) * f64::from(w[c * depth + k])).sum();
            out.push(dot + partial.map_or(0.0, |p| f64::from(p[r * v.channels + c])));
        }
    }
    out
}

#[test]
fn small_integers_are_exact() {
    let mut random = Random(7);
    for v in variants() {
        for rows in 1..5 {
            let depth = 4 * v.engines;
            let (x, w) = (random.integers(rows * depth), random.integers(v.channels * depth));
            let partial = random.integers(rows * v.channels);
            for partial in [None, Some(&partial[..])] {
                let got: Vec<f64> = product(&v, rows, &x, &w, partial).into_iter().map(f64::from).collect();
                assert_eq!(got, reference(&v, rows, &x, &w, partial), "{} E{} {rows} rows", v.form, v.engines);
            }
        }
    }
}

#[test]
fn random_numbers_agree_within_rounding() {
    let mut random = Random(11);
    for v in variants() {
        for _ in 0..10 {
            let (rows, depth) = (5, 4 * v.engines);
            let (x, w) = (random.reals(rows * depth), random.reals(v.channels * depth));
            let partial = random.reals(rows * v.channels);
            let got = product(&v, rows, &x, &w, Some(&partial));
            for (got, expected) in got.into_iter().zip(reference(&v, rows, &x, &w, Some(&partial))) {
                // One rounding of each of four steps to f32, then one to the output format.
                let unit = if v.wide_out { 2f64.powi(-22) } else { 2f64.powi(-11) };
                let bound = expected.abs().max(2f64.powi(-14)) * unit + 17.0 * 4.0 * 2f64.powi(-24);
                assert!((f64::from(got) - expected).abs() <= bound, "{}: {got} against {expected}", v.form);
            }
        }
    }
}

#[test]
fn flag_values_mean_what_the_table_says() {
    let flags = AmpFlags::default();
    for value in 0..64u8 {
        let (outcome, _) = super::program::on_workers(|p| {
            p.op("f16v4hihov4amp_aaan_ef", &[0, 14, 14, i32::from(value)]).op("exitz_mmmn", &[ZERO]);
        });
        assert_eq!(outcome.is_ok(), flags.step("F16V4", value).is_some(), "flag value {value}");
    }
}

#[test]
fn coefficients_of_both_load_forms_are_the_same() {
    // The 128-bit form writes an even entry and the next one.
    let v = &variants()[0];
    let mut random = Random(3);
    let (x, w) = (random.integers(16), random.integers(256));
    let expected = product(v, 1, &x, &w, None);
    let mut supervisor = Program::at(CODE);
    supervisor.set(0, WEIGHTS).op("put_mmmn_zi", &[0x50, 0]);
    for c in 0..16 {
        for n in [0, 2] {
            supervisor.op("ld128putcs_mmmn_zi", &[(4 * unit(c, 2) + n) as i32]);
        }
    }
    supervisor.set(0, WORKER).op("run_mmmn_zi", &[0, ZERO, 0]).op("sync_mmmn_zi", &[2]).ret();
    let mut code = Program::at(WORKER);
    code.set(0, INPUT).set(2, OUTPUT).op("setzi_aaan_zi", &[0, 8]).op("uput_aaan_zi", &[1, 0]);
    for phase in 0..8 {
        if phase < 4 {
            code.op("ld64step_mmbn_si", &[0, ZERO, 0, 1]);
        }
        code.op("f16v4hihov4amp_aaan_ef", &[4, if phase < 4 { 0 } else { 14 }, 14, phase % 4]);
        if phase >= 4 {
            code.op("st64step_mbmn_si", &[4, ZERO, 2, 1]);
        }
    }
    code.op("exitz_mmmn", &[ZERO]);
    let mut machine = tile();
    code.load(&mut machine);
    supervisor.load(&mut machine);
    machine.load(INPUT, &bytes(&x, false));
    machine.load(WEIGHTS, &bytes(&w, false));
    machine.call(CODE).unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(machine.read(OUTPUT, 32), bytes(&expected, false));
}
