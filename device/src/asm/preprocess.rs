//! The C preprocessor as far as assembly needs it.
//!
//! In: file text, predefined macros, an include resolver. Out: logical lines without comments, macros expanded, every
//! byte with its place. Handles continuation, `//`, `#` and `/* */` comments, `#define` (object-like and
//! function-like, `#`, `##`, variadic), `#undef`, `#include`, the `#if` family, `#error`, `#warning`.
//!
//! Properties:
//! 1. A macro is never expanded inside its own expansion (hide sets), and one line expands to at most
//!    [`MAXIMUM_TOKENS`] tokens; includes nest at most [`MAXIMUM_INCLUDES`] deep,
//!    [`MAXIMUM_FILES`] in all.
//! 2. A byte from a macro body has the place of the macro's use, a byte of an argument its own place.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Includes;
use super::diagnostic::{Level, Outcome, Problem};
use super::expression::{Cursor, Expression, Names};
use super::lexer::{self, number_end};
use super::text::{Position, Text, character_length, string_end};

/// Tokens of one expanded line at most.
const MAXIMUM_TOKENS: usize = 200_000;
/// Files of one source at most.
pub(super) const MAXIMUM_FILES: usize = 1024;
/// Depth of includes at most.
const MAXIMUM_INCLUDES: usize = 40;
/// Bytes of all preprocessed text at most.
const MAXIMUM_BYTES: usize = 16 << 20;

const DIRECTIVES: [&str; 13] = [
    "define", "undef", "include", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "warning", "pragma",
    "line",
];

#[derive(Clone, Debug)]
struct Macro {
    /// `None`: object-like.
    parameters: Option<Vec<String>>,
    variadic: bool,
    body: Vec<Token>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Name,
    Number,
    Literal,
    Space,
    Other,
}

/// Names that a token may not be expanded as.
#[derive(Debug)]
struct Hidden {
    name: String,
    more: Option<Rc<Hidden>>,
}

#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    bytes: Vec<u8>,
    at: Position,
    /// Bytes lie side by side in the source (else all of them have the place `at`).
    spread: bool,
    hidden: Option<Rc<Hidden>>,
}

impl Token {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or("")
    }

    fn hides(&self, name: &str) -> bool {
        let mut list = &self.hidden;
        while let Some(h) = list {
            if h.name == name {
                return true;
            }
            list = &h.more;
        }
        false
    }
}

/// A conditional that is open. It is never active inside one that is not, so the innermost one decides.
struct Condition {
    /// The group that stands now is active.
    active: bool,
    /// A group of this conditional has been active.
    taken: bool,
    otherwise: bool,
    at: Position,
}

pub(super) struct Preprocessor<'a> {
    includes: &'a dyn Includes,
    macros: BTreeMap<String, Rc<Macro>>,
    /// File names, indexed by [`Position::file`].
    pub(super) files: Vec<String>,
    pub(super) lines: Vec<Text>,
    pub(super) problems: Vec<(Level, Problem)>,
    bytes: usize,
}

enum Line {
    Text(Text),
    Directive(Text),
}

impl<'a> Preprocessor<'a> {
    pub(super) fn new(includes: &'a dyn Includes, defines: &[(String, String)]) -> Self {
        let mut this = Self {
            includes,
            macros: BTreeMap::new(),
            files: Vec::new(),
            lines: Vec::new(),
            problems: Vec::new(),
            bytes: 0,
        };
        for (name, value) in defines {
            let mut text = Text::default();
            text.push_all(value.as_bytes(), Position::default());
            let body = tokens(&text);
            this.macros.insert(name.clone(), Rc::new(Macro { parameters: None, variadic: false, body }));
        }
        this
    }

    fn error(&mut self, problem: Problem) {
        self.problems.push((Level::Error, problem));
    }

