//! The assembler and disassembler against the recorded vectors: every line of `vectors.tsv` and `vectors_disasm.tsv` byte
//! for byte, every line of `rejects.tsv` refused.

use std::fmt::Write;
use std::path::Path;

use ipuc_device::asm::{self, Options};
use ipuc_device::isa::Context;

/// Rows of a table beside this file, without its head.
fn table(name: &str) -> Vec<[String; 3]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asm").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<[String; 3]> = text
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
            cells.try_into().unwrap_or_else(|_| panic!("three columns: {line}"))
        })
        .collect();
    assert!(!rows.is_empty(), "{name} is empty");
    rows
}

fn contexts(mode: &str) -> Vec<Context> {
    match mode {
        "any" => vec![Context::Worker, Context::Supervisor],
        "worker" => vec![Context::Worker],
        "supervisor" => vec![Context::Supervisor],
        other => panic!("mode {other}"),
    }
}

fn hex(source: &str, context: Context) -> Result<String, String> {
    let options = Options { context, ..Options::default() };
    let lines = asm::hex("line.s", source, &options)
        .map_err(|list| list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    assert_eq!(lines.len(), 1, "one statement: {source}");
    let mut text = String::new();
    for byte in &lines[0].bytes {
        write!(text, "{byte:02x}").expect("writing to a string");
    }
    Ok(text)
}

#[test]
fn vectors_assemble_to_their_bytes() {
    let mut wrong = Vec::new();
    for [source, bytes, mode] in table("vectors.tsv") {
        for context in contexts(&mode) {
            match hex(&source, context) {
                Ok(found) if found == bytes => {}
                other => wrong.push(format!("{source} as {context:?}: {other:?}, expected {bytes}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn vectors_disassemble_to_their_text() {
    for [bytes, text, mode] in table("vectors_disasm.tsv") {
        let words: Vec<u32> = (0..bytes.len() / 8)
            .map(|i| u32::from_str_radix(&bytes[8 * i..8 * i + 8], 16).expect("hex").swap_bytes())
            .collect();
        for context in contexts(&mode) {
            let lines = asm::disassemble_words(&words, 0, context);
            let found: Vec<&str> = lines.iter().map(|l| l.text.as_str()).collect();
            assert_eq!(found, [text.as_str()], "{bytes}");
            assert_eq!(lines[0].valid, text != "invalid", "{bytes}");
        }
    }
}

#[test]
fn rejects_are_refused_by_both_ways_in() {
    let mut wrong = Vec::new();
    for [source, mode, reason] in table("rejects.tsv") {
        for context in contexts(&mode) {
            let options = Options { context, ..Options::default() };
            if let Ok(bytes) = hex(&source, context) {
                wrong.push(format!("--hex takes `{source}` as {context:?} ({reason}): {bytes}"));
            }
            match asm::assemble("line.s", &source, &options) {
                Ok(_) => wrong.push(format!("`{source}` as {context:?} is taken ({reason})")),
                Err(list) => {
                    assert_eq!(list.len(), 1, "one reason for `{source}`: {list:?}");
                    assert_eq!((list[0].line, list[0].file.as_str()), (1, "line.s"));
                    assert!(list[0].column <= source.len() as u32 + 1, "{source}: {}", list[0]);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_address_out_of_range_is_taken_where_the_permission_is_on() {
    let source = ".allow_invalid_operands\nbrz $m0, (1 << 19)\n";
    assert_eq!(hex(source, Context::Supervisor).as_deref(), Ok("00000013"));
    assert_eq!(hex(".allow_invalid_operands\nst64 $a1:2, $m2, 0", Context::Worker).as_deref(), Ok("00f0205f"));
}
