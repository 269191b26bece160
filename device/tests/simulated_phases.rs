//! Random exchange phases: rows from the encoder, executed by the simulator, which knows nothing of it.

use std::collections::BTreeMap;

use ipuc_device::fabric::encode::encode_row;
use ipuc_device::fabric::row::TileRow;
use ipuc_device::fabric::rows::{PlacedMessage, build_rows};
use ipuc_device::fabric::topology::{physical, route_time};
use ipuc_device::isa::{Instruction, encode};
use ipuc_device::memory::{LOAD_BASE, TileId};
use ipuc_device::sim::{BARRIER_LATENCY, FaultKind, Machine, MachineConfig, RunReport};

const ROW: u32 = 0x5c000;
const FROM: u32 = 0x60000;
const TO: u32 = 0x80000;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// Windows of the ports of some tiles.
type Windows = BTreeMap<u16, Vec<(i64, i64)>>;

/// Windows of one port, kept disjoint.
fn free(windows: &[(i64, i64)], from: i64, words: u32) -> bool {
    windows.iter().all(|w| from + i64::from(words) <= w.0 || w.1 <= from)
}

/// A phase of random multicasts, each at the earliest slot that ports and encoder allow.
fn phase(random: &mut Random, messages: usize) -> Vec<PlacedMessage> {
    let mut tiles: Vec<u16> = Vec::new();
    while tiles.len() < 8 {
        let tile = random.below(1472) as u16;
        if !tiles.contains(&tile) {
            tiles.push(tile);
        }
    }
    let (mut out, mut taken): (Windows, Windows) = Default::default();
    let (mut next_from, mut next_to): (BTreeMap<u16, u32>, BTreeMap<u16, u32>) = Default::default();
    let mut placed: Vec<PlacedMessage> = Vec::new();
    for _ in 0..messages {
        let source = tiles[random.below(8) as usize];
        let words = 1 + random.below(150);
        let mut receivers: Vec<u16> = Vec::new();
        for _ in 0..=random.below(3) {
            let tile = tiles[random.below(8) as usize];
            if tile != source && !receivers.contains(&tile) {
                receivers.push(tile);
            }
        }
        if receivers.is_empty() {
            continue;
        }
        let from = next_from.entry(source).or_insert(FROM);
        // Some receivers continue where the last message ended, others leave a gap.
        let gap = 4 * random.below(2);
        let destinations: Vec<(TileId, u32)> =
            receivers.iter().map(|&r| (TileId(r), *next_to.entry(r).or_insert(TO) + gap)).collect();
        let mut message = PlacedMessage { source: TileId(source), slot: 0, address: *from, words, destinations };
        let passes = |slot: u32, r: u16| {
            i64::from(slot) + 1 + i64::from(route_time(physical(TileId(source)), physical(TileId(r))))
        };
        loop {
            let slot = message.slot;
            let fits = free(out.get(&source).map_or(&[], Vec::as_slice), i64::from(slot), words)
                && receivers.iter().all(|r| {
                    passes(slot, *r) >= 1 && free(taken.get(r).map_or(&[], Vec::as_slice), passes(slot, *r), words)
                });
            if fits {
                placed.push(message.clone());
                if build_rows(&placed).is_ok_and(|rows| rows.iter().all(|(_, row)| encode_row(row).is_ok())) {
                    break;
                }
                placed.pop();
            }
            message.slot += 1;
        }
        *from += 4 * words;
        out.entry(source).or_default().push((i64::from(message.slot), i64::from(message.slot + words)));
        for &r in &receivers {
            let x = passes(message.slot, r);
            taken.entry(r).or_default().push((x, x + i64::from(words)));
            *next_to.get_mut(&r).expect("set above") += gap + 4 * words;
        }
    }
    placed
}

fn data(tile: TileId, address: u32, words: u32) -> Vec<u8> {
    (0..words)
        .flat_map(|i| (u32::from(tile.0) << 20 ^ (address + 4 * i)).wrapping_mul(0x9e37_79b9).to_le_bytes())
        .collect()
}

fn machine(messages: &[PlacedMessage], rows: &[(TileId, TileRow)], threads: usize) -> Machine {
    let config = MachineConfig { threads: Some(threads), cycle_limit: 1_000_000, ..MachineConfig::default() };
    let mut machine = Machine::new(config);
    let code: Vec<u8> = [("sync_mmmn_zi", &[3][..]), ("call_mmmn_zi", &[10, ROW as i32 / 4]), ("bri_mmmn_zi", &[0])]
        .iter()
        .flat_map(|(form, operands)| encode(&Instruction::new(form, operands)).expect("encodes").to_le_bytes())
        .collect();
    for (tile, row) in rows {
        machine.load(*tile, LOAD_BASE, &code);
        let words = encode_row(row).expect("was tried");
        machine.load(*tile, ROW, &words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>());
    }
    for m in messages {
        machine.load(m.source, m.address, &data(m.source, m.address, m.words));
    }
    machine
}

fn delivered(machine: &Machine, messages: &[PlacedMessage]) -> bool {
    messages.iter().all(|m| {
        let expected = data(m.source, m.address, m.words);
        m.destinations.iter().all(|&(tile, at)| machine.read(tile, at, 4 * m.words) == Some(&expected[..]))
    })
}

#[test]
fn random_phases_deliver_every_word_and_last_as_long_as_their_rows() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let messages = phase(&mut random, 14);
        let rows = build_rows(&messages).expect("was tried");
        let horizon = u64::from(rows.iter().map(|(_, row)| row.end).max().expect("some rows"));
        let mut reports: Vec<RunReport> = Vec::new();
        for threads in [1, 3] {
            let mut machine = machine(&messages, &rows, threads);
            let report = machine.run().unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
            assert!(delivered(&machine, &messages), "seed {seed}");
            reports.push(report);
        }
        assert_eq!(reports[0], reports[1]);
        assert_eq!(reports[0].exchange_cycles(), BARRIER_LATENCY + 6 + horizon, "seed {seed}");
    }
}

#[test]
fn a_changed_row_never_passes_unseen() {
    // Move one control or one message of a phase by an event, or change what it names: a fault, or wrong data.
    let mut kinds = BTreeMap::new();
    for seed in 0..60 {
        let mut random = Random(1000 + seed);
        let messages = phase(&mut random, 8);
        let mut rows = build_rows(&messages).expect("was tried");
        let index = random.below(rows.len() as u32) as usize;
        let row = &mut rows[index].1;
        let before = row.clone();
        if random.below(2) == 0 && !row.sends.is_empty() {
            let at = random.below(row.sends.len() as u32) as usize;
            row.sends[at].address += 4;
        } else if !row.controls.is_empty() {
            let at = random.below(row.controls.len() as u32) as usize;
            row.controls[at].event += 1;
            row.controls.sort_unstable_by_key(|c| (c.event, c.kind));
        }
        if encode_row(row).is_err() || *row == before {
            continue;
        }
        let mut machine = machine(&messages, &rows, 1);
        match machine.run() {
            Ok(_) => assert!(!delivered(&machine, &messages), "seed {seed}"),
            Err(fault) => *kinds.entry(fault.kind).or_insert(0) += 1,
        }
    }
    assert!(kinds.contains_key(&FaultKind::SilentSource), "{kinds:?}");
}
