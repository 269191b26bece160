use super::super::decode::{Setting, decode_row};
use super::super::encode::encode_row;
use super::super::rows::{PlacedMessage, build_rows, earliest_slot};
use super::*;

/// A phase whose words can be changed.
#[derive(Clone)]
struct Phase {
    rows: Vec<(TileId, Vec<u32>)>,
    messages: Vec<PlacedMessage>,
    row_address: u32,
    registers: EntryRegisters,
}

impl Phase {
    fn new(messages: Vec<PlacedMessage>) -> Self {
        let rows = build_rows(&messages)
            .expect("legal")
            .into_iter()
            .map(|(tile, row)| (tile, encode_row(&row).expect("encodes")))
            .collect();
        Self { rows, messages, row_address: 0x5c000, registers: EntryRegisters::default() }
    }

    fn validate(&self) -> Validation {
        let tiles: Vec<TileInput> = self
            .rows
            .iter()
            .map(|(tile, words)| TileInput {
                tile: *tile,
                row_address: self.row_address,
                words,
                registers: self.registers,
            })
            .collect();
        let expected: Vec<Expected> = self
            .messages
            .iter()
            .map(|m| Expected {
                source: m.source,
                source_address: m.address,
                words: m.words,
                destinations: &m.destinations,
            })
            .collect();
        validate(&PhaseInput::new(&tiles, &expected))
    }

    fn kinds(&self) -> Vec<ViolationKind> {
        let mut kinds: Vec<ViolationKind> = self.validate().violations.into_iter().map(|v| v.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    fn row(&mut self, tile: u16) -> &mut Vec<u32> {
        &mut self.rows.iter_mut().find(|(t, _)| t.0 == tile).expect("has a row").1
    }
}

fn message(source: u16, slot: u32, address: u32, words: u32, to: &[(u16, u32)]) -> PlacedMessage {
    let destinations = to.iter().map(|&(t, a)| (TileId(t), a)).collect();
    PlacedMessage { source: TileId(source), slot, address, words, destinations }
}

/// The phase of `exchange.md` 4.3, as the recorded words.
fn worked() -> Phase {
    let rows: [(u16, &[u32]); 5] = [
        (0, &[0x40A0001E, 0x7FECA001, 0x74600001, 0x40A0003B, 0x7CECC001, 0x43A00000]),
        (
            2,
            &[
                0x64000000, 0x40A0001F, 0x7A8D0003, 0x75B98000, 0x77700080, 0x72D00000, 0x64044640, 0x60698400,
                0x40A0002C, 0x43A00000,
            ],
        ),
        (4, &[0x40A0007E, 0x7F6CA001, 0x43A00000]),
        (6, &[0x64000040, 0x61C98000, 0x6416C640, 0x40A0003E, 0x43A00000]),
        (7, &[0x64004040, 0x61C98000, 0x6416C640, 0x40A0003E, 0x43A00000]),
    ];
    Phase {
        rows: rows.iter().map(|(t, words)| (TileId(*t), words.to_vec())).collect(),
        messages: vec![
            message(0, 0, 0x65000, 100, &[(2, 0x60000)]),
            message(4, 0, 0x65000, 60, &[(2, 0x60190)]),
            message(2, 0, 0x68000, 150, &[(6, 0x60000), (7, 0x60000)]),
            message(0, 0, 0x66000, 40, &[(2, 0x61000)]),
        ],
        row_address: 0x5c000,
        registers: EntryRegisters::default(),
    }
}

#[test]
fn the_worked_phase_delivers() {
    let phase = worked();
    let v = phase.validate();
    assert_eq!(v.violations, []);
    assert_eq!((v.horizon, v.longest_row), (260, 10));
    assert_eq!(
        v.ends.iter().map(|&(t, end)| (t.0, end)).collect::<Vec<_>>(),
        [(0, 231), (2, 260), (4, 187), (6, 214), (7, 215)]
    );
    assert_eq!((v.words_sent, v.words_received), (350, 500));

    // When each word arrives: A, B and D at tile 2, C at tiles 6 and 7.
    let inputs: Vec<TileInput> = phase
        .rows
        .iter()
        .map(|(tile, words)| TileInput { tile: *tile, row_address: 0x5c000, words, registers: phase.registers })
        .collect();
    let input = PhaseInput::new(&inputs, &[]);
    let tiles: Vec<Tile> = inputs.iter().map(|i| Tile::new(i, &input)).collect();
    let mut buses = vec![None; TILES as usize];
    for tile in &tiles {
        buses[usize::from(tile.id.0)] = Some(&tile.bus);
    }
    let arrivals: Vec<(u16, i64, u32, u32)> = tiles
        .iter()
        .flat_map(|t| {
            let received = t.receive(&buses, &input).arrivals;
            received.into_iter().map(|a| (t.input.tile.0, a.event, a.words, a.address))
        })
        .collect();
    assert_eq!(
        arrivals,
        [
            (2, 55, 100, 0x60000),
            (2, 155, 60, 0x60190),
            (2, 215, 40, 0x61000),
            (6, 59, 150, 0x60000),
            (7, 60, 150, 0x60000)
        ]
    );
}

/// Small deterministic generator (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(n)) as u32
    }
}

