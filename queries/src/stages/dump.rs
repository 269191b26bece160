//! Every stage of a build as text: stable, sorted, one entity a line, no pointers and no ids of the database.

use std::fmt::Write as _;

use ipuc_device::isa::{Context, decode, print};
use ipuc_device::memory::TileId;

use super::exchange::schedule;
use super::model::graph;
use super::package::classes;
use super::place::{placement, reservation, rows};
use super::plan::{choice, frontier, program};
use super::report::usage;
use crate::database::Db;
use crate::exchange::absolute::{AbsoluteProblem, AbsoluteTransfer};
use crate::keys::{LimitsKey, PlanSetKey, Scenario};
use crate::lower::ir::{Argument, BufferRef, Step};
use crate::lower::program::Program;
use crate::model::Graph;

/// A file name and its text.
pub type Dump = (String, String);

/// The stages of a build, in order; those that a broken model does not reach are missing.
pub fn dump<'db>(db: &'db dyn Db, scenario: Scenario<'db>, limits: LimitsKey<'db>) -> Vec<Dump> {
    let resolved = graph(db, scenario);
    let whole = Graph {
        content: (*resolved.content.share()).clone(),
        names: resolved.names.clone(),
        data: resolved.data.clone(),
    };
    let mut files: Vec<Dump> = vec![
        ("1-graph.txt".into(), whole.to_string()),
        ("1-limits.txt".into(), limits.limits(db).print(&whole)),
        ("2-plans.txt".into(), plans(db, scenario, limits)),
    ];
    let set = choice(db, scenario, limits);
    if set.operators.is_empty() {
        return files;
    }
    let key = PlanSetKey::new(db, set.clone());
    let program = program(db, key);
    files.push(("3-steps.txt".into(), steps(program, &resolved.names.ops)));
    files.push(("4-placement.txt".into(), places(db, key, &resolved.names.ops)));
    files.push(("5-schedules.txt".into(), schedules(db, key)));
    // The addresses of a layout that runs over the end of memory fit no instruction.
    if !usage(db, key).overflow.is_empty() {
        return files;
    }
    if let Ok(classes) = classes(db, key, reservation(db, key)) {
        files.push(("6-link-map.txt".into(), classes.image.map.clone()));
        let mut text = String::new();
        for (class, program) in (0u16..).zip(&classes.programs) {
            let tiles: Vec<TileId> =
                (0u16..).zip(&classes.of_tile).filter(|(_, c)| **c == class).map(|(t, _)| TileId(t)).collect();
            let _ = writeln!(text, "class {class}: {} tiles, first {}", tiles.len(), tiles[0]);
            for word in program.words() {
                let line = decode(word, Context::Supervisor).map_or("invalid".into(), |i| print(&i));
                let _ = writeln!(text, "    {line}");
            }
        }
        files.push(("7-tile-programs.txt".into(), text));
    }
    files
}

fn plans<'db>(db: &'db dyn Db, scenario: Scenario<'db>, limits: LimitsKey<'db>) -> String {
    let names = &graph(db, scenario).names.ops;
    let chosen = choice(db, scenario, limits);
    let mut text = String::new();
    for plan in frontier(db, scenario).plans.iter() {
        let mark = if plan.set.operators == chosen.operators { "chosen" } else { "" };
        let _ = writeln!(
            text,
            "{} cycles, {} in exchange, {} table bytes, {} bytes a tile {mark}",
            plan.cycles, plan.exchange_cycles, plan.table_bytes, plan.memory_bytes
        );
        for (operator, name) in plan.set.operators.iter().zip(names) {
            let _ = writeln!(text, "    {name}: {}", operator.plan);
        }
    }
    text
}

fn buffer_name(program: &Program, operator: u32, buffer: BufferRef) -> String {
    let number = program.resolve(operator, buffer);
    format!("{}#{number}", program.buffers[number as usize].buffer.role.replace(' ', "-"))
}

