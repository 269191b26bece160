//! Placed messages to the rows of the tiles: which controls are needed, and when a row ends (`exchange.md` 3.3, 3.4).

use std::collections::BTreeMap;

use super::row::{Control, ControlKind, Send, TileRow};
use super::topology::{PhysicalTile, direction, mux_to_memory, physical, route_time};
use crate::memory::TileId;

/// Both halves of the outgoing bus.
const BOTH: u8 = 3;
/// Events that a receiver stays in its row after its last word.
const RECEIVE_GUARD: i32 = 5;
/// The same after a message of exactly 52 words.
const RECEIVE_GUARD_52: i32 = 6;
/// A sender's row lasts at least this long.
const SENDER_MINIMUM: u32 = 6;

/// A message with its time and all addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedMessage {
    /// Sender.
    pub source: TileId,
    /// Slot of the first word.
    pub slot: u32,
    /// Byte address of the first word.
    pub address: u32,
    /// 32-bit words, at most 4148.
    pub words: u32,
    /// Receivers with their byte addresses.
    pub destinations: Vec<(TileId, u32)>,
}

struct Arrival {
    /// Mux event.
    event: i32,
    words: u32,
    source: PhysicalTile,
    address: u32,
}

/// The rows of all tiles that send or receive, by tile.
///
/// A source control is left out when the same source goes on exactly where its last window ended: the mux already
/// selects it (an inference; `exchange.md` 3.4 states it for the neutral control only).
pub fn build_rows(messages: &[PlacedMessage]) -> Vec<(TileId, TileRow)> {
    let mut sends: BTreeMap<TileId, Vec<Send>> = BTreeMap::new();
    let mut arrivals: BTreeMap<TileId, Vec<Arrival>> = BTreeMap::new();
    for m in messages {
        let s = physical(m.source);
        let control = match m.destinations[..] {
            [(only, _)] => direction(s, physical(only)),
            _ => BOTH,
        };
        sends.entry(m.source).or_default().push(Send { slot: m.slot, address: m.address, words: m.words, control });
        for &(tile, address) in &m.destinations {
            let event = m.slot as i32 + route_time(s, physical(tile)) + 1;
            arrivals.entry(tile).or_default().push(Arrival { event, words: m.words, source: s, address });
        }
    }
    let mut tiles: Vec<TileId> = sends.keys().chain(arrivals.keys()).copied().collect();
    tiles.sort_unstable();
    tiles.dedup();
    tiles
        .into_iter()
        .map(|tile| {
            let sends = sends.remove(&tile).unwrap_or_default();
            (tile, tile_row(tile, sends, arrivals.remove(&tile).unwrap_or_default()))
        })
        .collect()
}

fn tile_row(tile: TileId, mut sends: Vec<Send>, mut arrivals: Vec<Arrival>) -> TileRow {
    sends.sort_unstable();
    arrivals.sort_unstable_by_key(|a| a.event);
    let to_memory = mux_to_memory(physical(tile));
    let mut end = sends.iter().map(|s| s.slot + s.words.max(SENDER_MINIMUM)).max().unwrap_or(0);
    let mut controls = Vec::with_capacity(3 * arrivals.len());
    for (i, a) in arrivals.iter().enumerate() {
        let before = i.checked_sub(1).map(|p| &arrivals[p]);
        let touches = before.is_some_and(|b| b.event + b.words as i32 == a.event);
        let mut control = |event: i32, kind| controls.push(Control { event: event.max(0) as u32, kind });
        if !(touches && before.is_some_and(|b| b.source == a.source)) {
            control(a.event, ControlKind::Source(a.source));
        }
        if before.is_none_or(|b| b.address + 4 * b.words != a.address) {
            control(a.event + to_memory, ControlKind::Pointer(a.address));
        }
        let over = a.event + a.words as i32;
        if arrivals.get(i + 1).is_none_or(|next| next.event != over) {
            control(over, ControlKind::Neutral);
        }
        let guard = if a.words == 52 { RECEIVE_GUARD_52 } else { RECEIVE_GUARD };
        end = end.max((over + to_memory + guard) as u32);
    }
    controls.sort_unstable();
    TileRow { sends, controls, end }
}

#[cfg(test)]
mod tests {
    use super::super::encode::encode_row;
    use super::*;

    fn message(source: u16, slot: u32, address: u32, words: u32, to: &[(u16, u32)]) -> PlacedMessage {
        let destinations = to.iter().map(|&(t, a)| (TileId(t), a)).collect();
        PlacedMessage { source: TileId(source), slot, address, words, destinations }
    }

    /// The worked phase of `exchange.md` 4.3.
    #[test]
    fn the_worked_phase() {
        let rows = build_rows(&[
            message(0, 31, 0x65000, 100, &[(2, 0x60000)]),
            message(4, 127, 0x65000, 60, &[(2, 0x60190)]),
            message(2, 33, 0x68000, 150, &[(6, 0x60000), (7, 0x60000)]),
            message(0, 191, 0x66000, 40, &[(2, 0x61000)]),
        ]);
        let text: Vec<String> = rows
            .iter()
            .map(|(tile, row)| {
                let words: Vec<String> =
                    encode_row(row).expect("encodable").iter().map(|w| format!("{w:08X}")).collect();
                format!("{tile} {} {}", row.end, words.join(" "))
            })
            .collect();
        let b = text.iter().find(|t| t.starts_with("4 ")).expect("tile 4 sends");
        // Tile 4 reads B from 0x65000 here, as the listed word says (0x7F6CA001: address 0x19400).
        assert_eq!(b, "4 187 40A0007E 7F6CA001 43A00000");
        assert_eq!(text[0], "0 231 40A0001E 7FECA001 74600001 40A0003B 7CECC001 43A00000");
        assert_eq!(
            text[1],
            "2 260 64000000 40A0001F 7A8D0003 75B98000 77700080 72D00000 64044640 60698400 40A0002C 43A00000"
        );
        assert_eq!(text[3], "6 214 64000040 61C98000 6416C640 40A0003E 43A00000");
        assert_eq!(text[4], "7 215 64004040 61C98000 6416C640 40A0003E 43A00000");
    }
}
