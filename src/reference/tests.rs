//! The reference against hand values, and its tolerance against an emulation of what the chip rounds.

use half::f16;
use ipuc_device::package::{Data, Distribution, Tensor};

use super::*;
use crate::tensors::draw;

fn tensor(name: &str, rows: u64, columns: u64) -> Tensor {
    Tensor { name: name.into(), shape: vec![rows, columns], dtype: Dtype::F16, data: Data::Unstated }
}

fn gemm_of(name: &str, left: &str, right: &str, rows: u64, columns: u64, k_parts: u32) -> Operation {
    Operation {
        name: name.into(),
        kind: OperationKind::Gemm { k_parts },
        operands: vec![left.into(), right.into()],
        shape: vec![rows, columns],
        dtype: Dtype::F16,
    }
}

fn single(rows: u64, inner: u64, columns: u64) -> Graph {
    Graph {
        inputs: vec![tensor("x", rows, inner)],
        weights: vec![tensor("w", inner, columns)],
        operations: vec![gemm_of("y", "x", "w", rows, columns, 1)],
        outputs: vec!["y".into()],
    }
}

fn host(shape: [u64; 2], elements: &[f32]) -> HostTensor {
    HostTensor::F16 { shape: shape.into(), elements: elements.iter().map(|&e| f16::from_f32(e)).collect() }
}

fn halves(tensor: &HostTensor) -> &[f16] {
    let HostTensor::F16 { elements, .. } = tensor else { panic!("f16 data") };
    elements
}

/// What a right program does to one element: F32 sums over 16 products, F16 between, K parts added in F32.
fn emulate(x: impl Fn(usize) -> f16, w: impl Fn(usize) -> f16, inner: usize, parts: usize) -> f16 {
    let groups = inner.div_ceil(16);
    let mut total: Option<f32> = None;
    for part in 0..parts {
        let mut sum = f16::ZERO;
        for group in part * groups / parts..(part + 1) * groups / parts {
            let mut accumulator = sum.to_f32();
            for step in 0..4 {
                let exact: f64 = (0..4)
                    .map(|lane| group * 16 + step * 4 + lane)
                    .filter(|&k| k < inner)
                    .map(|k| x(k).to_f64() * w(k).to_f64())
                    .sum();
                accumulator = (f64::from(accumulator) + exact) as f32;
            }
            sum = f16::from_f32(accumulator);
        }
        total = Some(total.map_or(sum.to_f32(), |total| total + sum.to_f32()));
    }
    f16::from_f32(total.expect("at least one part"))
}

#[test]
fn a_product_by_hand() {
    let data = BTreeMap::from([
        ("x".to_owned(), host([2, 3], &[1.0, 2.0, 3.0, -1.0, 0.5, 4.0])),
        ("w".to_owned(), host([3, 2], &[7.0, 8.0, 9.0, 10.0, 11.0, -12.0])),
    ]);
    let y = &evaluate(&single(2, 3, 2), &data).unwrap()["y"];
    assert_eq!(y.shape, [2, 2]);
    assert_eq!(y.values, [58.0, -8.0, 41.5, -51.0]);
    // Row 0 is of integers, row 1 is not; K = 3 is one group, one part: `worst` is two roundings of the sum of magnitudes
    // 7 + 4.5 + 44, `walk` is larger.
    assert_eq!(y.tolerance[..2], [0.0, 0.0]);
    let expected = 2.0 * U * (55.5 + SMALLEST_NORMAL) + U * (41.5 + SMALLEST_NORMAL);
    assert!((y.tolerance[2] - expected).abs() < 1e-12);
}

#[test]
fn integers_are_exact_up_to_2048_and_not_beyond() {
    let tolerance = |x: &[f32]| {
        let inner = x.len() as u64;
        let data = BTreeMap::from([
            ("x".to_owned(), host([1, inner], x)),
            ("w".to_owned(), host([inner, 1], &vec![1.0; x.len()])),
        ]);
        evaluate(&single(1, inner, 1), &data).unwrap()["y"].tolerance[0]
    };
    assert_eq!(tolerance(&[1024.0, -512.0, 512.0, 512.0]), 0.0);
    // 2049 is no F16, though the four products of a group would give it in one rounding.
    assert!(tolerance(&[1024.0, 1.0, 512.0, 512.0]) > 0.0);
    assert!(tolerance(&[1024.0, -512.5, 512.0, 512.0]) > 0.0);
    // Groups of 16: sums of consecutive groups within 2048, though all positive products together are not.
    let groups = |sums: &[f32]| -> Vec<f32> { sums.iter().flat_map(|&sum| [sum / 16.0; 16]).collect() };
    assert_eq!(tolerance(&groups(&[1600.0, -1600.0, 1600.0, 448.0])), 0.0);
    assert!(tolerance(&groups(&[1600.0, -1600.0, 1600.0, 464.0])) > 0.0);
    assert!(tolerance(&groups(&[-1600.0, 1600.0, 1600.0, -1600.0])) > 0.0);
}

