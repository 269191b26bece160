//! A strict JSON parser that keeps byte spans and goes on after an error.
//!
//! In: a text. Out: a tree of [`Node`]s and a list of [`Defect`]s.
//! 1. Never panics, always ends: each turn of a loop eats a byte or leaves the loop; nesting deeper than
//!    [`DEEPEST`] is skipped without recursion.
//! 2. No defects: the text is JSON by RFC 8259 without duplicate keys.
//! 3. Spans lie on character boundaries within the text; a node's span encloses those of its children.
//! 4. What could not be read is [`Kind::Invalid`] and objects that ended early are not `complete`, so that later checks
//!    add no follow-up errors there.

use rustc_hash::FxHashMap;

use super::value::{Real, Value};

/// Deepest nesting of arrays and objects.
pub const DEEPEST: usize = 64;
/// Errors after which no more are reported.
const MOST_DEFECTS: usize = 30;

/// A range of bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From byte `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }
}

/// A JSON value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// All its bytes.
    pub span: Span,
    /// What it is.
    pub kind: Kind,
}

/// The kinds of JSON values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Could not be read; a defect tells why.
    Invalid,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without fraction and exponent that fits 64 bits.
    Integer(i64),
    /// Any other number.
    Float(Real),
    /// A string, unescaped.
    Text(String),
    /// An array.
    Array(Vec<Node>),
    /// An object.
    Object(Object),
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Object {
    /// Members in the order written; of equal keys only the first.
    pub members: Vec<Member>,
    /// False if it ended at a place where no `}` stood: a missing key means nothing then.
    pub complete: bool,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// Where the key stands, quotes included.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Object {
    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.members.iter().find(|member| member.key == key).map(|member| &member.value)
    }
}

impl Node {
    /// The value of `key` if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.object()?.get(key)
    }

    /// This as an object.
    pub fn object(&self) -> Option<&Object> {
        match &self.kind {
            Kind::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The members if this is an object, else none.
    pub fn members(&self) -> &[Member] {
        self.object().map_or(&[], |object| &object.members)
    }

    /// The items if this is an array, else none.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::Array(items) => items,
            _ => &[],
        }
    }

    /// This as a string.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// This as an integer.
    pub fn integer(&self) -> Option<i64> {
        match self.kind {
            Kind::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// This as a number.
    pub fn number(&self) -> Option<f64> {
        match self.kind {
            Kind::Integer(value) => Some(value as f64),
            Kind::Float(value) => Some(value.get()),
            _ => None,
        }
    }

    /// Its kind in words, with the article: "a string".
    pub fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Invalid => "nothing readable",
            Kind::Null => "null",
            Kind::Bool(_) => "a boolean",
            Kind::Integer(_) => "an integer",
            Kind::Float(_) => "a number with a fraction",
            Kind::Text(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }

    /// The same value without spans; what is invalid becomes null.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Invalid | Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Integer(value) => Value::Integer(*value),
            Kind::Float(value) => Value::Float(*value),
            Kind::Text(value) => Value::Text(value.clone()),
            Kind::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Kind::Object(object) => {
                Value::Object(object.members.iter().map(|m| (m.key.clone(), m.value.to_value())).collect())
            }
        }
    }

    /// A value that stands nowhere in the text: all spans are empty.
    pub fn from_value(value: &Value) -> Self {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(value) => Kind::Bool(*value),
            Value::Integer(value) => Kind::Integer(*value),
            Value::Float(value) => Kind::Float(*value),
            Value::Text(value) => Kind::Text(value.clone()),
            Value::Array(items) => Kind::Array(items.iter().map(Self::from_value).collect()),
            Value::Object(members) => Kind::Object(Object {
                members: members
                    .iter()
                    .map(|(key, value)| Member {
                        key: key.clone(),
                        key_span: Span::default(),
                        value: Self::from_value(value),
                    })
                    .collect(),
                complete: true,
            }),
        };
        Self { span: Span::default(), kind }
    }
}

