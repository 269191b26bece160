//! The witness of a phase: from encoded rows and entry registers to the words that arrive, and whether these are the
//! words that were asked for.
//!
//! In: per active tile its row words, row address and exchange registers at entry; and what was asked for. Out: every
//! broken invariant, and what was measured. A tile that is not given sends and receives nothing. Rows are those of
//! the absolute form: the receive pointer is undefined at entry. Ordinary 32-bit traffic; paired transfers are refused by
//! name.
//!
//! What is checked, with the numbers of `exchange.md` 6:
//! 1. Rows decode completely and end with the return (12); `sendpicp` is fetched from a multiple of 8, the row from one,
//!    below the interleaved region (16, 18).
//! 2. No control at events S and S + 1 of a send; a `sendpicp` carries a pointer and an ordinary source (15). Sources are
//!    tiles or neutral (14).
//! 3. While a mux selects a sender, that sender drives the right direction in every slot (22); the mux is neutral and the
//!    format 0 at the end (17).
//! 4. A word sent in slot t passes the mux at t + 1 + tau and is written 52 + 2 r later, to the pointer in force then
//!    (21); the first word after a pointer control is written at its event (3.3).
//! 5. Exactly the words asked for arrive at exactly their addresses, each once (13, 22, 24); nothing else is written; all
//!    addresses lie in the allowed range.
//! 6. Every driven word has a receiver; one receiver: its direction alone, more: both (2.1); a tile is not its own only
//!    receiver (3.7).
//! 7. Rows last until 5 events after the last write and 6 events from the unshifted start of a send (3.3).
//! 8. On one tile and memory element, a send window [S, S + n) and a receive window [P, P + n + 5) do not overlap
//!    (23, 3.8); taken for the words that lie in the element, not for the whole message.
//! 9. The elements of a row and of the 64 bytes after it hold nothing that the row sends or receives (23, 3.8).
//! 10. No word is sent after it was overwritten in the same phase (22).
//!
//! Cost: linear in instructions and in pairs of (source window, send run), plus sorting per tile; tiles in parallel.

mod arrivals;
mod bus;
mod listeners;
#[cfg(test)]
mod tests;
mod violation;

use std::ops::Range;

use rayon::prelude::*;

use arrivals::{Arrival, Pointer, Want, compare};
use bus::Bus;
use listeners::{Listening, parts};
use violation::Report;
pub use violation::{Violation, ViolationKind};

use super::decode::{ControlAt, DecodedRow, Setting, Width, decode_row};
use super::topology::{PhysicalTile, direction, logical, mux_to_memory, physical, route_time};
use crate::memory::{BASE, FETCH_AHEAD, INTERLEAVED_BASE, LOADABLE_END, TILES, TileId, bank, bank_end, bank_set};

/// Mux value that selects nobody, also the value at rest.
const NEUTRAL: u32 = 0x640;
/// Events that a row lasts after its last write (`exchange.md` 3.3). The sixth event for messages of 52 words belongs to
/// the early pointer of 3.9 (1), which no row here has.
const WRITE_GUARD: i64 = 5;
/// Events from the unshifted start of a send that its row lasts at least.
const SHORTEST_SENDER: i64 = 6;

/// Exchange registers of a tile when it enters its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRegisters {
    /// `INCOMING_BASE` (0xA4), bytes.
    pub incoming_base: u32,
    /// `OUTGOING_BASE` (0xA7), bytes.
    pub outgoing_base: u32,
    /// `INCOMING_MUX` (0xA0).
    pub incoming_mux: u32,
}

impl Default for EntryRegisters {
    /// Bases 0 and the mux at rest: what this project's phases enter with.
    fn default() -> Self {
        Self { incoming_base: 0, outgoing_base: 0, incoming_mux: NEUTRAL }
    }
}

/// One active tile.
#[derive(Clone, Copy, Debug)]
pub struct TileInput<'a> {
    /// Logical tile.
    pub tile: TileId,
    /// Byte address of the row.
    pub row_address: u32,
    /// Its words, the return included.
    pub words: &'a [u32],
    /// Registers at entry.
    pub registers: EntryRegisters,
}

/// Consecutive words that must get from one tile to others.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Sending tile.
    pub source: TileId,
    /// Byte address of the first word there.
    pub source_address: u32,
    /// Number of 32-bit words.
    pub words: u32,
    /// Receivers, each with the byte address of the first word.
    pub destinations: &'a [(TileId, u32)],
}

