//! Element-wise floating point, conversions, logic and permutes on the arithmetic registers (`semantics.md` 4.3, 4.4,
//! 4.6, 4.7).
//!
//! 1. f16 results are exact and rounded once: the f32 result of two f16 has enough bits that rounding it again to f16
//!    never differs.
//! 2. f32 results are IEEE nearest-even with gradual underflow.
//! 3. Comparisons give a lane of ones or zeros; with a NaN only "not equal" is true. `max` and `min` prefer the number.
#![expect(clippy::unnecessary_wraps, reason = "the operations of all aux forms have one type")]

use super::amp::MatrixUnit;
use super::fault::{FaultKind, Outcome, trouble};
use super::integer::{bytes, permute_order};
use super::number::{DIVIDE_BY_ZERO, INVALID, OVERFLOW, narrow, narrow2, widen, widen2, widen4};
use super::operation::Operands;
use super::worker::{AuxFn, Worker};

/// How the first source of a two-source operation is read.
const PLAIN: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;

#[inline]
pub(super) fn pack(pair: [u32; 2]) -> u64 {
    u64::from(pair[0]) | u64::from(pair[1]) << 32
}

fn both(half: u32) -> u32 {
    half | half << 16
}

/// An operation on two numbers; compares give a mask instead of a number.
trait Lane {
    fn value(a: f32, b: f32) -> f32;
}
trait Test {
    fn holds(a: f32, b: f32) -> bool;
}

macro_rules! lanes {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {
        $(struct $name;
        impl Lane for $name {
            #[inline]
            fn value($a: f32, $b: f32) -> f32 { $value }
        })*
    };
}
macro_rules! tests {
    ($($name:ident |$a:ident, $b:ident| $value:expr;)*) => {
        $(struct $name;
        impl Test for $name {
            #[inline]
            fn holds($a: f32, $b: f32) -> bool { $value }
        })*
    };
}
lanes! {
    Add |a, b| a + b;
    Subtract |a, b| a - b;
    Multiply |a, b| a * b;
    AbsAdd |a, b| a.abs() + b.abs();
    AbsMax |a, b| a.abs().max(b.abs());
    Max |a, b| a.max(b);
    Min |a, b| a.min(b);
    Divide |a, b| a / b;
}
tests! {
    Equal |a, b| a == b;
    NotEqual |a, b| a != b;
    Greater |a, b| a > b;
    GreaterEqual |a, b| a >= b;
    Less |a, b| a < b;
    LessEqual |a, b| a <= b;
}

#[inline]
fn half_sources<const FIRST: u8>(w: &Worker, o: &Operands, wide: bool) -> ([f32; 4], [f32; 4]) {
    let read = |operand: i32| if wide { widen4(w.pair(operand)) } else { widen4([w.single(operand), 0]) };
    let first = match FIRST {
        PLAIN => read(o[1]),
        LOWER => [widen(w.single(o[1]) as u16); 4],
        _ => [widen((w.single(o[1]) >> 16) as u16); 4],
    };
    (first, read(o[2]))
}

fn half_lanes<O: Lane, const WIDE: bool, const FIRST: u8>(
    w: &mut Worker,
    _: &MatrixUnit,
    o: &Operands,
) -> Outcome<u64> {
    let (a, b) = half_sources::<FIRST>(w, o, WIDE);
    let control = w.fp_ctl;
    let mut out = [0; 2];
    for (i, out) in out.iter_mut().enumerate().take(if WIDE { 2 } else { 1 }) {
        let (low, high) = (O::value(a[2 * i], b[2 * i]), O::value(a[2 * i + 1], b[2 * i + 1]));
        *out = narrow2(low, high, control, &mut w.raised);
    }
    Ok(pack(out))
}

fn half_tests<O: Test, const WIDE: bool, const FIRST: u8>(
    w: &mut Worker,
    _: &MatrixUnit,
    o: &Operands,
) -> Outcome<u64> {
    let (a, b) = half_sources::<FIRST>(w, o, WIDE);
    let mask = (0..4).fold(0, |m, i| if O::holds(a[i], b[i]) { m | 0xffff << (16 * i) } else { m });
    Ok(if WIDE { mask } else { mask & 0xffff_ffff })
}

fn single_sources<const FIRST: u8>(w: &Worker, o: &Operands, wide: bool) -> ([f32; 2], [f32; 2]) {
    let read = |operand: i32| {
        if wide { w.pair(operand).map(f32::from_bits) } else { [f32::from_bits(w.single(operand)), 0.0] }
    };
    let first = if FIRST == PLAIN { read(o[1]) } else { [f32::from_bits(w.single(o[1])); 2] };
    (first, read(o[2]))
}

