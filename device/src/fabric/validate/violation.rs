//! Broken invariants as they are reported.

use crate::memory::TileId;

/// Which invariant is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ViolationKind {
    /// The phase itself is wrong: a tile twice, a tile that does not exist, two transfers into one word, ...
    Input,
    /// The words are no row.
    Undecodable,
    /// Row or two-word instruction not at a multiple of 8, or row outside executable memory.
    RowPlace,
    /// 64-bit items, formats or paired sources.
    PairedUnsupported,
    /// A control in the first two events of a send.
    ControlAtSendStart,
    /// A `sendpicp` with anything but a pointer and an ordinary source.
    ControlClash,
    /// A source that is neither a tile nor neutral.
    UnknownSource,
    /// The mux selects a source whose bus is silent.
    SilentSource,
    /// The mux is not neutral when the row ends.
    MuxAtEnd,
    /// A word is written while the pointer is undefined.
    UndefinedPointer,
    /// A pointer control at whose event nothing is written.
    PointerEvent,
    /// A word arrives that is not the one asked for.
    WrongWord,
    /// A word asked for does not arrive.
    MissingWord,
    /// Something is written where nothing was asked for.
    UnexpectedWrite,
    /// A word is written twice.
    DoubleWrite,
    /// Sent or received outside the allowed range.
    OutsideAllowed,
    /// A driven word without a receiver.
    UnconsumedWord,
    /// A send drives other directions than its receivers ask for.
    SendControl,
    /// A send stream goes on after silent slots without naming its address.
    BrokenStream,
    /// A tile is its own only receiver.
    Loopback,
    /// The row ends too early after a write or a send.
    RowEnd,
    /// A send and a receive of one tile use one element at the same time.
    ElementConflict,
    /// The row is fetched from an element that it sends from or receives into.
    RowElement,
    /// A word is sent after it was overwritten in this phase.
    StaleRead,
}

/// One broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// Where.
    pub tile: TileId,
    /// When: the first event (or slot) concerned, on the row clock.
    pub event: i64,
    /// What.
    pub kind: ViolationKind,
    /// In words, with addresses and numbers.
    pub message: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tile {} event {}: {:?}: {}", self.tile, self.event, self.kind, self.message)
    }
}

/// Violations of one tile.
pub(super) struct Report {
    pub(super) tile: TileId,
    pub(super) found: Vec<Violation>,
}

impl Report {
    pub(super) fn add(&mut self, kind: ViolationKind, event: impl Into<i64>, message: String) {
        self.found.push(Violation { tile: self.tile, event: event.into(), kind, message });
    }
}
