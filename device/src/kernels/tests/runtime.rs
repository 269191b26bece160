//! The static runtime: from the entry stub to the completion word, on one tile and on several.

use std::fmt::Write;

use super::tile::{Tile, run_program, within_five_percent};
use crate::kernels::{call_overhead, entry_stub};
use crate::memory::{COMPLETION, WORKER_BASE, WORKER_SCRATCH};

#[test]
fn the_stub_leads_to_the_entry() {
    use crate::isa::{Context, decode, print};
    let text = entry_stub(0x4c01c).map(|word| print(&decode(word, Context::Supervisor).expect("decodes")));
    assert_eq!(text, ["setzi $m0, 311324", "br $m0"]);
}

#[test]
fn tiles_start_and_complete() {
    let tiles = run_program("    bri complete", 4);
    let mut seeds = Vec::new();
    for tile in &tiles {
        assert_eq!(tile.word(COMPLETION), 1);
        for worker in 0..6 {
            seeds.push(tile.word(WORKER_BASE + worker * WORKER_SCRATCH));
        }
    }
    // (tile + 1) * 8 + worker, all different.
    assert!(seeds.chunks(6).all(|s| s[0] >= 8 && s[0] % 8 == 0 && (0..6).all(|i| s[i as usize] == s[0] + i)));
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 24);
}

#[test]
fn workers_start_with_zeroed_registers_and_their_scratch_area() {
    let mut stores = String::new();
    for i in 0..12 {
        writeln!(stores, "    st32 $m{i}, $m12, $mzero, {}", 1 + i).expect("writing to a string");
    }
    for i in 0..8 {
        writeln!(stores, "    st32 $a{i}, $m12, $mzero, {}", 16 + i).expect("writing to a string");
    }
    let program = format!(
        "    setzi $m0, probe\n    runall $m0, $m11, 0\n    sync 2\n    bri complete\n.worker\nprobe:\n{stores}    exitz $mzero\n"
    );
    let tiles = run_program(&program, 1);
    for worker in 0..6 {
        let scratch = WORKER_BASE + worker * WORKER_SCRATCH;
        for i in (1..13).chain(16..24) {
            assert_eq!(tiles[0].word(scratch + 4 * i), 0, "worker {worker}, word {i}");
        }
    }
}

#[test]
fn cycle_samples_follow_the_tile_clock() {
    let sample = |address: u32| format!("    setzi $m2, {address}\n    call $m10, cycle_sample\n");
    let program = format!("{}{}    bri complete", sample(0x60000), sample(0x60004));
    let tiles = run_program(&program, 1);
    let (first, second) = (tiles[0].word(0x60000), tiles[0].word(0x60004));
    assert!((2..60).contains(&second.wrapping_sub(first)), "{first} {second}");
}

#[test]
fn empty_call_overhead() {
    let mut tile = Tile::new();
    tile.call("empty_call", &[]);
    within_five_percent("empty call", (), call_overhead(), tile.run().cycles[0]);
}
