//! Exchange: the worked rows of `exchange.md` 4.3, barriers, forwarding, and what may go wrong.

use super::program::Program;
use crate::fabric::topology::physical;
use crate::isa::AmpFlags;
use crate::memory::{LOAD_BASE, TileId};
use crate::sim::exchange::Control::{Mux, Pointer};
use crate::sim::exchange::{Piece, Record, receive};
use crate::sim::machine::BARRIER_LATENCY;
use crate::sim::tile::{Surroundings, Tile};
use crate::sim::{Fault, FaultKind, Machine, MachineConfig, RunReport};

/// Where rows lie; data of the tests lies in other elements.
const ROW: u32 = 0x5c000;

/// The rows of `exchange.md` 4.3.
fn worked_rows() -> Vec<(u16, Vec<u32>)> {
    let rows = [
        (0, "40A0001E 7FECA001 74600001 40A0003B 7CECC001 43A00000"),
        (2, "64000000 40A0001F 7A8D0003 75B98000 77700080 72D00000 64044640 60698400 40A0002C 43A00000"),
        (4, "40A0007E 7F6CA001 43A00000"),
        (6, "64000040 61C98000 6416C640 40A0003E 43A00000"),
        (7, "64004040 61C98000 6416C640 40A0003E 43A00000"),
    ];
    let word = |text: &str| u32::from_str_radix(text, 16).expect("hexadecimal");
    rows.iter().map(|&(tile, text)| (tile, text.split(' ').map(word).collect())).collect()
}

/// (sending tile, words, source address, receiving tile, destination address, first write)
const TRANSFERS: [(u16, u32, u32, u16, u32, u64); 5] = [
    (0, 100, 0x65000, 2, 0x60000, 55),
    (4, 60, 0x65000, 2, 0x60190, 155),
    (2, 150, 0x68000, 6, 0x60000, 59),
    (2, 150, 0x68000, 7, 0x60000, 60),
    (0, 40, 0x66000, 2, 0x61000, 215),
];

fn pattern(tile: u16, address: u32) -> u32 {
    (u32::from(tile) << 20 ^ address).wrapping_mul(0x9e37_79b9)
}

fn data(tile: u16, address: u32, words: u32) -> Vec<u8> {
    (0..words).flat_map(|i| pattern(tile, address + 4 * i).to_le_bytes()).collect()
}

fn row_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// Enters the barrier and the row as the emitted code does.
fn phase(p: &mut Program, row: u32) {
    p.op("put_mmmn_zi", &[0xa4, 15]).op("put_mmmn_zi", &[0xa7, 15]).set(8, 1).op("put_mmmn_zi", &[0xa6, 8]);
    p.op("sync_mmmn_zi", &[3]).op("call_mmmn_zi", &[10, row as i32 / 4]);
}

fn neutral(p: &mut Program) {
    p.set(8, 0x640).op("put_mmmn_zi", &[0xa0, 8]);
}

/// A machine whose tiles enter one phase with the given rows.
fn machine(rows: &[(u16, Vec<u32>)]) -> Machine {
    machine_with(rows, MachineConfig { cycle_limit: 100_000, ..MachineConfig::default() })
}

fn machine_with(rows: &[(u16, Vec<u32>)], config: MachineConfig) -> Machine {
    let mut machine = Machine::new(config);
    for (tile, words) in rows {
        let mut p = Program::at(LOAD_BASE);
        neutral(&mut p);
        phase(&mut p, ROW);
        p.end();
        p.load_on(&mut machine, *tile);
        machine.load(TileId(*tile), ROW, &row_bytes(words));
    }
    machine
}

fn load_sources(machine: &mut Machine) {
    for (from, words, address, ..) in TRANSFERS {
        machine.load(TileId(from), address, &data(from, address, words));
    }
}

fn run_worked(change: impl FnOnce(&mut Vec<(u16, Vec<u32>)>)) -> Result<RunReport, Fault> {
    let mut rows = worked_rows();
    change(&mut rows);
    let mut machine = machine(&rows);
    load_sources(&mut machine);
    let report = machine.run()?;
    check_destinations(&machine);
    Ok(report)
}

fn check_destinations(machine: &Machine) {
    for (from, words, source, to, destination, _) in TRANSFERS {
        let got = machine.read(TileId(to), destination, 4 * words).expect("inside memory");
        assert_eq!(got, data(from, source, words), "{from} -> {to}");
    }
}

