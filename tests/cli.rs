//! The command line from outside: usage errors, exit codes, streams.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use ipuc_device::memory::LOAD_BASE;
use ipuc_device::package::{ImageSegment, Manifest, Package, TileImage};

fn ipuc(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ipuc"))
        .args(arguments)
        .current_dir(directory)
        .env_remove("IPUC_LOG")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// A package of nothing: every tile holds one word.
fn empty_package() -> Package {
    let segment = ImageSegment { address: LOAD_BASE, bytes: vec![0; 8].into() };
    let image = Arc::new(TileImage { segments: vec![segment] });
    let tiles = vec![image; 1472];
    let manifest = Manifest { name: "nothing".into(), tiles_used: 1, entry: LOAD_BASE, ..Manifest::default() };
    Package { manifest, tiles }
}

#[test]
fn usage_errors_end_with_2_and_say_why() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    empty_package().write(&here.join("p.ipuexe")).unwrap();
    std::fs::write(here.join("a.S"), "nop\n").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage"),
        (&["frobnicate"], "frobnicate"),
        (&["build"], "MODEL"),
        (&["build", "none.json"], "cannot read none.json"),
        (&["run", "none.json"], "cannot read none.json"),
        (&["run", "p.ipuexe", "--device", "/dev/ipu0"], "device /dev/ipu0: cards are not supported yet"),
        (&["run", "p.ipuexe", "--device", "gpu"], "there is no such device"),
        (&["run", "p.ipuexe", "--input", "x"], "KEY=VALUE"),
        (&["run", "p.ipuexe", "--input", "x=a.npy", "--input", "x=b.npy"], "--input x is given twice"),
        (&["run", "p.ipuexe", "--input", "x=a.npy"], "the model has no such input"),
        (&["run", "p.ipuexe", "--trace", "1472"], "a tile number below 1472"),
        (&["run", "p.ipuexe", "--profile", "f"], "--profile is not available yet"),
        (&["schedule", "none.json"], "cannot read none.json"),
        (&["schedule", "a.S"], "no exchange problem"),
        (&["run", "p.ipuexe", "-v", "-q"], "cannot be used with"),
        (&["check", "m.json", "--target", "tiles"], "KEY=VALUE"),
        (&["inspect", "none.ipuexe"], "none.ipuexe"),
        (&["asm", "-"], "needs -o FILE.o or --hex"),
        (&["asm", "none.S"], "cannot read none.S"),
        (&["disasm"], "FILE.o"),
        (&["disasm", "--hex", "123"], "pairs of hexadecimal digits"),
        (&["disasm", "--hex", "+1+1+1+1"], "pairs of hexadecimal digits"),
        (&["disasm", "--hex", "1234"], "no whole number of words"),
        (&["disasm", "a.S"], "a.S"),
        (&["disasm", "a.S", "--tile", "3"], "not a package"),
    ];
    for (arguments, expected) in cases {
        let output = ipuc(here, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn commands_of_later_versions_are_refused_by_name_and_not_in_the_help() {
    let here = Path::new(".");
    let help = ipuc(here, &["--help"]);
    assert_eq!(help.status.code(), Some(0));
    for later in ["watch", "bisect", "lsp", "profile", "import", "cache"] {
        assert!(!stdout(&help).contains(&format!("\n  {later}")), "{later}");
        let output = ipuc(here, &[later, "model.json", "--run"]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(stderr(&output), format!("error: `ipuc {later}` is not available yet\n"));
    }
    for now in ["build", "run", "check", "schema", "inspect", "asm", "disasm", "explain", "schedule"] {
        assert!(stdout(&help).contains(&format!("\n  {now} ")), "{now}");
    }
}

#[test]
fn damaged_packages_are_refused_with_their_code() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut bytes = empty_package().to_bytes().unwrap();
    bytes[100] ^= 1;
    std::fs::write(here.join("damaged.ipuexe"), &bytes).unwrap();
    std::fs::write(here.join("foreign.ipuexe"), "{}").unwrap();
    for command in ["run", "inspect"] {
        for (file, expected) in [("damaged.ipuexe", "checksum"), ("foreign.ipuexe", "not an ipuc package")] {
            let output = ipuc(here, &[command, file]);
            assert_eq!(output.status.code(), Some(2));
            assert!(stderr(&output).starts_with("error[E5001]: "), "{}", stderr(&output));
            assert!(stderr(&output).contains(expected) && stderr(&output).contains(file), "{}", stderr(&output));
        }
    }
    let output = ipuc(here, &["--message-format", "json", "inspect", "damaged.ipuexe"]);
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!((&object["reason"], &object["code"]), (&"diagnostic".into(), &"E5001".into()));
    assert_eq!(stderr(&output), "");
}

#[test]
fn inspect_tells_what_is_inside() {
    let directory = tempfile::tempdir().unwrap();
    empty_package().write(&directory.path().join("p.ipuexe")).unwrap();
    let output = ipuc(directory.path(), &["inspect", "p.ipuexe"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.starts_with("package nothing for ipu21\n"), "{text}");
    assert!(text.contains("1 used, 1472 loaded") && text.contains("1 different, 8 bytes"), "{text}");
    let output = ipuc(directory.path(), &["inspect", "p.ipuexe", "--message-format=json"]);
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!((&object["reason"], &object["name"]), (&"inspect".into(), &"nothing".into()));
}

#[test]
fn models_are_checked() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let model = include_str!("../examples/gemm-64.json");
    std::fs::write(here.join("good.json"), model).unwrap();
    std::fs::write(here.join("bad.json"), model.replace("outputs", "output")).unwrap();
    let good = ipuc(here, &["check", "good.json"]);
    assert_eq!((good.status.code(), stderr(&good)), (Some(0), ""));
    let bad = ipuc(here, &["check", "bad.json"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stderr(&bad).contains("error[E0002]: unknown key `output`"), "{}", stderr(&bad));
    assert!(stderr(&bad).contains("bad.json:14:3"), "{}", stderr(&bad));
    let edited = ipuc(here, &["check", "good.json", "--target", "tiles=0"]);
    assert_eq!(edited.status.code(), Some(1));
    let json = ipuc(here, &["check", "bad.json", "--message-format", "json"]);
    for line in stdout(&json).lines() {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(object["reason"] == "diagnostic" || object["reason"] == "check-finished");
    }
    for command in ["build", "run"] {
        let failed = ipuc(here, &[command, "bad.json", "--report", "report.json"]);
        assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
        assert_eq!(stdout(&failed), "");
        assert!(here.join("report.json").exists());
        std::fs::remove_file(here.join("report.json")).unwrap();
    }
    assert!(!here.join("bad.ipuexe").exists());
}

#[test]
fn models_too_large_by_a_buffer_are_refused_whatever_lies_past_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let model = include_str!("../examples/gemm-64.json");
    for (tiles, m, k, n) in [(8, 388, 1742, 1369), (4, 833, 411, 737), (12, 706, 2153, 863), (2, 155, 1378, 419)] {
        let text = model.replace("[1024, 512]", &format!("[{m}, {k}]")).replace("[512, 512]", &format!("[{k}, {n}]"));
        assert_ne!(text, model);
        std::fs::write(directory.path().join("large.json"), text).unwrap();
        let tiles = format!("tiles={tiles}");
        let refused = ipuc(directory.path(), &["check", "large.json", "--target", &tiles]);
        assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
        assert!(stderr(&refused).starts_with("error[E2001]: tile memory exceeded: "), "{}", stderr(&refused));
    }
}

#[test]
fn outputs_do_not_replace_sources_and_failures_remove_packages_only() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let good = include_str!("../examples/gemm-odd.json");
    let bad = good.replace("outputs", "output");
    for (name, text) in [("good.json", good), ("bad.json", &bad), ("notes.txt", "notes"), ("a.S", "nop\n")] {
        std::fs::write(here.join(name), text).unwrap();
    }
    for arguments in [
        ["build", "good.json", "-o", "./good.json"],
        ["build", "bad.json", "-o", "bad.json"],
        ["asm", "a.S", "-o", "a.S"],
    ] {
        let output = ipuc(here, &arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("would replace its"), "{}", stderr(&output));
    }
    assert_eq!(std::fs::read_to_string(here.join("bad.json")).unwrap(), bad);
    assert_eq!(std::fs::read_to_string(here.join("a.S")).unwrap(), "nop\n");
    assert_eq!(ipuc(here, &["build", "bad.json", "-o", "notes.txt"]).status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(here.join("notes.txt")).unwrap(), "notes");
    empty_package().write(&here.join("old.ipuexe")).unwrap();
    assert_eq!(ipuc(here, &["build", "bad.json", "-o", "old.ipuexe"]).status.code(), Some(1));
    assert!(!here.join("old.ipuexe").exists());
}

#[test]
fn a_model_that_is_no_text_is_refused_with_its_place() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("m.json"), b"{\n  \"name\": \"\xc3\xa4\xff\"\n}").unwrap();
    let output = ipuc(directory.path(), &["check", "m.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: m.json:2:13: "), "{}", stderr(&output));
}

