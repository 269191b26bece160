//! Sections under construction, and what waits for the end of the source.

use super::expression::Expression;
use super::text::Position;
use crate::isa::Form;
use crate::link::Relocation;

/// Bytes of one section at most: far above any tile memory.
pub(super) const MAXIMUM_BYTES: u32 = 16 << 20;

/// Attributes of a section, as its ELF header has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) allocate: bool,
    pub(super) write: bool,
    pub(super) execute: bool,
    /// `M` and `S`: entries may be merged; kept in the header only.
    pub(super) merge: bool,
    pub(super) strings: bool,
    /// No bytes in the file (`@nobits`).
    pub(super) nobits: bool,
    pub(super) note: bool,
    pub(super) entry_size: u32,
}

/// A stretch of a section, for the check of repeat bodies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) offset: u32,
    pub(super) bytes: u32,
    pub(super) kind: UnitKind,
    pub(super) at: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitKind {
    Data,
    Solo,
    /// `barred`: one half is a control or system instruction.
    Bundle {
        barred: bool,
    },
}

/// A relocation that stays in the object.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) offset: u32,
    pub(super) kind: Relocation,
    pub(super) target: Target,
    pub(super) addend: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// No symbol: the addend is the value.
    Absolute,
    Section(usize),
    Symbol(usize),
}

pub(super) struct Section {
    pub(super) name: String,
    pub(super) attributes: Attributes,
    pub(super) alignment: u32,
    /// Bytes; for `nobits` only their number counts.
    pub(super) data: Vec<u8>,
    pub(super) units: Vec<Unit>,
    pub(super) relocations: Vec<Pending>,
}

impl Section {
    pub(super) fn new(name: &str, attributes: Attributes) -> Self {
        Self {
            name: name.to_owned(),
            attributes,
            alignment: 1,
            data: Vec::new(),
            units: Vec::new(),
            relocations: Vec::new(),
        }
    }

    pub(super) fn offset(&self) -> u32 {
        self.data.len() as u32
    }
}

/// The attributes that a name implies when a source states none.
pub(super) fn default_attributes(name: &str) -> Attributes {
    let is = |base: &str| name == base || name.strip_prefix(base).is_some_and(|rest| rest.starts_with('.'));
    Attributes {
        allocate: is(".text") || is(".data") || is(".rodata") || is(".bss"),
        write: is(".data") || is(".bss"),
        execute: is(".text"),
        merge: false,
        strings: false,
        nobits: is(".bss"),
        note: false,
        entry_size: 0,
    }
}

/// A place to be filled when all symbols are known.
pub(super) struct Fixup {
    pub(super) section: usize,
    pub(super) offset: u32,
    pub(super) expression: Expression,
    pub(super) kind: FixupKind,
    pub(super) at: Position,
}

pub(super) enum FixupKind {
    /// Operand `operand` of an instruction whose other values are known.
    Operand { form: &'static Form, values: Vec<i64>, operand: usize, bundle: bool },
    /// Data of 1, 2, 4 or 8 bytes.
    Data(u8),
    /// A relocation named in the source, within data of so many bytes.
    Relocation(Relocation),
}

/// A `rpt`, to be checked when the layout is known.
pub(super) struct Repeat {
    pub(super) section: usize,
    /// Offset of the body.
    pub(super) body: u32,
    /// Body size operand: bundles minus 1.
    pub(super) size: Expression,
    pub(super) at: Position,
}
