//! `ipuc run` on a package, from the file to the exit code. The program is written by hand: tile 0 copies `x` to `y`, which
//! is the product with the identity; all other tiles end at once.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use half::f16;
use ipuc::tensors::{HostTensor, read_npy, write_npy};
use ipuc_device::asm::{Options, assemble};
use ipuc_device::isa::Context;
use ipuc_device::link::{self, link};
use ipuc_device::memory::{LOAD_BASE, TileId};
use ipuc_device::package::{
    Binding, Data, DebugRegion, Distribution, Dtype, Graph, ImageSegment, Manifest, Operation, OperationKind, Order,
    Package, Role, Span, Symbol, Tensor, TileImage,
};

const PROGRAM: &str = "
    .section .text.program, \"ax\", @progbits
    .supervisor
    .globl program
program:
    get $m0, $TILE_ID
    brnz $m0, complete
    setzi $m1, 0x60000
    .irp offset, 0, 1, 2, 3, 4, 5, 6, 7
    ld32 $m2, $m1, $mzero, \\offset
    st32 $m2, $m1, $mzero, \\offset + 8
    .endr
    .globl complete
complete:
    setzi $m0, 1
    setzi $m1, 0x58000
    st32 $m0, $m1, $mzero, 0
    bri 0
";

fn package() -> Package {
    let options = Options { context: Context::Supervisor, ..Options::default() };
    let object = assemble("program.S", PROGRAM, &options).unwrap();
    let options = link::Options {
        regions: vec![(LOAD_BASE, 0x50000)],
        entry: "program".into(),
        retain: Vec::new(),
        externals: std::collections::BTreeMap::new(),
    };
    let image = link(&[("program", &object.bytes)], &options).unwrap();
    let [segment] = image.segments.as_slice() else { panic!("one segment") };
    let end = segment.address + segment.bytes.len() as u32;
    let tensor =
        |name: &str, rows: u64, data| Tensor { name: name.into(), shape: vec![rows, 16], dtype: Dtype::F16, data };
    let binding = |name: &str, role, order, rows: u32, address, atoms| Binding {
        name: name.into(),
        role,
        shape: vec![u64::from(rows), 16],
        dtype: Dtype::F16,
        order,
        rows,
        columns: 16,
        spans: vec![Span { tile: TileId(0), address, first_atom: 0, atoms }],
    };
    let identity = Data::File { path: "identity.npy".into(), tensor: None };
    let manifest = Manifest {
        name: "copy".into(),
        compiler: "by hand".into(),
        tiles_used: 1,
        entry: image.entry,
        symbols: image.symbols.iter().map(|(name, &address)| Symbol { address, name: name.clone() }).collect(),
        debug_regions: vec![DebugRegion { name: "generated tile program".into(), start: segment.address, end }],
        bindings: vec![
            binding("x", Role::Input, Order::Left, 1, 0x60000, 1),
            binding("w", Role::Weight, Order::Right, 16, 0x60100, 16),
            binding("y", Role::Output, Order::Left, 1, 0x60020, 1),
        ],
        graph: Graph {
            inputs: vec![tensor("x", 1, Data::Random { distribution: Distribution::Integers(-9, 9), seed: 4 })],
            weights: vec![tensor("w", 16, identity)],
            operations: vec![Operation {
                name: "y".into(),
                kind: OperationKind::Gemm { k_parts: 1 },
                operands: vec!["x".into(), "w".into()],
                shape: vec![1, 16],
                dtype: Dtype::F16,
            }],
            outputs: vec!["y".into()],
        },
        ..Manifest::default()
    };
    let image = ImageSegment { address: segment.address, bytes: segment.bytes.as_slice().into() };
    let image = Arc::new(TileImage { segments: vec![image] });
    Package { manifest, tiles: vec![image; 1472] }
}

fn ipuc(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipuc"));
    command.args(arguments).current_dir(directory).env_remove("IPUC_LOG").output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A directory with the package and its weight.
fn workplace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let identity = (0..256).map(|i| if i / 16 == i % 16 { f16::ONE } else { f16::ZERO }).collect();
    let identity = HostTensor::F16 { shape: vec![16, 16], elements: identity };
    write_npy(&directory.path().join("identity.npy"), &identity).unwrap();
    package().write(&directory.path().join("copy.ipuexe")).unwrap();
    directory
}

