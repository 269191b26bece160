//! What the numbers should be: a plain F64 evaluation of the graph, and how far a right F16 program may be from it.
//!
//! In: the graph and its tensors, row-major. Out: for every operation its exact-as-F64 values and a tolerance for each
//! element. Layouts, plans, kernels and the simulator are unknown here.
//!
//! **What the chip rounds.** A GEMM adds 16 products at a time in F32 and rounds the running sum to F16 after each 16;
//! the results of the K parts are added in F32 and rounded once more. With `g = ceil(K / 16)` groups and `p` parts an
//! element sees at most `n = g + p` roundings. Each is to nearest: its error is at most `u |P|`, with `u = 2^-11` and
//! `P` the sum at that point, or `u 2^-14` where `P` is subnormal; so `|P|` below means `|P| + 2^-14`. F32 rounding is
//! 2^-24 at a time and disappears in the slack of 1/64 on `u`.
//!
//! **Exact data.** F16 holds all integers up to 2048. If all elements of the row and the column are integers without error,
//! the tolerance is 0 where no sum that the chip rounds can be larger:
//! - in any order, if neither the positive nor the negative products add up to more: `(sum |x w| + |y|) / 2 <= 2048`;
//! - as the chip adds (ascending K in groups, parts of consecutive groups), if no sum over consecutive groups is larger:
//!   the largest minus the smallest running sum is at most 2048.
//!
//! **Other data.** The sums walk from 0 to the result `y`. In units of time `t` in 0..1 and with `S = sqrt(sum (x w)^2)`
//! the walk is `y t + S b(t)` with a Brownian bridge `b`, whatever the order of the products. The errors are independent
//! and, worst mantissa assumed, uniform in `+-u |P|`, so of variance `u^2 P^2 / 3`. Their sum `e` then has the variance
//! `v * integral (y t + S b)^2`, `v = u^2 n / 3`, and the root of that is at most `sqrt(v) (|y| / sqrt(3) + S sqrt(integral b^2))`:
//! - the part of `y` is Gaussian with deviation `u sqrt(n) |y| / 3`: 4.5 `u sqrt(n) |y|` is 13 deviations;
//! - for the part of `S`, `E exp(q integral b^2) = sqrt(f / sin f)`, `f = sqrt(2 q)`, gives
//!   `P(|e| > T) <= 2 exp(-f T / (S sqrt(v))) sqrt(f / sin f)` for every `f < pi`; at `T = 4.5 u sqrt(n) S` and `f = 3.1`
//!   that is 6e-10, and with mantissas spread evenly instead of the worst 1e-13.
//!
//! Hence `walk = 4.5 u sqrt(n) (|y| + S)`: among 17 million elements of a right program one beyond it is a matter of one in
//! a hundred even with the worst mantissas. No matter how the data look, the error is also at most `n u sum |x w|`, which is
//! smaller for short K; the smaller one counts. Data whose partial sums wander far outside of `|y| + S` (long runs of one
//! sign that cancel at the end) can FAIL with a right program; they can't PASS with a wrong one.
//!
//! **Computed operands** bring their own tolerances. Errors of different elements are independent, so they add in
//! quadrature: `carried = sqrt(sum (tx w)^2 + (x tw)^2 + (tx tw)^2)`. The store of the result is counted apart: `u |y|`.
//!
//! `tolerance = sqrt(min(walk, worst)^2 + carried^2) + u |y|`.
//!
//! **Saturation.** F16 sums clamp at 65504. Where a sum can get there (`sum |x w|` above it, and `|y| + 4.5 S` too) no
//! bound is given: the tolerance is NaN, which nothing passes.

mod product;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ipuc_device::package::{Dtype, Graph, Operation, OperationKind};
use rayon::prelude::*;

use crate::tensors::HostTensor;
use product::product;

/// Products that are added in F32 before a rounding to F16.
const GROUP: usize = 16;
/// Largest integer up to which F16 holds all integers.
const EXACT: f64 = 2048.0;
/// Largest finite F16.
const LARGEST: f64 = 65504.0;
/// Unit roundoff of F16, with slack for the F32 sums.
const U: f64 = (1.0 + 1.0 / 64.0) / 2048.0;
/// Smallest normal F16: below it the rounding error no longer shrinks.
const SMALLEST_NORMAL: f64 = 1.0 / 16384.0;
/// Factor of the random walk, argued above.
const WALK: f64 = 4.5;

