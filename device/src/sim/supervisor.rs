//! The supervisor context of a tile: its state, and what happens when it issues (`semantics.md` 1, 2.3; `exchange.md` 2).
//!
//! Clocks of one instruction issued at clock `t` (the next one issues at the earliest when):
//! ordinary `t + 1`; a register written is ready at `t + 6` and a reader waits for it; a taken branch, `runall`, `run` and a
//! granted `sync` `t + 6`; `put` of a base register of the exchange `t + 13`, and it needs its operand only at the end;
//! `put $CCCSLOAD` followed by a coefficient load `t + 6`; a row instruction of n events `t + n`.
//!
//! 1. Row instructions act on the exchange only while the tile runs ahead of arriving words after a barrier (see
//!    `exchange`); anywhere else they are a fault.
//! 2. A branch to address 0 ends the program of the tile (`runtime.md` 2.3).

use super::exchange::Control;
use super::fault::{FaultKind, Outcome, trouble};
use super::integer::MainRegisters;
use super::operation::{Behaviour, Operands, Row, SupervisorEntry};
use super::tile::Tile;
use super::worker::{branch, check_control};
use crate::isa::{Bank, Context, csr_by_number};
use crate::memory::{BASE, INTERLEAVED_BASE};

/// Clocks until a result can be used; also the cost of a taken branch, a launch and a granted sync.
pub(super) const LATENCY: u64 = 6;
/// Clocks of a `put` to a base register of the exchange.
const BASE_PUT: u64 = 13;
/// Clocks by which the first issue of each further worker is later (`semantics.md` 1.1, a fit to published timings).
const LAUNCH_STEP: u64 = 4;
/// The rest value of the receive multiplexer.
pub(super) const NEUTRAL: u16 = 0x640;

/// Why a supervisor does not issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It issues when it can.
    Running,
    /// `sync 2`: until the last worker exits.
    Local,
    /// `sync` of a chip-wide or external zone.
    Barrier(u8),
    /// `sync 1`: until the promised barriers are answered.
    Answered,
    /// The program has ended.
    Ended,
}

/// The supervisor context.
#[derive(Clone)]
pub(super) struct Supervisor {
    pub(super) m: MainRegisters,
    ready: [u64; 16],
    pub(super) pc: u32,
    /// Clock from which it may issue again.
    pub(super) wake: u64,
    pub(super) state: State,
    /// Clock of the last issue.
    pub(super) last_issue: u64,
    coefficient_address: u32,
    coefficient_ready: u64,
    fp_ictl: u32,
    fp_infmt: u32,
    fp_iscl: u32,
    pub(super) worker_base: [u32; 6],
    /// Conjunction of the exit states of the workers.
    pub(super) local_consensus: bool,
    /// Conjunction of the local ones at the last barrier.
    pub(super) global_consensus: bool,
    /// Barriers still to be answered automatically, and when the first of them was asked for.
    pub(super) promised: u32,
    pub(super) promised_at: u64,
    pub(super) mux: u16,
    pub(super) incoming_base: u32,
    /// Byte offset of the next word from the base; `None` until a row sets it.
    pub(super) cursor: Option<u32>,
    incoming_count: u32,
    outgoing_base: u32,
    /// Byte offset of the next item to send.
    outgoing: u32,
    /// Control bits of the stream.
    stream: u8,
    exchange_control: u32,
    pub(super) instructions: u64,
}

impl Supervisor {
    pub(super) fn new() -> Self {
        Self {
            m: [0; 16],
            ready: [0; 16],
            pc: 0,
            wake: 0,
            state: State::Running,
            last_issue: 0,
            coefficient_address: 0,
            coefficient_ready: 0,
            fp_ictl: 0,
            fp_infmt: 0,
            fp_iscl: 0,
            worker_base: [0; 6],
            local_consensus: true,
            global_consensus: false,
            promised: 0,
            promised_at: 0,
            mux: 0x600,
            incoming_base: 0,
            cursor: None,
            incoming_count: 0,
            outgoing_base: 0,
            outgoing: 0,
            stream: 0,
            exchange_control: 7,
            instructions: 0,
        }
    }

