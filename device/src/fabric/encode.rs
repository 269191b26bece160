//! Row description to row words (`exchange.md` 2.1 and 4.1).
//!
//! In: a [`TileRow`]. Out: its instructions as words, the return last; a pair of controls takes two words and stands at
//! an even word, so the row's address must be a multiple of 8.
//!
//! Properties of the words:
//! 1. Slots of the sends transmit exactly their words, all other slots transmit nothing.
//! 2. Every control takes effect at its event, and no other control is written.
//! 3. The events add up to the row's end.
//! 4. `sendpicp` stands at even words only.
//!
//! Cost: linear in sends and controls. Repairing the parity of a pair shifts only words after the pair before it.

use std::sync::LazyLock;

use super::row::{ADDRESS_LIMIT, Kind, NEUTRAL, RowError, Send, TileRow};
use crate::isa::{Form, encode_form, form_by_name};

/// Events of one `delay`.
const LONGEST_DELAY: u32 = 0x80000;
/// Events of one `delaypic`.
const LONGEST_DELAYPIC: u32 = 128;
/// Events of one `delayxpic`, and of one `sendoff`.
const LONGEST_DELAYXPIC: u32 = 4096;
const LONGEST_SENDOFF: u32 = 4096;
/// Events of one `send`, `sendpic` or `sendpicp`.
const LONGEST_SEND: u32 = 64;
/// The register that holds the return address of a row (`exchange.md` 2.5).
const RETURN_REGISTER: i64 = 10;

struct Forms {
    delay: &'static Form,
    delaypic: &'static Form,
    delayxpic: &'static Form,
    send: &'static Form,
    sendoff: &'static Form,
    sendpic: &'static Form,
    sendpicp: &'static Form,
    branch: &'static Form,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let get = |name| form_by_name(name).expect("invariant: exchange forms are in the table");
    Forms {
        delay: get("delay_mmmn_zi"),
        delaypic: get("delaypic_exch"),
        delayxpic: get("delayxpic_exch"),
        send: get("send_mmmn_zi"),
        sendoff: get("sendoff_exch"),
        sendpic: get("sendpic_exch"),
        sendpicp: get("sendpicp_exch"),
        branch: get("br_mmmn"),
    }
});

/// The controls of one event: at least one of them is there.
#[derive(Clone, Copy, Debug)]
struct Group {
    event: u32,
    /// Pointer in words.
    pointer: Option<u32>,
    /// Mux value.
    source: Option<u32>,
}

/// An instruction whose length can still change.
#[derive(Clone, Copy, Debug)]
enum Op {
    Delay,
    Pointer {
        value: u32,
    },
    Source {
        value: u32,
    },
    Send {
        address: u32,
        control: u8,
    },
    Continue {
        control: u8,
    },
    /// One control inside a message of this send control.
    ContinueControl {
        group: Group,
        control: u8,
    },
    /// Two controls; control 0 transmits nothing.
    Pair {
        group: Group,
        address: u32,
        control: u8,
    },
}

impl Op {
    /// First word of the instruction over `n` events.
    fn word(self, n: u32) -> u32 {
        let f = &*FORMS;
        let n = i64::from(n) - 1;
        let word = match self {
            Self::Delay => encode_form(f.delay, &[n]),
            Self::Pointer { value } => encode_form(f.delaypic, &[n, 0, value.into()]),
            Self::Source { value } => encode_form(f.delayxpic, &[n, 0, value.into()]),
            Self::Send { address, control } => encode_form(f.send, &[n, address.into(), control.into()]),
            Self::Continue { control } => encode_form(f.sendoff, &[n, 0, control.into()]),
            Self::ContinueControl { group, .. } => match (group.pointer, group.source) {
                (Some(pointer), _) => encode_form(f.sendpic, &[n, 2, pointer.into()]),
                (None, source) => encode_form(f.sendpic, &[n, 0, source.unwrap_or(NEUTRAL).into()]),
            },
            Self::Pair { address, control, .. } => encode_form(f.sendpicp, &[n, address.into(), control.into(), 0]),
        };
        word.expect("invariant: lengths, addresses and sources were checked")
    }
}

