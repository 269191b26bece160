//! What single operations do: integer, memory, floating point, permutes, accumulators, control registers.

use half::f16;

use super::program::{CODE, Program, ZERO, call, on_workers, on_workers_with, tile};

/// `$m0` after `$m0 = 7; form $m0, $m1, $m2` on the supervisor (or the operands given).
fn integer(form: &str, a: u32, b: u32, operands: &[i32]) -> u32 {
    let mut program = Program::at(CODE);
    program.op(form, operands).ret();
    let mut tile = tile();
    program.load(&mut tile);
    for (register, value) in [(0, 7), (1, a), (2, b)] {
        tile.set_register(register, value);
    }
    tile.call(CODE).unwrap_or_else(|f| panic!("{form}: {f}"));
    tile.register(0)
}

#[test]
fn integers() {
    let minus = |x: u32| x.wrapping_neg();
    let two: &[(&str, u32, u32, u32)] = &[
        ("add", 5, minus(7), minus(2)),
        ("sub", 5, 7, minus(2)),
        ("mul", 0x10001, 0x10001, 0x20001),
        ("and", 0xff00, 0x0ff0, 0x0f00),
        ("andc", 0xff00, 0x0ff0, 0xf000),
        ("or", 0xff00, 0x0ff0, 0xfff0),
        ("xor", 0xff00, 0x0ff0, 0xf0f0),
        ("xnor", 0xff00, 0x0ff0, 0xffff_0f0f),
        ("shl", 3, 4, 48),
        ("shr", minus(16), 4, 0x0fff_ffff),
        ("shrs", minus(16), 4, minus(1)),
        ("cmpeq", 3, 3, 1),
        ("cmpne", 3, 3, 0),
        ("cmpslt", minus(1), 0, 1),
        ("cmpult", minus(1), 0, 0),
        ("max", minus(1), 3, 3),
        ("min", minus(1), 3, minus(1)),
        ("movz", 0, 9, 9),
        ("movz", 1, 9, 7),
        ("roll16", 0x4321_8765, 0xdcba_0fed, 0x0fed_4321),
        ("sort4x16lo", 0x4321_8765, 0xdcba_0fed, 0x0fed_8765),
        ("sort4x16hi", 0x4321_8765, 0xdcba_0fed, 0xdcba_4321),
        ("shuf8x8lo", 0x0403_0201, 0x1413_1211, 0x1202_1101),
        ("shuf8x8hi", 0x0403_0201, 0x1413_1211, 0x1404_1303),
        ("sort8x8lo", 0x0403_0201, 0x1413_1211, 0x1311_0301),
        ("sort8x8hi", 0x0403_0201, 0x1413_1211, 0x1412_0402),
    ];
    for &(name, a, b, expected) in two {
        assert_eq!(integer(&format!("{name}_mmmn"), a, b, &[0, 1, 2]), expected, "{name} {a:#x} {b:#x}");
    }
    let one: &[(&str, u32, u32)] = &[
        ("abs", minus(5), 5),
        ("bitrev8", 0x0102_0304, 0x8040_c020),
        ("clz", 0x0001_0000, 15),
        ("clz", 0, 32),
        ("cms", 0, 31),
        ("cms", minus(1), 31),
        ("cms", 0x2000_0000, 1),
        ("popc", 0xf0f0, 8),
        ("sort8", 0x0403_0201, 0x0402_0301),
        ("swap8", 0x0403_0201, 0x0304_0102),
    ];
    for &(name, a, expected) in one {
        assert_eq!(integer(&format!("{name}_mmmn"), a, 0, &[0, 1]), expected, "{name} {a:#x}");
    }
    assert_eq!(integer("sub_mmmn_zi", 5, 0, &[0, 100, 1]), 95);
    assert_eq!(integer("sub_mmmn_si", 5, 0, &[0, -100, 1]), minus(105));
    assert_eq!(integer("or_mmmn_iz", 5, 0, &[0, 1, 0x1230_0000]), 0x1230_0005);
    assert_eq!(integer("add_mmmn_si", 5, 0, &[0, 1, -6]), minus(1));
    // Fixed registers drop what is written.
    assert_eq!(integer("add_mmmn_zi", 5, 0, &[15, 1, 6]), 7);
}

