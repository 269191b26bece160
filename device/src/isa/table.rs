//! The table of instruction forms, read once from the fact tables.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// Index of a form in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormId(pub u16);

/// Who executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// The one supervisor of a tile.
    Supervisor,
    /// One of its six workers.
    Worker,
}

/// Which contexts know a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contexts {
    /// Supervisor and worker.
    Any,
    /// Supervisor only.
    Supervisor,
    /// Worker only.
    Worker,
}

impl Contexts {
    /// Whether `context` knows the form.
    pub fn allow(self, context: Context) -> bool {
        match self {
            Self::Any => true,
            Self::Supervisor => context == Context::Supervisor,
            Self::Worker => context == Context::Worker,
        }
    }
}

/// The half of a bundle that a form may stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Integer, memory, control.
    Main,
    /// Floating point, matrix unit, `$a` logic.
    Aux,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `$m0` .. `$m15`.
    M,
    /// `$m0:1` .. `$m10:11`.
    MPair,
    /// `$a0` .. `$a15`.
    A,
    /// `$a0:1` .. `$a14:15`.
    APair,
    /// `$a0:3` .. `$a12:15`.
    AQuad,
    /// `$a0:B`, one f32 for all lanes.
    Broadcast,
    /// `$a0:BL`, the lower half for all lanes.
    BroadcastLower,
    /// `$a0:BU`, the upper half for all lanes.
    BroadcastUpper,
    /// Unsigned immediate.
    Unsigned,
    /// Two's complement immediate.
    Signed,
    /// 32-bit value whose low 20 bits are 0.
    UpperBits,
    /// 8 bits or a label expression (the body size of `rpt`).
    Rel8,
    /// 16 bits or a symbol.
    Rel16,
    /// 20 bits or a symbol.
    Rel20,
    /// Branch target: a word address, or a symbol in bytes.
    Rel19S2,
    /// Offset of `run`: words from the memory base, or a symbol.
    Run,
}

impl Class {
    /// Registers of the main file.
    pub fn is_main_register(self) -> bool {
        matches!(self, Self::M | Self::MPair)
    }
    /// Registers of the arithmetic file.
    pub fn is_arithmetic_register(self) -> bool {
        matches!(
            self,
            Self::A | Self::APair | Self::AQuad | Self::Broadcast | Self::BroadcastLower | Self::BroadcastUpper
        )
    }
    /// Any register.
    pub fn is_register(self) -> bool {
        self.is_main_register() || self.is_arithmetic_register()
    }
    /// How many consecutive registers the operand covers (0 for immediates).
    pub fn span(self) -> u32 {
        match self {
            Self::M | Self::A | Self::Broadcast | Self::BroadcastLower | Self::BroadcastUpper => 1,
            Self::MPair | Self::APair => 2,
            Self::AQuad => 4,
            _ => 0,
        }
    }
}

/// Whether an operand is read, written or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read.
    In,
    /// Written.
    Out,
    /// Read and written.
    InOut,
}

/// A post-modify suffix of a register operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// None allowed.
    None,
    /// `++`
    Increment,
    /// `+=`
    Add,
    /// `>>`
    Shift,
    /// `@`
    Update,
}

impl Suffix {
    /// The text that follows the register.
    pub fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Increment => "++",
            Self::Add => "+=",
            Self::Shift => ">>",
            Self::Update => "@",
        }
    }
}

/// `width` bits of an operand value, from bit `value_low`, stored from bit `word_low` of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Lowest bit of the value.
    pub value_low: u8,
    /// Lowest bit of the word.
    pub word_low: u8,
    /// Number of bits.
    pub width: u8,
}

/// One operand of a form.
#[derive(Clone, Debug)]
pub struct Operand {
    /// What it is.
    pub class: Class,
    /// Read, written or both.
    pub role: Role,
    /// The suffix that the source text must show.
    pub suffix: Suffix,
    /// Bits of the value (for immediates: the width of the class).
    pub bits: u8,
    /// Where its bits lie.
    pub pieces: Vec<Piece>,
}

