//! Row words to what they do: which slots send what, which controls take effect when.
//!
//! In: the words of one row, from its first word to the return (`exchange.md` 2.1; event numbers as in 3.1). Out: send
//! pieces, controls and the number of events. Nothing is assumed about how the row was made.
//!
//! Properties:
//! 1. Every word is an instruction that may stand in a row, or the second word of a `sendpicp`; the return is last.
//! 2. Pieces are disjoint and in slot order; controls are in event order.
//! 3. A piece that continues a stream has the address at which the stream stands.
//!
//! All forms are decoded, 64-bit items and format controls too; whether they are wanted is for the reader to say.

use std::sync::LazyLock;

use crate::isa::{self, Context, FormId, form_by_name, print};

/// Width of the items of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 32-bit words.
    Ordinary,
    /// 64-bit items, over the lanes of a pair of tiles.
    Paired,
}

impl Width {
    /// Bytes of one item.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Ordinary => 4,
            Self::Paired => 8,
        }
    }
}

/// Consecutive slots of one instruction that drive the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First slot.
    pub slot: u32,
    /// Items, one a slot.
    pub items: u32,
    /// Byte address of the first item, before `OUTGOING_BASE` is added.
    pub address: u32,
    /// Halves of the bus that are driven: bit 0 direction 1, bit 1 direction 2; not 0.
    pub directions: u8,
    /// Item width.
    pub width: Width,
    /// Index of the instruction's first word.
    pub word: u32,
    /// The piece names its address (`send`, `sendpicp`); otherwise it continues the stream.
    pub addressed: bool,
}

/// What a control sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Setting {
    /// PIC, selector 0: receive pointer in words, before `INCOMING_BASE` is added.
    Pointer(u32),
    /// PIC, selector 1: incoming format; 0 is 32-bit items.
    Format(u32),
    /// XPIC, selector 0: ordinary source.
    Source(u32),
    /// XPIC, selector 1: source of a paired path.
    PairedSource(u32),
}

/// A control of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlAt {
    /// When it takes effect.
    pub event: u32,
    /// What it sets.
    pub setting: Setting,
    /// Index of the instruction's first word; the two controls of a `sendpicp` share it.
    pub word: u32,
}

/// Slots in which consecutive words leave consecutive addresses with one control: pieces put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First slot.
    pub slot: u32,
    /// Items.
    pub items: u32,
    /// Byte address of the first item, before `OUTGOING_BASE` is added.
    pub address: u32,
    /// Halves of the bus that are driven.
    pub directions: u8,
    /// Item width.
    pub width: Width,
}

impl Run {
    /// One past the last slot.
    pub fn end(&self) -> u32 {
        self.slot + self.items
    }
}

/// One row, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecodedRow {
    /// Slots that drive the bus.
    pub pieces: Vec<Piece>,
    /// Controls.
    pub controls: Vec<ControlAt>,
    /// Word indices of the two-word instructions, which must be fetched from multiples of 8.
    pub double_words: Vec<u32>,
    /// Events of the whole row: the event at which it returns.
    pub events: u32,
}

impl DecodedRow {
    /// Pieces put together where slot, address, directions and width continue.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::with_capacity(self.pieces.len());
        for p in &self.pieces {
            match runs.last_mut() {
                Some(run)
                    if run.end() == p.slot
                        && run.address + run.items * run.width.bytes() == p.address
                        && (run.directions, run.width) == (p.directions, p.width) =>
                {
                    run.items += p.items;
                }
                _ => runs.push(Run {
                    slot: p.slot,
                    items: p.items,
                    address: p.address,
                    directions: p.directions,
                    width: p.width,
                }),
            }
        }
        runs
    }
}

