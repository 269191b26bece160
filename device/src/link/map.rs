//! The map of an image, for people.

use std::fmt;

use super::Image;

impl Image {
    /// The map: sections in order of placement, then symbols by address and name.
    pub fn map(&self) -> Map<'_> {
        Map(self)
    }

    /// Bytes of all segments.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|s| s.bytes.len() as u64).sum()
    }
}

/// A printable map.
pub struct Map<'a>(&'a Image);

impl fmt::Display for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "entry {:#07x}", self.0.entry)?;
        for s in &self.0.segments {
            writeln!(f, "segment {:#07x} {:6} bytes", s.address, s.bytes.len())?;
        }
        for s in &self.0.sections {
            writeln!(
                f,
                "section {:#07x} {:6} bytes, alignment {:2}  {} of {}",
                s.address, s.size, s.alignment, s.section, s.object
            )?;
        }
        let mut symbols: Vec<(u32, &str)> = self.0.symbols.iter().map(|(n, &a)| (a, n.as_str())).collect();
        symbols.sort_unstable();
        for (address, name) in symbols {
            writeln!(f, "symbol  {address:#07x} {name}")?;
        }
        Ok(())
    }
}