/// One phase.
#[derive(Clone, Debug)]
pub struct PhaseInput<'a> {
    /// Active tiles, each once, in any order.
    pub tiles: &'a [TileInput<'a>],
    /// What was asked for.
    pub expected: &'a [Expected<'a>],
    /// Bytes that may be sent and received.
    pub allowed: Range<u32>,
}

impl<'a> PhaseInput<'a> {
    /// A phase that may use all of the memory that the loader fills.
    pub fn new(tiles: &'a [TileInput<'a>], expected: &'a [Expected<'a>]) -> Self {
        Self { tiles, expected, allowed: BASE..LOADABLE_END }
    }
}

/// What the rows of a phase do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Validation {
    /// Broken invariants by tile and event; empty for a good phase.
    pub violations: Vec<Violation>,
    /// Largest row end.
    pub horizon: u32,
    /// Row end of every tile given, by tile.
    pub ends: Vec<(TileId, u32)>,
    /// Words that were driven onto a bus.
    pub words_sent: u64,
    /// Words that were written.
    pub words_received: u64,
    /// Words of the longest row.
    pub longest_row: u32,
}

/// A row with what is known of its tile.
struct Tile<'a> {
    input: &'a TileInput<'a>,
    id: PhysicalTile,
    row: DecodedRow,
    bus: Bus,
    found: Vec<Violation>,
}

/// Checks a phase.
pub fn validate(phase: &PhaseInput) -> Validation {
    let mut violations = Vec::new();
    let mut given = vec![false; TILES as usize];
    let mut inputs: Vec<&TileInput> = Vec::with_capacity(phase.tiles.len());
    for input in phase.tiles {
        let tile = input.tile;
        match given.get_mut(tile.index()) {
            None => violations.push(input_violation(tile, format!("tile {tile} does not exist"))),
            Some(true) => violations.push(input_violation(tile, format!("tile {tile} has two rows"))),
            Some(first) => {
                *first = true;
                inputs.push(input);
            }
        }
    }
    let mut wants = wants(phase, &mut violations);

    let tiles: Vec<Tile> = inputs.into_par_iter().map(|input| Tile::new(input, phase)).collect();
    let mut buses: Vec<Option<&Bus>> = vec![None; TILES as usize];
    for tile in &tiles {
        buses[usize::from(tile.id.0)] = Some(&tile.bus);
    }
    let received: Vec<Received> = tiles.par_iter().map(|tile| tile.receive(&buses, phase)).collect();

    let mut counts = vec![0; TILES as usize];
    for l in received.iter().flat_map(|r| &r.listening) {
        counts[usize::from(l.sender)] += 1;
    }
    let mut listening: Vec<Vec<Listening>> = counts.into_iter().map(Vec::with_capacity).collect();
    for l in received.iter().flat_map(|r| &r.listening) {
        listening[usize::from(l.sender)].push(*l);
    }
    let mut validation = Validation::default();
    for (tile, r) in tiles.iter().zip(&received) {
        validation.ends.push((tile.input.tile, tile.row.events));
        validation.horizon = validation.horizon.max(tile.row.events);
        validation.longest_row = validation.longest_row.max(tile.input.words.len() as u32);
        validation.words_sent += tile.bus.runs.iter().map(|r| u64::from(r.items)).sum::<u64>();
        validation.words_received += r.arrivals.iter().map(|a| u64::from(a.words)).sum::<u64>();
    }
    validation.ends.sort_unstable();
    let jobs: Vec<(Tile, Received, Vec<Want>, Vec<Listening>)> = tiles
        .into_iter()
        .zip(received)
        .map(|(tile, r)| {
            let i = tile.input.tile.index();
            let (wants, listening) = (std::mem::take(&mut wants[i]), std::mem::take(&mut listening[i]));
            (tile, r, wants, listening)
        })
        .collect();
    let found: Vec<Vec<Violation>> = jobs
        .into_par_iter()
        .map(|(tile, received, wants, listening)| {
            let Received { mut arrivals, mut found, .. } = received;
            let mut report = Report { tile: tile.input.tile, found: std::mem::take(&mut found) };
            report.found.extend_from_slice(&tile.found);
            tile.check_listeners(listening, &mut report);
            tile.check_elements(&arrivals, &mut report);
            arrivals.sort_unstable_by_key(|a| (a.address, a.event));
            tile.check_stale(&arrivals, &mut report);
            compare(&arrivals, wants, &mut report);
            report.found
        })
        .collect();
    violations.extend(found.into_iter().flatten());
    // Tiles that should receive something and have no row.
    for (tile, wants) in wants.into_iter().enumerate() {
        let mut report = Report { tile: TileId(tile as u16), found: Vec::new() };
        compare(&[], wants, &mut report);
        violations.append(&mut report.found);
    }
    violations.sort_unstable();
    violations.dedup();
    validation.violations = violations;
    validation
}