/// Supervisor loads and stores in all addressing forms, in a prepared block of bytes 0x80, 0x81, ..
#[test]
fn main_loads_and_stores() {
    let block: Vec<u8> = (0x80..0xc0).collect();
    let load = |form: &str, offset: i32| {
        let mut program = Program::at(CODE);
        program.op(form, &[0, 1, 2, offset]).ret();
        let mut tile = tile();
        tile.load(0x60000, &block);
        program.load(&mut tile);
        for (register, value) in [(1, 0x60000), (2, 8), (3, 2)] {
            tile.set_register(register, value);
        }
        tile.call(CODE).unwrap_or_else(|f| panic!("{form}: {f}"));
        (tile.register(0), tile.register(2))
    };
    assert_eq!(load("ld32_mmmn_zi", 1), (0x8f8e_8d8c, 8));
    assert_eq!(load("ld32_mmmn", 3), (0x9392_9190, 8));
    assert_eq!(load("ldz16_mmmn_zi", 1), (0x8b8a, 8));
    assert_eq!(load("lds16_mmmn_zi", 1), (0xffff_8b8a, 8));
    assert_eq!(load("ldz8_mmmn", 3), (0x8a, 8));
    assert_eq!(load("lds8_mmmn", 3), (0xffff_ff8a, 8));
    assert_eq!(load("ld32step_mmmn_si", -1), (0x8b8a_8988, 4));
    assert_eq!(load("ld32step_mmmn", 3), (0x8b8a_8988, 16));
    assert_eq!(load("ldz16step_mmmn_si", 3), (0x8988, 14));
    assert_eq!(load("lds8step_mmmn", 3), (0xffff_ff88, 10));

    let (outcome, mut tile) = call(|p| {
        p.set(0, 0x1234).set(1, 0x60000).set(2, 8).set(3, 3);
        p.op("st32_mmmn_zi", &[0, 1, 2, 5]).op("st32step_mmmn_si", &[0, 1, 2, -1]);
        p.op("stm32_mmmn", &[0, 1, 3]).op("stm32step_mmmn", &[0, 1, 3]).ret();
    });
    outcome.unwrap_or_else(|f| panic!("{f}"));
    for address in [0x60000 + 8 + 20, 0x60008, 0x6000c, 0x60000] {
        assert_eq!(tile.read(address, 4), 0x1234u32.to_le_bytes(), "{address:#x}");
    }
    assert_eq!((tile.register(1), tile.register(2)), (0x6000c, 4));
}

/// `$a4:5` after a worker instruction, with `$a0..$a3` and `$a6:7` loaded.
fn aux(form: &str, operands: &[i32], sources: [u32; 4]) -> [u32; 2] {
    aux_sequence(&[(form, operands)], sources)
}

fn aux_sequence(code: &[(&str, &[i32])], sources: [u32; 4]) -> [u32; 2] {
    let bytes: Vec<u8> = sources.iter().flat_map(|w| w.to_le_bytes()).collect();
    let (outcome, tile) = on_workers_with(
        |t| t.load(0x90000, &bytes),
        |p| {
            p.op("ld64_mman_zi", &[0, 13, ZERO, 0]).op("ld64_mman_zi", &[2, 13, ZERO, 1]);
            for (form, operands) in code {
                p.op(form, operands);
            }
            p.op("st64_mbmn_zi", &[4, 13, ZERO, 2]).op("exitz_mmmn", &[ZERO]);
        },
    );
    outcome.unwrap_or_else(|f| panic!("{}: {f}", code[0].0));
    let b = tile.read(0x90010, 8);
    [0, 4].map(|i| u32::from_le_bytes(b[i..i + 4].try_into().expect("four bytes")))
}

fn h(low: f32, high: f32) -> u32 {
    u32::from(f16::from_f32(low).to_bits()) | u32::from(f16::from_f32(high).to_bits()) << 16
}

fn f(x: f32) -> u32 {
    x.to_bits()
}

