//! From a model file to a verdict, through the binary: what the interface contract promises of `build` and `run`.
//!
//! `gemm-1472` is left to the benches: most of its minute and a half in the test profile is the F64 reference of 2 * 10^10
//! multiply-adds.

mod workplace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ipuc::reference;
use ipuc::tensors::{self, HostTensor, read_npy};
use ipuc::verdict::Verdict;
use ipuc_device::package::{Data, MAGIC, Package, Tensor};
use serde_json::{Value, json};
use workplace::{ipuc, ipuc_threads, json_file, product, stderr, stdout, told};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Runs an example from its place, in a directory of its own, and checks everything that comes out.
fn example(name: &str) {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let model = examples().join(format!("{name}.json"));
    let arguments = ["run", model.to_str().unwrap(), "--report", "report.json", "--output", "out"];
    let output = ipuc(here, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let report = json_file(&here.join("report.json"));
    assert_last_lines(stdout(&output), &report, &format!(".ipuc/{name}.ipuexe"));
    assert_report(&report, &json_file(&model));
    assert_outputs(here, &here.join(format!(".ipuc/{name}.ipuexe")), &report);
    if name.ends_with("-int") {
        assert_eq!(report["run"]["max_abs_error"], 0.0, "{name}");
    } else {
        assert!(report["run"]["max_abs_error"].as_f64().unwrap() > 0.0, "{name}: F16 rounds normal data");
    }
}

fn assert_last_lines(stdout: &str, report: &Value, package: &str) {
    let lines: Vec<&str> = stdout.lines().collect();
    let [.., numbers, device] = lines.as_slice() else { panic!("less than two lines: {stdout}") };
    let error = report["run"]["max_abs_error"].as_f64().unwrap();
    assert_eq!(*numbers, format!("referenceMaximumAbsoluteError={error:.6} numericalTest=PASS"));
    assert_eq!(*device, format!("package={package} tiles=1472 deviceTest=PASS device=sim"));
}

/// The written outputs against a second evaluation of the package's graph give the reported verdict.
fn assert_outputs(here: &Path, package: &Path, report: &Value) {
    let package = Package::read(package).unwrap();
    let graph = &package.manifest.graph;
    let data = tensors::load(graph, here, &BTreeMap::new()).unwrap();
    let expected = reference::evaluate(graph, &data).unwrap();
    let outputs: BTreeMap<&str, HostTensor> = graph
        .outputs
        .iter()
        .map(|name| {
            let operation = graph.operation(name).unwrap();
            let (shape, dtype) = (operation.shape.clone(), operation.dtype);
            let tensor = Tensor { name: name.clone(), shape, dtype, data: Data::Unstated };
            (name.as_str(), read_npy(&here.join(format!("out/{name}.npy")), &tensor).unwrap())
        })
        .collect();
    let verdict = Verdict::new(outputs.iter().map(|(&name, tensor)| {
        let HostTensor::F16 { elements, .. } = tensor else { panic!("outputs are f16") };
        (name, &elements[..], &expected[name])
    }));
    assert!(verdict.passed());
    assert_eq!(report["run"]["max_abs_error"].as_f64(), Some(verdict.max_abs_error));
    let cosine = report["run"]["cosine"].as_f64().unwrap();
    assert!((cosine - verdict.cosine).abs() < 1e-12 && cosine > 0.999, "{cosine}");
}

fn count(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("`{field}` is no count in {value}"))
}