    /// Reads a file to the end; `depth` counts includes.
    pub(super) fn file(&mut self, name: &str, source: &str, depth: usize) {
        let file = self.files.len() as u16;
        self.files.push(name.to_owned());
        let mut conditions: Vec<Condition> = Vec::new();
        let mut lines = logical_lines(source.as_bytes(), file).into_iter().peekable();
        while let Some(line) = lines.next() {
            let active = conditions.last().is_none_or(|c| c.active);
            match line {
                Line::Directive(text) => {
                    if let Err(problem) = self.directive(&text, active, &mut conditions, name, depth) {
                        self.error(problem);
                    }
                }
                Line::Text(mut text) if active => {
                    let expanded = loop {
                        match self.expand(tokens(&text)) {
                            Ok(Expansion::Done(list)) => break Ok(list),
                            // The arguments of a macro may go on in the next lines.
                            Ok(Expansion::Unclosed(at)) => match lines.peek() {
                                Some(Line::Text(_)) => {
                                    let Some(Line::Text(more)) = lines.next() else { break Ok(Vec::new()) };
                                    text.push(b' ', text.position(text.bytes.len()));
                                    text.append(&more);
                                }
                                _ => break Err(Problem::new(at, "argument list of a macro is not closed")),
                            },
                            Err(problem) => break Err(problem),
                        }
                    };
                    match expanded {
                        Ok(list) => {
                            let text = joined(&list);
                            self.bytes += text.bytes.len();
                            if self.bytes > MAXIMUM_BYTES {
                                self.error(Problem::new(text.position(0), "preprocessed text is too large"));
                                return;
                            }
                            self.lines.push(text);
                        }
                        Err(problem) => self.error(problem),
                    }
                }
                Line::Text(_) => {}
            }
        }
        for c in conditions {
            self.error(Problem::new(c.at, "#if without #endif"));
        }
    }

    fn directive(
        &mut self,
        text: &Text,
        active: bool,
        conditions: &mut Vec<Condition>,
        file: &str,
        depth: usize,
    ) -> Outcome<()> {
        let list: Vec<Token> = tokens(text);
        let mut rest = list.iter().skip_while(|t| t.kind == Kind::Space);
        let at = rest.next().map_or(text.position(0), |t| t.at); // the `#`
        let word = rest.find(|t| t.kind != Kind::Space).map_or("", Token::text).to_owned();
        let rest: Vec<Token> = rest.skip_while(|t| t.kind == Kind::Space).cloned().collect();
        let first = rest.first().filter(|t| t.kind == Kind::Name);
        match word.as_str() {
            "if" | "ifdef" | "ifndef" => {
                let holds = match word.as_str() {
                    _ if !active => Ok(false),
                    "if" => self.condition(rest, at),
                    _ => first
                        .map(|name| self.macros.contains_key(name.text()) == (word == "ifdef"))
                        .ok_or_else(|| Problem::new(at, format!("#{word} needs a name"))),
                };
                // Inside an inactive group nothing becomes active: `taken` keeps #else and #elif off.
                let now = holds.as_ref().is_ok_and(|&h| h);
                conditions.push(Condition { active: now, taken: now || !active, otherwise: false, at });
                holds.map(|_| ())
            }
            "elif" => {
                let Some(top) = conditions.last() else { return Err(Problem::new(at, "#elif without #if")) };
                if top.otherwise {
                    return Err(Problem::new(at, "#elif after #else"));
                }
                let holds = !top.taken && self.condition(rest, at)?;
                if let Some(top) = conditions.last_mut() {
                    top.active = holds;
                    top.taken |= holds;
                }
                Ok(())
            }
            "else" => {
                let Some(top) = conditions.last_mut() else { return Err(Problem::new(at, "#else without #if")) };
                if top.otherwise {
                    return Err(Problem::new(at, "second #else"));
                }
                top.otherwise = true;
                top.active = !top.taken;
                top.taken = true;
                Ok(())
            }
            "endif" => conditions.pop().map(|_| ()).ok_or_else(|| Problem::new(at, "#endif without #if")),
            _ if !active => Ok(()),
            "define" => self.define(&rest, at),
            "undef" => {
                let Some(name) = first else { return Err(Problem::new(at, "#undef needs a name")) };
                self.macros.remove(name.text());
                Ok(())
            }
            "include" => self.include(rest, at, file, depth),
            "error" => Err(Problem::new(at, format!("#error {}", joined(&rest).display().trim()))),
            "warning" => {
                let message = format!("#warning {}", joined(&rest).display().trim());
                self.problems.push((Level::Warning, Problem::new(at, message)));
                Ok(())
            }
            _ => Ok(()), // #pragma, #line
        }
    }