/// Raises the flags of an f32 result.
fn flag_single(w: &mut Worker, result: f32, finite_sources: bool) -> u32 {
    if finite_sources && !result.is_finite() {
        w.raised |= if result.is_nan() { INVALID } else { OVERFLOW };
    }
    result.to_bits()
}

fn single_lanes<O: Lane, const WIDE: bool, const FIRST: u8>(
    w: &mut Worker,
    _: &MatrixUnit,
    o: &Operands,
) -> Outcome<u64> {
    let (a, b) = single_sources::<FIRST>(w, o, WIDE);
    let mut out = [0; 2];
    for i in 0..if WIDE { 2 } else { 1 } {
        out[i] = flag_single(w, O::value(a[i], b[i]), a[i].is_finite() && b[i].is_finite());
    }
    Ok(pack(out))
}

fn single_tests<O: Test, const WIDE: bool, const FIRST: u8>(
    w: &mut Worker,
    _: &MatrixUnit,
    o: &Operands,
) -> Outcome<u64> {
    let (a, b) = single_sources::<FIRST>(w, o, WIDE);
    let mask = (0..2).fold(0, |m, i| if O::holds(a[i], b[i]) { m | 0xffff_ffff << (32 * i) } else { m });
    Ok(if WIDE { mask } else { mask & 0xffff_ffff })
}

fn family<O: Lane>(prefix: &str, variant: &str) -> Option<AuxFn> {
    Some(match (prefix, variant) {
        ("f16v2", "aaan") => half_lanes::<O, false, PLAIN>,
        ("f16v2", "aaal") => half_lanes::<O, false, LOWER>,
        ("f16v2", "aaau") => half_lanes::<O, false, UPPER>,
        ("f16v4", "aaan") => half_lanes::<O, true, PLAIN>,
        ("f16v4", "aaal") => half_lanes::<O, true, LOWER>,
        ("f16v4", "aaau") => half_lanes::<O, true, UPPER>,
        ("f32", "aaan") => single_lanes::<O, false, PLAIN>,
        ("f32v2", "aaan") => single_lanes::<O, true, PLAIN>,
        ("f32v2", "aaat") => single_lanes::<O, true, LOWER>,
        _ => return None,
    })
}

fn test_family<O: Test>(prefix: &str, variant: &str) -> Option<AuxFn> {
    Some(match (prefix, variant) {
        ("f16v2", "aaan") => half_tests::<O, false, PLAIN>,
        ("f16v2", "aaal") => half_tests::<O, false, LOWER>,
        ("f16v2", "aaau") => half_tests::<O, false, UPPER>,
        ("f16v4", "aaan") => half_tests::<O, true, PLAIN>,
        ("f16v4", "aaal") => half_tests::<O, true, LOWER>,
        ("f16v4", "aaau") => half_tests::<O, true, UPPER>,
        ("f32", "aaan") => single_tests::<O, false, PLAIN>,
        ("f32v2", "aaan") => single_tests::<O, true, PLAIN>,
        ("f32v2", "aaat") => single_tests::<O, true, LOWER>,
        _ => return None,
    })
}

fn two_source_family(name: &str) -> Option<AuxFn> {
    let (mnemonic, variant) = name.split_once('_')?;
    let prefix = ["f16v2", "f16v4", "f32v2", "f32"].into_iter().find(|p| mnemonic.starts_with(p))?;
    match &mnemonic[prefix.len()..] {
        "add" => family::<Add>(prefix, variant),
        "sub" => family::<Subtract>(prefix, variant),
        "mul" => family::<Multiply>(prefix, variant),
        "absadd" => family::<AbsAdd>(prefix, variant),
        "absmax" => family::<AbsMax>(prefix, variant),
        "max" => family::<Max>(prefix, variant),
        "min" => family::<Min>(prefix, variant),
        "cmpeq" => test_family::<Equal>(prefix, variant),
        "cmpne" => test_family::<NotEqual>(prefix, variant),
        "cmpgt" => test_family::<Greater>(prefix, variant),
        "cmpge" => test_family::<GreaterEqual>(prefix, variant),
        "cmplt" => test_family::<Less>(prefix, variant),
        "cmple" => test_family::<LessEqual>(prefix, variant),
        _ => None,
    }
}

/// A bound that a NaN value passes through.
fn clamp(x: f32, low: f32, high: f32) -> f32 {
    x.max(low).min(high)
}

fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

