//! Build times: cold builds as the machine grows, and rebuilds after edits in a database that has built before.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use ipuc::compile::{Request, WallClock, build, build_in};
use ipuc_queries::database::Compiler;

fn request<'a>(name: &'a str, text: &'a str) -> Request<'a> {
    Request { path: Path::new(name), text, target: &[], color: false, dump: false, exchange: false }
}

fn example(name: &str) -> String {
    let path = format!("{}/examples/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("an example")
}

fn cold(c: &mut Criterion) {
    let mut group = c.benchmark_group("cold build");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    for name in ["gemm-64", "gemm-odd", "gemm-chain", "gemm-1472"] {
        let text = example(name);
        group.bench_with_input(BenchmarkId::from_parameter(name), &text, |b, text| {
            b.iter(|| black_box(build(&request(name, text)).expect("it fits").report));
        });
    }
    group.finish();
}

fn edits(c: &mut Criterion) {
    let mut group = c.benchmark_group("rebuild of gemm-chain");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    let text = example("gemm-chain");
    let built = || {
        let mut db = Compiler::new(Arc::new(WallClock::default()));
        build_in(&mut db, &request("m.json", &text)).expect("it fits");
        db
    };
    let cases = [
        ("white space", text.replace("{ ", "{  ")),
        ("a limit", text.replace("\"tiles\": 200", "\"tiles\": 200, \"exchange_table_bytes\": 80000")),
        ("the second operator", text.replace("[640, 96]", "[640, 80]")),
    ];
    for (name, edited) in &cases {
        assert_ne!(edited, &text, "the edit of {name} changes nothing");
        group.bench_function(*name, |b| {
            b.iter_batched(
                built,
                |mut db| black_box(build_in(&mut db, &request("m.json", edited)).expect("it fits").report),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, cold, edits);
criterion_main!(benches);