/// What is wrong with the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// Where.
    pub span: Span,
    /// What, in one line.
    pub message: String,
    /// What stands or should stand at the span.
    pub label: String,
    /// Another place that matters: the opening bracket, the first of two equal keys.
    pub other: Option<(Span, String)>,
    /// Two equal keys of one object, rather than broken syntax.
    pub duplicate: bool,
}

/// Reads `text`.
pub fn parse(text: &str) -> (Node, Vec<Defect>) {
    if u32::try_from(text.len()).is_err() {
        let defect = Defect {
            span: Span::default(),
            message: "the text is larger than 4 GiB".to_owned(),
            label: String::new(),
            other: None,
            duplicate: false,
        };
        return (Node { span: Span::default(), kind: Kind::Invalid }, vec![defect]);
    }
    let mut parser = Parser { text, at: 0, defects: Vec::new(), open: Vec::new(), ended: false };
    if text.starts_with('\u{feff}') {
        parser.at = '\u{feff}'.len_utf8();
    }
    parser.space();
    let root = if parser.peek().is_none() {
        parser.defect(text.len(), text.len(), "the text is empty", "expected `{`");
        parser.invalid(text.len())
    } else {
        parser.value()
    };
    parser.space();
    if parser.peek().is_some() {
        let start = parser.at;
        parser.character();
        parser.defect(start, parser.at, "more text after the end of the value", "nothing may follow");
    }
    (root, parser.defects)
}