/// A value of the graph as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// Elements, row-major.
    pub values: Vec<f64>,
    /// How far each element may be off; NaN where no bound can be given.
    pub tolerance: Vec<f64>,
}

/// Why a graph can't be evaluated.
#[derive(Debug, PartialEq, Eq)]
pub enum ReferenceError {
    /// An operand has no value.
    Missing {
        /// Whose operand.
        operation: String,
        /// Its name.
        operand: String,
    },
    /// Extents don't fit together.
    Shape {
        /// Whose operands.
        operation: String,
    },
    /// The reference has no model of the type.
    Dtype {
        /// Which value.
        name: String,
        /// Its type.
        dtype: Dtype,
    },
}

impl std::fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { operation, operand } => write!(f, "{operation}: operand {operand} has no value"),
            Self::Shape { operation } => write!(f, "{operation}: the shapes of operands and result do not fit"),
            Self::Dtype { name, dtype } => write!(f, "{name}: the reference does not know {dtype} yet"),
        }
    }
}

impl std::error::Error for ReferenceError {}

/// Evaluates every operation.
pub fn evaluate(
    graph: &Graph,
    tensors: &BTreeMap<String, HostTensor>,
) -> Result<BTreeMap<String, Expected>, ReferenceError> {
    let mut values: BTreeMap<String, Expected> = BTreeMap::new();
    for operation in &graph.operations {
        for name in &operation.operands {
            if values.contains_key(name) {
                continue;
            }
            let tensor = tensors
                .get(name)
                .ok_or_else(|| ReferenceError::Missing { operation: operation.name.clone(), operand: name.clone() })?;
            values.insert(name.clone(), given(name, tensor)?);
        }
        let result = match operation.kind {
            OperationKind::Gemm { k_parts } => gemm(operation, k_parts, &values)?,
        };
        values.insert(operation.name.clone(), result);
    }
    values.retain(|name, _| graph.operation(name).is_some());
    Ok(values)
}

/// A tensor that the user gave: no error.
fn given(name: &str, tensor: &HostTensor) -> Result<Expected, ReferenceError> {
    let HostTensor::F16 { shape, elements } = tensor else {
        return Err(ReferenceError::Dtype { name: name.into(), dtype: tensor.dtype() });
    };
    let values: Vec<f64> = elements.iter().map(|element| element.to_f64()).collect();
    Ok(Expected { shape: shape.clone(), tolerance: vec![0.0; values.len()], values })
}

/// Matrix product with its tolerance.
fn gemm(operation: &Operation, k_parts: u32, values: &BTreeMap<String, Expected>) -> Result<Expected, ReferenceError> {
    let wrong_shape = || ReferenceError::Shape { operation: operation.name.clone() };
    if operation.dtype != Dtype::F16 {
        return Err(ReferenceError::Dtype { name: operation.name.clone(), dtype: operation.dtype });
    }
    let [left, right] = operation.operands.as_slice() else { return Err(wrong_shape()) };
    let (left, right) = (&values[left], &values[right]);
    let (Some((&inner, outer)), [right_inner, columns]) = (left.shape.split_last(), right.shape.as_slice()) else {
        return Err(wrong_shape());
    };
    let expected_shape: Vec<u64> = outer.iter().copied().chain([*columns]).collect();
    if inner != *right_inner || operation.shape != expected_shape {
        return Err(wrong_shape());
    }
    let (rows, inner, columns) = (outer.iter().product::<u64>() as usize, inner as usize, *columns as usize);
    let extents = (rows, inner, columns);

    let values = product::<f64, 4>(&left.values, &right.values, extents);
    let magnitude = |v: &Expected| v.values.iter().map(|x| x.abs() as f32).collect::<Vec<_>>();
    let square = |v: &[f64]| v.iter().map(|x| (x * x) as f32).collect::<Vec<_>>();
    let absolute_sums = product::<f32, 8>(&magnitude(left), &magnitude(right), extents);
    let (left_squares, right_squares) = (square(&left.values), square(&right.values));
    let square_sums = product::<f32, 8>(&left_squares, &right_squares, extents);
    let carried = carried_squares(left, right, (&left_squares, &right_squares), extents);

    let exact_rows = exact_lines(left, |line| (line * inner..(line + 1) * inner).step_by(1), rows);
    let exact_columns = exact_lines(right, |line| (line..inner * columns).step_by(columns), columns);
    let roundings = (inner as u64).div_ceil(GROUP as u64) + u64::from(k_parts);
    let columns_first = OnceLock::new();
    let range = |at: usize| {
        let turned = columns_first.get_or_init(|| transposed(&right.values, inner, columns));
        let row = &left.values[at / columns * inner..][..inner];
        range_of_sums(row, &turned[at % columns * inner..][..inner])
    };
    let tolerance = (0..values.len())
        .into_par_iter()
        .map(|at| {
            let exact = exact_rows[at / columns] && exact_columns[at % columns];
            let absolute_sum = f64::from(absolute_sums[at]);
            if exact && (f64::midpoint(absolute_sum, values[at].abs()) <= EXACT || range(at) <= EXACT) {
                return 0.0;
            }
            let carried = carried.as_ref().map_or(0.0, |squares| f64::from(squares[at]));
            bound(values[at].abs(), absolute_sum, f64::from(square_sums[at]), roundings as f64, carried)
        })
        .collect();
    Ok(Expected { shape: operation.shape.clone(), values, tolerance })
}

