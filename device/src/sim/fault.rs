//! What stops a run: one fault, of a named kind, at a named place.
//!
//! A fault found while an instruction executes starts as a [`Trouble`] (kind and message); the tile that executes adds
//! context, clock, address and text. Of the faults that one stage of an epoch finds (tiles by themselves; rows; arrivals) the
//! machine reports that of the lowest clock, then of the lowest tile, so the report is the same for any number of threads.

use std::fmt;

use crate::memory::TileId;

/// The code of every simulator fault.
pub const FAULT_CODE: &str = "E6001";

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// A word that no instruction form of the context matches.
    UndefinedInstruction,
    /// A form or an operand value that this simulator does not model; the message names it.
    Refused,
    /// An address that is no multiple of the access size, or a misplaced instruction.
    Misaligned,
    /// A data address outside tile memory.
    InvalidAddress,
    /// A 128-bit access outside interleaved memory.
    NotInterleaved,
    /// Instruction fetch outside the executable region.
    InvalidPc,
    /// Two accesses of one instruction, or of exchange and fetch in one clock, to one memory element.
    Conflict,
    /// A read of memory that nobody wrote.
    Unwritten,
    /// A combination of operands or instructions that the hardware forbids.
    InvalidOperand,
    /// A control register that does not exist, or not for this access.
    InvalidRegister,
    /// An operation that needs idle workers while one runs.
    WorkerActive,
    /// A floating point exception that the context enabled.
    FloatingPoint,
    /// A `trap` instruction.
    Trap,
    /// A barrier instruction in a state that forbids it.
    Sync,
    /// A multiplexer selects a tile that sends nothing at that clock.
    SilentSource,
    /// A word arrives where it cannot be stored: no pointer, outside memory.
    Receive,
    /// A word arrives when the tile has left its row.
    LateArrival,
    /// An exchange instruction outside a row that follows a barrier.
    OutsideRow,
    /// A barrier that can never release.
    Deadlock,
    /// The run reached its cycle limit.
    CycleLimit,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UndefinedInstruction => "undefined instruction",
            Self::Refused => "refused instruction",
            Self::Misaligned => "misaligned access",
            Self::InvalidAddress => "invalid address",
            Self::NotInterleaved => "128-bit access outside interleaved memory",
            Self::InvalidPc => "fetch outside the executable region",
            Self::Conflict => "memory element conflict",
            Self::Unwritten => "read of unwritten memory",
            Self::InvalidOperand => "invalid operand",
            Self::InvalidRegister => "invalid control register",
            Self::WorkerActive => "worker active",
            Self::FloatingPoint => "floating point exception",
            Self::Trap => "trap",
            Self::Sync => "invalid sync",
            Self::SilentSource => "silent source",
            Self::Receive => "receive error",
            Self::LateArrival => "late arrival",
            Self::OutsideRow => "exchange outside a row",
            Self::Deadlock => "deadlock",
            Self::CycleLimit => "cycle limit",
        })
    }
}

/// Who executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContextId {
    /// The supervisor.
    Supervisor,
    /// Worker 0 .. 5.
    Worker(u8),
    /// The exchange engine of the tile, which runs beside its contexts.
    Exchange,
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Supervisor => f.write_str("supervisor"),
            Self::Worker(i) => write!(f, "worker {i}"),
            Self::Exchange => f.write_str("exchange"),
        }
    }
}

/// A stopped run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Always [`FAULT_CODE`].
    pub code: &'static str,
    /// Where.
    pub tile: TileId,
    /// Who.
    pub context: ContextId,
    /// Tile clock.
    pub clock: u64,
    /// Address of the instruction, or of the data for faults of the exchange engine.
    pub address: u32,
    /// Nearest symbol at or below the address, with the offset: `gemm_f16+0x20`.
    pub symbol: Option<String>,
    /// Text of the instruction at the address, where there is one.
    pub instruction: Option<String>,
    /// What.
    pub kind: FaultKind,
    /// The particulars.
    pub message: String,
}

impl Fault {
    /// The order in which faults are reported.
    pub(super) fn order(&self) -> (u64, TileId, ContextId) {
        (self.clock, self.tile, self.context)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: tile {} {} clock {} at {:#x}", self.code, self.tile, self.context, self.clock, self.address)?;
        if let Some(symbol) = &self.symbol {
            write!(f, " ({symbol})")?;
        }
        if let Some(text) = &self.instruction {
            write!(f, " `{text}`")?;
        }
        write!(f, ": {}: {}", self.kind, self.message)
    }
}

impl std::error::Error for Fault {}

/// A fault without its place.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) kind: FaultKind,
    pub(super) message: String,
}

/// Result of a step of execution. Boxed, so that the good case stays in registers.
pub(super) type Outcome<T = ()> = Result<T, Box<Trouble>>;

/// A trouble as an error value.
#[cold]
pub(super) fn trouble<T>(kind: FaultKind, message: impl Into<String>) -> Outcome<T> {
    Err(Box::new(Trouble { kind, message: message.into() }))
}
