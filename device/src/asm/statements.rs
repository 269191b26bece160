//! The stream of statements: lines cut at `;`, with the expansions of macros and repetitions put in front.
//!
//! In: preprocessed lines. Out: one [`Segment`] after the other. Bundles are not known here: braces stay in the text.
//!
//! Properties:
//! 1. At most [`MAXIMUM_DEPTH`] expansions stand inside each other and at most [`MAXIMUM_BYTES`] bytes come from
//!    expansions in one file, so that every source comes to an end.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::diagnostic::{Outcome, Problem};
use super::text::{Position, Text, character_length, is_name, is_name_start, string_end};

/// Expansions inside each other at most.
const MAXIMUM_DEPTH: usize = 100;
/// Bytes from expansions at most.
const MAXIMUM_BYTES: usize = 8 << 20;

/// Where an expansion comes from, for the notes of a diagnostic.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) what: String,
    pub(super) at: Position,
    pub(super) outer: Option<Rc<Trace>>,
}

/// Text between two separators.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) text: Text,
    pub(super) trace: Option<Rc<Trace>>,
}

struct Frame {
    segments: std::vec::IntoIter<Segment>,
    /// For `.exitm`: this frame is a macro's, and so many conditionals were open at its start.
    conditions: Option<usize>,
}

pub(super) struct Statements {
    frames: Vec<Frame>,
    bytes: usize,
}

impl Statements {
    pub(super) fn new(lines: &[Text]) -> Self {
        let segments: Vec<Segment> = lines.iter().flat_map(|line| cut(line, None)).collect();
        Self { frames: vec![Frame { segments: segments.into_iter(), conditions: None }], bytes: 0 }
    }

    pub(super) fn next(&mut self) -> Option<Segment> {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(segment) = frame.segments.next() {
                return Some(segment);
            }
            self.frames.pop();
        }
        None
    }

    /// Puts an expansion in front; `conditions` is given for macros only. At a limit nothing more is read (P1).
    pub(super) fn push(&mut self, texts: &[Text], trace: Rc<Trace>, conditions: Option<usize>) -> Outcome<()> {
        if self.frames.len() > MAXIMUM_DEPTH {
            let message = format!("expansions are nested more than {MAXIMUM_DEPTH} deep");
            self.stop();
            return Err(Problem::new(trace.at, message));
        }
        self.bytes += texts.iter().map(|t| t.bytes.len() + 1).sum::<usize>();
        if self.bytes > MAXIMUM_BYTES {
            self.stop();
            return Err(Problem::new(trace.at, "macro expansion is too large"));
        }
        let segments: Vec<Segment> = texts.iter().flat_map(|t| cut(t, Some(&trace))).collect();
        self.frames.push(Frame { segments: segments.into_iter(), conditions });
        Ok(())
    }

    /// Leaves the innermost macro; the number of conditionals that were open at its start.
    pub(super) fn leave_macro(&mut self) -> Option<usize> {
        let index = self.frames.iter().rposition(|f| f.conditions.is_some())?;
        let conditions = self.frames[index].conditions;
        self.frames.truncate(index);
        conditions
    }

    /// Drops everything that is left (`.end`).
    pub(super) fn stop(&mut self) {
        self.frames.clear();
    }

    /// The segments up to the one whose directive is in `closing`, which is dropped; directives in `opening` nest.
    pub(super) fn block(&mut self, opening: &[&str], closing: &[&str], at: Position, what: &str) -> Outcome<Vec<Text>> {
        let mut depth = 0;
        let mut body = Vec::new();
        while let Some(segment) = self.next() {
            let word = first_word(&segment.text.bytes);
            if opening.contains(&word.as_str()) {
                depth += 1;
            } else if closing.contains(&word.as_str()) {
                if depth == 0 {
                    return Ok(body);
                }
                depth -= 1;
            }
            body.push(segment.text);
        }
        Err(Problem::new(at, format!("{what} without {}", closing[0])))
    }
}

/// Cuts a line at `;` and drops an assembler comment that macro expansion left.
fn cut(line: &Text, trace: Option<&Rc<Trace>>) -> Vec<Segment> {
    let bytes = &line.bytes;
    let mut out = Vec::new();
    let (mut start, mut i) = (0, 0);
    let mut end = bytes.len();
    let mut push = |from: usize, to: usize| {
        let text = line.slice(from, to);
        if !text.is_blank() {
            out.push(Segment { text, trace: trace.cloned() });
        }
    };
    while i < bytes.len() {
        match bytes[i] {
            b'"' => i = string_end(bytes, i),
            b'\'' => i += character_length(&bytes[i..]).unwrap_or(1),
            b'#' => {
                end = i;
                break;
            }
            b';' | b'\n' => {
                push(start, i);
                i += 1;
                start = i;
            }
            _ => i += 1,
        }
    }
    push(start.min(end), end);
    out
}

