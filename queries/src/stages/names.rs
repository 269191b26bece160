//! Display names of keys, as the build log and `explain` show them.
//!
//! 1. Two keys of one query never share a name (big content is named by its digest): the log compares an execution with
//!    the one before under the same name.
//! 2. Names come from content, never from salsa's ids, so that they are the same in every process.

use crate::database::Db;
use crate::digest::Digest;
use crate::keys::{
    ClashKey, KernelKey, KernelSet, LimitsKey, OpSig, PhaseProblem, PlanSetKey, Reservation, Scenario, TileClass,
    WorkKey,
};
use crate::lower::ir::KernelInstance;
use crate::trace::Node;

pub(super) fn node(query: &'static str, key: impl Into<String>) -> Node {
    Node { query, key: key.into().into() }
}

/// `model.json target.tiles=64`
pub(super) fn scenario(db: &dyn Db, scenario: Scenario) -> String {
    let edits = scenario.edits(db).iter().map(|edit| format!(" {}={}", edit.path, edit.value));
    std::iter::once(scenario.source(db).path(db).to_owned()).chain(edits).collect()
}

/// `tile memory 638976, exchange table 81920`
pub(super) fn limits(db: &dyn Db, limits: LimitsKey) -> String {
    let stated = limits.limits(db);
    let budgets = stated.operator_tile_bytes.iter().map(|(op, bytes)| format!(", operator {} {bytes}", op.0));
    std::iter::once(format!("tile memory {}, exchange table {}", stated.tile_memory_bytes, stated.exchange_table_bytes))
        .chain(budgets)
        .collect()
}

/// A scenario within limits.
pub(super) fn within(db: &dyn Db, scenario: Scenario, limits: LimitsKey) -> String {
    format!("{} within {}", self::scenario(db, scenario), self::limits(db, limits))
}

pub(super) fn signature(db: &dyn Db, signature: OpSig) -> String {
    let shape = signature.shape(db);
    let pins = signature.pins(db);
    let grid = pins.grid.map(|[m, n, k]| format!(" grid {m}x{n}x{k}")).unwrap_or_default();
    let steps = pins.steps.map(|steps| format!(" steps {steps}")).unwrap_or_default();
    format!("gemm {}x{}x{} {:?} {:?}{grid}{steps}", shape.m, shape.k, shape.n, shape.left, shape.right)
}

pub(super) fn work(db: &dyn Db, key: WorkKey) -> String {
    let request = key.request(db);
    let shape = request.shape;
    format!("gemm {}x{}x{} {} {}", shape.m, shape.k, shape.n, request.plan, Digest::of(request).short())
}

pub(super) fn plan_set(db: &dyn Db, set: PlanSetKey) -> String {
    set.set(db).digest.short()
}

/// A plan set in a reservation.
pub(super) fn placed(db: &dyn Db, set: PlanSetKey, room: Reservation) -> String {
    format!("{} table {} code {}", plan_set(db, set), room.table_elements, room.code_elements)
}

pub(super) fn phase(db: &dyn Db, phase: PhaseProblem, effort: u32) -> String {
    format!("{} effort {effort}", phase.problem(db).digest.short())
}

pub(super) fn placed_phase(db: &dyn Db, problem: PhaseProblem, clash: ClashKey, effort: u32) -> String {
    format!("{} clash {}", phase(db, problem, effort), clash.clash(db).digest.short())
}

fn specialised(source: &str, defines: impl Iterator<Item = (impl AsRef<str>, u32)>) -> String {
    let defines = defines.map(|(define, value)| format!(" {}={value}", define.as_ref()));
    std::iter::once(source.to_owned()).chain(defines).collect()
}

/// `gemm_f16.S`
pub(super) fn kernel(db: &dyn Db, kernel: KernelKey) -> String {
    specialised(kernel.source(db), kernel.defines(db).iter().map(|(define, value)| (define, *value)))
}

/// `copy_64, gemm_f16_initialise at 0x4f000`
pub(super) fn kernel_set(db: &dyn Db, set: KernelSet) -> String {
    let instance = |i: &KernelInstance| specialised(i.entry, i.defines.iter().copied());
    let instances: Vec<String> = set.instances(db).iter().map(instance).collect();
    format!("{} at {:#x}", instances.join(", "), set.tile_program(db))
}

pub(super) fn class(db: &dyn Db, class: TileClass) -> String {
    class.program(db).digest.short()
}