/// The longest suffix of the row that can still be shifted by a word, and the instruction that can be split for it.
struct Writer {
    words: Vec<u32>,
    /// Events so far.
    cycle: u32,
    /// Last instruction of at least two events since the last pair (the pair included): word index, length, operation.
    splittable: Option<(usize, u32, Op)>,
}

impl Writer {
    fn push(&mut self, op: Op, n: u32) {
        let at = self.words.len();
        self.words.push(op.word(n));
        if let Op::Pair { group, .. } = op {
            debug_assert!(at.is_multiple_of(2), "keeps property 4");
            let (source, pointer) = (group.source.unwrap_or(NEUTRAL), group.pointer.unwrap_or(0));
            self.words.push(source << 18 | pointer);
            self.splittable = None;
        }
        if n >= 2 {
            self.splittable = Some((at, n, op));
        }
        self.cycle += n;
    }

    fn delay_to(&mut self, target: u32) {
        while self.cycle < target {
            self.push(Op::Delay, (target - self.cycle).min(LONGEST_DELAY));
        }
    }

    /// Makes the next word index even by splitting one event off an earlier instruction.
    fn make_even(&mut self, event: u32) -> Result<(), RowError> {
        if self.words.len().is_multiple_of(2) {
            return Ok(());
        }
        let (at, n, op) = self.splittable.take().ok_or(RowError::PairParity { event })?;
        match op {
            Op::Delay => self.words.insert(at + 1, Op::Delay.word(1)),
            // A delay form writes its control at its last event, so the event is taken from its front.
            Op::Pointer { .. } | Op::Source { .. } => {
                self.words[at] = Op::Delay.word(n - 1);
                self.words.insert(at + 1, op.word(1));
                return Ok(());
            }
            Op::Send { control, .. } | Op::Continue { control } | Op::ContinueControl { control, .. } => {
                self.words.insert(at + 1, Op::Continue { control }.word(1));
            }
            Op::Pair { control: 0, .. } => self.words.insert(at + 2, Op::Delay.word(1)),
            Op::Pair { control, .. } => self.words.insert(at + 2, Op::Continue { control }.word(1)),
        }
        self.words[at] = op.word(n - 1);
        Ok(())
    }

    /// Controls of a gap: from `first` on, those at events up to `limit`, then silence until `limit`.
    fn gap(&mut self, groups: &[Group], next: &mut usize, limit: u32) -> Result<(), RowError> {
        while let Some(&group) = groups.get(*next).filter(|g| g.event <= limit) {
            *next += 1;
            match (group.pointer, group.source) {
                (Some(value), None) => self.single(group.event, LONGEST_DELAYPIC, Op::Pointer { value }),
                (None, Some(value)) => self.single(group.event, LONGEST_DELAYXPIC, Op::Source { value }),
                _ => {
                    self.delay_to(group.event - 1);
                    self.make_even(group.event)?;
                    // Up to the slot of the next control, so that it absorbs the silence after it.
                    let until = groups.get(*next).map_or(limit, |g| limit.min(g.event - 1));
                    let n = (until - self.cycle).min(LONGEST_SEND);
                    self.push(Op::Pair { group, address: 0, control: 0 }, n);
                }
            }
        }
        self.delay_to(limit);
        Ok(())
    }

    fn single(&mut self, event: u32, longest: u32, op: Op) {
        self.delay_to(event.saturating_sub(longest).max(self.cycle));
        self.push(op, event - self.cycle);
    }

