//! The F16 product: numbers, exactness of its accesses, cycles.

use super::numbers::{Matrix, Numbers, rounded, spacing};
use super::tile::{Tile, within_five_percent};
use crate::kernels::gemm_f16_cycles;
use crate::memory;

/// Left in region 0; no other operand in its element.
const LEFT: u32 = 0x60000;
/// Out in region 1.
const OUT: u32 = 0x80000;
/// Right in region 1, behind the largest out of these tests.
const RIGHT: u32 = 0xb0000;

/// One call of the product.
struct Product {
    left: Matrix,
    right: Matrix,
    /// What out holds before, when it is added to.
    before: Option<Matrix>,
    addresses: [u32; 3],
}

impl Product {
    fn new(shape: (usize, usize, usize), accumulate: bool, mut value: impl FnMut() -> half::f16) -> Self {
        let (rows, k_groups, n_groups) = shape;
        Self {
            left: Matrix::new(rows, 16 * k_groups, &mut value),
            right: Matrix::new(16 * k_groups, 16 * n_groups, &mut value),
            before: accumulate.then(|| Matrix::new(rows, 16 * n_groups, &mut value)),
            addresses: [OUT, LEFT, RIGHT],
        }
    }

    /// The result and the cycles of the call. Nothing but the operands is written before the call, so that a read past
    /// them stops the run; nothing but out may have changed afterwards.
    fn run(&self) -> (Matrix, u64) {
        let [out, left, right] = self.addresses;
        let (rows, columns) = (self.left.rows, self.right.columns);
        let mut tile = Tile::new();
        tile.load(left, &self.left.left());
        tile.load(right, &self.right.right());
        if let Some(before) = &self.before {
            tile.load(out, &before.left());
        }
        let entry = if self.before.is_some() { "gemm_f16_accumulate" } else { "gemm_f16_initialise" };
        let groups = [self.left.columns as u32 / 16, columns as u32 / 16];
        tile.call(entry, &[out, left, right, rows as u32, groups[0], groups[1]]);
        let outcome = tile.run();
        let bytes = (rows * columns * 2) as u32;
        outcome.only_written(&[(out, bytes)]);
        (Matrix::from_left(rows, columns, &outcome.read(out, bytes)), outcome.cycles[0])
    }

    /// The rounding rule in f64: F16 partials, one rounding for 16 of the inner axis. With it the sum of magnitudes,
    /// the scale of possible errors.
    fn expected(&self, row: usize, column: usize) -> (f64, f64) {
        let mut sum = self.before.as_ref().map_or(0.0, |m| m.at(row, column));
        let mut scale = sum.abs();
        for group in 0..self.left.columns / 16 {
            for k in 16 * group..16 * group + 16 {
                let product = self.left.at(row, k) * self.right.at(k, column);
                sum += product;
                scale += product.abs();
            }
            sum = rounded(sum);
        }
        (sum, scale)
    }
}

fn shapes() -> impl Iterator<Item = (usize, usize, usize)> {
    let rows = (1..=20).chain([48, 95, 184]);
    rows.flat_map(|rows| (1..=5).flat_map(move |k| (1..=3).map(move |n| (rows, k, n))))
}

#[test]
fn gemm_integers_are_exact() {
    for shape in shapes() {
        for accumulate in [false, true] {
            let mut numbers = Numbers::new((shape.0 * 64 + shape.1 * 8 + shape.2) as u64);
            let product = Product::new(shape, accumulate, || numbers.integer(4));
            let (result, _) = product.run();
            for row in 0..result.rows {
                for column in 0..result.columns {
                    // Sums of 80 products of at most 16 and a start: below 2048, so nothing is rounded.
                    let expected = product.expected(row, column).0;
                    let got = result.at(row, column);
                    assert_eq!(got, expected, "{shape:?} accumulate {accumulate} at {row}, {column}");
                }
            }
        }
    }
}

