//! Stage `diagnostics`: what a plan set uses, and what is wrong.

use ipuc_device::memory::{BASE, FETCH_AHEAD, INTERLEAVED_BASE, SIZE, TILES, TileId};
use ipuc_device::package::{OperatorRecord, PhaseRecord, Totals};

use super::code::{kernel_set, linked};
use super::model::{ast, graph};
use super::names::{self, node};
use super::place::{placement, reservation, rows};
use super::plan::{choice, frontier, program};
use crate::database::Db;
use crate::diagnostics::codes;
use crate::diagnostics::{Level, Part, Problem};
use crate::keys::{LimitsKey, PlanSetKey, Scenario};
use crate::lower::ir::{MemoryClass, Step};
use crate::model::Edit;
use crate::model::graph::{Names, OpId};
use crate::plan::whole::HOPELESS;

/// Cycles from the last tile's entry into a phase's barrier to event 0 of the row: the barrier and a call, as the
/// simulator models them (`device/FIDELITY.md`).
const PHASE_ENTRY: u64 = 106;
/// Cycles of the code around a phase: register writes before the barrier, the return after the row.
const PHASE_CODE: u64 = 39;
/// Cycles to fill an argument register, and to reach a kernel.
const CALL_CODE: u64 = 12;

/// Bytes and cycles of a plan set, limit-free. Names are attached later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Usage {
    /// Phases in execution order; `operation` holds the operator's number.
    pub phases: Vec<(u32, PhaseRecord)>,
    /// Operators.
    pub operators: Vec<OperatorRecord>,
    /// Totals.
    pub totals: Totals,
    /// Tile with the longest tables.
    pub worst_table_tile: TileId,
    /// Buffers that lie past the end of memory: operator, role, bytes.
    pub overflow: Vec<(u32, &'static str, u32)>,
    /// Buffers at the worst step: operator, role, bytes, largest first.
    pub peak: Vec<(u32, &'static str, u32)>,
    /// One past the last byte that is fetched: tile code or exchange rows.
    pub executable_end: u32,
    /// Bytes by which the exchange rows still exceed their reservation after it was grown as often as it may be.
    pub unreserved_bytes: u32,
}

/// What a plan set uses.
pub fn usage<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> &'db Usage {
    db.trace().edge(node("usage", names::plan_set(db, set)));
    usage_query(db, set)
}

#[salsa::tracked]
fn usage_query<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> Usage {
    db.trace().execute(node("usage", names::plan_set(db, set)), || measure(db, set))
}

fn measure<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> Usage {
    let program = program(db, set);
    let room = reservation(db, set);
    let placed = placement(db, set, room);
    let table = rows(db, set, room);
    let mut operators: Vec<OperatorRecord> = set
        .set(db)
        .operators
        .iter()
        .map(|planned| OperatorRecord {
            op: "gemm".into(),
            plan: planned.plan.to_string(),
            ..OperatorRecord::default()
        })
        .collect();
    let mut phases = Vec::new();
    let mut totals = Totals::default();
    let mut encoded = table.phases.iter();
    let mut table_bytes = vec![vec![0u64; TILES as usize]; operators.len()];
    for position in 0..program.steps.len() {
        let (operator, step) = program.step(position);
        let record = &mut operators[operator as usize];
        match step {
            Step::Exchange(problem) => {
                let phase = encoded.next().expect("one entry a phase");
                let cycles = u64::from(phase.horizon) + PHASE_ENTRY;
                record.cycles += cycles + PHASE_CODE;
                record.exchange_cycles += cycles;
                totals.estimated_cycles += cycles + PHASE_CODE;
                totals.estimated_exchange_cycles += cycles;
                for (tile, words) in &phase.rows {
                    table_bytes[operator as usize][tile.index()] += 4 * words.len() as u64;
                }
                phases.push((
                    operator,
                    PhaseRecord {
                        phase: phases.len() as u32,
                        executions: 1,
                        transfers: problem.transfers.len() as u64,
                        pieces: phase.pieces.into(),
                        words: problem.transfers.iter().map(|t| u64::from(t.words)).sum(),
                        words_received: problem
                            .transfers
                            .iter()
                            .map(|t| u64::from(t.words) * t.destinations.len() as u64)
                            .sum(),
                        horizon: phase.horizon.into(),
                        endpoint_lower_bound: phase.bounds.endpoint.into(),
                        fill_drain_lower_bound: phase.bounds.fill_drain.into(),
                        kind: "ordinary".into(),
                        reused: false,
                        max_row_words: phase.rows.iter().map(|(_, w)| w.len() as u64).max().unwrap_or(0),
                        ..PhaseRecord::default()
                    },
                ));
            }
            Step::Compute(groups) => {
                let slowest = groups
                    .iter()
                    .map(|g| g.calls.iter().map(|c| u64::from(c.cycles) + CALL_CODE).sum::<u64>())
                    .max()
                    .unwrap_or(0);
                record.cycles += slowest;
                totals.estimated_cycles += slowest;
            }
        }
    }
    let mut bytes_at = vec![[0u64; 2]; program.steps.len().max(1)];
    for (buffer, &address) in program.buffers.iter().zip(&placed.addresses) {
        operators[buffer.operator as usize].tile_bytes += u64::from(buffer.buffer.bytes);
        let interleaved = usize::from(
            buffer.buffer.class == MemoryClass::Interleaved || (INTERLEAVED_BASE..=u32::MAX).contains(&address),
        );
        for step in buffer.live.0..=buffer.live.1.min(bytes_at.len() as u32 - 1) {
            bytes_at[step as usize][interleaved] += u64::from(buffer.buffer.bytes);
        }
    }
    for (record, bytes) in operators.iter_mut().zip(&table_bytes) {
        record.exchange_table_bytes = bytes.iter().copied().max().unwrap_or(0);
    }
    let worst_step = (0..bytes_at.len()).max_by_key(|&s| (bytes_at[s][0] + bytes_at[s][1], s)).unwrap_or(0) as u32;
    totals.peak_standard_bytes = bytes_at.iter().map(|b| b[0]).max().unwrap_or(0);
    totals.peak_interleaved_bytes = bytes_at.iter().map(|b| b[1]).max().unwrap_or(0);
    totals.exchange_table_bytes = table.worst.1.into();
    let describe = |i: usize| {
        let b = &program.buffers[i];
        (b.operator, b.buffer.role, b.buffer.bytes)
    };
    let overflow: Vec<_> = placed.allocation.overflow.iter().map(|&i| describe(i as usize)).collect();
    let over: u64 = overflow.iter().map(|o| u64::from(o.2)).sum();
    totals.tile_memory_bytes =
        u64::from(placed.data - BASE) + u64::from(placed.allocation.data_bytes(placed.data)) + over;
    let mut peak: Vec<_> = (0..program.buffers.len())
        .filter(|&i| (program.buffers[i].live.0..=program.buffers[i].live.1).contains(&worst_step))
        .map(describe)
        .collect();
    peak.sort_by_key(|&(operator, role, bytes)| (std::cmp::Reverse(bytes), operator, role));
    let table_end = placed.table + table.bytes + FETCH_AHEAD;
    Usage {
        phases,
        operators,
        totals,
        worst_table_tile: table.worst.0,
        overflow,
        peak,
        executable_end: table_end,
        unreserved_bytes: table_end.saturating_sub(placed.data),
    }
}