struct Parser<'a> {
    text: &'a str,
    /// Next byte, on a character boundary.
    at: usize,
    defects: Vec<Defect>,
    /// Open brackets and where they stand.
    open: Vec<(u8, usize)>,
    /// The end of the text was reported.
    ended: bool,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Eats one character.
    fn character(&mut self) -> Option<char> {
        let character = self.text[self.at..].chars().next()?;
        self.at += character.len_utf8();
        Some(character)
    }

    fn invalid(&self, start: usize) -> Node {
        Node { span: Span::new(start, self.at.max(start)), kind: Kind::Invalid }
    }

    /// Records a defect unless one begins at the same byte: the first one is the cause.
    fn defect(&mut self, start: usize, end: usize, message: impl Into<String>, label: impl Into<String>) {
        self.defect_with(start, end, message.into(), label.into(), None, false);
    }

    fn defect_with(
        &mut self,
        start: usize,
        end: usize,
        message: String,
        label: String,
        other: Option<(Span, String)>,
        duplicate: bool,
    ) {
        let repeated = self.defects.iter().any(|defect| defect.span.start as usize == start);
        if !repeated && self.defects.len() < MOST_DEFECTS {
            self.defects.push(Defect { span: Span::new(start, end), message, label, other, duplicate });
        }
    }

    /// Eats white space, and comments with a defect.
    fn space(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(b'/') if rest.starts_with("//") => {
                    let end = self.at + rest.find('\n').unwrap_or(rest.len());
                    self.comment(end);
                }
                Some(b'/') if rest.starts_with("/*") => {
                    let end = self.at + rest.find("*/").map_or(rest.len(), |close| close + 2);
                    self.comment(end);
                }
                Some(b'#') => {
                    let end = self.at + rest.find('\n').unwrap_or(rest.len());
                    self.comment(end);
                }
                _ => return,
            }
        }
    }

    fn comment(&mut self, end: usize) {
        self.defect(self.at, end, "JSON has no comments", "remove this; `description` holds remarks");
        self.at = end;
    }

    /// Reads a value; eats at least one byte unless at the end or before one of `,:]}`.
    fn value(&mut self) -> Node {
        let start = self.at;
        match self.peek() {
            Some(bracket @ (b'{' | b'[')) => {
                if self.open.len() >= DEEPEST {
                    let message = format!("nested deeper than {DEEPEST}");
                    self.defect(start, start + 1, message, "too deep");
                    self.skip_balanced();
                    return self.invalid(start);
                }
                self.open.push((bracket, start));
                self.at += 1;
                let kind = if bracket == b'{' { self.object(start) } else { self.array(start) };
                self.open.pop();
                Node { span: Span::new(start, self.at), kind }
            }
            Some(quote @ (b'"' | b'\'')) => {
                let (text, closed) = self.string(quote);
                let kind = if closed { Kind::Text(text) } else { Kind::Invalid };
                Node { span: Span::new(start, self.at), kind }
            }
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => {
                let kind = self.number();
                Node { span: Span::new(start, self.at), kind }
            }
            Some(byte) if is_word(byte) => {
                let kind = self.word_value();
                Node { span: Span::new(start, self.at), kind }
            }
            Some(b',' | b':' | b']' | b'}') => {
                let found = self.text[start..].chars().next().expect("peeked");
                self.defect(start, start + 1, format!("expected a value, found `{found}`"), "expected a value here");
                self.invalid(start)
            }
            Some(_) => {
                let found = self.character().expect("peeked");
                let found = found.escape_debug();
                self.defect(start, self.at, format!("expected a value, found `{found}`"), "not JSON");
                self.invalid(start)
            }
            None => {
                self.end_of_text();
                self.invalid(start)
            }
        }
    }

    /// Reports the end of the text inside the innermost open bracket, once.
    fn end_of_text(&mut self) {
        if self.ended {
            return;
        }
        self.ended = true;
        let end = self.text.len();
        let (label, other) = match self.open.last() {
            Some(&(bracket, at)) => {
                let close = if bracket == b'{' { '}' } else { ']' };
                (format!("expected `{close}`"), Some((Span::new(at, at + 1), "opened here".to_owned())))
            }
            None => ("expected a value".to_owned(), None),
        };
        self.defect_with(end, end, "the text ends too early".to_owned(), label, other, false);
    }

    /// A closing bracket of the wrong kind ends the array or object: it is left for an outer one that it closes, else it
    /// is taken as meant for this one.
    fn mismatch(&mut self, opened_at: usize, found: u8) {
        let (open, expected) = if found == b']' { (b'[', '}') } else { (b'{', ']') };
        let message = format!("expected `{expected}`, found `{}`", found as char);
        let other = Some((Span::new(opened_at, opened_at + 1), "opened here".to_owned()));
        self.defect_with(self.at, self.at + 1, message, format!("expected `{expected}`"), other, false);
        let outer = self.open.iter().any(|&(bracket, _)| bracket == open);
        if !outer {
            self.at += 1;
        }
    }

    fn object(&mut self, opened_at: usize) -> Kind {
        let mut members = Vec::new();
        let mut seen: FxHashMap<String, Span> = FxHashMap::default();
        let mut comma = None;
        let complete = loop {
            self.space();
            let start = self.at;
            let (key, closed) = match self.peek() {
                None => {
                    self.end_of_text();
                    break false;
                }
                Some(b'}') => {
                    self.trailing_comma(comma);
                    self.at += 1;
                    break true;
                }
                Some(b']') => {
                    self.mismatch(opened_at, b']');
                    break false;
                }
                Some(b',') => {
                    self.defect(start, start + 1, "expected a key, found `,`", "remove this comma");
                    self.at += 1;
                    continue;
                }
                Some(quote @ (b'"' | b'\'')) => self.string(quote),
                Some(byte) if is_word(byte) => {
                    let word = self.word().to_owned();
                    let message = format!("the key `{word}` must stand in double quotes");
                    self.defect(start, self.at, message, format!("write \"{word}\""));
                    (word, true)
                }
                Some(_) => {
                    let found = self.text[start..].chars().next().expect("peeked").escape_debug();
                    self.defect(start, start + 1, format!("expected a key, found `{found}`"), "expected a key");
                    self.skip_balanced();
                    continue;
                }
            };
            let key_span = Span::new(start, self.at);
            if !closed {
                // Half a key: what follows on the next line is the next member.
                continue;
            }
            self.space();
            let value = match self.peek() {
                Some(b':') => {
                    self.at += 1;
                    self.space();
                    self.value()
                }
                found => {
                    let end = key_span.end as usize;
                    self.defect(end, end, format!("expected `:` after the key `{key}`"), "expected `:`");
                    if found == Some(b'=') {
                        self.at += 1;
                        self.space();
                    }
                    match self.peek() {
                        None | Some(b',' | b'}' | b']') => self.invalid(self.at),
                        _ => self.value(),
                    }
                }
            };
            if let Some(&first) = seen.get(&key) {
                let message = format!("the key `{key}` stands twice in one object");
                let other = Some((first, "first here".to_owned()));
                let (start, end) = (key_span.start as usize, key_span.end as usize);
                self.defect_with(start, end, message, "again here".to_owned(), other, true);
            } else {
                seen.insert(key.clone(), key_span);
                members.push(Member { key, key_span, value });
            }
            comma = self.separator();
        };
        Kind::Object(Object { members, complete })
    }

    fn array(&mut self, opened_at: usize) -> Kind {
        let mut items = Vec::new();
        let mut comma = None;
        let complete = loop {
            self.space();
            let start = self.at;
            match self.peek() {
                None => {
                    self.end_of_text();
                    break false;
                }
                Some(b']') => {
                    self.trailing_comma(comma);
                    self.at += 1;
                    break true;
                }
                Some(b'}') => {
                    self.mismatch(opened_at, b'}');
                    break false;
                }
                Some(found @ (b',' | b':')) => {
                    let message = format!("expected a value, found `{}`", found as char);
                    self.defect(start, start + 1, message, "remove this");
                    self.at += 1;
                }
                Some(_) => {
                    items.push(self.value());
                    comma = self.separator();
                }
            }
        };
        // Keeps P4: that an array which never ended is empty means nothing.
        if complete || !items.is_empty() { Kind::Array(items) } else { Kind::Invalid }
    }

    /// After a value: eats a comma and returns where it stands; a missing one is a defect.
    fn separator(&mut self) -> Option<usize> {
        let end = self.at;
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Some(self.at - 1)
            }
            None | Some(b'}' | b']') => None,
            Some(_) => {
                self.defect(end, end, "expected `,` or the end", "expected `,`");
                None
            }
        }
    }

    fn trailing_comma(&mut self, comma: Option<usize>) {
        if let Some(comma) = comma {
            self.defect(comma, comma + 1, "a comma before the closing bracket", "remove this comma");
        }
    }

    /// Eats one character, or all up to the matching bracket if it opens one; strings hide brackets.
    fn skip_balanced(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.peek() {
                None => return,
                Some(b'"') => self.skip_string(),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                Some(_) => {
                    self.character();
                }
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(character) = self.character() {
            match character {
                '"' | '\n' => return,
                '\\' => {
                    self.character();
                }
                _ => {}
            }
        }
    }

    /// Reads a string that begins with `quote`, and whether it ends with it; single quotes are a defect.
    fn string(&mut self, quote: u8) -> (String, bool) {
        let start = self.at;
        let mut out = String::new();
        self.at += 1;
        let closed = loop {
            let at = self.at;
            match self.peek() {
                None | Some(b'\n' | b'\r') => {
                    let other = Some((Span::new(start, start + 1), "opened here".to_owned()));
                    let message = "the string is not closed on its line".to_owned();
                    self.defect_with(at, at, message, "expected `\"`".to_owned(), other, false);
                    break false;
                }
                Some(byte) if byte == quote => {
                    self.at += 1;
                    break true;
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.escape() {
                        Ok(character) => out.push(character),
                        Err(message) => {
                            self.defect(at, self.at, message, "not an escape sequence of JSON");
                            out.push('\u{fffd}');
                        }
                    }
                }
                Some(byte) => {
                    let character = self.character().expect("peeked");
                    if byte < 0x20 {
                        let message = format!("control character U+{byte:04X} in a string");
                        self.defect(at, self.at, message, format!("write \\u{byte:04x}"));
                    }
                    out.push(character);
                }
            }
        };
        if quote == b'\'' {
            self.defect(start, self.at, "strings take double quotes", "use `\"`");
        }
        (out, closed)
    }

    /// The character of an escape sequence whose backslash is eaten.
    fn escape(&mut self) -> Result<char, &'static str> {
        let at = self.at;
        let escaped = match self.peek() {
            None | Some(b'\n' | b'\r') => return Err("unfinished escape sequence"),
            Some(_) => self.character().expect("peeked"),
        };
        Ok(match escaped {
            '"' | '\\' | '/' => escaped,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let high = self.hexadecimal()?;
                let code = match high {
                    0xd800..=0xdbff => {
                        if !self.text[self.at..].starts_with("\\u") {
                            return Err("half of a surrogate pair");
                        }
                        self.at += 2;
                        let low = self.hexadecimal()?;
                        if !(0xdc00..=0xdfff).contains(&low) {
                            return Err("half of a surrogate pair");
                        }
                        0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                    }
                    _ => high,
                };
                char::from_u32(code).ok_or("half of a surrogate pair")?
            }
            _ => {
                self.at = at + escaped.len_utf8();
                return Err("unknown escape sequence");
            }
        })
    }

    fn hexadecimal(&mut self) -> Result<u32, &'static str> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| (byte as char).to_digit(16)).ok_or("expected four hex digits")?;
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    /// Eats a run of characters that words and numbers consist of.
    fn word(&mut self) -> &str {
        let start = self.at;
        while self.peek().is_some_and(|byte| is_word(byte) || matches!(byte, b'+' | b'-' | b'.')) {
            self.character();
        }
        &self.text[start..self.at]
    }

    fn word_value(&mut self) -> Kind {
        let start = self.at;
        let word = self.word().to_owned();
        let hint = match word.as_str() {
            "true" => return Kind::Bool(true),
            "false" => return Kind::Bool(false),
            "null" => return Kind::Null,
            "True" | "TRUE" => "write true".to_owned(),
            "False" | "FALSE" => "write false".to_owned(),
            "None" | "nil" | "undefined" => "write null".to_owned(),
            "NaN" | "Infinity" | "inf" | "nan" => "JSON has finite numbers only".to_owned(),
            _ => format!("a string is written \"{word}\""),
        };
        self.defect(start, self.at, format!("`{word}` is not a JSON value"), hint);
        Kind::Invalid
    }

    fn number(&mut self) -> Kind {
        let start = self.at;
        let word = self.word().to_owned();
        let fault = match grammar(&word) {
            Ok(true) => match word.parse::<i64>() {
                Ok(value) => return Kind::Integer(value),
                Err(_) => return Kind::Float(Real::new(word.parse().expect("digits are a number"))),
            },
            Ok(false) => {
                let value: f64 = word.parse().expect("the grammar is a part of Rust's");
                if value.is_finite() {
                    return Kind::Float(Real::new(value));
                }
                "beyond the range of a 64-bit number"
            }
            Err(fault) => fault,
        };
        self.defect(start, self.at, format!("`{word}` is not a JSON number"), fault);
        Kind::Invalid
    }
}

/// Whether the number grammar of JSON is met: `Ok(true)` for an integer, `Ok(false)` for another number.
fn grammar(word: &str) -> Result<bool, &'static str> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = word.strip_prefix('-').unwrap_or(word);
    if rest.starts_with('+') {
        return Err("a number has no plus sign");
    }
    let whole = digits(rest);
    if whole == 0 {
        return Err("a number begins with a digit");
    }
    if whole > 1 && rest.starts_with('0') {
        return Err("a number has no leading zeros");
    }
    rest = &rest[whole..];
    let mut integer = true;
    if let Some(fraction) = rest.strip_prefix('.') {
        integer = false;
        let length = digits(fraction);
        if length == 0 {
            return Err("digits must follow the point");
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        integer = false;
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let length = digits(exponent);
        if length == 0 {
            return Err("digits must follow the exponent sign");
        }
        rest = &exponent[length..];
    }
    if rest.is_empty() { Ok(integer) } else { Err("no part of a decimal number") }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

#[cfg(test)]
mod tests;
