//! Every form of the instruction table through the assembler.
//!
//! The expected words come from a little evaluator of this file: it reads the pattern column of the tables as text and
//! puts operand bits where the letters stand. It shares nothing with the encoder but the table files themselves.

use std::collections::BTreeMap;

use ipuc_device::asm::{self, Options};
use ipuc_device::isa::{self, Class, Context, Instruction};
use proptest::prelude::*;

const TABLES: [(&str, Context); 3] = [
    (include_str!("../src/isa/common.tsv"), Context::Supervisor),
    (include_str!("../src/isa/supervisor.tsv"), Context::Supervisor),
    (include_str!("../src/isa/worker.tsv"), Context::Worker),
];
const MODIFIERS: [&str; 2] =
    [include_str!("../src/isa/common_modifiers.tsv"), include_str!("../src/isa/worker_modifiers.tsv")];

fn word(source: &str, context: Context) -> u32 {
    let options = Options { context, ..Options::default() };
    let lines = asm::hex("form.s", source, &options).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
    assert_eq!(lines.len(), 1, "{source}");
    u32::from_le_bytes(lines[0].bytes[..4].try_into().expect("one word"))
}

/// Value and spelling of an operand, chosen by `seed`; `signed_twin`: a small value would mean another form.
fn operand(class: &str, width: usize, seed: u32, signed_twin: bool) -> (i64, String) {
    let number = |n: i64| (n, n.to_string());
    let register = |file: char, low: u32, span: u32| {
        let text = if span == 1 { format!("${file}{low}") } else { format!("${file}{low}:{}", low + span - 1) };
        (i64::from(low), text)
    };
    match class {
        "MR" => register('m', seed % 16, 1),
        "AR" => register('a', seed % 16, 1),
        "MRPair" => register('m', seed % 8 * 2, 2),
        "ARPairOperand" => register('a', seed % 8 * 2, 2),
        "ARQuadOperand" => register('a', seed % 4 * 4, 4),
        "BroadcastOperand" => (i64::from(seed % 16), format!("$a{}:B", seed % 16)),
        "BroadcastLowerOperand" => (i64::from(seed % 16), format!("$a{}:BL", seed % 16)),
        "BroadcastUpperOperand" => (i64::from(seed % 16), format!("$a{}:BU", seed % 16)),
        // 0 would be taken as the zero-extended form.
        "imm12iz" => (i64::from(seed % 4095 + 1), format!("{:#x}", u64::from(seed % 4095 + 1) << 20)),
        "Rel19S2Operand" => number(i64::from(seed) % (1 << width)),
        "RunOperand" | "Rel16Operand" => number(i64::from(seed) % (1 << 16)),
        "Rel20Operand" => number(i64::from(seed) % (1 << 20)),
        "Rel8Operand" => number(i64::from(seed) % (1 << 8)),
        _ => {
            let body = class.strip_prefix("imm").expect("immediate class");
            let digits: String = body.chars().take_while(char::is_ascii_digit).collect();
            let bits: u32 = digits.parse().expect("width");
            let span = 1i64 << bits;
            match &body[digits.len()..] {
                "zi" if signed_twin => number(span / 2 + i64::from(seed) % (span / 2)),
                "zi" => number(i64::from(seed) % span),
                "si" => number(i64::from(seed) % span - span / 2),
                other => panic!("class imm{digits}{other}"),
            }
        }
    }
}