/// Why words are no row. `index` counts words from the row's first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowDecodeError {
    /// No instruction has this word.
    #[error("word {index} ({word:#010x}) is no supervisor instruction")]
    Undefined {
        /// Word index.
        index: u32,
        /// The word.
        word: u32,
    },
    /// An instruction that may not stand in a row.
    #[error("word {index}: `{text}` may not stand in an exchange row")]
    NotInRow {
        /// Word index.
        index: u32,
        /// The instruction.
        text: String,
    },
    /// The words end before the return.
    #[error("the row has no return after its {words} words")]
    NoReturn {
        /// Number of words.
        words: u32,
    },
    /// Words after the return.
    #[error("the row returns at word {index}, but has {words} words")]
    AfterReturn {
        /// Word index of the return.
        index: u32,
        /// Number of words.
        words: u32,
    },
    /// A continuation when no stream was started.
    #[error("word {index} continues a stream, but none was started")]
    NoStream {
        /// Word index.
        index: u32,
    },
    /// A continuation that moves the source address by a delta; what it does is not known (`exchange.md` 6.1).
    #[error("word {index} moves the source address by {delta}, which is not supported")]
    Delta {
        /// Word index.
        index: u32,
        /// The delta field.
        delta: u32,
    },
    /// More events than 32 bits count.
    #[error("word {index}: the row has more than 2^32 events")]
    TooLong {
        /// Word index.
        index: u32,
    },
}

