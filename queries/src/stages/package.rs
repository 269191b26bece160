//! Stage `emit`: tile classes and the package.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ipuc_device::kernels;
use ipuc_device::memory::{ELEMENT, LINK_BASE, LOAD_BASE, TILES};
use ipuc_device::package::{self as pack, Binding, DebugRegion, ImageSegment, Manifest, Package, Symbol, TileImage};

use super::code::{LinkedImage, kernel_set, linked, tile_program};
use super::model::graph;
use super::names::{self, node};
use super::place::{placement, reservation, rows};
use super::plan::program;
use super::report::{named_operators, named_phases, usage};
use crate::database::Db;
use crate::digest::{Digest, Keyed};
use crate::emit::tile_program::{Action, TileProgram};
use crate::keys::{PlanSetKey, Reservation, Scenario, TileClass};
use crate::lower::ir::{Argument, BufferRef, Step};
use crate::lower::program::OperandSource;
use crate::model::graph::{self as model, DataSource, Distribution, Operand, Role};
use crate::plan::layout::{Layout, Order};

/// Tiles by program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Classes {
    /// Class of each tile of the chip.
    pub of_tile: Vec<u16>,
    /// Program of each class.
    pub programs: Vec<Keyed<TileProgram>>,
    /// The image that the programs call into.
    pub image: Keyed<LinkedImage>,
}

/// Which tiles share a program; an error when kernels do not assemble or link.
pub fn classes<'db>(
    db: &'db dyn Db,
    set: PlanSetKey<'db>,
    room: Reservation,
) -> &'db Result<Keyed<Classes>, Vec<String>> {
    db.trace().edge(node("classes", names::placed(db, set, room)));
    classes_query(db, set, room)
}

#[salsa::tracked]
fn classes_query<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, room: Reservation) -> Result<Keyed<Classes>, Vec<String>> {
    db.trace().execute(node("classes", names::placed(db, set, room)), || {
        let program = program(db, set);
        let placed = placement(db, set, room);
        let table = rows(db, set, room);
        let linked = linked(db, kernel_set(db, set, room));
        let Some(image) = linked.image(db) else { return Err(linked.errors(db).clone()) };
        let symbol = |name: &str| *image.symbols.get(name).unwrap_or_else(|| panic!("the linker retains {name}"));
        let mut actions: Vec<Vec<Action>> = vec![Vec::new(); TILES as usize];
        let mut phases = table.phases.iter();
        for position in 0..program.steps.len() {
            let (operator, step) = program.step(position);
            match step {
                Step::Exchange(_) => {
                    let phase = phases.next().expect("one entry a phase");
                    let mut rows = phase.rows.iter().peekable();
                    for (tile, actions) in actions.iter_mut().enumerate() {
                        let takes_part = rows.next_if(|(t, _)| t.index() == tile).is_some();
                        actions.push(if takes_part {
                            Action::Exchange(placed.table + phase.slot)
                        } else {
                            Action::Abstain
                        });
                    }
                }
                Step::Compute(groups) => {
                    for group in groups {
                        let calls: Vec<Action> = group
                            .calls
                            .iter()
                            .map(|call| Action::Call {
                                target: symbol(call.kernel.entry),
                                arguments: call
                                    .arguments
                                    .iter()
                                    .map(|a| match *a {
                                        Argument::Value(value) => value,
                                        Argument::Address(buffer, offset) => {
                                            placed.addresses[program.resolve(operator, buffer) as usize] + offset
                                        }
                                    })
                                    .collect(),
                            })
                            .collect();
                        for tile in &group.tiles {
                            actions[tile.index()].extend_from_slice(&calls);
                        }
                    }
                }
            }
        }
        let complete = symbol(kernels::COMPLETE);
        let mut known: BTreeMap<Digest, u16> = BTreeMap::new();
        let mut programs = Vec::new();
        let of_tile = actions
            .into_iter()
            .map(|actions| {
                let program = Keyed::new(TileProgram { actions, complete });
                *known.entry(program.digest).or_insert_with(|| {
                    programs.push(program);
                    programs.len() as u16 - 1
                })
            })
            .collect();
        Ok(Keyed::new(Classes { of_tile, programs, image: image.clone() }))
    })
}

/// A finished package, compared by the digest of its file.
#[derive(Clone, Debug)]
pub struct PackageValue {
    /// Digest of the bytes.
    pub digest: Digest,
    /// The package.
    pub package: Arc<Package>,
}