    /// The clock when all registers of a set are ready.
    fn ready_at(&self, mut set: u16) -> u64 {
        let mut at = 0;
        while set != 0 {
            at = at.max(self.ready[set.trailing_zeros() as usize]);
            set &= set - 1;
        }
        at
    }
}

/// First clock of a worker's slot at or after a clock.
fn slot_clock(worker: u64, from: u64) -> u64 {
    from + (worker + 6 - from % 6) % 6
}

impl Tile {
    /// Issues the instruction `entry` at the supervisor's program counter, or puts it off until its operands are ready.
    pub(super) fn issue_supervisor(&mut self, entry: &SupervisorEntry, clock: u64) -> Outcome {
        let o = &entry.operands;
        let late = matches!(entry.behaviour, Behaviour::Put) && matches!(o[0], 0xa4 | 0xa7);
        let mut ready = if late { 0 } else { self.supervisor.ready_at(entry.reads) };
        if matches!(entry.behaviour, Behaviour::Coefficients(_)) {
            ready = ready.max(self.supervisor.coefficient_ready);
        }
        if ready > clock {
            self.supervisor.wake = ready;
            return Ok(());
        }
        let s = &mut self.supervisor;
        let mut next = s.pc.wrapping_add(entry.length);
        let mut wake = clock + 1;
        let fixed = [s.m[12], s.m[13], s.m[14], s.m[15]];
        s.instructions += 1;
        match entry.behaviour {
            Behaviour::Integer(f) => f(&mut s.m, o),
            Behaviour::Transfer(f) => f(&mut s.m, &mut self.memory, o)?,
            Behaviour::Branch(kind) => {
                if let Some(target) = branch(kind, &mut s.m, o, next) {
                    next = target;
                    wake = clock + LATENCY;
                    if target == self.stop_address {
                        s.state = State::Ended;
                    }
                }
            }
            Behaviour::Get => self.supervisor.m[(o[0] & 15) as usize] = self.get(o[1], clock)?,
            Behaviour::Put => {
                let value = self.supervisor.m[(o[1] & 15) as usize];
                wake = self.put(o[0], value, clock)?;
            }
            Behaviour::Trap => return trouble(FaultKind::Trap, format!("trap {}", o[0])),
            Behaviour::Coefficients(bytes) => self.load_coefficients(bytes, o[0])?,
            Behaviour::RunAll => {
                let (entry, base) = (s.m[(o[0] & 15) as usize], s.m[(o[1] & 15) as usize]);
                self.run_all(entry, base, o[2] as u32, clock)?;
                wake = clock + LATENCY;
            }
            Behaviour::Run => {
                let (entry, base) = (s.m[(o[0] & 15) as usize], s.m[(o[1] & 15) as usize]);
                self.run_one(entry, base, o[2] as u32, clock)?;
                wake = clock + LATENCY;
            }
            Behaviour::Sync => wake = self.sync(o[0] as u8, clock)?,
            Behaviour::Abstain => {
                let count = o[0] as u32 + 1;
                if s.promised == 0 {
                    s.promised_at = clock;
                }
                s.promised += count;
                if s.promised >= 1 << 19 {
                    return trouble(FaultKind::Sync, format!("{} promised barriers overflow their count", s.promised));
                }
            }
            Behaviour::Row(row) => wake = clock + self.row(row, o, entry.payload, clock)?,
            _ => unreachable!("only workers decode the other forms"),
        }
        let s = &mut self.supervisor;
        if entry.keep_fixed {
            s.m[12..].copy_from_slice(&fixed);
        }
        let mut set = entry.writes;
        while set != 0 {
            s.ready[set.trailing_zeros() as usize] = clock + LATENCY;
            set &= set - 1;
        }
        s.pc = next;
        s.wake = wake;
        s.last_issue = clock;
        Ok(())
    }

