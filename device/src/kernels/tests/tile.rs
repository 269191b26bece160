//! One or a few tiles that run kernel calls: links the kernels with a small program, loads operands, runs, reads back.

use crate::asm::{Object, Options, assemble};
use crate::{kernels, link, memory};

/// Assembles a source with the kernels' includes.
pub(super) fn assembled(name: &str, text: &str) -> Object {
    let options = Options { includes: &kernels::include, ..Options::default() };
    assemble(name, text, &options).unwrap_or_else(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

/// All kernels and the runtime, linked with a tile program of supervisor instructions.
pub(super) fn linked(program: &str) -> link::Image {
    let program = format!(".supervisor\n.globl {0}\n{0}:\n{program}\n", kernels::TILE_PROGRAM);
    let mut objects: Vec<(&str, Object)> =
        kernels::sources().map(|(name, text)| (name, assembled(name, text))).collect();
    objects.push(("program.S", assembled("program.S", &program)));
    let objects: Vec<(&str, &[u8])> = objects.iter().map(|(name, object)| (*name, &object.bytes[..])).collect();
    let options = link::Options {
        regions: vec![(memory::LINK_BASE, memory::HOST_APERTURE)],
        entry: kernels::ENTRY.to_owned(),
        retain: kernels::contracts().iter().map(|c| c.entry.to_owned()).collect(),
        ..link::Options::default()
    };
    link::link(&objects, &options).unwrap_or_else(|error| panic!("{error}"))
}
