//! The exact half of scheduling: the start slot of every piece.
//!
//! In: a [`Problem`], its [`Order`], and which of its buffers share banks. Out: a [`Schedule`].
//! 1. Complete and legal by the rules that `verify` checks.
//! 2. A component without contested banks keeps the starts of its order; the others are placed again in that order and,
//!    when the result is poor, searched again with their banks known.
//! 3. Independent of addresses beyond the [`ClashSig`], and of threads.
//!
//! Stops: addresses that move without changing the bank structure.

use rayon::prelude::*;
use std::sync::Arc;

use ipuc_device::fabric::topology::{mux_to_memory, physical, route_time};

use super::banks::{Banks, ClashSig};
use super::bounds::Bounds;
use super::jobs::{self, RECEIVE_GUARD, SHORTEST_SEND, Span};
use super::order::{Order, solve, tasks};
use super::problem::Problem;
use super::search::{self, Effort, Solution};
use super::traffic::Traffic;

/// Consecutive words of one transfer in consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Piece {
    /// Index of the transfer.
    pub transfer: u32,
    /// First word of it.
    pub first_word: u32,
    /// Words, at most the longest message.
    pub words: u32,
    /// Slot of the first word on the phase's clock.
    pub slot: u32,
    /// Pieces with the same number are one message: they follow each other in time and address at all ends.
    pub message: u32,
}

/// A placed phase.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Schedule {
    /// Sorted by transfer, then word.
    pub pieces: Vec<Piece>,
    /// Cycles from event 0 to the end of the last row.
    pub horizon: u32,
    /// Lower bounds of the horizon.
    pub bounds: Bounds,
    /// End of each tile's row, by tile number; 0 for a tile that takes no part.
    pub ends: Vec<u32>,
}

impl Schedule {
    /// Most words that a tile sends or receives.
    pub fn endpoint_lower_bound(&self) -> u32 {
        self.bounds.endpoint
    }

    /// The same with fill and drain.
    pub fn fill_drain_lower_bound(&self) -> u32 {
        self.bounds.fill_drain
    }
}

/// Places every piece of a phase.
pub fn timing(problem: &Problem, order: &Order, clash: &ClashSig, effort: Effort) -> Schedule {
    let traffic = Traffic::of(problem);
    let components = jobs::components(&traffic);
    assert_eq!(components.len(), order.components.len(), "invariant: the order belongs to the problem");
    let (list, bounds) = tasks(&traffic, clash, &components);
    let placed: Vec<Vec<(Span, u32, bool)>> = list
        .par_iter()
        .zip(&order.components)
        .map(|(task, order)| {
            let free = task.contested.iter().all(|&set| set == 0);
            let chunks = order.chunks();
            let jobs = jobs::recut(&traffic, clash, task.component, &task.contested, chunks);
            if free && jobs.list.len() == order.starts.len() {
                let starts = order.starts.iter().copied();
                return spans(&jobs, (0..jobs.list.len() as u32).zip(starts));
            }
            let count = jobs.list.len() as u32;
            let first = search::place(Arc::new(jobs), (0..count).collect());
            let search = task.search(&traffic, clash, bounds);
            let solution = search.run(task.share(effort, &list), Some(first));
            solution_spans(&solution)
        })
        .collect();
    finish(&traffic, placed, bounds)
}

/// Orders and places in one go, for places whose banks are known.
pub(crate) fn schedule(traffic: &Traffic, banks: &dyn Banks, effort: Effort) -> Schedule {
    let (solutions, bounds) = solve(traffic, banks, effort);
    finish(traffic, solutions.iter().map(solution_spans).collect(), bounds)
}

fn solution_spans(solution: &Solution) -> Vec<(Span, u32, bool)> {
    let starts = solution.sequence.iter().map(|&job| (job, solution.starts[job as usize]));
    spans(&solution.jobs, starts)
}

/// Spans with their slots, cut where a message begins; true for the first span of a message.
fn spans(jobs: &jobs::Jobs, starts: impl Iterator<Item = (u32, u32)>) -> Vec<(Span, u32, bool)> {
    let mut result = Vec::new();
    for (job, start) in starts {
        let job = &jobs.list[job as usize];
        let mut messages = jobs.starts(job).iter().copied().peekable();
        let mut offset = 0;
        for &span in jobs.spans(job) {
            let mut left = span;
            while left.words > 0 {
                let begins = messages.next_if_eq(&offset).is_some();
                let take = messages.peek().map_or(left.words, |&next| left.words.min(next - offset));
                result.push((Span { words: take, ..left }, start + offset, begins));
                offset += take;
                left.first_word += take;
                left.words -= take;
            }
        }
    }
    result
}

fn finish(traffic: &Traffic, placed: Vec<Vec<(Span, u32, bool)>>, bounds: Bounds) -> Schedule {
    let mut pieces = Vec::with_capacity(placed.iter().map(Vec::len).sum());
    let mut message = 0;
    for (span, slot, begins) in placed.into_iter().flatten() {
        message += u32::from(begins);
        let Span { transfer, first_word, words } = span;
        pieces.push(Piece { transfer, first_word, words, slot, message: message - 1 });
    }
    pieces.sort_unstable();
    let ends = ends(traffic, &pieces);
    let horizon = ends.iter().copied().max().unwrap_or(0);
    Schedule { pieces, horizon, bounds, ends }
}

/// A message of this many words needs one event more before its receiver's row may end (`exchange.md` 3.3).
const LONG_GUARD_WORDS: u32 = 52;

/// Where the row of each tile ends (`exchange.md` 3.3).
fn ends(traffic: &Traffic, pieces: &[Piece]) -> Vec<u32> {
    let mut ends = vec![0u32; traffic.tiles()];
    for piece in pieces {
        let source = traffic.source(piece.transfer).tile;
        let s = physical(source);
        let mut head = 0;
        for receiver in traffic.destinations(piece.transfer) {
            let d = physical(receiver.tile);
            head = head.max(-route_time(s, d));
            let write = piece.slot as i32 + route_time(s, d) + 1 + mux_to_memory(d);
            let end = &mut ends[receiver.tile.index()];
            let guard = RECEIVE_GUARD + u32::from(piece.words == LONG_GUARD_WORDS);
            *end = (*end).max(write as u32 + piece.words + guard);
        }
        let end = &mut ends[source.index()];
        *end = (*end).max(piece.slot + piece.words.max(SHORTEST_SEND.saturating_sub(head as u32)));
    }
    ends
}
