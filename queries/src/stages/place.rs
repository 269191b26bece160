//! Stage `place`: how much is set aside, where buffers lie, and the encoded rows, which close the loop.
//!
//! Row bytes need start slots, those need bank clashes, those need addresses, and addresses need the room that rows
//! take. [`reservation`] closes this with a plain loop: it grows the room to what the rows took, at most [`ROUNDS`]
//! times. Nothing else is cyclic.

use std::collections::BTreeSet;
use std::sync::Arc;

use ipuc_device::fabric::encode::encode_row;
use ipuc_device::fabric::rows::{PlacedMessage, build_rows};
use ipuc_device::memory::{ELEMENT, FETCH_AHEAD, HOST_APERTURE, PLACEABLE_BASE, TILES, TileId};
use rayon::prelude::*;

use super::exchange::schedule;
use super::names::{self, node};
use super::plan::program;
use crate::database::Db;
use crate::digest::Keyed;
use crate::emit::tile_program::FRAME_WORDS;
use crate::exchange::bounds::Bounds;
use crate::exchange::problem::Problem;
use crate::exchange::timing::Schedule;
use crate::keys::{PlanSetKey, Reservation};
use crate::lower::ir::{BufferRef, KernelInstance, Step};
use crate::lower::program::Program;
use crate::place::allocate::{Allocation, Request, allocate};
use crate::plan::whole::HOPELESS;

/// Where tile code starts when it fits below the host aperture; the linked image ends before.
pub(super) const CODE_BASE: u32 = 0x4f000;
/// Rows start at multiples of this in the table, with the rest as slack: one longer row does not move the others.
const SLOT: u32 = 64;
/// How often the reservation may grow.
const ROUNDS: u32 = 3;

/// Kernel instances that a program calls, sorted.
pub fn kernels_used(program: &Program) -> Vec<KernelInstance> {
    let mut used = BTreeSet::new();
    for position in 0..program.steps.len() {
        if let (_, Step::Compute(groups)) = program.step(position) {
            used.extend(groups.iter().flat_map(|g| &g.calls).map(|c| c.kernel.clone()));
        }
    }
    used.into_iter().collect()
}

/// Words of each tile's code: known before any address is.
fn code_words(program: &Program) -> Vec<u32> {
    let mut words = vec![FRAME_WORDS; TILES as usize];
    for position in 0..program.steps.len() {
        match program.step(position).1 {
            Step::Exchange(problem) => {
                for w in &mut words {
                    *w += 2;
                }
                for tile in participants(problem) {
                    words[tile.index()] += 2;
                }
            }
            Step::Compute(groups) => {
                for group in groups {
                    let more: u32 = group.calls.iter().map(|c| c.arguments.len() as u32 + 1).sum();
                    group.tiles.iter().for_each(|t| words[t.index()] += more);
                }
            }
        }
    }
    words
}

/// Tiles that send or receive.
fn participants(problem: &Problem) -> BTreeSet<TileId> {
    problem
        .transfers
        .iter()
        .flat_map(|t| std::iter::once(t.source).chain(t.destinations.iter().map(|d| d.tile)))
        .collect()
}

/// Table bytes before anything is scheduled: two words a message, three a reception, delays and return.
pub fn provisional<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> u32 {
    db.trace().edge(node("provisional", names::plan_set(db, set)));
    provisional_query(db, set)
}

#[salsa::tracked(returns(copy))]
fn provisional_query<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> u32 {
    db.trace().execute(node("provisional", names::plan_set(db, set)), || {
        let program = program(db, set);
        let mut total = 0;
        for position in program.phases() {
            let (_, Step::Exchange(problem)) = program.step(position) else { unreachable!("a phase") };
            let mut words = vec![0u32; TILES as usize];
            for t in &problem.transfers {
                words[t.source.index()] += 2;
                t.destinations.iter().for_each(|d| words[d.tile.index()] += 3);
            }
            total += (4 * (words.into_iter().max().unwrap_or(0) + 3)).next_multiple_of(SLOT);
        }
        total
    })
}

