//! Bytes of a package, and the way back. Keeps properties 1 to 6 of the parent module.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{ImageSegment, Manifest, Package, TileImage};
use crate::memory::{LOAD_BASE, LOADABLE_END, TILES};

/// First bytes of every package.
pub const MAGIC: [u8; 8] = *b"IPUEXE\r\n";
/// The format that this version writes and reads.
pub const FORMAT: u32 = 1;

const DIGEST_AT: usize = 12;
const BODY_AT: usize = 44;
const MANIFEST_AT: usize = 52;
/// Above this size a file is refused unread: every tile full, twice over.
const LARGEST_FILE: u64 = 2 * TILES as u64 * (LOADABLE_END - LOAD_BASE) as u64;

/// Why a package can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// The file system said no.
    #[error("cannot access {}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// Another kind of file.
    #[error("not an ipuc package: it does not begin with the package magic")]
    Foreign,
    /// Another format version.
    #[error("package format {found}; this version of ipuc reads format {FORMAT}: build the package again")]
    Version {
        /// Of the file.
        found: u32,
    },
    /// It ends too early, or is too large.
    #[error("damaged package: {0}")]
    Length(String),
    /// The digest differs.
    #[error("damaged package: checksum {found} instead of {expected}")]
    Checksum {
        /// As stored, hexadecimal.
        expected: String,
        /// As computed, hexadecimal.
        found: String,
    },
    /// The manifest is no manifest.
    #[error("damaged package: manifest: {0}")]
    Manifest(String),
    /// The content breaks an invariant.
    #[error("invalid package: {0}")]
    Invalid(String),
}

impl PackageError {
    /// The diagnostic code; a file that could not be read at all has none.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Io { .. } => None,
            _ => Some("E5001"),
        }
    }
}

/// The manifest as stored: with the tables that rebuild the images.
#[derive(Serialize, Deserialize)]
struct Stored<M> {
    manifest: M,
    segments: Vec<SegmentRow>,
    tile_images: Vec<TileRun>,
}

/// One blob: its size and digest.
#[derive(Serialize, Deserialize)]
struct SegmentRow {
    bytes: u32,
    digest: String,
}

/// Consecutive tiles with equal images.
#[derive(PartialEq, Serialize, Deserialize)]
struct TileRun {
    tiles: u32,
    /// Address and index in the segment table.
    segments: Vec<(u32, u32)>,
}

/// Blobs in the order of their first use.
#[derive(Default)]
struct Blobs {
    rows: Vec<SegmentRow>,
    contents: Vec<Arc<[u8]>>,
    by_digest: HashMap<blake3::Hash, u32>,
    /// Saves hashing the same allocation for every tile; all allocations live as long as the package borrowed here.
    by_pointer: FxHashMap<(*const u8, usize), u32>,
}

impl Blobs {
    fn index(&mut self, bytes: &Arc<[u8]>) -> u32 {
        let pointer = (bytes.as_ptr(), bytes.len());
        if let Some(&index) = self.by_pointer.get(&pointer) {
            return index;
        }
        let digest = blake3::hash(bytes);
        let next = self.rows.len() as u32;
        let index = *self.by_digest.entry(digest).or_insert(next);
        if index == next {
            self.rows.push(SegmentRow { bytes: bytes.len() as u32, digest: digest.to_hex().to_string() });
            self.contents.push(bytes.clone());
        }
        self.by_pointer.insert(pointer, index);
        index
    }
}