/// A legal phase of random messages, some multicast: each message goes behind what its tiles already do, with the
/// controls out of the way of send starts. Sources lie in region 0, destinations in region 1.
fn random_phase(seed: u64, tiles: u32, count: usize, longest: u32) -> Vec<PlacedMessage> {
    #[derive(Clone, Default)]
    struct Port {
        send: u32,
        mux: i64,
        controls: std::collections::HashSet<i64>,
        starts: std::collections::HashSet<i64>,
        address: u32,
        sent: u32,
    }
    let random = &mut Random(seed);
    let mut ports = vec![Port::default(); tiles as usize];
    let mut messages = Vec::new();
    while messages.len() < count {
        let source = random.below(tiles) as u16;
        let fan_out = if random.below(4) == 0 { 1 + random.below(5) } else { 1 };
        let mut receivers: Vec<u16> = (0..fan_out).map(|_| random.below(tiles) as u16).collect();
        receivers.sort_unstable();
        receivers.dedup();
        receivers.retain(|&d| d != source);
        if receivers.is_empty() {
            continue;
        }
        let words = 1 + random.below(longest);
        let taus: Vec<(usize, i64, i64)> = receivers
            .iter()
            .map(|&d| {
                let to = physical(TileId(d));
                let tau = i64::from(route_time(physical(TileId(source)), to));
                (usize::from(d), tau, i64::from(mux_to_memory(to)))
            })
            .collect();
        let mut slot = i64::from(earliest_slot(TileId(source), receivers.iter().map(|&d| TileId(d))))
            .max(ports[usize::from(source)].send.into());
        for &(d, tau, _) in &taus {
            slot = slot.max(ports[d].mux - 1 - tau);
        }
        let legal = |slot: i64| {
            let own = &ports[usize::from(source)].controls;
            !own.contains(&slot)
                && !own.contains(&(slot + 1))
                && taus.iter().all(|&(d, tau, to_memory)| {
                    let mux = slot + tau + 1;
                    [mux, mux + i64::from(words), mux + to_memory].iter().all(|e| !ports[d].starts.contains(e))
                })
        };
        while !legal(slot) {
            slot += 1;
        }
        let mut destinations = Vec::new();
        for &(d, tau, to_memory) in &taus {
            let mux = slot + tau + 1;
            let port = &mut ports[d];
            port.controls.extend([mux, mux + i64::from(words), mux + to_memory]);
            port.mux = mux + i64::from(words);
            port.address += if random.below(2) == 0 { 0 } else { 8 };
            destinations.push((TileId(d as u16), 0x88000 + port.address));
            port.address += 4 * words;
        }
        let port = &mut ports[usize::from(source)];
        port.starts.extend([slot, slot + 1]);
        port.send = slot as u32 + words;
        port.sent += 4 * random.below(2);
        let address = 0x60000 + port.sent;
        port.sent += 4 * words;
        assert!(port.sent < 0x20000);
        messages.push(PlacedMessage { source: TileId(source), slot: slot as u32, address, words, destinations });
    }
    messages
}