/// Clock of the last arrival in [`machine`]: `$INCOMING_MUX` waits for its operand until 6; two base puts from 7, setzi
/// at 33, the count at 39, the sync at 40.
const ARRIVAL: u64 = 40;

#[test]
fn worked_rows_deliver_all_words_and_end_when_they_should() {
    let report = run_worked(|_| {}).unwrap_or_else(|f| panic!("{f}"));
    let barrier = &report.barriers[0];
    assert_eq!(barrier.zone, Some(3));
    assert_eq!(barrier.last_arrival, ARRIVAL);
    assert_eq!(barrier.release, ARRIVAL + BARRIER_LATENCY);
    // Event 0 follows the call.
    let event_0 = barrier.release + 6;
    assert_eq!(barrier.last_row_end, Some(event_0 + 260));
    assert_eq!(report.exchange_cycles(), BARRIER_LATENCY + 6 + 260);
    // Row, return (6 clocks), then the branch to 0.
    let ends: Vec<u64> = report.tiles.iter().map(|t| t.end - 6 - event_0).collect();
    assert_eq!(ends, [231, 260, 187, 214, 215]);
}

/// Records of rows executed from clock 0 on, without barrier and call.
fn records(rows: &[(u16, Vec<u32>)]) -> Vec<Tile> {
    let surroundings = Surroundings::none(100_000);
    rows.iter()
        .map(|(id, words)| {
            let mut tile = Tile::new(TileId(*id), &AmpFlags::default(), false);
            tile.memory.load(ROW, &row_bytes(words));
            tile.supervisor.pc = ROW;
            tile.supervisor.mux = 0x640;
            tile.run_row(&surroundings).unwrap_or_else(|f| panic!("{f}"));
            tile
        })
        .collect()
}

#[test]
fn worked_words_arrive_at_the_listed_events() {
    let tiles = records(&worked_rows());
    let mut by_number: Vec<Option<&Record>> = vec![None; 1472];
    for tile in &tiles {
        by_number[tile.id.index()] = tile.record.as_deref();
    }
    for tile in &tiles {
        let pieces = receive(tile.id, tile.physical, &by_number);
        let pieces: Vec<Piece> = pieces.unwrap_or_else(|c| panic!("{}", c.message));
        // Adjoining pieces of one source together.
        let mut got: Vec<(u16, u32, u32, u64)> = Vec::new();
        for p in &pieces {
            match got.last_mut() {
                Some(last)
                    if last.0 == p.source.0
                        && last.2 + 4 * last.1 == p.address
                        && last.3 + u64::from(last.1) == p.clock =>
                {
                    last.1 += p.words;
                }
                _ => got.push((p.source.0, p.words, p.address, p.clock)),
            }
        }
        let expected: Vec<_> = TRANSFERS
            .iter()
            .filter(|t| t.3 == tile.id.0)
            .map(|&(from, words, _, _, destination, first)| (from, words, destination, first))
            .collect();
        assert_eq!(got, expected, "tile {}", tile.id);
    }
}

/// Receiver row for four 52-word messages of an SDK program: physical 130, 192, 194, 256 to a tile of row 0.
#[test]
fn sdk_receiver_row_selects_and_points_at_its_events() {
    let words = "64000082 40A00032 F6600000 03014048 F6600000 03095000 F6600000 04016000 F7200000 19017000 43A00000";
    let words: Vec<u32> = words.split(' ').map(|w| u32::from_str_radix(w, 16).expect("hexadecimal")).collect();
    let tiles = records(&[(0, words)]);
    let controls = &tiles[0].record.as_ref().expect("recorded").controls;
    let expected = [
        (1, Mux(130)),
        (53, Pointer(0x14048 << 2)),
        (53, Mux(192)),
        (105, Pointer(0x15000 << 2)),
        (105, Mux(194)),
        (157, Pointer(0x16000 << 2)),
        (157, Mux(256)),
        (209, Pointer(0x17000 << 2)),
        (209, Mux(0x640)),
    ];
    assert_eq!(controls[..], expected);
}