struct Forms {
    delay: FormId,
    delaypic: FormId,
    delayxpic: FormId,
    send: FormId,
    sendoff: FormId,
    sendpic: FormId,
    sendpicp: FormId,
    branch: FormId,
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let get = |name| form_by_name(name).expect("invariant: exchange forms are in the table").id;
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

/// The outgoing stream: its control, and where its next item lies when it drives anything.
#[derive(Clone, Copy)]
struct Stream {
    control: u8,
    next: Option<u32>,
}

/// What the words of a row do.
pub fn decode_row(words: &[u32]) -> Result<DecodedRow, RowDecodeError> {
    let f = &*FORMS;
    // Rows are about half sends and half controls.
    let mut row = DecodedRow {
        pieces: Vec::with_capacity(words.len() / 2),
        controls: Vec::with_capacity(words.len() * 3 / 4),
        ..DecodedRow::default()
    };
    let mut stream: Option<Stream> = None;
    let mut at = 0;
    while let Some(&word) = words.get(at) {
        let index = at as u32;
        let Some(instruction) = isa::decode(word, Context::Supervisor) else {
            return Err(RowDecodeError::Undefined { index, word });
        };
        let op = instruction.operands.map(|v| v as u32);
        let form = instruction.form;
        if form == f.branch && op[0] == 10 && !instruction.bundled {
            return if at + 1 == words.len() {
                Ok(row)
            } else {
                Err(RowDecodeError::AfterReturn { index, words: words.len() as u32 })
            };
        }
        let exchange = [f.delay, f.delaypic, f.delayxpic, f.send, f.sendoff, f.sendpic, f.sendpicp];
        if !exchange.contains(&form) {
            return Err(RowDecodeError::NotInRow { index, text: print(&instruction) });
        }
        let n = op[0] + 1;
        let cycle = row.events;
        row.events = cycle.checked_add(n).ok_or(RowDecodeError::TooLong { index })?;
        let mut control = |event, setting| row.controls.push(ControlAt { event, setting, word: index });
        // The stream that this instruction starts or continues, and whether it names its address.
        let mut sending: Option<(Stream, bool)> = None;
        if form == f.delaypic {
            control(cycle + n, pic(op[1], op[2]));
        } else if form == f.delayxpic {
            control(cycle + n, xpic(op[1], op[2]));
        } else if form == f.send {
            sending = Some((start(op[1], op[2]), true));
        } else if form == f.sendoff {
            if op[1] != 0 {
                return Err(RowDecodeError::Delta { index, delta: op[1] });
            }
            let going = stream.ok_or(RowDecodeError::NoStream { index })?;
            sending = Some((Stream { control: op[2] as u8, ..going }, false));
        } else if form == f.sendpic {
            sending = Some((stream.ok_or(RowDecodeError::NoStream { index })?, false));
            // Values are kept as wide as the field, so that a source above 13 bits shows.
            let setting = if op[1] < 2 { xpic(op[1], op[2]) } else { pic(op[1] & 1, op[2]) };
            control(cycle + 1, setting);
        } else if form == f.sendpicp {
            at += 1;
            let payload = *words.get(at).ok_or(RowDecodeError::NoReturn { words: words.len() as u32 })?;
            control(cycle + 1, pic(op[3], payload & 0x3_ffff));
            control(cycle + 1, xpic(payload >> 31, (payload >> 18) & 0x1fff));
            row.double_words.push(index);
            sending = Some((start(op[1], op[2]), true));
        }
        if let Some((mut now, addressed)) = sending {
            let directions = now.control & 3;
            if directions == 0 {
                // What the read cursor does in a directionless piece is not recorded, so nothing may continue it.
                now.next = None;
            } else {
                let address = now.next.ok_or(RowDecodeError::NoStream { index })?;
                let width = width(now.control);
                row.pieces.push(Piece { slot: cycle, items: n, address, directions, width, word: index, addressed });
                now.next = Some(address + n * width.bytes());
            }
            stream = Some(now);
        }
        at += 1;
    }
    Err(RowDecodeError::NoReturn { words: words.len() as u32 })
}

fn width(control: u8) -> Width {
    if control & 4 == 0 { Width::Ordinary } else { Width::Paired }
}

fn start(address: u32, control: u32) -> Stream {
    let control = control as u8;
    Stream { control, next: (control & 3 != 0).then(|| address * width(control).bytes()) }
}

fn pic(selector: u32, value: u32) -> Setting {
    if selector == 0 { Setting::Pointer(value) } else { Setting::Format(value) }
}

fn xpic(selector: u32, value: u32) -> Setting {
    if selector == 0 { Setting::Source(value) } else { Setting::PairedSource(value) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::encode::encode_row;
    use super::super::row::{Control, Kind, RowError, Send, TileRow};
    use super::super::topology::PhysicalTile;
    use super::*;

    fn control(event: u32, setting: Setting, word: u32) -> ControlAt {
        ControlAt { event, setting, word }
    }

    /// `exchange.md` 4.3: the receiver row of four 52-word messages, with the return put after it.
    #[test]
    fn the_receiver_row_of_the_sdk() {
        let row = decode_row(&[
            0x64000082, 0x40A00032, 0xF6600000, 0x03014048, 0xF6600000, 0x03095000, 0xF6600000, 0x04016000, 0xF7200000,
            0x19017000, 0x43A00000,
        ])
        .expect("decodes");
        let mut expected = vec![control(1, Setting::Source(130), 0)];
        for (event, p, s, word) in
            [(53, 0x14048, 192, 2), (105, 0x15000, 194, 4), (157, 0x16000, 256, 6), (209, 0x17000, 0x640, 8)]
        {
            expected.extend([control(event, Setting::Pointer(p), word), control(event, Setting::Source(s), word)]);
        }
        assert_eq!(row.controls, expected);
        assert_eq!(row.double_words, [2, 4, 6, 8]);
        assert_eq!(row.pieces, []);
        assert_eq!(row.events, 208 + 58);
    }

    #[test]
    fn a_restart_names_the_address_of_its_own_first_item() {
        // `exchange.md` 2.1: 33 words from 0x14000, then 43 from 0x14021.
        let send = 0x78000000 | 32 << 21 | 0x14000 << 3 | 1;
        let row = decode_row(&[0x40A00000, send, 0xF54A0109, 0x19015000, 0x43A00000]).expect("decodes");
        assert_eq!(row.runs(), [Run { slot: 1, items: 76, address: 0x50000, directions: 1, width: Width::Ordinary }]);
        assert_eq!(row.controls, [control(35, Setting::Pointer(0x15000), 2), control(35, Setting::Source(0x640), 2)]);
    }

    #[test]
    fn paired_forms() {
        // Format 2, paired source, 64 items from item address 0xA000 with control 5, one more, one with a paired source.
        let send = 0x78000000 | 63 << 21 | 0xA000 << 3 | 5;
        let format = 0x60000000 | 1 << 18 | 2;
        let source = 0x64000000 | 1 << 13 | 0x4d;
        let row = decode_row(&[format, source, send, 0x70000005, 0x70140000, 0x43A00000]).expect("decodes");
        assert_eq!(
            row.controls,
            [
                control(1, Setting::Format(2), 0),
                control(2, Setting::PairedSource(0x4d), 1),
                control(68, Setting::PairedSource(0), 4),
            ]
        );
        assert_eq!(row.runs(), [Run { slot: 2, items: 66, address: 0x50000, directions: 1, width: Width::Paired }]);
    }

    #[test]
    fn what_is_no_row() {
        let (delay, ret, branch_m9, nop, sync) = (0x40A00000, 0x43A00000, 0x43900000, 0x19E00000, 0x41800003);
        for (words, error) in [
            (&[][..], RowDecodeError::NoReturn { words: 0 }),
            (&[delay], RowDecodeError::NoReturn { words: 1 }),
            (&[0xF6600000], RowDecodeError::NoReturn { words: 1 }),
            (&[ret, delay], RowDecodeError::AfterReturn { index: 0, words: 2 }),
            (&[sync, ret], RowDecodeError::NotInRow { index: 0, text: "sync 3".into() }),
            (&[branch_m9], RowDecodeError::NotInRow { index: 0, text: "br $m9".into() }),
            (&[nop, ret], RowDecodeError::NotInRow { index: 0, text: "nop".into() }),
            (&[0x0fff_ffff, ret], RowDecodeError::Undefined { index: 0, word: 0x0fff_ffff }),
            (&[delay, 0x70000001, ret], RowDecodeError::NoStream { index: 1 }),
            (&[0xF0000000, 0x19000000, 0x70000001, ret], RowDecodeError::NoStream { index: 2 }),
            (&[0x78000001, 0x70000009, ret], RowDecodeError::Delta { index: 1, delta: 1 }),
        ] {
            assert_eq!(decode_row(words), Err(error), "{words:x?}");
        }
        assert_eq!(decode_row(&vec![0x40A7FFFF; 8192]), Err(RowDecodeError::TooLong { index: 8191 }));
    }

    /// A row from gaps and lengths: sends one after the other, and controls wherever the rules allow them.
    fn rows() -> impl Strategy<Value = TileRow> {
        let gap = prop_oneof![4 => 0u32..4, 2 => 4u32..90, 1 => 90u32..9000];
        let length = prop_oneof![3 => 1u32..5, 3 => 5u32..70, 1 => 70u32..9000];
        let sends = prop::collection::vec((gap.clone(), length, 0u32..0x2_0000, 1u8..4), 0..12);
        let controls = prop::collection::vec((gap, 0u8..4, 0u32..0x4_0000, 0u16..1472), 0..40);
        (sends, controls, 0u32..300).prop_map(|(sends, controls, tail)| {
            let mut row = TileRow::default();
            let mut slot = 0;
            for (gap, words, address, control) in sends {
                slot += gap;
                row.sends.push(Send { slot, address: address * 4, words, control });
                slot += words;
            }
            let mut event = 0;
            for (gap, which, pointer, source) in controls {
                event += gap + 1;
                while row.sends.iter().any(|s| event == s.slot || event == s.slot + 1) {
                    event += 1;
                }
                let source = if which == 3 { Kind::Neutral } else { Kind::Source(PhysicalTile(source)) };
                if which != 1 {
                    row.controls.push(Control { event, kind: source });
                }
                if which != 0 {
                    row.controls.push(Control { event, kind: Kind::Pointer(pointer * 4) });
                }
            }
            row.end = slot.max(event) + tail;
            row
        })
    }

    proptest! {
        #[test]
        fn decoding_gives_back_what_was_encoded(row in rows()) {
            let words = match encode_row(&row) {
                Ok(words) => words,
                Err(RowError::PairParity { .. }) => return Ok(()),
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            let decoded = decode_row(&words).expect("decodes");
            prop_assert_eq!(decoded.events, row.end);
            prop_assert!(decoded.double_words.iter().all(|w| w % 2 == 0));
            let controls: Vec<(u32, Setting)> = decoded.controls.iter().map(|c| (c.event, c.setting)).collect();
            let mut expected: Vec<(u32, bool, Setting)> = row
                .controls
                .iter()
                .map(|c| match c.kind {
                    Kind::Pointer(address) => (c.event, false, Setting::Pointer(address / 4)),
                    Kind::Source(tile) => (c.event, true, Setting::Source(tile.0.into())),
                    Kind::Neutral => (c.event, true, Setting::Source(0x640)),
                })
                .collect();
            expected.sort_by_key(|&(event, second, _)| (event, second));
            let expected: Vec<(u32, Setting)> = expected.into_iter().map(|(e, _, s)| (e, s)).collect();
            prop_assert_eq!(controls, expected);
            // Sends that continue each other exactly decode as one run.
            let words_of = |slot: u32, address: u32, n: u32, directions: u8| {
                (0..n).map(move |k| (slot + k, address + 4 * k, directions))
            };
            let sent: Vec<_> =
                decoded.pieces.iter().flat_map(|p| words_of(p.slot, p.address, p.items, p.directions)).collect();
            let asked: Vec<_> =
                row.sends.iter().flat_map(|s| words_of(s.slot, s.address, s.words, s.control)).collect();
            prop_assert_eq!(sent, asked);
        }
    }
}
