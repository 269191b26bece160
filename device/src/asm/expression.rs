//! Expressions: parsing with the precedence of C, and evaluation to a number, a place in a section or an undefined
//! symbol plus addend.
//!
//! In: tokens, and [`Names`] which says what a name stands for at this line (a symbol that was set before is replaced
//! by its value, `assembler.md` 5). Out: [`Expression`], folded as far as it is known.
//!
//! Properties:
//! 1. An expression has at most [`MAXIMUM_SIZE`] nodes, so that neither parsing nor evaluation nor dropping recurses
//!    deeper, whatever the source.
//! 2. Arithmetic wraps at 64 bits; only division by zero and shifts out of range are errors.

use std::rc::Rc;

use super::diagnostic::{Outcome, Problem};
use super::lexer::{Kind, Token};
use super::text::{Position, Text};

/// Nodes of one expression at most.
const MAXIMUM_SIZE: u32 = 1000;
/// Parentheses and signs inside each other at most.
const MAXIMUM_DEPTH: u32 = 100;

/// Index of a symbol.
pub(super) type SymbolId = usize;
/// Index of a section.
pub(super) type SectionId = usize;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    LogicalOr,
    LogicalAnd,
    Or,
    Xor,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Negate,
    Complement,
    Not,
}

#[derive(Clone, Debug)]
pub(super) enum Expression {
    Number(i64),
    Place { section: SectionId, offset: u32 },
    Symbol(SymbolId),
    Signed(Sign, Rc<Expression>, u32),
    Binary(Operator, Rc<Expression>, Rc<Expression>, u32),
}

impl Expression {
    fn size(&self) -> u32 {
        match self {
            Self::Signed(_, _, size) | Self::Binary(_, _, _, size) => *size,
            _ => 1,
        }
    }

    /// The value, when no symbol and no place is in it.
    pub(super) fn number(&self) -> Option<i64> {
        if let Self::Number(n) = self { Some(*n) } else { None }
    }

    pub(super) fn signed(sign: Sign, operand: Expression) -> Result<Self, String> {
        if let Self::Number(n) = operand {
            return Ok(Self::Number(apply_sign(sign, n)));
        }
        let size = grown(operand.size())?;
        Ok(Self::Signed(sign, Rc::new(operand), size))
    }

    pub(super) fn binary(operator: Operator, left: Expression, right: Expression) -> Result<Self, String> {
        if let (Self::Number(a), Self::Number(b)) = (&left, &right) {
            return apply(operator, *a, *b).map(Self::Number);
        }
        let size = grown(left.size() + right.size())?;
        Ok(Self::Binary(operator, Rc::new(left), Rc::new(right), size))
    }
}

fn grown(size: u32) -> Result<u32, String> {
    if size >= MAXIMUM_SIZE { Err(format!("expression has more than {MAXIMUM_SIZE} terms")) } else { Ok(size + 1) }
}

fn apply_sign(sign: Sign, n: i64) -> i64 {
    match sign {
        Sign::Negate => n.wrapping_neg(),
        Sign::Complement => !n,
        Sign::Not => i64::from(n == 0),
    }
}

fn apply(operator: Operator, a: i64, b: i64) -> Result<i64, String> {
    let shift = || u32::try_from(b).ok().filter(|&s| s < 64).ok_or_else(|| format!("shift by {b}"));
    Ok(match operator {
        Operator::LogicalOr => i64::from(a != 0 || b != 0),
        Operator::LogicalAnd => i64::from(a != 0 && b != 0),
        Operator::Or => a | b,
        Operator::Xor => a ^ b,
        Operator::And => a & b,
        Operator::Equal => i64::from(a == b),
        Operator::NotEqual => i64::from(a != b),
        Operator::Less => i64::from(a < b),
        Operator::LessEqual => i64::from(a <= b),
        Operator::Greater => i64::from(a > b),
        Operator::GreaterEqual => i64::from(a >= b),
        Operator::ShiftLeft => a.wrapping_shl(shift()?),
        Operator::ShiftRight => a >> shift()?,
        Operator::Add => a.wrapping_add(b),
        Operator::Subtract => a.wrapping_sub(b),
        Operator::Multiply => a.wrapping_mul(b),
        Operator::Divide | Operator::Remainder if b == 0 => return Err("division by zero".into()),
        Operator::Divide => a.wrapping_div(b),
        Operator::Remainder => a.wrapping_rem(b),
    })
}

/// What an expression comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Number(i64),
    /// A place; `symbol` is a symbol of global name that it was reached by, with the distance from it.
    Place {
        section: SectionId,
        offset: i64,
        symbol: Option<(SymbolId, i64)>,
    },
    Undefined {
        symbol: SymbolId,
        addend: i64,
    },
}

