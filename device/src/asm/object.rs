//! The ELF file of an assembled source (`assembler.md` 9): 32-bit, little endian, RELA, machine 248, OS ABI 255, file
//! flags 0x21 (IPU21).
//!
//! Order: null, content sections in the order of their first mention, their relocation sections, `.symtab`, `.strtab`,
//! `.shstrtab`. Local symbols: one a section, then labels that are not temporary. Then global, weak and undefined ones
//! in the order of their first mention. So equal sources give equal bytes.

use object::elf;
use object::endian::Endianness;
use object::write::elf::{FileHeader, Rel, SectionHeader, Sym, SymbolIndex, Writer};

use super::assembler::Assembler;
use super::expression::Value;
use super::section::Target;
use super::symbols::{Binding, Definition, Symbol, Type};
use crate::link::{FLAGS_IPU21, MACHINE_COLOSSUS, OS_ABI_STANDALONE};

/// Where a symbol of the table stands.
#[derive(Clone, Copy)]
enum Home {
    Section(usize),
    Absolute,
    Undefined,
}

struct Entry {
    symbol: usize,
    home: Home,
    value: u32,
    size: u32,
}

/// The ELF file; errors are of sizes only.
pub(super) fn write(assembler: &Assembler<'_>) -> Result<Vec<u8>, String> {
    let (locals, globals) = entries(assembler)?;
    // Sections which are empty and unused are left out, `.text` among them.
    let mut referred = vec![false; assembler.sections.len()];
    for entry in locals.iter().chain(&globals) {
        if let Home::Section(s) = entry.home {
            referred[s] = true;
        }
    }
    for r in assembler.sections.iter().flat_map(|s| &s.relocations) {
        if let Target::Section(s) = r.target {
            referred[s] = true;
        }
    }
    let used: Vec<usize> = (0..assembler.sections.len())
        .filter(|&i| referred[i] || !assembler.sections[i].data.is_empty() || i == 0)
        .collect();

    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Little, false, &mut bytes);
    writer.reserve_file_header();
    let mut section_index = vec![None; assembler.sections.len()];
    let mut names = Vec::new();
    let mut offsets = Vec::new();
    for &i in &used {
        let section = &assembler.sections[i];
        names.push(writer.add_section_name(section.name.as_bytes()));
        section_index[i] = Some(writer.reserve_section_index());
        let file_bytes = if section.attributes.nobits { 0 } else { section.data.len() as u64 };
        offsets.push(writer.reserve(file_bytes, u64::from(section.alignment.clamp(1, 16))));
    }
    let relocation_names: Vec<String> = used.iter().map(|&i| format!(".rela{}", assembler.sections[i].name)).collect();
    let relocated: Vec<usize> =
        (0..used.len()).filter(|&k| !assembler.sections[used[k]].relocations.is_empty()).collect();
    let mut relocation_ids = Vec::new();
    for &k in &relocated {
        relocation_ids.push(writer.add_section_name(relocation_names[k].as_bytes()));
        writer.reserve_section_index();
    }
    let symtab = writer.reserve_symtab_section_index();
    writer.reserve_strtab_section_index();
    writer.reserve_shstrtab_section_index();

    writer.reserve_null_symbol_index();
    let mut section_symbol = vec![SymbolIndex(0); assembler.sections.len()];
    for &i in &used {
        section_symbol[i] = writer.reserve_symbol_index(section_index[i]);
    }
    let mut symbol_index = vec![SymbolIndex(0); assembler.symbols.list.len()];
    let mut symbol_names = Vec::new();
    for entry in locals.iter().chain(&globals) {
        symbol_names.push(writer.add_string(assembler.symbols.list[entry.symbol].name.as_bytes()));
        let section = match entry.home {
            Home::Section(s) => section_index[s],
            _ => None,
        };
        symbol_index[entry.symbol] = writer.reserve_symbol_index(section);
    }
    writer.reserve_symtab();
    writer.reserve_strtab().map_err(|e| e.to_string())?;
    writer.reserve_shstrtab().map_err(|e| e.to_string())?;
    let mut relocation_offsets = Vec::new();
    for &k in &relocated {
        let count = assembler.sections[used[k]].relocations.len();
        relocation_offsets.push(writer.reserve_relocations(count, true));
    }
    writer.reserve_section_headers();

    let header = FileHeader {
        os_abi: elf::OsAbi(OS_ABI_STANDALONE),
        abi_version: 0,
        e_type: elf::ET_REL,
        e_machine: elf::Machine(MACHINE_COLOSSUS),
        e_entry: 0,
        e_flags: elf::FileFlags(FLAGS_IPU21),
    };
    writer.write_file_header(&header).map_err(|e| e.to_string())?;
    for (&i, &offset) in used.iter().zip(&offsets) {
        let section = &assembler.sections[i];
        writer.pad_until(offset);
        if !section.attributes.nobits {
            writer.write(&section.data);
        }
    }
    writer.write_null_symbol();
    for &i in &used {
        writer.write_symbol(&Sym {
            section: section_index[i].map(|s| s.0),
            st_name: 0,
            st_info: elf::SymbolInfo::new(elf::STB_LOCAL, elf::STT_SECTION),
            st_other: elf::SymbolOther(0),
            st_shndx: elf::SHN_UNDEF,
            st_value: 0,
            st_size: 0,
        });
    }
    for (entry, name) in locals.iter().chain(&globals).zip(&symbol_names) {
        let symbol = &assembler.symbols.list[entry.symbol];
        let (section, special) = match entry.home {
            Home::Section(s) => (section_index[s].map(|s| s.0), elf::SHN_UNDEF),
            Home::Absolute => (None, elf::SHN_ABS),
            Home::Undefined => (None, elf::SHN_UNDEF),
        };
        let visibility = if symbol.hidden { elf::STV_HIDDEN } else { elf::STV_DEFAULT };
        let st_name = writer.string_offset(Some(*name));
        writer.write_symbol(&Sym {
            section,
            st_name,
            st_info: elf::SymbolInfo::new(bind(symbol, entry.home), kind(symbol)),
            st_other: elf::SymbolOther::from(visibility),
            st_shndx: special,
            st_value: u64::from(entry.value),
            st_size: u64::from(entry.size),
        });
    }
    writer.write_strtab();
    writer.write_shstrtab();
    for &k in &relocated {
        writer.write_align_relocation();
        for r in &assembler.sections[used[k]].relocations {
            let symbol = match r.target {
                Target::Absolute => 0,
                Target::Section(s) => section_symbol[s].0,
                Target::Symbol(s) => symbol_index[s].0,
            };
            writer.write_relocation(
                true,
                &Rel {
                    r_offset: u64::from(r.offset),
                    r_sym: symbol,
                    r_type: elf::RelocationType(r.kind.number()),
                    // The field is 32 bits wide and read as signed.
                    r_addend: i64::from(r.addend as i32),
                },
            );
        }
    }
    writer.write_null_section_header();
    for (k, &i) in used.iter().enumerate() {
        let section = &assembler.sections[i];
        let a = section.attributes;
        let flag = |on: bool, flag: elf::SectionFlags| if on { flag.0 } else { 0 };
        let sh_flags = flag(a.allocate, elf::SHF_ALLOC)
            | flag(a.write, elf::SHF_WRITE)
            | flag(a.execute, elf::SHF_EXECINSTR)
            | flag(a.merge, elf::SHF_MERGE)
            | flag(a.strings, elf::SHF_STRINGS);
        let sh_name = writer.section_name_offset(Some(names[k]));
        writer.write_section_header(&SectionHeader {
            sh_name,
            sh_type: match (a.nobits, a.note) {
                (true, _) => elf::SHT_NOBITS,
                (_, true) => elf::SHT_NOTE,
                _ => elf::SHT_PROGBITS,
            },
            sh_flags: elf::SectionFlags(sh_flags),
            sh_addr: 0,
            sh_offset: offsets[k],
            sh_size: section.data.len() as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: u64::from(section.alignment),
            sh_entsize: u64::from(a.entry_size),
        });
    }
    for ((&k, &id), &offset) in relocated.iter().zip(&relocation_ids).zip(&relocation_offsets) {
        let count = assembler.sections[used[k]].relocations.len();
        let section = section_index[used[k]].expect("used sections have an index");
        writer.write_relocation_section_header(id, section, symtab, offset, count, true);
    }
    writer.write_symtab_section_header((1 + used.len() + locals.len()) as u32);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    Ok(bytes)
}

