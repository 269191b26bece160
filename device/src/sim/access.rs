//! Loads and stores (`semantics.md` 3.2 to 3.4).
//!
//! 1. All addresses of an instruction are checked before anything changes; the store holds the register value from
//!    before the instruction.
//! 2. The accesses of one instruction use different memory elements; a clash is a fault, not a stall.
//! 3. A load to a zero register performs its access but reads nothing, so it may touch unwritten memory.

use super::fault::{FaultKind, Outcome, trouble};
use super::integer::MainRegisters;
use super::memory::{Memory, element};
use super::operation::Operands;
use super::worker::Worker;

/// A load or store between memory and main registers.
pub(super) type TransferFn = fn(&mut MainRegisters, &mut Memory, &Operands) -> Outcome;
/// A main-lane operation that also reaches the arithmetic registers.
pub(super) type AccessFn = fn(&mut Worker, &mut Memory, &Operands) -> Outcome;

/// Offset form with a register, offset form with an immediate, step form with a register, step form with an immediate.
const OFFSET: u8 = 0;
const OFFSET_IMMEDIATE: u8 = 1;
const STEP: u8 = 2;
const STEP_IMMEDIATE: u8 = 3;

/// Bits of one packed address.
const PACKED: u32 = 0x1f_ffff;

#[inline]
fn m(registers: &MainRegisters, operand: i32) -> u32 {
    registers[(operand & 15) as usize]
}

/// Effective address from operands 1 to 3; the step forms also give the value that operand 2 takes afterwards.
#[inline]
fn address<const BYTES: u32, const MODE: u8>(r: &MainRegisters, o: &Operands) -> (u32, u32) {
    let sum = m(r, o[1]).wrapping_add(m(r, o[2]));
    let third = if MODE == OFFSET || MODE == STEP { m(r, o[3]) } else { o[3] as u32 }.wrapping_mul(BYTES);
    if MODE == OFFSET || MODE == OFFSET_IMMEDIATE {
        (sum.wrapping_add(third), 0)
    } else {
        (sum, m(r, o[2]).wrapping_add(third))
    }
}

#[inline]
fn post_modify<const MODE: u8>(r: &mut MainRegisters, o: &Operands, value: u32) {
    if MODE == STEP || MODE == STEP_IMMEDIATE {
        r[(o[2] & 15) as usize] = value;
    }
}

fn load_main<const BYTES: u32, const SIGNED: bool, const MODE: u8>(
    r: &mut MainRegisters,
    memory: &mut Memory,
    o: &Operands,
) -> Outcome {
    let (at, next) = address::<BYTES, MODE>(r, o);
    let value = memory.read::<BYTES>(at, o[0] < 12)?;
    let value = match (BYTES, SIGNED) {
        (1, true) => value as i8 as u32,
        (2, true) => value as i16 as u32,
        _ => value,
    };
    r[(o[0] & 15) as usize] = value;
    post_modify::<MODE>(r, o, next);
    Ok(())
}

fn store_main<const MODE: u8>(r: &mut MainRegisters, memory: &mut Memory, o: &Operands) -> Outcome {
    let (at, next) = address::<4, MODE>(r, o);
    memory.write32(at, m(r, o[0]))?;
    post_modify::<MODE>(r, o, next);
    Ok(())
}

/// The transfer of a form, if it moves between memory and main registers.
pub(super) fn transfer(name: &str) -> Option<TransferFn> {
    macro_rules! loads {
        ($bytes:literal, $signed:literal) => {
            match name.split_once('_')? {
                (mnemonic, "mmmn") if mnemonic.ends_with("step") => load_main::<$bytes, $signed, STEP>,
                (mnemonic, "mmmn_si") if mnemonic.ends_with("step") => load_main::<$bytes, $signed, STEP_IMMEDIATE>,
                (_, "mmmn") => load_main::<$bytes, $signed, OFFSET>,
                (_, "mmmn_zi") => load_main::<$bytes, $signed, OFFSET_IMMEDIATE>,
                _ => return None,
            }
        };
    }
    let transfer: TransferFn = match name.split_once('_')?.0.trim_end_matches("step") {
        "ld32" => loads!(4, false),
        "ldz16" => loads!(2, false),
        "lds16" => loads!(2, true),
        "ldz8" => loads!(1, false),
        "lds8" => loads!(1, true),
        _ => match name {
            "st32_mmmn_zi" => store_main::<OFFSET_IMMEDIATE>,
            "st32step_mmmn_si" => store_main::<STEP_IMMEDIATE>,
            // Source, base, offset; source, address, stride.
            "stm32_mmmn" => {
                |r, memory, o| memory.write32(m(r, o[1]).wrapping_add(m(r, o[2]).wrapping_mul(4)), m(r, o[0]))
            }
            "stm32step_mmmn" => |r, memory, o| {
                memory.write32(m(r, o[1]), m(r, o[0]))?;
                r[(o[1] & 15) as usize] = m(r, o[1]).wrapping_add(m(r, o[2]).wrapping_mul(4));
                Ok(())
            },
            _ => return None,
        },
    };
    Some(transfer)
}

