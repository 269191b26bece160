//! Directives: conditionals, macros and repetitions, symbols, sections, modes (`assembler.md` 7). Data and padding: `data`.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::assembler::{Assembler, Condition, string_or_name};
use super::diagnostic::{Outcome, Problem};
use super::expression::Cursor;
use super::lexer::{self, Kind};
use super::section::{Attributes, Section, default_attributes};
use super::statements::{Macro, Trace, list, substitute};
use super::symbols::{Binding, Type};
use super::text::{Position, Text};
use crate::isa::Context;

/// Repetitions of one `.rept` at most.
const MAXIMUM_REPETITIONS: i64 = 1 << 20;

/// Bytes of one repetition at most, with 64 for each statement.
const MAXIMUM_REPEATED: usize = 64 << 20;

/// Directives that are read even where statements are skipped.
pub(super) fn is_conditional(word: &str) -> bool {
    matches!(
        word,
        ".if"
            | ".ifdef"
            | ".ifndef"
            | ".ifnotdef"
            | ".ifb"
            | ".ifnb"
            | ".ifc"
            | ".ifnc"
            | ".ifeqs"
            | ".ifnes"
            | ".ifeq"
            | ".ifne"
            | ".ifge"
            | ".ifgt"
            | ".ifle"
            | ".iflt"
            | ".else"
            | ".elseif"
            | ".endif"
    )
}

/// Directives that change no bytes and so may stand inside a bundle.
fn is_transparent(word: &str) -> bool {
    is_conditional(word)
        || matches!(
            word,
            ".macro" | ".rept" | ".irp" | ".irpc" | ".exitm" | ".set" | ".equ" | ".equiv" | ".error" | ".warning"
        )
}

