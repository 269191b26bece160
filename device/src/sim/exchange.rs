//! The exchange of one epoch: the time from the release of a chip-wide barrier to the next one.
//!
//! In: for every tile the [`Record`] of what its supervisor did to the exchange after the release. Out: the words that
//! arrive, stored in the memories of the receivers.
//!
//! After a release every tile runs ahead by itself up to the first instruction that touches data, workers or barriers.
//! What it does until then cannot depend on a word that arrives, and holds its whole row. With workers running it does
//! not run ahead, and a row that follows is a fault. Then arrivals are resolved:
//!
//! 1. A word sent by `s` in slot `t` passes the multiplexer of `d` at `t + 1 + route_time(s, d)`, and is taken if the
//!    multiplexer selects `s` at that clock and the word drives the half of the bus that reaches `d` (`exchange.md` 1.3,
//!    3.3).
//! 2. It is stored `mux_to_memory(d)` clocks later, at the pointer in force then, which moves on by a word.
//! 3. A control at event `t` acts between slots `t - 1` and `t`: on words that pass, and writes that happen, at `t` or later
//!    (3.1).
//! 4. While an existing tile is selected a word arrives in every clock; silence is a fault.
//! 5. Instruction fetch (current word and 64 bytes more), send reads and receive writes of one tile never use one bank in
//!    one clock (3.8).
//! 6. All words of a tile arrive before the tile leaves its row.
//!
//! Route times can be negative, but from slot to write at least 18 clocks pass; so where a tile sends what it received in
//! the same epoch, words are moved in windows of 18 clocks, else in one go.

use super::fault::FaultKind;
use super::memory::Memory;
use crate::fabric::topology::{PhysicalTile, direction, logical, mux_to_memory, route_time};
use crate::memory::{BASE, Bank, END, FETCH_AHEAD, TILES, TileId, bank, bank_end, bank_set};

/// Fewest clocks from a send slot to the write of its word, plus the slot itself.
const WINDOW: u64 = 18;

/// A change on the receive side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// The source that the multiplexer selects.
    Mux(u32),
    /// Byte offset of the next word from the base.
    Pointer(u32),
    /// Byte base of the pointer.
    Base(u32),
}

/// Consecutive words sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Send {
    /// Clock of the slot of the first word.
    slot: u64,
    words: u32,
    /// Byte address of the first word.
    address: u32,
    /// Bits 0 and 1: halves of the bus that it drives.
    directions: u8,
    /// Index of the first word among all that the tile sends in the epoch.
    first: u32,
}

impl Send {
    fn end(&self) -> u64 {
        self.slot + u64::from(self.words)
    }
}

/// What one tile does to the exchange after a release.
pub(super) struct Record {
    /// Clock at which it starts to run ahead.
    pub(super) start: u64,
    /// Clock of the first instruction that it did not execute.
    pub(super) end: u64,
    /// Clock after its last row instruction.
    pub(super) row_end: Option<u64>,
    mux: u16,
    /// Receive base at the start.
    base: u32,
    /// Sends in order of their slots, disjoint.
    sends: Vec<Send>,
    /// Controls in order of their clocks.
    pub(super) controls: Vec<(u64, Control)>,
    /// Banks that fetch uses, from which clock on.
    fetches: Vec<(u64, u64)>,
}

impl Record {
    pub(super) fn new(start: u64, mux: u16, base: u32) -> Self {
        let (sends, controls, fetches) = (Vec::new(), Vec::new(), Vec::new());
        Self { start, end: start, row_end: None, mux, base, sends, controls, fetches }
    }

    /// `words` words from `address` go out in the slots from `slot` on.
    pub(super) fn send(&mut self, slot: u64, words: u32, address: u32, directions: u8) {
        let first = self.sends.last().map_or(0, |s| s.first + s.words);
        self.sends.push(Send { slot, words, address, directions, first });
    }

    /// The instruction at `pc` is fetched from `clock` on.
    pub(super) fn fetch(&mut self, clock: u64, pc: u32) {
        let banks = bank_set(pc, 4 + FETCH_AHEAD);
        if self.fetches.last().is_none_or(|&(_, last)| last != banks) {
            self.fetches.push((clock, banks));
        }
    }

    /// Whether nothing is sent and nothing selected.
    pub(super) fn is_quiet(&self) -> bool {
        self.mux >= 0x600
            && self.sends.is_empty()
            && self.controls.iter().all(|(_, c)| !matches!(c, Control::Mux(0..0x600)))
    }