    fn load_coefficients(&mut self, bytes: u32, index: i32) -> Outcome {
        self.idle_workers("coefficients change while a worker runs")?;
        let count = bytes as i32 / 8;
        if index + count > 64 || index % count != 0 {
            return trouble(FaultKind::InvalidOperand, format!("coefficient index {index} for {count} entries"));
        }
        let at = self.supervisor.coefficient_address;
        if count == 2 {
            let [low, high] = self.memory.read128(at, true)?;
            self.unit.load(index as usize, low);
            self.unit.load(index as usize + 1, high);
        } else {
            let value = self.memory.read64(at, true)?;
            self.unit.load(index as usize, value);
        }
        self.supervisor.coefficient_address = at.wrapping_add(bytes);
        Ok(())
    }

    fn idle_workers(&self, message: &str) -> Outcome {
        if self.active != 0 { trouble(FaultKind::WorkerActive, message) } else { Ok(()) }
    }

    fn run_all(&mut self, entry: u32, base: u32, stride: u32, clock: u64) -> Outcome {
        self.idle_workers("runall while a worker runs")?;
        for i in 0..6u32 {
            let vertex_base = base.wrapping_add((i * stride).wrapping_mul(4));
            self.launch(
                i as usize,
                entry,
                vertex_base,
                slot_clock(i.into(), clock + LATENCY + LAUNCH_STEP * u64::from(i)),
            )?;
        }
        Ok(())
    }

    fn run_one(&mut self, entry: u32, base: u32, offset: u32, clock: u64) -> Outcome {
        let free = self.active.trailing_ones();
        if free >= 6 {
            return trouble(FaultKind::WorkerActive, "run while all workers run");
        }
        let vertex_base = base.wrapping_add(offset.wrapping_mul(4)).wrapping_add(BASE);
        self.launch(free as usize, entry, vertex_base, slot_clock(free.into(), clock + LATENCY))
    }

    fn launch(&mut self, worker: usize, entry: u32, vertex_base: u32, first_issue: u64) -> Outcome {
        if entry & 3 != 0 || vertex_base & 3 != 0 {
            return trouble(
                FaultKind::Misaligned,
                format!("worker entry {entry:#x} and vertex base {vertex_base:#x} are multiples of 4"),
            );
        }
        if !(BASE..INTERLEAVED_BASE).contains(&entry) {
            return trouble(FaultKind::InvalidPc, format!("worker entry {entry:#x} is not executable"));
        }
        let s = &self.supervisor;
        let w = &mut self.workers[worker];
        w.launch(entry, vertex_base, s.worker_base[worker]);
        w.fp_ctl = s.fp_ictl;
        w.fp_nfmt = s.fp_infmt;
        w.fp_scl = s.fp_iscl;
        w.wake = first_issue;
        self.active |= 1 << worker;
        Ok(())
    }

    /// The clock of the next issue; `u64::MAX` while it waits.
    fn sync(&mut self, zone: u8, clock: u64) -> Outcome<u64> {
        let s = &mut self.supervisor;
        match zone {
            0 if s.incoming_count != 0 => {
                return trouble(
                    FaultKind::Deadlock,
                    format!("sync 0 waits for {} words from outside, and there is no host", s.incoming_count),
                );
            }
            1 if s.promised != 0 => {
                s.state = State::Answered;
                return Ok(u64::MAX);
            }
            2 if self.active != 0 => {
                s.state = State::Local;
                return Ok(u64::MAX);
            }
            0..=2 => {}
            3..=7 | 12..=15 => {
                if s.promised != 0 {
                    return trouble(
                        FaultKind::Sync,
                        format!("sync {zone} while {} promised barriers are pending", s.promised),
                    );
                }
                s.state = State::Barrier(zone);
                return Ok(u64::MAX);
            }
            _ => return trouble(FaultKind::Refused, format!("sync zone {zone} does not exist")),
        }
        Ok(clock + LATENCY)
    }