    fn include(&mut self, rest: Vec<Token>, at: Position, file: &str, depth: usize) -> Outcome<()> {
        let expanded = match rest.first() {
            Some(t) if t.kind == Kind::Name => match self.expand(rest)? {
                Expansion::Done(list) => list,
                Expansion::Unclosed(at) => return Err(Problem::new(at, "argument list of a macro is not closed")),
            },
            _ => rest,
        };
        let text = joined(&expanded).display();
        let text = text.trim();
        let name = text
            .strip_prefix('"')
            .and_then(|t| t.strip_suffix('"'))
            .or_else(|| text.strip_prefix('<').and_then(|t| t.strip_suffix('>')));
        let Some(name) = name.filter(|n| !n.is_empty()) else {
            return Err(Problem::new(at, "#include needs \"file\" or <file>"));
        };
        if depth >= MAXIMUM_INCLUDES {
            return Err(Problem::new(at, format!("#include nested more than {MAXIMUM_INCLUDES} deep")));
        }
        if self.files.len() >= MAXIMUM_FILES {
            // Said once: the includes that are still open may ask for many more.
            let message = format!("more than {MAXIMUM_FILES} files are included");
            if self.problems.iter().any(|(_, p)| p.message == message) {
                return Ok(());
            }
            return Err(Problem::new(at, message));
        }
        match self.includes.read(name, file) {
            Some((path, source)) => {
                self.file(&path, &source, depth + 1);
                Ok(())
            }
            None => Err(Problem::new(at, format!("cannot find include file `{name}`"))),
        }
    }

    fn define(&mut self, rest: &[Token], at: Position) -> Outcome<()> {
        let Some(name) = rest.first().filter(|t| t.kind == Kind::Name) else {
            return Err(Problem::new(at, "#define needs a name"));
        };
        let mut i = 1;
        let mut parameters = None;
        let mut variadic = false;
        if rest.get(1).is_some_and(|t| t.bytes == b"(") {
            i += 1;
            let mut list = Vec::new();
            loop {
                while rest.get(i).is_some_and(|t| t.kind == Kind::Space || t.bytes == b",") {
                    i += 1;
                }
                let Some(t) = rest.get(i) else {
                    return Err(Problem::new(at, "parameter list of a #define is not closed"));
                };
                i += 1;
                match t.kind {
                    _ if t.bytes == b")" => break,
                    _ if t.bytes == b"." => {
                        if !variadic {
                            list.push("__VA_ARGS__".to_owned());
                        }
                        variadic = true;
                    }
                    Kind::Name if !variadic => list.push(t.text().to_owned()),
                    _ => return Err(Problem::new(t.at, "bad parameter of a #define")),
                }
            }
            parameters = Some(list);
        }
        let mut body: Vec<Token> = rest[i..].to_vec();
        while body.first().is_some_and(|t| t.kind == Kind::Space) {
            body.remove(0);
        }
        while body.last().is_some_and(|t| t.kind == Kind::Space) {
            body.pop();
        }
        self.macros.insert(name.text().to_owned(), Rc::new(Macro { parameters, variadic, body }));
        Ok(())
    }

    /// The value of an `#if`.
    fn condition(&self, mut list: Vec<Token>, at: Position) -> Outcome<bool> {
        let mut i = 0;
        while i < list.len() {
            if list[i].text() == "defined" {
                let parts: Vec<usize> = (i + 1..list.len()).filter(|&j| list[j].kind != Kind::Space).take(3).collect();
                let word = |k: usize| parts.get(k).map_or("", |&j| list[j].text());
                let (name, last) =
                    if word(0) == "(" && word(2) == ")" { (word(1), parts.get(2)) } else { (word(0), parts.first()) };
                let Some(&last) = last.filter(|_| !name.is_empty()) else {
                    return Err(Problem::new(at, "defined needs a name"));
                };
                let digit = if self.macros.contains_key(name) { b"1" } else { b"0" };
                let token = Token { kind: Kind::Number, bytes: digit.to_vec(), ..list[i].clone() };
                list.splice(i..=last, [token]);
            }
            i += 1;
        }
        let Expansion::Done(list) = self.expand(list)? else {
            return Err(Problem::new(at, "argument list of a macro is not closed"));
        };
        let text = joined(&list);
        let tokens = lexer::tokens(&text)?;
        let mut cursor = Cursor::new(&text, &tokens);
        if cursor.at_end() {
            return Err(Problem::new(at, "#if needs an expression"));
        }
        let value = cursor.expression(&mut Zero)?;
        cursor.expect_end()?;
        Ok(value.number() != Some(0))
    }

