//! One statement to tokens.
//!
//! In: the text of a statement, without comments. Out: tokens with their byte range; adjacency of tokens is kept
//! because `++`, `>>` and register groups are put together by the parser. Number spellings and half constants as in
//! `assembler.md` 5.

use half::f16;

use super::diagnostic::{Outcome, Problem};
use super::text::{Text, character_length, is_name, is_name_start, string_end};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Name(String),
    Integer(i64),
    /// A half constant, as its IEEE pattern.
    Half(u16),
    /// A real number without `h`.
    Real(f64),
    Str(Vec<u8>),
    /// `1f`, `1b`.
    Local {
        number: u32,
        forward: bool,
    },
    Punctuation(u8),
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All tokens of a statement.
pub(super) fn tokens(text: &Text) -> Outcome<Vec<Token>> {
    let bytes = &text.bytes;
    let mut list = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        if b.is_ascii_whitespace() {
            i += 1;
            continue;
        }
        let start = i;
        let fail = |message: String| Err(Problem::new(text.position(start), message));
        let kind = if b.is_ascii_digit() {
            i = number_end(bytes, start);
            match number(&bytes[start..i]) {
                Ok(kind) => kind,
                Err(message) => return fail(message),
            }
        } else if is_name_start(b) {
            while i < bytes.len() && is_name(bytes[i]) {
                i += 1;
            }
            match &bytes[start..i] {
                b"infh" => Kind::Half(f16::INFINITY.to_bits()),
                name => Kind::Name(String::from_utf8_lossy(name).into_owned()),
            }
        } else if b == b'"' {
            i = string_end(bytes, start);
            if i < start + 2 || bytes[i - 1] != b'"' {
                return fail("string is not closed".into());
            }
            match unescape(&bytes[start + 1..i - 1]) {
                Ok(string) => Kind::Str(string),
                Err(message) => return fail(message),
            }
        } else if b == b'\'' {
            let Some(length) = character_length(&bytes[start..]) else {
                return fail("character constant is not closed".into());
            };
            i += length;
            match unescape(&bytes[start + 1..i - 1]) {
                Ok(c) => Kind::Integer(c.first().copied().unwrap_or(0).into()),
                Err(message) => return fail(message),
            }
        } else if b.is_ascii_graphic() {
            i += 1;
            Kind::Punctuation(b)
        } else {
            return fail(format!("unexpected byte {b:#04x}"));
        };
        list.push(Token { kind, start, end: i });
    }
    Ok(list)
}

/// End of the number that begins at `start`.
pub(super) fn number_end(bytes: &[u8], start: usize) -> usize {
    let hexadecimal = bytes[start] == b'0' && bytes.get(start + 1).is_some_and(|b| matches!(b, b'x' | b'X'));
    let mut i = start;
    while i < bytes.len() {
        let b = bytes[i];
        let exponent_sign = matches!(b, b'+' | b'-')
            && !hexadecimal
            && matches!(bytes[i - 1], b'e' | b'E')
            && bytes.get(i + 1).is_some_and(u8::is_ascii_digit)
            && bytes[start..i - 1].iter().all(|b| b.is_ascii_digit() || *b == b'.');
        if !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.') || exponent_sign) {
            break;
        }
        i += 1;
    }
    i
}

fn number(bytes: &[u8]) -> Result<Kind, String> {
    let text = String::from_utf8_lossy(bytes);
    let bad = || format!("bad number `{text}`");
    let lower = text.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).map(|n| Kind::Integer(n as i64)).map_err(|_| bad());
    }
    if let Some(digits) = text.strip_suffix(['f', 'b'])
        && !digits.is_empty()
        && digits.bytes().all(|b| b.is_ascii_digit())
    {
        let number = digits.parse().map_err(|_| bad())?;
        return Ok(Kind::Local { number, forward: text.ends_with('f') });
    }
    if let Some(digits) = lower.strip_prefix("0b") {
        return u64::from_str_radix(digits, 2).map(|n| Kind::Integer(n as i64)).map_err(|_| bad());
    }
    if lower.contains('.') || lower.contains('e') {
        let (digits, half) = lower.strip_suffix('h').map_or((lower.as_str(), false), |d| (d, true));
        let value: f64 = digits.parse().map_err(|_| bad())?;
        return Ok(if half { Kind::Half(f16::from_f64(value).to_bits()) } else { Kind::Real(value) });
    }
    let radix = if lower.len() > 1 && lower.starts_with('0') { 8 } else { 10 };
    u64::from_str_radix(&lower, radix).map(|n| Kind::Integer(n as i64)).map_err(|_| bad())
}

fn unescape(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        i += 1;
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let Some(&escape) = bytes.get(i) else { return Err("escape at the end of a string".into()) };
        i += 1;
        out.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'\\' | b'"' | b'\'' => escape,
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                let mut digits = 1;
                while digits < 3 && bytes.get(i).is_some_and(|b| matches!(b, b'0'..=b'7')) {
                    value = value * 8 + u32::from(bytes[i] - b'0');
                    i += 1;
                    digits += 1;
                }
                value as u8
            }
            b'x' => {
                let mut value = 0u32;
                while let Some(digit) = bytes.get(i).and_then(|&b| (b as char).to_digit(16)) {
                    value = (value << 4 | digit) & 0xff;
                    i += 1;
                }
                value as u8
            }
            other => return Err(format!("unknown escape `\\{}`", char::from(other))),
        });
    }
    Ok(out)
}
