//! Checks a placed phase from its pieces alone, with times recomputed from the topology (`exchange.md` 6, 1 to 10).
//!
//! In: the traffic, the bank structure, the pieces. Out: every violation found. Shares no code with the placement.

use std::fmt;

use ipuc_device::fabric::topology::{mux_to_memory, physical, route_time};
use ipuc_device::memory::TileId;

use super::banks::Banks;
use super::timing::Piece;
use super::traffic::{Endpoint, Traffic};

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The pieces of a transfer do not cover it exactly once.
    Coverage { transfer: u32 },
    /// A message is empty or too long, or its pieces do not follow each other at every end.
    Message { message: u32 },
    /// A receiver's mux would have to select before event 1.
    TooEarly { transfer: u32, tile: TileId },
    /// Two sends of a tile overlap; the second begins in this slot.
    SendPort { tile: TileId, slot: u32 },
    /// Two receives of a tile overlap; the mux of the second selects at this event.
    ReceivePort { tile: TileId, event: u32 },
    /// An incoming control falls on the first two events of a message of the tile.
    Control { tile: TileId, event: u32 },
    /// Two controls that one instruction cannot carry.
    Coincidence { tile: TileId, event: u32 },
    /// A send and a receive of one bank overlap.
    Bank { tile: TileId, send_slot: u32, write_event: u32 },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coverage { transfer } => write!(f, "transfer {transfer}: not covered exactly once"),
            Self::Message { message } => write!(f, "message {message}: malformed"),
            Self::TooEarly { transfer, tile } => write!(f, "transfer {transfer}: reaches tile {tile} before event 1"),
            Self::SendPort { tile, slot } => write!(f, "tile {tile}: sends overlap at slot {slot}"),
            Self::ReceivePort { tile, event } => write!(f, "tile {tile}: receives overlap at event {event}"),
            Self::Control { tile, event } => write!(f, "tile {tile}: control at event {event} at the start of a send"),
            Self::Coincidence { tile, event } => write!(f, "tile {tile}: controls coincide at event {event}"),
            Self::Bank { tile, send_slot, write_event } => {
                write!(f, "tile {tile}: send at slot {send_slot} and receive at event {write_event} share a bank")
            }
        }
    }
}

struct Sent {
    slot: u32,
    words: u32,
    /// Memory window end.
    end: u32,
    banks: u64,
    starts: bool,
}

struct Received {
    mux: u32,
    write: u32,
    words: u32,
    source: TileId,
    at: u64,
    banks: u64,
}

/// All violations of a placed phase.
pub fn verify(traffic: &Traffic, banks: &dyn Banks, pieces: &[Piece]) -> Vec<Violation> {
    let mut found = Vec::new();
    coverage(traffic, pieces, &mut found);
    let first = messages(traffic, pieces, &mut found);
    let tiles = traffic.tiles();
    let mut sent: Vec<Vec<Sent>> = (0..tiles).map(|_| Vec::new()).collect();
    let mut received: Vec<Vec<Received>> = (0..tiles).map(|_| Vec::new()).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let source = traffic.source(piece.transfer);
        let s = physical(source.tile);
        let bytes = 4 * piece.words;
        let mut head = 0;
        for end in traffic.destinations(piece.transfer) {
            let d = physical(end.tile);
            head = head.max(-route_time(s, d));
            let mux = piece.slot as i32 + route_time(s, d) + 1;
            if mux < 1 {
                found.push(Violation::TooEarly { transfer: piece.transfer, tile: end.tile });
                continue;
            }
            let at = word_place(*end, piece.first_word);
            received[end.tile.index()].push(Received {
                mux: mux as u32,
                write: (mux + mux_to_memory(d)) as u32,
                words: piece.words,
                source: source.tile,
                at,
                banks: banks.set(at, bytes),
            });
        }
        sent[source.tile.index()].push(Sent {
            slot: piece.slot,
            words: piece.words,
            end: piece.slot + piece.words.max((6 - head.min(6)) as u32),
            banks: banks.set(word_place(source, piece.first_word), bytes),
            starts: first[index],
        });
    }
    for (tile, (mut sent, mut received)) in sent.into_iter().zip(received).enumerate() {
        sent.sort_unstable_by_key(|s| s.slot);
        received.sort_unstable_by_key(|r| r.mux);
        check_tile(TileId(tile as u16), &sent, &received, &mut found);
    }
    found
}

