//! The outgoing bus of one tile: what it drives in which slot.

use super::super::decode::Run;

/// Runs of a tile in slot order, with an index by slot.
///
/// Windows of receivers come in no order that a sender knows, and a search by halves would miss the cache at every
/// step; the index brings it to two accesses.
#[derive(Debug, Default)]
pub(super) struct Bus {
    /// Ordinary runs; addresses are memory addresses.
    pub(super) runs: Vec<Run>,
    /// For every `2^shift` slots, the first run that ends after their begin.
    index: Vec<u32>,
    shift: u32,
}

impl Bus {
    /// `events` is the length of the row.
    pub(super) fn new(runs: Vec<Run>, events: u32) -> Self {
        // About one entry a run.
        let shift = (events / (runs.len() as u32 + 1)).max(1).ilog2();
        let mut index = Vec::with_capacity((events >> shift) as usize + 1);
        for (i, run) in runs.iter().enumerate() {
            while (index.len() as u64) << shift < run.end().into() {
                index.push(i as u32);
            }
        }
        Self { runs, index, shift }
    }

    /// Where a search for the first run that ends after `slot` may begin.
    pub(super) fn hint(&self, slot: i64) -> u32 {
        let entry = slot.max(0) as u64 >> self.shift;
        self.index.get(entry as usize).copied().unwrap_or(self.runs.len() as u32)
    }

    /// First run that ends after `slot`, from a hint of the same slot.
    pub(super) fn first_after(&self, slot: i64, hint: u32) -> u32 {
        let from = hint as usize;
        (from + self.runs[from..].iter().take_while(|r| i64::from(r.end()) <= slot).count()) as u32
    }
}
