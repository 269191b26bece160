//! Object files as the linker sees them.

use object::elf;
use object::read::elf::ElfFile32;
use object::{
    Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex, SymbolFlags,
};

use super::{Error, FLAGS_IPU21, MACHINE_COLOSSUS, Relocation};

pub(super) struct Section {
    pub(super) name: String,
    pub(super) alignment: u32,
    pub(super) size: u32,
    /// Empty for uninitialised sections.
    pub(super) data: Vec<u8>,
    pub(super) relocations: Vec<Patch>,
}

pub(super) struct Patch {
    pub(super) offset: u32,
    pub(super) kind: Relocation,
    /// Index of a symbol; `None`: the addend is the value.
    pub(super) symbol: Option<usize>,
    pub(super) addend: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    Section(usize),
    Absolute,
    Undefined,
    /// In a section that is not linked.
    Dropped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Local,
    Global,
    Weak,
}

pub(super) struct Symbol {
    pub(super) name: String,
    pub(super) home: Home,
    pub(super) value: u32,
    pub(super) scope: Scope,
}

pub(super) struct Object {
    pub(super) name: String,
    pub(super) sections: Vec<Section>,
    pub(super) symbols: Vec<Symbol>,
    /// Architecture byte of the file flags, when it is not IPU21.
    pub(super) other_architecture: Option<u32>,
}

/// Reads and checks an object file.
pub(super) fn object(name: &str, bytes: &[u8]) -> Result<Object, Error> {
    parse(name, bytes).map_err(|reason| Error::Object { object: name.to_owned(), reason })
}

fn parse(name: &str, bytes: &[u8]) -> Result<Object, String> {
    let text = |e: object::read::Error| e.to_string();
    let file = ElfFile32::<Endianness>::parse(bytes).map_err(text)?;
    let header = file.elf_header();
    let endian = file.endian();
    if endian != Endianness::Little {
        return Err("big endian".into());
    }
    let machine = header.e_machine.get(endian).0;
    if machine != MACHINE_COLOSSUS {
        return Err(format!("machine {machine}, not {MACHINE_COLOSSUS}"));
    }
    if header.e_type.get(endian) != elf::ET_REL {
        return Err("not relocatable".into());
    }
    let architecture = header.e_flags.get(endian).0 & 0xff;

    // Linked are the sections that take memory and have bytes or at least a size.
    let mut index_of: Vec<Option<usize>> = Vec::new();
    let mut sections = Vec::new();
    for section in file.sections() {
        let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
        if sh_flags.0 & elf::SHF_ALLOC.0 == 0 {
            continue;
        }
        let section_name = section.name().map_err(text)?.to_owned();
        let size = u32::try_from(section.size()).map_err(|_| format!("section {section_name} is too large"))?;
        let alignment = u32::try_from(section.align().max(1)).unwrap_or(0);
        if !alignment.is_power_of_two() {
            return Err(format!("alignment {} of section {section_name} is no power of two", section.align()));
        }
        let data = section.data().map_err(text)?.to_vec();
        let mut relocations = Vec::new();
        for (offset, r) in section.relocations() {
            let RelocationFlags::Elf { r_type } = r.flags() else { continue };
            let kind = Relocation::by_number(r_type.0)
                .ok_or_else(|| format!("unknown relocation type {} in {section_name}", r_type.0))?;
            if r.has_implicit_addend() {
                return Err(format!("relocations of {section_name} have no addends"));
            }
            let symbol = match r.target() {
                RelocationTarget::Symbol(s) => Some(s.0),
                RelocationTarget::Absolute => None,
                _ => return Err(format!("relocation in {section_name} without a symbol")),
            };
            if offset + u64::from(kind.bytes()) > data.len() as u64 {
                return Err(format!("relocation beyond the end of {section_name}"));
            }
            relocations.push(Patch { offset: offset as u32, kind, symbol, addend: r.addend() });
        }
        let SectionIndex(index) = section.index();
        index_of.resize(index_of.len().max(index + 1), None);
        index_of[index] = Some(sections.len());
        sections.push(Section { name: section_name, alignment, size, data, relocations });
    }

    let mut symbols: Vec<Symbol> = Vec::new();
    for symbol in file.symbols() {
        let home = if symbol.is_undefined() {
            Home::Undefined
        } else if let Some(SectionIndex(index)) = symbol.section_index() {
            index_of.get(index).copied().flatten().map_or(Home::Dropped, Home::Section)
        } else if symbol.is_common() {
            return Err(format!("common symbol {}", symbol.name().unwrap_or("?")));
        } else if symbol.section() == object::SymbolSection::Absolute {
            Home::Absolute
        } else {
            Home::Dropped
        };
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return Err("symbol without flags".into()) };
        let scope = match st_info.st_bind() {
            elf::STB_LOCAL => Scope::Local,
            elf::STB_WEAK => Scope::Weak,
            _ => Scope::Global,
        };
        let index = symbol.index().0;
        while symbols.len() < index {
            symbols.push(Symbol { name: String::new(), home: Home::Dropped, value: 0, scope: Scope::Local });
        }
        symbols.push(Symbol {
            name: symbol.name().map_err(text)?.to_owned(),
            home,
            value: symbol.address() as u32,
            scope,
        });
    }
    for section in &sections {
        for patch in &section.relocations {
            if patch.symbol.is_some_and(|s| s >= symbols.len()) {
                return Err(format!("relocation in {} refers to symbol out of range", section.name));
            }
        }
    }
    let other_architecture = (architecture != FLAGS_IPU21 && architecture != 0).then_some(architecture);
    Ok(Object { name: name.to_owned(), sections, symbols, other_architecture })
}
