//! Integer, bit and permute operations on the main registers, common to supervisor and workers (`semantics.md` 4.6, 4.7).

use super::operation::Operands;

/// The main register file.
pub(super) type MainRegisters = [u32; 16];
/// An operation that only touches main registers.
pub(super) type IntegerFn = fn(&mut MainRegisters, &Operands);

#[inline]
fn m(registers: &MainRegisters, operand: i32) -> u32 {
    registers[(operand & 15) as usize]
}

#[inline]
fn set(registers: &mut MainRegisters, o: &Operands, value: u32) {
    registers[(o[0] & 15) as usize] = value;
}

/// Shift amounts above 31 are silent in every source; here the result is what shifting one by one gives.
fn shift_left(a: u32, n: u32) -> u32 {
    a.checked_shl(n).unwrap_or(0)
}
fn shift_right(a: u32, n: u32) -> u32 {
    a.checked_shr(n).unwrap_or(0)
}
fn shift_arithmetic(a: u32, n: u32) -> u32 {
    ((a as i32) >> n.min(31)) as u32
}

/// Bytes of two registers, selected by index 0..3 of the first and 4..7 of the second, least significant first.
pub(super) fn bytes(a: u32, b: u32, order: [u8; 4]) -> u32 {
    let all = u64::from(a) | u64::from(b) << 32;
    let mut result = 0;
    for (i, from) in order.into_iter().enumerate() {
        result |= ((all >> (8 * from)) as u32 & 0xff) << (8 * i);
    }
    result
}

/// The byte orders of the two-source permutes that both register files have, by mnemonic.
pub(super) const fn permute_order(mnemonic: &str) -> Option<[u8; 4]> {
    Some(match mnemonic.as_bytes() {
        b"roll16" => [2, 3, 4, 5],
        b"sort4x16lo" => [0, 1, 4, 5],
        b"sort4x16hi" => [2, 3, 6, 7],
        b"shuf8x8lo" => [0, 4, 1, 5],
        b"shuf8x8hi" => [2, 6, 3, 7],
        b"sort8x8lo" => [0, 2, 4, 6],
        b"sort8x8hi" => [1, 3, 5, 7],
        b"roll8r" => [1, 2, 3, 4],
        b"roll8l" => [3, 4, 5, 6],
        b"sort8" => [0, 2, 1, 3],
        b"swap8" => [1, 0, 3, 2],
        _ => return None,
    })
}

macro_rules! two {
    (|$a:ident, $b:ident| $value:expr) => {
        Some(|r: &mut MainRegisters, o: &Operands| {
            let ($a, $b) = (m(r, o[1]), m(r, o[2]));
            set(r, o, $value);
        })
    };
}
macro_rules! immediate {
    (|$a:ident, $b:ident| $value:expr) => {
        Some(|r: &mut MainRegisters, o: &Operands| {
            let ($a, $b) = (m(r, o[1]), o[2] as u32);
            set(r, o, $value);
        })
    };
}
macro_rules! one {
    (|$a:ident| $value:expr) => {
        Some(|r: &mut MainRegisters, o: &Operands| {
            let $a = m(r, o[1]);
            set(r, o, $value);
        })
    };
}
macro_rules! permute {
    ($mnemonic:literal) => {
        Some(|r: &mut MainRegisters, o: &Operands| {
            const ORDER: [u8; 4] = match permute_order($mnemonic) {
                Some(order) => order,
                None => panic!("no such permute"),
            };
            // The one-source permutes never look at the second source.
            set(r, o, bytes(m(r, o[1]), m(r, o[2]), ORDER));
        })
    };
}

