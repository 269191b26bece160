//! An exchange phase before it is scheduled: who must get which words. No addresses, no names.

use ipuc_device::memory::TileId;

use crate::lower::ir::BufferRef;

/// A place in a buffer: bytes from its start, a multiple of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Which buffer.
    pub buffer: BufferRef,
    /// Byte offset.
    pub offset: u32,
}

/// One receiver of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Destination {
    /// Receiving tile, not the sender.
    pub tile: TileId,
    /// Where the words go.
    pub at: Place,
}

/// Consecutive words of one tile that go to one or more other tiles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Sending tile.
    pub source: TileId,
    /// Where the words lie.
    pub at: Place,
    /// 32-bit words; may exceed the longest message, the schedule cuts.
    pub words: u32,
    /// Receivers, sorted by tile, at least one.
    pub destinations: Vec<Destination>,
}

/// One phase. Transfers have no dependencies among each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Problem {
    /// The transfers in canonical order (sorted).
    pub transfers: Vec<Transfer>,
}
