//! One tile's part of a phase with every address filled in: what the row encoder takes.

use super::topology::PhysicalTile;

/// A message: consecutive words in consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Send {
    /// Slot of the first word on the row clock.
    pub slot: u32,
    /// Byte address of the first word.
    pub address: u32,
    /// 32-bit words.
    pub words: u32,
    /// Send control: bit 0 and bit 1 drive direction 1 and 2.
    pub control: u8,
}

/// What a control sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControlKind {
    /// The mux selects a tile.
    Source(PhysicalTile),
    /// The mux selects nobody.
    Neutral,
    /// The receive pointer, a byte address.
    Pointer(u32),
}

/// A change of the receive side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Control {
    /// Event on the row clock (`exchange.md` 3.1): takes effect between slot `event - 1` and slot `event`.
    pub event: u32,
    /// What it sets.
    pub kind: ControlKind,
}

/// One tile's part of a phase; both lists sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TileRow {
    /// Messages.
    pub sends: Vec<Send>,
    /// Receive controls.
    pub controls: Vec<Control>,
    /// Event at which the row ends.
    pub end: u32,
}
