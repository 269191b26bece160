//! Operands as written: registers with groups, halves and suffixes, or expressions.
//!
//! In: the tokens after a mnemonic. Out: [`Argument`]s, not yet matched with a form (`assembler.md` 2 and 5).

use super::diagnostic::{Outcome, Problem};
use super::expression::{Cursor, Expression, Names};
use super::lexer::Kind;
use super::text::Position;
use crate::isa::{Csr, Suffix, csr_by_name};

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Main,
    Arithmetic,
}

/// How much of the file a register operand names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Single,
    /// So many consecutive registers: 2, 4 or 8.
    Group(u8),
    Broadcast,
    BroadcastLower,
    BroadcastUpper,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Register {
    pub(super) file: File,
    /// Lowest register as written, possibly no multiple of the span.
    pub(super) low: u8,
    pub(super) shape: Shape,
    pub(super) suffix: Suffix,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Register(Register),
    /// `csr` when the operand is just the name of a control register.
    Expression {
        expression: Expression,
        csr: Option<Csr>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Argument {
    pub(super) value: Value,
    pub(super) at: Position,
}

impl Argument {
    pub(super) fn register(file: File, low: u8, shape: Shape, at: Position) -> Self {
        Self { value: Value::Register(Register { file, low, shape, suffix: Suffix::None }), at }
    }

    pub(super) fn number(n: i64, at: Position) -> Self {
        Self { value: Value::Expression { expression: Expression::Number(n), csr: None }, at }
    }

    /// The register, when it is one without suffix.
    pub(super) fn plain_register(&self) -> Option<Register> {
        match self.value {
            Value::Register(r) if r.suffix == Suffix::None => Some(r),
            _ => None,
        }
    }
}

/// All operands up to the end of the statement.
pub(super) fn arguments(cursor: &mut Cursor<'_>, names: &mut dyn Names) -> Outcome<Vec<Argument>> {
    let mut list = Vec::new();
    if cursor.at_end() {
        return Ok(list);
    }
    loop {
        list.push(argument(cursor, names)?);
        if cursor.at_end() {
            return Ok(list);
        }
        cursor.expect_comma()?;
    }
}

fn argument(cursor: &mut Cursor<'_>, names: &mut dyn Names) -> Outcome<Argument> {
    let at = cursor.position();
    if let Some(Kind::Name(name)) = cursor.peek() {
        if let Some((file, low, shape)) = named(name) {
            cursor.next += 1;
            let register = finish_register(cursor, file, low, shape, at)?;
            return Ok(Argument { value: Value::Register(register), at });
        }
        if looks_like_register(name) {
            return cursor.fail(format!("no register `{name}`"));
        }
    }
    let first = cursor.next;
    let expression = cursor.expression(names)?;
    let csr = match (&cursor.tokens[first].kind, cursor.next - first) {
        (Kind::Name(name), 1) => csr_by_name(name),
        _ => None,
    };
    Ok(Argument { value: Value::Expression { expression, csr }, at })
}

/// Registers and groups that have a name of their own.
fn named(name: &str) -> Option<(File, u8, Shape)> {
    let name = name.strip_prefix('$')?;
    let number = |prefix: &str, below: u8| -> Option<u8> {
        let digits = name.strip_prefix(prefix)?;
        let plain = digits.len() == 1 || !digits.starts_with('0');
        digits.parse().ok().filter(|&n| plain && n < below && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let main = |n| Some((File::Main, n, Shape::Single));
    match name {
        "bp" => return main(8),
        "fp" => return main(9),
        "lr" => return main(10),
        "sp" => return main(11),
        "mworker_base" => return main(12),
        "mvertex_base" => return main(13),
        "mzero" => return main(15),
        "azero" => return Some((File::Arithmetic, 15, Shape::Single)),
        "azeros" => return Some((File::Arithmetic, 14, Shape::Group(2))),
        _ => {}
    }
    if let Some(n) = number("m", 16) {
        return main(n);
    }
    if let Some(n) = number("a", 16) {
        return Some((File::Arithmetic, n, Shape::Single));
    }
    if let Some(n) = number("ap", 16) {
        return Some((File::Arithmetic, (2 * n).min(14), Shape::Group(2)));
    }
    if let Some(n) = number("aq", 16) {
        return Some((File::Arithmetic, (4 * n).min(12), Shape::Group(4)));
    }
    number("ao", 2).map(|n| (File::Arithmetic, 8 * n, Shape::Group(8)))
}

/// `$m16`, `$a99`, `$ap16`: meant as registers, so never symbols.
pub(super) fn looks_like_register(name: &str) -> bool {
    ["$m", "$a", "$ap", "$aq", "$ao"]
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit())))
}

/// Whether a symbol may not have this name.
pub(super) fn is_reserved(name: &str) -> bool {
    named(name).is_some() || looks_like_register(name) || csr_by_name(name).is_some()
}

fn finish_register(cursor: &mut Cursor<'_>, file: File, low: u8, mut shape: Shape, at: Position) -> Outcome<Register> {
    if cursor.is(b':') && shape == Shape::Single {
        cursor.next += 1;
        shape = match cursor.peek() {
            Some(Kind::Integer(n)) => match n - i64::from(low) {
                span @ (1 | 3 | 7) => Shape::Group(span as u8 + 1),
                _ => return Err(Problem::new(at, format!("bad register range {low}:{n}"))),
            },
            Some(Kind::Name(half)) if file == File::Arithmetic => match half.as_str() {
                "B" => Shape::Broadcast,
                "BL" => Shape::BroadcastLower,
                "BU" => Shape::BroadcastUpper,
                _ => return Err(Problem::new(at, format!("bad register range {low}:{half}"))),
            },
            _ => return Err(Problem::new(at, format!("bad register range {low}:{}", cursor.found()))),
        };
        cursor.next += 1;
    }
    let mut suffix = Suffix::None;
    if cursor.adjacent() {
        let first = cursor.peek();
        suffix = match first {
            Some(Kind::Punctuation(b',')) => Suffix::None,
            Some(Kind::Punctuation(b'@')) => {
                cursor.next += 1;
                Suffix::Update
            }
            Some(Kind::Punctuation(b'+')) if pair(cursor, b'+') => Suffix::Increment,
            Some(Kind::Punctuation(b'+')) if pair(cursor, b'=') => Suffix::Add,
            Some(Kind::Punctuation(b'>')) if pair(cursor, b'>') => Suffix::Shift,
            _ => return cursor.fail(format!("unexpected {} after a register", cursor.found())),
        };
    }
    Ok(Register { file, low, shape, suffix })
}

/// Takes the next token and `second` when that stands directly after it.
fn pair(cursor: &mut Cursor<'_>, second: u8) -> bool {
    let start = cursor.next;
    cursor.next += 1;
    let both = cursor.adjacent() && cursor.is(second);
    cursor.next = if both { start + 2 } else { start };
    both
}