/// Every field of the contract is there, and the figures fit together.
fn assert_report(report: &Value, model: &Value) {
    let list = |value: &Value| value.as_array().unwrap().clone();
    assert!(!list(&report["stages"]).is_empty());
    for stage in list(&report["stages"]) {
        assert!(stage["name"].is_string(), "{stage}");
        count(&stage, "elapsed_ms");
    }
    let operators = list(&report["operators"]);
    let names: Vec<&Value> = operators.iter().map(|operator| &operator["name"]).collect();
    let model_operators = list(&model["ops"]);
    assert_eq!(names, model_operators.iter().map(|operator| &operator["name"]).collect::<Vec<_>>());
    let phases = list(&report["phases"]);
    assert!(!phases.is_empty());
    for (at, phase) in phases.iter().enumerate() {
        assert_eq!(count(phase, "phase"), at as u64);
        assert!(names.contains(&&phase["operation"]), "{phase}");
        assert_eq!(count(phase, "executions"), 1);
        assert!(0 < count(phase, "transfers") && count(phase, "transfers") <= count(phase, "pieces"), "{phase}");
        assert!(0 < count(phase, "words") && count(phase, "words") <= count(phase, "words_received"), "{phase}");
        let (bound, sharp) = (count(phase, "endpoint_lower_bound"), count(phase, "fill_drain_lower_bound"));
        assert!(0 < bound && bound <= sharp && sharp <= count(phase, "horizon"), "{phase}");
        assert_eq!(phase["kind"], "ordinary");
        assert_eq!(phase["reused"], false);
        assert!(count(phase, "max_row_words") > 1, "{phase}");
    }
    let totals = &report["totals"];
    for field in ["build_ms", "queries_executed", "queries_reused", "estimated_cycles", "estimated_exchange_cycles"] {
        count(totals, field);
    }
    assert!(count(totals, "queries_executed") > 0);
    assert!(0 < count(totals, "exchange_table_bytes") && count(totals, "exchange_table_bytes") <= 81920);
    let tensors = count(totals, "peak_standard_bytes") + count(totals, "peak_interleaved_bytes");
    assert!(0 < tensors && tensors < count(totals, "tile_memory_bytes"), "{totals}");
    assert!(count(totals, "tile_memory_bytes") <= 638_976);
    for operator in &operators {
        assert_eq!(operator["op"], "gemm");
        assert!(operator["plan"].as_str().is_some_and(|plan| !plan.is_empty()));
        assert!(count(operator, "exchange_cycles") < count(operator, "cycles"), "{operator}");
        assert!(count(operator, "exchange_table_bytes") <= count(totals, "exchange_table_bytes"), "{operator}");
        assert!(0 < count(operator, "tile_bytes"), "{operator}");
    }
    let run = &report["run"];
    let cycles = count(run, "simulated_cycles");
    assert_eq!(cycles, count(run, "exchange_cycles") + count(run, "compute_cycles"));
    let horizons: u64 = phases.iter().map(|phase| count(phase, "horizon")).sum();
    assert!(horizons <= count(run, "exchange_cycles"), "{horizons} in rows alone, {run}");
    for (estimate, measured) in
        [("estimated_cycles", cycles), ("estimated_exchange_cycles", count(run, "exchange_cycles"))]
    {
        let estimate = count(totals, estimate);
        assert!(estimate.abs_diff(measured) * 10 <= measured, "estimated {estimate}, measured {measured}");
    }
    // Padding adds to the products of the model and nothing takes away from them.
    let mut shapes: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for kind in ["inputs", "weights"] {
        for (name, tensor) in model[kind].as_object().unwrap() {
            shapes.insert(name.clone(), list(&tensor["shape"]).iter().map(|extent| extent.as_u64().unwrap()).collect());
        }
    }
    let mut products = 0;
    for operator in &model_operators {
        let operand = |at: usize| &shapes[operator["inputs"][at].as_str().unwrap()];
        let (m, k, n) = (operand(0)[0], operand(0)[1], operand(1)[1]);
        products += m * k * n;
        shapes.insert(operator["name"].as_str().unwrap().into(), vec![m, n]);
    }
    let macs = count(run, "amp_macs");
    assert!(products <= macs && macs <= 2 * products, "{macs} multiply-adds for {products} products");
    assert_eq!(count(run, "amp_peak_cycles"), macs.div_ceil(1472 * 64));
    assert!(count(run, "amp_peak_cycles") < count(run, "compute_cycles"));
    assert!(count(run, "instructions") > 1472);
    count(run, "wall_ms");
    assert_eq!(run["numerical_test"], "PASS");
    assert_eq!(run["device_test"], "PASS");
}

