//! One tile: a supervisor, six workers, memory and matrix unit, advanced clock by clock.
//!
//! In: the state of the tile and a clock to stop at. Out: the state when the supervisor waits for a barrier, has ended, or
//! a fault.
//!
//! 1. Worker `i` owns the clocks congruent to `i` modulo 6 from its launch to its exit; the supervisor takes every clock
//!    that no worker owns. So at most one context issues in a clock, in the order of the clocks.
//! 2. While the supervisor waits at a barrier the tile stands still; its workers go on when the release clock is known.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::amp::MatrixUnit;
use super::exchange::Record;
use super::fault::{ContextId, FAULT_CODE, Fault, FaultKind, Trouble, trouble};
use super::memory::Memory;
use super::operation::{CodeCache, text};
use super::supervisor::{LATENCY, State, Supervisor};
use super::worker::{Issued, Worker};
use crate::fabric::topology::{PhysicalTile, physical};
use crate::isa::{AmpFlags, Context};
use crate::memory::TileId;

thread_local! {
    static CODE: RefCell<CodeCache> = RefCell::new(CodeCache::new());
}

/// One line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// Tile clock of the issue.
    pub clock: u64,
    /// Who issues.
    pub context: ContextId,
    /// Address of the instruction.
    pub address: u32,
    /// Its text.
    pub text: String,
}

/// Where trace lines go.
pub type TraceSink = Arc<Mutex<dyn FnMut(TraceLine) + Send>>;

/// What every tile of a machine shares.
pub(super) struct Surroundings {
    /// Symbols by address.
    pub(super) symbols: Vec<(u32, String)>,
    /// The generated tile program: its first fetch starts the cycle count.
    pub(super) program: std::ops::Range<u32>,
    /// Where the program jumps to when it is complete.
    pub(super) complete: Option<u32>,
    pub(super) cycle_limit: u64,
    /// Lowest clock of a fault found so far. It only falls, and a tile stops strictly above it, so the lowest fault is
    /// found whatever the order.
    pub(super) first_fault: AtomicU64,
}

impl Surroundings {
    /// No names, only a cycle limit.
    #[cfg(test)]
    pub(super) fn none(cycle_limit: u64) -> Self {
        let first_fault = AtomicU64::new(u64::MAX);
        Self { symbols: Vec::new(), program: 0..0, complete: None, cycle_limit, first_fault }
    }

    /// Nearest symbol at or below an address, with the offset.
    pub(super) fn symbol(&self, address: u32) -> Option<String> {
        let index = self.symbols.partition_point(|(at, _)| *at <= address).checked_sub(1)?;
        let (at, name) = &self.symbols[index];
        Some(if *at == address { name.clone() } else { format!("{name}+{:#x}", address - at) })
    }
}

/// One tile.
pub(super) struct Tile {
    pub(super) id: TileId,
    pub(super) physical: PhysicalTile,
    pub(super) memory: Memory,
    pub(super) unit: MatrixUnit,
    pub(super) supervisor: Supervisor,
    pub(super) workers: [Worker; 6],
    /// Bit i: worker i runs.
    pub(super) active: u8,
    /// First clock that has not been simulated.
    pub(super) clock: u64,
    /// A branch to it ends the program.
    pub(super) stop_address: u32,
    /// What the exchange row after a barrier does; present only while the tile runs ahead of arriving words.
    pub(super) record: Option<Box<Record>>,
    pub(super) program_start: Option<u64>,
    pub(super) completion: Option<u64>,
    pub(super) ended: Option<u64>,
    pub(super) trace: Option<TraceSink>,
}

impl Tile {
    pub(super) fn new(id: TileId, flags: &AmpFlags, check_unwritten: bool) -> Self {
        Self {
            id,
            physical: physical(id),
            memory: Memory::new(check_unwritten),
            unit: MatrixUnit::new(flags),
            supervisor: Supervisor::new(),
            workers: std::array::from_fn(|i| Worker::new(i as u8)),
            active: 0,
            clock: 0,
            stop_address: 0,
            record: None,
            program_start: None,
            completion: None,
            ended: None,
            trace: None,
        }
    }

