//! Placed messages of a phase to one row description per tile.
//!
//! In: messages with their first slot. Out: for every tile that sends or receives, its sends and the smallest set of
//! incoming controls (`exchange.md` 3.3 to 3.5, ordinary 32-bit traffic, absolute form).
//!
//! Properties:
//! 1. Every receiver selects the sender exactly while the words pass its mux, and nobody at the end.
//! 2. The neutral control is left out where the next message starts exactly at the end of the one before.
//! 3. The pointer control is left out where the address continues the message before.
//! 4. The source control is left out where the same source continues without a gap. The sheets state this for the
//!    neutral control only; that the mux simply stays selected is an inference.
//! 5. A send that continues the one before in slot, address and control is joined to it, which only takes words out of
//!    the row and frees the two events at its start.
//!
//! Cost: linear, apart from sorting each tile's own messages; tiles in parallel.

use rayon::prelude::*;

use super::row::{Control, Kind, RowError, Send, TileRow};
use super::topology::{PhysicalTile, direction, mux_to_memory, physical, route_time};
use crate::memory::{TILES, TileId};

/// One message of a phase with its time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlacedMessage {
    /// Sending tile.
    pub source: TileId,
    /// Slot of the first word on the sender's clock.
    pub slot: u32,
    /// Byte address of the first word on the sender.
    pub address: u32,
    /// Number of 32-bit words, at least 1.
    pub words: u32,
    /// Receivers with the byte address of the first word there, at least one, all different.
    pub destinations: Vec<(TileId, u32)>,
}

/// Events after the last write before a row may end (`exchange.md` 3.3).
fn guard(words: u32) -> u32 {
    if words == 52 { 6 } else { 5 }
}

/// First slot in which a message to these receivers may start: the mux events must be at least 1.
pub fn earliest_slot(source: TileId, receivers: impl IntoIterator<Item = TileId>) -> u32 {
    let s = physical(source);
    receivers.into_iter().map(|d| -route_time(s, physical(d))).max().unwrap_or(0).max(0) as u32
}

/// Send control of a message: the direction of its only receiver, or both.
pub fn send_control(source: TileId, destinations: &[(TileId, u32)]) -> u8 {
    match destinations {
        [(only, _)] => direction(physical(source), physical(*only)),
        _ => 3,
    }
}

/// A message as its receiver sees it.
#[derive(Clone, Copy)]
struct Arrival {
    mux: u32,
    words: u32,
    address: u32,
    source: PhysicalTile,
}

#[derive(Default)]
struct Port {
    sends: Vec<Send>,
    arrivals: Vec<Arrival>,
    end: u32,
}

/// The row descriptions of all tiles that send or receive, in tile order.
///
/// Fails when two messages overlap on a port or a mux event lies before event 1; what only the encoder can tell
/// (controls at a send's start, parity) it tells itself.
pub fn build_rows(messages: &[PlacedMessage]) -> Result<Vec<(TileId, TileRow)>, RowError> {
    let mut ports: Vec<Port> = Vec::new();
    ports.resize_with(TILES as usize, Port::default);
    for message in messages {
        let source = physical(message.source);
        let mut first_slot = 0;
        for &(tile, address) in &message.destinations {
            let d = physical(tile);
            let tau = route_time(source, d);
            first_slot = first_slot.max(-tau);
            let mux = i64::from(message.slot) + i64::from(tau) + 1;
            if mux < 1 {
                return Err(RowError::MuxTooEarly { tile: tile.0, event: mux });
            }
            let mux = mux as u32;
            let port = &mut ports[tile.index()];
            port.arrivals.push(Arrival { mux, words: message.words, address, source });
            port.end = port.end.max(mux + mux_to_memory(d) as u32 + message.words + guard(message.words));
        }
        let port = &mut ports[message.source.index()];
        let control = send_control(message.source, &message.destinations);
        port.sends.push(Send { slot: message.slot, address: message.address, words: message.words, control });
        let horizon = message.words.max(6u32.saturating_sub(first_slot as u32));
        port.end = port.end.max(message.slot + horizon);
    }
    ports
        .into_par_iter()
        .enumerate()
        .filter(|(_, port)| !port.sends.is_empty() || !port.arrivals.is_empty())
        .map(|(tile, port)| {
            let tile = TileId(tile as u16);
            Ok((tile, port.row(tile)?))
        })
        .collect::<Vec<Result<_, RowError>>>()
        .into_iter()
        .collect()
}

impl Port {
    fn row(mut self, tile: TileId) -> Result<TileRow, RowError> {
        self.sends.sort_unstable_by_key(|s| s.slot);
        let mut sends: Vec<Send> = Vec::with_capacity(self.sends.len());
        for send in self.sends {
            match sends.last_mut() {
                Some(last) if send.slot < last.slot + last.words => {
                    return Err(RowError::SendOverlap { slot: send.slot, free: last.slot + last.words });
                }
                Some(last)
                    if send.slot == last.slot + last.words
                        && send.address == last.address + 4 * last.words
                        && send.control == last.control =>
                {
                    last.words += send.words;
                }
                _ => sends.push(send),
            }
        }
        self.arrivals.sort_unstable_by_key(|a| a.mux);
        let controls = controls(tile, &self.arrivals)?;
        Ok(TileRow { sends, controls, end: self.end })
    }
}