    fn get(&self, number: i32, clock: u64) -> Outcome<u32> {
        let s = &self.supervisor;
        Ok(match number {
            0 => s.pc,
            1 => u32::from(s.local_consensus) | u32::from(s.global_consensus) << 1 | u32::from(s.promised != 0) << 2,
            3 => u32::from(self.physical.0),
            0x20 => s.fp_ictl,
            0x21..=0x26 => s.worker_base[(number - 0x21) as usize],
            0x31 => s.fp_infmt,
            0x33 => s.fp_iscl,
            0x50 => s.coefficient_address,
            0x60 => clock as u32,
            0x61 => (clock >> 32) as u32,
            0x72 => (0..6).fold(1, |sts, i| sts | u32::from(self.active >> i & 1) << (2 + 2 * i)),
            0xa0 => u32::from(s.mux),
            0xa4 => s.incoming_base,
            0xa6 => s.incoming_count,
            0xa7 => s.outgoing_base,
            0xa9 => s.exchange_control,
            0xaa => s.promised,
            _ => return no_register(number, "read"),
        })
    }

    /// Writes a control register; the clock of the next issue.
    fn put(&mut self, number: i32, value: u32, clock: u64) -> Outcome<u64> {
        match number {
            2 => {
                if value & 4 != 0 {
                    self.idle_workers("coefficients change while a worker runs")?;
                    self.unit.clear();
                }
                if value & 3 != 0 {
                    self.supervisor.local_consensus = value & 2 != 0;
                }
            }
            0x20 => {
                check_control(value)?;
                self.supervisor.fp_ictl = value & 0x10_0007;
            }
            0x21..=0x26 => {
                let worker = number - 0x21;
                if self.active >> worker & 1 != 0 {
                    return trouble(FaultKind::WorkerActive, format!("base of worker {worker} changes while it runs"));
                }
                self.supervisor.worker_base[worker as usize] = value & 0xf_ffff;
            }
            0x31 => self.supervisor.fp_infmt = value & 3,
            0x33 => self.supervisor.fp_iscl = value & 63,
            0x50 => {
                self.supervisor.coefficient_address = value & 0xf_ffff;
                self.supervisor.coefficient_ready = clock + LATENCY;
            }
            0xa0 => self.control(clock + 1, Control::Mux(value & 0x7ff))?,
            0xa1 => Self::pair_mux(value & 0x7ff)?,
            0xa2 => self.control(clock + 1, Control::Pointer(value & 0xf_fffc))?,
            0xa3 => format_32(value)?,
            0xa4 => {
                self.control(clock + BASE_PUT, Control::Base(value & 0xf_fffc))?;
                return Ok(clock + BASE_PUT);
            }
            0xa6 => self.supervisor.incoming_count = value & 0x1_ffff,
            0xa7 => {
                self.supervisor.outgoing_base = value & 0xf_fffc;
                return Ok(clock + BASE_PUT);
            }
            0xa9 => self.supervisor.exchange_control = value & 31,
            _ => return no_register(number, "written"),
        }
        Ok(clock + 1)
    }

    fn pair_mux(value: u32) -> Outcome {
        if value != u32::from(NEUTRAL) {
            return trouble(
                FaultKind::Refused,
                format!("paired source {value:#x}: 64-bit transfers are not simulated"),
            );
        }
        Ok(())
    }

    /// A change of the receive side that takes effect at `clock`.
    fn control(&mut self, clock: u64, control: Control) -> Outcome {
        if let Some(record) = &mut self.record {
            record.controls.push((clock, control));
        } else if let Control::Mux(source) = control
            && source < 0x600
        {
            return trouble(FaultKind::OutsideRow, format!("the multiplexer selects tile {source:#x} outside a row"));
        }
        let s = &mut self.supervisor;
        match control {
            Control::Mux(value) => s.mux = value as u16,
            Control::Base(value) => s.incoming_base = value,
            // Rows set the pointer; a value from before the barrier would be one that no row accounts for.
            Control::Pointer(_) => {}
        }
        Ok(())
    }