/// The first word of a statement after braces and labels.
pub(super) fn first_word(bytes: &[u8]) -> String {
    let mut i = 0;
    loop {
        while i < bytes.len() && (bytes[i].is_ascii_whitespace() || matches!(bytes[i], b'{' | b'}')) {
            i += 1;
        }
        let start = i;
        while i < bytes.len() && is_name(bytes[i]) {
            i += 1;
        }
        let word = &bytes[start..i];
        let after = i + bytes[i..].iter().take_while(|b| b.is_ascii_whitespace()).count();
        if !word.is_empty() && bytes.get(after) == Some(&b':') {
            i = after + 1;
            continue;
        }
        return String::from_utf8_lossy(word).into_owned();
    }
}

/// One parameter of a `.macro`.
#[derive(Clone, Debug)]
struct Parameter {
    name: String,
    default: Option<Text>,
    required: bool,
    variadic: bool,
}

/// A `.macro`.
#[derive(Debug)]
pub(super) struct Macro {
    pub(super) name: String,
    parameters: Vec<Parameter>,
    body: Vec<Text>,
}

impl Macro {
    /// From what follows `.macro` on its line, and the body.
    pub(super) fn new(head: &Text, body: Vec<Text>, at: Position) -> Outcome<Self> {
        let bytes = &head.bytes;
        let mut i = skip_space(bytes, 0);
        let name = word(bytes, &mut i);
        if name.is_empty() {
            return Err(Problem::new(at, ".macro needs a name"));
        }
        let mut parameters: Vec<Parameter> = Vec::new();
        loop {
            i = skip_space(bytes, i);
            if bytes.get(i) == Some(&b',') {
                i = skip_space(bytes, i + 1);
            }
            if i >= bytes.len() {
                break;
            }
            let place = head.position(i);
            let name = word(bytes, &mut i);
            if name.is_empty() {
                return Err(Problem::new(place, "parameter name expected"));
            }
            if parameters.iter().any(|p| p.name == name) {
                return Err(Problem::new(place, format!("parameter `{name}` is there twice")));
            }
            if parameters.last().is_some_and(|p| p.variadic) {
                return Err(Problem::new(place, "parameter after a vararg"));
            }
            let mut parameter = Parameter { name, default: None, required: false, variadic: false };
            let mut j = skip_space(bytes, i);
            if bytes.get(j) == Some(&b':') {
                j += 1;
                match word(bytes, &mut j).as_str() {
                    "req" => parameter.required = true,
                    "vararg" => parameter.variadic = true,
                    other => {
                        return Err(Problem::new(place, format!("unknown parameter qualifier `{other}`")));
                    }
                }
                i = j;
                j = skip_space(bytes, i);
            }
            if bytes.get(j) == Some(&b'=') {
                i = skip_space(bytes, j + 1);
                let (value, end) = argument(head, i);
                parameter.default = Some(value);
                i = end;
            }
            parameters.push(parameter);
        }
        Ok(Self { name, parameters, body })
    }

    /// The body with the arguments of one use; `counter` stands for `\@`.
    pub(super) fn expand(&self, arguments: &Text, counter: u32, at: Position) -> Outcome<Vec<Text>> {
        let mut values: Vec<Option<Text>> = vec![None; self.parameters.len()];
        let bytes = &arguments.bytes;
        let mut i = skip_space(bytes, 0);
        let mut next = 0;
        while i < bytes.len() {
            let place = arguments.position(i);
            if self.parameters.get(next).is_some_and(|p| p.variadic) {
                values[next] = Some(arguments.slice(i, bytes.len()).trimmed());
                break;
            }
            let mut index = next;
            let mut j = i;
            let key = word(bytes, &mut j);
            let mut start = i;
            if !key.is_empty()
                && bytes.get(j) == Some(&b'=')
                && bytes.get(j + 1) != Some(&b'=')
                && let Some(named) = self.parameters.iter().position(|p| p.name == key)
            {
                index = named;
                start = j + 1;
            }
            let (value, end) = argument(arguments, start);
            let Some(slot) = values.get_mut(index) else {
                let message = format!("macro `{}` takes {} arguments at most", self.name, self.parameters.len());
                return Err(Problem::new(place, message));
            };
            if !value.bytes.is_empty() {
                *slot = Some(value);
            }
            next = index + 1;
            i = skip_space(bytes, end);
            if bytes.get(i) == Some(&b',') {
                i = skip_space(bytes, i + 1);
            }
        }
        let mut bound: BTreeMap<&str, Text> = BTreeMap::new();
        for (parameter, value) in self.parameters.iter().zip(values) {
            if value.is_none() && parameter.required {
                let message = format!("macro `{}` needs its argument `{}`", self.name, parameter.name);
                return Err(Problem::new(at, message));
            }
            let value = value.or_else(|| parameter.default.clone()).unwrap_or_default();
            bound.insert(&parameter.name, value);
        }
        Ok(self.body.iter().map(|line| substitute(line, &bound, Some(counter))).collect())
    }
}