    /// Advances until the supervisor waits for a barrier, or has ended and the workers with it. Reaching the cycle limit
    /// is a fault. Past the clock of a fault elsewhere it stops quietly.
    pub(super) fn run(&mut self, surroundings: &Surroundings) -> Result<(), Fault> {
        CODE.with_borrow_mut(|code| {
            loop {
                let resting = match self.supervisor.state {
                    State::Running | State::Local => false,
                    State::Barrier(_) | State::Answered => true,
                    State::Ended => self.active == 0,
                };
                if resting {
                    return Ok(());
                }
                if self.active == 0 {
                    // Only the supervisor issues: go straight to its next clock.
                    self.clock = self.clock.max(self.supervisor.wake);
                }
                if self.clock > surroundings.first_fault.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if self.clock >= surroundings.cycle_limit {
                    return Err(self.cycle_limit(surroundings));
                }
                self.step(code, surroundings)?;
            }
        })
    }

    /// Lets the workers of a waiting tile go on up to the clock of the release.
    pub(super) fn catch_up(&mut self, surroundings: &Surroundings, release: u64) -> Result<(), Fault> {
        CODE.with_borrow_mut(|code| {
            while self.active != 0 && self.clock < release {
                self.step(code, surroundings)?;
            }
            self.clock = self.clock.max(release);
            Ok(())
        })
    }

    /// Runs the supervisor ahead, recording what it does to the exchange, up to the first instruction that touches data,
    /// workers or barriers. With workers running it does nothing.
    pub(super) fn run_row(&mut self, surroundings: &Surroundings) -> Result<(), Fault> {
        let mut record = Box::new(Record::new(
            self.clock.max(self.supervisor.wake),
            self.supervisor.mux,
            self.supervisor.incoming_base,
        ));
        self.supervisor.cursor = None;
        if self.active != 0 || self.supervisor.state != State::Running {
            record.end = record.start;
            self.record = Some(record);
            return Ok(());
        }
        self.record = Some(record);
        CODE.with_borrow_mut(|code| {
            loop {
                self.clock = self.clock.max(self.supervisor.wake);
                if self.clock >= surroundings.cycle_limit {
                    return Err(self.cycle_limit(surroundings));
                }
                let pc = self.supervisor.pc;
                let row_safe = match self.memory.fetch(pc) {
                    // A fault in the fetch is reported by the run that follows.
                    Err(_) => false,
                    Ok(words) => code.supervisor(pc, words).is_ok_and(|entry| entry.row_safe),
                };
                let record = self.record.as_mut().expect("set above");
                record.end = self.clock;
                if !row_safe || self.supervisor.state != State::Running {
                    return Ok(());
                }
                record.fetch(self.clock, pc);
                self.step_supervisor(code, surroundings)?;
                self.clock += 1;
            }
        })
    }

    /// One clock.
    #[inline]
    fn step(&mut self, code: &mut CodeCache, surroundings: &Surroundings) -> Result<(), Fault> {
        let clock = self.clock;
        let slot = (clock % 6) as usize;
        if self.active >> slot & 1 != 0 {
            if self.workers[slot].wake <= clock {
                self.step_worker(slot, code, surroundings)?;
            }
        } else if self.supervisor.wake <= clock && self.supervisor.state == State::Running {
            self.step_supervisor(code, surroundings)?;
        }
        self.clock = clock + 1;
        Ok(())
    }

