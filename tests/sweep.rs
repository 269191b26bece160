//! A seeded sweep of random products over random numbers of tiles, no pins: whatever fits must be exactly right.
//!
//! Both operands are integers of magnitude up to `a` with `K a a < 2048`, so every sum of products in any order is an integer
//! that F16 holds, and the result must be equal to the reference, element for element.
//!
//! The ordinary sweep draws sizes evenly in their logarithm, which is quick and has many of the thin and odd shapes. With the
//! feature `slow` a second one draws them evenly: `cargo test --release --features slow --test sweep -- --nocapture`.

mod workplace;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use half::f16;
use ipuc::compile::{self, Request};
use ipuc::reference;
use ipuc::tensors::{self, HostTensor};
use ipuc::verdict::Verdict;
use ipuc_device::host::{self, DeviceOptions};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

const CASES: u64 = 30;
const LARGEST: u64 = 2000;
/// Bytes for data on a tile: from the first placeable address to the end of what can be loaded.
const TILE_BYTES: u64 = 572 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    m: u64,
    k: u64,
    n: u64,
    tiles: u32,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { m, k, n, tiles } = self;
        write!(f, "{m} x {k} x {n} on {tiles} tiles, {:.0} % full", 100.0 * self.fill())
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact(figures) => write!(f, "exact, {figures}"),
            Self::Refused => f.write_str("refused"),
            Self::Wrong(why) => write!(f, "WRONG, {why}"),
        }
    }
}

impl Case {
    /// Four sizes, the last one of the set of tiles.
    fn drawn(mut size: impl FnMut() -> u64) -> Self {
        let [m, k, n, tiles] = [(); 4].map(|()| size());
        Self { m, k, n, tiles: tiles.min(1472) as u32 }
    }

    /// Share of the tiles' memory that the elements of both operands and the result take.
    fn fill(&self) -> f64 {
        let Self { m, k, n, tiles } = *self;
        (2 * (m * k + k * n + m * n)) as f64 / (u64::from(tiles) * TILE_BYTES) as f64
    }
}

/// What came of a case.
#[derive(Debug)]
enum Outcome {
    /// It ran, and this is what it looked like.
    Exact(String),
    /// It does not fit.
    Refused,
    /// It should have done one of the other two.
    Wrong(String),
}

fn run(case: Case, seed: u64) -> Outcome {
    let Case { m, k, n, tiles } = case;
    let magnitude = (2047 / k).isqrt().clamp(1, 9) as i64;
    let data = |seed: u64| json!({ "integers": [-magnitude, magnitude], "seed": seed });
    let text = workplace::product(m, k, n, tiles, &data(seed), &data(seed + 1));
    let request = Request {
        path: Path::new("product.json"),
        text: &text,
        target: &[],
        color: false,
        exchange: false,
        dump: false,
    };
    let started = Instant::now();
    let compiled = match compile::build(&request) {
        Ok(compiled) => compiled,
        Err(failure) => {
            let codes: Vec<&serde_json::Value> = failure.diagnostics.iter().map(|d| &d.json["code"]).collect();
            if codes == ["E2001"] {
                return Outcome::Refused;
            }
            let rendered: String = failure.diagnostics.iter().map(|d| d.rendered.as_str()).collect();
            return Outcome::Wrong(rendered);
        }
    };
    let build_ms = started.elapsed().as_millis();
    // As `run` would see it.
    let bytes = compiled.package.to_bytes().unwrap();
    let package = Arc::new(ipuc_device::package::Package::from_bytes(&bytes).unwrap());
    let graph = &package.manifest.graph;
    let data = tensors::load(graph, Path::new("."), &BTreeMap::new()).unwrap();
    let mut device = host::open("sim", &DeviceOptions::default()).unwrap();
    device.load(package.clone()).unwrap();
    for (name, tensor) in &data {
        let HostTensor::F16 { elements, .. } = tensor else { unreachable!("all data is f16") };
        device.write(name, elements).unwrap();
    }
    let measured = match device.run() {
        Ok(measured) => measured,
        Err(fault) => return Outcome::Wrong(fault.to_string()),
    };
    let found: Vec<f16> = device.read("y").unwrap();
    let expected = reference::evaluate(graph, &data).unwrap();
    assert!(expected["y"].tolerance.iter().all(|&tolerance| tolerance == 0.0), "the data leave room for rounding");
    let verdict = Verdict::new([("y", &found[..], &expected["y"])]);
    match verdict.worst {
        Some(miss) => Outcome::Wrong(format!("{} of {} elements are wrong: {miss}", verdict.misses, verdict.elements)),
        None => Outcome::Exact(format!(
            "{} cycles, built in {build_ms} ms, run in {} ms, {}",
            measured.simulated_cycles, measured.wall_ms, compiled.report.operators[0].plan
        )),
    }
}

/// Runs all cases, tells of each, and fails at the end for all that went wrong.
#[expect(clippy::print_stdout, reason = "the table of cases is the point of a sweep")]
fn sweep(seed: u64, mut draw: impl FnMut(&mut ChaCha8Rng) -> Case) {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut wrong = Vec::new();
    let mut exact = 0;
    for number in 0..CASES {
        let case = draw(&mut generator);
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| run(case, 2 * number)))
            .unwrap_or_else(|_| Outcome::Wrong("it panicked".into()));
        let outcome = match outcome {
            Outcome::Exact(_) if case.fill() > 1.0 => Outcome::Wrong("it can't fit and was not refused".into()),
            Outcome::Refused if case.fill() <= 0.85 => Outcome::Wrong("it was refused".into()),
            outcome => outcome,
        };
        println!("{number:>2} {case}: {outcome}, {} ms in all", started.elapsed().as_millis());
        match outcome {
            Outcome::Exact(_) => exact += 1,
            Outcome::Refused => {}
            Outcome::Wrong(why) => wrong.push(format!("{number} {case}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(exact * 2 > CASES, "only {exact} cases ran");
}

#[test]
fn products_of_sizes_drawn_evenly_in_their_logarithm() {
    let top = (LARGEST as f64).ln();
    sweep(1, |generator| Case::drawn(|| ((top * generator.random::<f64>()).exp().round() as u64).clamp(1, LARGEST)));
}

#[cfg(feature = "slow")]
#[test]
fn products_of_sizes_drawn_evenly() {
    sweep(2, |generator| Case::drawn(|| generator.random_range(1..=LARGEST)));
}

#[cfg(feature = "slow")]
#[test]
fn products_that_nearly_fill_their_tiles() {
    sweep(3, |generator| {
        let case = Case { tiles: 1, ..Case::drawn(|| generator.random_range(300..=LARGEST)) };
        let tiles = (case.fill() / generator.random_range(0.3..1.1)).ceil();
        Case { tiles: (tiles as u32).clamp(1, 1472), ..case }
    });
}