fn divide(w: &mut Worker, _: &MatrixUnit, o: &Operands) -> Outcome<u64> {
    let (a, b) = (f(w.single(o[1])), f(w.single(o[2])));
    if b == 0.0 && a.is_finite() && a != 0.0 {
        w.raised |= DIVIDE_BY_ZERO;
        return Ok(u64::from((a / b).to_bits()));
    }
    let value = Divide::value(a, b);
    Ok(u64::from(flag_single(w, value, a.is_finite() && b.is_finite())))
}

/// `f32int` immediates: 0 nearest-even, 1 up, 2 down, 3 toward zero.
fn round_to_integer(x: f32, mode: i32) -> Outcome<f32> {
    Ok(match mode {
        0 => x.round_ties_even(),
        1 => x.ceil(),
        2 => x.floor(),
        3 => x.trunc(),
        _ => return trouble(FaultKind::Refused, format!("f32int rounding mode {mode}")),
    })
}

/// The operation of a form, if it is one of this family.
pub(super) fn elementwise(name: &str) -> Option<AuxFn> {
    if let Some(f) = two_source_family(name) {
        return Some(f);
    }
    if let Some(f) = permutes(name) {
        return Some(f);
    }
    let operation: AuxFn = match name {
        "setzi_aaan_zi" => |_, _, o| Ok(o[1] as u32 as u64),
        "and_aaan" => |w, _, o| Ok(u64::from(w.single(o[1]) & w.single(o[2]))),
        "andc_aaan" => |w, _, o| Ok(u64::from(w.single(o[1]) & !w.single(o[2]))),
        "or_aaan" => |w, _, o| Ok(u64::from(w.single(o[1]) | w.single(o[2]))),
        "and_aaan_iz" | "and_aaan_zi" => |w, _, o| Ok(u64::from(w.single(o[1]) & o[2] as u32)),
        "andc_aaan_iz" | "andc_aaan_zi" => |w, _, o| Ok(u64::from(w.single(o[1]) & !(o[2] as u32))),
        "or_aaan_iz" | "or_aaan_zi" => |w, _, o| Ok(u64::from(w.single(o[1]) | o[2] as u32)),
        "not_aaan" => |w, _, o| Ok(u64::from(!w.single(o[1]))),
        "and64_aaan" => |w, _, o| Ok(w.pair64(o[1]) & w.pair64(o[2])),
        "andc64_aaan" => |w, _, o| Ok(w.pair64(o[1]) & !w.pair64(o[2])),
        "or64_aaan" => |w, _, o| Ok(w.pair64(o[1]) | w.pair64(o[2])),
        "not64_aaan" => |w, _, o| Ok(!w.pair64(o[1])),
        "sort4x32lo_aaan" => |w, _, o| Ok(pack([w.pair(o[1])[0], w.pair(o[2])[0]])),
        "sort4x32hi_aaan" => |w, _, o| Ok(pack([w.pair(o[1])[1], w.pair(o[2])[1]])),
        "roll32_aaan" => |w, _, o| Ok(pack([w.pair(o[1])[1], w.pair(o[2])[0]])),

        "f32div_aaan" => divide,
        "f32sqrt_aaan" => |w, _, o| {
            let x = f(w.single(o[1]));
            Ok(u64::from(flag_single(w, x.sqrt(), x.is_finite())))
        },
        "f32int_aaan_ef" => |w, _, o| Ok(u64::from(round_to_integer(f(w.single(o[1])), o[2])?.to_bits())),

        "f16v2clamp_aaan" => |w, _, o| {
            let [low, high] = widen2(w.single(o[2]));
            let [a, b] = widen2(w.single(o[1])).map(|x| clamp(x, low, high));
            Ok(u64::from(narrow2(a, b, w.fp_ctl, &mut w.raised)))
        },
        "f16v4clamp_aaan" => |w, _, o| {
            let [low, high] = widen2(w.single(o[2]));
            let [a, b, c, d] = widen4(w.pair(o[1])).map(|x| clamp(x, low, high));
            let control = w.fp_ctl;
            Ok(pack([narrow2(a, b, control, &mut w.raised), narrow2(c, d, control, &mut w.raised)]))
        },
        "f32clamp_aaan" => |w, _, o| {
            let [low, high] = w.pair(o[2]).map(f);
            Ok(u64::from(clamp(f(w.single(o[1])), low, high).to_bits()))
        },
        "f32v2clamp_aaan" => |w, _, o| {
            let [low, high] = w.pair(o[2]).map(f);
            Ok(pack(w.pair(o[1]).map(|x| clamp(f(x), low, high).to_bits())))
        },
        "f16v2maxc_aaan" => |w, _, o| {
            let [a, b] = widen2(w.single(o[1]));
            Ok(u64::from(both(u32::from(narrow(a.max(b), w.fp_ctl, &mut w.raised)))))
        },
        "f16v4maxc_aaan" => |w, _, o| {
            let [a, b, c, d] = widen4(w.pair(o[1]));
            Ok(u64::from(narrow2(a.max(b), c.max(d), w.fp_ctl, &mut w.raised)))
        },
        "f16v2sum_aaan" => |w, _, o| {
            let [a, b] = widen2(w.single(o[1]));
            Ok(u64::from((a + b).to_bits()))
        },
        "f16v4sum_aaan" => |w, _, o| {
            let [a, b, c, d] = widen4(w.pair(o[1]));
            Ok(pack([(a + b).to_bits(), (c + d).to_bits()]))
        },

        "f16tof32_aaan" => |w, _, o| Ok(u64::from(widen(w.single(o[1]) as u16).to_bits())),
        "f16v2tof32_aaan" => |w, _, o| Ok(pack(widen2(w.single(o[1])).map(f32::to_bits))),
        "f32tof16_aaan" => |w, _, o| {
            let x = f(w.single(o[1]));
            Ok(u64::from(both(u32::from(narrow(x, w.fp_ctl, &mut w.raised)))))
        },
        "f32v2tof16_aaan" => |w, _, o| {
            let [a, b] = w.pair(o[1]).map(f);
            Ok(u64::from(narrow2(a, b, w.fp_ctl, &mut w.raised)))
        },
        "f32v4tof16_aaan" => |w, _, o| {
            let [a, b] = w.pair(o[1]).map(f);
            let [c, d] = w.pair(o[1] + 2).map(f);
            let control = w.fp_ctl;
            Ok(pack([narrow2(a, b, control, &mut w.raised), narrow2(c, d, control, &mut w.raised)]))
        },
        // Out of range the public sources are silent; this saturates and raises the invalid flag.
        "f32toi32_aaan" => |w, _, o| {
            let x = f(w.single(o[1])).round_ties_even();
            if !(-2147483648.0..2147483648.0).contains(&x) {
                w.raised |= INVALID;
            }
            Ok(u64::from(x as i32 as u32))
        },
        "f32toui32_aaan" => |w, _, o| {
            let x = f(w.single(o[1])).round_ties_even();
            if !(0.0..4294967296.0).contains(&x) {
                w.raised |= INVALID;
            }
            Ok(u64::from(x as u32))
        },
        "f32fromi32_aaan" => |w, _, o| Ok(u64::from((w.single(o[1]) as i32 as f32).to_bits())),
        "f32fromui32_aaan" => |w, _, o| Ok(u64::from((w.single(o[1]) as f32).to_bits())),

        "urand32_aaan" => |w, _, _| Ok(w.draw() & 0xffff_ffff),
        "urand64_aaan" => |w, _, _| Ok(w.draw()),
        _ => return None,
    };
    Some(operation)
}