impl Package {
    /// The file content. Refuses what [`Package::verify`] refuses.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PackageError> {
        self.verify()?;
        let mut blobs = Blobs::default();
        let mut tile_images: Vec<TileRun> = Vec::new();
        for tile in &self.tiles {
            let segments = tile.segments.iter().map(|s| (s.address, blobs.index(&s.bytes))).collect();
            match tile_images.last_mut() {
                Some(run) if run.segments == segments => run.tiles += 1,
                _ => tile_images.push(TileRun { tiles: 1, segments }),
            }
        }
        let stored = Stored { manifest: &self.manifest, segments: blobs.rows, tile_images };
        let manifest = rmp_serde::to_vec_named(&stored).map_err(|e| PackageError::Manifest(e.to_string()))?;
        let blob_bytes: usize = blobs.contents.iter().map(|blob| blob.len()).sum();
        let mut file = Vec::with_capacity(MANIFEST_AT + manifest.len() + blob_bytes);
        file.extend_from_slice(&MAGIC);
        file.extend_from_slice(&FORMAT.to_le_bytes());
        file.extend_from_slice(&[0; 32]);
        file.extend_from_slice(&(manifest.len() as u64).to_le_bytes());
        file.extend_from_slice(&manifest);
        for blob in &blobs.contents {
            file.extend_from_slice(blob);
        }
        let digest = blake3::hash(&file[BODY_AT..]);
        file[DIGEST_AT..BODY_AT].copy_from_slice(digest.as_bytes());
        Ok(file)
    }

    /// The package of a file's content.
    pub fn from_bytes(file: &[u8]) -> Result<Self, PackageError> {
        if !file.starts_with(&MAGIC) {
            return Err(PackageError::Foreign);
        }
        if file.len() < MANIFEST_AT {
            return Err(PackageError::Length(format!("{} bytes, less than the header", file.len())));
        }
        let version = u32::from_le_bytes(file[8..12].try_into().expect("four bytes"));
        if version != FORMAT {
            return Err(PackageError::Version { found: version });
        }
        let found = blake3::hash(&file[BODY_AT..]);
        if found.as_bytes() != &file[DIGEST_AT..BODY_AT] {
            let expected: [u8; 32] = file[DIGEST_AT..BODY_AT].try_into().expect("32 bytes");
            return Err(PackageError::Checksum {
                expected: blake3::Hash::from(expected).to_hex().to_string(),
                found: found.to_hex().to_string(),
            });
        }
        let manifest_bytes = u64::from_le_bytes(file[BODY_AT..MANIFEST_AT].try_into().expect("eight bytes"));
        let rest = &file[MANIFEST_AT..];
        if manifest_bytes > rest.len() as u64 {
            return Err(PackageError::Length(format!(
                "manifest of {manifest_bytes} bytes, {} are left in the file",
                rest.len()
            )));
        }
        let (manifest, blobs) = rest.split_at(manifest_bytes as usize);
        let mut reader = std::io::Cursor::new(manifest);
        let stored: Stored<Manifest> =
            rmp_serde::from_read(&mut reader).map_err(|e| PackageError::Manifest(e.to_string()))?;
        if reader.position() != manifest_bytes {
            return Err(PackageError::Manifest(format!("ends {} bytes early", manifest_bytes - reader.position())));
        }
        let segments = split_blobs(&stored.segments, blobs)?;
        let package = Self { manifest: stored.manifest, tiles: expand(&stored.tile_images, &segments)? };
        package.verify()?;
        Ok(package)
    }

    /// Writes the file, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), PackageError> {
        write_whole(path, &self.to_bytes()?)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, PackageError> {
        let io = |source| PackageError::Io { path: path.to_owned(), source };
        let size = std::fs::metadata(path).map_err(io)?.len();
        if size > LARGEST_FILE {
            return Err(PackageError::Length(format!("{size} bytes, more than every tile's memory twice over")));
        }
        Self::from_bytes(&std::fs::read(path).map_err(io)?)
    }
}

/// Cuts the blobs apart and compares each with its digest.
fn split_blobs(rows: &[SegmentRow], blobs: &[u8]) -> Result<Vec<Arc<[u8]>>, PackageError> {
    let declared: u64 = rows.iter().map(|row| u64::from(row.bytes)).sum();
    if declared != blobs.len() as u64 {
        return Err(PackageError::Length(format!("segments of {declared} bytes, {} are in the file", blobs.len())));
    }
    let mut left = blobs;
    let mut segments = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let (blob, after) = left.split_at(row.bytes as usize);
        let digest = blake3::hash(blob).to_hex();
        if digest.as_str() != row.digest {
            return Err(PackageError::Invalid(format!("segment {index} does not match its digest")));
        }
        segments.push(Arc::from(blob));
        left = after;
    }
    Ok(segments)
}

/// One image a tile.
fn expand(runs: &[TileRun], segments: &[Arc<[u8]>]) -> Result<Vec<Arc<TileImage>>, PackageError> {
    let count: u64 = runs.iter().map(|run| u64::from(run.tiles)).sum();
    if count != u64::from(TILES) {
        return Err(PackageError::Invalid(format!("images of {count} tiles, the chip has {TILES}")));
    }
    let mut tiles = Vec::with_capacity(TILES as usize);
    for run in runs {
        let image = run
            .segments
            .iter()
            .map(|&(address, index)| {
                let bytes = segments
                    .get(index as usize)
                    .ok_or_else(|| PackageError::Invalid(format!("segment {index} of {} is named", segments.len())))?;
                Ok(ImageSegment { address, bytes: bytes.clone() })
            })
            .collect::<Result<Vec<_>, PackageError>>()?;
        tiles.extend(std::iter::repeat_n(Arc::new(TileImage { segments: image }), run.tiles as usize));
    }
    Ok(tiles)
}

/// Writes a file whole or not at all: beside `path`, then renamed. The temporary name holds the process id, so
/// processes don't meet. What is there but no plain file, for example `/dev/null`, is written to and stays what it is.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), PackageError> {
    let io = |source| PackageError::Io { path: path.to_owned(), source };
    let Some(name) = path.file_name() else {
        return Err(io(std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a file name")));
    };
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut file| file.write_all(bytes))
            .map_err(io);
    }
    let mut temporary_name = std::ffi::OsString::from(".");
    temporary_name.push(name);
    temporary_name.push(format!(".{}.part", std::process::id()));
    let temporary = path.with_file_name(temporary_name);
    let written = (|| {
        let mut file = std::fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        std::fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // Best effort: the first error is the one to tell.
        let _ = std::fs::remove_file(&temporary);
    }
    written.map_err(io)
}

#[cfg(test)]
mod tests;