/// The reservation before any row is known.
pub(super) fn first_guess(db: &dyn Db, set: PlanSetKey) -> Reservation {
    let code = 4 * code_words(program(db, set)).into_iter().max().unwrap_or(0);
    let code_elements = if CODE_BASE + code + FETCH_AHEAD <= HOST_APERTURE { 0 } else { code.div_ceil(ELEMENT) };
    Reservation { code_elements, table_elements: elements(provisional(db, set)) }
}

/// Where tile code starts.
pub(super) fn code_base(room: Reservation) -> u32 {
    if room.code_elements == 0 { CODE_BASE } else { PLACEABLE_BASE }
}

fn elements(table_bytes: u32) -> u32 {
    (table_bytes + FETCH_AHEAD).div_ceil(ELEMENT)
}

/// Room for code and exchange rows, in whole elements.
pub fn reservation<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> Reservation {
    db.trace().edge(node("reservation", names::plan_set(db, set)));
    reservation_query(db, set)
}

#[salsa::tracked(returns(copy))]
fn reservation_query<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> Reservation {
    db.trace().execute(node("reservation", names::plan_set(db, set)), || {
        let mut room = first_guess(db, set);
        for _ in 0..ROUNDS {
            let needed = elements(rows(db, set, room).bytes);
            if needed <= room.table_elements {
                break;
            }
            room.table_elements = needed;
        }
        room
    })
}

/// Where everything lies, the same on every tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    /// First byte of tile code.
    pub code: u32,
    /// First byte of the exchange rows.
    pub table: u32,
    /// First byte of data.
    pub data: u32,
    /// Address of every program buffer.
    pub addresses: Vec<u32>,
    /// How the data memory was filled.
    pub allocation: Allocation,
}

/// Addresses of all buffers.
pub fn placement<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, room: Reservation) -> &'db Keyed<Placement> {
    db.trace().edge(node("placement", names::placed(db, set, room)));
    placement_query(db, set, room)
}

#[salsa::tracked]
fn placement_query<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, room: Reservation) -> Keyed<Placement> {
    db.trace().execute(node("placement", names::placed(db, set, room)), || Keyed::new(place(program(db, set), room)))
}

fn place(program: &Program, room: Reservation) -> Placement {
    let table = PLACEABLE_BASE + room.code_elements * ELEMENT;
    let data = table + room.table_elements * ELEMENT;
    let hard: Vec<Request> = program
        .buffers
        .iter()
        .map(|b| Request {
            bytes: b.buffer.bytes,
            class: b.buffer.class,
            live: b.live,
            apart: b.buffer.apart_from.clone(),
        })
        .collect();
    // A tile that sends from a bank into which it also receives does one after the other: keep the two apart where
    // memory allows it.
    let mut soft = hard.clone();
    for position in program.phases() {
        let (operator, Step::Exchange(problem)) = program.step(position) else { unreachable!("a phase") };
        let number = |b: BufferRef| program.resolve(operator, b);
        let sources: BTreeSet<u32> = problem.transfers.iter().map(|t| number(t.at.buffer)).collect();
        let targets: BTreeSet<u32> =
            problem.transfers.iter().flat_map(|t| &t.destinations).map(|d| number(d.at.buffer)).collect();
        for &s in &sources {
            soft[s as usize].apart.extend(targets.iter().filter(|&&t| t != s));
        }
    }
    let mut allocation = allocate(&soft, data);
    if !allocation.overflow.is_empty() {
        allocation = allocate(&hard, data);
    }
    Placement { code: code_base(room), table, data, addresses: allocation.addresses.clone(), allocation }
}

/// The rows of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PhaseRows {
    /// Which step of the program.
    pub position: u32,
    /// Byte offset of the phase's rows in the table.
    pub slot: u32,
    /// Row words of the tiles that take part, by tile.
    pub rows: Vec<(TileId, Arc<[u32]>)>,
    /// Pieces after cutting.
    pub pieces: u32,
    /// Cycles from event 0 to the last row end.
    pub horizon: u32,
    /// Lower bounds of it.
    pub bounds: Bounds,
}

