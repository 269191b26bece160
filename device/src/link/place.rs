//! Which sections are kept, where they stand, and what their relocations come to.

use std::collections::{BTreeMap, BTreeSet};

use super::read::{Home, Object, Patch, Scope};
use super::{Error, Image, Options, Placed, Segment};

/// A global definition.
#[derive(Clone, Copy)]
struct Definition {
    object: usize,
    symbol: usize,
    weak: bool,
}

/// Address of every kept section, by object and section.
type Addresses = BTreeMap<(usize, usize), u32>;

/// What a reference comes to.
enum Reference {
    Section { object: usize, section: usize, offset: u32 },
    Value(u32),
    Undefined,
}

struct Linker<'a> {
    objects: &'a [Object],
    options: &'a Options,
    definitions: BTreeMap<&'a str, Definition>,
}

pub(super) fn image(objects: &[Object], options: &Options) -> Result<Image, Error> {
    let linker = Linker { objects, options, definitions: definitions(objects)? };
    let kept = linker.reached()?;
    let (sections, address) = linker.placed(&kept)?;
    let at = |object: usize, section: usize| address.get(&(object, section)).copied();
    let value = |reference: Reference| match reference {
        Reference::Section { object, section, offset } => at(object, section).map(|a| a.wrapping_add(offset)),
        Reference::Value(v) => Some(v),
        Reference::Undefined => None,
    };

    let mut chunks: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for (&(o, s), &start) in &address {
        let section = &objects[o].sections[s];
        let mut bytes = section.data.clone();
        bytes.resize(section.size as usize, 0);
        for patch in &section.relocations {
            let symbol = value(linker.reference(o, patch)).unwrap_or(0);
            let sum = i64::from(symbol) + patch.addend;
            patch.kind.apply(sum, &mut bytes[patch.offset as usize..]).map_err(|reason| Error::Relocation {
                object: objects[o].name.clone(),
                section: section.name.clone(),
                offset: patch.offset,
                relocation: patch.kind.name(),
                symbol: linker.display(o, patch),
                reason,
            })?;
        }
        // An empty section may share its address with the next one.
        if !bytes.is_empty() {
            chunks.insert(start, bytes);
        }
    }

    let mut symbols: BTreeMap<String, u32> = options.externals.clone();
    for (name, d) in &linker.definitions {
        if let Some(v) = value(linker.home(d.object, d.symbol)) {
            symbols.insert((*name).to_owned(), v);
        }
    }
    let entry = symbols
        .get(&options.entry)
        .copied()
        .ok_or_else(|| Error::Undefined(vec![(options.entry.clone(), "the link options".to_owned())]))?;
    let warnings = objects
        .iter()
        .filter_map(|o| o.other_architecture.map(|a| format!("{}: architecture {a:#x}, not IPU21", o.name)))
        .collect();
    Ok(Image { entry, segments: segments(chunks, options), symbols, sections, warnings })
}

fn definitions(objects: &[Object]) -> Result<BTreeMap<&str, Definition>, Error> {
    let mut map: BTreeMap<&str, Definition> = BTreeMap::new();
    for (object, o) in objects.iter().enumerate() {
        for (symbol, s) in o.symbols.iter().enumerate() {
            if s.scope == Scope::Local || !matches!(s.home, Home::Section(_) | Home::Absolute) {
                continue;
            }
            let weak = s.scope == Scope::Weak;
            match map.get(s.name.as_str()) {
                Some(before) if !before.weak && !weak => {
                    return Err(Error::Duplicate {
                        symbol: s.name.clone(),
                        first: objects[before.object].name.clone(),
                        second: o.name.clone(),
                    });
                }
                // The first weak definition holds until a strong one comes.
                Some(before) if weak || !before.weak => {}
                _ => {
                    map.insert(&s.name, Definition { object, symbol, weak });
                }
            }
        }
    }
    Ok(map)
}