#[test]
fn halves() {
    let x = [h(1.0, 2.0), h(3.0, -4.0), h(10.0, 20.0), h(30.0, 40.0)];
    let pair = [4, 0, 2];
    assert_eq!(aux("f16v4add_aaan", &pair, x), [h(11.0, 22.0), h(33.0, 36.0)]);
    assert_eq!(aux("f16v4sub_aaan", &pair, x), [h(-9.0, -18.0), h(-27.0, -44.0)]);
    assert_eq!(aux("f16v4mul_aaan", &pair, x), [h(10.0, 40.0), h(90.0, -160.0)]);
    assert_eq!(aux("f16v4mul_aaal", &pair, x), [h(10.0, 20.0), h(30.0, 40.0)]);
    assert_eq!(aux("f16v4mul_aaau", &pair, x), [h(20.0, 40.0), h(60.0, 80.0)]);
    assert_eq!(aux("f16v4max_aaan", &pair, x), [h(10.0, 20.0), h(30.0, 40.0)]);
    assert_eq!(aux("f16v4min_aaan", &pair, x), [h(1.0, 2.0), h(3.0, -4.0)]);
    assert_eq!(aux("f16v4absadd_aaan", &pair, x), [h(11.0, 22.0), h(33.0, 44.0)]);
    assert_eq!(aux("f16v4cmplt_aaan", &pair, x), [u32::MAX, u32::MAX]);
    assert_eq!(aux("f16v4cmpeq_aaan", &[4, 0, 0], x), [u32::MAX, u32::MAX]);
    assert_eq!(aux("f16v2cmpgt_aaan", &[4, 0, 1], x)[0], 0xffff_0000);
    assert_eq!(aux("f16v2add_aaan", &[4, 0, 1], x)[0], h(4.0, -2.0));
    assert_eq!(aux("f16v4clamp_aaan", &[4, 2, 1], [0, h(12.0, 35.0), x[2], x[3]]), [h(12.0, 20.0), h(30.0, 35.0)]);
    assert_eq!(aux("f16v2sum_aaan", &[4, 0], x)[0], f(3.0));
    assert_eq!(aux("f16v4sum_aaan", &[4, 0], x), [f(3.0), f(-1.0)]);
    assert_eq!(aux("f16v4maxc_aaan", &[4, 0], x)[0], h(2.0, 3.0));
    // Overflow saturates; a NaN loses to a number.
    assert_eq!(aux("f16v2mul_aaan", &[4, 0, 1], [h(60000.0, -60000.0), h(2.0, 2.0), 0, 0])[0], 0xfbff_7bff);
    assert_eq!(aux("f16v2max_aaan", &[4, 0, 1], [0x7e00_7e00, h(2.0, 3.0), 0, 0])[0], h(2.0, 3.0));
    // One rounding: 2048 + 1 is a tie and goes to even.
    assert_eq!(aux("f16v2add_aaan", &[4, 0, 1], [h(2048.0, 2050.0), h(1.0, 1.0), 0, 0])[0], h(2048.0, 2052.0));
}

#[test]
fn singles_and_conversions() {
    let x = [f(1.5), f(-2.0), f(0.5), f(8.0)];
    assert_eq!(aux("f32v2add_aaan", &[4, 0, 2], x), [f(2.0), f(6.0)]);
    assert_eq!(aux("f32v2sub_aaat", &[4, 0, 2], x), [f(1.0), f(-6.5)]);
    assert_eq!(aux("f32mul_aaan", &[4, 0, 1], x)[0], f(-3.0));
    assert_eq!(aux("f32div_aaan", &[4, 0, 2], x)[0], f(3.0));
    assert_eq!(aux("f32sqrt_aaan", &[4, 3], x)[0], f(8f32.sqrt()));
    assert_eq!(aux("f32cmpge_aaan", &[4, 0, 1], x)[0], u32::MAX);
    assert_eq!(aux("f32clamp_aaan", &[4, 1, 2], x)[0], f(0.5));
    for (mode, expected) in [(0, 2.0), (1, 2.0), (2, 1.0), (3, 1.0)] {
        assert_eq!(aux("f32int_aaan_ef", &[4, 0, mode], x)[0], f(expected), "mode {mode}");
    }
    assert_eq!(aux("f32tof16_aaan", &[4, 0], x)[0], h(1.5, 1.5));
    assert_eq!(aux("f32v2tof16_aaan", &[4, 0], x)[0], h(1.5, -2.0));
    assert_eq!(aux("f32v4tof16_aaan", &[4, 0], x), [h(1.5, -2.0), h(0.5, 8.0)]);
    assert_eq!(aux("f16v2tof32_aaan", &[4, 0], [h(1.5, -2.0), 0, 0, 0]), [f(1.5), f(-2.0)]);
    assert_eq!(aux("f16tof32_aaan", &[4, 0], [h(1.5, -2.0), 0, 0, 0])[0], f(1.5));
    assert_eq!(aux("f32toi32_aaan", &[4, 1], x)[0], 2u32.wrapping_neg());
    assert_eq!(aux("f32fromi32_aaan", &[4, 0], [2u32.wrapping_neg(), 0, 0, 0])[0], f(-2.0));
    assert_eq!(aux("f32fromui32_aaan", &[4, 0], [1 << 31, 0, 0, 0])[0], f(2147483648.0));
}

