//! What a caller puts into the argument registers of each kernel entry.
//!
//! Arguments stand in $m2, $m3, .. in the order of [`Contract::operands`]; $m10 holds the return address, $m11 the
//! supervisor's stack; $m0..$m9 are lost. The header of each source says the same in prose.

/// One argument register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// An address.
    Address {
        /// What lies there, in the words of the source's header.
        role: &'static str,
        /// Required alignment in bytes.
        alignment: u32,
        /// Must lie in interleaved memory (region 1).
        interleaved: bool,
        /// Its contents before the call matter.
        read: bool,
        /// Written by the kernel.
        written: bool,
    },
    /// A number.
    Value {
        /// What it counts.
        role: &'static str,
        /// Least value allowed.
        least: u32,
        /// Greatest value allowed.
        greatest: u32,
        /// The value must be a multiple of this.
        multiple: u32,
    },
}

/// An entry point of a kernel source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    /// Source file.
    pub source: &'static str,
    /// Global symbol.
    pub entry: &'static str,
    /// Arguments, the first in $m2.
    pub operands: &'static [Operand],
    /// Pairs of arguments (by index) that may share no memory bank: the streams of one paced bundle.
    pub apart: &'static [(usize, usize)],
}

/// Rows of a product at most: a sixth of them is found by a 32-bit multiplication.
const MOST_ROWS: u32 = 16_383;
/// Words or chunks at most, for the same reason.
const MOST_WORDS: u32 = 98_298;

const fn address(role: &'static str, alignment: u32, read: bool, written: bool) -> Operand {
    Operand::Address { role, alignment, interleaved: false, read, written }
}

const fn interleaved(role: &'static str, alignment: u32, read: bool, written: bool) -> Operand {
    Operand::Address { role, alignment, interleaved: true, read, written }
}

const fn value(role: &'static str, least: u32, greatest: u32) -> Operand {
    Operand::Value { role, least, greatest, multiple: 1 }
}

const CONTRACTS: [Contract; 6] = [
    Contract {
        source: "copy.S",
        entry: "copy_64",
        operands: &[
            address("destination", 8, false, true),
            address("source", 8, true, false),
            value("words", 1, MOST_WORDS),
        ],
        apart: &[],
    },
    Contract {
        source: "copy.S",
        entry: "copy_64_far",
        operands: &[
            address("destination", 8, false, true),
            address("source", 8, true, false),
            value("words", 1, MOST_WORDS),
        ],
        apart: &[(0, 1)],
    },
    Contract {
        source: "fill.S",
        entry: "fill_64",
        operands: &[address("destination", 8, false, true), value("words", 0, MOST_WORDS)],
        apart: &[],
    },
    Contract {
        source: "gemm_f16.S",
        entry: "gemm_f16_accumulate",
        operands: &[
            interleaved("out", 32, true, true),
            address("left", 32, true, false),
            interleaved("right", 32, true, false),
            value("rows", 1, MOST_ROWS),
            value("K groups", 1, u32::MAX),
            value("column groups", 1, u32::MAX),
        ],
        apart: &[(0, 1)],
    },
    Contract {
        source: "gemm_f16.S",
        entry: "gemm_f16_initialise",
        operands: &[
            interleaved("out", 32, false, true),
            address("left", 32, true, false),
            interleaved("right", 32, true, false),
            value("rows", 1, MOST_ROWS),
            value("K groups", 1, u32::MAX),
            value("column groups", 1, u32::MAX),
        ],
        apart: &[(0, 1)],
    },
    Contract {
        source: "reduce_add_f16.S",
        entry: "reduce_add_f16",
        operands: &[
            address("out", 8, false, true),
            address("own partial", 8, true, false),
            address("received partials", 8, true, false),
            Operand::Value { role: "bytes between received partials", least: 0, greatest: 0xf_ffff, multiple: 8 },
            value("chunks", 0, MOST_WORDS),
            value("received partials", 1, 65_535),
        ],
        apart: &[],
    },
];

/// All contracts, sorted by source and entry.
pub fn contracts() -> &'static [Contract] {
    &CONTRACTS
}

/// The contract of an entry point.
pub fn contract(entry: &str) -> Option<&'static Contract> {
    CONTRACTS.iter().find(|c| c.entry == entry)
}
