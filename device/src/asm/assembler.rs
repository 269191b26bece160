//! The pass over the statements: labels, conditionals, macros; instructions and data go to `bundle` and `directive`.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::bundle::OpenBundle;
use super::diagnostic::{Diagnostic, Level, Outcome, Problem};
use super::expression::{Cursor, Expression, Names, Value};
use super::lexer::{self, Kind};
use super::operands::{self, is_reserved};
use super::preprocess::{MAXIMUM_FILES, Preprocessor};
use super::section::{Fixup, Repeat, Section, default_attributes};
use super::select::Rules;
use super::statements::{Macro, Segment, Statements, Trace, first_word};
use super::symbols::{Definition, Symbols};
use super::text::{Position, Text, character_length, is_name, is_name_start, string_end};
use super::{HexLine, Options, alias};
use crate::isa::{Context, csr_by_name};

/// Errors after which the pass stops.
const MAXIMUM_ERRORS: usize = 100;
/// Statements of one source at most, expansions included.
const MAXIMUM_STATEMENTS: usize = 4_000_000;

/// One `.if` that is open. It is never active inside one that is not, so the innermost one decides.
pub(super) struct Condition {
    pub(super) active: bool,
    pub(super) taken: bool,
    pub(super) otherwise: bool,
    pub(super) at: Position,
}

/// An instruction statement, for `--hex`.
pub(super) struct Listed {
    pub(super) section: usize,
    pub(super) offset: u32,
    pub(super) bytes: u32,
    pub(super) source: String,
}

pub(super) struct Assembler<'a> {
    pub(super) options: &'a Options<'a>,
    files: Vec<String>,
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    pub(super) statements: Statements,
    pub(super) macros: BTreeMap<String, Rc<Macro>>,
    pub(super) macro_count: u32,
    pub(super) conditions: Vec<Condition>,
    pub(super) symbols: Symbols,
    pub(super) sections: Vec<Section>,
    pub(super) current: usize,
    pub(super) previous: usize,
    pub(super) section_stack: Vec<(usize, usize)>,
    pub(super) rules: Rules,
    pub(super) bundle: Option<OpenBundle>,
    pub(super) fixups: Vec<Fixup>,
    pub(super) repeats: Vec<Repeat>,
    pub(super) listed: Vec<Listed>,
    /// Place of the statement that is read now.
    here: Position,
    /// Where the statement comes from that is read now.
    pub(super) trace: Option<Rc<Trace>>,
}

impl<'a> Assembler<'a> {
    /// Preprocesses the source.
    pub(super) fn new(file_name: &str, source: &str, options: &'a Options<'a>) -> Self {
        let mut preprocessor = Preprocessor::new(options.includes, &options.defines);
        preprocessor.file(file_name, source, 0);
        let mut this = Self {
            options,
            files: preprocessor.files,
            diagnostics: Vec::new(),
            errors: 0,
            statements: Statements::new(&preprocessor.lines),
            macros: BTreeMap::new(),
            macro_count: 0,
            conditions: Vec::new(),
            symbols: Symbols::default(),
            sections: vec![Section::new(".text", default_attributes(".text"))],
            current: 0,
            previous: 0,
            section_stack: Vec::new(),
            rules: Rules::new(options.context),
            bundle: None,
            fixups: Vec::new(),
            repeats: Vec::new(),
            listed: Vec::new(),
            here: Position { file: 0, line: 1, column: 1 },
            trace: None,
        };
        for (name, value) in options.flags.iter() {
            let id = this.symbols.intern(name);
            this.symbols.list[id].definition = Definition::Set(Expression::Number(i64::from(value)));
            this.symbols.list[id].predefined = true;
        }
        for (level, problem) in preprocessor.problems {
            this.say(level, problem);
        }
        this
    }

    pub(super) fn say(&mut self, level: Level, mut problem: Problem) {
        // The end of an empty text has no place of its own.
        if problem.at.line == 0 {
            problem.at = self.here;
        }
        let mut notes = Vec::new();
        let mut trace = self.trace.as_deref();
        while let Some(t) = trace {
            if notes.len() == 5 {
                notes.push("...".to_owned());
                break;
            }
            notes.push(format!("in {} at {}", t.what, self.place(t.at)));
            trace = t.outer.as_deref();
        }
        self.errors += usize::from(level == Level::Error);
        self.diagnostics.push(Diagnostic {
            level,
            file: self.files.get(problem.at.file as usize).cloned().unwrap_or_default(),
            line: problem.at.line,
            column: problem.at.column,
            message: problem.message,
            notes,
        });
    }