#[test]
fn random_phases_are_encoded_and_delivered() {
    for seed in 0..20 {
        let (tiles, longest) = [(8, 150), (64, 40), (300, 12), (1472, 300)][seed as usize % 4];
        let messages = random_phase(seed, tiles, 600, longest);
        let sent: u64 = messages.iter().map(|m| u64::from(m.words)).sum();
        let received: u64 = messages.iter().map(|m| u64::from(m.words) * m.destinations.len() as u64).sum();
        let rows = build_rows(&messages).expect("legal");
        let v = Phase::new(messages).validate();
        assert_eq!(v.violations, [], "seed {seed}");
        assert_eq!((v.words_sent, v.words_received), (sent, received));
        assert_eq!(Some(v.horizon), rows.iter().map(|(_, row)| row.end).max());
    }
}

/// Bits of a row word whose effect is used: none of plain delays, of the return and of a second word with no effect.
fn live_words(words: &[u32]) -> Vec<(usize, u32)> {
    let row = decode_row(words).expect("decodes");
    let mut live = Vec::new();
    for piece in row.pieces {
        live.push((piece.word as usize, u32::MAX));
    }
    for c in row.controls {
        let (word, double) = (c.word as usize, row.double_words.contains(&c.word));
        if double {
            // The address of a directionless piece, and its width, mean nothing.
            let silent = words[word] & 3 == 0;
            live.push((word, if silent { !(0x3_ffff << 3 | 4) } else { u32::MAX }));
            live.push((word + 1, u32::MAX));
        } else {
            live.push((word, u32::MAX));
        }
    }
    live.sort_unstable();
    live.dedup();
    live
}

#[test]
fn every_changed_bit_of_the_worked_phase_is_caught() {
    let good = worked();
    let mut changed = 0;
    for i in 0..good.rows.len() {
        for (word, bits) in live_words(&good.rows[i].1) {
            for bit in (0..32).filter(|bit| bits >> bit & 1 == 1) {
                let mut bad = good.clone();
                bad.rows[i].1[word] ^= 1 << bit;
                assert_ne!(bad.validate().violations, [], "tile {} word {word} bit {bit}", good.rows[i].0);
                changed += 1;
            }
        }
    }
    assert!(changed > 400, "{changed} bits");
}

#[test]
fn changed_words_of_random_phases_are_caught() {
    let good = Phase::new(random_phase(77, 48, 500, 90));
    assert_eq!(good.validate().violations, []);
    let random = &mut Random(4);
    let mut kinds = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let i = random.below(good.rows.len() as u32) as usize;
        let live = live_words(&good.rows[i].1);
        let (word, bits) = live[random.below(live.len() as u32) as usize];
        let old = good.rows[i].1[word];
        // One bit, two bits, or the low field (value or control) replaced.
        let new = match random.below(3) {
            0 => old ^ 1 << random.below(32),
            1 => old ^ 1 << random.below(32) ^ 1 << random.below(32),
            _ => (old & !0x1fff) | random.below(0x2000),
        };
        let new = (old & !bits) | (new & bits);
        if new == old {
            continue;
        }
        let mut bad = good.clone();
        bad.rows[i].1[word] = new;
        let found = bad.kinds();
        assert_ne!(found, [], "tile {} word {word}: {old:08x} -> {new:08x}", good.rows[i].0);
        kinds.extend(found);
    }
    for kind in [
        ViolationKind::SilentSource,
        ViolationKind::MuxAtEnd,
        ViolationKind::WrongWord,
        ViolationKind::MissingWord,
        ViolationKind::UnexpectedWrite,
        ViolationKind::UnconsumedWord,
        ViolationKind::SendControl,
        ViolationKind::PairedUnsupported,
        ViolationKind::UnknownSource,
    ] {
        assert!(kinds.contains(&kind), "{kind:?} was never found");
    }
}