/// One row of the table.
#[derive(Clone, Debug)]
pub struct Form {
    /// Its index.
    pub id: FormId,
    /// What the source text shows.
    pub mnemonic: &'static str,
    /// Unique name of the form.
    pub name: &'static str,
    /// Operands in source order.
    pub operands: Vec<Operand>,
    /// Fixed bits: where they are ...
    pub mask: u32,
    /// ... and what they hold.
    pub value: u32,
    /// Slot in a bundle.
    pub lane: Lane,
    /// May be half of a bundle.
    pub coissue: bool,
    /// Changes the program counter.
    pub control: bool,
    /// Touches machine state (CSRs, workers, barriers).
    pub system: bool,
    /// An exchange instruction.
    pub exchange: bool,
    /// Must start at a multiple of 8 and is followed by a data word (`sendpicp`).
    pub payload: bool,
    /// Who knows it.
    pub contexts: Contexts,
}

pub(super) struct Table {
    pub(super) forms: Vec<Form>,
    by_name: FxHashMap<&'static str, FormId>,
    /// Forms by bits 30:24 of the word.
    pub(super) buckets: Vec<Vec<FormId>>,
}

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(load);

/// All forms, by id.
pub fn forms() -> &'static [Form] {
    &TABLE.forms
}

/// The row of an id.
pub fn form(id: FormId) -> &'static Form {
    &TABLE.forms[id.0 as usize]
}

/// The row of a form name such as `add_mmmn_si`.
pub fn form_by_name(name: &str) -> Option<&'static Form> {
    TABLE.by_name.get(name).map(|&id| form(id))
}

fn load() -> Table {
    let suffixes: FxHashMap<(&str, u8), Suffix> =
        [include_str!("common_modifiers.tsv"), include_str!("worker_modifiers.tsv")]
            .iter()
            .flat_map(|text| text.lines().skip(1))
            .map(|line| {
                let column: Vec<&str> = line.split('\t').collect();
                let suffix = match column[3] {
                    "++" => Suffix::Increment,
                    "+=" => Suffix::Add,
                    ">>" => Suffix::Shift,
                    "@" => Suffix::Update,
                    other => panic!("unknown suffix {other}"),
                };
                ((column[0], operand_number(column[1])), suffix)
            })
            .collect();
    let sources = [
        (Contexts::Any, include_str!("common.tsv")),
        (Contexts::Supervisor, include_str!("supervisor.tsv")),
        (Contexts::Worker, include_str!("worker.tsv")),
    ];
    let mut forms = Vec::new();
    for (contexts, text) in sources {
        for line in text.lines().skip(1) {
            let id = FormId(forms.len() as u16);
            forms.push(parse_row(id, contexts, line, &suffixes));
        }
    }
    let by_name = forms.iter().map(|f| (f.name, f.id)).collect();
    let mut buckets = vec![Vec::new(); 128];
    for (bucket, list) in buckets.iter_mut().enumerate() {
        let word = (bucket as u32) << 24;
        list.extend(forms.iter().filter(|f| (word ^ f.value) & f.mask & 0x7f00_0000 == 0).map(|f| f.id));
    }
    Table { forms, by_name, buckets }
}

fn operand_number(text: &str) -> u8 {
    text.strip_prefix("op").and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("operand number {text}"))
}

fn parse_row(id: FormId, contexts: Contexts, line: &'static str, suffixes: &FxHashMap<(&str, u8), Suffix>) -> Form {
    let column: Vec<&'static str> = line.split('\t').collect();
    let [mnemonic, name, operands, pattern, lane, coissue, kind] = column[..] else {
        panic!("row of the instruction table: {line}")
    };
    let kinds: Vec<&str> = kind.split(' ').collect();
    let (mut mask, mut value) = (0u32, 0u32);
    let mut fields: [Vec<u8>; 6] = Default::default();
    for (i, c) in pattern.bytes().enumerate() {
        let bit = 31 - i as u8;
        match c {
            b'0' | b'1' => {
                mask |= 1 << bit;
                value |= u32::from(c - b'0') << bit;
            }
            b'c' => {}
            _ => {
                let number = b"abdefg".iter().position(|&l| l == c).unwrap_or_else(|| panic!("pattern of {name}"));
                fields[number].push(bit);
            }
        }
    }
    let operands = operands
        .split(',')
        .map(|text| {
            let mut part = text.split(':');
            let number = operand_number(part.next().unwrap_or(""));
            let (class, bits) = class(part.next().unwrap_or(""), name);
            let role = match part.next() {
                None => Role::In,
                Some("out") => Role::Out,
                Some("inout") => Role::InOut,
                Some(other) => panic!("role {other} in {name}"),
            };
            let split: Vec<Piece> = kinds.iter().filter_map(|k| split_piece(k, number)).collect();
            let field = &fields[number as usize];
            let pieces = if split.is_empty() { runs(field) } else { split };
            Operand {
                class,
                role,
                suffix: suffixes.get(&(name, number)).copied().unwrap_or(Suffix::None),
                bits: if bits == 0 { field.len() as u8 } else { bits },
                pieces,
            }
        })
        .collect();
    Form {
        id,
        mnemonic,
        name,
        operands,
        mask,
        value,
        lane: if lane == "0" { Lane::Main } else { Lane::Aux },
        coissue: coissue == "1",
        control: kinds.contains(&"control"),
        system: kinds.contains(&"system"),
        exchange: kinds.contains(&"exchange"),
        payload: kinds.contains(&"align:8"),
        contexts,
    }
}