#[test]
fn arithmetic_logic_and_permutes() {
    let x = [0x4321_8765, 0xdcba_0fed, 0x1111_2222, 0x3333_4444];
    assert_eq!(aux("and_aaan", &[4, 0, 1], x)[0], x[0] & x[1]);
    assert_eq!(aux("andc64_aaan", &[4, 0, 2], x), [x[0] & !x[2], x[1] & !x[3]]);
    assert_eq!(aux("or_aaan_iz", &[4, 0, 0x1230_0000], x)[0], x[0] | 0x1230_0000);
    assert_eq!(aux("not64_aaan", &[4, 0], x), [!x[0], !x[1]]);
    assert_eq!(aux("sort4x32lo_aaan", &[4, 0, 2], x), [x[0], x[2]]);
    assert_eq!(aux("sort4x32hi_aaan", &[4, 0, 2], x), [x[1], x[3]]);
    assert_eq!(aux("roll32_aaan", &[4, 0, 2], x), [x[1], x[2]]);
    assert_eq!(aux("sort4x16lo_aaan", &[4, 0, 1], x)[0], 0x0fed_8765);
    assert_eq!(aux("sort4x16lo_aaau", &[4, 0, 1], x)[0], 0x0fed_4321);
    assert_eq!(aux("sort4x16hi_aaal", &[4, 0, 1], x)[0], 0xdcba_8765);
    assert_eq!(aux("roll16_aaan", &[4, 0, 1], x)[0], 0x0fed_4321);
}

#[test]
fn accumulators() {
    let clear = [("setzi_aaan_zi", &[7, 8][..]), ("uput_aaan_zi", &[1, 7][..])];
    let run = |code: &[(&str, &[i32])], x| aux_sequence(&[&clear, code].concat(), x);
    let x = [h(1.0, 2.0), h(3.0, 4.0), h(5.0, 6.0), h(7.0, 8.0)];
    let gina = ("f32v2gina_aaan_zi", &[4, 14, 0][..]);
    assert_eq!(run(&[("f16v4acc_aaan", &[0]), ("f16v4acc_aaan", &[2]), gina], x), [f(6.0), f(8.0)]);
    // The eight values of f16v8acc leave two by two.
    assert_eq!(run(&[("f16v8acc_aaan", &[0]), gina], x), [f(1.0), f(2.0)]);
    assert_eq!(run(&[("f16v8acc_aaan", &[0]), gina, gina, gina], x), [f(5.0), f(6.0)]);
    assert_eq!(run(&[("f16v8acc_aaan", &[0]), ("f16v4gacc_aaan", &[4])], x), [x[0], x[1]]);
    assert_eq!(run(&[("f16v8sqacc_aaan", &[0]), gina], x), [f(1.0), f(4.0)]);
    assert_eq!(run(&[("f16v4cmac_aaan", &[0, 2]), gina], x), [f(17.0), f(53.0)]);
    // What enters at the top arrives at the bottom after four.
    let enter = ("f32v2gina_aaan_zi", &[4, 0, 0][..]);
    assert_eq!(run(&[enter, gina, gina, gina, gina], x), [x[0], x[1]]);
    let half = ("f16v2gina_aaan_zi", &[4, 14, 0][..]);
    assert_eq!(run(&[("f16v4acc_aaan", &[0]), half], x)[0], x[0]);
    // axpy gives the old values.
    let y = [f(1.0), f(2.0), f(10.0), f(20.0)];
    let scale = [("or_aaan_iz", &[6, 15, 0x4000_0000][..]), ("uput_aaan_zi", &[8, 6][..])];
    let axpy = ("f32v2axpy_aaan", &[4, 0, 2][..]);
    assert_eq!(run(&[scale[0], scale[1], axpy, axpy], y), [f(12.0), f(24.0)]);
}