/// The tolerance of one element, as the header derives it; NaN where the sums can saturate.
fn bound(y: f64, absolute_sum: f64, square_sum: f64, roundings: f64, carried_square: f64) -> f64 {
    let s = square_sum.sqrt();
    let carried = carried_square.sqrt();
    if absolute_sum + carried > LARGEST && y + WALK * s + carried > LARGEST {
        return f64::NAN;
    }
    let walk = WALK * U * roundings.sqrt() * (y + s + SMALLEST_NORMAL);
    let worst = roundings * U * (absolute_sum + SMALLEST_NORMAL);
    let rounded = walk.min(worst);
    let tolerance = (rounded * rounded + carried_square).sqrt() + U * (y + SMALLEST_NORMAL);
    if tolerance.is_finite() { tolerance } else { f64::NAN }
}

/// `sum (tx w)^2 + (x tw)^2 + (tx tw)^2` for every element; `None` if both operands are without error.
fn carried_squares(
    left: &Expected,
    right: &Expected,
    (left_squares, right_squares): (&[f32], &[f32]),
    extents: (usize, usize, usize),
) -> Option<Vec<f32>> {
    let has_error = |v: &Expected| v.tolerance.iter().any(|&t| t != 0.0);
    let squares = |v: &Expected| v.tolerance.iter().map(|t| (t * t) as f32).collect::<Vec<_>>();
    match (has_error(left), has_error(right)) {
        (false, false) => None,
        (true, false) => Some(product::<f32, 8>(&squares(left), right_squares, extents)),
        (false, true) => Some(product::<f32, 8>(left_squares, &squares(right), extents)),
        (true, true) => {
            let (left_errors, right_errors) = (squares(left), squares(right));
            let both: Vec<f32> = right_squares.iter().zip(&right_errors).map(|(w, t)| w + t).collect();
            let from_left = product::<f32, 8>(&left_errors, &both, extents);
            let from_right = product::<f32, 8>(left_squares, &right_errors, extents);
            Some(from_left.iter().zip(&from_right).map(|(a, b)| a + b).collect())
        }
    }
}

/// Columns as rows.
fn transposed(values: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|c| (0..rows).map(move |r| values[r * columns + c])).collect()
}

/// Largest minus smallest running sum of the products, looked at before the first and after each group: the largest
/// magnitude of a sum over consecutive groups.
fn range_of_sums(row: &[f64], column: &[f64]) -> f64 {
    let (mut sum, mut low, mut high) = (0f64, 0f64, 0f64);
    for (x, w) in row.chunks(GROUP).zip(column.chunks(GROUP)) {
        sum += x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
        (low, high) = (low.min(sum), high.max(sum));
    }
    high - low
}

/// Which rows (or columns) hold only integers without error.
fn exact_lines<I: Iterator<Item = usize>>(v: &Expected, line: impl Fn(usize) -> I, lines: usize) -> Vec<bool> {
    (0..lines).map(|i| line(i).all(|at| v.tolerance[at] == 0.0 && v.values[at].fract() == 0.0)).collect()
}

#[cfg(test)]
mod tests;