fn permutes(name: &str) -> Option<AuxFn> {
    macro_rules! permute {
        ($mnemonic:literal, |$w:ident, $o:ident| $first:expr) => {
            |$w, _, $o| {
                const ORDER: [u8; 4] = match permute_order($mnemonic) {
                    Some(order) => order,
                    None => panic!("no such permute"),
                };
                Ok(u64::from(bytes($first, $w.single($o[2]), ORDER)))
            }
        };
        ($mnemonic:literal) => {
            permute!($mnemonic, |w, o| w.single(o[1]))
        };
    }
    let operation: AuxFn = match name {
        "roll16_aaan" => permute!("roll16"),
        "roll8l_aaan" => permute!("roll8l"),
        "roll8r_aaan" => permute!("roll8r"),
        "shuf8x8hi_aaan" => permute!("shuf8x8hi"),
        "shuf8x8lo_aaan" => permute!("shuf8x8lo"),
        "sort4x16hi_aaan" => permute!("sort4x16hi"),
        "sort4x16lo_aaan" => permute!("sort4x16lo"),
        "sort4x16hi_aaal" => permute!("sort4x16hi", |w, o| both(w.single(o[1]) & 0xffff)),
        "sort4x16lo_aaau" => permute!("sort4x16lo", |w, o| both(w.single(o[1]) >> 16)),
        "sort8x8hi_aaan" => permute!("sort8x8hi"),
        "sort8x8lo_aaan" => permute!("sort8x8lo"),
        "sort8_aaan" => permute!("sort8"),
        "swap8_aaan" => permute!("swap8"),
        _ => return None,
    };
    Some(operation)
}