impl Value {
    fn moved(self, by: i64) -> Self {
        match self {
            Self::Number(n) => Self::Number(n.wrapping_add(by)),
            Self::Place { section, offset, symbol } => Self::Place {
                section,
                offset: offset.wrapping_add(by),
                symbol: symbol.map(|(s, a)| (s, a.wrapping_add(by))),
            },
            Self::Undefined { symbol, addend } => Self::Undefined { symbol, addend: addend.wrapping_add(by) },
        }
    }
}

/// Evaluates with `symbol` telling what a symbol comes to.
pub(super) fn evaluate(
    expression: &Expression,
    symbol: &mut dyn FnMut(SymbolId) -> Result<Value, String>,
) -> Result<Value, String> {
    match expression {
        Expression::Number(n) => Ok(Value::Number(*n)),
        Expression::Place { section, offset } => {
            Ok(Value::Place { section: *section, offset: i64::from(*offset), symbol: None })
        }
        Expression::Symbol(id) => symbol(*id),
        Expression::Signed(sign, operand, _) => match evaluate(operand, symbol)? {
            Value::Number(n) => Ok(Value::Number(apply_sign(*sign, n))),
            _ => Err("the sign of an address is not an address".into()),
        },
        Expression::Binary(operator, left, right, _) => {
            let left = evaluate(left, symbol)?;
            let right = evaluate(right, symbol)?;
            match (operator, left, right) {
                (_, Value::Number(a), Value::Number(b)) => apply(*operator, a, b).map(Value::Number),
                (Operator::Add, Value::Number(n), place) | (Operator::Add, place, Value::Number(n)) => {
                    Ok(place.moved(n))
                }
                (Operator::Subtract, place, Value::Number(n)) => Ok(place.moved(n.wrapping_neg())),
                (_, Value::Place { section: s, offset: a, .. }, Value::Place { section: t, offset: b, .. })
                    if s == t && is_comparison(*operator) =>
                {
                    apply(*operator, a, b).map(Value::Number)
                }
                (
                    Operator::Subtract,
                    Value::Undefined { symbol: s, addend: a },
                    Value::Undefined { symbol: t, addend: b },
                ) if s == t => Ok(Value::Number(a.wrapping_sub(b))),
                _ => Err("neither a number nor symbol + constant nor a difference within one section".into()),
            }
        }
    }
}

fn is_comparison(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Subtract
            | Operator::Equal
            | Operator::NotEqual
            | Operator::Less
            | Operator::LessEqual
            | Operator::Greater
            | Operator::GreaterEqual
    )
}

/// What names stand for at the line that is parsed.
pub(super) trait Names {
    /// A symbol, a control register or `.`.
    fn name(&mut self, name: &str) -> Result<Expression, String>;
    /// `1f`, `1b`.
    fn local(&mut self, number: u32, forward: bool) -> Result<Expression, String>;
}