    fn expand(&self, list: Vec<Token>) -> Outcome<Expansion> {
        let mut budget = MAXIMUM_TOKENS;
        self.expand_within(list, &mut budget, 0)
    }

    fn expand_within(&self, list: Vec<Token>, budget: &mut usize, depth: usize) -> Outcome<Expansion> {
        let mut input: Vec<Token> = list.into_iter().rev().collect();
        let mut out = Vec::new();
        while let Some(token) = input.pop() {
            let known = if token.kind == Kind::Name { self.macros.get(token.text()) } else { None };
            let Some(definition) = known.filter(|_| !token.hides(token.text())) else {
                out.push(token);
                continue;
            };
            let body = match &definition.parameters {
                None => substituted(definition, &[], &[]).map_err(|m| Problem::new(token.at, m))?,
                Some(parameters) => {
                    let open = input.iter().rposition(|t| t.kind != Kind::Space);
                    let Some(open) = open.filter(|&i| input[i].bytes == b"(") else {
                        out.push(token);
                        continue;
                    };
                    let Some((arguments, close)) = arguments(&input, open) else {
                        return Ok(Expansion::Unclosed(token.at));
                    };
                    input.truncate(close);
                    let arguments = fit(arguments, parameters.len(), definition.variadic).map_err(|found| {
                        let message =
                            format!("macro `{}` takes {} arguments, found {found}", token.text(), parameters.len());
                        Problem::new(token.at, message)
                    })?;
                    if depth > 100 {
                        return Err(Problem::new(token.at, "macro arguments are nested too deeply"));
                    }
                    let mut expanded = Vec::new();
                    for a in &arguments {
                        match self.expand_within(a.clone(), budget, depth + 1)? {
                            Expansion::Done(list) => expanded.push(list),
                            Expansion::Unclosed(at) => {
                                return Err(Problem::new(at, "argument list of a macro is not closed"));
                            }
                        }
                    }
                    substituted(definition, &arguments, &expanded).map_err(|m| Problem::new(token.at, m))?
                }
            };
            let used = body.len() + body.iter().map(|t| t.bytes.len()).sum::<usize>() / 8 + 1;
            *budget = budget.checked_sub(used).ok_or_else(|| Problem::new(token.at, "macro expansion is too large"))?;
            let name = token.text().to_owned();
            for mut t in body.into_iter().rev() {
                t.hidden = Some(Rc::new(Hidden { name: name.clone(), more: t.hidden.take().or(token.hidden.clone()) }));
                if !t.spread {
                    t.at = token.at;
                }
                input.push(t);
            }
        }
        Ok(Expansion::Done(out))
    }
}

enum Expansion {
    Done(Vec<Token>),
    /// A function-like macro whose arguments do not end in this line.
    Unclosed(Position),
}

/// Every name left in an `#if` is 0.
struct Zero;

impl Names for Zero {
    fn name(&mut self, _: &str) -> Result<Expression, String> {
        Ok(Expression::Number(0))
    }
    fn local(&mut self, number: u32, _: bool) -> Result<Expression, String> {
        Err(format!("local label {number} in a #if"))
    }
}

/// The arguments between the parenthesis at `open` of the reversed `input` and its match, and the index of the match.
fn arguments(input: &[Token], open: usize) -> Option<(Vec<Vec<Token>>, usize)> {
    let mut list = vec![Vec::new()];
    let mut depth = 0;
    for i in (0..=open).rev() {
        let t = &input[i];
        match t.bytes.as_slice() {
            b"(" => {
                depth += 1;
                if depth == 1 {
                    continue;
                }
            }
            b")" => {
                depth -= 1;
                if depth == 0 {
                    return Some((list, i));
                }
            }
            b"," if depth == 1 => {
                list.push(Vec::new());
                continue;
            }
            _ => {}
        }
        list.last_mut()?.push(t.clone());
    }
    None
}