    /// Index of the send that drives a slot.
    fn send_at(&self, slot: u64) -> Option<usize> {
        let index = self.sends.partition_point(|s| s.slot <= slot).checked_sub(1)?;
        (slot < self.sends[index].end()).then_some(index)
    }
}

/// Words of one send that one tile takes and stores at consecutive addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Clock of the first write.
    pub(super) clock: u64,
    pub(super) words: u32,
    /// Sending tile.
    pub(super) source: TileId,
    /// Index of the first word among all words that the source sends in the epoch.
    pub(super) first: u32,
    /// Byte address of the first write.
    pub(super) address: u32,
}

/// A trouble of the exchange, with its clock and data address.
pub(super) struct Clash {
    pub(super) clock: u64,
    pub(super) address: u32,
    pub(super) kind: FaultKind,
    pub(super) message: String,
}

type Resolved<T> = Result<T, Clash>;

fn clash<T>(clock: u64, address: u32, kind: FaultKind, message: String) -> Resolved<T> {
    Err(Clash { clock, address, kind, message })
}

/// The words that the tile `me` takes. `records` are those of all tiles, by logical number.
pub(super) fn receive(me: TileId, place: PhysicalTile, records: &[Option<&Record>]) -> Resolved<Vec<Piece>> {
    let Some(mine) = records[me.index()] else { return Ok(Vec::new()) };
    let mut pieces = Vec::new();
    let mut source = u32::from(mine.mux);
    let mut from = mine.start;
    let changes = mine.controls.iter().filter_map(|&(clock, control)| match control {
        Control::Mux(value) => Some((clock, value)),
        _ => None,
    });
    // The error of the arrivals waits: an earlier write may be wrong too.
    let mut silence = None;
    for (clock, next) in changes.chain([(u64::MAX, u32::from(super::supervisor::NEUTRAL))]) {
        if let Err(found) = arrivals(place, source, from..clock, records, &mut pieces) {
            silence = Some(found);
            break;
        }
        (source, from) = (next, clock);
    }
    let stored = store_addresses(mine, &pieces, place);
    match (silence, stored) {
        (Some(a), Err(b)) => Err(if b.clock < a.clock { b } else { a }),
        (Some(a), Ok(_)) => Err(a),
        (None, stored) => stored,
    }
}

/// Words that pass the multiplexer of `place` while it selects `source`, as pieces whose clock is that of the passage and
/// whose address is open.
fn arrivals(
    place: PhysicalTile,
    source: u32,
    during: std::ops::Range<u64>,
    records: &[Option<&Record>],
    pieces: &mut Vec<Piece>,
) -> Resolved<()> {
    if during.is_empty() || source >= 0x600 {
        return match source {
            0..=0x640 => Ok(()),
            _ if during.is_empty() => Ok(()),
            _ => clash(during.start, 0, FaultKind::SilentSource, format!("the multiplexer selects {source:#x}")),
        };
    }
    if source >= TILES {
        return clash(
            during.start,
            0,
            FaultKind::SilentSource,
            format!("the multiplexer selects {source:#x}, which no tile has"),
        );
    }
    let sender = PhysicalTile(source as u16);
    let from = logical(sender);
    let half = direction(sender, place);
    let lag = 1 + i64::from(route_time(sender, place));
    let silent = |clock: u64, why: &str| {
        clash(
            clock,
            0,
            FaultKind::SilentSource,
            format!("the multiplexer selects tile {from}, which {why} at that clock"),
        )
    };
    let Some(record) = records.get(from.index()).copied().flatten() else {
        return silent(during.start, "is not part of the machine and sends nothing");
    };
    let mut clock = during.start;
    while clock < during.end {
        let slot = clock.wrapping_add_signed(-lag);
        let Some(index) = record.send_at(slot) else { return silent(clock, "sends nothing") };
        let send = &record.sends[index];
        if send.directions & half == 0 {
            return silent(clock, "drives only the other half of its bus");
        }
        let words = (send.end() - slot).min(during.end - clock) as u32;
        let first = send.first + (slot - send.slot) as u32;
        pieces.push(Piece { clock, words, source: from, first, address: 0 });
        clock += u64::from(words);
    }
    Ok(())
}

