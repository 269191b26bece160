//! A few words of code for a test: instructions by form name and operands in source order.

use crate::isa::{BUNDLE_BIT, Instruction, encode};
use crate::memory::{LINK_BASE, TileId};
use crate::sim::{Call, Fault, Machine, MachineConfig, TileMachine};

/// Supervisor code of [`Program::run`] tests lies here.
pub(super) const CODE: u32 = LINK_BASE + 0x100;
/// Worker code.
pub(super) const WORKER: u32 = 0x4d000;
/// `$m15`, `$a15`: zero.
pub(super) const ZERO: i32 = 15;
/// The register that a call returns by.
pub(super) const LINK: i32 = 10;

/// Code at an address.
#[derive(Clone, Default)]
pub(super) struct Program {
    start: u32,
    words: Vec<u32>,
}

impl Program {
    pub(super) fn at(start: u32) -> Self {
        Self { start, words: Vec::new() }
    }

    /// Address of the next word.
    pub(super) fn here(&self) -> u32 {
        self.start + 4 * self.words.len() as u32
    }

    pub(super) fn op(&mut self, form: &str, operands: &[i32]) -> &mut Self {
        self.words.push(encode(&Instruction::new(form, operands)).unwrap_or_else(|e| panic!("{form}: {e}")));
        self
    }

    pub(super) fn word(&mut self, word: u32) -> &mut Self {
        self.words.push(word);
        self
    }

    pub(super) fn bundle(&mut self, main: (&str, &[i32]), aux: (&str, &[i32])) -> &mut Self {
        self.op(main.0, main.1);
        *self.words.last_mut().expect("just added") |= BUNDLE_BIT;
        self.op(aux.0, aux.1);
        *self.words.last_mut().expect("just added") |= BUNDLE_BIT;
        self
    }

    pub(super) fn nops(&mut self, count: usize) -> &mut Self {
        for _ in 0..count {
            self.op("setzi_mmmn_zi", &[14, 0]);
        }
        self
    }

    /// `setzi $m, value`
    pub(super) fn set(&mut self, register: i32, value: u32) -> &mut Self {
        self.op("setzi_mmmn_zi", &[register, value as i32])
    }

    pub(super) fn ret(&mut self) -> &mut Self {
        self.op("br_mmmn", &[LINK])
    }

    /// Ends the program of a tile.
    pub(super) fn end(&mut self) -> &mut Self {
        self.op("bri_mmmn_zi", &[0])
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    pub(super) fn load(&self, tile: &mut TileMachine) {
        tile.load(self.start, &self.bytes());
    }

    pub(super) fn load_on(&self, machine: &mut Machine, tile: u16) {
        machine.load(TileId(tile), self.start, &self.bytes());
    }
}

/// A tile that runs for at most 100,000 cycles.
pub(super) fn tile() -> TileMachine {
    TileMachine::new(MachineConfig { cycle_limit: 100_000, ..MachineConfig::default() })
}

/// Builds supervisor code, calls it, and gives the outcome and the tile.
pub(super) fn call(build: impl FnOnce(&mut Program)) -> (Result<Call, Fault>, TileMachine) {
    let mut program = Program::at(CODE);
    build(&mut program);
    let mut tile = tile();
    program.load(&mut tile);
    (tile.call(CODE), tile)
}

/// Cycles of supervisor code with the call and the return (6 each) taken off.
pub(super) fn cycles(build: impl FnOnce(&mut Program)) -> u64 {
    let (outcome, _) = call(|p| {
        build(p);
        p.ret();
    });
    outcome.unwrap_or_else(|fault| panic!("{fault}")).cycles - 12
}

/// Runs worker code on all six workers (context of worker 0: `$m13` = 0x90000) and gives outcome and tile.
pub(super) fn on_workers(build: impl FnOnce(&mut Program)) -> (Result<Call, Fault>, TileMachine) {
    on_workers_with(|_| {}, build)
}

/// The same on a tile that is prepared first.
pub(super) fn on_workers_with(
    prepare: impl FnOnce(&mut TileMachine),
    build: impl FnOnce(&mut Program),
) -> (Result<Call, Fault>, TileMachine) {
    let mut worker = Program::at(WORKER);
    build(&mut worker);
    let mut supervisor = Program::at(CODE);
    supervisor.set(0, WORKER).set(1, 0x90000).op("runall_mmmn_zi", &[0, 1, 0]).op("sync_mmmn_zi", &[2]).ret();
    let mut tile = tile();
    worker.load(&mut tile);
    supervisor.load(&mut tile);
    prepare(&mut tile);
    (tile.call(CODE), tile)
}