/// Class and, for immediates, width. Width 0: as wide as its field.
fn class(text: &str, name: &str) -> (Class, u8) {
    match text {
        "MR" => (Class::M, 4),
        "MRPair" => (Class::MPair, 4),
        "AR" => (Class::A, 4),
        "ARPairOperand" => (Class::APair, 4),
        "ARQuadOperand" => (Class::AQuad, 4),
        "BroadcastOperand" => (Class::Broadcast, 4),
        "BroadcastLowerOperand" => (Class::BroadcastLower, 4),
        "BroadcastUpperOperand" => (Class::BroadcastUpper, 4),
        "imm12iz" => (Class::UpperBits, 12),
        "Rel8Operand" => (Class::Rel8, 8),
        "Rel16Operand" => (Class::Rel16, 16),
        "Rel20Operand" => (Class::Rel20, 20),
        "Rel19S2Operand" => (Class::Rel19S2, 0),
        "RunOperand" => (Class::Run, 16),
        _ => {
            let digits: String = text.chars().skip(3).take_while(char::is_ascii_digit).collect();
            let class = match text.strip_prefix("imm").map(|t| t.trim_start_matches(char::is_numeric)) {
                Some("si") => Class::Signed,
                Some("zi") => Class::Unsigned,
                _ => panic!("operand class {text} in {name}"),
            };
            (class, digits.parse().unwrap_or_else(|_| panic!("operand class {text} in {name}")))
        }
    }
}

/// `split:op2[15:12]->19:16` of operand 2.
fn split_piece(kind: &str, number: u8) -> Option<Piece> {
    let (from, to) = kind.strip_prefix("split:op")?.split_once("->")?;
    let (operand, range) = from.split_once('[')?;
    if operand.parse::<u8>().ok()? != number {
        return None;
    }
    let ends = |text: &str| -> Option<(u8, u8)> {
        let (high, low) = text.split_once(':')?;
        Some((high.parse().ok()?, low.parse().ok()?))
    };
    let (value_high, value_low) = ends(range.trim_end_matches(']'))?;
    let (_, word_low) = ends(to)?;
    Some(Piece { value_low, word_low, width: value_high - value_low + 1 })
}

/// Pieces of a field whose bits keep their order: `field` holds word bits, the value's highest bit first.
fn runs(field: &[u8]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (value_low, &word_low) in field.iter().rev().enumerate() {
        match pieces.last_mut() {
            Some(last) if last.word_low + last.width == word_low => last.width += 1,
            _ => pieces.push(Piece { value_low: value_low as u8, word_low, width: 1 }),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_form_once() {
        assert_eq!(forms().len(), 368);
        assert_eq!(TABLE.by_name.len(), 368);
    }

    #[test]
    fn patterns_are_disjoint_within_a_context() {
        for context in [Context::Supervisor, Context::Worker] {
            let mine: Vec<&Form> = forms().iter().filter(|f| f.contexts.allow(context)).collect();
            for (i, a) in mine.iter().enumerate() {
                for b in &mine[i + 1..] {
                    assert_ne!((a.value ^ b.value) & a.mask & b.mask, 0, "{} and {} overlap", a.name, b.name);
                }
            }
        }
    }

    #[test]
    fn fields_and_fixed_bits_cover_the_word() {
        for f in forms() {
            let mut covered = f.mask;
            for p in f.operands.iter().flat_map(|o| &o.pieces) {
                let bits = ((1u64 << p.width) - 1) as u32;
                assert_eq!(covered & (bits << p.word_low), 0, "{}", f.name);
                covered |= bits << p.word_low;
            }
            let open = if f.coissue || f.mask >> 31 == 0 { 0x8000_0000 } else { 0 };
            assert_eq!(covered | open, u32::MAX, "{}", f.name);
        }
    }
}