/// The operation of a form, if it is one of this family.
pub(super) fn integer(name: &str) -> Option<IntegerFn> {
    match name {
        "setzi_mmmn_zi" => Some(|r, o| set(r, o, o[1] as u32)),
        "abs_mmmn" => one!(|a| (a as i32).wrapping_abs() as u32),
        "bitrev8_mmmn" => one!(|a| a.reverse_bits().swap_bytes()),
        "clz_mmmn" => one!(|a| a.leading_zeros()),
        "cms_mmmn" => one!(|a| if a >> 31 == 0 { a.leading_zeros() - 1 } else { a.leading_ones() - 1 }),
        "popc_mmmn" => one!(|a| a.count_ones()),
        "add_mmmn" => two!(|a, b| a.wrapping_add(b)),
        "add_mmmn_si" | "add_mmmn_zi" => immediate!(|a, b| a.wrapping_add(b)),
        "sub_mmmn" => two!(|a, b| a.wrapping_sub(b)),
        // The immediate is the first source: constant minus register.
        "sub_mmmn_si" | "sub_mmmn_zi" => Some(|r, o| set(r, o, (o[1] as u32).wrapping_sub(m(r, o[2])))),
        "mul_mmmn" => two!(|a, b| a.wrapping_mul(b)),
        "mul_mmmn_si" => immediate!(|a, b| a.wrapping_mul(b)),
        "and_mmmn" => two!(|a, b| a & b),
        "and_mmmn_zi" => immediate!(|a, b| a & b),
        "andc_mmmn" => two!(|a, b| a & !b),
        "andc_mmmn_zi" => immediate!(|a, b| a & !b),
        "or_mmmn" => two!(|a, b| a | b),
        "or_mmmn_zi" | "or_mmmn_iz" => immediate!(|a, b| a | b),
        "xor_mmmn" => two!(|a, b| a ^ b),
        "xnor_mmmn" => two!(|a, b| !(a ^ b)),
        "shl_mmmn" => two!(|a, b| shift_left(a, b)),
        "shl_mmmn_zi" => immediate!(|a, b| shift_left(a, b)),
        "shr_mmmn" => two!(|a, b| shift_right(a, b)),
        "shr_mmmn_zi" => immediate!(|a, b| shift_right(a, b)),
        "shrs_mmmn" => two!(|a, b| shift_arithmetic(a, b)),
        "shrs_mmmn_zi" => immediate!(|a, b| shift_arithmetic(a, b)),
        "cmpeq_mmmn" => two!(|a, b| u32::from(a == b)),
        "cmpeq_mmmn_si" | "cmpeq_mmmn_zi" => immediate!(|a, b| u32::from(a == b)),
        "cmpne_mmmn" => two!(|a, b| u32::from(a != b)),
        "cmpslt_mmmn" => two!(|a, b| u32::from((a as i32) < b as i32)),
        "cmpslt_mmmn_si" => immediate!(|a, b| u32::from((a as i32) < b as i32)),
        "cmpult_mmmn" => two!(|a, b| u32::from(a < b)),
        "cmpult_mmmn_zi" => immediate!(|a, b| u32::from(a < b)),
        "max_mmmn" => two!(|a, b| (a as i32).max(b as i32) as u32),
        "max_mmmn_si" | "max_mmmn_zi" => immediate!(|a, b| (a as i32).max(b as i32) as u32),
        "min_mmmn" => two!(|a, b| (a as i32).min(b as i32) as u32),
        "min_mmmn_si" | "min_mmmn_zi" => immediate!(|a, b| (a as i32).min(b as i32) as u32),
        "movz_mmmn" => Some(|r, o| {
            if m(r, o[1]) == 0 {
                set(r, o, m(r, o[2]));
            }
        }),
        "roll16_mmmn" => permute!("roll16"),
        "roll8l_mmmn" => permute!("roll8l"),
        "roll8r_mmmn" => permute!("roll8r"),
        "shuf8x8hi_mmmn" => permute!("shuf8x8hi"),
        "shuf8x8lo_mmmn" => permute!("shuf8x8lo"),
        "sort4x16hi_mmmn" => permute!("sort4x16hi"),
        "sort4x16lo_mmmn" => permute!("sort4x16lo"),
        "sort8x8hi_mmmn" => permute!("sort8x8hi"),
        "sort8x8lo_mmmn" => permute!("sort8x8lo"),
        "sort8_mmmn" => permute!("sort8"),
        "swap8_mmmn" => permute!("swap8"),
        _ => None,
    }
}