#[test]
fn a_violation_of_each_kind_is_found_by_name() {
    use ViolationKind as K;
    type Change = fn(&mut Phase);
    let cases: &[(&str, Change, &[K])] = &[
        ("no return", |p| p.row(0).truncate(5), &[K::Undecodable, K::MissingWord]),
        ("odd row", |p| p.row_address += 4, &[K::RowPlace]),
        ("row in interleaved memory", |p| p.row_address = 0x80000, &[K::RowPlace]),
        ("row beside its data", |p| p.row_address = 0x64000 - 0x40, &[K::RowElement]),
        ("mux at entry", |p| p.registers.incoming_mux = 0x600, &[K::UnknownSource]),
        ("selected at entry", |p| p.registers.incoming_mux = 0, &[K::SilentSource]),
        ("incoming base", |p| p.registers.incoming_base = 8, &[K::UnexpectedWrite]),
        ("outgoing base", |p| p.registers.outgoing_base = 8, &[K::WrongWord]),
        ("outside memory", |p| p.registers.outgoing_base = 0xe0000, &[K::OutsideAllowed]),
        ("format", |p| p.row(6)[0] = 0x60000000 | 1 << 18 | 1, &[K::PairedUnsupported]),
        ("paired source", |p| p.row(6)[0] |= 1 << 13, &[K::PairedUnsupported]),
        ("paired send", |p| p.row(4)[1] |= 4, &[K::PairedUnsupported]),
        ("no pointer", |p| p.row(6)[1] = 0x40A00039, &[K::UndefinedPointer]),
        (
            "pointer early",
            |p| {
                p.row(6)[1] -= 1 << 19;
                p.row(6)[2] += 1 << 14;
            },
            &[K::PointerEvent],
        ),
        ("both directions to one receiver", |p| p.row(4)[1] |= 2, &[K::SendControl]),
        ("one direction to two receivers", |p| p.row(2)[2] &= !2, &[K::SendControl]),
        ("the wrong direction", |p| p.row(4)[1] ^= 3, &[K::SilentSource, K::UnconsumedWord]),
        ("pair of format and source", |p| *p.row(6) = vec![0xF8000000, 0x19000000, 0x43A00000], &[K::ControlClash]),
        ("written twice", |p| p.row(2)[7] = 0x60698000, &[K::DoubleWrite, K::MissingWord]),
        ("row ends early", |p| p.row(7)[3] -= 1, &[K::RowEnd]),
        ("no neutral", |p| p.row(6)[2] = 0x40A0005B, &[K::MuxAtEnd]),
        ("stream goes on after silence", |p| p.row(0)[4] = 0x74E00001, &[K::BrokenStream]),
        ("asked for twice", |p| p.messages.push(p.messages[0].clone()), &[K::Input]),
        ("no such tile", |p| p.messages[0].destinations[0].0 = TileId(1472), &[K::Input]),
        ("no receiver asked for", |p| p.messages[0].destinations.clear(), &[K::Input]),
        ("row twice", |p| p.rows.push(p.rows[0].clone()), &[K::Input]),
        ("not asked for", |p| p.messages.truncate(3), &[K::UnexpectedWrite]),
        ("never sent", |p| p.messages.push(message(9, 0, 0x60000, 4, &[(11, 0x60000)])), &[K::MissingWord]),
    ];
    for (name, change, kinds) in cases {
        let mut phase = worked();
        change(&mut phase);
        let found = phase.validate().violations;
        for kind in *kinds {
            assert!(found.iter().any(|v| v.kind == *kind), "{name}: {kind:?} is not in {found:#?}");
        }
    }
}