impl Hash for PackageValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl PartialEq for PackageValue {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

/// The package of a plan set under the names of a scenario; an error when kernels do not assemble or link.
pub fn package<'db>(
    db: &'db dyn Db,
    scenario: Scenario<'db>,
    set: PlanSetKey<'db>,
) -> &'db Result<PackageValue, Vec<String>> {
    db.trace().edge(node("package", format!("{} {}", names::scenario(db, scenario), names::plan_set(db, set))));
    package_query(db, scenario, set)
}

#[salsa::tracked]
fn package_query<'db>(
    db: &'db dyn Db,
    scenario: Scenario<'db>,
    set: PlanSetKey<'db>,
) -> Result<PackageValue, Vec<String>> {
    db.trace().execute(
        node("package", format!("{} {}", names::scenario(db, scenario), names::plan_set(db, set))),
        || {
            let package = assemble(db, scenario, set)?;
            let bytes = package.to_bytes().unwrap_or_else(|e| panic!("a built package is valid: {e}"));
            Ok(PackageValue { digest: Digest(*blake3::hash(&bytes).as_bytes()), package: Arc::new(package) })
        },
    )
}

fn assemble<'db>(db: &'db dyn Db, scenario: Scenario<'db>, set: PlanSetKey<'db>) -> Result<Package, Vec<String>> {
    let room = reservation(db, set);
    let placed = placement(db, set, room);
    let table = rows(db, set, room);
    let classes = classes(db, set, room).as_ref().map_err(Clone::clone)?;
    let codes: Vec<Arc<[u8]>> =
        classes.programs.iter().map(|p| tile_program(db, TileClass::new(db, p.clone())).clone()).collect();

    let stub: Arc<[u8]> = kernels::entry_stub(classes.image.entry).iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut images: Vec<TileImage> = classes
        .of_tile
        .iter()
        .map(|&class| {
            let mut segments = vec![ImageSegment { address: LOAD_BASE, bytes: stub.clone() }];
            segments.extend(
                classes
                    .image
                    .segments
                    .iter()
                    .map(|(address, bytes)| ImageSegment { address: *address, bytes: bytes.clone() }),
            );
            segments.push(ImageSegment { address: placed.code, bytes: codes[class as usize].clone() });
            TileImage { segments }
        })
        .collect();
    for phase in &table.phases {
        for (tile, words) in &phase.rows {
            let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            images[tile.index()].segments.push(ImageSegment { address: placed.table + phase.slot, bytes });
        }
    }
    let longest = codes.iter().map(|c| c.len() as u32).max().unwrap_or(0);
    let image_end = classes.image.segments.iter().map(|(a, b)| a + b.len() as u32).max().unwrap_or(LINK_BASE);
    let mut debug_regions = vec![
        DebugRegion { name: "static runtime".into(), start: LINK_BASE, end: image_end },
        DebugRegion { name: "generated tile program".into(), start: placed.code, end: placed.code + longest },
        DebugRegion {
            name: "exchange rows".into(),
            start: placed.table,
            end: placed.table + room.table_elements * ELEMENT,
        },
    ];
    debug_regions.sort_by_key(|r| r.start);
    let mut symbols: Vec<Symbol> =
        classes.image.symbols.iter().map(|(name, &address)| Symbol { address, name: name.clone() }).collect();
    symbols.sort();

    let resolved = graph(db, scenario);
    let usage = usage(db, set);
    let manifest = Manifest {
        name: resolved.names.model.clone(),
        compiler: format!("ipuc {}", env!("CARGO_PKG_VERSION")),
        source_digest: resolved.content.digest.hex(),
        tiles_used: u32::from(resolved.content.target.tiles),
        entry: LOAD_BASE,
        symbols,
        debug_regions,
        bindings: bindings(db, scenario, set, &placed.addresses),
        graph: computation(db, scenario, set),
        phases: named_phases(usage, &resolved.names),
        operators: named_operators(usage, &resolved.names),
        totals: usage.totals.clone(),
        ..Manifest::default()
    };
    let mut shared: BTreeMap<Digest, Arc<TileImage>> = BTreeMap::new();
    let tiles = images
        .into_iter()
        .map(|image| {
            let key: Vec<(u32, &[u8])> = image.segments.iter().map(|s| (s.address, &*s.bytes)).collect();
            shared.entry(Digest::of(&key)).or_insert_with(|| Arc::new(image.clone())).clone()
        })
        .collect();
    Ok(Package { manifest, tiles })
}

