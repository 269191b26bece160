//! All problem codes, with the long texts of `ipuc explain CODE`. A code keeps its meaning for ever.
//!
//! `E0xxx` model, `E1xxx` planning, `E2xxx` memory, `E3xxx` exchange, `E4xxx` kernels and assembly, `E5xxx` package and
//! device, `E6xxx` simulator; `W0xxx` warnings on the model.

use std::fmt;

use super::problem::Level;

/// A code out of [`ALL`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(&'static str);

impl Code {
    /// The code as printed: "E0001".
    pub fn name(self) -> &'static str {
        self.0
    }

    /// Error or warning.
    pub fn level(self) -> Level {
        if self.0.starts_with('W') { Level::Warning } else { Level::Error }
    }

    /// What it means.
    pub fn explanation(self) -> &'static Explanation {
        ALL.iter().find(|explanation| explanation.code == self).expect("every code stands in the table")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// What a code means.
#[derive(Debug)]
pub struct Explanation {
    /// The code.
    pub code: Code,
    /// A title of a few words.
    pub title: &'static str,
    /// The long text.
    pub text: &'static str,
}

/// The explanation of a code as the user types it, in any case.
pub fn explain(name: &str) -> Option<&'static Explanation> {
    ALL.iter().find(|explanation| explanation.code.0.eq_ignore_ascii_case(name))
}

macro_rules! codes {
    ($($constant:ident $name:literal $title:literal: $text:literal)*) => {
        $(#[doc = concat!($name, ": ", $title, ".")]
        pub const $constant: Code = Code($name);)*
        /// Every code in order.
        pub static ALL: &[Explanation] =
            &[$(Explanation { code: $constant, title: $title, text: $text }),*];
    };
}

