//! One of the six worker contexts of a tile: its state, and what happens when it issues (`semantics.md` 1, 2.2, 6).
//!
//! 1. An issue reads all registers of both halves before it writes any; the aux result is written last.
//! 2. A worker issues once every six clocks; the long operations keep it busy for several of its issues.
//! 3. A repeat body costs nothing beyond its bundles; at its end the count drops and the body starts again while the
//!    count is not zero.
//! 4. Registers 12 to 15 of the main file and 8 to 15 of the arithmetic file keep their values whatever is written.

use super::accumulator::Accumulators;
use super::amp::MatrixUnit;
use super::fault::{FaultKind, Outcome, trouble};
use super::integer::MainRegisters;
use super::memory::Memory;
use super::number::{DIVIDE_BY_ZERO, INVALID, OVERFLOW};
use super::operation::{Behaviour, Branch, Operands, WorkerEntry};
use crate::isa::{Bank, Context, csr_by_number};

/// An operation of the aux lane: its result, for the destination that the instruction names.
pub(super) type AuxFn = fn(&mut Worker, &MatrixUnit, &Operands) -> Outcome<u64>;

/// `$FP_CTL` bits that only select what this simulator does not model: rounding mode and stochastic rounding.
const UNMODELLED_CONTROL: u32 = 0xf << 16;

/// One worker context.
#[derive(Clone)]
pub(super) struct Worker {
    pub(super) m: MainRegisters,
    a: [u32; 16],
    pub(super) accumulators: Accumulators,
    pub(super) pc: u32,
    /// Clock from which it may issue again.
    pub(super) wake: u64,
    repeat_count: u32,
    repeat_first: u32,
    /// 0 outside a repeat.
    repeat_end: u32,
    pub(super) fp_ctl: u32,
    fp_sts: u32,
    /// Flags raised by the current instruction.
    pub(super) raised: u32,
    pub(super) fp_nfmt: u32,
    pub(super) fp_scl: u32,
    pub(super) tas: u32,
    random: [u64; 2],
    number: u8,
    /// Multiply-adds of the matrix unit.
    pub(super) multiply_adds: u64,
    /// Instructions executed; a bundle counts as two.
    pub(super) instructions: u64,
}

/// What became of the worker after an issue.
pub(super) enum Issued {
    /// It goes on.
    Running,
    /// It ended, with its status.
    Exited(bool),
}

/// What a control transfer does: the target, if it is taken.
#[inline]
pub(super) fn branch(kind: Branch, m: &mut MainRegisters, o: &Operands, next: u32) -> Option<u32> {
    let register = (o[0] & 15) as usize;
    let value = m[register];
    let taken = match kind {
        Branch::Register => return Some(value),
        Branch::Always => return Some((o[0] as u32) << 2),
        Branch::Call => {
            m[register] = next;
            true
        }
        Branch::Zero => value == 0,
        Branch::NotZero => value != 0,
        Branch::Negative => (value as i32) < 0,
        Branch::Positive => value as i32 >= 0,
        Branch::Decrement => {
            m[register] = value.wrapping_sub(u32::from(value != 0));
            value != 0
        }
    };
    taken.then_some((o[1] as u32) << 2)
}

/// Refuses rounding modes that are not modelled.
pub(super) fn check_control(value: u32) -> Outcome {
    if value & UNMODELLED_CONTROL != 0 {
        return trouble(
            FaultKind::Refused,
            format!("floating point control {value:#x}: only nearest-even rounding is simulated"),
        );
    }
    Ok(())
}

impl Worker {
    pub(super) fn new(number: u8) -> Self {
        Self {
            m: [0; 16],
            a: [0; 16],
            accumulators: Accumulators::zero(),
            pc: 0,
            wake: 0,
            repeat_count: 0,
            repeat_first: 0,
            repeat_end: 0,
            fp_ctl: 0,
            fp_sts: 0,
            raised: 0,
            fp_nfmt: 0,
            fp_scl: 0,
            tas: 0,
            random: [1, 2],
            number,
            multiply_adds: 0,
            instructions: 0,
        }
    }

