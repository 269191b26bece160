//! Objects to an image.
//!
//! In: relocatable objects in link order, regions, entry, retained symbols, external values. Out: an [`Image`] of
//! contiguous segments with symbols and a map. Rules of `runtime.md` 3.1 and 3.2.
//!
//! Properties:
//! 1. Only sections reached from the entry and the retained symbols through relocations are in the image.
//! 2. Sections stand in the order of objects and of sections in them; once a section did not fit into a region, the
//!    regions before the next are closed.
//! 3. Every address is aligned as its section asks; segments do not overlap and lie inside the regions.
//! 4. Every relocation of the image is applied with the checks of its type, or the link fails; all undefined symbols
//!    are reported at once.
//! 5. Equal input gives an equal image.

mod map;
mod place;
mod read;
mod relocation;

use std::collections::BTreeMap;

pub use relocation::Relocation;

/// ELF machine number of Colossus.
pub const MACHINE_COLOSSUS: u16 = 248;
/// ELF OS ABI of its objects: standalone.
pub const OS_ABI_STANDALONE: u8 = 255;
/// ELF file flags of an IPU21 object.
pub const FLAGS_IPU21: u32 = 0x21;

/// How objects are linked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Start and end address of every region, in the order in which they are filled.
    pub regions: Vec<(u32, u32)>,
    /// Entry symbol.
    pub entry: String,
    /// Symbols that are kept though no relocation reaches them.
    pub retain: Vec<String>,
    /// Values of symbols that no object defines.
    pub externals: BTreeMap<String, u32>,
}

/// Bytes at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First byte address.
    pub address: u32,
    /// Bytes, with 0 in gaps between sections and in uninitialised ones.
    pub bytes: Vec<u8>,
}

/// A section in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Name of the object.
    pub object: String,
    /// Name of the section.
    pub section: String,
    /// First byte address.
    pub address: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub alignment: u32,
}

/// A linked image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Address of the entry symbol.
    pub entry: u32,
    /// Contiguous bytes in ascending order of address.
    pub segments: Vec<Segment>,
    /// Global symbols of the image, absolute and external ones included.
    pub symbols: BTreeMap<String, u32>,
    /// Sections in the order in which they were placed.
    pub sections: Vec<Placed>,
    /// What is odd but allowed.
    pub warnings: Vec<String>,
}

/// Why objects cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A file that is no object, or a damaged one.
    #[error("{object}: not a Colossus object: {reason}")]
    Object {
        /// Which object.
        object: String,
        /// What is wrong.
        reason: String,
    },
    /// Two definitions of a global name.
    #[error("symbol `{symbol}` is defined in {first} and in {second}")]
    Duplicate {
        /// The name.
        symbol: String,
        /// Object of the first definition.
        first: String,
        /// Object of the second definition.
        second: String,
    },
    /// Names without a definition, each with the object that needs it.
    #[error("undefined symbols: {}", undefined_list(.0))]
    Undefined(Vec<(String, String)>),
    /// A section that no region takes.
    #[error(
        "section {section} of {object} ({size} bytes, alignment {alignment}) fits no region of {regions}; {total} bytes \
         to place, {placed} bytes placed already"
    )]
    RegionFull {
        /// Which object.
        object: String,
        /// Which section.
        section: String,
        /// Its bytes.
        size: u32,
        /// Its alignment.
        alignment: u32,
        /// The regions, as text.
        regions: String,
        /// Bytes of all sections of the image.
        total: u64,
        /// Bytes placed before this section.
        placed: u64,
    },
    /// A relocation whose value cannot stand in its place.
    #[error("{object}: section {section} offset {offset:#x}: {relocation} of `{symbol}`: {reason}")]
    Relocation {
        /// Which object.
        object: String,
        /// Which section.
        section: String,
        /// Byte offset in the section.
        offset: u32,
        /// Name of the type.
        relocation: &'static str,
        /// What it refers to.
        symbol: String,
        /// What is wrong, with the value.
        reason: String,
    },
    /// Options that make no sense.
    #[error("link options: {0}")]
    Options(String),
}

fn undefined_list(list: &[(String, String)]) -> String {
    list.iter().map(|(symbol, object)| format!("`{symbol}` (needed by {object})")).collect::<Vec<_>>().join(", ")
}

/// Links objects, given as name and bytes.
pub fn link(objects: &[(&str, &[u8])], options: &Options) -> Result<Image, Error> {
    for &(start, end) in &options.regions {
        if start > end {
            return Err(Error::Options(format!("region {start:#x} .. {end:#x} ends before its start")));
        }
    }
    for (i, a) in options.regions.iter().enumerate() {
        if let Some(b) = options.regions[i + 1..].iter().find(|b| a.0 < b.1 && b.0 < a.1) {
            let text = format!("regions {:#x} .. {:#x} and {:#x} .. {:#x} overlap", a.0, a.1, b.0, b.1);
            return Err(Error::Options(text));
        }
    }
    let objects: Vec<read::Object> =
        objects.iter().map(|(name, bytes)| read::object(name, bytes)).collect::<Result<_, _>>()?;
    place::image(&objects, options)
}