fn steps(program: &Program, names: &[String]) -> String {
    let mut text = String::new();
    for position in 0..program.steps.len() {
        let (operator, step) = program.step(position);
        let name = &names[operator as usize];
        match step {
            Step::Exchange(problem) => {
                let _ = writeln!(text, "step {position} {name}: exchange, {} transfers", problem.transfers.len());
                for t in &problem.transfers {
                    let from = buffer_name(program, operator, t.at.buffer);
                    let _ = write!(text, "    {} {from}+{} {} words ->", t.source, t.at.offset, t.words);
                    for d in &t.destinations {
                        let _ =
                            write!(text, " {}:{}+{}", d.tile, buffer_name(program, operator, d.at.buffer), d.at.offset);
                    }
                    text.push('\n');
                }
            }
            Step::Compute(groups) => {
                let _ = writeln!(text, "step {position} {name}: compute");
                for group in groups {
                    let _ = writeln!(text, "    {} tiles, first {}", group.tiles.len(), group.tiles[0]);
                    for call in &group.calls {
                        let arguments: Vec<String> = call
                            .arguments
                            .iter()
                            .map(|a| match *a {
                                Argument::Value(v) => v.to_string(),
                                Argument::Address(b, o) => format!("{}+{o}", buffer_name(program, operator, b)),
                            })
                            .collect();
                        let entry = call.kernel.entry;
                        let _ = writeln!(text, "        {entry}({}) {} cycles", arguments.join(", "), call.cycles);
                    }
                }
            }
        }
    }
    text
}

fn places<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, names: &[String]) -> String {
    let room = reservation(db, set);
    let (program, placed) = (program(db, set), placement(db, set, room));
    let mut text = String::new();
    let _ = writeln!(text, "code {:#x}, exchange rows {:#x}, data {:#x}", placed.code, placed.table, placed.data);
    let mut lines: Vec<(u32, String)> = program
        .buffers
        .iter()
        .zip(&placed.addresses)
        .enumerate()
        .map(|(number, (b, &address))| {
            let (role, bytes, class) = (b.buffer.role, b.buffer.bytes, b.buffer.class);
            let name = &names[b.operator as usize];
            let end = address + bytes;
            let line = format!(
                "{address:#07x}..{end:#07x} {bytes:>7} {class:?} {name} {role} #{number}, steps {} to {}",
                b.live.0, b.live.1
            );
            (address, line)
        })
        .collect();
    lines.sort();
    for (_, line) in lines {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn schedules<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> String {
    let room = reservation(db, set);
    let program = program(db, set);
    let mut text = String::new();
    for phase in &rows(db, set, room).phases {
        let (_, Step::Exchange(problem)) = program.step(phase.position as usize) else { unreachable!("a phase") };
        let schedule = schedule(db, set, room, phase.position);
        let _ = writeln!(
            text,
            "step {}: horizon {}, endpoint bound {}, fill and drain bound {}, bank bound {}",
            phase.position, phase.horizon, phase.bounds.endpoint, phase.bounds.fill_drain, phase.bounds.clash
        );
        for p in &schedule.pieces {
            let t = &problem.transfers[p.transfer as usize];
            let words = (p.first_word, p.first_word + p.words);
            let _ = writeln!(
                text,
                "    transfer {} tile {} words {}..{} slot {}",
                p.transfer, t.source, words.0, words.1, p.slot
            );
        }
    }
    text
}

/// The phases of a build as stand-alone problems with addresses, in execution order.
pub fn exchange_problems<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, tiles: u32) -> Vec<AbsoluteProblem> {
    let (program, placed) = (program(db, set), placement(db, set, reservation(db, set)));
    program
        .phases()
        .map(|position| {
            let (operator, Step::Exchange(problem)) = program.step(position) else { unreachable!("a phase") };
            let address = |p: crate::exchange::problem::Place| {
                placed.addresses[program.resolve(operator, p.buffer) as usize] + p.offset
            };
            let transfers = problem
                .transfers
                .iter()
                .map(|t| AbsoluteTransfer {
                    source: t.source.0.into(),
                    source_address: address(t.at),
                    words: t.words,
                    destinations: t.destinations.iter().map(|d| (d.tile.0.into(), address(d.at))).collect(),
                })
                .collect();
            AbsoluteProblem { tiles, transfers }
        })
        .collect()
}
