//! Stage `kernels`: sources to objects, objects to the linked image; and the code of a tile class.

use std::collections::BTreeMap;
use std::sync::Arc;

use ipuc_device::isa::AmpFlags;
use ipuc_device::memory::LINK_BASE;
use ipuc_device::{asm, kernels, link};

use super::names::{self, node};
use super::place::{CODE_BASE, code_base, kernels_used};
use super::plan::program;
use crate::database::Db;
use crate::digest::Keyed;
use crate::keys::{KernelKey, KernelSet, PlanSetKey, Reservation, TileClass};

/// What is wrong with a kernel: a line as the assembler or linker prints it.
pub(super) type CodeErrors = Vec<String>;

/// The object of a kernel source.
pub fn object<'db>(db: &'db dyn Db, kernel: KernelKey<'db>) -> &'db Result<Keyed<Vec<u8>>, CodeErrors> {
    db.trace().edge(node("object", names::kernel(db, kernel)));
    object_query(db, kernel)
}

#[salsa::tracked]
fn object_query<'db>(db: &'db dyn Db, kernel: KernelKey<'db>) -> Result<Keyed<Vec<u8>>, CodeErrors> {
    db.trace().execute(node("object", names::kernel(db, kernel)), || {
        let name = kernel.source(db);
        let Some(source) = db.kernel_source(name) else {
            return Err(vec![format!("{name}: there is no such kernel source")]);
        };
        let include = |name: &str, _from: &str| {
            db.kernel_source(name).map(|source| (name.to_owned(), source.text(db).to_string()))
        };
        let options = asm::Options {
            defines: kernel.defines(db).iter().map(|(n, v)| (n.clone(), v.to_string())).collect(),
            includes: &include,
            flags: AmpFlags::default(),
            ..asm::Options::default()
        };
        match asm::assemble(name, source.text(db), &options) {
            Ok(object) => Ok(Keyed::new(object.bytes)),
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
        }
    })
}

/// The static runtime and kernels at their addresses, the same on every tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LinkedImage {
    /// Address of the runtime's start.
    pub entry: u32,
    /// Bytes by address.
    pub segments: Vec<(u32, Arc<[u8]>)>,
    /// Global symbols.
    pub symbols: BTreeMap<String, u32>,
    /// The map, as text.
    pub map: String,
}

/// What linking gives, field by field: a reader of the errors does not depend on the image.
#[salsa::tracked(debug)]
pub struct Linked<'db> {
    /// The image; none when there are errors.
    #[tracked]
    #[returns(as_ref)]
    pub image: Option<Keyed<LinkedImage>>,
    /// What is wrong with the kernels.
    #[tracked]
    #[returns(ref)]
    pub errors: CodeErrors,
}

/// The kernels of a plan set, as a key.
pub(super) fn kernel_set<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, room: Reservation) -> KernelSet<'db> {
    KernelSet::new(db, kernels_used(program(db, set)), code_base(room))
}

/// Links the runtime with kernels.
pub fn linked<'db>(db: &'db dyn Db, set: KernelSet<'db>) -> Linked<'db> {
    db.trace().edge(node("linked", names::kernel_set(db, set)));
    linked_query(db, set)
}

#[salsa::tracked(returns(copy))]
fn linked_query<'db>(db: &'db dyn Db, set: KernelSet<'db>) -> Linked<'db> {
    let result = db.trace().execute(node("linked", names::kernel_set(db, set)), || link_kernels(db, set));
    let (image, errors) = match result {
        Ok(image) => (Some(image), CodeErrors::new()),
        Err(errors) => (None, errors),
    };
    Linked::new(db, image, errors)
}

fn link_kernels<'db>(db: &'db dyn Db, set: KernelSet<'db>) -> Result<Keyed<LinkedImage>, CodeErrors> {
    let mut sources: Vec<(String, Vec<(String, u32)>)> = vec![(kernels::RUNTIME.to_owned(), Vec::new())];
    for instance in set.instances(db) {
        let defines = instance.defines.iter().map(|&(n, v)| (n.to_owned(), v)).collect();
        sources.push((instance.source.to_owned(), defines));
    }
    sources[1..].sort();
    sources.dedup();
    let (mut objects, mut errors) = (Vec::new(), Vec::new());
    for (source, defines) in sources {
        match object(db, KernelKey::new(db, source.clone(), defines)) {
            Ok(bytes) => objects.push((source, bytes)),
            Err(more) => errors.extend(more.iter().cloned()),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let objects: Vec<(&str, &[u8])> = objects.iter().map(|(n, b)| (n.as_str(), b.as_slice())).collect();
    let mut retain: Vec<String> = set.instances(db).iter().map(|i| i.entry.to_owned()).collect();
    retain.push(kernels::COMPLETE.to_owned());
    let options = link::Options {
        regions: vec![(LINK_BASE, CODE_BASE)],
        entry: kernels::ENTRY.to_owned(),
        retain,
        externals: BTreeMap::from([(kernels::TILE_PROGRAM.to_owned(), set.tile_program(db))]),
    };
    let image = link::link(&objects, &options).map_err(|error| vec![error.to_string()])?;
    Ok(Keyed::new(LinkedImage {
        entry: image.entry,
        map: image.map().to_string(),
        segments: image.segments.into_iter().map(|s| (s.address, Arc::from(s.bytes))).collect(),
        symbols: image.symbols,
    }))
}

/// The code of a tile class, as bytes.
pub fn tile_program<'db>(db: &'db dyn Db, class: TileClass<'db>) -> &'db Arc<[u8]> {
    db.trace().edge(node("tile_program", names::class(db, class)));
    tile_program_query(db, class)
}

#[salsa::tracked]
fn tile_program_query<'db>(db: &'db dyn Db, class: TileClass<'db>) -> Arc<[u8]> {
    db.trace().execute(node("tile_program", names::class(db, class)), || {
        class.program(db).words().into_iter().flat_map(u32::to_le_bytes).collect()
    })
}
