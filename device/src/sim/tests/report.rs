//! The report of a run, and the trace of a tile.

use std::sync::{Arc, Mutex};

use super::program::{Program, WORKER, ZERO};
use crate::memory::{LOAD_BASE, TileId};
use crate::sim::machine::BARRIER_LATENCY;
use crate::sim::{ContextId, Machine, MachineConfig, Region, TraceLine};

const TILE_PROGRAM: u32 = 0x4e000;
const COMPLETE: u32 = 0x4c100;

/// Entry jumps to the tile program, which waits at a barrier and jumps to completion; tile 1 computes first.
fn machine(config: MachineConfig) -> Machine {
    let regions =
        vec![Region { name: "generated tile program".into(), start: TILE_PROGRAM, end: TILE_PROGRAM + 0x100 }];
    let symbols = vec![("complete".into(), COMPLETE)];
    let mut machine = Machine::new(MachineConfig { regions, symbols, cycle_limit: 100_000, ..config });
    for tile in 0..2 {
        let mut entry = Program::at(LOAD_BASE);
        entry.nops(4).op("bri_mmmn_zi", &[TILE_PROGRAM as i32 / 4]).load_on(&mut machine, tile);
        let mut p = Program::at(TILE_PROGRAM);
        if tile == 1 {
            p.set(0, WORKER).set(1, 0x60000).op("runall_mmmn_zi", &[0, 1, 0]).op("sync_mmmn_zi", &[2]);
        }
        p.op("sync_mmmn_zi", &[3]).op("bri_mmmn_zi", &[COMPLETE as i32 / 4]).load_on(&mut machine, tile);
        let mut complete = Program::at(COMPLETE);
        complete.nops(2).end().load_on(&mut machine, tile);
        let mut worker = Program::at(WORKER);
        worker.bundle(("add_mmmn_si", &[0, 0, 1]), ("f16v4hihov4amp_aaan_ef", &[0, 0, 14, 0]));
        worker.op("exitz_mmmn", &[ZERO]).load_on(&mut machine, tile);
    }
    machine
}

#[test]
fn the_report_spans_the_program_and_the_barriers() {
    let report = machine(MachineConfig::default()).run().unwrap_or_else(|f| panic!("{f}"));
    // Both enter the program at 10. Tile 1 launches at 17, when $m1 is ready; worker 5 issues first at 47 and exits at 53,
    // so the local sync is granted at 59.
    let arrival = report.barriers[0].last_arrival;
    assert_eq!(report.tiles[0].program_start, Some(10));
    assert_eq!(report.tiles[1].program_start, Some(10));
    assert_eq!(arrival, 59);
    let release = arrival + BARRIER_LATENCY;
    assert_eq!((report.barriers[0].release, report.barriers[0].last_row_end), (release, None));
    // The jump to completion issues at the release.
    assert_eq!(report.tiles[0].completion, Some(release));
    assert_eq!(report.tiles[1].completion, Some(release));
    assert_eq!(report.simulated_cycles(), Some(release - 10));
    assert_eq!(report.exchange_cycles(), 0);
    // 10 of each supervisor but for the workers' part; 3 of each worker.
    assert_eq!(report.tiles[0].instructions, 5 + 2 + 3);
    assert_eq!(report.tiles[1].instructions, 5 + 4 + 2 + 3 + 6 * 3);
    assert_eq!(report.instructions, 10 + 32);
    assert_eq!(report.amp_macs_f16, 6 * 64);
}

#[test]
fn a_trace_holds_the_instructions_of_one_tile_in_order() {
    let lines: Arc<Mutex<Vec<TraceLine>>> = Arc::default();
    let sink = {
        let lines = Arc::clone(&lines);
        Arc::new(Mutex::new(move |line: TraceLine| lines.lock().expect("not poisoned").push(line)))
    };
    machine(MachineConfig { trace: Some((TileId(1), sink)), ..MachineConfig::default() })
        .run()
        .unwrap_or_else(|f| panic!("{f}"));
    let lines = lines.lock().expect("not poisoned");
    assert!(lines.windows(2).all(|w| w[0].clock < w[1].clock));
    assert_eq!(lines.len(), 14 + 12);
    assert_eq!((lines[0].clock, lines[0].address, lines[0].text.as_str()), (0, LOAD_BASE, "nop"));
    let first = lines.iter().find(|l| l.context == ContextId::Worker(3)).expect("worker 3 runs");
    assert_eq!(first.clock % 6, 3);
    assert_eq!(first.text, "{ add $m0, $m0, 1 ; f16v4hihov4amp $a0:1, $a0:1, $a14:15, 0 }");
    assert_eq!(lines.last().map(|l| l.text.as_str()), Some("bri 0x0"));
}

#[test]
fn tiles_are_part_of_the_machine_when_they_are_loaded() {
    let mut machine = Machine::new(MachineConfig::default());
    assert_eq!(machine.read(TileId(5), 0x60000, 4), None);
    machine.load(TileId(5), 0x60000, &[1, 2, 3, 4]);
    assert_eq!(machine.read(TileId(5), 0x60000, 4), Some(&[1, 2, 3, 4][..]));
    assert_eq!(machine.read(TileId(5), 0xe7ffe, 4), None);
}
