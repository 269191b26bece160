//! The `ipuc` binary in a directory of its own, and what it prints and writes.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Runs the binary with `directory` as the current one.
pub(crate) fn ipuc(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().unwrap()
}

/// As [`ipuc`], on a number of threads.
pub(crate) fn ipuc_threads(directory: &Path, arguments: &[&str], threads: usize) -> Output {
    command(directory, arguments).env("RAYON_NUM_THREADS", threads.to_string()).output().unwrap()
}

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipuc"));
    command.args(arguments).current_dir(directory).env_remove("IPUC_LOG").stdin(Stdio::null());
    command
}

/// Both streams, for messages.
pub(crate) fn told(output: &Output) -> String {
    format!("{:?}\n{}\n{}", output.status, stdout(output), stderr(output))
}

pub(crate) fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

pub(crate) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// A JSON file.
pub(crate) fn json_file(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// One product `y [m, n] = x [m, k] w [k, n]`; `data` is how both operands are drawn.
pub(crate) fn product(m: u64, k: u64, n: u64, tiles: u32, x: &Value, w: &Value) -> String {
    let model = json!({
        "name": "product",
        "target": { "chip": "ipu21", "tiles": tiles },
        "inputs": { "x": { "shape": [m, k], "dtype": "f16", "random": x } },
        "weights": { "w": { "shape": [k, n], "dtype": "f16", "random": w } },
        "ops": [{ "name": "y", "op": "gemm", "inputs": ["x", "w"] }],
        "outputs": ["y"]
    });
    serde_json::to_string_pretty(&model).unwrap()
}
