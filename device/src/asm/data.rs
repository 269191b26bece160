//! Data directives, padding and named relocations (`assembler.md` 7 and 10).
//!
//! In: the operands of a directive. Out: bytes at the end of the current section, and fixups for values that are not
//! known yet.

use super::assembler::Assembler;
use super::bundle::NOP;
use super::diagnostic::{Outcome, Problem};
use super::expression::{Cursor, Expression, Value};
use super::lexer::Kind;
use super::section::{Fixup, FixupKind, MAXIMUM_BYTES, Unit, UnitKind};
use super::text::Position;
use crate::link::Relocation;

impl Assembler<'_> {
    /// Room for `bytes` more bytes in the current section.
    fn room(&self, bytes: u64, at: Position) -> Outcome<()> {
        let section = &self.sections[self.current];
        if u64::from(section.offset()) + bytes > u64::from(MAXIMUM_BYTES) {
            return Err(Problem::new(at, format!("section {} is larger than {MAXIMUM_BYTES} bytes", section.name)));
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8], at: Position) -> Outcome<()> {
        self.room(bytes.len() as u64, at)?;
        let section = &mut self.sections[self.current];
        if section.attributes.nobits && bytes.iter().any(|&b| b != 0) {
            return Err(Problem::new(at, format!("data in section {}, which has no bytes", section.name)));
        }
        let offset = section.offset();
        section.units.push(Unit { offset, bytes: bytes.len() as u32, kind: UnitKind::Data, at });
        section.data.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn fill(&mut self, count: i64, size: usize, value: i64, at: Position) -> Outcome<()> {
        let Ok(count) = u64::try_from(count) else {
            return Err(Problem::new(at, format!("negative count {count}")));
        };
        self.room(count.saturating_mul(size.max(1) as u64), at)?;
        let bytes = value.to_le_bytes()[..size].repeat(count as usize);
        self.append(&bytes, at)
    }

    /// `.org` and `. =`: pads with zeros up to a place of this section.
    pub(super) fn move_to(&mut self, target: &Expression, at: Position) -> Outcome<()> {
        let here = i64::from(self.sections[self.current].offset());
        let target = match self.symbols.evaluate(target) {
            Ok(Value::Number(n)) => n,
            Ok(Value::Place { section, offset, .. }) if section == self.current => offset,
            _ => return Err(Problem::new(at, "the new place must be known and in this section")),
        };
        if target < here {
            return Err(Problem::new(at, format!("cannot move back from {here:#x} to {target:#x}")));
        }
        self.fill(target - here, 1, 0, at)
    }

    pub(super) fn align(&mut self, word: &str, c: &mut Cursor<'_>, at: Position) -> Outcome<()> {
        let n = self.number(c)?;
        let mut fill = None;
        let mut most = None;
        if c.eat(b',') {
            if !c.is(b',') && !c.at_end() {
                fill = Some(self.number(c)?);
            }
            if c.eat(b',') {
                most = Some(self.number(c)?);
            }
        }
        c.expect_end()?;
        let bytes = if word == ".p2align" {
            u32::try_from(n).ok().filter(|&n| n <= 20).map(|n| 1u32 << n)
        } else {
            u32::try_from(n.max(1)).ok().filter(|&b| b.is_power_of_two() && b <= 1 << 20 && n >= 0)
        };
        let Some(bytes) = bytes else {
            return Err(Problem::new(at, format!("alignment {n} is no power of two up to 2^20")));
        };
        let section = &mut self.sections[self.current];
        let offset = section.offset();
        let padding = offset.next_multiple_of(bytes) - offset;
        if most.is_some_and(|most| i64::from(padding) > most) {
            return Ok(());
        }
        section.alignment = section.alignment.max(bytes);
        self.room(u64::from(padding), at)?;
        let section = &mut self.sections[self.current];
        match fill {
            None if section.attributes.execute => {
                section.data.resize(section.data.len() + (padding % 4) as usize, 0);
                for _ in 0..padding / 4 {
                    let offset = section.offset();
                    section.units.push(Unit { offset, bytes: 4, kind: UnitKind::Solo, at });
                    section.data.extend_from_slice(&NOP.to_le_bytes());
                }
                Ok(())
            }
            _ => self.fill(i64::from(padding), 1, fill.unwrap_or(0), at),
        }
    }

    pub(super) fn data(&mut self, word: &str, c: &mut Cursor<'_>, at: Position) -> Outcome<()> {
        let size: u8 = match word {
            ".byte" => 1,
            ".half" | ".hword" | ".short" | ".2byte" => 2,
            ".quad" | ".8byte" => 8,
            _ => 4,
        };
        if c.at_end() {
            return Ok(());
        }
        loop {
            let place = c.position();
            let expression = c.expression(&mut self.names())?;
            let named = relocation_suffix(c, size)?;
            let offset = self.sections[self.current].offset();
            let now = if let (None, Ok(Value::Number(n))) = (&named, self.symbols.evaluate(&expression)) {
                n
            } else {
                let kind = named.map_or(FixupKind::Data(size), FixupKind::Relocation);
                let section = self.current;
                self.fixups.push(Fixup { section, offset, expression, kind, at: place });
                0
            };
            if !data_fits(now, size) {
                return Err(Problem::new(place, format!("value {now} does not fit {size} bytes")));
            }
            self.append(&now.to_le_bytes()[..size as usize], at)?;
            if c.at_end() {
                return Ok(());
            }
            c.expect_comma()?;
        }
    }

    /// `.reloc offset, name, value`.
    pub(super) fn reloc(&mut self, c: &mut Cursor<'_>, at: Position) -> Outcome<()> {
        let target = c.expression(&mut self.names())?;
        c.expect_comma()?;
        let place = c.position();
        let Some(kind) = c.name().and_then(Relocation::by_name) else {
            return Err(Problem::new(place, "unknown relocation"));
        };
        let expression = if c.eat(b',') { c.expression(&mut self.names())? } else { Expression::Number(0) };
        c.expect_end()?;
        let offset = match self.symbols.evaluate(&target) {
            Ok(Value::Number(n)) => n,
            Ok(Value::Place { section, offset, .. }) if section == self.current => offset,
            _ => return Err(Problem::new(at, "the place of a relocation must be known and in this section")),
        };
        let Ok(offset) = u32::try_from(offset) else {
            return Err(Problem::new(at, format!("the place of a relocation is out of range: {offset}")));
        };
        let kind = FixupKind::Relocation(kind);
        self.fixups.push(Fixup { section: self.current, offset, expression, kind, at });
        Ok(())
    }

    pub(super) fn strings(&mut self, word: &str, c: &mut Cursor<'_>, at: Position) -> Outcome<()> {
        if c.at_end() {
            return Ok(());
        }
        loop {
            let Some(Kind::Str(bytes)) = c.peek() else {
                return c.fail(format!("string expected, found {}", c.found()));
            };
            c.next += 1;
            let mut bytes = bytes.clone();
            if word != ".ascii" {
                bytes.push(0);
            }
            self.append(&bytes, at)?;
            if c.at_end() {
                return Ok(());
            }
            c.expect_comma()?;
        }
    }

    pub(super) fn reals(&mut self, word: &str, c: &mut Cursor<'_>, at: Position) -> Outcome<()> {
        loop {
            let negative = c.eat(b'-');
            let magnitude = match c.peek() {
                Some(Kind::Real(x)) => *x,
                Some(Kind::Integer(n)) => *n as f64,
                _ => return c.fail(format!("real number expected, found {}", c.found())),
            };
            c.next += 1;
            let value = if negative { -magnitude } else { magnitude };
            if word == ".double" {
                self.append(&value.to_le_bytes(), at)?;
            } else {
                self.append(&(value as f32).to_le_bytes(), at)?;
            }
            if c.at_end() {
                return Ok(());
            }
            c.expect_comma()?;
        }
    }
}

