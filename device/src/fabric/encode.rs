//! Row encoder: a [`TileRow`] to the instructions that a supervisor executes (`exchange.md` 4.1).
//!
//! The words are the time-sorted merge of messages and controls. Outside messages a control rides on the delay that
//! ends at its event; inside a message it starts an instruction at the slot before its event. A pointer and a source
//! at one event share a `sendpicp`, which must start at an even word of the row.
//!
//! Every row ends with a delay to the tile's own end and the return. Linear in messages and controls.

use super::row::{Control, ControlKind, TileRow};
use crate::isa::{Instruction, encode};

/// Branch to `$m10`, the last word of every row.
pub const RETURN: u32 = 0x43a0_0000;
/// Mux value that selects nobody.
pub const NEUTRAL: u32 = 0x640;

const MAX_DELAY: u32 = 0x8_0000;
const MAX_POINTER_DELAY: u32 = 128;
const MAX_SOURCE_DELAY: u32 = 4096;
const MAX_SEND: u32 = 64;
const MAX_CONTINUE: u32 = 4096;

/// Why a row can't be encoded. Events are on the row clock of the tile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// A control falls on an event that no instruction can carry.
    #[error("a control at event {event} has no instruction to carry it")]
    Uncarried {
        /// Its event.
        event: u32,
    },
    /// Controls of one kind coincide.
    #[error("two controls of one kind at event {event}")]
    Coincident {
        /// Their event.
        event: u32,
    },
    /// A pointer and source pair can't start at an even word.
    #[error("a control pair at event {event} can't be aligned to 8 bytes")]
    Parity {
        /// Its event.
        event: u32,
    },
    /// Messages overlap, or the row ends before its last message or control.
    #[error("messages or controls overlap at slot {slot}")]
    Overlap {
        /// Where.
        slot: u32,
    },
}

/// Controls of one event.
#[derive(Clone, Copy, Default)]
struct Group {
    event: u32,
    source: Option<u32>,
    pointer: Option<u32>,
}

fn groups(controls: &[Control]) -> Result<Vec<Group>, RowError> {
    let mut groups: Vec<Group> = Vec::with_capacity(controls.len());
    for c in controls {
        if groups.last().is_none_or(|g| g.event != c.event) {
            if groups.last().is_some_and(|g| g.event > c.event) || c.event == 0 {
                return Err(RowError::Uncarried { event: c.event });
            }
            groups.push(Group { event: c.event, ..Group::default() });
        }
        let group = groups.last_mut().expect("just pushed");
        let (slot, value) = match c.kind {
            ControlKind::Source(p) => (&mut group.source, u32::from(p.0)),
            ControlKind::Neutral => (&mut group.source, NEUTRAL),
            ControlKind::Pointer(address) => (&mut group.pointer, address / 4),
        };
        if slot.replace(value).is_some() {
            return Err(RowError::Coincident { event: c.event });
        }
    }
    Ok(groups)
}

struct Encoder {
    words: Vec<u32>,
    /// Events that have passed.
    now: u32,
}

/// Words of the row of a tile; the row must start at a multiple of 8.
pub fn encode_row(row: &TileRow) -> Result<Vec<u32>, RowError> {
    let groups = groups(&row.controls)?;
    let mut controls = groups.as_slice();
    let mut e = Encoder { words: Vec::with_capacity(2 * row.sends.len() + 2 * groups.len() + 2), now: 0 };
    for send in &row.sends {
        if send.slot < e.now {
            return Err(RowError::Overlap { slot: send.slot });
        }
        let before = controls.partition_point(|g| g.event <= send.slot);
        e.gap(&controls[..before], send.slot)?;
        let inside = controls.partition_point(|g| g.event <= send.slot + send.words);
        e.message(send, &controls[before..inside])?;
        controls = &controls[inside..];
    }
    if row.end < e.now {
        return Err(RowError::Overlap { slot: row.end });
    }
    e.gap(controls, row.end)?;
    e.words.push(RETURN);
    Ok(e.words)
}

impl Encoder {
    fn emit(&mut self, form: &str, operands: &[u32], events: u32) {
        let operands: Vec<i32> = operands.iter().map(|&x| x as i32).collect();
        self.words.push(encode(&Instruction::new(form, &operands)).expect("field ranges are kept by construction"));
        self.now += events;
    }

    fn delay(&mut self, mut events: u32) {
        while events > 0 {
            let n = events.min(MAX_DELAY);
            self.emit("delay_mmmn_zi", &[n - 1], n);
            events -= n;
        }
    }

