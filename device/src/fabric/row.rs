//! What one tile does in one exchange phase, with addresses and times, before it becomes instructions.
//!
//! Times are events of the row clock in the numbering of `exchange.md` 3.1: a message in slots `[S, S + n)` sends word
//! `k` in slot `S + k`; a control at event `t` takes effect between slot `t - 1` and slot `t`.

use super::topology::PhysicalTile;

/// Address fields of rows hold 18 bits of word address.
pub const ADDRESS_LIMIT: u32 = 1 << 20;
/// Value of the source control that selects nobody (`exchange.md` 2.1).
pub const NEUTRAL: u32 = 0x640;
/// Longest message in words (`exchange.md` 3.3). Longer spans are cut by the scheduler.
pub const LONGEST_MESSAGE: u32 = 4148;

/// Consecutive words that the tile sends without a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Send {
    /// Slot of the first word.
    pub slot: u32,
    /// Byte address of the first word, with `OUTGOING_BASE` 0.
    pub address: u32,
    /// Number of 32-bit words, at least 1.
    pub words: u32,
    /// Halves of the bus that are driven: 1, 2, or 3 for both.
    pub control: u8,
}

/// What a control sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The receive pointer: the byte address to which the word written at this event goes, with `INCOMING_BASE` 0.
    Pointer(u32),
    /// The mux selects this sender from this event on.
    Source(PhysicalTile),
    /// The mux selects nobody from this event on.
    Neutral,
}

/// One incoming control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// When, at least 1.
    pub event: u32,
    /// What.
    pub kind: Kind,
}

/// One tile's part of a phase.
///
/// Sends are sorted by slot and disjoint. Controls are sorted by event; at one event stands one control, or a
/// pointer and a source or neutral in either order (`exchange.md` 3.4 (4)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TileRow {
    /// What the tile sends.
    pub sends: Vec<Send>,
    /// How it receives.
    pub controls: Vec<Control>,
    /// Event at which the row returns; no send and no control is later.
    pub end: u32,
}

/// Why a row cannot be encoded. Events and slots are those of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Sends out of order or on top of each other.
    #[error("send at slot {slot} begins before slot {free}, where the send before it ends")]
    SendOverlap {
        /// First slot of the later send.
        slot: u32,
        /// End of the send before it.
        free: u32,
    },
    /// A send without words.
    #[error("send at slot {slot} has no words")]
    EmptySend {
        /// Its slot.
        slot: u32,
    },
    /// A send control that is not 1, 2 or 3.
    #[error("send at slot {slot} has control {control}; 1, 2 and 3 are ordinary sends")]
    SendControl {
        /// Its slot.
        slot: u32,
        /// The control.
        control: u8,
    },
    /// A byte address that is no word address of 18 bits.
    #[error("address {address:#x} at event {event} is not a word address of 18 bits")]
    Address {
        /// Event of the control, or slot of the send.
        event: u32,
        /// The address.
        address: u32,
    },
    /// A source that is no tile.
    #[error("source {source_tile} at event {event} is not a physical tile")]
    NoSuchSource {
        /// Event of the control.
        event: u32,
        /// The physical id.
        source_tile: u16,
    },
    /// A control at event 0, which no instruction can carry.
    #[error("control at event 0")]
    ControlAtZero,
    /// Controls out of order.
    #[error("control at event {event} stands after one at event {before}")]
    ControlOrder {
        /// Event of the later entry.
        event: u32,
        /// Event of the entry before.
        before: u32,
    },
    /// Two pointers, two sources or more than two controls at one event.
    #[error("controls at event {event} cannot share an instruction")]
    ControlClash {
        /// The event.
        event: u32,
    },
    /// A control in the first two events of a send (`exchange.md` 3.5 (2)).
    #[error("control at event {event}, in the first two events of the send at slot {slot}")]
    ControlAtSendStart {
        /// Event of the control.
        event: u32,
        /// Slot of the send.
        slot: u32,
    },
    /// No earlier instruction can be split so that a pair of controls stands at an even word (`exchange.md` 3.5 (3)).
    #[error("pair of controls at event {event} cannot be brought to an even word")]
    PairParity {
        /// Event of the pair.
        event: u32,
    },
    /// The row ends before its last send or control.
    #[error("row ends at {end}, before event {event}")]
    EndsEarly {
        /// End of the row.
        end: u32,
        /// What must still happen.
        event: u32,
    },
    /// Two messages reach one tile at the same time.
    #[error("tile {tile}: message at mux event {event} arrives while another lasts to {free}")]
    ReceiveOverlap {
        /// Receiving logical tile.
        tile: u16,
        /// Mux event of the later message.
        event: u32,
        /// End of the source window before it.
        free: u32,
    },
    /// A message so early that its mux event is before event 1.
    #[error("tile {tile}: mux event {event} is before event 1")]
    MuxTooEarly {
        /// Receiving logical tile.
        tile: u16,
        /// The mux event.
        event: i64,
    },
}