#[test]
fn an_abstaining_tile_counts_as_arrived_and_passes_when_the_others_do() {
    let mut machine = machine(&worked_rows());
    load_sources(&mut machine);
    let mut p = Program::at(LOAD_BASE);
    neutral(&mut p);
    p.op("sans_mmmn_zi", &[0]).op("sync_mmmn_zi", &[1]).end();
    p.load_on(&mut machine, 1000);
    let report = machine.run().unwrap_or_else(|f| panic!("{f}"));
    check_destinations(&machine);
    assert_eq!(report.barriers[0].last_arrival, ARRIVAL);
    assert_eq!(report.tiles.last().expect("six tiles").end, report.barriers[0].release);
}

#[test]
fn an_abstention_may_cover_several_barriers() {
    let mut machine = Machine::new(MachineConfig { cycle_limit: 100_000, ..MachineConfig::default() });
    for (tile, others) in [(0, true), (1, false)] {
        let mut p = Program::at(LOAD_BASE);
        neutral(&mut p);
        if others {
            p.op("sync_mmmn_zi", &[3]).op("sync_mmmn_zi", &[7]);
        } else {
            p.op("sans_mmmn_zi", &[1]).op("sync_mmmn_zi", &[1]);
        }
        p.end().load_on(&mut machine, tile);
    }
    let report = machine.run().unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(report.barriers.len(), 2);
    assert_eq!(report.barriers[1].zone, Some(7));
    // The second barrier is asked for when the first releases.
    assert_eq!(report.barriers[1].last_arrival, report.barriers[0].release);
    assert_eq!(report.tiles[1].end, report.barriers[1].release);
}

/// A row that sends from `slot` on: `words` (at most 64) from a byte address.
fn sender(slot: u32, words: u32, address: u32, directions: u32) -> Vec<u32> {
    let mut row = Vec::new();
    if slot > 0 {
        row.push(0x40a0_0000 + slot - 1);
    }
    row.extend([0x7800_0000 + ((words - 1) << 21) + ((address / 4) << 3) + directions, 0x40a0_0000 + 250, 0x43a0_0000]);
    row
}

#[test]
fn a_tile_can_forward_what_it_receives_in_the_same_epoch() {
    // Tile 0 sends 4 words to tile 2 in slots 31 .. 34 (written at 55 ..); tile 2 sends them on to tile 0 in slot 80.
    // tau(2, 0) = -27, so tile 0 selects tile 2 at event 54 and its first write is at 54 + 52 = 106.
    let (from, at, to) = (0x65000, 0x68000, 0x70000);
    let first = sender(31, 4, from, 1);
    let mut row0 = first[..2].to_vec();
    row0.extend([
        0x6400_0000 + ((54 - 35 - 1) << 14) + 64, // delayxpic ending at 54: physical 64 is logical 2
        0x6400_0000 + (3 << 14) + 0x640,          // neutral at 58
        0x6000_0000 + ((106 - 58 - 1) << 19) + to / 4,
        0x40a0_0000 + 20,
        0x43a0_0000,
    ]);
    let row2 = vec![
        0x6400_0000,                                 // source 0 at event 1
        0x6400_0000 + (3 << 14) + 0x640,             // neutral at 5
        0x6000_0000 + ((55 - 5 - 1) << 19) + at / 4, // pointer at 55
        0x40a0_0000 + (80 - 55 - 1),
        0x7800_0000 + (3 << 21) + ((at / 4) << 3) + 1,
        0x40a0_0000 + 20,
        0x43a0_0000,
    ];
    let mut machine = machine(&[(0, row0), (2, row2)]);
    machine.load(TileId(0), from, &data(0, from, 4));
    machine.run().unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(machine.read(TileId(2), at, 16), Some(&data(0, from, 4)[..]));
    assert_eq!(machine.read(TileId(0), to, 16), Some(&data(0, from, 4)[..]));
}

fn kind(outcome: Result<RunReport, Fault>) -> (FaultKind, u16) {
    let fault = outcome.expect_err("a fault");
    (fault.kind, fault.tile.0)
}

