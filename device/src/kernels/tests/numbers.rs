//! Operands of the tests and the rounding rule, in f64.

use half::f16;

/// A small generator (xorshift), the same numbers on every machine.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// An integer in -range ..= range.
    pub(super) fn integer(&mut self, range: i32) -> f16 {
        let span = 2 * range as u64 + 1;
        f16::from_f64((self.next() >> 33) as f64 % span as f64 - f64::from(range))
    }

    /// About normal with variance 1: a sum of twelve uniform numbers.
    pub(super) fn normal(&mut self) -> f16 {
        let sum: f64 = (0..12).map(|_| (self.next() >> 11) as f64 / (1u64 << 53) as f64).sum();
        f16::from_f64(sum - 6.0)
    }
}

/// Nearest F16, ties to even, without infinities (the chip saturates).
pub(super) fn rounded(value: f64) -> f64 {
    f16::from_f64(value).to_f64().clamp(-65504.0, 65504.0)
}

/// The distance of two neighbouring F16 numbers at a magnitude.
pub(super) fn spacing(value: f64) -> f64 {
    let magnitude = value.abs().max(f64::from(f16::MIN_POSITIVE));
    magnitude.log2().floor().exp2() / 1024.0
}

/// A matrix, row by row.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: Vec<f16>,
}

impl Matrix {
    pub(super) fn new(rows: usize, columns: usize, mut value: impl FnMut() -> f16) -> Self {
        Self { rows, columns, values: (0..rows * columns).map(|_| value()).collect() }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column].to_f64()
    }

    /// AMP left order: panels of 16 columns, in each row after row.
    pub(super) fn left(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for panel in 0..self.columns / 16 {
            for row in 0..self.rows {
                for column in 0..16 {
                    bytes.extend(self.values[row * self.columns + panel * 16 + column].to_le_bytes());
                }
            }
        }
        bytes
    }

    /// AMP right order: blocks of 16 rows (K) by 16 columns, column after column, all blocks of 16 columns together.
    pub(super) fn right(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for block in 0..self.columns / 16 {
            for group in 0..self.rows / 16 {
                for column in 0..16 {
                    for k in 0..16 {
                        bytes.extend(self.values[(group * 16 + k) * self.columns + block * 16 + column].to_le_bytes());
                    }
                }
            }
        }
        bytes
    }

    /// The inverse of [`Matrix::left`].
    pub(super) fn from_left(rows: usize, columns: usize, bytes: &[u8]) -> Self {
        let mut values = vec![f16::ZERO; rows * columns];
        for (i, half) in bytes.chunks_exact(2).enumerate() {
            let (panel, row, column) = (i / (16 * rows), i / 16 % rows, i % 16);
            values[row * columns + panel * 16 + column] = f16::from_le_bytes([half[0], half[1]]);
        }
        Self { rows, columns, values }
    }
}