#[test]
fn paced_accesses_step_as_their_selectors_say() {
    // Strides 2 and -1 and 5 in units of 8 bytes.
    let strides = 2u32 | (1023 << 10) | (5 << 20);
    let (outcome, tile) = on_workers_with(
        |t| {
            t.load(0x60000, &(0..64u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
            t.load(0x64000, &(100..164u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
            t.load(0x90000, &strides.to_le_bytes());
        },
        |p| {
            p.set(0, 0x60010).set(1, 0x64010).set(2, 0xa0010).op("tapack_mmmn", &[4, 0, 1, 2]);
            p.op("ld32_mmmn_zi", &[6, 13, ZERO, 0]);
            // A0 += 2 x 8, A1 -= 8: loads words 4, 5 and 104, 105.
            p.op("ld2x64pace_mmbn_ef", &[0, 2, 4, 6, 0b1001]);
            // Stores 4, 5 at A2, loads words 8, 9 and 102, 103; all + 8, A2 + 40.
            p.op("ld2xst64pace_mbbn_ef", &[4, 0, 4, 6, 0b11_0000]);
            // Stores 8, 9 at A2 + 40, loads words 10, 11, A2 + 8.
            p.op("ldst64pace_mbbn_ef", &[0, 4, 4, 6, 0]);
            // Stores 10, 11 at A2 + 48 and stays; then 102, 103 over it.
            p.op("st64pace_mbmn_ef", &[0, 4, 15, 1]).op("st64pace_mbmn_ef", &[6, 4, 15, 0]);
            p.op("exitz_mmmn", &[ZERO]);
        },
    );
    outcome.unwrap_or_else(|f| panic!("{f}"));
    let words = |at: u32| -> Vec<u32> {
        tile.read(at, 8).chunks(4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
    };
    assert_eq!(words(0xa0010), [4, 5]);
    assert_eq!(words(0xa0010 + 40), [8, 9]);
    assert_eq!(words(0xa0010 + 48), [102, 103]);
}

#[test]
fn a_bundle_reads_before_it_writes() {
    // The aux half uses the old $a0:1, and the store the old $a4:5.
    let old = [h(1.0, 2.0), h(3.0, 4.0)];
    let (outcome, tile) = on_workers_with(
        |t| {
            t.load(0x90000, &old.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>());
            t.load(0x90008, &[0; 8]);
        },
        |p| {
            p.op("ld64_mman_zi", &[0, 13, ZERO, 0]).op("or64_aaan", &[4, 0, 14]);
            p.bundle(("ld64_mman_zi", &[0, 13, ZERO, 1]), ("f16v4add_aaan", &[2, 0, 0]));
            p.bundle(("st64_mbmn_zi", &[4, 13, ZERO, 2]), ("f16v4add_aaan", &[4, 2, 2]));
            p.op("st64_mbmn_zi", &[4, 13, ZERO, 3]).op("exitz_mmmn", &[ZERO]);
        },
    );
    outcome.unwrap_or_else(|f| panic!("{f}"));
    let expected: Vec<u8> = [old[0], old[1], h(4.0, 8.0), h(12.0, 16.0)].iter().flat_map(|w| w.to_le_bytes()).collect();
    assert_eq!(tile.read(0x90010, 16), expected);
}

#[test]
fn workers_know_who_they_are_and_where_they_work() {
    let (outcome, tile) = on_workers(|p| {
        // Scratch base and vertex base, stored in the worker's own scratch area.
        p.op("st32_mmmn_zi", &[12, 12, ZERO, 0]).op("st32_mmmn_zi", &[13, 12, ZERO, 1]).op("exitz_mmmn", &[ZERO]);
    });
    outcome.unwrap_or_else(|f| panic!("{f}"));
    for i in 0..6 {
        let scratch = crate::memory::WORKER_BASE + i * crate::memory::WORKER_SCRATCH;
        assert_eq!(tile.read(scratch, 4), scratch.to_le_bytes());
        assert_eq!(tile.read(scratch + 4, 4), 0x90000u32.to_le_bytes());
    }
}

#[test]
fn seeding_repeats_the_random_numbers() {
    let draw = |seed: i32| {
        let code: [(&str, &[i32]); 3] =
            [("setzi_aaan_zi", &[0, seed]), ("uput_aaan_zi", &[7, 0]), ("urand64_aaan", &[4])];
        aux_sequence(&code, [0; 4])
    };
    assert_eq!(draw(5), draw(5));
    assert_ne!(draw(5), draw(6));
}