fn coverage(traffic: &Traffic, pieces: &[Piece], found: &mut Vec<Violation>) {
    let mut spans: Vec<(u32, u32, u32)> = pieces.iter().map(|p| (p.transfer, p.first_word, p.words)).collect();
    spans.sort_unstable();
    let mut covered = vec![0u32; traffic.len()];
    for (transfer, first_word, words) in spans {
        match covered.get_mut(transfer as usize) {
            Some(next) if *next == first_word && words > 0 => *next += words,
            _ => found.push(Violation::Coverage { transfer }),
        }
    }
    for (transfer, &words) in covered.iter().enumerate() {
        if words != traffic.words(transfer as u32) {
            found.push(Violation::Coverage { transfer: transfer as u32 });
        }
    }
}

/// Whether each piece begins its message.
fn messages(traffic: &Traffic, pieces: &[Piece], found: &mut Vec<Violation>) -> Vec<bool> {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_unstable_by_key(|&i| (pieces[i].message, pieces[i].slot, pieces[i].first_word));
    let mut first = vec![true; pieces.len()];
    for group in order.chunk_by(|&a, &b| pieces[a].message == pieces[b].message) {
        let words: u32 = group.iter().map(|&i| pieces[i].words).sum();
        let mut legal = (1..=4148).contains(&words);
        for pair in group.windows(2) {
            let (a, b) = (&pieces[pair[0]], &pieces[pair[1]]);
            first[pair[1]] = false;
            let follows = |x: Endpoint, y: Endpoint| {
                x.tile == y.tile && word_place(x, a.first_word + a.words) == word_place(y, b.first_word)
            };
            let (from, to) = (traffic.destinations(a.transfer), traffic.destinations(b.transfer));
            legal &= b.slot == a.slot + a.words
                && follows(traffic.source(a.transfer), traffic.source(b.transfer))
                && from.len() == to.len()
                && from.iter().zip(to).all(|(&x, &y)| follows(x, y));
        }
        if !legal {
            found.push(Violation::Message { message: pieces[group[0]].message });
        }
    }
    first
}

fn check_tile(tile: TileId, sent: &[Sent], received: &[Received], found: &mut Vec<Violation>) {
    for pair in sent.windows(2) {
        if pair[1].slot < pair[0].slot + pair[0].words {
            found.push(Violation::SendPort { tile, slot: pair[1].slot });
        }
    }
    // Controls of the final row: a source where the sender changes or a gap precedes, a neutral before a gap, a pointer
    // where the address does not continue (3.4(2), 3.4(3)).
    let (mut sources, mut pointers) = (Vec::new(), Vec::new());
    let mut next_address = None;
    for (index, r) in received.iter().enumerate() {
        let touches = index > 0 && received[index - 1].mux + received[index - 1].words == r.mux;
        if index > 0 && received[index - 1].mux + received[index - 1].words > r.mux {
            found.push(Violation::ReceivePort { tile, event: r.mux });
        }
        if index > 0 && !touches {
            sources.push(received[index - 1].mux + received[index - 1].words);
        }
        if !touches || received[index - 1].source != r.source {
            sources.push(r.mux);
        }
        if next_address != Some(r.at) {
            pointers.push(r.write);
        }
        next_address = Some(r.at + 4 * u64::from(r.words));
    }
    if let Some(last) = received.last() {
        sources.push(last.mux + last.words);
    }
    for list in [&sources, &pointers] {
        for pair in list.windows(2).filter(|pair| pair[0] == pair[1]) {
            found.push(Violation::Coincidence { tile, event: pair[0] });
        }
    }
    for list in [&mut sources, &mut pointers] {
        list.sort_unstable();
        for s in sent.iter().filter(|s| s.starts) {
            let at = list.partition_point(|&event| event < s.slot);
            if let Some(&event) = list.get(at).filter(|&&event| event <= s.slot + 1) {
                found.push(Violation::Control { tile, event });
            }
        }
    }
    // Windows of one kind are disjoint and sorted, so one sweep meets all overlapping pairs.
    let mut from = 0;
    for s in sent.iter().filter(|s| s.banks != 0) {
        while from < received.len() && received[from].write + received[from].words + 5 <= s.slot {
            from += 1;
        }
        for r in received[from..].iter().take_while(|r| r.write < s.end) {
            if r.banks & s.banks != 0 {
                found.push(Violation::Bank { tile, send_slot: s.slot, write_event: r.write });
            }
        }
    }
}

fn word_place(end: Endpoint, word: u32) -> u64 {
    end.at + 4 * u64::from(word)
}
