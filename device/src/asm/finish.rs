//! The end of the pass: values of fixups, relocations that stay, checks of repeats.
//!
//! Properties:
//! 1. A field whose value is a number is filled here, with the checks of its class; every other one leaves a relocation
//!    of the type of its operand (`assembler.md` 10).
//! 2. `run` always leaves a relocation for a symbol, as only the linker knows the memory base.

use super::assembler::Assembler;
use super::data::data_fits;
use super::diagnostic::{Outcome, Problem};
use super::expression::Value;
use super::section::{Fixup, FixupKind, Pending, Repeat, Target, UnitKind};
use super::symbols::Definition;
use crate::isa::{BUNDLE_BIT, Class, encode_form};
use crate::link::Relocation;

impl Assembler<'_> {
    /// Fills what is known now and checks what needs the whole layout.
    pub(super) fn finish(&mut self) {
        for fixup in std::mem::take(&mut self.fixups) {
            if let Err(problem) = self.fix(&fixup) {
                self.error(problem);
            }
        }
        if self.rules.invalid_repeat {
            return;
        }
        for repeat in std::mem::take(&mut self.repeats) {
            self.check_repeat(&repeat);
        }
    }

    fn fix(&mut self, fixup: &Fixup) -> Outcome<()> {
        let fail = |message: String| Err(Problem::new(fixup.at, message));
        let value = match self.symbols.evaluate(&fixup.expression) {
            Ok(value) => value,
            Err(message) => return fail(message),
        };
        if let Value::Undefined { symbol, .. } = value
            && self.symbols.list[symbol].is_temporary()
        {
            return fail(format!("label `{}` is not defined", self.symbols.display(symbol)));
        }
        let kind = match &fixup.kind {
            FixupKind::Relocation(kind) => *kind,
            FixupKind::Data(size) => {
                if let Value::Number(n) = value {
                    if !data_fits(n, *size) {
                        return fail(format!("value {n} does not fit {size} bytes"));
                    }
                    self.patch(fixup, &n.to_le_bytes()[..*size as usize]);
                    return Ok(());
                }
                match size {
                    1 => Relocation::Abs8,
                    2 => Relocation::Abs16,
                    4 => Relocation::Abs32,
                    _ => Relocation::Abs64,
                }
            }
            FixupKind::Operand { form, values, operand, bundle } => {
                let class = form.operands[*operand].class;
                if let (Value::Number(n), true) = (value, class != Class::Run) {
                    let n = match class {
                        Class::Rel19S2 if n % 4 != 0 => return fail(format!("address {n:#x} is no multiple of 4")),
                        Class::Rel19S2 if !(0..1 << 21).contains(&n) => {
                            return fail(format!("address {n:#x} is out of range: 19 bits of words"));
                        }
                        Class::Rel19S2 => n / 4,
                        _ => n,
                    };
                    let mut values = values.clone();
                    values[*operand] = n;
                    let word = encode_form(form, &values).map_err(|e| Problem::new(fixup.at, e.to_string()))?;
                    let word = if *bundle { word | BUNDLE_BIT } else { word };
                    self.patch(fixup, &word.to_le_bytes());
                    return Ok(());
                }
                match class {
                    Class::Rel8 => Relocation::Abs8,
                    Class::Rel16 => Relocation::Abs16,
                    Class::Rel20 => Relocation::Abs20,
                    Class::Rel19S2 => Relocation::Abs19S2,
                    Class::Run => Relocation::Run,
                    _ => unreachable!("only these classes are deferred"),
                }
            }
        };
        let (target, addend) = match value {
            Value::Number(n) => (Target::Absolute, n),
            Value::Place { symbol: Some((symbol, addend)), .. }
                if matches!(self.symbols.list[symbol].definition, Definition::Label { .. })
                    && !self.symbols.list[symbol].is_temporary() =>
            {
                (Target::Symbol(symbol), addend)
            }
            Value::Place { section, offset, .. } => (Target::Section(section), offset),
            Value::Undefined { symbol, addend } => (Target::Symbol(symbol), addend),
        };
        if i32::try_from(addend).is_err() && u32::try_from(addend).is_err() {
            return fail(format!("addend {addend} is wider than 32 bits"));
        }
        let section = &mut self.sections[fixup.section];
        if fixup.offset + kind.bytes() > section.offset() || section.attributes.nobits {
            return fail("relocation beyond the end of its section".into());
        }
        section.relocations.push(Pending { offset: fixup.offset, kind, target, addend });
        Ok(())
    }

    fn patch(&mut self, fixup: &Fixup, bytes: &[u8]) {
        let from = fixup.offset as usize;
        // An error after the fixup was noted can leave its bytes out.
        if let Some(place) = self.sections[fixup.section].data.get_mut(from..from + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    /// The rules for the body of a `rpt` (`assembler.md` 4).
    fn check_repeat(&mut self, repeat: &Repeat) {
        let section = &self.sections[repeat.section];
        if !repeat.body.is_multiple_of(8) {
            let offset = repeat.body;
            let message = format!("body of the repeat begins at offset {offset:#x}, which is no multiple of 8");
            self.breach(Problem::new(repeat.at, message));
            return;
        }
        if section.alignment < 8 {
            let message = format!("section {} of a repeat must be aligned to 8", section.name);
            self.breach(Problem::new(repeat.at, message));
            return;
        }
        // A size that is not a number here belongs to the linker, and its body is not checked.
        let Ok(Value::Number(size @ 0..=255)) = self.symbols.evaluate(&repeat.size) else { return };
        let end = repeat.body + (size as u32 + 1) * 8;
        let mut problem = None;
        for unit in &section.units[section.units.partition_point(|u| u.offset + u.bytes <= repeat.body)..] {
            if unit.offset >= end {
                break;
            }
            let message = match unit.kind {
                UnitKind::Bundle { barred: false } => continue,
                UnitKind::Bundle { barred: true } => "control or system instruction in the body of a repeat",
                UnitKind::Solo => "instruction outside a bundle in the body of a repeat",
                UnitKind::Data if unit.bytes == 0 => continue,
                UnitKind::Data => "data in the body of a repeat",
            };
            problem = Some(Problem::new(unit.at, message));
            break;
        }
        if end > section.offset() && problem.is_none() {
            self.warn(Problem::new(repeat.at, "body of the repeat goes beyond the end of its section"));
        } else if let Some(problem) = problem {
            self.breach(problem);
        }
    }
}