    /// One message, cut at the slot before each control.
    fn message(&mut self, send: &Send, groups: &[Group], next: &mut usize) -> Result<(), RowError> {
        let end = send.slot + send.words;
        let address = send.address / 4;
        let control = send.control;
        let mut group: Option<Group> = None;
        while self.cycle < end {
            let cut = groups.get(*next).map_or(end, |g| end.min(g.event - 1));
            let n = (cut - self.cycle).min(LONGEST_SEND);
            match group {
                None => self.push(Op::Send { address, control }, n),
                Some(group) if group.pointer.is_some() && group.source.is_some() => {
                    self.make_even(group.event)?;
                    self.push(Op::Pair { group, address: address + self.cycle - send.slot, control }, n);
                }
                Some(group) => self.push(Op::ContinueControl { group, control }, n),
            }
            while self.cycle < cut {
                self.push(Op::Continue { control }, (cut - self.cycle).min(LONGEST_SENDOFF));
            }
            group = groups.get(*next).copied().filter(|_| cut < end);
            *next += usize::from(group.is_some());
        }
        Ok(())
    }
}

/// The words of a row.
pub fn encode_row(row: &TileRow) -> Result<Vec<u32>, RowError> {
    let groups = groups(row)?;
    check_sends(row, &groups)?;
    let capacity = 2 * row.sends.len() + groups.len() * 3 / 2 + 4;
    let mut writer = Writer { words: Vec::with_capacity(capacity), cycle: 0, splittable: None };
    let mut next = 0;
    for send in &row.sends {
        writer.gap(&groups, &mut next, send.slot)?;
        writer.message(send, &groups, &mut next)?;
    }
    writer.gap(&groups, &mut next, row.end)?;
    writer.words.push(encode_form(FORMS.branch, &[RETURN_REGISTER]).expect("invariant: a register"));
    Ok(writer.words)
}

/// Number of words of a row, the return included.
pub fn row_words(row: &TileRow) -> Result<u32, RowError> {
    encode_row(row).map(|words| words.len() as u32)
}

/// Controls by event, checked.
fn groups(row: &TileRow) -> Result<Vec<Group>, RowError> {
    let mut groups: Vec<Group> = Vec::with_capacity(row.controls.len());
    for control in &row.controls {
        let event = control.event;
        if event == 0 {
            return Err(RowError::ControlAtZero);
        }
        if groups.last().is_none_or(|g| g.event != event) {
            if let Some(before) = groups.last().map(|g| g.event).filter(|&before| before > event) {
                return Err(RowError::ControlOrder { event, before });
            }
            groups.push(Group { event, pointer: None, source: None });
        }
        let group = groups.last_mut().expect("invariant: one was pushed");
        let (place, value) = match control.kind {
            Kind::Pointer(address) => {
                if address % 4 != 0 || address >= ADDRESS_LIMIT {
                    return Err(RowError::Address { event, address });
                }
                (&mut group.pointer, address / 4)
            }
            Kind::Source(tile) => {
                if !tile.exists() {
                    return Err(RowError::NoSuchSource { event, source_tile: tile.0 });
                }
                (&mut group.source, tile.0.into())
            }
            Kind::Neutral => (&mut group.source, NEUTRAL),
        };
        if place.replace(value).is_some() {
            return Err(RowError::ControlClash { event });
        }
    }
    if let Some(last) = groups.last().filter(|g| g.event > row.end) {
        return Err(RowError::EndsEarly { end: row.end, event: last.event });
    }
    Ok(groups)
}