/// A body with `\name` replaced; `\()` vanishes, `\@` is the counter.
pub(super) fn substitute(line: &Text, bound: &BTreeMap<&str, Text>, counter: Option<u32>) -> Text {
    let bytes = &line.bytes;
    let mut out = Text::default();
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] != b'\\' {
            out.push(bytes[i], line.at[i]);
            i += 1;
            continue;
        }
        if bytes[i..].starts_with(b"\\()") && counter.is_some() {
            i += 3;
            continue;
        }
        if let (Some(n), true) = (counter, bytes[i..].starts_with(b"\\@")) {
            out.push_all(n.to_string().as_bytes(), line.at[i]);
            i += 2;
            continue;
        }
        let mut end = i + 1;
        while end < bytes.len() && (bytes[end].is_ascii_alphanumeric() || matches!(bytes[end], b'_' | b'$')) {
            end += 1;
        }
        let name = std::str::from_utf8(&bytes[i + 1..end]).unwrap_or("");
        if let Some(value) = bound.get(name) {
            out.push_all(&value.bytes, line.at[i]);
        } else {
            out.append(&line.slice(i, end));
        }
        i = end;
    }
    out
}

/// The arguments of an `.irp`: separated by commas or spaces.
pub(super) fn list(text: &Text) -> Vec<Text> {
    let bytes = &text.bytes;
    let mut out = Vec::new();
    let mut i = skip_space(bytes, 0);
    while i < bytes.len() {
        let (value, end) = argument(text, i);
        out.push(value);
        i = skip_space(bytes, end);
        if bytes.get(i) == Some(&b',') {
            i = skip_space(bytes, i + 1);
        }
    }
    out
}

/// One macro argument from `start`: up to a comma, or to a space which no operator stands beside. A string that is
/// the whole argument loses its quotes.
fn argument(text: &Text, start: usize) -> (Text, usize) {
    let bytes = &text.bytes;
    let operator = |b: u8| b"+-*/%&|^<>=!~".contains(&b);
    let mut depth = 0u32;
    let mut i = start;
    while i < bytes.len() {
        match bytes[i] {
            b'"' => {
                i = string_end(bytes, i);
                continue;
            }
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => break,
            b if b.is_ascii_whitespace() && depth == 0 => {
                let after = skip_space(bytes, i);
                let joins = bytes.get(after).is_some_and(|&b| operator(b)) || i > start && operator(bytes[i - 1]);
                if !joins {
                    break;
                }
                i = after;
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    let value = text.slice(start, i).trimmed();
    let quoted = value.bytes.len() >= 2 && value.bytes[0] == b'"' && string_end(&value.bytes, 0) == value.bytes.len();
    let value = if quoted { value.slice(1, value.bytes.len() - 1) } else { value };
    // An argument is never empty unless a comma ends it, so the caller always moves on.
    (value, if i == start && bytes.get(i) != Some(&b',') { i + 1 } else { i })
}

fn skip_space(bytes: &[u8], mut i: usize) -> usize {
    while i < bytes.len() && bytes[i].is_ascii_whitespace() {
        i += 1;
    }
    i
}

fn word(bytes: &[u8], i: &mut usize) -> String {
    let start = *i;
    if bytes.get(start).is_some_and(|&b| is_name_start(b)) {
        while *i < bytes.len() && is_name(bytes[*i]) {
            *i += 1;
        }
    }
    String::from_utf8_lossy(&bytes[start..*i]).into_owned()
}