fn input_violation(tile: TileId, message: String) -> Violation {
    Violation { tile, event: 0, kind: ViolationKind::Input, message }
}

/// What every tile is to receive.
fn wants(phase: &PhaseInput, violations: &mut Vec<Violation>) -> Vec<Vec<Want>> {
    let mut counts = vec![0; TILES as usize];
    for (tile, _) in phase.expected.iter().flat_map(|e| e.destinations) {
        if let Some(count) = counts.get_mut(tile.index()) {
            *count += 1;
        }
    }
    let mut wants: Vec<Vec<Want>> = counts.into_iter().map(Vec::with_capacity).collect();
    for e in phase.expected {
        let Expected { source, source_address, words, destinations } = *e;
        if words == 0 || words > LOADABLE_END / 4 || source.index() >= TILES as usize || destinations.is_empty() {
            let message = format!("{words} words from tile {source} to {} tiles", destinations.len());
            violations.push(input_violation(source, message));
            continue;
        }
        for &(tile, address) in destinations {
            match wants.get_mut(tile.index()) {
                Some(list) if address <= LOADABLE_END => {
                    list.push(Want { address, words, source, source_address });
                }
                _ => violations.push(input_violation(tile, format!("receiver {tile} at {address:#x}"))),
            }
        }
    }
    wants
}

/// While a mux selects a source.
#[derive(Clone, Copy)]
struct Window {
    source: PhysicalTile,
    /// Slots of the source whose words pass the mux in the window.
    from: i64,
    to: i64,
    /// Route time from the source.
    tau: i64,
    /// Index of the first run of the source that ends after `from`.
    first: u32,
}

/// What one tile receives.
struct Received {
    /// By write event.
    arrivals: Vec<Arrival>,
    listening: Vec<Listening>,
    found: Vec<Violation>,
}

impl<'a> Tile<'a> {
    /// Decodes a row and checks what concerns the row alone.
    fn new(input: &'a TileInput<'a>, phase: &PhaseInput) -> Self {
        let mut report = Report { tile: input.tile, found: Vec::new() };
        let mut row = decode_row(input.words).unwrap_or_else(|error| {
            report.add(ViolationKind::Undecodable, 0, error.to_string());
            DecodedRow::default()
        });
        let id = physical(input.tile);
        check_place(input, &row, &mut report);
        check_sends(&row, &mut report);
        for c in &row.controls {
            check_setting(c, &mut report);
        }
        for two in row.controls.windows(2).filter(|two| two[0].event == two[1].event) {
            if !matches!((two[0].setting, two[1].setting), (Setting::Pointer(_), Setting::Source(_))) {
                let message = format!("{:?} and {:?} at one event", two[0].setting, two[1].setting);
                report.add(ViolationKind::ControlClash, two[0].event, message);
            }
        }
        let mut runs = row.runs();
        runs.retain(|run| {
            if run.width == Width::Paired {
                let message = format!("paired transfers not supported: {} 64-bit items sent", run.items);
                report.add(ViolationKind::PairedUnsupported, run.slot, message);
            }
            run.width == Width::Ordinary
        });
        for run in &mut runs {
            run.address = run.address.wrapping_add(input.registers.outgoing_base);
            check_allowed(run.slot, run.address, run.items, "sends", phase, &mut report);
        }
        // Runs stand for them from here on; large phases need the memory.
        row.pieces = Vec::new();
        let bus = Bus::new(runs, row.events);
        Self { input, id, row, bus, found: report.found }
    }