/// `@relative@16@s2`, `@abs18@s2`, `@abs19@s2`, `@abs@21` after a value.
fn relocation_suffix(c: &mut Cursor<'_>, size: u8) -> Outcome<Option<Relocation>> {
    if !c.is(b'@') {
        return Ok(None);
    }
    let place = c.position();
    let mut text = String::new();
    while c.eat(b'@') {
        text.push('@');
        match c.peek() {
            Some(Kind::Name(name)) => text.push_str(name),
            Some(Kind::Integer(n)) => text.push_str(&n.to_string()),
            _ => return c.fail(format!("relocation expected, found {}", c.found())),
        }
        c.next += 1;
    }
    let (relocation, least) = match text.as_str() {
        "@relative@16@s2" => (Relocation::Relative16S2, 2),
        "@abs18@s2" => (Relocation::Abs18S2, 4),
        "@abs19@s2" => (Relocation::Abs19S2, 4),
        "@abs@21" => (Relocation::Abs21, 4),
        _ => return Err(Problem::new(place, format!("unknown relocation `{text}`"))),
    };
    if size < least {
        return Err(Problem::new(place, format!("`{text}` needs data of {least} bytes or more")));
    }
    Ok(Some(relocation))
}

/// Whether a value fits data of `size` bytes, read as signed or unsigned.
pub(super) fn data_fits(n: i64, size: u8) -> bool {
    size >= 8 || (-(1i64 << (8 * size - 1))..1i64 << (8 * size)).contains(&n)
}
