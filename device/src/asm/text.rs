//! Source text in which every byte knows where it was written, through includes, continuations and macro expansion.

/// A place in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// Index into the list of files.
    pub(super) file: u16,
    /// Line, from 1.
    pub(super) line: u32,
    /// Column in bytes, from 1.
    pub(super) column: u32,
}

/// Bytes and the place of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    pub(super) at: Vec<Position>,
}

impl Text {
    pub(super) fn push(&mut self, byte: u8, at: Position) {
        self.bytes.push(byte);
        self.at.push(at);
    }

    /// All bytes of `text` at one place: what a macro expansion brings.
    pub(super) fn push_all(&mut self, text: &[u8], at: Position) {
        self.bytes.extend_from_slice(text);
        self.at.resize(self.bytes.len(), at);
    }

    pub(super) fn append(&mut self, other: &Text) {
        self.bytes.extend_from_slice(&other.bytes);
        self.at.extend_from_slice(&other.at);
    }

    pub(super) fn slice(&self, from: usize, to: usize) -> Text {
        Text { bytes: self.bytes[from..to].to_vec(), at: self.at[from..to].to_vec() }
    }

    pub(super) fn trimmed(&self) -> Text {
        let from = self.bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(self.bytes.len());
        let to = self.bytes.iter().rposition(|b| !b.is_ascii_whitespace()).map_or(from, |i| i + 1);
        self.slice(from, to)
    }

    pub(super) fn is_blank(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// Place of a byte; one past the end gives the place after the last byte.
    pub(super) fn position(&self, index: usize) -> Position {
        match self.at.get(index) {
            Some(&at) => at,
            None => self.at.last().map_or(Position::default(), |&last| Position { column: last.column + 1, ..last }),
        }
    }

    pub(super) fn display(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Index one past the string or character literal that begins at `start` with a quote; the end of `bytes` when it is
/// not closed.
pub(super) fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut i = start + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b'"' => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// Length of a character constant `'c'` or `'\c'` at the beginning of `bytes`, if there is one.
pub(super) fn character_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\'', b'\\', _, b'\'', ..] => Some(4),
        [b'\'', c, b'\'', ..] if *c != b'\\' => Some(3),
        _ => None,
    }
}

pub(super) fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'$')
}

pub(super) fn is_name(b: u8) -> bool {
    is_name_start(b) || b.is_ascii_digit()
}