/// The phase records with the names of their operators.
pub fn named_phases(usage: &Usage, names: &Names) -> Vec<PhaseRecord> {
    usage
        .phases
        .iter()
        .map(|(operator, record)| PhaseRecord { operation: names.ops[*operator as usize].clone(), ..record.clone() })
        .collect()
}

/// The operator records with their names.
pub fn named_operators(usage: &Usage, names: &Names) -> Vec<OperatorRecord> {
    usage
        .operators
        .iter()
        .zip(&names.ops)
        .map(|(record, name)| OperatorRecord { name: name.clone(), ..record.clone() })
        .collect()
}

/// Every problem of every stage. Problems name entities; the front joins them with the source map.
pub fn problems<'db>(db: &'db dyn Db, scenario: Scenario<'db>, limits: LimitsKey<'db>) -> &'db Vec<Problem> {
    db.trace().edge(node("problems", names::within(db, scenario, limits)));
    problems_query(db, scenario, limits)
}

#[salsa::tracked]
fn problems_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>, limits: LimitsKey<'db>) -> Vec<Problem> {
    db.trace().execute(node("problems", names::within(db, scenario, limits)), || {
        let mut found = ast(db, scenario.source(db)).syntax(db).clone();
        let resolved = graph(db, scenario);
        found.extend(resolved.problems.iter().cloned());
        let broken = |found: &[Problem]| found.iter().any(|p| p.level() == Level::Error);
        if broken(&found) {
            return found;
        }
        for objection in &frontier(db, scenario).objections {
            let path = format!("ops.{}", resolved.names.ops[objection.operator as usize]);
            found.push(if objection.pinned {
                Problem::new(codes::PINNED_PLAN, "the pinned plan is impossible").at(
                    format!("{path}.plan"),
                    Part::Value,
                    objection.reason.clone(),
                )
            } else {
                Problem::new(codes::NOT_SUPPORTED, format!("not supported yet: {}", objection.reason))
                    .entity(path, "this one")
            });
        }
        let plans = &frontier(db, scenario).plans;
        if let Some(smallest) = plans.iter().map(|p| p.memory_bytes).min().filter(|&m| m > HOPELESS) {
            let limit = limits.limits(db).tile_memory_bytes;
            let message = format!("tile memory exceeded: {smallest} bytes, limit {limit} bytes");
            found.push(
                Problem::new(codes::TILE_MEMORY, message)
                    .at("target.tiles", Part::Value, "too few tiles by a factor")
                    .datum("needed_bytes", i64::from(smallest))
                    .datum("limit_bytes", i64::from(limit))
                    .note("even the plan that needs the least memory, loaded operands and temporaries together"),
            );
        }
        let chosen = choice(db, scenario, limits);
        if !broken(&found) && !chosen.operators.is_empty() {
            let set = PlanSetKey::new(db, chosen.clone());
            budgets(db, set, limits, &resolved.names, &mut found);
        }
        found
    })
}