impl Linker<'_> {
    fn home(&self, object: usize, symbol: usize) -> Reference {
        let s = &self.objects[object].symbols[symbol];
        match s.home {
            Home::Section(section) => Reference::Section { object, section, offset: s.value },
            Home::Absolute => Reference::Value(s.value),
            Home::Undefined | Home::Dropped => Reference::Undefined,
        }
    }

    /// A name, by definition first, else by external value.
    fn by_name(&self, name: &str) -> Reference {
        match (self.definitions.get(name), self.options.externals.get(name)) {
            (Some(d), _) => self.home(d.object, d.symbol),
            (None, Some(&value)) => Reference::Value(value),
            (None, None) => Reference::Undefined,
        }
    }

    fn reference(&self, object: usize, patch: &Patch) -> Reference {
        let Some(symbol) = patch.symbol else { return Reference::Value(0) };
        let s = &self.objects[object].symbols[symbol];
        if s.scope == Scope::Local {
            return self.home(object, symbol);
        }
        match self.by_name(&s.name) {
            // An undefined weak symbol is 0.
            Reference::Undefined if s.scope == Scope::Weak => Reference::Value(0),
            other => other,
        }
    }

    /// What a relocation refers to, for messages.
    fn display(&self, object: usize, patch: &Patch) -> String {
        let o = &self.objects[object];
        let base =
            patch.symbol.map_or(String::new(), |symbol| match (&o.symbols[symbol].name, o.symbols[symbol].home) {
                (name, Home::Section(section)) if name.is_empty() => o.sections[section].name.clone(),
                (name, _) => name.clone(),
            });
        match patch.addend {
            0 => base,
            addend => format!("{base}+{addend:#x}"),
        }
    }

    /// Sections reached from the roots; fails with all undefined names on the way.
    fn reached(&self) -> Result<BTreeSet<(usize, usize)>, Error> {
        let mut kept = BTreeSet::new();
        let mut open = Vec::new();
        let mut undefined = BTreeSet::new();
        for name in std::iter::once(&self.options.entry).chain(&self.options.retain) {
            match self.by_name(name) {
                Reference::Section { object, section, .. } => open.push((object, section)),
                Reference::Value(_) => {}
                Reference::Undefined => {
                    undefined.insert((name.clone(), "the link options".to_owned()));
                }
            }
        }
        while let Some((object, section)) = open.pop() {
            if !kept.insert((object, section)) {
                continue;
            }
            for patch in &self.objects[object].sections[section].relocations {
                match self.reference(object, patch) {
                    Reference::Section { object, section, .. } => open.push((object, section)),
                    Reference::Value(_) => {}
                    Reference::Undefined => {
                        let name = patch.symbol.map_or("", |s| &self.objects[object].symbols[s].name);
                        undefined.insert((name.to_owned(), self.objects[object].name.clone()));
                    }
                }
            }
        }
        if undefined.is_empty() { Ok(kept) } else { Err(Error::Undefined(undefined.into_iter().collect())) }
    }

    /// Addresses of the kept sections (P2, P3).
    fn placed(&self, kept: &BTreeSet<(usize, usize)>) -> Result<(Vec<Placed>, Addresses), Error> {
        let section = |&(o, s): &(usize, usize)| &self.objects[o].sections[s];
        let total = kept.iter().map(|k| u64::from(section(k).size)).sum();
        let mut list = Vec::new();
        let mut addresses = BTreeMap::new();
        let mut region = 0;
        let mut next = self.options.regions.first().map_or(0, |r| u64::from(r.0));
        let mut placed = 0;
        for key in kept {
            let s = section(key);
            let address = loop {
                let Some(&(_, end)) = self.options.regions.get(region) else {
                    let regions: Vec<String> =
                        self.options.regions.iter().map(|(a, b)| format!("{a:#x}..{b:#x}")).collect();
                    return Err(Error::RegionFull {
                        object: self.objects[key.0].name.clone(),
                        section: s.name.clone(),
                        size: s.size,
                        alignment: s.alignment,
                        regions: regions.join(", "),
                        total,
                        placed,
                    });
                };
                let start = next.next_multiple_of(u64::from(s.alignment));
                if start + u64::from(s.size) <= u64::from(end) {
                    next = start + u64::from(s.size);
                    break start as u32;
                }
                region += 1;
                next = self.options.regions.get(region).map_or(0, |r| u64::from(r.0));
            };
            placed += u64::from(s.size);
            addresses.insert(*key, address);
            list.push(Placed {
                object: self.objects[key.0].name.clone(),
                section: s.name.clone(),
                address,
                size: s.size,
                alignment: s.alignment,
            });
        }
        Ok((list, addresses))
    }
}

/// Joins chunks of one region; gaps of alignment are zeros.
fn segments(chunks: BTreeMap<u32, Vec<u8>>, options: &Options) -> Vec<Segment> {
    let region = |address: u32| options.regions.iter().position(|r| (r.0..r.1).contains(&address));
    let mut list: Vec<Segment> = Vec::new();
    for (address, bytes) in chunks {
        match list.last_mut() {
            Some(last) if region(last.address) == region(address) => {
                last.bytes.resize((address - last.address) as usize, 0);
                last.bytes.extend(bytes);
            }
            _ => list.push(Segment { address, bytes }),
        }
    }
    list
}