/// As many arguments as there are parameters, without outer spaces; the number found if that cannot be.
fn fit(mut arguments: Vec<Vec<Token>>, parameters: usize, variadic: bool) -> Result<Vec<Vec<Token>>, usize> {
    for a in &mut arguments {
        while a.first().is_some_and(|t| t.kind == Kind::Space) {
            a.remove(0);
        }
        while a.last().is_some_and(|t| t.kind == Kind::Space) {
            a.pop();
        }
    }
    if parameters == 0 && arguments.len() == 1 && arguments[0].is_empty() {
        return Ok(Vec::new());
    }
    if variadic {
        if arguments.len() + 1 == parameters {
            arguments.push(Vec::new());
        }
        while arguments.len() > parameters {
            let last = arguments.pop().unwrap_or_default();
            if let Some(before) = arguments.last_mut() {
                before.push(plain(b","));
                before.extend(last);
            }
        }
    }
    if arguments.len() == parameters { Ok(arguments) } else { Err(arguments.len()) }
}

fn plain(bytes: &[u8]) -> Token {
    Token { kind: Kind::Other, bytes: bytes.to_vec(), at: Position::default(), spread: false, hidden: None }
}

/// The body of a macro with arguments put in: raw beside `#` and `##`, expanded elsewhere.
fn substituted(definition: &Macro, raw: &[Vec<Token>], expanded: &[Vec<Token>]) -> Result<Vec<Token>, String> {
    let parameter = |t: &Token| {
        let list = definition.parameters.as_ref()?;
        if t.kind == Kind::Name { list.iter().position(|p| p == t.text()) } else { None }
    };
    let body = &definition.body;
    let next = |from: usize| (from..body.len()).find(|&i| body[i].kind != Kind::Space);
    let is_paste = |i: usize| body[i].bytes == b"##";
    let mut out: Vec<Token> = Vec::new();
    let mut paste = false;
    let mut i = 0;
    while i < body.len() {
        let t = &body[i];
        if is_paste(i) {
            while out.last().is_some_and(|t| t.kind == Kind::Space) {
                out.pop();
            }
            paste = true;
            i = next(i + 1).unwrap_or(body.len());
            continue;
        }
        let mut piece: Vec<Token> = if t.bytes == b"#" && next(i + 1).is_some_and(|j| parameter(&body[j]).is_some()) {
            let j = next(i + 1).unwrap_or(i);
            i = j;
            let index = parameter(&body[j]).unwrap_or(0);
            let mut bytes = vec![b'"'];
            for t in &raw[index] {
                for &b in &t.bytes {
                    if t.kind == Kind::Literal && matches!(b, b'"' | b'\\') {
                        bytes.push(b'\\');
                    }
                    bytes.push(b);
                }
            }
            bytes.push(b'"');
            vec![Token { kind: Kind::Literal, bytes, ..plain(b"") }]
        } else if let Some(index) = parameter(t) {
            let beside = paste || next(i + 1).is_some_and(is_paste);
            if beside { raw[index].clone() } else { expanded[index].clone() }
        } else {
            vec![Token { spread: false, ..t.clone() }]
        };
        if paste && !piece.is_empty() {
            paste = false;
            if let Some(last) = out.last_mut().filter(|t| t.kind != Kind::Space) {
                let first = piece.remove(0);
                last.bytes.extend_from_slice(&first.bytes);
                last.spread = false;
                last.kind = kind_of(&last.bytes);
            }
        }
        out.extend(piece);
        if paste && next(i + 1).is_none_or(|j| !is_paste(j)) {
            paste = false; // an empty argument was pasted
        }
        i += 1;
        if out.len() > MAXIMUM_TOKENS {
            return Err("macro expansion is too large".into());
        }
    }
    Ok(out)
}

fn kind_of(bytes: &[u8]) -> Kind {
    match bytes.first() {
        Some(b) if b.is_ascii_alphabetic() || *b == b'_' => Kind::Name,
        Some(b) if b.is_ascii_digit() => Kind::Number,
        Some(b'"' | b'\'') => Kind::Literal,
        Some(b) if b.is_ascii_whitespace() => Kind::Space,
        _ => Kind::Other,
    }
}

