//! The storage map: which bytes of which tiles hold a tensor, and the way between them and row-major elements.
//!
//! In: the shape of a matrix, the order of its atoms, and spans of atoms. Out: bytes to write, elements read.
//!
//! A tensor `[.., R, C]` is the matrix of its last axis and everything before it. An atom is 32 bytes: 16 F16 elements.
//!
//! | order | atom holds | atom number |
//! |---|---|---|
//! | left | row `r`, columns `16 p .. 16 p + 16` | `p * rows + r` |
//! | right | column `n`, rows `16 q .. 16 q + 16` | `((n / 16) * ceil(rows / 16) + q) * 16 + n % 16` |
//!
//! (`planning.md` 2.2.) Properties:
//! 1. Elements past the shape are written as zero and never read.
//! 2. An input or output has every atom in exactly one span; a weight has every atom in at least one, and in one tile no
//!    atom twice.
//! 3. Spans are aligned to 8 bytes and lie inside tile memory; those that the loader writes lie where it can write.

use std::fmt;

use half::f16;
use serde::{Deserialize, Serialize};

use super::graph::Dtype;
use crate::memory::{END, LOAD_BASE, LOADABLE_END, TILES, TileId};

/// Bytes of an atom.
pub const ATOM_BYTES: u32 = 32;
const ATOM_ELEMENTS: u64 = 16;

/// Who gives or takes a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Given with each call; every byte is written to one tile.
    Input,
    /// Resident; may be written to several tiles.
    Weight,
    /// Read after the run.
    Output,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "input",
            Self::Weight => "weight",
            Self::Output => "output",
        })
    }
}

/// How the atoms of a matrix are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// AMP left order.
    Left,
    /// AMP right order.
    Right,
}

/// Consecutive atoms at consecutive addresses of a tile. Stored as a sequence of four numbers: there are many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "(u16, u32, u32, u32)", into = "(u16, u32, u32, u32)")]
pub struct Span {
    /// On which tile.
    pub tile: TileId,
    /// First byte address.
    pub address: u32,
    /// First atom.
    pub first_atom: u32,
    /// Number of atoms.
    pub atoms: u32,
}

impl Span {
    /// One past the last byte.
    pub fn end(&self) -> u64 {
        u64::from(self.address) + u64::from(self.atoms) * u64::from(ATOM_BYTES)
    }
}

impl From<(u16, u32, u32, u32)> for Span {
    fn from((tile, address, first_atom, atoms): (u16, u32, u32, u32)) -> Self {
        Self { tile: TileId(tile), address, first_atom, atoms }
    }
}

impl From<Span> for (u16, u32, u32, u32) {
    fn from(span: Span) -> Self {
        (span.tile.0, span.address, span.first_atom, span.atoms)
    }
}

/// Where one tensor lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Name of the tensor.
    pub name: String,
    /// Who gives or takes it.
    pub role: Role,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: Dtype,
    /// Order of the atoms.
    pub order: Order,
    /// Rows of the matrix: the product of all extents but the last.
    pub rows: u32,
    /// Columns of the matrix: the last extent.
    pub columns: u32,
    /// Where the atoms lie.
    pub spans: Vec<Span>,
}

/// Bytes that the loader writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// On which tile.
    pub tile: TileId,
    /// From which address.
    pub address: u32,
    /// What.
    pub bytes: Vec<u8>,
}

/// What is wrong with a binding, or with data given for it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StorageError {
    /// The type has no atoms yet.
    #[error("binding {name}: storage of {dtype} tensors is not supported yet")]
    Dtype {
        /// The tensor.
        name: String,
        /// Its type.
        dtype: Dtype,
    },
    /// Shape and matrix extents disagree.
    #[error("binding {name}: shape {shape:?} is not a matrix of {rows} rows and {columns} columns")]
    Shape {
        /// The tensor.
        name: String,
        /// Extents.
        shape: Vec<u64>,
        /// Rows as stated.
        rows: u32,
        /// Columns as stated.
        columns: u32,
    },
    /// A span is misplaced.
    #[error("binding {name}: tile {tile}, address {address:#x}, atoms {first_atom} + {atoms}: {reason}")]
    Span {
        /// The tensor.
        name: String,
        /// The span's tile.
        tile: TileId,
        /// Its address.
        address: u32,
        /// Its first atom.
        first_atom: u32,
        /// Its atoms.
        atoms: u32,
        /// Why.
        reason: String,
    },
    /// Some atom lies nowhere.
    #[error("binding {name}: atom {atom} lies on no tile")]
    Missing {
        /// The tensor.
        name: String,
        /// The first such atom.
        atom: u64,
    },
    /// The data has another size.
    #[error("tensor {name}: {found} elements given, shape {shape:?} has {expected}")]
    Elements {
        /// The tensor.
        name: String,
        /// Its extents.
        shape: Vec<u64>,
        /// Elements of the shape.
        expected: u64,
        /// Elements given.
        found: u64,
    },
}