#[test]
fn gemm_random_numbers_round_once_per_group() {
    let mut same = 0;
    let mut all = 0;
    for shape in [(1, 1, 1), (2, 5, 1), (7, 2, 2), (13, 5, 3), (20, 4, 2), (48, 4, 2), (95, 3, 1), (184, 2, 1)] {
        for accumulate in [false, true] {
            let mut numbers = Numbers::new(shape.0 as u64);
            let product = Product::new(shape, accumulate, || numbers.normal());
            let (result, _) = product.run();
            for row in 0..result.rows {
                for column in 0..result.columns {
                    let (expected, scale) = product.expected(row, column);
                    let got = result.at(row, column);
                    // F32 sums may tip an F16 rounding: at most one unit per group.
                    let bound = shape.1 as f64 * spacing(scale);
                    let error = (got - expected).abs();
                    assert!(error <= bound, "{shape:?} at {row}, {column}: {got} for {expected}");
                    same += usize::from(got == expected);
                    all += 1;
                }
            }
        }
    }
    assert!(same * 1000 >= all * 995, "only {same} of {all} are the rounded sums themselves");
}

#[test]
fn gemm_reads_nothing_beyond_its_operands() {
    // Operands at the very end of memory and of region 0: an access past them leaves the memory or meets other data.
    for (rows, k, n) in [(1, 1, 1), (2, 1, 1), (3, 2, 1), (6, 2, 2), (12, 1, 2), (18, 2, 1), (25, 3, 2)] {
        for accumulate in [false, true] {
            let mut numbers = Numbers::new(rows as u64);
            let mut product = Product::new((rows, k, n), accumulate, || numbers.integer(3));
            let bytes = |m: &Matrix| (m.values.len() * 2) as u32;
            let out = memory::LOADABLE_END / 32 * 32 - (rows * n * 32) as u32;
            product.addresses = [out, memory::INTERLEAVED_BASE - bytes(&product.left), 0x88000 - bytes(&product.right)];
            let (result, _) = product.run();
            for row in 0..rows {
                for column in 0..16 * n {
                    assert_eq!(result.at(row, column), product.expected(row, column).0);
                }
            }
        }
    }
}

#[test]
fn gemm_left_may_lie_in_region_1() {
    let mut numbers = Numbers::new(5);
    let mut product = Product::new((31, 3, 2), true, || numbers.integer(3));
    product.addresses = [0x80000, 0x88000, 0x90000];
    let (result, _) = product.run();
    assert!((0..31).all(|r| (0..32).all(|c| result.at(r, c) == product.expected(r, c).0)));
}

#[test]
fn gemm_calls_follow_each_other() {
    // out = a x b, then out += c x d in the same run: the workers' state of one call does not reach the next.
    let mut numbers = Numbers::new(9);
    let first = Product::new((17, 2, 2), false, || numbers.integer(3));
    let second = Product::new((17, 3, 2), false, || numbers.integer(3));
    let mut tile = Tile::new();
    tile.load(0x60000, &first.left.left());
    tile.load(0x64000, &second.left.left());
    tile.load(0x90000, &first.right.right());
    tile.load(0x98000, &second.right.right());
    tile.call("gemm_f16_initialise", &[0x80000, 0x60000, 0x90000, 17, 2, 2]);
    tile.call("gemm_f16_accumulate", &[0x80000, 0x64000, 0x98000, 17, 3, 2]);
    let result = Matrix::from_left(17, 32, &tile.run().read(0x80000, 17 * 32 * 2));
    for row in 0..17 {
        for column in 0..32 {
            let expected = first.expected(row, column).0 + second.expected(row, column).0;
            assert_eq!(result.at(row, column), expected);
        }
    }
}

fn cycles(rows: usize, k: usize, n: usize, accumulate: bool) -> u64 {
    let mut numbers = Numbers::new(1);
    Product::new((rows, k, n), accumulate, || numbers.integer(1)).run().1
}

#[test]
fn gemm_performance_gate() {
    for (rows, aim) in [(48, 2848), (96, 4384), (184, 7248)] {
        let measured = cycles(rows, 4, 2, false);
        let gate = 1.05 * (294 + 4 * 2 * (4 * rows + 160)) as f64;
        assert!(measured as f64 <= gate, "{rows} rows: {measured} cycles, gate {gate}");
        assert!(measured <= aim, "{rows} rows: {measured} cycles, aim {aim}");
    }
}

#[test]
fn gemm_cycle_formula() {
    for rows in [1, 6, 7, 12, 13, 20, 48, 95, 184] {
        for (k, n) in [(1, 1), (2, 1), (5, 1), (1, 3), (4, 2)] {
            for accumulate in [false, true] {
                let formula = gemm_f16_cycles(rows as u32, k as u32, n as u32, accumulate);
                within_five_percent("gemm", (rows, k, n, accumulate), formula, cycles(rows, k, n, accumulate));
            }
        }
    }
}