#[test]
fn gemm_64() {
    example("gemm-64");
}

#[test]
fn gemm_64_int() {
    example("gemm-64-int");
}

#[test]
fn gemm_odd() {
    example("gemm-odd");
}

#[test]
fn gemm_odd_int() {
    example("gemm-odd-int");
}

#[test]
fn gemm_chain() {
    example("gemm-chain");
}

#[test]
fn gemm_chain_int() {
    example("gemm-chain-int");
}

#[test]
fn a_package_runs_by_itself_and_from_elsewhere() {
    let directory = tempfile::tempdir().unwrap();
    let (here, there) = (directory.path().join("here"), directory.path().join("there"));
    std::fs::create_dir_all(here.join("models")).unwrap();
    std::fs::create_dir(&there).unwrap();
    // One weight from a file beside the model: the package must still find it.
    let mut model = json_file(&examples().join("gemm-odd-int.json"));
    let weight = Tensor {
        name: "w".into(),
        shape: vec![200, 72],
        dtype: ipuc_device::package::Dtype::F16,
        data: Data::Random { distribution: ipuc_device::package::Distribution::Integers(-2, 2), seed: 5 },
    };
    let Data::Random { distribution, seed } = weight.data else { unreachable!("set above") };
    tensors::write_npy(&here.join("models/w.npy"), &tensors::draw(&weight, distribution, seed).unwrap()).unwrap();
    model["weights"]["w"] = json!({ "shape": [200, 72], "dtype": "f16", "file": "w.npy" });
    std::fs::write(here.join("models/m.json"), model.to_string()).unwrap();
    let built = ipuc(&here, &["build", "models/m.json", "-o", "out.ipuexe", "--report", "report.json"]);
    assert_eq!(built.status.code(), Some(0), "{}", told(&built));
    assert_eq!(stdout(&built), "package=out.ipuexe\n");
    assert!(json_file(&here.join("report.json")).get("run").is_none());
    std::fs::remove_file(here.join("models/m.json")).unwrap();
    let ran = ipuc(&here, &["run", "out.ipuexe"]);
    assert_eq!(ran.status.code(), Some(0), "{}", told(&ran));
    let ran = ipuc(&there, &["run", "../here/out.ipuexe", "--report", "report.json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", told(&ran));
    let report = json_file(&there.join("report.json"));
    assert_last_lines(stdout(&ran), &report, "../here/out.ipuexe");
    assert_eq!(report["run"]["max_abs_error"], 0.0);
    assert_eq!(report["operators"], json_file(&here.join("report.json"))["operators"]);
    // Nothing but the report is written beside a package that runs.
    assert_eq!(std::fs::read_dir(&there).unwrap().count(), 1);
    // Without its data it can't run, and says so.
    std::fs::remove_file(here.join("models/w.npy")).unwrap();
    let ran = ipuc(&here, &["run", "out.ipuexe"]);
    assert_eq!(ran.status.code(), Some(2), "{}", told(&ran));
    assert!(stderr(&ran).contains("w.npy"), "{}", told(&ran));
}

#[test]
fn a_package_without_files_runs_wherever_it_is_moved() {
    let directory = tempfile::tempdir().unwrap();
    let (here, there) = (directory.path().join("here"), directory.path().join("there"));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&there).unwrap();
    std::fs::copy(examples().join("gemm-odd.json"), here.join("m.json")).unwrap();
    let built = ipuc(&here, &["build", "m.json"]);
    assert_eq!(built.status.code(), Some(0), "{}", told(&built));
    std::fs::rename(here.join("m.ipuexe"), there.join("moved.ipuexe")).unwrap();
    std::fs::remove_dir_all(&here).unwrap();
    let ran = ipuc(&there, &["run", "moved.ipuexe"]);
    assert_eq!(ran.status.code(), Some(0), "{}", told(&ran));
    assert!(stdout(&ran).ends_with("package=moved.ipuexe tiles=1472 deviceTest=PASS device=sim\n"));
}

