//! Instructions into sections, alone and as halves of bundles (`assembler.md` 3).

use super::assembler::{Assembler, Listed};
use super::diagnostic::{Outcome, Problem};
use super::expression::Expression;
use super::section::{Fixup, FixupKind, MAXIMUM_BYTES, Repeat, Unit, UnitKind};
use super::select::Selected;
use super::text::{Position, Text};
use crate::isa::{BUNDLE_BIT, Class, Form, Lane, Role, encode_form};

/// `setzi $m14, 0`, the padding of code.
pub(super) const NOP: u32 = 0x19e0_0000;

/// A bundle whose closing brace has not come.
pub(super) struct OpenBundle {
    pub(super) at: Position,
    pub(super) halves: Vec<Selected>,
    source: Vec<String>,
    /// An error inside was told already.
    pub(super) spoiled: bool,
}

impl Assembler<'_> {
    pub(super) fn open_bundle(&mut self, at: Position) {
        if self.bundle.is_some() {
            self.error(Problem::new(at, "bundle inside a bundle"));
            return;
        }
        self.bundle = Some(OpenBundle { at, halves: Vec::new(), source: Vec::new(), spoiled: false });
    }

    /// An instruction statement: alone, or half of the open bundle.
    pub(super) fn instruction(
        &mut self,
        list: Vec<Selected>,
        is_macro: bool,
        text: &Text,
        at: Position,
    ) -> Outcome<()> {
        let source = text.display();
        if let Some(bundle) = &mut self.bundle {
            if is_macro {
                return Err(Problem::new(at, "`ldconst` is a macro and cannot stand in a bundle"));
            }
            if bundle.halves.len() == 2 && !bundle.spoiled {
                bundle.spoiled = true;
                return Err(Problem::new(at, "more than two instructions in a bundle"));
            }
            bundle.halves.extend(list);
            bundle.source.push(source);
            return Ok(());
        }
        let start = self.code_offset(at)?;
        for selected in &list {
            let offset = self.sections[self.current].offset();
            if selected.form.payload {
                self.check_payload(offset, at);
            }
            self.word(selected, false)?;
            let unit = Unit { offset, bytes: 4, kind: UnitKind::Solo, at };
            self.sections[self.current].units.push(unit);
            self.note_repeat(selected, offset + 4);
        }
        self.list(start, source);
        Ok(())
    }

    pub(super) fn close_bundle(&mut self, at: Position) -> Outcome<()> {
        let Some(mut bundle) = self.bundle.take() else {
            return Err(Problem::new(at, "end of a bundle without its start"));
        };
        if bundle.spoiled {
            return Ok(());
        }
        match bundle.halves.len() {
            0 => return Err(Problem::new(bundle.at, "empty bundle")),
            1 => return Err(Problem::new(bundle.at, "fewer than two instructions in a bundle")),
            _ => {}
        }
        let lane = |s: &Selected| s.form.lane;
        if self.rules.optimizations && lane(&bundle.halves[0]) == Lane::Aux && lane(&bundle.halves[1]) == Lane::Main {
            bundle.halves.swap(0, 1);
        }
        for problem in violations(&bundle.halves) {
            if self.rules.invalid_bundles_warn {
                self.warn(problem);
            } else {
                return Err(problem);
            }
        }
        let start = self.code_offset(bundle.at)?;
        let [main, aux] = &bundle.halves[..] else { return Ok(()) };
        let source = format!("{{ {} }}", bundle.source.join(" ; "));
        // A repeat that a `fnop` fills up is made solo where only that puts its body at a multiple of 8.
        if self.rules.optimizations && is_repeat(main.form) && is_fnop(aux) && start % 8 == 4 {
            self.word(main, false)?;
            let section = &mut self.sections[self.current];
            section.alignment = section.alignment.max(8);
            section.units.push(Unit { offset: start, bytes: 4, kind: UnitKind::Solo, at: bundle.at });
            self.note_repeat(main, start + 4);
        } else {
            self.word(main, true)?;
            self.word(aux, true)?;
            let barred = bundle.halves.iter().any(|s| s.form.control || s.form.system);
            let unit = Unit { offset: start, bytes: 8, kind: UnitKind::Bundle { barred }, at: bundle.at };
            self.sections[self.current].units.push(unit);
            self.note_repeat(main, start + 8);
        }
        self.list(start, source);
        Ok(())
    }

    /// The offset of the next instruction, in a section made fit for code.
    fn code_offset(&mut self, at: Position) -> Outcome<u32> {
        let section = &mut self.sections[self.current];
        if section.attributes.nobits {
            return Err(Problem::new(at, format!("instruction in section {}, which has no bytes", section.name)));
        }
        let offset = section.offset();
        if offset + 16 > MAXIMUM_BYTES {
            return Err(Problem::new(at, format!("section {} is larger than {MAXIMUM_BYTES} bytes", section.name)));
        }
        section.alignment = section.alignment.max(4);
        if !offset.is_multiple_of(4) {
            self.breach(Problem::new(at, format!("instruction at offset {offset:#x}, which is no multiple of 4")));
        }
        Ok(offset)
    }

    fn check_payload(&mut self, offset: u32, at: Position) {
        if !offset.is_multiple_of(8) {
            let message = format!("sendpicp at offset {offset:#x}, which is no multiple of 8");
            self.breach(Problem::new(at, message));
        } else if self.sections[self.current].alignment < 8 {
            let message = format!("sendpicp needs section {} aligned to 8", self.sections[self.current].name);
            self.breach(Problem::new(at, message));
        }
    }

    /// Appends the word of an instruction, or its known part with a fixup.
    fn word(&mut self, selected: &Selected, bundle: bool) -> Outcome<()> {
        let word =
            encode_form(selected.form, &selected.values).map_err(|e| Problem::new(selected.at, e.to_string()))?;
        let section = self.current;
        let offset = self.sections[section].offset();
        if let Some((operand, expression)) = &selected.deferred {
            self.fixups.push(Fixup {
                section,
                offset,
                expression: expression.clone(),
                kind: FixupKind::Operand {
                    form: selected.form,
                    values: selected.values.clone(),
                    operand: *operand,
                    bundle,
                },
                at: selected.at,
            });
        }
        let word = if bundle { word | BUNDLE_BIT } else { word };
        self.sections[section].data.extend_from_slice(&word.to_le_bytes());
        Ok(())
    }

    fn note_repeat(&mut self, selected: &Selected, body: u32) {
        if !is_repeat(selected.form) {
            return;
        }
        let size = match &selected.deferred {
            Some((1, expression)) => expression.clone(),
            _ => Expression::Number(selected.values[1]),
        };
        self.repeats.push(Repeat { section: self.current, body, size, at: selected.at });
    }

    fn list(&mut self, offset: u32, source: String) {
        let bytes = self.sections[self.current].offset() - offset;
        self.listed.push(Listed { section: self.current, offset, bytes, source });
    }
}