#[test]
fn silence_on_the_selected_source_is_a_fault() {
    // Tile 4 sends one word less: the last word of B is missing.
    let fault = run_worked(|rows| rows[2].1[1] -= 1 << 21).expect_err("a fault");
    assert_eq!((fault.kind, fault.tile.0), (FaultKind::SilentSource, 2));
    let event_0 = ARRIVAL + BARRIER_LATENCY + 6;
    // B passes the multiplexer at 101 .. 160.
    assert_eq!(fault.clock, event_0 + 160);
    // Tile 4 drives the half of its bus that does not reach tile 2.
    assert_eq!(kind(run_worked(|rows| rows[2].1[1] += 1)), (FaultKind::SilentSource, 2));
    // Tile 6 selects tile 2 one event late: its last event is silent.
    assert_eq!(kind(run_worked(|rows| rows[3].1[0] += 1 << 14)), (FaultKind::SilentSource, 6));
    // A source that no tile of the machine is.
    assert_eq!(kind(run_worked(|rows| rows[3].1[0] += 1)), (FaultKind::SilentSource, 6));
    // The multiplexer stays on a source.
    assert_eq!(kind(run_worked(|rows| rows[3].1[2] = 0x40a0_005a)), (FaultKind::SilentSource, 6));
}

#[test]
fn words_need_a_pointer_inside_memory_and_a_tile_in_its_row() {
    // The pointer control of tile 6 becomes a delay.
    assert_eq!(kind(run_worked(|rows| rows[3].1[1] = 0x40a0_0039)), (FaultKind::Receive, 6));
    // It points below tile memory.
    assert_eq!(kind(run_worked(|rows| rows[3].1[1] = 0x61c8_0000)), (FaultKind::Receive, 6));
    // Tile 6 leaves 25 events early: return and end take 12 clocks.
    assert_eq!(kind(run_worked(|rows| rows[3].1[3] -= 25)), (FaultKind::LateArrival, 6));
}

#[test]
fn exchange_and_fetch_share_no_element_in_one_clock() {
    // Tile 2 receives into the element that it sends from (0x68000 against 0x60000: move the pointer).
    let clash = |rows: &mut Vec<(u16, Vec<u32>)>| rows[1].1[3] = 0x75b8_0000 + 0x69000 / 4;
    let fault = run_worked(clash).expect_err("a fault");
    assert_eq!((fault.kind, fault.tile.0), (FaultKind::Conflict, 2));
    let event_0 = ARRIVAL + BARRIER_LATENCY + 6;
    assert_eq!(fault.clock, event_0 + 55);
    // Tile 6 receives into the element of its row.
    let clash = |rows: &mut Vec<(u16, Vec<u32>)>| rows[3].1[1] = 0x61c8_0000 + (ROW + 0x1000) / 4;
    assert_eq!(kind(run_worked(clash)), (FaultKind::Conflict, 6));
    // Tile 4 sends from it.
    let mut rows = worked_rows();
    rows[2].1[1] = 0x7800_0001 + (59 << 21) + (((ROW + 0x1000) / 4) << 3);
    let mut machine = machine(&rows);
    load_sources(&mut machine);
    machine.load(TileId(4), ROW + 0x1000, &[1; 240]);
    assert_eq!(kind(machine.run()), (FaultKind::Conflict, 4));
}

#[test]
fn a_word_that_nobody_wrote_is_not_sent() {
    let mut machine = machine(&worked_rows());
    for (from, words, address, ..) in TRANSFERS {
        // The last word of B is missing.
        let words = if from == 4 { words - 1 } else { words };
        machine.load(TileId(from), address, &data(from, address, words));
    }
    let fault = machine.run().expect_err("a fault");
    assert_eq!((fault.kind, fault.tile.0, fault.address), (FaultKind::Unwritten, 4, 0x65000 + 4 * 59));
}

#[test]
fn rows_outside_a_phase_and_wide_items_are_refused() {
    let mut alone = Machine::new(MachineConfig::default());
    let mut p = Program::at(LOAD_BASE);
    p.word(0x7800_0001).end().load_on(&mut alone, 0);
    assert_eq!(kind(alone.run()).0, FaultKind::OutsideRow);
    // 64-bit items, a paired source, an incoming format.
    assert_eq!(kind(run_worked(|rows| rows[2].1[1] += 4)), (FaultKind::Refused, 4));
    assert_eq!(kind(run_worked(|rows| rows[3].1[0] |= 1 << 13)), (FaultKind::Refused, 6));
    assert_eq!(kind(run_worked(|rows| rows[3].1[1] |= 1 << 18)), (FaultKind::Refused, 6));
}