fn budgets<'db>(
    db: &'db dyn Db,
    set: PlanSetKey<'db>,
    limits: LimitsKey<'db>,
    names: &Names,
    found: &mut Vec<Problem>,
) {
    let usage = usage(db, set);
    let stated = limits.limits(db);
    let name = |operator: u32| names.ops[operator as usize].as_str();
    let table = usage.totals.exchange_table_bytes;
    if table > u64::from(stated.exchange_table_bytes) {
        let limit = stated.exchange_table_bytes;
        let mut problem = Problem::new(
            codes::EXCHANGE_TABLES,
            format!("exchange tables exceed per-tile budget: {table} bytes, limit {limit} bytes"),
        )
        .context("target.exchange_table_bytes", Part::Value, "the limit")
        .datum("needed_bytes", table as i64)
        .datum("limit_bytes", i64::from(limit))
        .datum("worst_tile", i64::from(usage.worst_table_tile.0))
        .note(format!("worst tile {}, {} bytes over", usage.worst_table_tile, table - u64::from(limit)));
        for (index, operator) in (0u32..).zip(&usage.operators) {
            let share = format!("{} bytes of rows on its worst tile", operator.exchange_table_bytes);
            problem = problem.entity(format!("ops.{}", name(index)), share);
        }
        let mut largest: Vec<&(u32, PhaseRecord)> = usage.phases.iter().collect();
        largest.sort_by_key(|(_, p)| std::cmp::Reverse(p.max_row_words));
        for (operator, phase) in largest.into_iter().take(3) {
            problem = problem.note(format!(
                "phase {} of {}: {} transfers, longest row {} words",
                phase.phase,
                name(*operator),
                phase.transfers,
                phase.max_row_words
            ));
        }
        found.push(problem);
    }
    if usage.executable_end > INTERLEAVED_BASE {
        let over = usage.executable_end - INTERLEAVED_BASE;
        found.push(
            Problem::new(
                codes::EXECUTABLE_REGION,
                format!("exchange rows exceed the executable region: {over} bytes lie past {INTERLEAVED_BASE:#x}"),
            )
            .datum("over_bytes", i64::from(over))
            .note(format!("{} phases; fewer steps or operators need fewer rows", usage.phases.len())),
        );
    } else if usage.unreserved_bytes > 0 {
        let over = usage.unreserved_bytes;
        found.push(
            Problem::new(
                codes::EXCHANGE_TABLES,
                format!("exchange tables outgrow their reservation by {over} bytes, however often it grows"),
            )
            .datum("over_bytes", i64::from(over)),
        );
    }
    let memory = usage.totals.tile_memory_bytes;
    if memory > u64::from(stated.tile_memory_bytes) || !usage.overflow.is_empty() {
        let limit = stated.tile_memory_bytes.min(SIZE);
        let mut problem =
            Problem::new(codes::TILE_MEMORY, format!("tile memory exceeded: {memory} bytes, limit {limit} bytes"))
                .context("target.tile_memory_bytes", Part::Value, "the limit")
                .datum("needed_bytes", memory as i64)
                .datum("limit_bytes", i64::from(limit));
        let mut shown = std::collections::BTreeSet::new();
        for &(operator, role, bytes) in usage.peak.iter().take(4) {
            problem = problem.note(format!("{}: {role}, {bytes} bytes, alive at the peak", name(operator)));
            if shown.insert(operator) {
                let all = usage.operators[operator as usize].tile_bytes;
                problem =
                    problem.entity(format!("ops.{}", name(operator)), format!("{all} bytes of buffers on a tile"));
            }
        }
        if !usage.overflow.is_empty() {
            problem =
                problem.note("every plan of the search is too large for a tile; this is the smallest".to_string());
        }
        let more = Edit::set("target.tiles", i64::from(TILES));
        found.push(problem.suggest("use more tiles", vec![more]));
    }
    for (&OpId(operator), &budget) in &stated.operator_tile_bytes {
        let needed = usage.operators[operator as usize].tile_bytes;
        if needed > u64::from(budget) {
            found.push(
                Problem::new(
                    codes::TILE_MEMORY,
                    format!("{} exceeds its budget: {needed} bytes, limit {budget} bytes", name(operator)),
                )
                .at(format!("ops.{}.budget.tile_bytes", name(operator)), Part::Value, "the limit"),
            );
        }
    }
    let linked = linked(db, kernel_set(db, set, reservation(db, set)));
    found.extend(linked.errors(db).iter().map(|error| {
        let code = if error.contains("region") { codes::EXECUTABLE_REGION } else { codes::ASSEMBLY };
        Problem::new(code, error.clone())
    }));
}