#[test]
fn a_pin_that_no_plan_meets_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let model = r#"{ "name": "m", "inputs": { "x": { "shape": [128, 256], "dtype": "f16" } },
        "weights": { "w": { "shape": [256, 128], "dtype": "f16", "random": { "normal": 1 } } },
        "ops": [{ "name": "y", "op": "gemm", "inputs": ["x", "w"], "plan": { "grid": [1, 1, 1], "steps": 2 } }],
        "outputs": ["y"] }"#;
    std::fs::write(directory.path().join("m.json"), model).unwrap();
    for command in ["check", "build"] {
        let output = ipuc(directory.path(), &[command, "m.json"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains("error[E1001]") && stderr(&output).contains("m.json:3:"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn codes_and_schema_are_printed() {
    let here = Path::new(".");
    let explained = ipuc(here, &["explain", "e3001"]);
    assert_eq!(explained.status.code(), Some(0));
    assert!(stdout(&explained).starts_with("E3001: "), "{}", stdout(&explained));
    assert_eq!(ipuc(here, &["explain", "E9999"]).status.code(), Some(2));
    let schema: serde_json::Value = serde_json::from_str(stdout(&ipuc(here, &["schema"]))).unwrap();
    assert!(schema["properties"]["ops"].is_object());
}

#[test]
fn assembly_goes_there_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("part.inc"), "add $m0, $m1, $m2\n").unwrap();
    std::fs::write(here.join("a.S"), "#include \"part.inc\"\nadd $m3, $m4, COUNT\n").unwrap();
    let hex = ipuc(here, &["asm", "a.S", "-D", "COUNT=5", "--hex"]);
    assert_eq!(hex.status.code(), Some(0), "{}", stderr(&hex));
    let lines: Vec<&str> = stdout(&hex).lines().collect();
    assert_eq!(lines.len(), 2);
    let (bytes, source) = lines[0].split_once('\t').unwrap();
    assert_eq!(source, "add $m0, $m1, $m2");
    let back = ipuc(here, &["disasm", "--hex", bytes]);
    assert_eq!((back.status.code(), stdout(&back)), (Some(0), "add $m0, $m1, $m2\n"));
    assert_eq!(ipuc(here, &["asm", "a.S", "-DCOUNT=5"]).status.code(), Some(0));
    let object = ipuc(here, &["disasm", "a.o"]);
    assert_eq!(object.status.code(), Some(0), "{}", stderr(&object));
    assert!(stdout(&object).contains("add $m3, $m4, 5"), "{}", stdout(&object));

    let invalid = ipuc(here, &["disasm", "--hex", "ffffff7f"]);
    assert_eq!((invalid.status.code(), stdout(&invalid)), (Some(1), "invalid\n"));
    assert!(stderr(&invalid).contains("no instructions"), "{}", stderr(&invalid));
    // Padding and constants among the kernels are no instructions; the package is sound all the same.
    std::fs::write(here.join("m.json"), include_str!("../examples/gemm-odd.json")).unwrap();
    assert_eq!(ipuc(here, &["build", "m.json"]).status.code(), Some(0));
    let package = ipuc(here, &["disasm", "m.ipuexe"]);
    assert_eq!((package.status.code(), stderr(&package)), (Some(0), ""));
    std::fs::write(here.join("b.S"), "nop\n frob $m0\n add $m0, $m99, 1\n").unwrap();
    let errors = ipuc(here, &["asm", "b.S"]);
    assert_eq!(errors.status.code(), Some(1));
    assert!(stderr(&errors).contains("b.S:2:") && stderr(&errors).contains("b.S:3:"), "{}", stderr(&errors));
    assert!(!here.join("b.o").exists());
    let errors = ipuc(here, &["asm", "b.S", "--message-format", "json"]);
    let first: serde_json::Value = serde_json::from_str(stdout(&errors).lines().next().unwrap()).unwrap();
    assert_eq!((&first["code"], &first["spans"][0]["start"]["line"]), (&"E4001".into(), &2.into()));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("long.S"), "nop\n".repeat(100_000)).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ipuc"))
        .args(["asm", "long.S", "--hex"])
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Closed before the first line is written or soon after: the pipe holds less than all lines.
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}