/// Turns passages into writes.
fn store_addresses(mine: &Record, passages: &[Piece], place: PhysicalTile) -> Resolved<Vec<Piece>> {
    let delay = mux_to_memory(place) as u64;
    let mut base = mine.base;
    let mut cursor: Option<u32> = None;
    let mut controls = mine.controls.iter().filter(|(_, c)| !matches!(c, Control::Mux(_))).peekable();
    let mut pieces: Vec<Piece> = Vec::new();
    for passage in passages {
        let mut rest = Piece { clock: passage.clock + delay, ..*passage };
        while rest.words > 0 {
            while let Some((_, control)) = controls.next_if(|(clock, _)| *clock <= rest.clock) {
                match *control {
                    Control::Pointer(value) => cursor = Some(value),
                    Control::Base(value) => base = value,
                    Control::Mux(_) => {}
                }
            }
            let until = controls.peek().map_or(u64::MAX, |(clock, _)| *clock);
            let mut words = u64::from(rest.words).min(until - rest.clock) as u32;
            let source = rest.source;
            let Some(offset) = cursor else {
                return clash(
                    rest.clock,
                    0,
                    FaultKind::Receive,
                    format!("a word from tile {source} arrives and no pointer has been set since the barrier"),
                );
            };
            let address = base.wrapping_add(offset);
            // The first word that does not fit is the fault, not its whole message.
            let room = if (BASE..END).contains(&address) { (END - address) / 4 } else { 0 };
            if room == 0 {
                return clash(
                    rest.clock,
                    address,
                    FaultKind::Receive,
                    format!("a word from tile {source} arrives for address {address:#x}, outside memory"),
                );
            }
            words = words.min(room);
            if rest.clock + u64::from(words) > mine.end {
                return clash(
                    rest.clock.max(mine.end),
                    address,
                    FaultKind::LateArrival,
                    format!("a word from tile {source} arrives when the tile has left its row, at clock {}", mine.end),
                );
            }
            pieces.push(Piece { words, address, ..rest });
            cursor = Some(offset.wrapping_add(4 * words));
            rest.clock += u64::from(words);
            rest.first += words;
            rest.words -= words;
        }
    }
    Ok(pieces)
}

/// A stretch of clocks in which a client of the memory uses banks.
#[derive(Clone, Copy)]
struct Use {
    from: u64,
    to: u64,
    banks: u64,
    address: u32,
}

/// Cuts consecutive words into stretches of one bank.
fn bank_uses(clock: u64, words: u32, address: u32, uses: &mut Vec<Use>) {
    let (mut clock, mut words, mut address) = (clock, words, address);
    while words > 0 {
        let Bank(number) = bank(address);
        let n = words.min((bank_end(address) - address) / 4);
        uses.push(Use { from: clock, to: clock + u64::from(n), banks: 1 << number, address });
        clock += u64::from(n);
        address += 4 * n;
        words -= n;
    }
}

/// First clock in which two clients use one bank. Both lists are in order and disjoint in time.
fn first_overlap(a: &[Use], b: &[Use]) -> Option<(u64, u32)> {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (&a[i], &b[j]);
        let from = x.from.max(y.from);
        if from < x.to.min(y.to) && x.banks & y.banks != 0 {
            return Some((from, x.address));
        }
        if x.to <= y.to {
            i += 1;
        } else {
            j += 1;
        }
    }
    None
}

/// Checks property 5 for one tile.
pub(super) fn check_banks(record: &Record, pieces: &[Piece]) -> Resolved<()> {
    let (mut sends, mut writes) = (Vec::new(), Vec::new());
    for s in &record.sends {
        bank_uses(s.slot, s.words, s.address, &mut sends);
    }
    for p in pieces {
        bank_uses(p.clock, p.words, p.address, &mut writes);
    }
    let fetches: Vec<Use> = record
        .fetches
        .iter()
        .enumerate()
        .map(|(i, &(from, banks))| Use {
            from,
            to: record.fetches.get(i + 1).map_or(record.end, |next| next.0),
            banks,
            address: 0,
        })
        .collect();
    let found = [
        first_overlap(&sends, &writes).map(|(c, a)| (c, a, "a send reads and a receive writes")),
        first_overlap(&sends, &fetches).map(|(c, a)| (c, a, "a send reads and the supervisor fetches from")),
        first_overlap(&writes, &fetches).map(|(c, a)| (c, a, "a receive writes and the supervisor fetches from")),
    ];
    match found.into_iter().flatten().min_by_key(|f| f.0) {
        Some((clock, address, who)) => {
            clash(clock, address, FaultKind::Conflict, format!("{who} the memory element of {address:#x} in one clock"))
        }
        None => Ok(()),
    }
}

/// Whether some word that is sent lies where a word arrives in the same epoch.
pub(super) fn forwards(record: &Record, pieces: &[Piece]) -> bool {
    if record.sends.is_empty() || pieces.is_empty() {
        return false;
    }
    let mut spans: Vec<(u32, u32)> = pieces.iter().map(|p| (p.address, p.address + 4 * p.words)).collect();
    spans.sort_unstable();
    let mut reach = 0;
    let ends: Vec<u32> = spans
        .iter()
        .map(|s| {
            reach = s.1.max(reach);
            reach
        })
        .collect();
    record.sends.iter().any(|s| {
        let before = spans.partition_point(|span| span.0 < s.address + 4 * s.words);
        before > 0 && ends[before - 1] > s.address
    })
}