fn load_arithmetic<const BYTES: u32, const MODE: u8>(w: &mut Worker, memory: &mut Memory, o: &Operands) -> Outcome {
    let (at, next) = address::<BYTES, MODE>(&w.m, o);
    let wanted = o[0] < 8;
    match BYTES {
        16 => {
            let [low, high] = memory.read128(at, wanted)?;
            w.write_pair(o[0], low);
            w.write_pair(o[0] + 2, high);
        }
        8 => {
            let value = memory.read64(at, wanted)?;
            w.write_pair(o[0], value);
        }
        2 => {
            let half = memory.read::<2>(at, wanted)?;
            w.write_single(o[0], half | half << 16);
        }
        1 => {
            let byte = memory.read::<1>(at, wanted)?;
            w.write_single(o[0], byte * 0x0101_0101);
        }
        _ => {
            let value = memory.read::<4>(at, wanted)?;
            w.write_single(o[0], value);
        }
    }
    post_modify::<MODE>(&mut w.m, o, next);
    Ok(())
}

fn store_arithmetic<const BYTES: u32, const MODE: u8>(w: &mut Worker, memory: &mut Memory, o: &Operands) -> Outcome {
    let (at, next) = address::<BYTES, MODE>(&w.m, o);
    if BYTES == 8 {
        memory.write64(at, w.pair64(o[0]))?;
    } else {
        memory.write32(at, w.single(o[0]))?;
    }
    post_modify::<MODE>(&mut w.m, o, next);
    Ok(())
}

/// Three packed byte addresses (`semantics.md` 3.4; the split of the third is the sheet's proposal).
#[derive(Clone, Copy)]
struct Packed([u32; 3]);

impl Packed {
    #[inline]
    fn unpack(r: &MainRegisters, pair: i32) -> Self {
        let (low, high) = (m(r, pair), m(r, pair + 1));
        Self([low & PACKED, high & PACKED, low >> 21 | (high >> 21 & 0x3ff) << 11])
    }

    #[inline]
    fn pack(self, r: &mut MainRegisters, pair: i32) {
        let [first, second, third] = self.0;
        r[(pair & 15) as usize] = first & PACKED | third << 21;
        r[((pair + 1) & 15) as usize] = second & PACKED | (third >> 11 & 0x3ff) << 21;
    }

    /// Adds what a 2-bit selector asks for, in units of `bytes`.
    #[inline]
    fn advance(&mut self, which: usize, selector: i32, strides: u32, bytes: u32) {
        let steps = match selector & 3 {
            0 => 1,
            n => (strides << (32 - 10 * n)) as i32 >> 22,
        };
        self.0[which] = self.0[which].wrapping_add((steps as u32).wrapping_mul(bytes)) & PACKED;
    }
}

#[inline]
fn distinct(a: u32, b: u32) -> Outcome {
    if element(a) == element(b) { conflict(a, b) } else { Ok(()) }
}

#[cold]
fn conflict(a: u32, b: u32) -> Outcome {
    trouble(FaultKind::Conflict, format!("accesses at {a:#x} and {b:#x} use one memory element"))
}

/// `ld2x64pace`: two loads.
fn load_load(w: &mut Worker, memory: &mut Memory, o: &Operands) -> Outcome {
    let mut p = Packed::unpack(&w.m, o[2]);
    let [a, b, _] = p.0;
    let x = memory.read64(a, o[0] < 8)?;
    let y = memory.read64(b, o[1] < 8)?;
    distinct(a, b)?;
    let strides = m(&w.m, o[3]);
    p.advance(0, o[4], strides, 8);
    p.advance(1, o[4] >> 2, strides, 8);
    w.write_pair(o[0], x);
    w.write_pair(o[1], y);
    p.pack(&mut w.m, o[2]);
    Ok(())
}

/// `ldst64pace`: a load and a store.
fn load_store(w: &mut Worker, memory: &mut Memory, o: &Operands) -> Outcome {
    let mut p = Packed::unpack(&w.m, o[2]);
    let [a, _, c] = p.0;
    let x = memory.read64(a, o[0] < 8)?;
    Memory::locate::<8>(c)?;
    distinct(a, c)?;
    memory.write64(c, w.pair64(o[1]))?;
    let strides = m(&w.m, o[3]);
    p.advance(0, o[4], strides, 8);
    p.advance(2, o[4] >> 2, strides, 8);
    w.write_pair(o[0], x);
    p.pack(&mut w.m, o[2]);
    Ok(())
}

