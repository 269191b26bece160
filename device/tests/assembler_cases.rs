//! Cases of the assembler in files: `tests/asm/cases/*.s`.
//!
//! A case is a source. `# = HEX` at the end of a statement gives its bytes in memory order; these are written by hand or
//! by a pattern evaluator, never taken from the encoder, and the head of the file says which. A block of `#> ` lines at
//! the end is the object (sections, relocations, symbols) or the errors and warnings; `IPUC_BLESS=1` rewrites that block
//! only. A first line `# context: supervisor` sets the context, `# hex` assembles without alignment rules.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ipuc_device::asm::{self, Options};
use ipuc_device::isa::Context;
use object::read::elf::ElfFile32;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asm/cases")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        write!(text, "{b:02x}").expect("writing to a string");
        text
    })
}

/// Sections with bytes, relocations and symbols, as the `object` reader sees them.
fn describe(bytes: &[u8]) -> Vec<String> {
    let file = ElfFile32::<Endianness>::parse(bytes).expect("an ELF file");
    let mut out = Vec::new();
    for section in file.sections() {
        let name = section.name().expect("a name");
        let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        if name.starts_with(".rela") || name.ends_with("tab") {
            continue;
        }
        let data = section.data().expect("data");
        out.push(format!("section {name} flags {:#x} align {} size {}", sh_flags.0, section.align(), section.size()));
        for line in data.chunks(32) {
            out.push(format!("  {}", hex(line)));
        }
        for (offset, r) in section.relocations() {
            let RelocationFlags::Elf { r_type } = r.flags() else { continue };
            let target = match r.target() {
                RelocationTarget::Symbol(index) => {
                    let symbol = file.symbol_by_index(index).expect("a symbol");
                    match symbol.name().expect("a name") {
                        "" => {
                            let home = symbol.section_index().expect("a section symbol");
                            file.section_by_index(home).expect("a section").name().expect("a name").to_owned()
                        }
                        name => name.to_owned(),
                    }
                }
                RelocationTarget::Absolute => "absolute".to_owned(),
                other => format!("{other:?}"),
            };
            out.push(format!("  {offset:#x} type {} {target} {:+}", r_type.0, r.addend()));
        }
    }
    for symbol in file.symbols() {
        let name = symbol.name().expect("a name");
        if name.is_empty() {
            continue;
        }
        let home = match symbol.section_index() {
            Some(index) => file.section_by_index(index).expect("a section").name().expect("a name").to_owned(),
            None if symbol.is_undefined() => "undefined".to_owned(),
            None => "absolute".to_owned(),
        };
        let scope = if symbol.is_weak() {
            "weak"
        } else if symbol.is_global() {
            "global"
        } else {
            "local"
        };
        out.push(format!(
            "symbol {name} {scope} {:?} {home} {:#x} size {}",
            symbol.kind(),
            symbol.address(),
            symbol.size()
        ));
    }
    out
}

fn check(path: &Path, failures: &mut Vec<String>) -> (usize, usize) {
    let name = path.file_name().expect("a file").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(path).expect("readable");
    let source: String = text.lines().filter(|l| !l.starts_with("#>")).fold(String::new(), |s, l| s + l + "\n");
    let expected: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("#> ")).collect();
    let supervisor = source.lines().any(|l| l == "# context: supervisor");
    let includes = |file: &str, _: &str| {
        let text = std::fs::read_to_string(directory().join(file)).ok()?;
        Some((file.to_owned(), text))
    };
    let options = Options {
        context: if supervisor { Context::Supervisor } else { Context::Worker },
        defines: vec![("FROM_OUTSIDE".into(), "7".into())],
        includes: &includes,
        ..Options::default()
    };

    let words: Vec<&str> = source.lines().filter_map(|l| l.rsplit_once("# = ").map(|(_, h)| h.trim())).collect();
    if !words.is_empty() {
        match asm::hex(&name, &source, &options) {
            Err(list) => failures.push(format!("{name}: {}", list[0])),
            Ok(lines) => {
                let found: Vec<String> = lines.iter().map(|l| hex(&l.bytes)).collect();
                for ((word, found), line) in words.iter().zip(&found).zip(&lines) {
                    if word != found {
                        failures.push(format!("{name}: {}: {found}, expected {word}", line.source));
                    }
                }
                if words.len() != found.len() {
                    failures.push(format!("{name}: {} statements, {} expected", found.len(), words.len()));
                }
            }
        }
    }

    let bless = std::env::var_os("IPUC_BLESS").is_some();
    if expected.is_empty() && !(bless && words.is_empty()) {
        assert!(!words.is_empty(), "{name} expects nothing");
        return (words.len(), 0);
    }
    let found: Vec<String> = if source.lines().any(|l| l == "# hex") {
        match asm::hex(&name, &source, &options) {
            Ok(lines) => lines.iter().map(ToString::to_string).collect(),
            Err(list) => list.iter().flat_map(|d| lines_of(&d.to_string())).collect(),
        }
    } else {
        match asm::assemble(&name, &source, &options) {
            Ok(object) => {
                let warnings = object.warnings.iter().flat_map(|d| lines_of(&d.to_string()));
                warnings.chain(describe(&object.bytes)).collect()
            }
            Err(list) => list.iter().flat_map(|d| lines_of(&d.to_string())).collect(),
        }
    };
    if bless {
        let block = found.iter().fold(String::new(), |s, l| s + "#> " + l + "\n");
        std::fs::write(path, format!("{source}{block}")).expect("writable");
    } else if found != expected {
        failures.push(format!("{name}:\n{}\nexpected:\n{}", found.join("\n"), expected.join("\n")));
    }
    (words.len(), found.len())
}

fn lines_of(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

#[test]
fn cases() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory())
        .expect("the directory of cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "s"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 10, "only {} cases", paths.len());
    let mut failures = Vec::new();
    for path in &paths {
        check(path, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