/// A hardware loop: the form with a body size.
pub(super) fn is_repeat(form: &Form) -> bool {
    form.operands.get(1).is_some_and(|o| o.class == Class::Rel8)
}

fn is_fnop(selected: &Selected) -> bool {
    selected.form.name == "setzi_aaan_zi" && selected.values == [13, 0] && selected.deferred.is_none()
}

/// What is wrong with two halves: lanes, co-issue, destinations.
fn violations(halves: &[Selected]) -> Vec<Problem> {
    let mut list = Vec::new();
    for (half, lane) in halves.iter().zip([Lane::Main, Lane::Aux]) {
        let name = half.form.mnemonic;
        if !half.form.coissue {
            list.push(Problem::new(half.at, format!("`{name}` cannot stand in a bundle")));
        } else if half.form.lane != lane {
            let (is, slot) = if lane == Lane::Main { ("an aux", "first") } else { ("a main", "second") };
            list.push(Problem::new(half.at, format!("`{name}` is {is}-lane instruction in the {slot} slot")));
        }
    }
    let [main, aux] = halves else { return list };
    for (main_file, low, span) in destinations(main) {
        for (other_file, other_low, other_span) in destinations(aux) {
            if main_file == other_file && low < other_low + other_span && other_low < low + span {
                let file = if main_file { 'm' } else { 'a' };
                let register = low.max(other_low);
                let message = format!("both halves of the bundle write ${file}{register}");
                list.push(Problem::new(aux.at, message));
            }
        }
    }
    list
}

/// Registers that an instruction names as destination: whether of the main file, low number, span.
fn destinations(selected: &Selected) -> Vec<(bool, i64, i64)> {
    let operands = selected.form.operands.iter().zip(&selected.values);
    operands
        .filter(|(o, _)| o.role != Role::In && o.class.is_register())
        .map(|(o, &low)| (o.class.is_main_register(), low, i64::from(o.class.span())))
        .collect()
}