/// The incoming controls of arrivals in mux order, by event.
fn controls(tile: TileId, arrivals: &[Arrival]) -> Result<Vec<Control>, RowError> {
    let to_memory = mux_to_memory(physical(tile)) as u32;
    let mut sources: Vec<Control> = Vec::with_capacity(arrivals.len() + 1);
    let mut pointers: Vec<Control> = Vec::with_capacity(arrivals.len());
    let mut before: Option<Arrival> = None;
    for &arrival in arrivals {
        let free = before.map(|b| b.mux + b.words);
        if let Some(free) = free.filter(|&free| arrival.mux < free) {
            return Err(RowError::ReceiveOverlap { tile: tile.0, event: arrival.mux, free });
        }
        let exact = free == Some(arrival.mux);
        if let Some(event) = free.filter(|_| !exact) {
            sources.push(Control { event, kind: Kind::Neutral });
        }
        // Property 4, an inference.
        if !(exact && before.is_some_and(|b| b.source == arrival.source)) {
            sources.push(Control { event: arrival.mux, kind: Kind::Source(arrival.source) });
        }
        if before.is_none_or(|b| b.address + 4 * b.words != arrival.address) {
            pointers.push(Control { event: arrival.mux + to_memory, kind: Kind::Pointer(arrival.address) });
        }
        before = Some(arrival);
    }
    if let Some(last) = before {
        sources.push(Control { event: last.mux + last.words, kind: Kind::Neutral });
    }
    let mut merged = Vec::with_capacity(sources.len() + pointers.len());
    let mut pointers = pointers.into_iter().peekable();
    for source in sources {
        while let Some(pointer) = pointers.next_if(|p| p.event <= source.event) {
            merged.push(pointer);
        }
        merged.push(source);
    }
    merged.extend(pointers);
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(source: u16, slot: u32, address: u32, words: u32, to: &[(u16, u32)]) -> PlacedMessage {
        let destinations = to.iter().map(|&(t, a)| (TileId(t), a)).collect();
        PlacedMessage { source: TileId(source), slot, address, words, destinations }
    }

    /// `exchange.md` 4.3: four 52-word messages into logical tile 2; 0 -> 2 has route time -31.
    #[test]
    fn multicast_timings_of_the_sdk() {
        let messages: Vec<_> =
            (0..4).map(|i| message(0, 32 + 52 * i, 0x50000 + 208 * i, 52, &[(2, 0x54000 - 0x1000 * i)])).collect();
        let rows = build_rows(&messages).expect("legal");
        let row = &rows[1].1;
        let events = |pointer: bool| -> Vec<u32> {
            row.controls.iter().filter(|c| matches!(c.kind, Kind::Pointer(_)) == pointer).map(|c| c.event).collect()
        };
        // One source continues, so it is selected once; the pointers follow each message.
        assert_eq!(events(false), [2, 210]);
        assert_eq!(events(true), [56, 108, 160, 212]);
        assert_eq!(row.end, 212 + 52 + 6);
    }

    #[test]
    fn continuing_sends_are_joined_and_ends_follow_the_rules() {
        let rows = build_rows(&[
            message(0, 31, 0x60000, 10, &[(2, 0x70000)]),
            message(0, 41, 0x60028, 5, &[(4, 0x70000)]),
            message(0, 46, 0x6003c, 5, &[(2, 0x70028)]),
        ])
        .expect("legal");
        assert_eq!(rows[0].1.sends, [Send { slot: 31, address: 0x60000, words: 20, control: 1 }]);
        assert_eq!(rows[0].1.end, 51);
        let sources =
            |tile: usize| rows[tile].1.controls.iter().filter(|c| !matches!(c.kind, Kind::Pointer(_))).count();
        assert_eq!(sources(1), 4);
        // A message of one word in the earliest slot 0 still lasts six events.
        let rows = build_rows(&[message(736, 0, 0x60000, 1, &[(100, 0x70000)])]).expect("legal");
        assert_eq!(rows.iter().find(|(t, _)| t.0 == 736).map(|(_, r)| r.end), Some(6));
        assert_eq!(rows.iter().find(|(t, _)| t.0 == 100).map(|(_, r)| r.end), Some(110 + 1 + 5));
    }

    #[test]
    fn what_is_no_schedule() {
        let a = message(0, 31, 0x60000, 10, &[(2, 0x70000)]);
        assert_eq!(
            build_rows(&[a.clone(), message(0, 40, 0x60000, 1, &[(4, 0x70000)])]),
            Err(RowError::SendOverlap { slot: 40, free: 41 })
        );
        let early = message(0, 30, 0x60000, 10, &[(2, 0x70000)]);
        assert_eq!(build_rows(&[early]), Err(RowError::MuxTooEarly { tile: 2, event: 0 }));
        // 4 -> 2 has route time -27: slot 36 reaches the mux at event 10, while tile 0 is selected up to 11.
        assert_eq!(
            build_rows(&[a, message(4, 36, 0x60000, 1, &[(2, 0x71000)])]),
            Err(RowError::ReceiveOverlap { tile: 2, event: 10, free: 11 })
        );
    }
}