/// Reads `words` words at `address`, which lie inside memory, as they are now.
fn read_words(memory: &Memory, address: u32, words: u32, slot: u64, out: &mut Vec<u8>) -> Resolved<()> {
    if let Some(at) = memory.first_unwritten(address, words) {
        return clash(
            slot + u64::from((at - address) / 4),
            at,
            FaultKind::Unwritten,
            format!("the word at {at:#x} is sent and was never written"),
        );
    }
    out.extend_from_slice(memory.slice(address, 4 * words));
    Ok(())
}

/// All words that a tile sends, as they are at the start of the epoch.
pub(super) fn collect(record: &Record, memory: &Memory) -> Resolved<Vec<u8>> {
    let mut out = Vec::with_capacity(4 * record.sends.iter().map(|s| s.words as usize).sum::<usize>());
    for s in &record.sends {
        read_words(memory, s.address, s.words, s.slot, &mut out)?;
    }
    Ok(out)
}

fn words_of<'a>(sent: &'a [Vec<u8>], piece: &Piece) -> &'a [u8] {
    let first = 4 * piece.first as usize;
    &sent[piece.source.index()][first..first + 4 * piece.words as usize]
}

/// Stores all words that arrive at a tile.
pub(super) fn deliver(pieces: &[Piece], sent: &[Vec<u8>], memory: &mut Memory) {
    for piece in pieces {
        memory.load(piece.address, words_of(sent, piece));
    }
}

/// The part of a piece within `from .. to`.
fn cut(piece: &Piece, from: u64, to: u64) -> Option<Piece> {
    let first = piece.clock.max(from);
    let last = (piece.clock + u64::from(piece.words)).min(to);
    if first >= last {
        return None;
    }
    let skip = (first - piece.clock) as u32;
    Some(Piece {
        clock: first,
        words: (last - first) as u32,
        first: piece.first + skip,
        address: piece.address + 4 * skip,
        ..*piece
    })
}

/// Writes and sends of one tile in one window of clocks, clock by clock; gives the words that it sends.
fn window(from: u64, record: &Record, pieces: &[Piece], sent: &[Vec<u8>], memory: &mut Memory) -> Resolved<Vec<u8>> {
    let mut out = Vec::new();
    for clock in from..from + WINDOW {
        for piece in pieces.iter().filter_map(|p| cut(p, clock, clock + 1)) {
            memory.load(piece.address, words_of(sent, &piece));
        }
        if let Some(index) = record.send_at(clock) {
            let s = &record.sends[index];
            read_words(memory, s.address + 4 * (clock - s.slot) as u32, 1, clock, &mut out)?;
        }
    }
    Ok(out)
}

/// Moves the words of an epoch in which some tile forwards: window after window, so that what is sent in one has
/// arrived before it.
pub(super) fn deliver_in_order(
    tiles: &mut [(&mut Memory, &Record, &[Piece])],
    ids: &[TileId],
    sent: &mut [Vec<u8>],
) -> Result<(), (TileId, Clash)> {
    use rayon::prelude::*;
    let first = tiles.iter().flat_map(|t| t.1.sends.iter().map(|s| s.slot)).min();
    let last = tiles.iter().flat_map(|t| t.2.iter().map(|p| p.clock + u64::from(p.words))).max();
    let (Some(mut clock), Some(last)) = (first, last) else { return Ok(()) };
    let last = last.max(tiles.iter().flat_map(|t| t.1.sends.iter().map(Send::end)).max().unwrap_or(0));
    while clock < last {
        let before = &*sent;
        let fresh: Vec<Resolved<Vec<u8>>> = tiles
            .par_iter_mut()
            .map(|(memory, record, pieces)| window(clock, record, pieces, before, memory))
            .collect();
        let mut first_clash: Option<(TileId, Clash)> = None;
        for (id, words) in ids.iter().zip(fresh) {
            match words {
                Ok(words) => sent[id.index()].extend(words),
                Err(c) => {
                    if first_clash.as_ref().is_none_or(|(_, f)| c.clock < f.clock) {
                        first_clash = Some((*id, c));
                    }
                }
            }
        }
        if let Some(found) = first_clash {
            return Err(found);
        }
        clock += WINDOW;
    }
    Ok(())
}