    /// Follows mux, buses and pointer. `buses` are by physical tile; a tile without one is silent.
    fn receive(&self, buses: &[Option<&Bus>], phase: &PhaseInput) -> Received {
        let mut report = Report { tile: self.input.tile, found: Vec::new() };
        let mut pointer = Pointer::new(self);
        let mut listening = Vec::new();
        let mut windows = self.mux_windows(&mut report);
        let bus = |w: &Window| buses[usize::from(w.source.0)];
        // Two loops of their own, so that the cache misses of many windows overlap.
        for w in &mut windows {
            w.first = bus(w).map_or(0, |bus| bus.hint(w.from));
        }
        for w in &mut windows {
            w.first = bus(w).map_or(0, |bus| bus.first_after(w.from, w.first));
        }
        for w in &windows {
            let Window { source, from, to, tau, first } = *w;
            let mut silent_from = from;
            let runs = bus(w).map_or(&[][..], |bus| &bus.runs[first as usize..]);
            let side = direction(source, self.id);
            for run in runs {
                let start = i64::from(run.slot).max(from);
                let end = i64::from(run.end()).min(to);
                if start >= end {
                    break;
                }
                if run.directions & side == 0 {
                    continue;
                }
                silence(source, silent_from, start, tau, &mut report);
                silent_from = end;
                let address = run.address.wrapping_add(4 * (start as u32 - run.slot));
                listening.push(Listening {
                    sender: logical(source).0,
                    listener: self.input.tile.0,
                    slot: start as u32,
                    end: end as u32,
                });
                let event = start + 1 + tau + i64::from(mux_to_memory(self.id));
                pointer.write(event, (end - start) as u32, logical(source), address, &mut report);
            }
            silence(source, silent_from, to, tau, &mut report);
        }
        let arrivals = pointer.finish(&mut report);
        for a in &arrivals {
            check_allowed(a.event, a.address, a.words, "receives", phase, &mut report);
        }
        if let Some(a) = arrivals.last() {
            let last = a.event + i64::from(a.words);
            if i64::from(self.row.events) < last + WRITE_GUARD {
                let message = format!("row ends at {}, last write ends at {last}", self.row.events);
                report.add(ViolationKind::RowEnd, self.row.events, message);
            }
        }
        Received { arrivals, listening, found: report.found }
    }

    /// Sources that the mux selects.
    fn mux_windows(&self, report: &mut Report) -> Vec<Window> {
        let mut windows = Vec::with_capacity(self.row.controls.len() / 2 + 1);
        let mut selected = (self.input.registers.incoming_mux, 0i64);
        if tile_of(selected.0).is_none() && selected.0 != NEUTRAL {
            let message = format!("mux holds {:#x} at entry", selected.0);
            report.add(ViolationKind::UnknownSource, 0, message);
        }
        let mut close = |(value, from): (u32, i64), to: i64| {
            if let Some(source) = tile_of(value).filter(|_| from < to) {
                let tau = i64::from(route_time(source, self.id));
                windows.push(Window { source, from: from - 1 - tau, to: to - 1 - tau, tau, first: 0 });
            }
        };
        for c in &self.row.controls {
            if let Setting::Source(value) = c.setting {
                close(selected, c.event.into());
                selected = (value, c.event.into());
            }
        }
        close(selected, self.row.events.into());
        if selected.0 != NEUTRAL {
            let message = format!("mux holds {:#x} when the row ends", selected.0);
            report.add(ViolationKind::MuxAtEnd, self.row.events, message);
        }
        windows
    }

    /// Receivers of every driven word.
    fn check_listeners(&self, mut listening: Vec<Listening>, report: &mut Report) {
        listening.sort_unstable_by_key(|l| (l.slot, l.end, l.listener));
        let parts = parts(&listening);
        let mut next = 0;
        let mut first_listener = 0;
        for run in &self.bus.runs {
            let mut slot = run.slot;
            while slot < run.end() {
                while parts.get(next).is_some_and(|p| p.end <= slot) {
                    next += 1;
                }
                let part = parts.get(next).copied().filter(|p| p.slot < run.end());
                let until = part.map_or(run.end(), |p| p.slot.max(slot));
                if slot < until {
                    let message = format!("{} words from {:#x} reach nobody", until - slot, run.address);
                    report.add(ViolationKind::UnconsumedWord, slot, message);
                }
                let Some(part) = part else { break };
                slot = part.end.min(run.end());
                let wanted = if part.count == 1 { direction(self.id, physical(TileId(part.all))) } else { 3 };
                if wanted != run.directions {
                    let message = format!(
                        "drives directions {} where its {} receivers ask for {wanted}",
                        run.directions, part.count
                    );
                    report.add(ViolationKind::SendControl, until, message);
                }
                if part.count == 1 && part.all == self.input.tile.0 {
                    let message = "the sender is its own only receiver".to_owned();
                    report.add(ViolationKind::Loopback, until, message);
                }
            }
            // The latest unshifted start among the receivers of the run gives the mildest bound.
            while listening.get(first_listener).is_some_and(|l| l.slot < run.slot) {
                first_listener += 1;
            }
            if i64::from(self.row.events) < i64::from(run.slot) + SHORTEST_SENDER {
                let unshifted = listening[first_listener..]
                    .iter()
                    .take_while(|l| l.slot < run.end())
                    .map(|l| -i64::from(route_time(self.id, physical(TileId(l.listener)))))
                    .max()
                    .unwrap_or(0)
                    .max(0);
                let end = i64::from(run.slot) + SHORTEST_SENDER - unshifted;
                if i64::from(self.row.events) < end {
                    let message = format!("row ends at {}, its send lasts until {end}", self.row.events);
                    report.add(ViolationKind::RowEnd, self.row.events, message);
                }
            }
        }
    }

