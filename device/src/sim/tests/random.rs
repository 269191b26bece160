//! Random words never panic: a program of any bits runs to an end or to a fault.

use super::program::{CODE, WORKER};
use crate::isa::{BUNDLE_BIT, Context, Lane, encode_form, forms};
use crate::memory::{END, INTERLEAVED_BASE, LOAD_BASE, TileId};
use crate::sim::{FaultKind, Machine, MachineConfig, TileMachine};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    /// A word: often an instruction with random fields, sometimes anything.
    fn instruction(&mut self, context: Context, lane: Option<Lane>) -> u32 {
        if self.below(40) == 0 {
            return self.next();
        }
        loop {
            let form = &forms()[self.below(forms().len() as u32) as usize];
            let fits = form.contexts.allow(context) && lane.is_none_or(|l| l == form.lane && form.coissue);
            // The chip-wide waits would end most programs at once.
            if !fits || (form.control && self.below(3) > 0) {
                continue;
            }
            let values: Vec<i64> = form
                .operands
                .iter()
                .map(|operand| {
                    let raw = i64::from(self.next() & 0xffff);
                    match operand.class {
                        crate::isa::Class::UpperBits => (raw & 0xfff) << 20,
                        c if c.is_register() => raw % 16 / i64::from(c.span()) * i64::from(c.span()),
                        crate::isa::Class::Rel19S2 => i64::from(LOAD_BASE / 4) + raw % 512,
                        _ => raw & ((1 << (operand.bits - 1)) - 1),
                    }
                })
                .collect();
            if let Ok(word) = encode_form(form, &values) {
                return if lane.is_some() { word | BUNDLE_BIT } else { word };
            }
        }
    }

    fn code(&mut self, context: Context, words: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < 4 * words {
            if context == Context::Worker && self.below(2) == 0 {
                out.extend(self.instruction(context, Some(Lane::Main)).to_le_bytes());
                out.extend(self.instruction(context, Some(Lane::Aux)).to_le_bytes());
            } else {
                out.extend(self.instruction(context, None).to_le_bytes());
            }
        }
        out
    }

    /// A plausible register value: an address of data, a small number, or anything.
    fn value(&mut self) -> u32 {
        match self.below(4) {
            0 => self.next(),
            1 => self.below(64),
            2 => INTERLEAVED_BASE + 16 * self.below((END - INTERLEAVED_BASE) / 16),
            _ => 0x60000 + 8 * self.below(0x3000),
        }
    }
}

#[test]
fn random_supervisor_and_worker_programs() {
    let mut kinds = std::collections::BTreeMap::new();
    for seed in 1..=400u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut tile = TileMachine::new(MachineConfig {
            cycle_limit: 3_000,
            check_unwritten: seed % 2 == 0,
            ..MachineConfig::default()
        });
        let supervisor = random.code(Context::Supervisor, 300);
        tile.load(CODE, &supervisor);
        let worker = random.code(Context::Worker, 400);
        tile.load(WORKER, &worker);
        for register in 0..12 {
            let value = random.value();
            tile.set_register(register, value);
        }
        if seed % 4 != 0 {
            // Start the workers first.
            let mut start = super::program::Program::at(CODE);
            start.set(0, WORKER).op("runall_mmmn_zi", &[0, 1, 2]);
            tile.set_register(1, 0x60000);
            start.load(&mut tile);
        }
        match tile.call(CODE) {
            Ok(_) => *kinds.entry(None).or_insert(0) += 1,
            Err(fault) => {
                assert!(!fault.to_string().is_empty());
                *kinds.entry(Some(fault.kind)).or_insert(0) += 1;
            }
        }
    }
    // The programs are not all stopped by the same check.
    assert!(kinds.len() > 6, "{kinds:?}");
}

#[test]
fn random_worker_code_beside_a_quiet_supervisor() {
    for seed in 1..=400u64 {
        let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95) | 1);
        let (_, _) = super::program::on_workers_with(
            |tile| {
                let code = random.code(Context::Worker, 600);
                tile.load(WORKER, &code);
                tile.load(0x90000, &vec![0x35; 0x4000]);
            },
            |p| {
                p.nops(1);
            },
        );
    }
}

#[test]
fn random_rows() {
    let mut silent = 0;
    for seed in 1..=200u64 {
        let mut random = Random(seed.wrapping_mul(0xa076_1d64_78bd_642f) | 1);
        let mut machine = Machine::new(MachineConfig { cycle_limit: 50_000_000, ..MachineConfig::default() });
        for tile in 0..4 {
            let mut p = super::program::Program::at(LOAD_BASE);
            p.op("sync_mmmn_zi", &[3]);
            for _ in 0..12 {
                // Delays, sends and controls with random fields, mostly about tiles that exist.
                let word = match random.below(7) {
                    0 => 0x40a0_0000 + random.below(100),
                    1 => 0x6000_0000 + (random.below(128) << 19) + random.below(0x40000),
                    2 => 0x6400_0000 + (random.below(200) << 14) + [0, 1, 2, 64, 0x640][random.below(5) as usize],
                    3 => 0x7800_0000 + (random.below(64) << 21) + (random.below(0x40000) << 3) + random.below(8),
                    4 => 0x7000_0000 + (random.below(64) << 21) + random.below(4),
                    5 => 0x7010_0000 + (random.below(64) << 21) + random.below(0x100000),
                    _ => random.next(),
                };
                p.word(word);
            }
            p.word(0x43a0_0000).end();
            p.load_on(&mut machine, tile);
            machine.load(TileId(tile), 0x60000, &vec![7; 0x8000]);
        }
        if let Err(fault) = machine.run() {
            silent += u32::from(fault.kind == FaultKind::SilentSource);
            assert!(!fault.to_string().is_empty());
        }
    }
    assert!(silent > 0);
}