#[test]
fn a_chain_carries_tolerance_and_exactness() {
    let mut graph = single(2, 2, 2);
    graph.weights.push(tensor("v", 2, 1));
    graph.operations.push(gemm_of("z", "y", "v", 2, 1, 1));
    let data = BTreeMap::from([
        ("x".to_owned(), host([2, 2], &[1.0, 2.0, 0.5, 0.25])),
        ("w".to_owned(), host([2, 2], &[3.0, 4.0, 5.0, 6.0])),
        ("v".to_owned(), host([2, 1], &[2.0, -3.0])),
    ]);
    let values = evaluate(&graph, &data).unwrap();
    let (y, z) = (&values["y"], &values["z"]);
    assert_eq!(z.values, [13.0 * 2.0 - 16.0 * 3.0, 2.75 * 2.0 - 3.5 * 3.0]);
    assert_eq!(z.tolerance[0], 0.0);
    let carried = (y.tolerance[2] * 2.0).powi(2) + (y.tolerance[3] * 3.0).powi(2);
    assert!(z.tolerance[1] > carried.sqrt(), "{} {}", z.tolerance[1], carried.sqrt());
    assert!(z.tolerance[1] < carried.sqrt() + 0.1);
}

#[test]
fn sums_that_may_saturate_have_no_tolerance() {
    let data = |x: f32| {
        BTreeMap::from([("x".to_owned(), host([1, 2], &[x, x])), ("w".to_owned(), host([2, 1], &[200.5, 200.5]))])
    };
    let safe = &evaluate(&single(1, 2, 1), &data(100.0)).unwrap()["y"];
    assert!(safe.tolerance[0] > 0.0);
    let saturated = &evaluate(&single(1, 2, 1), &data(400.0)).unwrap()["y"];
    assert!(saturated.tolerance[0].is_nan());
}

#[test]
fn a_right_program_stays_well_within_and_a_flipped_sign_does_not() {
    for (inner, parts, deviation) in [(512usize, 1, 512f64.powf(-0.5)), (1152, 3, 0.02), (72, 1, 0.1), (16, 1, 1.0)] {
        let (rows, columns) = (48usize, 40usize);
        let mut graph = single(rows as u64, inner as u64, columns as u64);
        graph.operations[0].kind = OperationKind::Gemm { k_parts: parts };
        let x = draw(&graph.inputs[0], Distribution::Normal(1.0), 1).unwrap();
        let w = draw(&graph.weights[0], Distribution::Normal(deviation), 2).unwrap();
        let data = BTreeMap::from([("x".to_owned(), x.clone()), ("w".to_owned(), w.clone())]);
        let expected = &evaluate(&graph, &data).unwrap()["y"];
        let (x, w) = (halves(&x), halves(&w));
        let largest = (0..w.len()).max_by(|&a, &b| w[a].to_f32().abs().total_cmp(&w[b].to_f32().abs())).unwrap();
        let (mut worst, mut worst_flipped) = (0f64, 0f64);
        for r in 0..rows {
            for c in 0..columns {
                let at = r * columns + c;
                let line = |k: usize| x[r * inner + k];
                let right = emulate(line, |k| w[k * columns + c], inner, parts as usize);
                worst = worst.max((right.to_f64() - expected.values[at]).abs() / expected.tolerance[at]);
                let flipped = |k: usize| {
                    let element = w[k * columns + c];
                    if k * columns + c == largest { -element } else { element }
                };
                let wrong = emulate(line, flipped, inner, parts as usize);
                worst_flipped =
                    worst_flipped.max((wrong.to_f64() - expected.values[at]).abs() / expected.tolerance[at]);
            }
        }
        // Not only within: with room, as the argument says, yet not so much that the check is worth nothing.
        assert!(worst < 0.6, "K {inner}: {worst}");
        assert!(worst > 0.02, "K {inner}: {worst}");
        assert!(worst_flipped > 3.0, "K {inner}: {worst_flipped}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let graph = single(2, 3, 2);
    let x = ("x".to_owned(), host([2, 3], &[0.0; 6]));
    let missing = evaluate(&graph, &BTreeMap::from([x.clone()])).unwrap_err();
    assert_eq!(missing.to_string(), "y: operand w has no value");
    let wrong = ("w".to_owned(), host([2, 2], &[0.0; 4]));
    let shape = evaluate(&graph, &BTreeMap::from([x.clone(), wrong])).unwrap_err();
    assert_eq!(shape.to_string(), "y: the shapes of operands and result do not fit");
    let integers = HostTensor::I32 { shape: vec![3, 2], elements: vec![0; 6] };
    let dtype = evaluate(&graph, &BTreeMap::from([x, ("w".to_owned(), integers)])).unwrap_err();
    assert_eq!(dtype.to_string(), "w: the reference does not know i32 yet");
}