#[test]
fn a_right_package_passes_and_tells_its_figures() {
    let directory = workplace();
    let here = directory.path();
    let output = ipuc(here, &["run", "copy.ipuexe", "--output", "out", "--report", "report.json", "-v"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines: Vec<&str> = text(&output.stdout).lines().rev().take(2).collect();
    assert_eq!(lines[1], "referenceMaximumAbsoluteError=0.000000 numericalTest=PASS");
    assert_eq!(lines[0], "package=copy.ipuexe tiles=1472 deviceTest=PASS device=sim");
    for event in ["reading application package", "loading application tile_count=1472"] {
        assert!(text(&output.stderr).contains(event), "{}", text(&output.stderr));
    }
    let report: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(here.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["run"]["device_test"], "PASS");
    assert!(report["run"]["simulated_cycles"].as_u64().unwrap() > 18);
    let y = Tensor { name: "y".into(), shape: vec![1, 16], dtype: Dtype::F16, data: Data::Unstated };
    assert!(read_npy(&here.join("out/y.npy"), &y).is_ok());
    // Other data, and no check.
    let x = HostTensor::F16 { shape: vec![1, 16], elements: (0..16).map(|i| f16::from_f32(i as f32 / 7.0)).collect() };
    write_npy(&here.join("x.npy"), &x).unwrap();
    let output = ipuc(here, &["run", "copy.ipuexe", "--input", "x=x.npy", "--output", "out"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(read_npy(&here.join("out/y.npy"), &y).unwrap(), x);
    let output = ipuc(here, &["run", "copy.ipuexe", "--no-check", "--message-format", "json"]);
    let object: serde_json::Value = serde_json::from_str(text(&output.stdout)).unwrap();
    assert_eq!((&object["reason"], &object["success"]), (&"run-finished".into(), &true.into()));
    assert_eq!(object["report"]["run"]["numerical_test"], "SKIPPED");
}

#[test]
fn a_trace_lists_the_instructions_of_the_tile() {
    let directory = workplace();
    let output = ipuc(directory.path(), &["run", "copy.ipuexe", "--trace", "0"]);
    let trace = text(&output.stderr);
    assert_eq!(trace.lines().filter(|line| line.contains("st32 $m2")).count(), 8, "{trace}");
    assert!(trace.contains("bri 0"), "{trace}");
}

#[test]
fn disassembly_of_a_package_shows_its_program() {
    let directory = workplace();
    let output = ipuc(directory.path(), &["disasm", "copy.ipuexe", "--tile", "5"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).starts_with("# tile 5, generated tile program, 0x4c010.."));
    assert!(text(&output.stdout).contains("complete:"), "{}", text(&output.stdout));
}

#[test]
fn wrong_numbers_fail_and_faults_are_named() {
    let directory = workplace();
    let here = directory.path();
    let good = package();
    let stores = |package: &Package| {
        let program = &package.tiles[0].segments[0];
        // The first store: after get, brnz, setzi and the first load.
        program.address + 16
    };
    // The first store becomes a repetition of the load before it: y[0..2] is never written.
    let mut skipped = good.clone();
    let at = stores(&skipped);
    let load = skipped.image(TileId(0), at - 4, 4).unwrap().to_vec();
    skipped.patch(TileId(0), at, &load).unwrap();
    skipped.write(&here.join("skipped.ipuexe")).unwrap();
    // A store of the register before it is loaded with something else: 0x60000 instead of x.
    let mut wrong = good.clone();
    let nop_and_store = wrong.image(TileId(0), at, 4).unwrap().to_vec();
    wrong.patch(TileId(0), at + 4, &nop_and_store).unwrap();
    wrong.write(&here.join("wrong.ipuexe")).unwrap();
    // No instruction at all.
    let mut undefined = good;
    undefined.patch(TileId(3), at - 8, &[0xff; 4]).unwrap();
    undefined.patch(TileId(3), at - 12, &[0xff; 4]).unwrap();
    undefined.write(&here.join("undefined.ipuexe")).unwrap();

    let output = ipuc(here, &["run", "wrong.ipuexe"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("numericalTest=FAIL"), "{}", text(&output.stdout));
    assert!(text(&output.stdout).ends_with("deviceTest=PASS device=sim\n"));
    assert!(text(&output.stderr).contains("elements are wrong: y[0, "), "{}", text(&output.stderr));

    let output = ipuc(here, &["run", "undefined.ipuexe", "--report", "report.json"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error[E6001]: tile 3 "), "{}", text(&output.stderr));
    let lines: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(lines[0], "referenceMaximumAbsoluteError=NaN numericalTest=FAIL");
    assert_eq!(lines[1], "package=undefined.ipuexe tiles=1472 deviceTest=FAIL device=sim");
    let report = std::fs::read_to_string(here.join("report.json")).unwrap();
    assert!(report.contains("\"device_test\": \"FAIL\""), "{report}");

    let output = ipuc(here, &["run", "skipped.ipuexe"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
}
