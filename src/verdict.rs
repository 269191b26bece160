//! Whether the numbers are right: a run's outputs against the reference.
//!
//! PASS means that every element of every output differs from its expected value by at most its tolerance. A NaN on either
//! side, as value or as tolerance, is not within anything.

use std::fmt;

use half::f16;

use crate::reference::Expected;
use crate::tensors::coordinates;

/// An element that is off.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    /// Which output.
    pub output: String,
    /// Where in it, by axis.
    pub element: Vec<u64>,
    /// What the device computed.
    pub found: f64,
    /// What it should be.
    pub expected: f64,
    /// By how much it may differ; NaN where sums can leave the range of F16.
    pub tolerance: f64,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { output, element, found, expected, tolerance } = self;
        if tolerance.is_nan() {
            return write!(
                f,
                "{output}{element:?} is {found}; sums of this size can saturate F16, so no bound is known"
            );
        }
        write!(f, "{output}{element:?} is {found}, expected {expected:.6} +- {tolerance:.6}")
    }
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Largest absolute difference over all elements; NaN if some element is NaN.
    pub max_abs_error: f64,
    /// Cosine of the angle between found and expected; the smallest of all outputs.
    pub cosine: f64,
    /// Elements compared.
    pub elements: u64,
    /// Elements out of tolerance.
    pub misses: u64,
    /// The one furthest out, in tolerances.
    pub worst: Option<Miss>,
}

impl Verdict {
    /// Compares the outputs, by name, with what is expected of them.
    pub fn new<'a>(outputs: impl IntoIterator<Item = (&'a str, &'a [f16], &'a Expected)>) -> Self {
        let mut verdict = Self { max_abs_error: 0.0, cosine: 1.0, elements: 0, misses: 0, worst: None };
        let mut furthest = -1.0;
        for (name, found, expected) in outputs {
            assert_eq!(found.len(), expected.values.len(), "an output has the shape of its operation");
            verdict.elements += found.len() as u64;
            for (at, element) in found.iter().enumerate() {
                let (found, value, tolerance) = (element.to_f64(), expected.values[at], expected.tolerance[at]);
                let error = (found - value).abs();
                // A NaN stays: nothing is larger.
                if error.is_nan() || error > verdict.max_abs_error {
                    verdict.max_abs_error = error;
                }
                if error <= tolerance {
                    continue;
                }
                verdict.misses += 1;
                let distance = error / tolerance;
                let distance = if distance.is_nan() { f64::INFINITY } else { distance };
                if distance > furthest {
                    furthest = distance;
                    let element = coordinates(&expected.shape, at);
                    let output = name.to_owned();
                    verdict.worst = Some(Miss { output, element, found, expected: value, tolerance });
                }
            }
            verdict.cosine = smaller(verdict.cosine, cosine(found, &expected.values));
        }
        verdict
    }

    /// Whether every element is within its tolerance.
    pub fn passed(&self) -> bool {
        self.misses == 0
    }
}

/// "PASS" or "FAIL".
pub fn word(passed: bool) -> &'static str {
    if passed { "PASS" } else { "FAIL" }
}

/// The smaller one; NaN if one is NaN.
fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }
}

/// Cosine of the angle; two zero vectors are the same, one zero vector is like nothing.
fn cosine(found: &[f16], expected: &[f64]) -> f64 {
    let (mut product, mut found_square, mut expected_square) = (0.0, 0.0, 0.0);
    for (found, expected) in found.iter().zip(expected) {
        let found = found.to_f64();
        product += found * expected;
        found_square += found * found;
        expected_square += expected * expected;
    }
    match (found_square == 0.0, expected_square == 0.0) {
        (true, true) => 1.0,
        (false, false) => product / (found_square * expected_square).sqrt(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(found: &[f32], expected: &[f64], tolerance: &[f64]) -> Verdict {
        let found: Vec<f16> = found.iter().map(|&v| f16::from_f32(v)).collect();
        let shape = vec![1, expected.len() as u64];
        let expected = Expected { shape, values: expected.into(), tolerance: tolerance.into() };
        Verdict::new([("y", &found[..], &expected)])
    }

    #[test]
    fn within_and_beyond() {
        let pass = verdict(&[1.0, 2.0], &[1.25, 2.0], &[0.25, 0.0]);
        assert!(pass.passed());
        assert_eq!((pass.max_abs_error, pass.elements), (0.25, 2));
        assert!(pass.cosine > 0.99 && pass.cosine < 1.0);
        let fail = verdict(&[1.0, 2.0, 3.0], &[1.25, 2.5, 3.0], &[0.125, 0.125, 0.0]);
        assert_eq!(fail.misses, 2);
        assert_eq!(fail.worst.unwrap().to_string(), "y[0, 1] is 2, expected 2.500000 +- 0.125000");
        assert!(!verdict(&[1.0], &[1.0 + 1e-9], &[0.0]).passed());
    }

    #[test]
    fn nothing_passes_a_nan() {
        for (found, expected, tolerance) in [(f32::NAN, 1.0, 1.0), (1.0, f64::NAN, 1.0), (1.0, 1.0, f64::NAN)] {
            let verdict = verdict(&[found, 0.0], &[expected, 0.5], &[tolerance, 1.0]);
            assert!(!verdict.passed());
            assert_eq!(verdict.max_abs_error.is_nan(), found.is_nan() || expected.is_nan());
            assert!(verdict.worst.is_some());
        }
        let infinite = verdict(&[f32::INFINITY], &[1.0], &[1.0]);
        assert!(!infinite.passed() && infinite.max_abs_error.is_infinite());
    }

    #[test]
    fn cosines_of_extremes() {
        assert_eq!(verdict(&[0.0], &[0.0], &[0.0]).cosine, 1.0);
        assert_eq!(verdict(&[0.0], &[1.0], &[1.0]).cosine, 0.0);
        assert_eq!(verdict(&[-1.0], &[1.0], &[1.0]).cosine, -1.0);
    }
}