impl Binding {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.columns)
    }

    /// Number of atoms, padding included.
    pub fn atoms(&self) -> u64 {
        let panels = u64::from(self.columns).div_ceil(ATOM_ELEMENTS);
        match self.order {
            Order::Left => panels * u64::from(self.rows),
            Order::Right => panels * u64::from(self.rows).div_ceil(ATOM_ELEMENTS) * ATOM_ELEMENTS,
        }
    }

    /// First element of an atom as (row, column), and whether its elements follow each other down the column.
    fn corner(&self, atom: u64) -> (u64, u64, bool) {
        match self.order {
            Order::Left => {
                let rows = u64::from(self.rows);
                (atom % rows, atom / rows * ATOM_ELEMENTS, false)
            }
            Order::Right => {
                let blocks = u64::from(self.rows).div_ceil(ATOM_ELEMENTS);
                let (block, within) = (atom / ATOM_ELEMENTS, atom % ATOM_ELEMENTS);
                (block % blocks * ATOM_ELEMENTS, block / blocks * ATOM_ELEMENTS + within, true)
            }
        }
    }

    /// Row-major element numbers of an atom in storage order; `None` is padding.
    fn atom_elements(&self, atom: u64) -> impl Iterator<Item = Option<usize>> + use<> {
        let (row, column, down) = self.corner(atom);
        let (rows, columns) = (u64::from(self.rows), u64::from(self.columns));
        (0..ATOM_ELEMENTS).map(move |i| {
            let (r, c) = if down { (row + i, column) } else { (row, column + i) };
            (r < rows && c < columns).then_some((r * columns + c) as usize)
        })
    }

    /// Properties 2 and 3, and that type and extents are usable.
    pub fn check(&self) -> Result<(), StorageError> {
        let name = || self.name.clone();
        if self.dtype != Dtype::F16 {
            return Err(StorageError::Dtype { name: name(), dtype: self.dtype });
        }
        let shape_matches = match self.shape.split_last() {
            None => false,
            Some((&last, outer)) => {
                let rows = outer.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent));
                last == u64::from(self.columns) && rows == Some(u64::from(self.rows)) && self.elements() > 0
            }
        };
        if !shape_matches {
            let (shape, rows, columns) = (self.shape.clone(), self.rows, self.columns);
            return Err(StorageError::Shape { name: name(), shape, rows, columns });
        }
        let refuse = |span: &Span, reason: String| {
            let &Span { tile, address, first_atom, atoms } = span;
            Err(StorageError::Span { name: name(), tile, address, first_atom, atoms, reason })
        };
        let (low, high) = match self.role {
            Role::Output => (LOAD_BASE, END),
            Role::Input | Role::Weight => (LOAD_BASE, LOADABLE_END),
        };
        for span in &self.spans {
            if u32::from(span.tile.0) >= TILES {
                return refuse(span, format!("the chip has {TILES} tiles"));
            }
            if span.atoms == 0 || u64::from(span.first_atom) + u64::from(span.atoms) > self.atoms() {
                return refuse(span, format!("the tensor has {} atoms", self.atoms()));
            }
            if span.address < low || span.end() > u64::from(high) {
                return refuse(span, format!("outside {low:#x}..{high:#x}"));
            }
            if span.address % 8 != 0 {
                return refuse(span, "not a multiple of 8".into());
            }
        }
        let mut by_atom: Vec<&Span> = self.spans.iter().collect();
        by_atom.sort_unstable_by_key(|span| (span.first_atom, span.tile, span.address));
        let mut covered = 0;
        for span in &by_atom {
            let first = u64::from(span.first_atom);
            if first > covered {
                break;
            }
            if self.role != Role::Weight && first < covered {
                return refuse(span, format!("atom {first} lies on two places"));
            }
            covered = covered.max(first + u64::from(span.atoms));
        }
        if covered < self.atoms() {
            return Err(StorageError::Missing { name: name(), atom: covered });
        }
        // Within a tile no atom twice, which only a weight could still break.
        by_atom.sort_unstable_by_key(|span| (span.tile, span.first_atom));
        for pair in by_atom.windows(2) {
            if pair[0].tile == pair[1].tile && pair[1].first_atom < pair[0].first_atom + pair[0].atoms {
                return refuse(pair[1], format!("atom {} lies twice on this tile", pair[1].first_atom));
            }
        }
        Ok(())
    }

    /// The writes that put a row-major tensor in its place, one a span.
    pub fn scatter(&self, values: &[f16]) -> Result<Vec<Write>, StorageError> {
        self.check()?;
        self.check_elements(values.len())?;
        let write = |span: &Span| {
            let mut bytes = Vec::with_capacity((span.atoms * ATOM_BYTES) as usize);
            for atom in u64::from(span.first_atom)..u64::from(span.first_atom) + u64::from(span.atoms) {
                for element in self.atom_elements(atom) {
                    bytes.extend_from_slice(&element.map_or(f16::ZERO, |index| values[index]).to_le_bytes());
                }
            }
            Write { tile: span.tile, address: span.address, bytes }
        };
        Ok(self.spans.iter().map(write).collect())
    }

    /// The row-major tensor; `read` fills a buffer from a tile's memory.
    pub fn gather<E: From<StorageError>>(
        &self,
        mut read: impl FnMut(TileId, u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<Vec<f16>, E> {
        self.check()?;
        let mut values = vec![f16::ZERO; self.elements() as usize];
        let mut bytes = Vec::new();
        for span in &self.spans {
            bytes.resize((span.atoms * ATOM_BYTES) as usize, 0);
            read(span.tile, span.address, &mut bytes)?;
            let mut stored = bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]));
            for atom in u64::from(span.first_atom)..u64::from(span.first_atom) + u64::from(span.atoms) {
                for element in self.atom_elements(atom) {
                    let value = stored.next().expect("16 elements an atom");
                    if let Some(index) = element {
                        values[index] = value;
                    }
                }
            }
        }
        Ok(values)
    }

    fn check_elements(&self, found: usize) -> Result<(), StorageError> {
        let (expected, found) = (self.elements(), found as u64);
        if expected == found {
            return Ok(());
        }
        Err(StorageError::Elements { name: self.name.clone(), shape: self.shape.clone(), expected, found })
    }
}

#[cfg(test)]
mod tests;
