//! The relocation types of Colossus objects (`assembler.md` 10, `runtime.md` 3.1).
//!
//! Property: a value is written only if it is aligned and fits after the shift, read as unsigned; every bit outside the
//! field stays.

use crate::memory;

/// A relocation type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relocation {
    /// Nothing.
    None,
    /// One byte.
    Abs8,
    /// Two bytes.
    Abs16,
    /// Bits 19:0 of a word.
    Abs20,
    /// Four bytes.
    Abs32,
    /// Eight bytes, unchecked.
    Abs64,
    /// Two bytes: words from the memory base.
    Relative16S2,
    /// Bits 17:0 of a word: words.
    Abs18S2,
    /// Bits 18:0 of a word: words (branches and calls).
    Abs19S2,
    /// The split field of `run`: words from the memory base.
    Run,
    /// Two bytes: units of 8 bytes.
    Abs16S3,
    /// Two bytes: units of 16 bytes.
    Abs16S4,
    /// Two bytes: units of 32 bytes.
    Abs16S5,
    /// Bits 20:0 of a word.
    Abs21,
}

/// Number, type, name.
const ALL: [(u32, Relocation, &str); 14] = [
    (0, Relocation::None, "R_COLOSSUS_NONE"),
    (1, Relocation::Abs8, "R_COLOSSUS_8"),
    (2, Relocation::Abs16, "R_COLOSSUS_16"),
    (3, Relocation::Abs20, "R_COLOSSUS_20"),
    (4, Relocation::Abs32, "R_COLOSSUS_32"),
    (5, Relocation::Abs64, "R_COLOSSUS_64"),
    (6, Relocation::Relative16S2, "R_COLOSSUS_RELATIVE_16_S2"),
    (7, Relocation::Abs18S2, "R_COLOSSUS_18_S2"),
    (8, Relocation::Abs19S2, "R_COLOSSUS_19_S2"),
    (9, Relocation::Run, "R_COLOSSUS_RUN"),
    (14, Relocation::Abs16S3, "R_COLOSSUS_16_S3"),
    (15, Relocation::Abs16S4, "R_COLOSSUS_16_S4"),
    (16, Relocation::Abs16S5, "R_COLOSSUS_16_S5"),
    (17, Relocation::Abs21, "R_COLOSSUS_21"),
];

impl Relocation {
    /// Every type.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|&(_, r, _)| r)
    }

    /// The type of an ELF number.
    pub fn by_number(number: u32) -> Option<Self> {
        ALL.iter().find(|&&(n, ..)| n == number).map(|&(_, r, _)| r)
    }

    /// The type of a name such as `R_COLOSSUS_20`.
    pub fn by_name(name: &str) -> Option<Self> {
        ALL.iter().find(|&&(.., n)| n == name).map(|&(_, r, _)| r)
    }

    fn row(self) -> &'static (u32, Self, &'static str) {
        ALL.iter().find(|&&(_, r, _)| r == self).expect("every type is in the list")
    }

    /// Its ELF number.
    pub fn number(self) -> u32 {
        self.row().0
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.row().2
    }

    /// Bytes that it touches.
    pub fn bytes(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Abs8 => 1,
            Self::Abs16 | Self::Relative16S2 | Self::Abs16S3 | Self::Abs16S4 | Self::Abs16S5 => 2,
            Self::Abs20 | Self::Abs32 | Self::Abs18S2 | Self::Abs19S2 | Self::Run | Self::Abs21 => 4,
            Self::Abs64 => 8,
        }
    }

    /// Shift, width of the field in bits, and whether it counts from the memory base.
    fn field(self) -> (u32, u32, bool) {
        match self {
            Self::None => (0, 0, false),
            Self::Abs8 => (0, 8, false),
            Self::Abs16 => (0, 16, false),
            Self::Abs20 => (0, 20, false),
            Self::Abs32 => (0, 32, false),
            Self::Abs64 => (0, 64, false),
            Self::Relative16S2 | Self::Run => (2, 16, true),
            Self::Abs18S2 => (2, 18, false),
            Self::Abs19S2 => (2, 19, false),
            Self::Abs16S3 => (3, 16, false),
            Self::Abs16S4 => (4, 16, false),
            Self::Abs16S5 => (5, 16, false),
            Self::Abs21 => (0, 21, false),
        }
    }

    /// Writes `value` (symbol plus addend, in bytes) into the first bytes of `place`, which holds at least
    /// [`Relocation::bytes`]; else the reason why it cannot stand there.
    pub fn apply(self, value: i64, place: &mut [u8]) -> Result<(), String> {
        if self == Self::None {
            return Ok(());
        }
        if self == Self::Abs64 {
            place[..8].copy_from_slice(&value.to_le_bytes());
            return Ok(());
        }
        let (shift, width, relative) = self.field();
        let from = if relative { i64::from(memory::BASE) } else { 0 };
        let distance = value - from;
        let unit = 1i64 << shift;
        if distance % unit != 0 {
            return Err(format!("value {value:#x} is no multiple of {unit}"));
        }
        let stored = distance >> shift;
        if stored < 0 || stored >= 1i64 << width {
            let base = if relative { format!(" from {from:#x}") } else { String::new() };
            return Err(format!("value {value:#x} does not fit {width} bits of {unit}-byte units{base}"));
        }
        let stored = stored as u32;
        let (mask, field) = if self == Self::Run {
            (0x000f_0fff, (stored & 0xfff) | (stored >> 12) << 16)
        } else {
            (((1u64 << width) - 1) as u32, stored)
        };
        let bytes = self.bytes() as usize;
        let mut word = [0; 4];
        word[..bytes].copy_from_slice(&place[..bytes]);
        let word = u32::from_le_bytes(word) & !mask | field;
        place[..bytes].copy_from_slice(&word.to_le_bytes()[..bytes]);
        Ok(())
    }
}