impl Assembler<'_> {
    /// The directive `word`, with what follows it on its line.
    pub(super) fn directive(&mut self, word: &str, rest: &Text, at: Position) -> Outcome<()> {
        if is_conditional(word) {
            return self.conditional(word, rest, at);
        }
        if self.bundle.is_some() && !is_transparent(word) {
            return Err(Problem::new(at, format!("`{word}` inside a bundle")));
        }
        match word {
            ".macro" => {
                let body = self.statements.block(&[".macro"], &[".endm", ".endmacro"], at, ".macro")?;
                let definition = Macro::new(rest, body, at)?;
                self.macros.insert(definition.name.clone(), Rc::new(definition));
                return Ok(());
            }
            ".rept" | ".irp" | ".irpc" => return self.repetition(word, rest, at),
            ".exitm" => {
                return match self.statements.leave_macro() {
                    Some(conditions) => {
                        self.conditions.truncate(conditions);
                        Ok(())
                    }
                    None => Err(Problem::new(at, ".exitm outside a macro")),
                };
            }
            ".endm" | ".endmacro" | ".endr" => return Err(Problem::new(at, format!("{word} without its beginning"))),
            _ => {}
        }
        let tokens = lexer::tokens(rest)?;
        let mut cursor = Cursor::new(rest, &tokens);
        let c = &mut cursor;
        match word {
            ".worker" => self.rules.context = Context::Worker,
            ".supervisor" => self.rules.context = Context::Supervisor,
            ".allow_invalid_operands" => self.rules.invalid_operands = true,
            ".error_on_invalid_operands" => self.rules.invalid_operands = false,
            ".allow_invalid_execution_mode" => self.rules.invalid_mode = true,
            ".error_on_invalid_execution_mode" => self.rules.invalid_mode = false,
            ".warn_on_invalid_bundles" => self.rules.invalid_bundles_warn = true,
            ".error_on_invalid_bundles" => self.rules.invalid_bundles_warn = false,
            ".allow_invalid_repeat" => self.rules.invalid_repeat = true,
            ".error_on_invalid_repeat" => self.rules.invalid_repeat = false,
            ".allow_optimizations" | ".allow_optimisations" => self.rules.optimizations = true,
            ".set" | ".equ" | ".equiv" => {
                let place = c.position();
                let Some(name) = c.name() else { return c.fail(format!("`{word}` needs a name")) };
                c.expect_comma()?;
                return self.set(name, c, place, word != ".equiv");
            }
            ".globl" | ".global" | ".weak" | ".local" | ".hidden" | ".extern" => return self.bind(word, c),
            ".type" => return self.symbol_type(c),
            ".size" => {
                let place = c.position();
                let Some(name) = c.name() else { return c.fail(".size needs a name") };
                c.expect_comma()?;
                let size = c.expression(&mut self.names())?;
                let id = self.symbols.intern(name);
                self.symbols.list[id].size = Some((size, place));
            }
            ".text" | ".data" | ".bss" | ".rodata" => {
                let index = self.section_named(word, default_attributes(word), false, at)?;
                self.enter(index);
            }
            ".section" | ".pushsection" => return self.section(word, c, at),
            ".popsection" => {
                let Some((current, previous)) = self.section_stack.pop() else {
                    return Err(Problem::new(at, ".popsection without .pushsection"));
                };
                (self.current, self.previous) = (current, previous);
            }
            ".previous" => std::mem::swap(&mut self.current, &mut self.previous),
            ".align" | ".balign" | ".p2align" => return self.align(word, c, at),
            ".byte" | ".half" | ".hword" | ".short" | ".2byte" | ".long" | ".int" | ".word" | ".4byte" | ".quad"
            | ".8byte" => return self.data(word, c, at),
            ".ascii" | ".asciz" | ".string" => return self.strings(word, c, at),
            ".float" | ".single" | ".double" => return self.reals(word, c, at),
            ".space" | ".skip" | ".zero" => {
                let bytes = self.number(c)?;
                let fill = if c.eat(b',') { self.number(c)? } else { 0 };
                c.expect_end()?;
                return self.fill(bytes, 1, fill, at);
            }
            ".fill" => {
                let count = self.number(c)?;
                let size = if c.eat(b',') { self.number(c)? } else { 1 };
                let value = if c.eat(b',') { self.number(c)? } else { 0 };
                c.expect_end()?;
                if !(0..=8).contains(&size) {
                    return Err(Problem::new(at, format!(".fill of {size} bytes each: 0 to 8 are possible")));
                }
                return self.fill(count, size as usize, value, at);
            }
            ".org" => {
                let target = c.expression(&mut self.names())?;
                c.expect_end()?;
                return self.move_to(&target, at);
            }
            ".reloc" => return self.reloc(c, at),
            ".include" => {
                let Some(Kind::Str(name)) = c.peek() else { return c.fail(".include needs a string") };
                c.next += 1;
                c.expect_end()?;
                let name = String::from_utf8_lossy(name).into_owned();
                let lines = self.include(&name, at)?;
                let trace = Rc::new(Trace { what: format!("file `{name}`"), at, outer: self.trace.clone() });
                return self.statements.push(&lines, trace, None);
            }
            ".error" | ".warning" | ".err" => {
                let text = string_or_name(c).unwrap_or_default();
                let problem = Problem::new(at, format!("{word} {text}").trim_end().to_owned());
                if word != ".warning" {
                    return Err(problem);
                }
                self.warn(problem);
            }
            ".purgem" => {
                let Some(name) = c.name() else { return c.fail(".purgem needs a name") };
                if self.macros.remove(name).is_none() {
                    return Err(Problem::new(at, format!("no macro `{name}`")));
                }
            }
            ".end" => self.statements.stop(),
            // Notes for debuggers and listings, which leave no trace in these objects.
            ".file" | ".ident" | ".loc" | ".print" => return Ok(()),
            _ if word.starts_with(".cfi_") => return Ok(()),
            _ => return Err(Problem::new(at, format!("unknown directive `{word}`"))),
        }
        c.expect_end()
    }

    fn conditional(&mut self, word: &str, rest: &Text, at: Position) -> Outcome<()> {
        match word {
            ".else" | ".elseif" => {
                let Some(top) = self.conditions.last() else {
                    return Err(Problem::new(at, format!("{word} without .if")));
                };
                if top.otherwise {
                    return Err(Problem::new(at, format!("{word} after .else")));
                }
                let holds = if top.taken {
                    Ok(false)
                } else if word == ".else" {
                    Ok(true)
                } else {
                    self.condition(".if", rest)
                };
                if let Some(top) = self.conditions.last_mut() {
                    top.active = holds.as_ref().is_ok_and(|&h| h);
                    top.taken |= top.active;
                    top.otherwise = word == ".else";
                }
                holds.map(|_| ())
            }
            ".endif" => self.conditions.pop().map(|_| ()).ok_or_else(|| Problem::new(at, ".endif without .if")),
            _ => {
                let outer = self.conditions.last().is_none_or(|c| c.active);
                let holds = if outer { self.condition(word, rest) } else { Ok(false) };
                let active = holds.as_ref().is_ok_and(|&h| h);
                // Where the outer group is skipped, or the condition is wrong, no branch is read.
                let taken = active || !outer || holds.is_err();
                self.conditions.push(Condition { active, taken, otherwise: false, at });
                holds.map(|_| ())
            }
        }
    }

    fn condition(&mut self, word: &str, rest: &Text) -> Outcome<bool> {
        match word {
            ".ifb" => return Ok(rest.is_blank()),
            ".ifnb" => return Ok(!rest.is_blank()),
            ".ifc" | ".ifnc" | ".ifeqs" | ".ifnes" => {
                let parts = list(rest);
                let [a, b] = &parts[..] else {
                    // An empty side leaves one part or none.
                    let same = rest.trimmed().bytes == b",";
                    return Ok(same == matches!(word, ".ifc" | ".ifeqs"));
                };
                return Ok((a.bytes == b.bytes) == matches!(word, ".ifc" | ".ifeqs"));
            }
            _ => {}
        }
        let tokens = lexer::tokens(rest)?;
        let mut cursor = Cursor::new(rest, &tokens);
        let holds = match word {
            ".ifdef" | ".ifndef" | ".ifnotdef" => {
                let Some(name) = cursor.name() else { return cursor.fail(format!("`{word}` needs a name")) };
                self.symbols.is_defined(name) == (word == ".ifdef")
            }
            _ => {
                let n = self.number(&mut cursor)?;
                match word {
                    ".ifeq" => n == 0,
                    ".ifge" => n >= 0,
                    ".ifgt" => n > 0,
                    ".ifle" => n <= 0,
                    ".iflt" => n < 0,
                    _ => n != 0,
                }
            }
        };
        cursor.expect_end()?;
        Ok(holds)
    }

    fn repetition(&mut self, word: &str, rest: &Text, at: Position) -> Outcome<()> {
        let body = self.statements.block(&[".rept", ".irp", ".irpc"], &[".endr"], at, word)?;
        let mut texts: Vec<Text> = Vec::new();
        let bytes: usize = body.iter().map(|t| t.bytes.len() + 64).sum();
        if word == ".rept" {
            let tokens = lexer::tokens(rest)?;
            let mut cursor = Cursor::new(rest, &tokens);
            let count = self.number(&mut cursor)?;
            cursor.expect_end()?;
            if !(0..=MAXIMUM_REPETITIONS).contains(&count) || count as usize * bytes > MAXIMUM_REPEATED {
                return Err(Problem::new(at, format!(".rept of {count} is out of range")));
            }
            for _ in 0..count {
                texts.extend(body.iter().cloned());
            }
        } else {
            let head = rest.trimmed();
            let end = head.bytes.iter().position(|b| b.is_ascii_whitespace() || *b == b',').unwrap_or(head.bytes.len());
            let name = String::from_utf8_lossy(&head.bytes[..end]).into_owned();
            if name.is_empty() {
                return Err(Problem::new(at, format!("{word} needs a name")));
            }
            let after = head.slice(end, head.bytes.len()).trimmed();
            let after = if after.bytes.first() == Some(&b',') { after.slice(1, after.bytes.len()) } else { after };
            let values = if word == ".irp" {
                list(&after)
            } else {
                let after = after.trimmed();
                (0..after.bytes.len()).map(|i| after.slice(i, i + 1)).collect()
            };
            if values.len() * bytes > MAXIMUM_REPEATED {
                return Err(Problem::new(at, format!("{word} is too long")));
            }
            for value in values {
                let bound = BTreeMap::from([(name.as_str(), value)]);
                texts.extend(body.iter().map(|line| substitute(line, &bound, None)));
            }
        }
        let trace = Rc::new(Trace { what: word.to_owned(), at, outer: self.trace.clone() });
        self.statements.push(&texts, trace, None)
    }

    fn bind(&mut self, word: &str, c: &mut Cursor<'_>) -> Outcome<()> {
        loop {
            let Some(name) = c.name() else { return c.fail(format!("`{word}` needs a name")) };
            let id = self.symbols.intern(name);
            let symbol = &mut self.symbols.list[id];
            match word {
                ".globl" | ".global" if symbol.binding == Binding::Local => symbol.binding = Binding::Global,
                ".weak" => symbol.binding = Binding::Weak,
                ".local" => symbol.binding = Binding::Local,
                ".hidden" => symbol.hidden = true,
                _ => {}
            }
            if c.at_end() {
                return Ok(());
            }
            c.expect_comma()?;
        }
    }

    fn symbol_type(&mut self, c: &mut Cursor<'_>) -> Outcome<()> {
        let Some(name) = c.name() else { return c.fail(".type needs a name") };
        c.expect_comma()?;
        let _ = c.eat(b'@') || c.eat(b'%');
        let place = c.position();
        let kind = match string_or_name(c).unwrap_or_default().as_str() {
            "function" | "STT_FUNC" => Type::Function,
            "object" | "STT_OBJECT" => Type::Object,
            "notype" | "STT_NOTYPE" => Type::None,
            other => return Err(Problem::new(place, format!("unknown symbol type `{other}`"))),
        };
        let id = self.symbols.intern(name);
        self.symbols.list[id].kind = kind;
        c.expect_end()
    }

    fn enter(&mut self, index: usize) {
        self.previous = self.current;
        self.current = index;
    }

    fn section_named(&mut self, name: &str, attributes: Attributes, stated: bool, at: Position) -> Outcome<usize> {
        if let Some(index) = self.sections.iter().position(|s| s.name == name) {
            let before = self.sections[index].attributes;
            if stated && before != attributes && !self.sections[index].data.is_empty() {
                return Err(Problem::new(at, format!("section {name} had other attributes before")));
            }
            if stated {
                self.sections[index].attributes = attributes;
            }
            return Ok(index);
        }
        self.sections.push(Section::new(name, attributes));
        Ok(self.sections.len() - 1)
    }

    fn section(&mut self, word: &str, c: &mut Cursor<'_>, at: Position) -> Outcome<()> {
        let Some(name) = section_name(c) else { return c.fail(format!("`{word}` needs a name")) };
        let mut attributes = default_attributes(&name);
        let mut stated = false;
        if c.eat(b',') {
            if let Some(Kind::Str(flags)) = c.peek() {
                stated = true;
                let place = c.position();
                c.next += 1;
                attributes = Attributes {
                    allocate: false,
                    write: false,
                    execute: false,
                    merge: false,
                    strings: false,
                    ..attributes
                };
                for flag in flags {
                    match flag {
                        b'a' => attributes.allocate = true,
                        b'w' => attributes.write = true,
                        b'x' => attributes.execute = true,
                        b'M' => attributes.merge = true,
                        b'S' => attributes.strings = true,
                        _ => {
                            let message = format!("unknown section flag `{}`", char::from(*flag));
                            return Err(Problem::new(place, message));
                        }
                    }
                }
                if c.eat(b',') {
                    self.section_kind(c, &mut attributes)?;
                }
            } else {
                stated = true;
                self.section_kind(c, &mut attributes)?;
            }
        }
        c.expect_end()?;
        if word == ".pushsection" {
            self.section_stack.push((self.current, self.previous));
        }
        let index = self.section_named(&name, attributes, stated, at)?;
        self.enter(index);
        Ok(())
    }

    fn section_kind(&mut self, c: &mut Cursor<'_>, attributes: &mut Attributes) -> Outcome<()> {
        let _ = c.eat(b'@') || c.eat(b'%');
        let place = c.position();
        match string_or_name(c).unwrap_or_default().as_str() {
            "progbits" => attributes.nobits = false,
            "nobits" => attributes.nobits = true,
            "note" => attributes.note = true,
            other => return Err(Problem::new(place, format!("unknown section type `{other}`"))),
        }
        if attributes.merge && c.eat(b',') {
            let size = self.number(c)?;
            attributes.entry_size =
                u32::try_from(size).map_err(|_| Problem::new(place, format!("entry size {size} is out of range")))?;
        }
        Ok(())
    }
}

/// A section name: a name, a string, or names joined by `-`.
fn section_name(c: &mut Cursor<'_>) -> Option<String> {
    let mut name = string_or_name(c)?;
    while c.is(b'-') && c.adjacent() {
        c.next += 1;
        name.push('-');
        name.push_str(&string_or_name(c)?);
    }
    Some(name)
}
