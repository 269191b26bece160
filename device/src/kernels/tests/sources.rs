//! The sources themselves: they assemble, their constants and headers are true, their entries have contracts.

use std::collections::BTreeSet;

use super::tile::{assembled, linked};
use crate::kernels::{self, Operand};
use crate::memory;

#[test]
fn every_source_assembles_without_warnings() {
    for (name, text) in kernels::sources() {
        let object = assembled(name, text);
        let warnings: Vec<String> = object.warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
    }
}

/// `.set NAME, value` lines of the shared header.
fn header_constant(name: &str) -> u32 {
    let text = kernels::include("tile.h", "").expect("the header is embedded").1;
    let line = text.lines().find(|line| line.starts_with(&format!(".set {name},"))).expect("the constant is set");
    let value = line.split([',', '/']).nth(1).expect("a value").trim();
    match value.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).expect("a number"),
        None => value.parse().expect("a number"),
    }
}

#[test]
fn shared_constants_are_those_of_the_memory_map() {
    for (name, value) in [
        ("COMPLETION", memory::COMPLETION),
        ("WORKER_BASE", memory::WORKER_BASE),
        ("WORKER_SCRATCH", memory::WORKER_SCRATCH),
        ("SUPERVISOR_STACK", memory::SUPERVISOR_STACK),
    ] {
        assert_eq!(header_constant(name), value, "{name}");
    }
    let (sixth, shift) = (u64::from(header_constant("SIXTH")), header_constant("SIXTH_SHIFT"));
    for n in 0..131_072u64 {
        assert_eq!((n * sixth) >> shift, n / 6, "{n}");
    }
}

#[test]
fn an_unknown_include_is_not_found() {
    assert!(kernels::include("other.h", "gemm_f16.S").is_none());
    assert!(kernels::source("other.S").is_none());
}

#[test]
fn headers_state_the_code_bytes() {
    let image = linked("bri complete");
    for (name, text) in kernels::sources() {
        let stated = text.lines().find_map(|line| line.strip_prefix("// Code: ")).expect("a line about code bytes");
        let placed: u32 = image.sections.iter().filter(|s| s.object == name).map(|s| s.size).sum();
        let stated: String = stated.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(stated, placed.to_string(), "code bytes in the header of {name}");
    }
}

#[test]
fn entries_and_contracts_agree() {
    let runtime = ["_start", "complete", "cycle_sample", "empty_call"];
    let mut entries = BTreeSet::new();
    for (name, text) in kernels::sources() {
        for global in text.lines().filter_map(|line| line.strip_prefix(".globl ")) {
            if name == kernels::RUNTIME {
                assert!(runtime.contains(&global), "{global}");
            } else {
                assert_eq!(kernels::contract(global).expect("a contract").source, name);
                entries.insert(global);
            }
        }
    }
    let contracts: BTreeSet<&str> = kernels::contracts().iter().map(|c| c.entry).collect();
    assert_eq!(entries, contracts);
    for contract in kernels::contracts() {
        assert!((2..=8).contains(&contract.operands.len()), "{}: arguments stand in $m2 .. $m9", contract.entry);
        for &(a, b) in contract.apart {
            for i in [a, b] {
                assert!(matches!(contract.operands[i], Operand::Address { .. }), "{}", contract.entry);
            }
        }
    }
}

#[test]
fn the_image_is_the_same_for_every_tile_and_small() {
    // Nothing tile-dependent is an external: the only one is the tile program.
    let image = linked("bri complete");
    assert_eq!(image, linked("bri complete"));
    let end = image.segments.iter().map(|s| s.address + s.bytes.len() as u32).max().expect("a segment");
    assert!(end - memory::LINK_BASE < 3072, "{} bytes", end - memory::LINK_BASE);
}
