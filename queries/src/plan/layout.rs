//! Where the bytes of a matrix lie on the chip.
//!
//! All F16 matrices live in *atoms* of 32 bytes (16 elements), the grain of every plan, exchange and storage map. An
//! order numbers the atoms of a matrix of logical shape `[rows, columns]`; a [`Layout`] says which run of atoms lies at
//! which buffer offset of which tile.
//!
//! | order | atom holds | atom number |
//! |---|---|---|
//! | `Left` (AMP left, panels of 16 columns; also what the F16 AMP drains) | row `r`, columns `16p .. 16p+16` | `p * rows + r` |
//! | `Right` (AMP right, blocks of 16 x 16) | column `n`, rows (K) `16q .. 16q+16` | `((n / 16) * ceil(rows / 16) + q) * 16 + n % 16` |
//!
//! (`planning.md` 2.2.) Elements past the logical shape are zero.

use ipuc_device::memory::TileId;

/// Bytes of an atom.
pub const ATOM_BYTES: u32 = 32;
/// Elements of an F16 atom.
pub const ATOM_ELEMENTS: u32 = 16;

/// How the atoms of a matrix are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// AMP left order.
    Left,
    /// AMP right order.
    Right,
}

/// Logical extents of a matrix and the order of its atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AtomSpace {
    /// Order of the atoms.
    pub order: Order,
    /// Logical rows.
    pub rows: u32,
    /// Logical columns.
    pub columns: u32,
}

impl AtomSpace {
    /// Number of atoms, padding included.
    pub fn atoms(self) -> u32 {
        match self.order {
            Order::Left => self.columns.div_ceil(16) * self.rows,
            Order::Right => self.columns.div_ceil(16) * self.rows.div_ceil(16) * 16,
        }
    }
}

/// A buffer of an operator: its index in `OpWork::buffers`, or an operand's buffer (see `lower::ir::BufferRef`).
pub type BufferIndex = u32;

/// Consecutive atoms at consecutive bytes of one buffer on one tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First atom.
    pub first_atom: u32,
    /// Number of atoms.
    pub atoms: u32,
    /// Where.
    pub tile: TileId,
    /// Which buffer of the operator that owns the layout.
    pub buffer: BufferIndex,
    /// Byte offset in the buffer, a multiple of 32.
    pub offset: u32,
}

/// A matrix spread over tiles. Spans are sorted; spans of different tiles may repeat atoms (replicas).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The atoms.
    pub space: AtomSpace,
    /// Where they lie, sorted by (first_atom, tile, offset).
    pub spans: Vec<Span>,
}