    /// Passes time without sending until `end`, with `controls` at their events.
    fn gap(&mut self, controls: &[Group], end: u32) -> Result<(), RowError> {
        for (i, g) in controls.iter().enumerate() {
            let event = g.event;
            if event > end || event <= self.now {
                return Err(RowError::Uncarried { event });
            }
            let wait = event - self.now;
            match (g.source, g.pointer) {
                (Some(source), None) => {
                    self.delay(wait.saturating_sub(MAX_SOURCE_DELAY));
                    let n = event - self.now;
                    self.emit("delayxpic_exch", &[n - 1, 0, source], n);
                }
                (None, Some(pointer)) => {
                    self.delay(wait.saturating_sub(MAX_POINTER_DELAY));
                    let n = event - self.now;
                    self.emit("delaypic_exch", &[n - 1, 0, pointer], n);
                }
                (Some(source), Some(pointer)) => {
                    let wait = wait - 1;
                    let odd = (self.words.len() + wait.div_ceil(MAX_DELAY) as usize) % 2 == 1;
                    if odd {
                        if wait < 2 {
                            return Err(RowError::Parity { event });
                        }
                        self.delay(1);
                        self.delay(wait - 1);
                    } else {
                        self.delay(wait);
                    }
                    if self.words.len() % 2 == 1 {
                        return Err(RowError::Parity { event });
                    }
                    let until = controls.get(i + 1).map_or(end, |next| next.event - 1).min(end);
                    let n = (until - self.now).clamp(1, MAX_SEND);
                    self.pair(n, 0, 0, source, pointer);
                }
                (None, None) => unreachable!("a group has a control"),
            }
        }
        if self.now > end {
            return Err(RowError::Overlap { slot: end });
        }
        self.delay(end - self.now);
        Ok(())
    }

    fn pair(&mut self, events: u32, address: u32, control: u32, source: u32, pointer: u32) {
        self.emit("sendpicp_exch", &[events - 1, address, control, 0], events);
        self.words.push(source << 18 | pointer);
    }

    /// Sends a message with `controls` at events inside it.
    fn message(&mut self, send: &super::row::Send, controls: &[Group]) -> Result<(), RowError> {
        let control = u32::from(send.control);
        let end = send.slot + send.words;
        if let Some(g) = controls.first().filter(|g| g.event < send.slot + 2) {
            return Err(RowError::Uncarried { event: g.event });
        }
        let cut = |i: usize| controls.get(i).map_or(end, |g| g.event - 1);
        let aligned = |i: usize| controls.get(i).is_some_and(|g| g.source.is_some() && g.pointer.is_some());
        let until = cut(0);
        let n = (until - self.now).min(MAX_SEND);
        let first = self.words.len();
        self.emit("send_mmmn_zi", &[n - 1, send.address / 4, control], n);
        self.fill(until, control);
        self.align(first, aligned(0), controls.first())?;
        for (i, g) in controls.iter().enumerate() {
            let until = cut(i + 1);
            let n = (until - self.now).min(MAX_SEND);
            let first = self.words.len();
            match (g.source, g.pointer) {
                (Some(source), Some(pointer)) => {
                    let address = send.address / 4 + (self.now - send.slot);
                    self.pair(n, address, control, source, pointer);
                }
                (Some(source), None) => self.emit("sendpic_exch", &[n - 1, 0, source], n),
                (None, Some(pointer)) => self.emit("sendpic_exch", &[n - 1, 2, pointer], n),
                (None, None) => unreachable!("a group has a control"),
            }
            self.fill(until, control);
            self.align(first, aligned(i + 1), controls.get(i + 1))?;
        }
        Ok(())
    }

    /// Continues the stream until `until`.
    fn fill(&mut self, until: u32, control: u32) {
        while self.now < until {
            let n = (until - self.now).min(MAX_CONTINUE);
            self.continue_stream(n, control);
        }
    }

    fn continue_stream(&mut self, n: u32, control: u32) {
        self.emit("sendoff_exch", &[n - 1, 0, control], n);
    }

    /// Splits the last instruction of the piece that began at word `first`, where the next cut needs an even word.
    fn align(&mut self, first: usize, wanted: bool, next: Option<&Group>) -> Result<(), RowError> {
        if !wanted || self.words.len() % 2 == 0 {
            return Ok(());
        }
        let event = next.map_or(0, |g| g.event);
        let last = self.words.len() - 1;
        let word = self.words[last];
        // The payload of a pair is data; a pair that fills its piece can't be told apart from it by value, but by place.
        let is_payload = last == first + 1 && self.words[first] >> 28 == 0xf;
        let at = if is_payload { first } else { last };
        let (events, control, rest) = match self.words[at] >> 27 & 0x1f {
            0b01111 => (word >> 21 & 63, word & 7, word & !(63 << 21)),
            0b01110 if word >> 20 & 1 == 0 => {
                let n = (word >> 21 & 63) | (word >> 14 & 63) << 6;
                (n, word & 7, word & !(63 << 21) & !(63 << 14))
            }
            0b01110 => (word >> 21 & 63, u32::MAX, word & !(63 << 21)),
            _ => return Err(RowError::Parity { event }),
        };
        if events == 0 || is_payload || control == u32::MAX {
            return Err(RowError::Parity { event });
        }
        // One event less, and one more instruction for it.
        let n = events - 1;
        self.words[at] = if word >> 27 & 0x1f == 0b01110 {
            rest | (n & 63) << 21 | (n >> 6) << 14
        } else {
            rest | n << 21
        };
        self.now -= 1;
        self.continue_stream(1, control);
        Ok(())
    }
}