    pub(super) fn error(&mut self, problem: Problem) {
        self.say(Level::Error, problem);
    }

    pub(super) fn warn(&mut self, problem: Problem) {
        self.say(Level::Warning, problem);
    }

    /// A breach of an alignment or repeat rule.
    pub(super) fn breach(&mut self, problem: Problem) {
        let level = if self.options.enforce_layout { Level::Error } else { Level::Warning };
        self.say(level, problem);
    }

    pub(super) fn place(&self, at: Position) -> String {
        let file = self.files.get(at.file as usize).map_or("", String::as_str);
        format!("{file}:{}:{}", at.line, at.column)
    }

    pub(super) fn file_name(&self, at: Position) -> &str {
        self.files.get(at.file as usize).map_or("", String::as_str)
    }

    /// Preprocesses an `.include`d file and gives its lines.
    pub(super) fn include(&mut self, name: &str, at: Position) -> Outcome<Vec<Text>> {
        if self.files.len() >= MAXIMUM_FILES {
            return Err(Problem::new(at, format!("more than {MAXIMUM_FILES} files are included")));
        }
        let found = self.options.includes.read(name, self.file_name(at));
        let Some((path, source)) = found else {
            return Err(Problem::new(at, format!("cannot find include file `{name}`")));
        };
        let mut preprocessor = Preprocessor::new(self.options.includes, &self.options.defines);
        preprocessor.files = std::mem::take(&mut self.files);
        preprocessor.file(&path, &source, 1);
        self.files = preprocessor.files;
        for (level, problem) in preprocessor.problems {
            self.say(level, problem);
        }
        Ok(preprocessor.lines)
    }

    /// Reads all statements.
    pub(super) fn run(&mut self) {
        let mut count = 0;
        while let Some(segment) = self.statements.next() {
            count += 1;
            if count > MAXIMUM_STATEMENTS || self.errors >= MAXIMUM_ERRORS {
                let message = if self.errors > 0 { "too many errors" } else { "source is too long" };
                self.error(Problem::new(segment.text.position(0), message));
                break;
            }
            self.trace.clone_from(&segment.trace);
            if let Err(problem) = self.segment(&segment) {
                self.error(problem);
            }
        }
        self.trace = None;
        if let Some(bundle) = self.bundle.take() {
            self.error(Problem::new(bundle.at, "bundle is not closed"));
        }
        for at in self.conditions.drain(..).map(|c| c.at).collect::<Vec<_>>() {
            self.error(Problem::new(at, ".if without .endif"));
        }
    }

    /// Errors and warnings in order of their place.
    pub(super) fn into_diagnostics(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        let files = self.files;
        let mut list = self.diagnostics;
        list.sort_by_key(|d| (files.iter().position(|f| *f == d.file), d.line, d.column));
        list.into_iter().partition(|d| d.level == Level::Error)
    }

    pub(super) fn listing(&self) -> Vec<HexLine> {
        self.listed
            .iter()
            .map(|l| {
                let data = &self.sections[l.section].data;
                let bytes = data[l.offset as usize..(l.offset + l.bytes) as usize].to_vec();
                HexLine { bytes, source: l.source.clone() }
            })
            .collect()
    }

    fn segment(&mut self, segment: &Segment) -> Outcome<()> {
        let text = &segment.text;
        let skipping = self.conditions.last().is_some_and(|c| !c.active);
        if skipping {
            let word = first_word(&text.bytes);
            if !super::directive::is_conditional(&word) {
                return Ok(());
            }
        }
        let bytes = &text.bytes;
        let mut i = 0;
        loop {
            while i < bytes.len() && bytes[i].is_ascii_whitespace() {
                i += 1;
            }
            let Some(&b) = bytes.get(i) else { return Ok(()) };
            let at = text.position(i);
            match b {
                b'{' => {
                    i += 1;
                    if !skipping {
                        self.open_bundle(at);
                    }
                    continue;
                }
                b'}' => {
                    i += 1;
                    if !skipping {
                        self.close_bundle(at)?;
                    }
                    continue;
                }
                _ => {}
            }
            if let Some((name, after)) = label(bytes, i) {
                i = after;
                if !skipping && let Err(problem) = self.label(&name, at) {
                    self.error(problem);
                }
                continue;
            }
            let end = brace(bytes, i);
            let statement = text.slice(i, end).trimmed();
            i = end;
            if let Err(problem) = self.statement(&statement) {
                if let Some(bundle) = &mut self.bundle {
                    bundle.spoiled = true;
                }
                self.error(problem);
            }
        }
    }