    /// Prepares the first issue of a run; general registers and accumulators keep their values (`semantics.md` 1.3).
    pub(super) fn launch(&mut self, entry: u32, vertex_base: u32, worker_base: u32) {
        self.pc = entry;
        self.m[12] = worker_base;
        self.m[13] = vertex_base;
        self.repeat_count = 0;
        self.repeat_end = 0;
        self.fp_sts = 0;
    }

    #[inline]
    pub(super) fn single(&self, operand: i32) -> u32 {
        self.a[(operand & 15) as usize]
    }

    #[inline]
    pub(super) fn pair(&self, operand: i32) -> [u32; 2] {
        [self.a[(operand & 0xe) as usize], self.a[(operand & 0xe | 1) as usize]]
    }

    #[inline]
    pub(super) fn pair64(&self, operand: i32) -> u64 {
        let [low, high] = self.pair(operand);
        u64::from(low) | u64::from(high) << 32
    }

    #[inline]
    pub(super) fn write_single(&mut self, operand: i32, value: u32) {
        if operand < 8 {
            self.a[(operand & 15) as usize] = value;
        }
    }

    #[inline]
    pub(super) fn write_pair(&mut self, operand: i32, value: u64) {
        if operand < 8 {
            self.a[(operand & 0xe) as usize] = value as u32;
            self.a[(operand & 0xe | 1) as usize] = (value >> 32) as u32;
        }
    }

    /// 64 random bits: xoroshiro128aox, which Graphcore published; that this is the one, and its word order, is a guess.
    pub(super) fn draw(&mut self) -> u64 {
        let [s0, mut s1] = self.random;
        let and = s0 & s1;
        let out = (s0 ^ s1) ^ (and.rotate_left(1) | and.rotate_left(2));
        s1 ^= s0;
        self.random = [s0.rotate_left(55) ^ s1 ^ s1 << 14, s1.rotate_left(36)];
        out
    }

    /// Executes one instruction or bundle at `pc`.
    #[inline]
    pub(super) fn issue(
        &mut self,
        entry: &WorkerEntry,
        memory: &mut Memory,
        unit: &MatrixUnit,
        clock: u64,
    ) -> Outcome<Issued> {
        if self.repeat_end != 0 && !entry.repeatable {
            return trouble(
                FaultKind::InvalidOperand,
                "a repeat body holds only bundles without control or system instructions",
            );
        }
        let mut next = self.pc.wrapping_add(entry.length);
        let result = match entry.aux {
            Some(f) => {
                self.instructions += 1;
                f(self, unit, &entry.aux_operands)?
            }
            None => 0,
        };
        if let Some(main) = &entry.main {
            self.instructions += 1;
            let fixed = [self.m[12], self.m[13], self.m[14], self.m[15]];
            let o = &entry.main_operands;
            match *main {
                Behaviour::Integer(f) => f(&mut self.m, o),
                Behaviour::Transfer(f) => f(&mut self.m, memory, o)?,
                Behaviour::Access(f) => f(self, memory, o)?,
                Behaviour::Branch(kind) => {
                    if let Some(target) = branch(kind, &mut self.m, o, next) {
                        next = target;
                    }
                }
                Behaviour::RepeatImmediate => next = self.repeat(next, o[0] as u32, o[1])?,
                Behaviour::RepeatRegister => {
                    let count = self.m[(o[0] & 15) as usize] & 0xffff;
                    next = self.repeat(next, count, o[1])?;
                }
                Behaviour::Exit(status) => return Ok(Issued::Exited(status(self.m[(o[0] & 15) as usize]))),
                Behaviour::Get => self.m[(o[0] & 15) as usize] = self.get(o[1], clock)?,
                Behaviour::Put => return no_register(o[0], Bank::Lower, "written"),
                Behaviour::Trap => return trouble(FaultKind::Trap, format!("trap {}", o[0])),
                _ => unreachable!("only supervisors decode the other forms"),
            }
            if entry.keep_fixed {
                self.m[12..].copy_from_slice(&fixed);
            }
        }
        match entry.span {
            1 => self.write_single(i32::from(entry.destination), result as u32),
            2 => self.write_pair(i32::from(entry.destination), result),
            _ => {}
        }
        if self.raised != 0 {
            self.settle_flags()?;
        }
        if next == self.repeat_end && self.repeat_end != 0 {
            self.repeat_count -= 1;
            if self.repeat_count == 0 {
                self.repeat_end = 0;
            } else {
                next = self.repeat_first;
            }
        }
        self.pc = next;
        self.wake = clock + 6 * u64::from(entry.issues);
        Ok(Issued::Running)
    }

