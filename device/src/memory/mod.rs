//! Tile memory of an IPU21: regions, elements and the fixed addresses of this project's runtime.
//!
//! Hardware facts: `exchange.md` 3.8 and `runtime.md` 1.1 (read from a public project that runs on a C600).
//! Addresses are bytes unless a name says words.

/// Tiles of one chip.
pub const TILES: u32 = 1472;
/// First byte of tile memory.
pub const BASE: u32 = 0x4c000;
/// Bytes of tile memory (624 KiB).
pub const SIZE: u32 = 0x9c000;
/// One past the last byte of tile memory.
pub const END: u32 = BASE + SIZE;
/// Instructions can be fetched only below this address; region 1 (interleaved) begins here.
pub const INTERLEAVED_BASE: u32 = 0x80000;
/// The loader cannot fill memory from here up (`runtime.md` 1.1).
pub const LOADABLE_END: u32 = 0xe7bb0;
/// First byte that the loader fills, and where a tile starts.
pub const LOAD_BASE: u32 = 0x4c010;
/// Bytes of an element in region 0.
pub const ELEMENT: u32 = 0x4000;
/// Bytes of an element pair in region 1, the unit of contention of exchange and fetch there.
pub const ELEMENT_PAIR: u32 = 0x8000;
/// The supervisor may fetch this many bytes ahead.
pub const FETCH_AHEAD: u32 = 64;

/// First link region: entry stub, runtime, kernels and tile program, up to the host aperture.
pub const LINK_BASE: u32 = 0x4c018;
/// Host exchange aperture, reserved from the beginning so that host exchange moves no address later.
pub const HOST_APERTURE: u32 = 0x50000;
/// One past the host exchange aperture.
pub const HOST_APERTURE_END: u32 = 0x58000;
/// Completion word: 1 when the program of the tile has ended.
pub const COMPLETION: u32 = 0x58000;
/// Start cycle sample (low word of the tile clock).
pub const CYCLE_START: u32 = 0x58004;
/// End cycle sample.
pub const CYCLE_END: u32 = 0x58008;
/// Scratch area of worker 0; workers follow at `WORKER_SCRATCH` bytes each.
pub const WORKER_BASE: u32 = 0x580e0;
/// Bytes of one worker's scratch area.
pub const WORKER_SCRATCH: u32 = 0x100;
/// The supervisor's own stack grows down from here (its own 0x120 bytes above the workers' areas).
pub const SUPERVISOR_STACK: u32 = 0x58800;
/// One past the runtime state.
pub const RUNTIME_STATE_END: u32 = 0x58800;
/// First address that placement may give away: whole elements, after the element of the runtime state.
pub const PLACEABLE_BASE: u32 = 0x5c000;

/// A logical tile number, 0 .. 1472.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct TileId(pub u16);

impl TileId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for TileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The unit in which exchange and instruction fetch contend: a 16 KiB element in region 0, a 32 KiB pair in region 1
/// (`exchange.md` 3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bank(pub u8);

/// The bank of a byte address.
pub fn bank(address: u32) -> Bank {
    if address < INTERLEAVED_BASE {
        Bank((address / ELEMENT) as u8)
    } else {
        Bank((INTERLEAVED_BASE / ELEMENT + (address - INTERLEAVED_BASE) / ELEMENT_PAIR) as u8)
    }
}

/// Banks touched by `bytes` bytes at `address`, as a bit set (bit = [`Bank`] number, at most 45).
pub fn bank_set(address: u32, bytes: u32) -> u64 {
    if bytes == 0 {
        return 0;
    }
    let first = bank(address).0;
    let last = bank(address + bytes - 1).0;
    (first..=last).fold(0, |set, b| set | 1 << b)
}

/// First address after `address` that lies in another bank.
pub fn bank_end(address: u32) -> u32 {
    if address < INTERLEAVED_BASE {
        (address / ELEMENT + 1) * ELEMENT
    } else {
        INTERLEAVED_BASE + ((address - INTERLEAVED_BASE) / ELEMENT_PAIR + 1) * ELEMENT_PAIR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banks_of_both_regions() {
        assert_eq!(bank(0x4c000), Bank(19));
        assert_eq!(bank(0x7ffff), Bank(31));
        assert_eq!(bank(0x80000), Bank(32));
        assert_eq!(bank(0x87fff), Bank(32));
        assert_eq!(bank(0x88000), Bank(33));
        assert_eq!(bank(END - 1), Bank(44));
        assert_eq!(bank_set(0x7fff0, 0x20), (1 << 31) | (1 << 32));
        assert_eq!(bank_end(0x7fff0), 0x80000);
        assert_eq!(bank_end(0x80000), 0x88000);
    }
}