/// All exchange rows, in slots that are the same on every tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowTable {
    /// The phases in execution order.
    pub phases: Vec<PhaseRows>,
    /// Bytes of all slots.
    pub bytes: u32,
    /// Tile with the most row bytes, and those bytes.
    pub worst: (TileId, u32),
}

/// Encoded rows of all phases and tiles.
pub fn rows<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, room: Reservation) -> &'db Keyed<RowTable> {
    db.trace().edge(node("rows", names::placed(db, set, room)));
    rows_query(db, set, room)
}

#[salsa::tracked]
fn rows_query<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, room: Reservation) -> Keyed<RowTable> {
    db.trace().execute(node("rows", names::placed(db, set, room)), || {
        let program = program(db, set);
        let placed = placement(db, set, room);
        let mut table = RowTable { phases: Vec::new(), bytes: 0, worst: (TileId(0), 0) };
        let mut per_tile = vec![0u32; TILES as usize];
        for position in program.phases() {
            let (operator, Step::Exchange(problem)) = program.step(position) else { unreachable!("a phase") };
            let schedule = schedule(db, set, room, position as u32);
            let address = |b: BufferRef| placed.addresses[program.resolve(operator, b) as usize];
            let rows = encode(problem, schedule, &address);
            let longest = rows.iter().map(|(_, words)| words.len() as u32).max().unwrap_or(0);
            for (tile, words) in &rows {
                per_tile[tile.index()] += (4 * words.len() as u32).next_multiple_of(8);
            }
            table.phases.push(PhaseRows {
                position: position as u32,
                slot: table.bytes,
                rows,
                pieces: schedule.pieces.len() as u32,
                horizon: schedule.horizon,
                bounds: schedule.bounds,
            });
            table.bytes += (4 * longest).next_multiple_of(SLOT);
        }
        let worst = (0..TILES as usize).max_by_key(|&t| (per_tile[t], std::cmp::Reverse(t))).unwrap_or(0);
        table.worst = (TileId(worst as u16), per_tile[worst]);
        Keyed::new(table)
    })
}

/// Bytes that the address fields of rows can reach.
const ENCODABLE: u32 = 1 << 20;
// No transfer of a plan that is laid out is longer.
const _: () = assert!(HOPELESS <= ENCODABLE);

/// Rows of a placed phase. The rows of a layout that runs over the end of memory are counted, never emitted: transfers
/// that the address fields can't reach are moved down as a whole.
fn encode(problem: &Problem, schedule: &Schedule, address: &dyn Fn(BufferRef) -> u32) -> Vec<(TileId, Arc<[u32]>)> {
    let mut messages: Vec<PlacedMessage> = Vec::new();
    let mut last = None;
    for piece in &schedule.pieces {
        let t = &problem.transfers[piece.transfer as usize];
        let offset = 4 * piece.first_word;
        let reachable = |start: u32| start.min(ENCODABLE.saturating_sub(4 * t.words));
        let at = reachable(address(t.at.buffer) + t.at.offset) + offset;
        if last == Some((piece.transfer, piece.message)) {
            let message = messages.last_mut().expect("the piece before belongs to it");
            if message.slot + message.words == piece.slot && message.address + 4 * message.words == at {
                message.words += piece.words;
                continue;
            }
        }
        last = Some((piece.transfer, piece.message));
        messages.push(PlacedMessage {
            source: t.source,
            slot: piece.slot,
            address: at,
            words: piece.words,
            destinations: t
                .destinations
                .iter()
                .map(|d| (d.tile, reachable(address(d.at.buffer) + d.at.offset) + offset))
                .collect(),
        });
    }
    build_rows(&messages)
        .unwrap_or_else(|e| panic!("a schedule keeps the port rules, but {e}"))
        .into_par_iter()
        .map(|(tile, row)| {
            let words =
                encode_row(&row).unwrap_or_else(|e| panic!("a schedule keeps the control rules, but tile {tile}: {e}"));
            (tile, Arc::from(words))
        })
        .collect()
}