fn dtype(dtype: model::DType) -> pack::Dtype {
    pack::Dtype::by_name(dtype.name()).expect("both name the types of the contract")
}

fn extents(shape: &model::Shape) -> Vec<u64> {
    shape.0.iter().map(|&e| e.into()).collect()
}

/// The storage map.
fn bindings<'db>(db: &'db dyn Db, scenario: Scenario<'db>, set: PlanSetKey<'db>, addresses: &[u32]) -> Vec<Binding> {
    let resolved = graph(db, scenario);
    let program = program(db, set);
    let bind = |name: &str, role, kind: &model::TensorType, layout: &Layout, operator: u32| Binding {
        name: name.to_owned(),
        role,
        shape: extents(&kind.shape),
        dtype: dtype(kind.dtype),
        order: match layout.space.order {
            Order::Left => pack::Order::Left,
            Order::Right => pack::Order::Right,
        },
        rows: layout.space.rows,
        columns: layout.space.columns,
        spans: layout
            .spans
            .iter()
            .map(|s| pack::Span {
                tile: s.tile,
                address: addresses[program.resolve(operator, BufferRef::Own(s.buffer)) as usize] + s.offset,
                first_atom: s.first_atom,
                atoms: s.atoms,
            })
            .collect(),
    };
    let mut bindings = Vec::new();
    for (o, operator) in (0u32..).zip(&program.operators) {
        for load in &operator.work.loads {
            let OperandSource::Tensor(tensor) = operator.operands[load.operand as usize] else {
                unreachable!("only tensors are loaded")
            };
            let described = &resolved.content.tensors[tensor as usize];
            let role = match described.role {
                Role::Input => pack::Role::Input,
                Role::Weight => pack::Role::Weight,
            };
            bindings.push(bind(&resolved.names.tensors[tensor as usize], role, &described.kind, &load.layout, o));
        }
        if operator.output {
            let op = &resolved.content.ops[o as usize];
            bindings.push(bind(
                &resolved.names.ops[o as usize],
                pack::Role::Output,
                &op.signature.result,
                &operator.work.result,
                o,
            ));
        }
    }
    bindings
}

/// The computation as the reference needs it.
fn computation<'db>(db: &'db dyn Db, scenario: Scenario<'db>, set: PlanSetKey<'db>) -> pack::Graph {
    let resolved = graph(db, scenario);
    let names = &resolved.names;
    let planned = &set.set(db).operators;
    let mut result = pack::Graph::default();
    for ((tensor, name), data) in resolved.content.tensors.iter().zip(&names.tensors).zip(&resolved.data) {
        let described = pack::Tensor {
            name: name.clone(),
            shape: extents(&tensor.kind.shape),
            dtype: dtype(tensor.kind.dtype),
            data: match data {
                DataSource::Absent => pack::Data::Unstated,
                DataSource::File(path) => pack::Data::File { path: path.clone(), tensor: None },
                DataSource::Random { distribution, seed } => pack::Data::Random {
                    distribution: match *distribution {
                        Distribution::Normal(deviation) => pack::Distribution::Normal(deviation.get()),
                        Distribution::Integers(low, high) => pack::Distribution::Integers(low, high),
                    },
                    seed: *seed,
                },
            },
        };
        match tensor.role {
            Role::Input => result.inputs.push(described),
            Role::Weight => result.weights.push(described),
        }
    }
    for ((op, name), planned) in resolved.content.ops.iter().zip(&names.ops).zip(planned) {
        result.operations.push(pack::Operation {
            name: name.clone(),
            kind: pack::OperationKind::Gemm { k_parts: planned.plan.grid[2] },
            operands: op
                .operands
                .iter()
                .map(|operand| match operand {
                    Operand::Tensor(t) => names.tensors[t.index()].clone(),
                    Operand::Result(o) => names.ops[o.index()].clone(),
                })
                .collect(),
            shape: extents(&op.signature.result.shape),
            dtype: dtype(op.signature.result.dtype),
        });
    }
    result.outputs = resolved.content.outputs.iter().map(|o| names.ops[o.index()].clone()).collect();
    result
}