codes! {
    SYNTAX "E0001" "the model is not JSON":
"model.json is strict JSON (RFC 8259): keys and strings in double quotes, no comments, no trailing commas,
numbers in decimal without leading zeros, at most 64 levels deep.

    { \"name\": \"mlp\", \"ops\": [], }      the comma before `}` is one too many

The parser goes on after an error, so one run shows several. Remarks belong into `description`."

    UNKNOWN_KEY "E0002" "unknown key":
"Every key of the model is checked: a misspelt key would otherwise be a setting that silently does nothing.
`ipuc schema` prints the JSON Schema of the model, with which editors complete keys.

    { \"name\": \"fc1\", \"op\": \"gemm\", \"inputs\": [\"x\", \"w\"], \"preccision\": \"f16\" }"

    UNKNOWN_NAME "E0003" "unknown name":
"An operand, an output or an operator kind bears a name that nothing has. Operands are names of `inputs`, of `weights`,
or of an operator that stands earlier in `ops`: an operator's result bears the operator's name. Outputs name operators.

    \"inputs\":  { \"x\": { \"shape\": [64, 64], \"dtype\": \"f16\" } },
    \"ops\":     [ { \"name\": \"fc1\", \"op\": \"gemm\", \"inputs\": [\"X\", \"w\"] } ]      names are case-sensitive"

    MISMATCH "E0004" "shape or dtype mismatch":
"The operands of an operator do not go together. For gemm the left operand is [.., M, K] with any number of leading axes,
the right one [K, N], the result [.., M, N]; the last extent of the left operand must equal the first extent of the
right one. A weight that is stored as [N, K] must be transposed on disk."

    INVALID_VALUE "E0005" "invalid value":
"A value has the wrong type or lies outside its range: a shape with a zero, a negative or a fractional extent, more tiles
than the chip has, an empty list of outputs, a name with characters that paths and file names can't hold. The message
tells what is accepted. Integers are written without fraction and exponent (`64`, not `64.0`)."

    MISSING_KEY "E0006" "missing key":
"A key that has no default is not there: `name`, `ops` and `outputs` of the model, `shape` and `dtype` of a tensor, `name`,
`op` and `inputs` of an operator, and the data of a weight (`file` or `random`). An input may be without data: it is
given at the run by `--input`, or gets seeded normal data."

    DUPLICATE_NAME "E0007" "duplicate name":
"Inputs, weights and operators share one space of names, since operands are named without saying which of the three is
meant. Also reported for a key that stands twice in one object, and for an output that is listed twice."

    NOT_YET_DEFINED "E0008" "used before it is defined":
"`ops` is in execution order: an operator reads inputs, weights and results of operators before it. Move the operator
down, or its producer up. Operators that need each other's results form a cycle and can't be ordered at all; a loop is
written as a `repeat`."

    TOO_LARGE "E0009" "tensor too large":
"A tensor, padded to whole blocks of 16 x 16 elements, takes more bytes than 32 bits count. The chip has 897 MiB on 1,472 tiles,
so such a tensor fits no plan. Usually an extent is mistyped."

    NOT_SUPPORTED "E0010" "not supported yet":
"The model is well formed but asks for something that this version of the compiler can't do: an operator kind, a dtype, an
attribute. It is refused by name rather than ignored. What is supported: gemm of f16 operands, the right one an input or
a weight of shape [K, N]; data by `random` or from .npy files; profiling \"none\"."

    PINNED_PLAN "E1001" "pinned plan impossible":
"The `plan` of an operator pins choices of the planner, and no plan has them: `grid` [M, N, K] cuts the three extents of a
gemm over M x N x K tiles, which must not be more than `target.tiles`, and no extent can be cut into more parts than
it has blocks; `steps` cuts K into that many passes over the tile's memory. Remove a pin to let the planner choose."

    TILE_MEMORY "E2001" "tile memory exceeded":
"Some tile needs more bytes than `target.tile_memory_bytes` (638,976 on the chip: 624 KiB), or an operator more than its
`budget.tile_bytes`. Everything counts: kernels, tile program, exchange tables, weights, activations, partial sums.
The layout is always completed, on a virtual tile without limit, so the message tells the worst tile, what lies there
and which operator put it there. More tiles, a finer `plan.grid` or more `plan.steps` reduce the bytes a tile."

    EXCHANGE_TABLES "E3001" "exchange tables exceeded":
"Data move between tiles at times that are fixed at compile time; each tile holds the instructions (rows) of its part of every
phase. Their bytes on the worst tile exceed `target.exchange_table_bytes`. Coarser grids, fewer partial sums along K and
layouts that keep data where they are make the tables shorter; so does a larger budget, paid from tensor memory."

    EXECUTABLE_REGION "E3002" "executable region exceeded":
"Instructions can be fetched only below address 0x80000. Runtime, kernels, the tile program and the exchange rows of all phases
of some tile need more than this region has, whatever the limits of the model are."

    ASSEMBLY "E4001" "assembly error":
"A kernel source (or the input of `ipuc asm`) does not assemble: unknown mnemonic, operand out of range, two instructions that
can't share a bundle, a misplaced directive. The place is file:line:column of the assembly text."

    DAMAGED_PACKAGE "E5001" "damaged package":
"A package is not one of ours, is of another version, or its checksums do not match its bytes. Build it again."

    SIMULATOR_FAULT "E6001" "simulator fault":
"The simulated chip stopped: an undefined instruction, a misaligned or out-of-range access, a fetch outside the executable
region, two accesses to one memory element in a cycle, a read of memory that nobody wrote, a receive from a silent tile,
a deadlock or the cycle limit. The message names tile, context, address, symbol and instruction. For a package that this
compiler built from a model this is a bug of the compiler: please report it."

    UNUSED "W0001" "unused":
"A result is neither an operand nor an output, or a tensor is no operand: it costs time or memory and changes nothing.
Remove it, or list the operator in `outputs`."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_and_explained() {
        assert!(ALL.windows(2).all(|pair| pair[0].code < pair[1].code));
        for entry in ALL {
            assert!(entry.text.len() > 80, "{} has a long text", entry.code);
            assert_eq!(explain(&entry.code.name().to_lowercase()).map(|found| found.code), Some(entry.code));
        }
        assert!(explain("E9999").is_none());
        assert_eq!(UNUSED.level(), Level::Warning);
    }
}