    fn settle_flags(&mut self) -> Outcome {
        let raised = std::mem::take(&mut self.raised);
        self.fp_sts |= raised;
        let enabled = raised & self.fp_ctl & (INVALID | DIVIDE_BY_ZERO | OVERFLOW);
        if enabled != 0 {
            return trouble(FaultKind::FloatingPoint, format!("flags {enabled:#x} raised and enabled"));
        }
        Ok(())
    }

    /// Starts a repeat of the body after the `rpt`, whose last bundle is `last`; the next program counter.
    fn repeat(&mut self, first: u32, count: u32, last: i32) -> Outcome<u32> {
        if first & 7 != 0 {
            return trouble(FaultKind::Misaligned, format!("repeat body at {first:#x} is no multiple of 8"));
        }
        let end = first.wrapping_add(8 * (last as u32 + 1));
        if count == 0 {
            return Ok(end);
        }
        self.repeat_count = count;
        self.repeat_first = first;
        self.repeat_end = end;
        Ok(first)
    }

    fn get(&self, number: i32, clock: u64) -> Outcome<u32> {
        Ok(match number {
            0 => self.pc,
            1 => u32::from(self.number),
            2 => self.m[13],
            3 => self.m[12],
            4 => self.repeat_count,
            5 => self.repeat_first,
            6 => self.repeat_end,
            0x60 => clock as u32,
            0x61 => (clock >> 32) as u32,
            _ => return no_register(number, Bank::Lower, "read"),
        })
    }

    fn upper_get(&self, number: i32) -> Outcome<u32> {
        let [s0, s1] = self.random;
        Ok(match number {
            0 => self.fp_sts,
            2 => self.fp_ctl,
            3 => s0 as u32,
            4 => (s0 >> 32) as u32,
            5 => s1 as u32,
            6 => (s1 >> 32) as u32,
            8 => self.tas,
            9 => self.fp_nfmt,
            10 => self.fp_scl,
            _ => return no_register(number, Bank::Upper, "read"),
        })
    }

    fn upper_put(&mut self, number: i32, value: u32) -> Outcome {
        let low = |word: u64| word & !0xffff_ffff | u64::from(value);
        let high = |word: u64| word & 0xffff_ffff | u64::from(value) << 32;
        match number {
            1 => {
                self.fp_sts &= !(value & 7);
                if value & 8 != 0 {
                    self.accumulators = Accumulators::zero();
                }
            }
            2 => {
                check_control(value)?;
                self.fp_ctl = value & 0x10_0007;
            }
            3 => self.random[0] = low(self.random[0]),
            4 => self.random[0] = high(self.random[0]),
            5 => self.random[1] = low(self.random[1]),
            6 => self.random[1] = high(self.random[1]),
            7 => {
                let (v, n) = (value, !value);
                let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
                self.random = [pair(v, n), pair(v << 13 | n >> 19, n << 13 | v >> 19)];
            }
            8 => self.tas = value,
            9 => self.fp_nfmt = value & 3,
            10 => self.fp_scl = value & 63,
            _ => return no_register(number, Bank::Upper, "written"),
        }
        Ok(())
    }
}

fn no_register<T>(number: i32, bank: Bank, what: &str) -> Outcome<T> {
    let name = csr_by_number(number as u8, bank, Context::Worker).map_or("no register", |csr| csr.name);
    trouble(
        FaultKind::InvalidRegister,
        format!("control register {number:#x} ({name}) cannot be {what} by a worker here"),
    )
}

/// `uget` and `uput`.
pub(super) fn upper_register(name: &str) -> Option<AuxFn> {
    let operation: AuxFn = match name {
        "uget_aaan_zi" => |w, _, o| Ok(u64::from(w.upper_get(o[1])?)),
        "uput_aaan_zi" => |w, _, o| {
            let value = w.single(o[1]);
            w.upper_put(o[0], value)?;
            Ok(0)
        },
        _ => return None,
    };
    Some(operation)
}