    fn step_worker(&mut self, slot: usize, code: &mut CodeCache, surroundings: &Surroundings) -> Result<(), Fault> {
        let clock = self.clock;
        let worker = &mut self.workers[slot];
        let issued = self.memory.fetch(worker.pc).and_then(|words| {
            let entry = code.worker(worker.pc, words)?;
            if let Some(sink) = &self.trace {
                trace(sink, clock, ContextId::Worker(slot as u8), worker.pc, words);
            }
            worker.issue(entry, &mut self.memory, &self.unit, clock)
        });
        match issued {
            Ok(Issued::Running) => Ok(()),
            Ok(Issued::Exited(status)) => {
                self.active &= !(1 << slot);
                let s = &mut self.supervisor;
                s.local_consensus &= status;
                if self.active == 0 && s.state == State::Local {
                    s.state = State::Running;
                    s.wake = clock.max(s.last_issue) + LATENCY;
                }
                Ok(())
            }
            Err(trouble) => Err(self.fault(*trouble, ContextId::Worker(slot as u8), surroundings)),
        }
    }

    fn step_supervisor(&mut self, code: &mut CodeCache, surroundings: &Surroundings) -> Result<(), Fault> {
        let clock = self.clock;
        let pc = self.supervisor.pc;
        if self.program_start.is_none() && surroundings.program.contains(&pc) {
            self.program_start = Some(clock);
        }
        if self.completion.is_none() && surroundings.complete == Some(pc) {
            self.completion = Some(self.supervisor.last_issue);
        }
        let before = self.supervisor.instructions;
        let issued = self.memory.fetch(pc).and_then(|words| {
            let entry = *code.supervisor(pc, words)?;
            self.issue_supervisor(&entry, clock)?;
            Ok(words)
        });
        match issued {
            Ok(words) => {
                if let Some(sink) = &self.trace
                    && self.supervisor.instructions != before
                {
                    trace(sink, clock, ContextId::Supervisor, pc, words);
                }
                if self.supervisor.state == State::Ended {
                    self.ended = Some(clock);
                }
                Ok(())
            }
            Err(trouble) => Err(self.fault(*trouble, ContextId::Supervisor, surroundings)),
        }
    }

    /// Instructions executed and multiply-adds done, of all contexts.
    pub(super) fn counts(&self) -> (u64, u64) {
        self.workers.iter().fold((self.supervisor.instructions, 0), |(instructions, multiply_adds), w| {
            (instructions + w.instructions, multiply_adds + w.multiply_adds)
        })
    }

    fn cycle_limit(&self, surroundings: &Surroundings) -> Fault {
        let limit = surroundings.cycle_limit;
        let error = trouble::<()>(FaultKind::CycleLimit, format!("the program still runs after {limit} cycles"));
        // The supervisor is to blame when it issues: with six workers it has no clock.
        let context = if self.supervisor.state == State::Running && self.active != 0x3f {
            ContextId::Supervisor
        } else {
            ContextId::Worker(self.active.trailing_zeros().min(5) as u8)
        };
        self.fault(*error.expect_err("a fault"), context, surroundings)
    }

    /// Adds the place to a trouble.
    pub(super) fn fault(&self, trouble: Trouble, context: ContextId, surroundings: &Surroundings) -> Fault {
        let (address, isa) = match context {
            ContextId::Worker(i) => (self.workers[usize::from(i)].pc, Context::Worker),
            _ => (self.supervisor.pc, Context::Supervisor),
        };
        Fault {
            code: FAULT_CODE,
            tile: self.id,
            context,
            clock: self.clock,
            address,
            symbol: surroundings.symbol(address),
            instruction: self.memory.fetch(address).ok().map(|words| text(words, isa)),
            kind: trouble.kind,
            message: trouble.message,
        }
    }
}

#[cold]
fn trace(sink: &TraceSink, clock: u64, context: ContextId, address: u32, words: u64) {
    let isa = if matches!(context, ContextId::Worker(_)) { Context::Worker } else { Context::Supervisor };
    let line = TraceLine { clock, context, address, text: text(words, isa) };
    let mut sink = sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    sink(line);
}