    fn label(&mut self, name: &str, at: Position) -> Outcome<()> {
        if self.bundle.as_ref().is_some_and(|b| !b.halves.is_empty()) {
            return Err(Problem::new(at, "label inside a bundle"));
        }
        let name = if name.as_bytes()[0].is_ascii_digit() {
            let number = name.parse().map_err(|_| Problem::new(at, format!("bad label `{name}`")))?;
            self.symbols.define_local(number)
        } else {
            if is_reserved(name) {
                return Err(Problem::new(at, format!("`{name}` is a register")));
            }
            name.to_owned()
        };
        let id = self.symbols.intern(&name);
        let (section, offset) = (self.current, self.sections[self.current].offset());
        if !matches!(self.symbols.list[id].definition, Definition::Undefined) && !self.symbols.list[id].predefined {
            let before = self.place(self.symbols.list[id].at);
            return Err(Problem::new(at, format!("`{name}` is already defined at {before}")));
        }
        let symbol = &mut self.symbols.list[id];
        symbol.definition = Definition::Label { section, offset };
        symbol.predefined = false;
        symbol.at = at;
        Ok(())
    }

    /// A statement without braces and labels.
    fn statement(&mut self, text: &Text) -> Outcome<()> {
        let word = first_word(&text.bytes);
        let at = text.position(0);
        self.here = at;
        if self.conditions.last().is_none_or(|c| c.active)
            && let Some(definition) = self.macros.get(&word).cloned()
        {
            let rest = text.slice(word.len(), text.bytes.len());
            if !rest.trimmed().bytes.starts_with(b"=") {
                return self.expand(&definition, &rest, at);
            }
        }
        if word.starts_with('.') && word.len() > 1 {
            let rest = text.slice(word.len(), text.bytes.len());
            if !rest.trimmed().bytes.starts_with(b"=") {
                return self.directive(&word, &rest, at);
            }
        }
        let tokens = lexer::tokens(text)?;
        let mut cursor = Cursor::new(text, &tokens);
        let Some(name) = cursor.name() else {
            return cursor.fail(format!("instruction expected, found {}", cursor.found()));
        };
        if cursor.is(b'=') {
            cursor.next += 1;
            cursor.eat(b'=');
            return self.set(name, &mut cursor, at, true);
        }
        if !alias::is_instruction(name) {
            return Err(Problem::new(at, format!("unknown mnemonic `{name}`")));
        }
        let list = operands::arguments(&mut cursor, &mut self.names())?;
        let meaning = alias::meaning(name, &list, self.rules, at)?;
        if let Some(warning) = meaning.warning {
            self.warn(warning);
        }
        self.instruction(meaning.instructions, meaning.is_macro, text, at)
    }

    fn expand(&mut self, definition: &Rc<Macro>, rest: &Text, at: Position) -> Outcome<()> {
        let texts = definition.expand(rest, self.macro_count, at)?;
        self.macro_count += 1;
        let what = format!("macro `{}`", definition.name);
        let trace = Rc::new(Trace { what, at, outer: self.trace.clone() });
        self.statements.push(&texts, trace, Some(self.conditions.len()))
    }