/// Local and global symbols of the object.
fn entries(assembler: &Assembler<'_>) -> Result<(Vec<Entry>, Vec<Entry>), String> {
    let mut referred = vec![false; assembler.symbols.list.len()];
    for r in assembler.sections.iter().flat_map(|s| &s.relocations) {
        if let Target::Symbol(id) = r.target {
            referred[id] = true;
        }
    }
    let (mut locals, mut globals) = (Vec::new(), Vec::new());
    for (id, symbol) in assembler.symbols.list.iter().enumerate() {
        if symbol.predefined {
            continue;
        }
        let value = match &symbol.definition {
            Definition::Undefined if referred[id] => Value::Undefined { symbol: id, addend: 0 },
            Definition::Undefined => continue,
            _ if symbol.is_temporary() => continue,
            Definition::Label { section, offset } => {
                Value::Place { section: *section, offset: i64::from(*offset), symbol: None }
            }
            Definition::Set(value) => match assembler.symbols.evaluate(value) {
                Ok(value) => value,
                Err(_) if symbol.binding == Binding::Local => continue,
                Err(message) => return Err(format!("value of symbol `{}`: {message}", symbol.name)),
            },
        };
        let (home, value) = match value {
            Value::Number(n) => (Home::Absolute, n),
            Value::Place { section, offset, .. } => (Home::Section(section), offset),
            Value::Undefined { symbol: other, .. } if other == id => (Home::Undefined, 0),
            Value::Undefined { .. } if symbol.binding == Binding::Local => continue,
            Value::Undefined { .. } => {
                return Err(format!("symbol `{}` is set to an undefined symbol", symbol.name));
            }
        };
        let fits = i32::try_from(value).is_ok() || u32::try_from(value).is_ok();
        if !fits {
            if symbol.binding == Binding::Local {
                continue;
            }
            return Err(format!("value of symbol `{}` is wider than 32 bits", symbol.name));
        }
        let size = match &symbol.size {
            None => 0,
            Some((size, _)) => match assembler.symbols.evaluate(size) {
                Ok(Value::Number(n)) if u32::try_from(n).is_ok() => n as u32,
                _ => return Err(format!("size of symbol `{}` is not a number", symbol.name)),
            },
        };
        let entry = Entry { symbol: id, home, value: value as u32, size };
        let local = symbol.binding == Binding::Local && !matches!(home, Home::Undefined);
        if local { locals.push(entry) } else { globals.push(entry) }
    }
    Ok((locals, globals))
}

fn bind(symbol: &Symbol, home: Home) -> elf::SymbolBind {
    match (symbol.binding, home) {
        (Binding::Weak, _) => elf::STB_WEAK,
        (Binding::Global, _) | (_, Home::Undefined) => elf::STB_GLOBAL,
        (Binding::Local, _) => elf::STB_LOCAL,
    }
}

fn kind(symbol: &Symbol) -> elf::SymbolType {
    match symbol.kind {
        Type::None => elf::STT_NOTYPE,
        Type::Object => elf::STT_OBJECT,
        Type::Function => elf::STT_FUNC,
    }
}
