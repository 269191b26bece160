//! Words back to assembly text.
//!
//! In: words and who executes them, or an object. Out: one line an instruction, bundles in braces, `invalid` for a word
//! that is no instruction.

use std::collections::BTreeMap;
use std::fmt;

use object::read::elf::ElfFile32;
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget};

use crate::isa::{Context, Instruction, decode, print, print_bundle};
use crate::link::{MACHINE_COLOSSUS, Relocation};

/// One disassembled instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Byte offset or address of its first word.
    pub address: u32,
    /// The words: 1, or 2 for a bundle and for an instruction with a data word.
    pub words: Vec<u32>,
    /// Assembly text, or `invalid`.
    pub text: String,
    /// Whether it decoded.
    pub valid: bool,
}

/// Disassembles consecutive words; branch targets are printed as byte addresses.
pub fn disassemble_words(words: &[u32], address: u32, context: Context) -> Vec<Line> {
    lines(words, address, &|word| decode(word, context))
}

/// Disassembles consecutive words that either a worker or the supervisor may execute.
pub fn disassemble_either(words: &[u32], address: u32) -> Vec<Line> {
    lines(words, address, &decode_any)
}

/// An instruction of either context; no word is one thing for workers only and another for the supervisor only.
fn decode_any(word: u32) -> Option<Instruction> {
    decode(word, Context::Worker).or_else(|| decode(word, Context::Supervisor))
}

fn lines(words: &[u32], address: u32, decode: &dyn Fn(u32) -> Option<Instruction>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut i = 0;
    while i < words.len() {
        let first = decode(words[i]);
        let second = words.get(i + 1).and_then(|&w| decode(w));
        let (count, text) = match first {
            Some(half) if half.bundled => match second {
                Some(other) if other.bundled => (2, Some(print_bundle(&half, &other))),
                _ => (1, None),
            },
            Some(alone) => (1, Some(print(&alone))),
            None => (1, None),
        };
        lines.push(Line {
            address: address.wrapping_add(4 * i as u32),
            words: words[i..i + count].to_vec(),
            valid: text.is_some(),
            text: text.unwrap_or_else(|| "invalid".to_owned()),
        });
        i += count;
        // The word after a `sendpicp` is data.
        if first.is_some_and(|f| f.form().payload)
            && let Some(&word) = words.get(i)
        {
            lines.push(Line {
                address: address.wrapping_add(4 * i as u32),
                words: vec![word],
                text: format!(".long {word:#010x}"),
                valid: true,
            });
            i += 1;
        }
    }
    lines
}

/// The code of an object.
#[derive(Clone, Debug, Default)]
pub struct Disassembly {
    /// Printed lines: section heads, labels, instructions.
    pub lines: Vec<String>,
    /// Words that are no instructions.
    pub invalid: usize,
}

impl fmt::Display for Disassembly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Why an object cannot be disassembled.
#[derive(Debug, thiserror::Error)]
pub enum DisassemblyError {
    /// Not an ELF file that can be read.
    #[error("not an object: {0}")]
    Damaged(#[from] object::read::Error),
    /// An ELF file of another machine.
    #[error("not a Colossus object: machine {0}")]
    Machine(u16),
}

/// Disassembles the code sections of an object. An object does not say who executes its code: without `context`, a
/// word may be an instruction of either.
pub fn disassemble_object(bytes: &[u8], context: Option<Context>) -> Result<Disassembly, DisassemblyError> {
    let file = ElfFile32::<Endianness>::parse(bytes)?;
    let machine = file.elf_header().e_machine.get(file.endian()).0;
    if machine != MACHINE_COLOSSUS {
        return Err(DisassemblyError::Machine(machine));
    }
    let mut out = Disassembly::default();
    for section in file.sections() {
        let name = section.name()?;
        let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        if sh_flags.0 & object::elf::SHF_EXECINSTR.0 == 0 || section.size() == 0 {
            continue;
        }
        out.lines.push(format!("# section {name}"));
        let data = section.data()?;
        let mut labels: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for symbol in file.symbols().filter(|s| s.section_index() == Some(section.index())) {
            if let Ok(label) = symbol.name()
                && !label.is_empty()
                && symbol.address() as usize <= data.len()
            {
                labels.entry(symbol.address() as usize).or_default().push(label);
            }
        }
        let mut notes: BTreeMap<u32, String> = BTreeMap::new();
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let kind = Relocation::by_number(r_type.0).map_or_else(|| r_type.0.to_string(), |r| r.name().to_owned());
            let target = match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    let symbol = file.symbol_by_index(index)?;
                    match (symbol.name(), symbol.section_index()) {
                        (Ok(name), _) if !name.is_empty() => name.to_owned(),
                        (_, Some(section)) => file.section_by_index(section)?.name()?.to_owned(),
                        _ => "?".to_owned(),
                    }
                }
                _ => "0".to_owned(),
            };
            notes.insert(offset as u32, format!("{kind} {target}+{:#x}", relocation.addend()));
        }
        let mut starts: Vec<usize> = labels.keys().copied().filter(|s| s % 4 == 0).collect();
        starts.push(0);
        starts.push(data.len());
        starts.sort_unstable();
        starts.dedup();
        for pair in starts.windows(2) {
            for label in labels.get(&pair[0]).into_iter().flatten() {
                out.lines.push(format!("{label}:"));
            }
            let stretch = &data[pair[0]..pair[1]];
            let (chunks, rest) = stretch.as_chunks::<4>();
            let words: Vec<u32> = chunks.iter().map(|&c| u32::from_le_bytes(c)).collect();
            let start = pair[0] as u32;
            let lines = match context {
                Some(context) => disassemble_words(&words, start, context),
                None => lines(&words, start, &decode_any),
            };
            for line in lines {
                out.invalid += usize::from(!line.valid);
                let mut text = format!("    {}", line.text);
                for word in 0..line.words.len() as u32 {
                    if let Some(note) = notes.get(&(line.address + 4 * word)) {
                        text.push_str("    # ");
                        text.push_str(note);
                    }
                }
                out.lines.push(text);
            }
            for byte in rest {
                out.lines.push(format!("    .byte {byte:#04x}"));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use crate::isa::{Contexts, forms};

    #[test]
    fn worker_and_supervisor_forms_share_no_word() {
        for a in forms().iter().filter(|f| f.contexts == Contexts::Worker) {
            for b in forms().iter().filter(|f| f.contexts == Contexts::Supervisor) {
                assert_ne!((a.value ^ b.value) & a.mask & b.mask, 0, "{} and {}", a.name, b.name);
            }
        }
    }
}
