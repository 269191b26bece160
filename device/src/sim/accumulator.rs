//! Instructions on a worker's accumulators `$AACC` (`semantics.md` 4.5).
//!
//! Accumulators are kept as the matrix unit uses them: `even[u]` is `AACC[2u]` (working), `odd[u]` is `AACC[2u + 1]`
//! (staging) of unit `u`. Additions are f32 with one rounding; products are exact before they are added.
#![expect(clippy::unnecessary_wraps, reason = "the operations of all aux forms have one type")]

use super::amp::MatrixUnit;
use super::elementwise::pack;
use super::fault::{FaultKind, Outcome, trouble};
use super::number::{narrow2, widen2, widen4};
use super::operation::Operands;
use super::worker::{AuxFn, Worker};

/// The 32 accumulators of a worker.
#[derive(Clone)]
pub(super) struct Accumulators {
    pub(super) even: [f32; 16],
    pub(super) odd: [f32; 16],
}

impl Accumulators {
    pub(super) fn zero() -> Self {
        Self { even: [0.0; 16], odd: [0.0; 16] }
    }
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn quad_half(w: &Worker, operand: i32) -> [f32; 8] {
    let [a, b] = [widen4(w.pair(operand)), widen4(w.pair(operand + 2))];
    [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
}

fn quad_single(w: &Worker, operand: i32) -> [f32; 4] {
    let [a, b] = [w.pair(operand).map(f), w.pair(operand + 2).map(f)];
    [a[0], a[1], b[0], b[1]]
}

fn add(w: &mut Worker, values: &[f32]) -> u64 {
    for (accumulator, &value) in w.accumulators.even.iter_mut().zip(values) {
        *accumulator += value;
    }
    0
}

/// Adds a sum of products that is exact in f64, or nearly so, with one rounding.
fn add_products(w: &mut Worker, index: usize, products: f64) {
    let accumulator = &mut w.accumulators.even[index];
    *accumulator = (f64::from(*accumulator) + products) as f32;
}

fn product(a: f32, b: f32) -> f64 {
    f64::from(a) * f64::from(b)
}

/// Two values leave at the bottom of a chain of 8 accumulators, the others move down, two enter at the top.
fn shift(chain: &mut [f32], enter: [f32; 2]) -> [f32; 2] {
    let out = [chain[0], chain[1]];
    chain.copy_within(2..8, 0);
    chain[6..8].copy_from_slice(&enter);
    out
}

/// `gina`: immediate bit 0 picks working or staging accumulators, bit 1 the set.
fn get_and_insert(w: &mut Worker, immediate: i32, enter: [f32; 2]) -> Outcome<[f32; 2]> {
    let a = &mut w.accumulators;
    Ok(match immediate {
        0 => shift(&mut a.even[..8], enter),
        1 => shift(&mut a.odd[..8], enter),
        2 => shift(&mut a.even[8..], enter),
        3 => shift(&mut a.odd[8..], enter),
        _ => return trouble(FaultKind::Refused, format!("gina selector {immediate}")),
    })
}

fn mix(w: &mut Worker, _: &MatrixUnit, o: &Operands) -> Outcome<u64> {
    let [a, b] = widen2(w.tas);
    let (x, y) = (widen4(w.pair(o[1])), widen4(w.pair(o[2])));
    let old = w.accumulators.even;
    for i in 0..4 {
        w.accumulators.even[i] = (product(a, x[i]) + product(b, y[i])) as f32;
    }
    let control = w.fp_ctl;
    Ok(pack([narrow2(old[0], old[1], control, &mut w.raised), narrow2(old[2], old[3], control, &mut w.raised)]))
}

/// The operation of a form, if it is one of this family.
pub(super) fn accumulator(name: &str) -> Option<AuxFn> {
    let operation: AuxFn = match name {
        "f16v4acc_aaan" => |w, _, o| Ok(add(w, &widen4(w.pair(o[0])))),
        "f16v8acc_aaan" => |w, _, o| Ok(add(w, &quad_half(w, o[0]))),
        "f32v4acc_aaan" => |w, _, o| Ok(add(w, &quad_single(w, o[0]))),
        "f16v4absacc_aaan" => |w, _, o| Ok(add(w, &widen4(w.pair(o[0])).map(f32::abs))),
        "f16v8absacc_aaan" => |w, _, o| Ok(add(w, &quad_half(w, o[0]).map(f32::abs))),
        "f32v4absacc_aaan" => |w, _, o| Ok(add(w, &quad_single(w, o[0]).map(f32::abs))),
        "f16v8sqacc_aaan" => |w, _, o| {
            for (i, x) in quad_half(w, o[0]).into_iter().enumerate() {
                add_products(w, i, product(x, x));
            }
            Ok(0)
        },
        "f32v4sqacc_aaan" => |w, _, o| {
            for (i, x) in quad_single(w, o[0]).into_iter().enumerate() {
                add_products(w, i, product(x, x));
            }
            Ok(0)
        },
        "f32mac_aaan" => |w, _, o| {
            add_products(w, 0, product(f(w.single(o[0])), f(w.single(o[1]))));
            Ok(0)
        },
        "f32v2mac_aaan" => |w, _, o| {
            let ([a0, a1], [b0, b1]) = (w.pair(o[0]).map(f), w.pair(o[1]).map(f));
            add_products(w, 0, product(a0, b0));
            add_products(w, 1, product(a1, b1));
            Ok(0)
        },
        "f16v2cmac_aaan" => |w, _, o| {
            let ([a0, a1], [b0, b1]) = (widen2(w.single(o[0])), widen2(w.single(o[1])));
            add_products(w, 0, product(a0, b0) + product(a1, b1));
            Ok(0)
        },
        "f16v4cmac_aaan" => |w, _, o| {
            let (a, b) = (widen4(w.pair(o[0])), widen4(w.pair(o[1])));
            add_products(w, 0, product(a[0], b[0]) + product(a[1], b[1]));
            add_products(w, 1, product(a[2], b[2]) + product(a[3], b[3]));
            Ok(0)
        },
        "f32v2aop_aaan_ef" => |w, _, o| {
            let ([x0, x1], [y0, y1]) = (w.pair(o[0]).map(f), w.pair(o[1]).map(f));
            for (i, p) in [product(x0, y0), product(x1, y0), product(x0, y1), product(x1, y1)].into_iter().enumerate() {
                add_products(w, i, p);
            }
            Ok(0)
        },
        "f32v2axpy_aaan" => |w, _, o| {
            let ([x0, x1], [y0, y1]) = (w.pair(o[1]).map(f), w.pair(o[2]).map(f));
            let scale = f(w.tas);
            let even = &mut w.accumulators.even;
            let old = [even[0].to_bits(), even[1].to_bits()];
            even[0] = (product(scale, x0) + f64::from(y0)) as f32;
            even[1] = (product(scale, x1) + f64::from(y1)) as f32;
            Ok(pack(old))
        },
        "f16v4mix_aaan" => mix,
        "f32v2gina_aaan_zi" => |w, _, o| {
            let enter = w.pair(o[1]).map(f);
            Ok(pack(get_and_insert(w, o[2], enter)?.map(f32::to_bits)))
        },
        "f16v2gina_aaan_zi" => |w, _, o| {
            let enter = widen2(w.single(o[1]));
            let [a, b] = get_and_insert(w, o[2], enter)?;
            Ok(u64::from(narrow2(a, b, w.fp_ctl, &mut w.raised)))
        },
        // Whether this also moves the chain is silent; one use suggests that it shifts like `gina` with zeros entering.
        "f16v4gacc_aaan" => |w, _, _| {
            let [a, b, c, d, ..] = w.accumulators.even;
            let _ = shift(&mut w.accumulators.even[..8], [0.0; 2]);
            let control = w.fp_ctl;
            Ok(pack([narrow2(a, b, control, &mut w.raised), narrow2(c, d, control, &mut w.raised)]))
        },
        _ => return None,
    };
    Some(operation)
}