#[test]
fn controls_at_a_send_start() {
    // A source set by a delay that ends at slot S = 33, or one before; by the last slot of the send before, or one
    // before; by a `sendpicp` that starts the send.
    let send = 0x7A8D0003;
    for (words, found) in [
        (&[0x64000000 | 32 << 14 | 0x640, send, 0x43A00000][..], true),
        (&[0x64000000 | 31 << 14 | 0x640, 0x40A00000, send, 0x43A00000], false),
        (&[0x40A00020, 0x780D0003, 0x70100640, 0x43A00000], false),
        (&[0x40A00020, 0x780D0003, 0x70100640, send, 0x43A00000], true),
        (&[0x40A00020, 0x780D0003, 0x70300640, send, 0x43A00000], false),
        (&[0x40A00000, 0x40A0001F, 0xFA8D0003, 0x19018000, 0x43A00000], true),
    ] {
        let mut phase = worked();
        *phase.row(2) = words.to_vec();
        assert_eq!(phase.kinds().contains(&ViolationKind::ControlAtSendStart), found, "{words:x?}");
    }
}

#[test]
fn elements_shared_by_a_send_and_a_receive() {
    // 0 -> 2 written from event 55 to 64; 2 -> 0 sent from the same element of tile 2.
    let phase = |slot| {
        Phase::new(vec![message(0, 31, 0x60000, 10, &[(2, 0x70000)]), message(2, slot, 0x70100, 10, &[(0, 0x78000)])])
    };
    for (slot, conflict) in [(45, false), (46, true), (69, true), (70, false)] {
        let found = phase(slot).kinds();
        assert_eq!(found.contains(&ViolationKind::ElementConflict), conflict, "slot {slot}: {found:?}");
        assert_eq!(found.is_empty(), !conflict);
    }
}

#[test]
fn overwritten_words_may_not_be_sent() {
    let phase = |slot| {
        Phase::new(vec![message(0, 31, 0x60000, 10, &[(2, 0x70000)]), message(2, slot, 0x70010, 4, &[(0, 0x78000)])])
    };
    assert_eq!(phase(45).kinds(), []);
    assert_eq!(phase(80).kinds(), [ViolationKind::StaleRead]);
}

#[test]
fn loopback_needs_a_remote_receiver() {
    let alone = Phase::new(vec![message(2, 100, 0x60000, 10, &[(2, 0x88000)])]);
    assert_eq!(alone.kinds(), [ViolationKind::Loopback]);
    let multicast = Phase::new(vec![message(2, 100, 0x60000, 10, &[(2, 0x88000), (4, 0x88000)])]);
    assert_eq!(multicast.kinds(), []);
}

#[test]
fn listeners_that_join_in_the_middle() {
    // Two messages that are one run at the sender; tile 4 takes both, tiles 2 and 6 one each.
    let phase = Phase::new(vec![
        message(0, 40, 0x60000, 10, &[(2, 0x88000), (4, 0x88000)]),
        message(0, 50, 0x60028, 10, &[(4, 0x88028), (6, 0x88000)]),
    ]);
    assert_eq!(decode_row(&phase.rows[0].1).expect("decodes").runs().len(), 1);
    assert_eq!(phase.kinds(), []);
    let sources = |tile: usize| {
        let row = decode_row(&phase.rows[tile].1).expect("decodes");
        row.controls.iter().filter(|c| matches!(c.setting, Setting::Source(_))).count()
    };
    assert_eq!((sources(1), sources(2), sources(3)), (2, 2, 2));
}

#[test]
fn a_short_send_keeps_its_row_for_six_events() {
    let mut phase = Phase::new(vec![message(736, 0, 0x60000, 1, &[(100, 0x70000)])]);
    assert_eq!(phase.kinds(), []);
    assert_eq!(phase.row(736)[1], 0x40A00004);
    phase.row(736)[1] = 0x40A00003;
    assert_eq!(phase.kinds(), [ViolationKind::RowEnd]);
}
