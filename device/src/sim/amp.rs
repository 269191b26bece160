//! The matrix unit (`semantics.md` 5).
//!
//! In: the input and partial operands of a step, the coefficients of the tile, the accumulators of the worker.
//! Out: the values that leave the chains.
//!
//! One step of phase `p`: in phase 0 working and staging accumulators change places; then every unit adds the dot product
//! of the input with its coefficients of that phase; then each chain of staging accumulators moves down by two, two
//! results leave at the bottom and two partials enter at the top (5.4).
//!
//! 1. Products of two f16 are exact. The four products of a step are summed in f64, added to the f32 accumulator and
//!    rounded once (5.5 proposes one rounding per step; the sum itself is exact unless exponents lie 2^30 apart).
//! 2. Flag values mean what the flag table of the package says; a value without a name is refused.

use super::elementwise::pack;
use super::fault::{FaultKind, Outcome, trouble};
use super::number::{narrow2, widen, widen2, widen4};
use super::operation::Operands;
use super::worker::{AuxFn, Worker};
use crate::isa::{AmpFlags, AmpStep};

/// The coefficients `$CWEI` of a tile and the meaning of the flags.
#[derive(Clone)]
pub(super) struct MatrixUnit {
    /// Coefficient of input lane `l` in phase `n` of unit `m`: `[4 n + l][m]`.
    lanes: Box<[[f64; 16]; 16]>,
    steps: Box<[Option<AmpStep>; 64]>,
}

impl MatrixUnit {
    pub(super) fn new(flags: &AmpFlags) -> Self {
        Self {
            lanes: Box::new([[0.0; 16]; 16]),
            steps: Box::new(std::array::from_fn(|value| {
                let step = flags.step("F16V4", value as u8)?;
                (matches!(step.engines, 1 | 2 | 4) && step.phase < step.engines).then_some(step)
            })),
        }
    }

    /// Writes the 64-bit entry `index` = 4 unit + phase, below 64.
    pub(super) fn load(&mut self, index: usize, value: u64) {
        let (unit, phase) = (index / 4, index % 4);
        for lane in 0..4 {
            self.lanes[4 * phase + lane][unit] = f64::from(widen((value >> (16 * lane)) as u16));
        }
    }

    /// Zeroes all entries.
    pub(super) fn clear(&mut self) {
        *self.lanes = [[0.0; 16]; 16];
    }

    fn step(&self, flags: i32) -> Outcome<AmpStep> {
        match self.steps[(flags & 63) as usize] {
            Some(step) => Ok(step),
            None => trouble(FaultKind::Refused, format!("flag value {flags} has no meaning for an f16 product")),
        }
    }
}

/// Adds the dot products to the working accumulators of the first `units` units.
#[inline]
fn multiply(w: &mut Worker, unit: &MatrixUnit, phase: usize, x: [f64; 4], units: std::ops::Range<usize>) {
    let [w0, w1, w2, w3] = [4 * phase, 4 * phase + 1, 4 * phase + 2, 4 * phase + 3].map(|i| &unit.lanes[i]);
    let even = &mut w.accumulators.even;
    for u in units {
        let dot = (x[0] * w0[u] + x[1] * w1[u]) + (x[2] * w2[u] + x[3] * w3[u]);
        even[u] = (f64::from(even[u]) + dot) as f32;
    }
}

/// One step on `CHAINS` chains; `partial` holds two values for each. Returns what leaves.
#[inline]
fn advance<const CHAINS: usize>(
    w: &mut Worker,
    unit: &MatrixUnit,
    step: AmpStep,
    input: i32,
    partial: [f32; 4],
) -> [f32; 4] {
    let x = widen4(w.pair(input)).map(f64::from);
    let phase = usize::from(step.phase);
    let length = 2 * usize::from(step.engines);
    if length == 8 {
        if phase == 0 {
            let a = &mut w.accumulators;
            if CHAINS == 2 {
                std::mem::swap(&mut a.even, &mut a.odd);
            } else {
                a.even[..8].swap_with_slice(&mut a.odd[..8]);
            }
        }
        multiply(w, unit, phase, x, 0..8 * CHAINS);
    } else {
        for chain in 0..CHAINS {
            let units = 8 * chain..8 * chain + length;
            if phase == 0 {
                let a = &mut w.accumulators;
                a.even[units.clone()].swap_with_slice(&mut a.odd[units.clone()]);
            }
            multiply(w, unit, phase, x, units);
        }
    }
    // An input from the zero registers only moves the chains.
    if input < 12 {
        w.multiply_adds += (4 * CHAINS * length) as u64;
    }
    let mut out = [0.0; 4];
    for chain in 0..CHAINS {
        let staging = &mut w.accumulators.odd[8 * chain..8 * chain + 8];
        out[2 * chain..2 * chain + 2].copy_from_slice(&staging[..2]);
        staging.copy_within(2..length, 0);
        staging[length - 2..length].copy_from_slice(&partial[2 * chain..2 * chain + 2]);
    }
    out
}

/// The operation of a form, if it is one of this family.
pub(super) fn amp(name: &str) -> Option<AuxFn> {
    let operation: AuxFn = match name {
        "f16v4hihov4amp_aaan_ef" => hiho_two_chains,
        "f16v4hihoamp_aaan_ef" => |w, unit, o| {
            let [p, q] = widen2(w.single(o[2]));
            let [a, b, ..] = advance::<1>(w, unit, unit.step(o[3])?, o[1], [p, q, 0.0, 0.0]);
            Ok(u64::from(narrow2(a, b, w.fp_ctl, &mut w.raised)))
        },
        "f16v4sihoamp_aaan_ef" => |w, unit, o| {
            let [p, q] = w.pair(o[2]).map(f32::from_bits);
            let [a, b, ..] = advance::<1>(w, unit, unit.step(o[3])?, o[1], [p, q, 0.0, 0.0]);
            Ok(u64::from(narrow2(a, b, w.fp_ctl, &mut w.raised)))
        },
        "f16v4sisoamp_aaan_ef" => |w, unit, o| {
            let [p, q] = w.pair(o[2]).map(f32::from_bits);
            let [a, b, ..] = advance::<1>(w, unit, unit.step(o[3])?, o[1], [p, q, 0.0, 0.0]);
            Ok(pack([a.to_bits(), b.to_bits()]))
        },
        _ => return None,
    };
    Some(operation)
}

fn hiho_two_chains(w: &mut Worker, unit: &MatrixUnit, o: &Operands) -> Outcome<u64> {
    let partial = widen4(w.pair(o[2]));
    let [a, b, c, d] = advance::<2>(w, unit, unit.step(o[3])?, o[1], partial);
    let control = w.fp_ctl;
    Ok(pack([narrow2(a, b, control, &mut w.raised), narrow2(c, d, control, &mut w.raised)]))
}
