//! The tile kernels: embedded sources, what a caller must give them, and what they cost.
//!
//! In: the assembly sources of `device/kernels`, compiled into this crate. Out: source texts by name, the resolver of
//! their `#include`s, a [`Contract`] for every entry point, and cycle formulas as functions of the arguments.
//!
//! Properties:
//! 1. A kernel source includes nothing but the files of this module.
//! 2. Every global symbol of a kernel source is an entry with a contract (the runtime's entries have none: they are
//!    not called with operands) and the other way round.
//! 3. The cycle formulas count from the `call` to the return, and agree with the simulator within 5 %.
//! 4. Kernels take shapes at run time, so one object of a source serves all calls of it.
//!
//! Hardware facts: `runtime.md` 2.1 to 2.4, `planning.md` 2.2, 2.4, 4.1; the worker schedules follow `kernel-notes.md`.

mod contract;
mod cycles;
#[cfg(test)]
mod tests;

pub use contract::{Contract, Operand, contract, contracts};
pub use cycles::{
    call_overhead, copy_64_cycles, copy_64_far_cycles, fill_64_cycles, gemm_f16_cycles, reduce_add_f16_cycles,
};

use crate::isa::{Instruction, encode};

/// File name of the static runtime.
pub const RUNTIME: &str = "runtime.S";
/// Symbol at which a tile starts.
pub const ENTRY: &str = "_start";
/// Symbol to which a tile program branches at its end.
pub const COMPLETE: &str = "complete";
/// Symbol, left undefined by the runtime, at which the generated program of every tile starts.
pub const TILE_PROGRAM: &str = "tile_program";

/// Kernel sources by file name, sorted.
const SOURCES: [(&str, &str); 5] = [
    ("copy.S", include_str!("../../kernels/copy.S")),
    ("fill.S", include_str!("../../kernels/fill.S")),
    ("gemm_f16.S", include_str!("../../kernels/gemm_f16.S")),
    ("reduce_add_f16.S", include_str!("../../kernels/reduce_add_f16.S")),
    (RUNTIME, include_str!("../../kernels/runtime.S")),
];

/// Files that kernel sources include.
const HEADERS: [(&str, &str); 1] = [("tile.h", include_str!("../../kernels/tile.h"))];

/// Name and text of every kernel source, sorted by name.
pub fn sources() -> impl Iterator<Item = (&'static str, &'static str)> {
    SOURCES.into_iter()
}

/// Name and text of every file that kernel sources include.
pub fn headers() -> impl Iterator<Item = (&'static str, &'static str)> {
    HEADERS.into_iter()
}

/// The text of a kernel source.
pub fn source(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// Path and text of an included file: the resolver that the assembler asks.
pub fn include(name: &str, _from: &str) -> Option<(String, String)> {
    HEADERS.iter().find(|(n, _)| *n == name).map(|(n, text)| ((*n).to_owned(), (*text).to_owned()))
}

/// The two words at `memory::LOAD_BASE` that lead to the runtime entry.
pub fn entry_stub(entry: u32) -> [u32; 2] {
    let word = |name, operands: &[i32]| {
        encode(&Instruction::new(name, operands)).expect("invariant: a code address fits the stub's instructions")
    };
    [word("setzi_mmmn_zi", &[0, entry as i32]), word("br_mmmn", &[0])]
}
