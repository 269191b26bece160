//! Byte offsets to lines and columns, and back.
//!
//! Terminals and the JSON diagnostics count characters from 1; language servers count UTF-16 units (or bytes) from 0.

/// A place in a text for people: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// Where the lines of a text begin, and its characters of more than one byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    /// First byte of each line.
    starts: Vec<u32>,
    /// (first byte, length in bytes) of each character that is not ASCII.
    wide: Vec<(u32, u8)>,
    length: u32,
}

impl LineIndex {
    /// Reads `text` once. Lines end with `\n`.
    pub fn new(text: &str) -> Self {
        let mut starts = vec![0];
        let mut wide = Vec::new();
        for (at, character) in text.char_indices() {
            if character == '\n' {
                starts.push(at as u32 + 1);
            } else if !character.is_ascii() {
                wide.push((at as u32, character.len_utf8() as u8));
            }
        }
        Self { starts, wide, length: text.len() as u32 }
    }

    /// Line and column of a byte; bytes past the end count as the end, bytes inside a character as its start.
    pub fn position(&self, byte: u32) -> Position {
        let (line, start, byte) = self.line(byte);
        let extra: u32 = self.wide_between(start, byte).iter().map(|&(_, length)| u32::from(length) - 1).sum();
        Position { line: line as u32 + 1, column: byte - start - extra + 1 }
    }

    /// Line and column from 0, the column in UTF-16 units, as language servers count by default.
    pub fn utf16(&self, byte: u32) -> (u32, u32) {
        let (line, start, byte) = self.line(byte);
        // Two units for a character of four bytes, one for any other.
        let extra: u32 = self
            .wide_between(start, byte)
            .iter()
            .map(|&(_, length)| if length == 4 { 2 } else { u32::from(length) - 1 })
            .sum();
        (line as u32, byte - start - extra)
    }

    /// The byte of a line and UTF-16 column from 0, clamped to the line.
    pub fn byte_of_utf16(&self, line: u32, column: u32) -> u32 {
        let Some(&start) = self.starts.get(line as usize) else { return self.length };
        let end = self.starts.get(line as usize + 1).map_or(self.length, |next| next - 1);
        let mut byte = start.saturating_add(column);
        for &(at, length) in self.wide_between(start, end) {
            if at >= byte {
                break;
            }
            byte += if length == 4 { 2 } else { u32::from(length) - 1 };
        }
        byte.min(end)
    }

    /// (line from 0, its first byte, the byte clamped to the text and to a character boundary).
    fn line(&self, byte: u32) -> (usize, u32, u32) {
        let mut byte = byte.min(self.length);
        let before = self.wide.partition_point(|&(at, _)| at < byte);
        if let Some(&(at, length)) = before.checked_sub(1).and_then(|index| self.wide.get(index))
            && byte < at + u32::from(length)
        {
            byte = at;
        }
        let line = self.starts.partition_point(|&start| start <= byte) - 1;
        (line, self.starts[line], byte)
    }

    fn wide_between(&self, start: u32, end: u32) -> &[(u32, u8)] {
        let from = self.wide.partition_point(|&(at, _)| at < start);
        let to = self.wide.partition_point(|&(at, _)| at < end);
        &self.wide[from..to.max(from)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "ab\né😀x\n";
        let index = LineIndex::new(text);
        let at = |needle: char| text.find(needle).expect("in the text") as u32;
        assert_eq!(index.position(0), Position { line: 1, column: 1 });
        assert_eq!(index.position(at('x')), Position { line: 2, column: 3 });
        assert_eq!(index.utf16(at('x')), (1, 3));
        assert_eq!(index.byte_of_utf16(1, 3), at('x'));
        assert_eq!(index.position(at('😀') + 2), Position { line: 2, column: 2 });
        assert_eq!(index.position(999), Position { line: 3, column: 1 });
        assert_eq!(index.byte_of_utf16(1, 99), at('x') + 1);
        assert_eq!(index.byte_of_utf16(9, 0), text.len() as u32);
        assert_eq!(LineIndex::new("").position(0), Position { line: 1, column: 1 });
    }
}
