//! A matrix product on row-major slices, for F64 values and F32 magnitudes.
//!
//! Every element is the sum of its products in ascending K, so the result depends neither on the number of threads nor on
//! the blocking. Rows go to threads in blocks; within a block, panels of `LANES` columns are kept in cache and four rows
//! at a time in registers.

use std::ops::{Add, Mul};

use rayon::prelude::*;

/// Rows of a thread's block: a panel read from memory serves all of them.
const BLOCK_ROWS: usize = 32;
/// Rows held in registers.
const REGISTER_ROWS: usize = 4;

/// `left [rows, inner] x right [inner, columns]`.
pub(super) fn product<T, const LANES: usize>(
    left: &[T],
    right: &[T],
    (rows, inner, columns): (usize, usize, usize),
) -> Vec<T>
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T> + Send + Sync,
{
    assert_eq!((left.len(), right.len()), (rows * inner, inner * columns), "extents of a product");
    let panels = columns.div_ceil(LANES);
    // The right operand, panel by panel, short panels padded with zeros.
    let mut packed = vec![[T::default(); LANES]; panels * inner];
    packed.par_chunks_mut(inner).enumerate().for_each(|(panel, chunk)| {
        let first = panel * LANES;
        let width = LANES.min(columns - first);
        for (k, lanes) in chunk.iter_mut().enumerate() {
            lanes[..width].copy_from_slice(&right[k * columns + first..][..width]);
        }
    });
    let mut result = vec![T::default(); rows * columns];
    result.par_chunks_mut(BLOCK_ROWS * columns).enumerate().for_each(|(block, out)| {
        let out_rows = out.len() / columns;
        for (panel, lanes) in packed.chunks_exact(inner).enumerate() {
            let first = panel * LANES;
            let width = LANES.min(columns - first);
            for row in (0..out_rows).step_by(REGISTER_ROWS) {
                let count = REGISTER_ROWS.min(out_rows - row);
                // A short last group repeats its last row; the repeats are not stored.
                let line = |i: usize| {
                    let r = block * BLOCK_ROWS + row + i.min(count - 1);
                    &left[r * inner..][..inner]
                };
                let sums = four_rows([line(0), line(1), line(2), line(3)], lanes);
                for (i, sum) in sums.iter().enumerate().take(count) {
                    out[(row + i) * columns + first..][..width].copy_from_slice(&sum[..width]);
                }
            }
        }
    });
    result
}

/// Four rows times one panel.
fn four_rows<T, const LANES: usize>(rows: [&[T]; REGISTER_ROWS], lanes: &[[T; LANES]]) -> [[T; LANES]; REGISTER_ROWS]
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
{
    let mut sums = [[T::default(); LANES]; REGISTER_ROWS];
    let [a, b, c, d] = rows;
    for ((((w, &a), &b), &c), &d) in lanes.iter().zip(a).zip(b).zip(c).zip(d) {
        for (sum, x) in sums.iter_mut().zip([a, b, c, d]) {
            for (sum, &w) in sum.iter_mut().zip(w) {
                *sum = *sum + x * w;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_three_loops_at_every_edge() {
        for (rows, inner, columns) in [(1, 1, 1), (3, 5, 9), (4, 16, 8), (33, 7, 17), (70, 20, 3), (64, 1, 31)] {
            let left: Vec<f64> = (0..rows * inner).map(|i| (i % 13) as f64 - 6.0).collect();
            let right: Vec<f64> = (0..inner * columns).map(|i| (i % 11) as f64 - 5.0).collect();
            let mut expected = vec![0.0; rows * columns];
            for r in 0..rows {
                for c in 0..columns {
                    expected[r * columns + c] = (0..inner).map(|k| left[r * inner + k] * right[k * columns + c]).sum();
                }
            }
            assert_eq!(product::<f64, 4>(&left, &right, (rows, inner, columns)), expected);
            assert_eq!(product::<f64, 8>(&left, &right, (rows, inner, columns)), expected);
        }
    }
}
