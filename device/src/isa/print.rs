//! Instruction to assembly text that assembles back to the same word.

use std::fmt::Write;

use super::{Class, Instruction, Operand, form_by_name};

/// The text of one instruction, without braces. Branch targets are byte addresses in hexadecimal.
pub fn print(instruction: &Instruction) -> String {
    if let Some(alias) = alias(instruction) {
        return alias;
    }
    let form = instruction.form();
    let mut text = form.mnemonic.to_owned();
    if form.name.ends_with("_zi") && prefers_signed(instruction) {
        text.push('z');
    }
    for (i, (operand, &value)) in form.operands.iter().zip(&instruction.operands).enumerate() {
        text.push_str(if i == 0 { " " } else { ", " });
        print_operand(&mut text, operand, value);
    }
    text
}

/// Whether the plain mnemonic with these operands means the signed form of an instruction that is the unsigned one
/// (`assembler.md` 5): `addz`, `cmpeqz`, `maxz`, `minz`, `subz`.
fn prefers_signed(instruction: &Instruction) -> bool {
    let form = instruction.form();
    let small = form
        .operands
        .iter()
        .zip(&instruction.operands)
        .any(|(o, &v)| o.class == Class::Unsigned && o.bits == 16 && v < 0x8000);
    let signed = form.name.replace("_zi", "_si");
    small && form_by_name(&signed).is_some_and(|f| f.mnemonic == form.mnemonic)
}

/// The text of a bundle.
pub fn print_bundle(main: &Instruction, aux: &Instruction) -> String {
    format!("{{ {} ; {} }}", print(main), print(aux))
}

fn print_operand(text: &mut String, operand: &Operand, value: i32) {
    let file = if operand.class.is_main_register() { 'm' } else { 'a' };
    let written = match operand.class {
        Class::M | Class::A => write!(text, "${file}{value}"),
        Class::MPair | Class::APair => write!(text, "${file}{value}:{}", value + 1),
        Class::AQuad => write!(text, "$a{value}:{}", value + 3),
        Class::Broadcast => write!(text, "$a{value}:B"),
        Class::BroadcastLower => write!(text, "$a{value}:BL"),
        Class::BroadcastUpper => write!(text, "$a{value}:BU"),
        Class::Rel19S2 => write!(text, "{:#x}", value * 4),
        Class::UpperBits => write!(text, "{:#x}", value as u32),
        _ => write!(text, "{value}"),
    };
    written.expect("writing to a string");
    text.push_str(operand.suffix.text());
}

/// The plain aliases of `assembler.md` section 6.
fn alias(instruction: &Instruction) -> Option<String> {
    let op = instruction.operands;
    match (instruction.form().name, op) {
        ("setzi_mmmn_zi", [14, 0, ..]) => Some("nop".into()),
        ("setzi_aaan_zi", [13, 0, ..]) => Some("fnop".into()),
        ("or_mmmn", [d, 15, 15, ..]) => Some(format!("zero $m{d}")),
        ("or_aaan", [d, 15, 15, ..]) => Some(format!("zero $a{d}")),
        ("or64_aaan", [d, 14, 14, ..]) => Some(format!("zero $a{d}:{}", d + 1)),
        ("or_mmmn_zi", [d, s, 0, ..]) => Some(format!("mov $m{d}, $m{s}")),
        ("or_aaan_zi", [d, s, 0, ..]) => Some(format!("mov $a{d}, $a{s}")),
        ("atom_mamn", [d, s, ..]) => Some(format!("mov $m{d}, $a{s}")),
        ("or64_aaan", [d, s, 14, ..]) => Some(format!("mov $a{d}:{}, $a{s}:{}", d + 1, s + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Context, decode};
    use super::*;

    #[test]
    fn prints_registers_suffixes_and_targets() {
        let text = |word, context| print(&decode(word, context).expect("decodes"));
        assert_eq!(text(0x4080_0003, Context::Supervisor), "bri 0xc");
        assert_eq!(text(0x5648_2800, Context::Worker), "ld2xst64pace $a8:11, $a0:1, $m2:3+=, $m4, 0");
        assert_eq!(text(0x19e0_0000, Context::Worker), "nop");
        assert_eq!(text(0x2000_002a, Context::Worker), "addz $m0, $m0, 42");
        assert_eq!(text(0x2000_ff98, Context::Worker), "add $m0, $m0, 65432");
        assert_eq!(text(0x58f0_fe70, Context::Worker), "zero $a7");
        assert_eq!(text(0x43f0_4000, Context::Worker), "exitz $m15");
    }
}
