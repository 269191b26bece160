//! The architecture invariants of CONTRIBUTING.md, read off manifests and sources.

use std::fs;
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("a source folder").map(|e| e.expect("an entry").path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            found.push((path, text));
        }
    }
    assert!(!found.is_empty(), "no sources under {folder}");
    found
}

/// Lines of code (not comments) of a file or under a folder that contain one of `words`, tests apart.
fn mentions(folder: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources(folder) {
        let relative = path.strip_prefix(root()).expect("a source of this tree");
        if relative.components().any(|c| c.as_os_str() == "tests" || c.as_os_str() == "tests.rs") {
            continue;
        }
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        for (i, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            if words.iter().any(|w| code.contains(w)) {
                found.push(format!("{}:{}: {}", relative.display(), i + 1, line.trim()));
            }
        }
    }
    found
}

fn manifest(folder: &str) -> String {
    fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("a manifest")
}

#[test]
fn dependencies_go_one_way() {
    let device = manifest("device");
    assert!(!device.contains("salsa") && !device.contains("ipuc-queries"));
    let queries = manifest("queries");
    assert!(!queries.lines().any(|l| l.starts_with("ipuc ") || l.starts_with("ipuc.")));
}

/// What would make a witness believe what it is to check.
const WITNESSED: [&str; 9] = [
    "fabric::encode",
    "fabric::row",
    "super::encode",
    "super::row",
    "encode_row",
    "build_rows",
    "ipuc_queries",
    "crate::asm",
    "crate::link",
];

#[test]
fn the_simulator_imports_no_encoder_and_no_plan() {
    assert_eq!(mentions("device/src/sim", &WITNESSED), Vec::<String>::new());
}

#[test]
fn the_validator_imports_no_encoder_and_no_plan() {
    for path in ["device/src/fabric/validate.rs", "device/src/fabric/validate", "device/src/fabric/decode.rs"] {
        assert_eq!(mentions(path, &WITNESSED), Vec::<String>::new());
    }
    // The words are found where they are.
    assert!(!mentions("device/src/fabric/encode.rs", &WITNESSED).is_empty());
}

#[test]
fn the_compiler_prints_nothing_and_opens_no_file() {
    let words = ["println!", "eprintln!", "std::fs", "File::open", "std::process"];
    assert_eq!(mentions("queries/src", &words), Vec::<String>::new());
}

#[test]
fn the_reference_knows_nothing_of_the_compiler() {
    let text = fs::read_to_string(root().join("src/reference.rs")).expect("the host reference");
    for word in ["ipuc_queries", "layout", "kernels", "storage"] {
        let code: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
        assert!(!code.iter().any(|l| l.contains(word) && l.contains("use ")), "the reference imports {word}");
    }
}

#[test]
fn files_stay_small_enough_to_read() {
    for folder in ["device/src", "queries/src", "src", "tests"] {
        for (path, text) in sources(folder) {
            assert!(text.len() <= 40_000, "{} has {} bytes: split it", path.display(), text.len());
        }
    }
}