    fn mux_control(&mut self, clock: u64, selector: i32, value: u32) -> Outcome {
        if selector & 1 == 1 { Self::pair_mux(value) } else { self.control(clock, Control::Mux(value)) }
    }

    fn pointer_control(&mut self, clock: u64, selector: i32, value: u32) -> Outcome {
        if selector & 1 == 1 { format_32(value) } else { self.control(clock, Control::Pointer(value << 2)) }
    }

    /// Executes a row instruction; the events that it takes.
    fn row(&mut self, row: Row, o: &Operands, payload: u32, clock: u64) -> Outcome<u64> {
        let events = o[0] as u64 + 1;
        if row == Row::Delay && self.record.is_none() {
            return Ok(events);
        }
        if self.active != 0 {
            return trouble(FaultKind::WorkerActive, "an exchange row runs while a worker runs");
        }
        if self.record.is_none() {
            return trouble(
                FaultKind::OutsideRow,
                "an exchange row follows a barrier, with nothing but register operations in between",
            );
        }
        match row {
            Row::Delay => {}
            Row::DelayPointer => self.pointer_control(clock + events, o[1], o[2] as u32)?,
            Row::DelayMux => self.mux_control(clock + events, o[1], o[2] as u32)?,
            Row::Send => {
                self.supervisor.outgoing = (o[1] as u32) << 2;
                self.stream(o[2] as u8, clock, events)?;
            }
            Row::SendOn => {
                if o[1] != 0 {
                    return trouble(FaultKind::Refused, format!("source delta {} of a continued send", o[1]));
                }
                self.stream(o[2] as u8, clock, events)?;
            }
            Row::SendControl => {
                if o[1] < 2 {
                    self.mux_control(clock + 1, o[1], o[2] as u32 & 0x1fff)?;
                } else {
                    self.pointer_control(clock + 1, o[1], o[2] as u32)?;
                }
                self.stream(self.supervisor.stream, clock, events)?;
            }
            Row::SendPair => {
                if self.supervisor.pc & 7 != 0 {
                    return trouble(FaultKind::Misaligned, "sendpicp must start at a multiple of 8");
                }
                self.pointer_control(clock + 1, o[3], payload & 0x3_ffff)?;
                self.mux_control(clock + 1, (payload >> 31) as i32, payload >> 18 & 0x1fff)?;
                if o[2] & 3 != 0 {
                    self.supervisor.outgoing = (o[1] as u32) << 2;
                }
                self.stream(o[2] as u8, clock, events)?;
            }
        }
        let record = self.record.as_mut().expect("checked above");
        record.row_end = Some(clock + events);
        Ok(events)
    }

    /// `events` slots of the outgoing stream from `clock` on.
    fn stream(&mut self, control: u8, clock: u64, events: u64) -> Outcome {
        if control & 4 != 0 {
            return trouble(FaultKind::Refused, format!("send control {control}: 64-bit items are not simulated"));
        }
        let s = &mut self.supervisor;
        s.stream = control;
        if control == 0 {
            return Ok(());
        }
        let (address, words) = (s.outgoing_base.wrapping_add(s.outgoing), events as u32);
        s.outgoing = s.outgoing.wrapping_add(4 * words);
        if !super::memory::Memory::contains(address, 4 * words) {
            return trouble(FaultKind::InvalidAddress, format!("{words} words from {address:#x} are sent"));
        }
        let record = self.record.as_mut().expect("rows are recorded");
        record.send(clock, words, address, control);
        Ok(())
    }
}

fn format_32(value: u32) -> Outcome {
    if value != 0 {
        return trouble(FaultKind::Refused, format!("incoming format {value}: 64-bit transfers are not simulated"));
    }
    Ok(())
}

fn no_register<T>(number: i32, what: &str) -> Outcome<T> {
    let name = csr_by_number(number as u8, Bank::Lower, Context::Supervisor).map_or("no register", |csr| csr.name);
    trouble(
        FaultKind::InvalidRegister,
        format!("control register {number:#x} ({name}) cannot be {what} by the supervisor here"),
    )
}
