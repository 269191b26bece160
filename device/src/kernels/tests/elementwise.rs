//! Reduction, copy, fill: values at edge sizes, exactness of their accesses, cycles.

use half::f16;

use super::numbers::{Numbers, rounded};
use super::tile::{Tile, within_five_percent};
use crate::kernels::{copy_64_cycles, copy_64_far_cycles, fill_64_cycles, reduce_add_f16_cycles};

fn bytes(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// One reduction; checks every sum and returns the cycles.
fn reduce(chunks: u32, received: u32, out: u32, own: u32, first: u32, gap: u32) -> u64 {
    let size = chunks * 16;
    let stride = size + gap;
    let mut numbers = Numbers::new(u64::from(chunks * 64 + received));
    let mut part = || (0..chunks * 8).map(|_| numbers.normal()).collect::<Vec<f16>>();
    let own_values = part();
    let received_values: Vec<Vec<f16>> = (0..received).map(|_| part()).collect();
    let mut tile = Tile::new();
    tile.load(own, &bytes(&own_values));
    for (i, values) in received_values.iter().enumerate() {
        tile.load(first + i as u32 * stride, &bytes(values));
    }
    tile.call("reduce_add_f16", &[out, own, first, stride, chunks, received]);
    let outcome = tile.run();
    outcome.only_written(&[(out, size)]);
    for (i, got) in outcome.read(out, size).chunks_exact(2).enumerate() {
        let mut sum = own_values[i].to_f32();
        for values in &received_values {
            sum += values[i].to_f32();
        }
        let got = f16::from_le_bytes([got[0], got[1]]).to_f64();
        assert_eq!(got, rounded(f64::from(sum)), "{chunks} chunks, {received} received, element {i}");
    }
    outcome.cycles[0]
}

#[test]
fn reduce_sums_in_f32_and_rounds_once() {
    for chunks in (1..=14).chain([35, 36, 37, 100]) {
        for received in [1, 2, 3, 7] {
            reduce(chunks, received, 0x60000, 0x68000, 0x6c000, 16);
        }
    }
}

#[test]
fn reduce_takes_operands_anywhere() {
    // In place; all in one element; across the region boundary; without a gap.
    reduce(13, 3, 0x80000, 0x80000, 0x90000, 0);
    reduce(13, 3, 0x60000, 0x60200, 0x60400, 8);
    reduce(40, 2, 0x7ff00, 0x88000, 0x90000, 0);
    reduce(7, 2, 0x80000, 0x80100, 0x7ff80, 16);
}

#[test]
fn reduce_of_nothing_writes_nothing() {
    let mut tile = Tile::new();
    tile.call("reduce_add_f16", &[0x60000, 0x64000, 0x68000, 16, 0, 1]);
    tile.run().only_written(&[]);
}

#[test]
fn reduce_cycle_formula() {
    for chunks in [1, 6, 7, 24, 100, 1000] {
        for received in [1, 2, 4, 9] {
            let measured = reduce(chunks, received, 0x80000, 0x80000, 0x88000, 0);
            within_five_percent("reduce", (chunks, received), reduce_add_f16_cycles(chunks, received), measured);
        }
    }
}

/// One copy; checks the words and returns the cycles.
fn copy(entry: &'static str, words: u32, destination: u32, source: u32) -> u64 {
    let mut numbers = Numbers::new(u64::from(words));
    let values: Vec<f16> = (0..words * 4).map(|_| numbers.normal()).collect();
    let mut tile = Tile::new();
    tile.load(source, &bytes(&values));
    tile.call(entry, &[destination, source, words]);
    let outcome = tile.run();
    outcome.only_written(&[(destination, words * 8)]);
    assert_eq!(outcome.read(destination, words * 8), bytes(&values), "{entry} of {words} words");
    outcome.cycles[0]
}

#[test]
fn copies_at_edge_sizes() {
    for words in (1..=20).chain([95, 96, 97, 1000]) {
        copy("copy_64", words, 0x60000, 0x64008);
        copy("copy_64_far", words, 0x60008, 0x68000);
        // Within one element; between regions; both in region 1.
        copy("copy_64", words, 0x60000, 0x62000);
        copy("copy_64", words, 0x80000, 0x82008);
        copy("copy_64_far", words, 0x80000, 0x60000);
        copy("copy_64_far", words, 0x80008, 0x88010);
    }
}

#[test]
fn copy_cycle_formula() {
    for words in [1, 6, 7, 48, 300, 2000] {
        let measured = copy("copy_64", words, 0x60000, 0x70000);
        within_five_percent("copy", words, copy_64_cycles(words), measured);
        let measured = copy("copy_64_far", words, 0x60000, 0x70000);
        within_five_percent("far copy", words, copy_64_far_cycles(words), measured);
    }
}

/// One fill; checks the zeros and returns the cycles.
fn fill(words: u32, destination: u32) -> u64 {
    let mut tile = Tile::new();
    tile.load(destination - 8, &[0xff; 8]);
    tile.load(destination, &vec![0xff; words as usize * 8]);
    tile.load(destination + words * 8, &[0xff; 8]);
    tile.call("fill_64", &[destination, words]);
    let outcome = tile.run();
    outcome.only_written(&[(destination, words * 8)]);
    assert!(outcome.read(destination, words * 8).iter().all(|&b| b == 0), "{words} words");
    outcome.cycles[0]
}

#[test]
fn fills_at_edge_sizes() {
    for words in (0..=20).chain([95, 96, 97, 1000]) {
        fill(words, 0x60008);
        fill(words, 0x80010);
    }
}

#[test]
fn fill_cycle_formula() {
    for words in [0, 1, 6, 7, 48, 300, 2000] {
        within_five_percent("fill", words, fill_64_cycles(words), fill(words, 0x60008));
    }
}