fn tokens(text: &Text) -> Vec<Token> {
    let bytes = &text.bytes;
    let mut list = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        let kind = kind_of(&bytes[i..=i]);
        match kind {
            Kind::Name => {
                while i < bytes.len() && (bytes[i].is_ascii_alphanumeric() || bytes[i] == b'_') {
                    i += 1;
                }
            }
            Kind::Number => i = number_end(bytes, i),
            Kind::Space => {
                while i < bytes.len() && bytes[i].is_ascii_whitespace() {
                    i += 1;
                }
            }
            Kind::Literal if bytes[i] == b'"' => i = string_end(bytes, i),
            Kind::Literal => i += character_length(&bytes[i..]).unwrap_or(1),
            Kind::Other => i += if bytes[i..].starts_with(b"##") { 2 } else { 1 },
        }
        // Joined lines have gaps: such a token keeps only its first place, which is near enough.
        let at = text.at[start];
        list.push(Token { kind, bytes: bytes[start..i].to_vec(), at, spread: true, hidden: None });
    }
    list
}

fn joined(list: &[Token]) -> Text {
    let mut text = Text::default();
    for t in list {
        for (i, &b) in t.bytes.iter().enumerate() {
            let column = t.at.column + if t.spread { i as u32 } else { 0 };
            text.push(b, Position { column, ..t.at });
        }
    }
    text
}

/// Cuts source into logical lines: continuations joined, comments dropped.
fn logical_lines(source: &[u8], file: u16) -> Vec<Line> {
    let mut out = Vec::new();
    let mut text = Text::default();
    let mut directive = false;
    let (mut line, mut column) = (1, 1);
    let mut i = 0;
    let mut comment: Option<u8> = None; // b'*' block, b'/' to the end of the line
    while i < source.len() {
        let b = source[i];
        let rest = &source[i..];
        let at = Position { file, line, column };
        let newline = if rest.starts_with(b"\r\n") { 2 } else { usize::from(b == b'\n') };
        if newline > 0 {
            i += newline;
            line += 1;
            column = 1;
            if comment == Some(b'*') {
                continue;
            }
            comment = None;
            finish(&mut out, &mut text, &mut directive);
            continue;
        }
        let continued = if rest.starts_with(b"\\\r\n") { 3 } else { 2 };
        if rest.starts_with(b"\\\n") || rest.starts_with(b"\\\r\n") {
            i += continued;
            line += 1;
            column = 1;
            continue;
        }
        let mut length = 1;
        match comment {
            Some(b'*') => {
                if rest.starts_with(b"*/") {
                    length = 2;
                    comment = None;
                }
            }
            Some(_) => {}
            None if rest.starts_with(b"/*") => {
                length = 2;
                comment = Some(b'*');
                text.push(b' ', at);
            }
            None if rest.starts_with(b"//") => comment = Some(b'/'),
            None if b == b'#' && !directive => {
                if text.is_blank() && is_directive(&rest[1..]) {
                    directive = true;
                    text.push(b, at);
                } else {
                    comment = Some(b'/');
                }
            }
            None => {
                length = match b {
                    b'"' => string_end(rest, 0),
                    b'\'' => character_length(rest).unwrap_or(1),
                    _ => 1,
                };
                // A string ends at its line at the latest.
                if let Some(end) = rest[..length].iter().position(|&b| b == b'\n') {
                    length = end.max(1);
                }
                for (k, &b) in rest[..length].iter().enumerate() {
                    text.push(b, Position { column: column + k as u32, ..at });
                }
            }
        }
        i += length;
        column += length as u32;
    }
    finish(&mut out, &mut text, &mut directive);
    out
}

fn finish(out: &mut Vec<Line>, text: &mut Text, directive: &mut bool) {
    let text = std::mem::take(text);
    let was = std::mem::replace(directive, false);
    if was {
        out.push(Line::Directive(text));
    } else if !text.is_blank() {
        out.push(Line::Text(text));
    }
}

fn is_directive(rest: &[u8]) -> bool {
    let rest = rest.trim_ascii_start();
    let length = rest.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(rest.len());
    DIRECTIVES.iter().any(|d| d.as_bytes() == &rest[..length])
}