/// Sends in order and in range, and no control in their first two events.
fn check_sends(row: &TileRow, groups: &[Group]) -> Result<(), RowError> {
    let (mut free, mut next) = (0, 0);
    for send in &row.sends {
        let Send { slot, address, words, control } = *send;
        if slot < free {
            return Err(RowError::SendOverlap { slot, free });
        }
        if words == 0 {
            return Err(RowError::EmptySend { slot });
        }
        if !(1..=3).contains(&control) {
            return Err(RowError::SendControl { slot, control });
        }
        if address % 4 != 0 || address >= ADDRESS_LIMIT || words > (ADDRESS_LIMIT - address) / 4 {
            return Err(RowError::Address { event: slot, address });
        }
        free = slot
            .checked_add(words)
            .filter(|&f| f <= row.end)
            .ok_or(RowError::EndsEarly { end: row.end, event: slot.saturating_add(words) })?;
        while groups.get(next).is_some_and(|g| g.event < slot) {
            next += 1;
        }
        if let Some(group) = groups.get(next).filter(|g| g.event <= slot + 1) {
            return Err(RowError::ControlAtSendStart { event: group.event, slot });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::row::Control;
    use super::super::rows::{PlacedMessage, build_rows};
    use super::super::topology::PhysicalTile;
    use super::*;
    use crate::memory::TileId;

    #[test]
    fn recorded_words() {
        let group = Group { event: 0, pointer: Some(0x15000), source: Some(0x640) };
        let pair = Op::Pair { group, address: 0x14021, control: 1 };
        let pointer = Group { event: 0, pointer: Some(0x18000), source: None };
        for (op, n, word) in [
            (Op::Delay, 31, 0x40A0001E),
            (Op::Source { value: 0x640 }, 4096, 0x67FFC640),
            (Op::Pointer { value: 0 }, 128, 0x63F80000),
            (Op::Send { address: 0x19400, control: 1 }, 64, 0x7FECA001),
            (Op::Continue { control: 1 }, 4084, 0x766FC001),
            (Op::ContinueControl { group: pointer, control: 1 }, 46, 0x75B98000),
            (pair, 43, 0xF54A0109),
        ] {
            assert_eq!(op.word(n), word, "{op:?}");
        }
        let mut writer = Writer { words: Vec::new(), cycle: 0, splittable: None };
        writer.push(pair, 43);
        assert_eq!(writer.words, [0xF54A0109, 0x19015000]);
    }

    #[test]
    fn the_worked_phase() {
        let message = |source, slot, address, words, to: &[(u16, u32)]| PlacedMessage {
            source: TileId(source),
            slot,
            address,
            words,
            destinations: to.iter().map(|&(t, a)| (TileId(t), a)).collect(),
        };
        let rows = build_rows(&[
            message(0, 31, 0x65000, 100, &[(2, 0x60000)]),
            message(4, 127, 0x65000, 60, &[(2, 0x60190)]),
            message(2, 33, 0x68000, 150, &[(6, 0x60000), (7, 0x60000)]),
            message(0, 191, 0x66000, 40, &[(2, 0x61000)]),
        ])
        .expect("legal");
        let expected: [(u16, u32, &[u32]); 5] = [
            (0, 231, &[0x40A0001E, 0x7FECA001, 0x74600001, 0x40A0003B, 0x7CECC001, 0x43A00000]),
            (
                2,
                260,
                &[
                    0x64000000, 0x40A0001F, 0x7A8D0003, 0x75B98000, 0x77700080, 0x72D00000, 0x64044640, 0x60698400,
                    0x40A0002C, 0x43A00000,
                ],
            ),
            (4, 187, &[0x40A0007E, 0x7F6CA001, 0x43A00000]),
            (6, 214, &[0x64000040, 0x61C98000, 0x6416C640, 0x40A0003E, 0x43A00000]),
            (7, 215, &[0x64004040, 0x61C98000, 0x6416C640, 0x40A0003E, 0x43A00000]),
        ];
        assert_eq!(rows.len(), expected.len());
        for ((tile, row), (id, end, words)) in rows.iter().zip(expected) {
            assert_eq!((tile.0, row.end), (id, end));
            assert_eq!(encode_row(row).expect("encodes"), words, "tile {tile}");
        }
    }

    fn source(event: u32, p: u16) -> Control {
        Control { event, kind: Kind::Source(PhysicalTile(p)) }
    }
    fn pointer(event: u32, address: u32) -> Control {
        Control { event, kind: Kind::Pointer(address) }
    }
    fn send(slot: u32, words: u32) -> Send {
        Send { slot, address: 0x60000, words, control: 1 }
    }
    fn row(sends: &[Send], controls: &[Control], end: u32) -> TileRow {
        TileRow { sends: sends.to_vec(), controls: controls.to_vec(), end }
    }

    #[test]
    fn the_receiver_row_of_the_sdk() {
        // Its last pair takes the neutral; the row goes on after what is recorded.
        let mut controls = vec![source(1, 130)];
        for (event, s, p) in [(53, 192, 0x14048), (105, 194, 0x15000), (157, 256, 0x16000)] {
            controls.extend([source(event, s), pointer(event, p * 4)]);
        }
        controls.extend([Control { event: 209, kind: Kind::Neutral }, pointer(209, 0x17000 * 4)]);
        let words = encode_row(&row(&[], &controls, 266)).expect("encodes");
        assert_eq!(
            words[..10],
            [
                0x64000082, 0x40A00032, 0xF6600000, 0x03014048, 0xF6600000, 0x03095000, 0xF6600000, 0x04016000,
                0xF7200000, 0x19017000
            ]
        );
    }

    #[test]
    fn what_cannot_be_encoded() {
        let p = |event| pointer(event, 0x60000);
        for (row, error) in [
            (row(&[send(5, 9), send(13, 2)], &[], 20), RowError::SendOverlap { slot: 13, free: 14 }),
            (row(&[send(5, 0)], &[], 20), RowError::EmptySend { slot: 5 }),
            (row(&[Send { control: 5, ..send(5, 1) }], &[], 20), RowError::SendControl { slot: 5, control: 5 }),
            (
                row(&[Send { address: 0x60002, ..send(5, 1) }], &[], 20),
                RowError::Address { event: 5, address: 0x60002 },
            ),
            (row(&[], &[pointer(7, ADDRESS_LIMIT)], 20), RowError::Address { event: 7, address: ADDRESS_LIMIT }),
            (row(&[], &[source(7, 1472)], 20), RowError::NoSuchSource { event: 7, source_tile: 1472 }),
            (row(&[], &[p(0)], 20), RowError::ControlAtZero),
            (row(&[], &[p(7), p(6)], 20), RowError::ControlOrder { event: 6, before: 7 }),
            (row(&[], &[p(7), p(7)], 20), RowError::ControlClash { event: 7 }),
            (row(&[], &[source(7, 1), source(7, 2)], 20), RowError::ControlClash { event: 7 }),
            (row(&[send(7, 9)], &[p(7)], 20), RowError::ControlAtSendStart { event: 7, slot: 7 }),
            (row(&[send(7, 9)], &[p(8)], 20), RowError::ControlAtSendStart { event: 8, slot: 7 }),
            (row(&[send(0, 9)], &[p(1)], 20), RowError::ControlAtSendStart { event: 1, slot: 0 }),
            (row(&[send(1, 9), send(10, 9)], &[p(10)], 20), RowError::ControlAtSendStart { event: 10, slot: 10 }),
            (row(&[send(1, 9)], &[], 9), RowError::EndsEarly { end: 9, event: 10 }),
            (row(&[], &[p(10)], 9), RowError::EndsEarly { end: 9, event: 10 }),
            (row(&[], &[p(1), p(2), source(2, 9)], 9), RowError::PairParity { event: 2 }),
        ] {
            assert_eq!(encode_row(&row), Err(error), "{row:?}");
        }
    }

    #[test]
    fn long_and_empty_rows() {
        assert_eq!(encode_row(&TileRow::default()), Ok(vec![0x43A00000]));
        let long = row(&[send(0x10_0003, 64 + 2 * 4096 + 1)], &[], 0x11_0000);
        let words = encode_row(&long).expect("encodes");
        assert_eq!(words[..3], [0x40A7FFFF, 0x40A7FFFF, 0x40A00002]);
        assert_eq!(words.len(), 3 + 4 + 1 + 1);
        assert_eq!(row_words(&long), Ok(9));
    }
}
