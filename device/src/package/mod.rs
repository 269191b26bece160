//! `.ipuexe`: everything that a run needs, in one file.
//!
//! In: a [`Package`], made by the compiler. Out: bytes, and the same [`Package`] again.
//!
//! ```text
//! offset  bytes  content
//!  0       8     magic "IPUEXE\r\n" (a transfer that rewrites line ends shows)
//!  8       4     format version, little-endian
//! 12      32     blake3 digest of everything after it
//! 44       8     bytes of the manifest, little-endian
//! 52       n     manifest: MessagePack, records as maps with their field names
//! 52+n     ..    segment blobs, one after another, in the order of the manifest's segment table
//! ```
//!
//! Properties:
//! 1. Equal packages give equal bytes: segments are numbered by first use (tiles in order, addresses in order), runs of
//!    equal tiles are maximal, nothing is hashed into an order and no time is stored.
//! 2. A blob is stored once, whoever uses it.
//! 3. `from_bytes(to_bytes(p)) == p` for every package that [`Package::verify`] accepts; what it refuses is neither
//!    written nor read.
//! 4. Every change of a single bit of the file is refused: the digest covers all that follows it, and the magic, version
//!    and digest are themselves compared.
//! 5. Reading needs memory in proportion to the file: every length is compared with what is left before it is used.
//! 6. A file appears whole or not at all (temporary file beside it, then rename).
//!
//! Tensor data is not in a package. The graph says where it comes from, the bindings say where it goes.
//! Records and invariants: `runtime.md` 7.1 to 7.3.

mod container;
mod graph;
mod manifest;
mod storage;
mod verify;

pub use container::{FORMAT, MAGIC, PackageError, write_whole};
pub use graph::{Data, Distribution, Dtype, Graph, Operation, OperationKind, Tensor};
pub use manifest::{DebugRegion, Manifest, OperatorRecord, PhaseRecord, Symbol, Target, Totals};
pub use storage::{ATOM_BYTES, Binding, Order, Role, Span, StorageError, Write};

use std::sync::Arc;

use crate::memory::TileId;

/// Bytes at an address of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSegment {
    /// First byte address.
    pub address: u32,
    /// The bytes; tiles with equal bytes should share them.
    pub bytes: Arc<[u8]>,
}

/// What the loader writes on one tile before tensor data; segments by ascending address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileImage {
    /// The segments.
    pub segments: Vec<ImageSegment>,
}

/// A compiled program.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// What is known about the program.
    pub manifest: Manifest,
    /// One image for every tile of the chip, by logical tile number; equal ones should be shared.
    pub tiles: Vec<Arc<TileImage>>,
}

impl Package {
    /// The bindings of a tensor: one, or several for a weight that operators hold in different ways.
    pub fn bindings(&self, name: &str) -> impl Iterator<Item = &Binding> {
        self.manifest.bindings.iter().filter(move |binding| binding.name == name)
    }

    /// Reads `bytes` of the loaded image; `None` where no segment holds all of them.
    pub fn image(&self, tile: TileId, address: u32, bytes: u32) -> Option<&[u8]> {
        let segments = &self.tiles.get(tile.index())?.segments;
        segments.iter().find_map(|segment| {
            let start = address.checked_sub(segment.address)? as usize;
            segment.bytes.get(start..start.checked_add(bytes as usize)?)
        })
    }

    /// Overwrites bytes of one tile's image and leaves those of all others alone; for experiments with damaged programs.
    /// The digest is that of the new content once the package is written.
    pub fn patch(&mut self, tile: TileId, address: u32, bytes: &[u8]) -> Result<(), PackageError> {
        let outside = || PackageError::Invalid(format!("patch of tile {tile} at {address:#x} lies in no segment"));
        let image = self.tiles.get_mut(tile.index()).ok_or_else(outside)?;
        for segment in &mut Arc::make_mut(image).segments {
            let Some(start) = address.checked_sub(segment.address).map(|offset| offset as usize) else { continue };
            if start + bytes.len() <= segment.bytes.len() {
                let mut changed = segment.bytes.to_vec();
                changed[start..start + bytes.len()].copy_from_slice(bytes);
                segment.bytes = changed.into();
                return Ok(());
            }
        }
        Err(outside())
    }
}