#[test]
fn packages_are_the_same_bytes_whoever_builds_them() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    for name in ["gemm-odd", "gemm-chain"] {
        let model = examples().join(format!("{name}.json"));
        std::fs::copy(&model, here.join("m.json")).unwrap();
        let mut packages = Vec::new();
        for threads in [1, 2, 2, 5] {
            let output = ipuc_threads(here, &["build", "m.json", "-o", "p.ipuexe"], threads);
            assert_eq!(output.status.code(), Some(0), "{}", told(&output));
            packages.push(std::fs::read(here.join("p.ipuexe")).unwrap());
        }
        assert!(packages.iter().all(|package| *package == packages[0]), "{name}");
    }
}

#[test]
fn runs_are_the_same_on_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let model = examples().join("gemm-odd.json");
    let mut seen = Vec::new();
    for threads in [1, 2, 5] {
        let arguments = ["run", model.to_str().unwrap(), "--report", "report.json", "--output", "out"];
        let output = ipuc_threads(here, &arguments, threads);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let mut run = json_file(&here.join("report.json"))["run"].take();
        run.as_object_mut().unwrap().remove("wall_ms");
        seen.push((run, std::fs::read(here.join("out/y.npy")).unwrap()));
    }
    assert!(seen.iter().all(|each| *each == seen[0]));
}

#[test]
fn what_does_not_fit_leaves_a_diagnostic_and_a_report_and_no_package() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let normal = json!({ "normal": 1.0, "seed": 1 });
    let cases = [
        // 24 MiB of operands on two tiles of 624 KiB: no plan is worth lowering.
        ("E2001", product(2048, 2048, 2048, 2, &normal, &normal), "", "bytes, limit 638976 bytes", false),
        // A little too much: laid out past the end of memory, up to where no address field reaches.
        ("E2001", product(700, 698, 1359, 8, &normal, &normal), "", "bytes, limit 638976 bytes", true),
        ("E2001", product(1755, 1526, 1997, 35, &normal, &normal), "", "bytes, limit 638976 bytes", true),
        ("E2001", product(512, 512, 512, 16, &normal, &normal), "tile_memory_bytes=65536", "limit 65536 bytes", true),
        ("E3001", product(512, 512, 512, 16, &normal, &normal), "exchange_table_bytes=16", "limit 16 bytes", true),
    ];
    for (code, model, target, limit, lowered) in cases {
        std::fs::write(here.join("m.json"), &model).unwrap();
        // What an earlier build left must not pass for the package of this model.
        std::fs::write(here.join("m.ipuexe"), MAGIC).unwrap();
        for command in ["build", "run"] {
            let mut arguments = vec![command, "m.json", "--report", "report.json"];
            if !target.is_empty() {
                arguments.extend(["--target", target]);
            }
            let output = ipuc(here, &arguments);
            assert_eq!(output.status.code(), Some(1), "{}", told(&output));
            assert_eq!(stdout(&output), "");
            assert!(stderr(&output).starts_with(&format!("error[{code}]: ")), "{}", told(&output));
            assert!(stderr(&output).lines().next().unwrap().contains(limit), "{}", told(&output));
            let report = json_file(&here.join("report.json"));
            assert!(report["stages"].is_array() && report.get("run").is_none(), "{report}");
            assert!(!lowered || count(&report["totals"], "tile_memory_bytes") > 0, "{report}");
            assert_eq!(report["operators"].as_array().unwrap().len(), usize::from(lowered), "{report}");
            std::fs::remove_file(here.join("report.json")).unwrap();
        }
        assert!(!here.join("m.ipuexe").exists() && !here.join(".ipuc/m.ipuexe").exists());
    }
}
