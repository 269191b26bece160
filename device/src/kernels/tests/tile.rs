//! Tiles that run kernels in the simulator, with its check for reads of unwritten memory on: links the kernels, loads
//! operands, calls or runs a program, reads back.

use std::sync::LazyLock;

use crate::asm::{Object, Options, assemble};
use crate::memory::{self, TileId};
use crate::sim::{Machine, MachineConfig, TileMachine};
use crate::{kernels, link};

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

fn config(image: &link::Image) -> MachineConfig {
    MachineConfig {
        cycle_limit: 10_000_000,
        symbols: image.symbols.iter().map(|(name, &address)| (name.clone(), address)).collect(),
        ..MachineConfig::default()
    }
}

/// The image that all tiles under test share.
static IMAGE: LazyLock<link::Image> = LazyLock::new(|| linked("    bri complete"));

/// One tile on which kernels are called.
pub(super) struct Tile {
    machine: TileMachine,
    calls: Vec<(&'static str, Vec<u32>)>,
}

/// A tile after its calls.
pub(super) struct Outcome {
    before: Vec<u8>,
    after: Vec<u8>,
    /// Of each call, from the `call` to the return.
    pub(super) cycles: Vec<u64>,
}

impl Tile {
    pub(super) fn new() -> Self {
        let mut machine = TileMachine::new(config(&IMAGE));
        for segment in &IMAGE.segments {
            machine.load(segment.address, &segment.bytes);
        }
        Self { machine, calls: Vec::new() }
    }

    /// Puts an operand into memory.
    pub(super) fn load(&mut self, address: u32, bytes: &[u8]) {
        self.machine.load(address, bytes);
    }

    /// Adds a call with its arguments in $m2, $m3, ..
    pub(super) fn call(&mut self, entry: &'static str, arguments: &[u32]) {
        self.calls.push((entry, arguments.to_vec()));
    }

    /// Makes the calls.
    pub(super) fn run(mut self) -> Outcome {
        let before = self.machine.read(memory::BASE, memory::SIZE).to_vec();
        let mut cycles = Vec::new();
        for (entry, arguments) in &self.calls {
            for register in 0..10 {
                // Kernels rely on nothing but their arguments.
                self.machine.set_register(register, 0xdead_beef);
            }
            for (i, &argument) in arguments.iter().enumerate() {
                self.machine.set_register(i + 2, argument);
            }
            let call = self.machine.call(IMAGE.symbols[*entry]);
            cycles.push(call.unwrap_or_else(|fault| panic!("{entry} {arguments:x?}: {fault}")).cycles);
            assert_eq!(self.machine.register(11), memory::SUPERVISOR_STACK, "{entry} restores the stack");
            assert_eq!(self.machine.register(15), 0);
        }
        let after = self.machine.read(memory::BASE, memory::SIZE).to_vec();
        Outcome { before, after, cycles }
    }
}

impl Outcome {
    /// Memory after the calls.
    pub(super) fn read(&self, address: u32, bytes: u32) -> Vec<u8> {
        let start = (address - memory::BASE) as usize;
        self.after[start..start + bytes as usize].to_vec()
    }

    /// Fails if a byte outside the ranges (address, bytes) and the runtime state changed.
    pub(super) fn only_written(&self, ranges: &[(u32, u32)]) {
        let mut allowed = ranges.to_vec();
        allowed.push((memory::WORKER_BASE, memory::RUNTIME_STATE_END - memory::WORKER_BASE));
        allowed.sort_unstable();
        allowed.push((memory::END, 0));
        let mut start = memory::BASE;
        for (address, bytes) in allowed {
            let range = (start - memory::BASE) as usize..(address - memory::BASE) as usize;
            assert!(self.before[range.clone()] == self.after[range], "a byte in {start:#x} .. {address:#x} changed");
            start = address + bytes;
        }
    }
}

/// Fails unless a formula is within 5 % of what was measured.
pub(super) fn within_five_percent(name: &str, case: impl std::fmt::Debug, formula: u64, measured: u64) {
    assert!(
        formula.abs_diff(measured) * 20 <= measured,
        "{name} {case:?}: the formula says {formula} cycles, the simulator {measured}"
    );
}

/// Memory of a tile whose program has ended.
pub(super) struct Ended(Vec<u8>);

impl Ended {
    /// The word at an address.
    pub(super) fn word(&self, address: u32) -> u32 {
        let start = (address - memory::BASE) as usize;
        u32::from_le_bytes(self.0[start..start + 4].try_into().expect("4 bytes"))
    }
}

/// Starts `tiles` tiles at the entry stub with the same tile program and runs them to their end.
pub(super) fn run_program(program: &str, tiles: u16) -> Vec<Ended> {
    let image = linked(program);
    let mut machine = Machine::new(config(&image));
    let stub: Vec<u8> = kernels::entry_stub(image.entry).into_iter().flat_map(u32::to_le_bytes).collect();
    for tile in (0..tiles).map(TileId) {
        machine.load(tile, memory::LOAD_BASE, &stub);
        for segment in &image.segments {
            machine.load(tile, segment.address, &segment.bytes);
        }
    }
    let report = machine.run().unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(report.tiles.len(), tiles as usize);
    let memory = |tile| machine.read(tile, memory::BASE, memory::SIZE).expect("the tile ran").to_vec();
    (0..tiles).map(|tile| Ended(memory(TileId(tile)))).collect()
}