#[test]
fn a_row_beside_a_running_worker_is_a_fault() {
    let mut machine = machine(&worked_rows());
    load_sources(&mut machine);
    let mut worker = Program::at(0x4d000);
    worker.nops(200).op("exitz_mmmn", &[15]);
    worker.load_on(&mut machine, 6);
    let mut p = Program::at(LOAD_BASE);
    neutral(&mut p);
    p.set(0, 0x4d000).op("run_mmmn_zi", &[0, 15, 0]);
    phase(&mut p, ROW);
    p.end().load_on(&mut machine, 6);
    assert_eq!(kind(machine.run()), (FaultKind::WorkerActive, 6));
}

#[test]
fn a_barrier_without_everybody_is_a_deadlock() {
    let mut machine = machine(&worked_rows());
    load_sources(&mut machine);
    Program::at(LOAD_BASE).end().load_on(&mut machine, 7);
    let fault = machine.run().expect_err("a fault");
    assert_eq!((fault.kind, fault.tile.0), (FaultKind::Deadlock, 0));
    assert!(fault.message.contains("tile 7") && fault.message.contains("sync 3"), "{fault}");
    assert_eq!(fault.instruction.as_deref(), Some("sync 3"));
}

#[test]
fn different_zones_are_a_deadlock() {
    let mut machine = Machine::new(MachineConfig::default());
    for (tile, zone) in [(0, 3), (1, 7)] {
        Program::at(LOAD_BASE).op("sync_mmmn_zi", &[zone]).end().load_on(&mut machine, tile);
    }
    assert_eq!(kind(machine.run()), (FaultKind::Deadlock, 1));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let run = |threads: usize, broken: bool| {
        let mut rows = worked_rows();
        if broken {
            // Two faults, in two tiles: the earlier one is reported.
            rows[2].1[1] -= 1 << 21;
            rows[3].1[3] -= 25;
        }
        let config = MachineConfig { threads: Some(threads), cycle_limit: 100_000, ..MachineConfig::default() };
        let mut machine = machine_with(&rows, config);
        load_sources(&mut machine);
        let outcome = machine.run();
        if outcome.is_ok() {
            check_destinations(&machine);
        }
        outcome
    };
    for broken in [false, true] {
        let one = run(1, broken);
        assert_eq!(one.is_err(), broken);
        assert_eq!(one, run(2, broken));
        assert_eq!(one, run(5, broken));
    }
}

#[test]
fn all_neighbours_of_the_whole_chip_exchange() {
    // Every tile sends 8 words to its pair partner and takes 8 from it: 1,472 senders and receivers at once.
    use crate::fabric::topology::{direction, mux_to_memory, route_time};
    let (from, to) = (0x64000, 0x68000);
    let rows: Vec<(u16, Vec<u32>)> = (0..1472u16)
        .map(|tile| {
            let (me, other) = (physical(TileId(tile)), physical(TileId(tile ^ 1)));
            let slot = 100u32;
            let taken = slot as i32 + 1 + route_time(other, me);
            let pointer = taken + mux_to_memory(me);
            // Controls at `taken`, `taken + 8`, `pointer`; the send in between or around: no control on its slots here.
            let mut row = vec![0x6400_0000 + ((taken as u32 - 1) << 14) + u32::from(other.0)];
            row.push(0x6400_0000 + (7 << 14) + 0x640);
            row.push(0x40a0_0000 + (slot - taken as u32 - 8 - 1));
            row.push(0x7800_0000 + (7 << 21) + ((from / 4) << 3) + u32::from(direction(me, other)));
            let gap = pointer - (slot as i32 + 8);
            let mut wait = gap;
            while wait > 128 {
                row.push(0x40a0_0000);
                wait -= 1;
            }
            row.push(0x6000_0000 + ((wait as u32 - 1) << 19) + to / 4);
            row.extend([0x40a0_0000 + 20, 0x43a0_0000]);
            (tile, row)
        })
        .collect();
    let mut machine = machine(&rows);
    for tile in 0..1472 {
        machine.load(TileId(tile), from, &data(tile, from, 8));
    }
    machine.run().unwrap_or_else(|f| panic!("{f}"));
    for tile in 0..1472u16 {
        assert_eq!(machine.read(TileId(tile), to, 32), Some(&data(tile ^ 1, from, 8)[..]), "tile {tile}");
    }
}