    /// `name = value`, `.set`; `again`: the name may have been set before.
    pub(super) fn set(&mut self, name: &str, cursor: &mut Cursor<'_>, at: Position, again: bool) -> Outcome<()> {
        if is_reserved(name) {
            return Err(Problem::new(at, format!("`{name}` is a register")));
        }
        let value = cursor.expression(&mut self.names())?;
        cursor.expect_end()?;
        if name == "." {
            return self.move_to(&value, at);
        }
        // Known differences of places become numbers, so that a symbol set to one is a plain constant afterwards.
        let value = match self.symbols.evaluate(&value) {
            Ok(Value::Number(n)) => Expression::Number(n),
            _ => value,
        };
        let id = self.symbols.intern(name);
        let symbol = &self.symbols.list[id];
        let clash = match symbol.definition {
            Definition::Undefined => false,
            Definition::Set(_) => !again && !symbol.predefined,
            Definition::Label { .. } => true,
        };
        if clash {
            let before = self.place(symbol.at);
            return Err(Problem::new(at, format!("`{name}` is already defined at {before}")));
        }
        let symbol = &mut self.symbols.list[id];
        symbol.definition = Definition::Set(value);
        symbol.predefined = false;
        symbol.at = at;
        Ok(())
    }

    pub(super) fn names(&mut self) -> LineNames<'_> {
        let here = Expression::Place { section: self.current, offset: self.sections[self.current].offset() };
        LineNames { symbols: &mut self.symbols, rules: self.rules, here }
    }

    /// A value that must be a number at this line.
    pub(super) fn number(&mut self, cursor: &mut Cursor<'_>) -> Outcome<i64> {
        let at = cursor.position();
        let expression = cursor.expression(&mut self.names())?;
        match self.symbols.evaluate(&expression) {
            Ok(Value::Number(n)) => Ok(n),
            Ok(Value::Undefined { symbol, .. }) => {
                let name = self.symbols.display(symbol);
                Err(Problem::new(at, format!("`{name}` is not known at this line, a number is needed")))
            }
            Ok(Value::Place { .. }) => Err(Problem::new(at, "a number is needed, not an address")),
            Err(message) => Err(Problem::new(at, message)),
        }
    }
}

/// What names mean at one line.
pub(super) struct LineNames<'s> {
    symbols: &'s mut Symbols,
    rules: Rules,
    here: Expression,
}

impl Names for LineNames<'_> {
    fn name(&mut self, name: &str) -> Result<Expression, String> {
        if name == "." {
            return Ok(self.here.clone());
        }
        if let Some(csr) = csr_by_name(name) {
            let known = if self.rules.context == Context::Worker { csr.worker } else { csr.supervisor };
            if !known && !self.rules.invalid_mode {
                let who = if csr.worker { "workers" } else { "the supervisor" };
                return Err(format!("{name} is a register of {who} only"));
            }
            return Ok(Expression::Number(i64::from(csr.number)));
        }
        if is_reserved(name) {
            return Err(format!("register `{name}` in an expression"));
        }
        let id = self.symbols.intern(name);
        Ok(match &self.symbols.list[id].definition {
            Definition::Set(value) => value.clone(),
            _ => Expression::Symbol(id),
        })
    }

    fn local(&mut self, number: u32, forward: bool) -> Result<Expression, String> {
        self.symbols.local(number, forward).map(Expression::Symbol)
    }
}

/// A label at `i`: its name and the index after the colon.
fn label(bytes: &[u8], i: usize) -> Option<(String, usize)> {
    let digits = bytes[i].is_ascii_digit();
    if !digits && !is_name_start(bytes[i]) {
        return None;
    }
    let mut end = i;
    while end < bytes.len() && if digits { bytes[end].is_ascii_digit() } else { is_name(bytes[end]) } {
        end += 1;
    }
    let colon = end + bytes[end..].iter().take_while(|b| b.is_ascii_whitespace()).count();
    if bytes.get(colon) != Some(&b':') {
        return None;
    }
    Some((String::from_utf8_lossy(&bytes[i..end]).into_owned(), colon + 1))
}

/// Index of the first brace outside strings from `i` on, else the end.
fn brace(bytes: &[u8], mut i: usize) -> usize {
    while i < bytes.len() {
        match bytes[i] {
            b'"' => i = string_end(bytes, i),
            b'\'' => i += character_length(&bytes[i..]).unwrap_or(1),
            b'{' | b'}' => return i,
            _ => i += 1,
        }
    }
    i.min(bytes.len())
}

/// The kind of the first token, for directives that take a name or a string.
pub(super) fn string_or_name(cursor: &mut Cursor<'_>) -> Option<String> {
    match cursor.peek() {
        Some(Kind::Name(name)) => {
            cursor.next += 1;
            Some(name.clone())
        }
        Some(Kind::Str(bytes)) => {
            cursor.next += 1;
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => None,
    }
}