/// Puts the bits of the operands into the pattern: letters a b d e f g are operands 0 to 5, highest bit first; a `split:`
/// token moves ranges of bits.
fn evaluate(pattern: &str, kind: &str, values: &BTreeMap<usize, i64>) -> u32 {
    let mut word = 0u32;
    let mut split = Vec::new();
    for token in kind.split(' ') {
        let Some(rest) = token.strip_prefix("split:op") else { continue };
        let numbers: Vec<u32> =
            rest.split(|c: char| !c.is_ascii_digit()).filter(|t| !t.is_empty()).map(|t| t.parse().unwrap()).collect();
        let [op, high, low, to_high, to_low] = numbers[..] else { panic!("split {token}") };
        assert_eq!(high - low, to_high - to_low, "{token}");
        split.push(op as usize);
        for bit in low..=high {
            word |= ((values[&(op as usize)] >> bit) as u32 & 1) << (to_low + bit - low);
        }
    }
    for (&op, &value) in values {
        if split.contains(&op) {
            continue;
        }
        let letter = b"abdefg"[op];
        let places: Vec<u32> =
            pattern.bytes().enumerate().filter(|&(_, c)| c == letter).map(|(i, _)| 31 - i as u32).collect();
        for (bit, &place) in places.iter().rev().enumerate() {
            word |= ((value >> bit) as u32 & 1) << place;
        }
    }
    for (i, c) in pattern.bytes().enumerate() {
        if c == b'1' {
            word |= 1 << (31 - i);
        }
    }
    word
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_form_has_the_word_of_its_pattern(seeds in proptest::array::uniform6(any::<u32>())) {
        let mut suffixes = BTreeMap::new();
        for line in MODIFIERS.iter().flat_map(|t| t.lines().skip(1)) {
            let cells: Vec<&str> = line.split('\t').collect();
            suffixes.insert((cells[0], cells[1]), cells[3]);
        }
        let names: Vec<&str> =
            TABLES.iter().flat_map(|(t, _)| t.lines().skip(1)).map(|l| l.split('\t').nth(1).unwrap()).collect();
        let mut count = 0;
        for (table, context) in TABLES {
            for line in table.lines().skip(1) {
                let cells: Vec<&str> = line.split('\t').collect();
                let [mnemonic, form, operands, pattern, _, _, kind] = cells[..] else { panic!("{line}") };
                let twin = form.ends_with("_zi") && names.contains(&form.replace("_zi", "_si").as_str());
                let mut values = BTreeMap::new();
                let mut texts = Vec::new();
                for (k, text) in operands.split(',').enumerate() {
                    let parts: Vec<&str> = text.split(':').collect();
                    let number: usize = parts[0][2..].parse().unwrap();
                    let width = pattern.bytes().filter(|&c| c == b"abdefg"[number]).count();
                    let (value, mut text) = operand(parts[1], width, seeds[k], twin);
                    text.push_str(suffixes.get(&(form, parts[0])).copied().unwrap_or(""));
                    values.insert(number, value);
                    texts.push(text);
                }
                let source = format!("{mnemonic} {}", texts.join(", "));
                let expected = evaluate(pattern, kind, &values);
                prop_assert_eq!(word(&source, context), expected, "{}: {}", form, source);
                count += 1;
            }
        }
        prop_assert_eq!(count, 368);
    }

    #[test]
    fn printed_instructions_assemble_back(seeds in proptest::array::uniform6(any::<u32>())) {
        for form in isa::forms() {
            let mut operands = [0i32; 6];
            for ((slot, operand), seed) in operands.iter_mut().zip(&form.operands).zip(seeds) {
                let bits = u32::from(operand.bits);
                *slot = match operand.class {
                    Class::UpperBits => ((seed % 4095 + 1) << 20) as i32,
                    Class::MPair => (seed % 6 * 2) as i32,
                    Class::Signed => (seed << (32 - bits)) as i32 >> (32 - bits),
                    class if class.is_register() => (seed % (16 / class.span()) * class.span()) as i32,
                    _ => (seed & ((1 << bits) - 1)) as i32,
                };
            }
            let instruction = Instruction { form: form.id, operands, bundled: false };
            let expected = isa::encode(&instruction).expect("operands are in range");
            let mut text = isa::print(&instruction);
            // Targets are printed in bytes and written in words.
            if form.operands.last().is_some_and(|o| o.class == Class::Rel19S2) {
                let at = text.rfind("0x").expect("a target");
                let bytes = u32::from_str_radix(&text[at + 2..], 16).expect("hexadecimal");
                text = format!("{}{}", &text[..at], bytes / 4);
            }
            let context =
                if form.contexts.allow(Context::Worker) { Context::Worker } else { Context::Supervisor };
            prop_assert_eq!(word(&text, context), expected, "{}: {}", form.name, text);
        }
    }
}

#[test]
fn every_bundleable_pair_of_lanes_assembles() {
    for form in isa::forms().iter().filter(|f| f.coissue && f.contexts.allow(Context::Worker)) {
        let instruction = Instruction { form: form.id, operands: [0; 6], bundled: true };
        let alone = isa::print(&Instruction { bundled: false, ..instruction });
        let (main, aux) = match form.lane {
            isa::Lane::Main => (alone, "setzi $a13, 1".to_owned()),
            isa::Lane::Aux => ("setzi $m14, 1".to_owned(), alone),
        };
        let options = Options::default();
        let lines = asm::hex("bundle.s", &format!("{{ {main} ; {aux} }}"), &options)
            .unwrap_or_else(|e| panic!("{}: {}", form.name, e[0]));
        let at = if form.lane == isa::Lane::Main { 0 } else { 4 };
        let word = u32::from_le_bytes(lines[0].bytes[at..at + 4].try_into().expect("a word"));
        if !matches!(form.name, "or_mmmn_iz" | "or_aaan_iz" | "and_aaan_iz" | "andc_aaan_iz") {
            assert_eq!(word, isa::encode(&instruction).expect("zeros fit"), "{}", form.name);
        }
    }
}