/// Reads tokens of one statement from left to right.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t Text,
    pub(super) tokens: &'t [Token],
    pub(super) next: usize,
    depth: u32,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t Text, tokens: &'t [Token]) -> Self {
        Self { text, tokens, next: 0, depth: 0 }
    }

    pub(super) fn peek(&self) -> Option<&'t Kind> {
        self.tokens.get(self.next).map(|t| &t.kind)
    }

    pub(super) fn at_end(&self) -> bool {
        self.next >= self.tokens.len()
    }

    /// Place of the next token, or of the end.
    pub(super) fn position(&self) -> Position {
        self.text.position(self.tokens.get(self.next).map_or(self.text.bytes.len(), |t| t.start))
    }

    pub(super) fn is(&self, byte: u8) -> bool {
        self.peek() == Some(&Kind::Punctuation(byte))
    }

    /// Takes `byte` if it is next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.is(byte);
        self.next += usize::from(found);
        found
    }

    /// Whether the next token stands directly after the one before it.
    pub(super) fn adjacent(&self) -> bool {
        self.next > 0 && self.tokens.get(self.next).is_some_and(|t| t.start == self.tokens[self.next - 1].end)
    }

    pub(super) fn name(&mut self) -> Option<&'t str> {
        let Some(Kind::Name(name)) = self.peek() else { return None };
        self.next += 1;
        Some(name)
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Outcome<T> {
        Err(Problem::new(self.position(), message))
    }

    /// The text of the next token, for messages.
    pub(super) fn found(&self) -> String {
        match self.tokens.get(self.next) {
            None => "the end of the statement".into(),
            Some(t) => format!("`{}`", String::from_utf8_lossy(&self.text.bytes[t.start..t.end])),
        }
    }

    pub(super) fn expect_end(&self) -> Outcome<()> {
        if self.at_end() { Ok(()) } else { self.fail(format!("unexpected {}", self.found())) }
    }

    pub(super) fn expect_comma(&mut self) -> Outcome<()> {
        if self.eat(b',') { Ok(()) } else { self.fail(format!("comma expected, found {}", self.found())) }
    }

    pub(super) fn expression(&mut self, names: &mut dyn Names) -> Outcome<Expression> {
        self.level(names, 0)
    }

    fn level(&mut self, names: &mut dyn Names, lowest: u8) -> Outcome<Expression> {
        let mut left = self.unary(names)?;
        while let Some((operator, precedence, length)) = self.operator() {
            if precedence < lowest {
                break;
            }
            let at = self.position();
            self.next += length;
            self.enter()?;
            let right = self.level(names, precedence + 1)?;
            self.depth -= 1;
            left = Expression::binary(operator, left, right).map_err(|m| Problem::new(at, m))?;
        }
        Ok(left)
    }

    fn enter(&mut self) -> Outcome<()> {
        self.depth += 1;
        if self.depth > MAXIMUM_DEPTH { self.fail("expression is nested too deeply") } else { Ok(()) }
    }

    /// The binary operator that is next, its precedence and its number of tokens.
    fn operator(&self) -> Option<(Operator, u8, usize)> {
        let Some(&Kind::Punctuation(first)) = self.peek() else { return None };
        let second = match self.tokens.get(self.next + 1) {
            Some(Token { kind: Kind::Punctuation(second), start, .. }) if *start == self.tokens[self.next].end => {
                Some(*second)
            }
            _ => None,
        };
        Some(match (first, second) {
            (b'|', Some(b'|')) => (Operator::LogicalOr, 0, 2),
            (b'&', Some(b'&')) => (Operator::LogicalAnd, 1, 2),
            (b'|', _) => (Operator::Or, 2, 1),
            (b'^', _) => (Operator::Xor, 3, 1),
            (b'&', _) => (Operator::And, 4, 1),
            (b'=', Some(b'=')) => (Operator::Equal, 5, 2),
            (b'!', Some(b'=')) | (b'<', Some(b'>')) => (Operator::NotEqual, 5, 2),
            (b'<', Some(b'<')) => (Operator::ShiftLeft, 7, 2),
            (b'>', Some(b'>')) => (Operator::ShiftRight, 7, 2),
            (b'<', Some(b'=')) => (Operator::LessEqual, 6, 2),
            (b'>', Some(b'=')) => (Operator::GreaterEqual, 6, 2),
            (b'<', _) => (Operator::Less, 6, 1),
            (b'>', _) => (Operator::Greater, 6, 1),
            (b'+', _) => (Operator::Add, 8, 1),
            (b'-', _) => (Operator::Subtract, 8, 1),
            (b'*', _) => (Operator::Multiply, 9, 1),
            (b'/', _) => (Operator::Divide, 9, 1),
            (b'%', _) => (Operator::Remainder, 9, 1),
            _ => return None,
        })
    }

    fn unary(&mut self, names: &mut dyn Names) -> Outcome<Expression> {
        let at = self.position();
        let sign = match self.peek() {
            Some(Kind::Punctuation(b'-')) => Some(Sign::Negate),
            Some(Kind::Punctuation(b'~')) => Some(Sign::Complement),
            Some(Kind::Punctuation(b'!')) => Some(Sign::Not),
            Some(Kind::Punctuation(b'+')) => None,
            _ => return self.primary(names),
        };
        self.next += 1;
        // The sign of a half constant is bit 15 of its pattern.
        if let (Some(Sign::Negate), Some(&Kind::Half(pattern))) = (sign, self.peek()) {
            self.next += 1;
            return Ok(Expression::Number(i64::from(pattern ^ 0x8000)));
        }
        self.enter()?;
        let operand = self.unary(names)?;
        self.depth -= 1;
        match sign {
            None => Ok(operand),
            Some(sign) => Expression::signed(sign, operand).map_err(|m| Problem::new(at, m)),
        }
    }

    fn primary(&mut self, names: &mut dyn Names) -> Outcome<Expression> {
        let at = self.position();
        let problem = |m: String| Problem::new(at, m);
        let result = match self.peek() {
            Some(Kind::Integer(n)) => Expression::Number(*n),
            Some(Kind::Half(pattern)) => Expression::Number(i64::from(*pattern)),
            Some(Kind::Real(_)) => return self.fail("a real number needs the suffix h (half constant)"),
            Some(Kind::Local { number, forward }) => names.local(*number, *forward).map_err(problem)?,
            Some(Kind::Name(name)) => names.name(name).map_err(problem)?,
            Some(Kind::Punctuation(b'(')) => {
                self.next += 1;
                self.enter()?;
                let inner = self.level(names, 0)?;
                self.depth -= 1;
                if !self.is(b')') {
                    return self.fail(format!("`)` expected, found {}", self.found()));
                }
                inner
            }
            _ => return self.fail(format!("expression expected, found {}", self.found())),
        };
        self.next += 1;
        Ok(result)
    }
}