    /// Windows of sends and receives in one element, and of the row itself.
    fn check_elements(&self, arrivals: &[Arrival], report: &mut Report) {
        let sent_banks = self.bus.runs.iter().fold(0, |set, r| set | banks(r.address, r.items));
        let got_banks = arrivals.iter().fold(0, |set, a| set | banks(a.address, a.words));
        let fetched = banks(self.input.row_address, self.input.words.len() as u32 + FETCH_AHEAD / 4);
        let shared = sent_banks & got_banks;
        if (shared | fetched & (sent_banks | got_banks)) == 0 {
            return;
        }
        let mut sent: Vec<Use> = Vec::with_capacity(self.bus.runs.len());
        for run in &self.bus.runs {
            uses(run.slot.into(), run.items, run.address, 0, &mut sent);
        }
        let mut got: Vec<Use> = Vec::with_capacity(arrivals.len());
        for a in arrivals {
            uses(a.event, a.words, a.address, WRITE_GUARD, &mut got);
        }
        if fetched & (sent_banks | got_banks) != 0 {
            for u in sent.iter().chain(&got).filter(|u| fetched >> u.bank & 1 == 1) {
                let message =
                    format!("data at {:#x} lies in an element of the row at {:#x}", u.address, self.input.row_address);
                report.add(ViolationKind::RowElement, u.from, message);
            }
        }

        sent.retain(|u| shared >> u.bank & 1 == 1);
        got.retain(|u| shared >> u.bank & 1 == 1);
        sent.sort_unstable_by_key(|u| (u.bank, u.from));
        got.sort_unstable_by_key(|u| (u.bank, u.from));
        let mut first = 0;
        for s in &sent {
            // Receive windows of a bank are in order of both ends but for the guard, which only lengthens overlap.
            while got.get(first).is_some_and(|g| (g.bank, g.to) <= (s.bank, s.from)) {
                first += 1;
            }
            for g in got[first..].iter().take_while(|g| (g.bank, g.from) < (s.bank, s.to)) {
                let message = format!(
                    "sends from {:#x} in {}..{} and receives into {:#x} in {}..{}: one element",
                    s.address, s.from, s.to, g.address, g.from, g.to
                );
                report.add(ViolationKind::ElementConflict, s.from.max(g.from), message);
            }
        }
    }

    /// Sends of words that this phase has overwritten. `arrivals` are sorted by address.
    fn check_stale(&self, arrivals: &[Arrival], report: &mut Report) {
        for run in &self.bus.runs {
            let (low, high) = (i64::from(run.address), i64::from(run.address) + 4 * i64::from(run.items));
            let first = arrivals.partition_point(|a| i64::from(a.address) + 4 * i64::from(a.words) <= low);
            for a in arrivals[first..].iter().take_while(|a| i64::from(a.address) < high) {
                let (from, to) = (low.max(a.address.into()), high.min(i64::from(a.address) + 4 * i64::from(a.words)));
                if from >= to {
                    continue;
                }
                // Both walk one word an event, so the first common word decides.
                let (read, write) =
                    (i64::from(run.slot) + (from - low) / 4, a.event + (from - i64::from(a.address)) / 4);
                if read >= write {
                    let message = format!("word at {from:#x} is sent in slot {read}, but overwritten at {write}");
                    report.add(ViolationKind::StaleRead, read, message);
                }
            }
        }
    }
}

/// Slots of a selected source in which it drives nothing towards the tile.
fn silence(source: PhysicalTile, from: i64, to: i64, tau: i64, report: &mut Report) {
    if from < to {
        let message =
            format!("mux selects tile {}, which drives nothing towards it in slots {from}..{to}", logical(source));
        report.add(ViolationKind::SilentSource, from + 1 + tau, message);
    }
}

