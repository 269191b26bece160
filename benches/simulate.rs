//! Simulation speed: whole runs of examples, loading included.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use half::f16;
use ipuc::compile::{Request, build};
use ipuc_device::host::{DeviceOptions, open};

fn runs(c: &mut Criterion) {
    let mut group = c.benchmark_group("simulate");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    for name in ["gemm-odd", "gemm-64", "gemm-chain"] {
        let path = format!("{}/examples/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("an example");
        let request =
            Request { path: Path::new(&path), text: &text, target: &[], color: false, dump: false, exchange: false };
        let package = Arc::new(build(&request).expect("it fits").package);
        group.bench_with_input(BenchmarkId::from_parameter(name), &package, |b, package| {
            b.iter(|| {
                let mut device = open("sim", &DeviceOptions::default()).expect("the simulator");
                device.load(package.clone()).expect("a good package");
                for tensor in package.manifest.graph.tensors() {
                    let ones = vec![f16::ONE; tensor.elements() as usize];
                    device.write(&tensor.name, &ones).expect("a tensor of the package");
                }
                black_box(device.run().expect("it runs"))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, runs);
criterion_main!(benches);