/// `ld2xst64pace`: two loads and a store.
fn load_load_store(w: &mut Worker, memory: &mut Memory, o: &Operands) -> Outcome {
    let mut p = Packed::unpack(&w.m, o[2]);
    let [a, b, c] = p.0;
    let x = memory.read64(a, o[0] < 8)?;
    let y = memory.read64(b, o[0] < 8)?;
    Memory::locate::<8>(c)?;
    distinct(a, b)?;
    distinct(a, c)?;
    distinct(b, c)?;
    memory.write64(c, w.pair64(o[1]))?;
    let strides = m(&w.m, o[3]);
    p.advance(0, o[4], strides, 8);
    p.advance(1, o[4] >> 2, strides, 8);
    p.advance(2, o[4] >> 4, strides, 8);
    w.write_pair(o[0], x);
    w.write_pair(o[0] + 2, y);
    p.pack(&mut w.m, o[2]);
    Ok(())
}

/// `st64pace`: a store.
fn store_pace(w: &mut Worker, memory: &mut Memory, o: &Operands) -> Outcome {
    if o[3] > 3 {
        return trouble(FaultKind::Refused, format!("st64pace selector {} has more than 2 bits", o[3]));
    }
    let mut p = Packed::unpack(&w.m, o[1]);
    memory.write64(p.0[2], w.pair64(o[0]))?;
    let strides = m(&w.m, o[2]);
    p.advance(2, o[3], strides, 8);
    p.pack(&mut w.m, o[1]);
    Ok(())
}

/// `ld64a32pace` and `ld64b16pace`: 64 bits, and a word or a half for both lanes.
fn load_mixed<const BYTES: u32>(w: &mut Worker, memory: &mut Memory, o: &Operands) -> Outcome {
    let mut p = Packed::unpack(&w.m, o[2]);
    let [a, b, _] = p.0;
    let x = memory.read64(a, o[0] < 8)?;
    let y = memory.read::<BYTES>(b, o[1] < 8)?;
    distinct(a, b)?;
    let strides = m(&w.m, o[3]);
    p.advance(0, o[4], strides, 8);
    p.advance(1, o[4] >> 2, strides, BYTES);
    w.write_pair(o[0], x);
    w.write_single(o[1], if BYTES == 2 { y | y << 16 } else { y });
    p.pack(&mut w.m, o[2]);
    Ok(())
}

/// The operation of a worker form of the main lane, if it is one of this family.
pub(super) fn access(name: &str) -> Option<AccessFn> {
    macro_rules! loads {
        ($bytes:literal) => {
            match name.split_once('_')?.1 {
                "mman" => load_arithmetic::<$bytes, OFFSET>,
                "mman_zi" => load_arithmetic::<$bytes, OFFSET_IMMEDIATE>,
                "mmbn" => load_arithmetic::<$bytes, STEP>,
                "mmbn_si" => load_arithmetic::<$bytes, STEP_IMMEDIATE>,
                _ => return None,
            }
        };
    }
    macro_rules! stores {
        ($bytes:literal) => {
            match name.split_once('_')? {
                (mnemonic, "mbmn") if mnemonic.ends_with("step") => store_arithmetic::<$bytes, STEP>,
                (_, "mbmn") => store_arithmetic::<$bytes, OFFSET>,
                (mnemonic, "mbmn_si") if mnemonic.ends_with("step") => store_arithmetic::<$bytes, STEP_IMMEDIATE>,
                (_, "mbmn_zi") => store_arithmetic::<$bytes, OFFSET_IMMEDIATE>,
                _ => return None,
            }
        };
    }
    let access: AccessFn = match name.split_once('_')?.0 {
        "ld32" | "ld32step" => loads!(4),
        "ld64" | "ld64step" => loads!(8),
        "ld128" | "ld128step" => loads!(16),
        "ldb16" | "ldb16step" => loads!(2),
        "ldb8" | "ldb8step" => loads!(1),
        "st32" | "st32step" => stores!(4),
        "st64" | "st64step" => stores!(8),
        "ld2x64pace" => load_load,
        "ldst64pace" => load_store,
        "ld2xst64pace" => load_load_store,
        "st64pace" => store_pace,
        "ld64a32pace" => load_mixed::<4>,
        "ld64b16pace" => load_mixed::<2>,
        "tapack" => |w, _, o| {
            let packed = Packed([m(&w.m, o[1]), m(&w.m, o[2]), m(&w.m, o[3]) & PACKED]);
            packed.pack(&mut w.m, o[0]);
            Ok(())
        },
        "atom" => |w, _, o| {
            w.m[(o[0] & 15) as usize] = w.single(o[1]);
            Ok(())
        },
        _ => return None,
    };
    Some(access)
}