/// Row address, and alignment of two-word instructions.
fn check_place(input: &TileInput, row: &DecodedRow, report: &mut Report) {
    let address = input.row_address;
    if !address.is_multiple_of(8) {
        report.add(ViolationKind::RowPlace, 0, format!("row at {address:#x} is not at a multiple of 8"));
    }
    for &word in &row.double_words {
        if u64::from(address) / 4 % 2 != u64::from(word) % 2 {
            let message = format!("sendpicp at word {word} of the row at {address:#x} is not at a multiple of 8");
            report.add(ViolationKind::RowPlace, 0, message);
        }
    }
    let end = u64::from(address) + 4 * input.words.len() as u64;
    if address < BASE || end > u64::from(INTERLEAVED_BASE) {
        report.add(ViolationKind::RowPlace, 0, format!("row at {address:#x}..{end:#x} cannot be fetched"));
    }
}

/// Starts of sends against controls; continuations against silence.
fn check_sends(row: &DecodedRow, report: &mut Report) {
    let mut next = 0;
    let mut before: Option<super::decode::Piece> = None;
    for piece in &row.pieces {
        let touches = before.is_some_and(|b| b.slot + b.items == piece.slot);
        let continues = before.is_some_and(|b| {
            touches && b.width == piece.width && b.address + b.items * b.width.bytes() == piece.address
        });
        if !piece.addressed && !touches {
            let message = format!("word {} continues a stream after silent slots", piece.word);
            report.add(ViolationKind::BrokenStream, piece.slot, message);
        }
        while row.controls.get(next).is_some_and(|c| c.event < piece.slot) {
            next += 1;
        }
        // A `sendpicp` that goes on with the next word is inside a message; everything else starts one.
        if piece.addressed && !(continues && row.double_words.binary_search(&piece.word).is_ok()) {
            for c in row.controls[next..].iter().take_while(|c| c.event <= piece.slot + 1) {
                let message = format!("{:?} in the first two events of the send at slot {}", c.setting, piece.slot);
                report.add(ViolationKind::ControlAtSendStart, c.event, message);
            }
        }
        before = Some(*piece);
    }
}

/// Values of controls.
fn check_setting(c: &ControlAt, report: &mut Report) {
    match c.setting {
        Setting::Pointer(_) | Setting::Format(0) => {}
        Setting::Source(value) => {
            if value != NEUTRAL && tile_of(value).is_none() {
                let message = format!("source {value:#x} is no tile");
                report.add(ViolationKind::UnknownSource, c.event, message);
            }
        }
        Setting::Format(value) => {
            let message = format!("paired transfers not supported: format {value}");
            report.add(ViolationKind::PairedUnsupported, c.event, message);
        }
        Setting::PairedSource(value) => {
            let message = format!("paired transfers not supported: paired source {value:#x}");
            report.add(ViolationKind::PairedUnsupported, c.event, message);
        }
    }
}

fn check_allowed(event: impl Into<i64>, address: u32, words: u32, verb: &str, phase: &PhaseInput, report: &mut Report) {
    let end = u64::from(address) + 4 * u64::from(words);
    if !address.is_multiple_of(4) || address < phase.allowed.start || end > u64::from(phase.allowed.end) {
        let message = format!("{verb} {words} words at {address:#x}, outside {:#x?}", phase.allowed);
        report.add(ViolationKind::OutsideAllowed, event, message);
    }
}

/// The tile that a mux value selects.
fn tile_of(value: u32) -> Option<PhysicalTile> {
    (value < TILES).then_some(PhysicalTile(value as u16))
}

/// Use of one element by one send or receive.
#[derive(Clone, Copy)]
struct Use {
    bank: u8,
    from: i64,
    to: i64,
    address: u32,
}

/// Elements of words at an address. Addresses outside memory are reported elsewhere and have no element.
fn banks(address: u32, words: u32) -> u64 {
    let end = (u64::from(address) + 4 * u64::from(words)).min(LOADABLE_END.into()) as u32;
    bank_set(address, end.saturating_sub(address))
}

/// Cuts words that pass one an event from `event` on at element borders.
fn uses(mut event: i64, mut words: u32, mut address: u32, guard: i64, list: &mut Vec<Use>) {
    while words > 0 && address < LOADABLE_END {
        let n = words.min((bank_end(address) - address).div_ceil(4));
        list.push(Use { bank: bank(address).0, from: event, to: event + i64::from(n) + guard, address });
        event += i64::from(n);
        words -= n;
        address += 4 * n;
    }
}
