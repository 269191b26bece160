//! The portfolio: several orders and grains for one component, the best result kept.
//!
//! In: a component, its banks, the horizon that would be good enough, a number of passes. Out: jobs with starts.
//! 1. The result depends on the inputs alone: passes are counted, never timed, and every candidate is compared in a
//!    fixed order.
//! 2. Better means: shorter horizon, then fewer row words (longest row, then all rows).
//! 3. The search ends when a result is within [`GOOD`] of the best bound.

use std::sync::Arc;

use super::banks::Banks;
use super::jobs::{self, Component, Grain, Jobs, Span};
use super::placement::Placement;
use super::sequence;
use super::traffic::Traffic;

/// A horizon at most this many thousandths of the bound ends the search.
const GOOD: u64 = 1015;

/// How much work a search may do. A unit is about one placed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Effort(pub u32);

impl Effort {
    /// A first usable schedule.
    pub const FAST: Self = Self(100_000);
    /// What builds use.
    pub const NORMAL: Self = Self(400_000);
    /// For final builds.
    pub const MAX: Self = Self(4_000_000);
}

/// Jobs with their starts.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    pub(crate) jobs: Arc<Jobs>,
    /// Job indices in the order in which they were placed.
    pub(crate) sequence: Vec<u32>,
    pub(crate) starts: Vec<u32>,
    pub(crate) horizon: u32,
    pub(crate) words: (u32, u64),
}

impl Solution {
    fn rank(&self) -> (u32, u32, u64) {
        (self.horizon, self.words.0, self.words.1)
    }

    /// The spans of each job in placement order, with its start.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (&[Span], u32)> {
        self.sequence.iter().map(|&job| (self.jobs.spans(&self.jobs.list[job as usize]), self.starts[job as usize]))
    }
}

/// Places the jobs in the given order.
pub(crate) fn place(jobs: Arc<Jobs>, sequence: Vec<u32>) -> Solution {
    place_while(jobs, |_, placement| {
        for &job in &sequence {
            placement.place(job, 0);
        }
        sequence
    })
}

fn place_while(jobs: Arc<Jobs>, run: impl FnOnce(&Jobs, &mut Placement<'_>) -> Vec<u32>) -> Solution {
    let mut placement = Placement::new(&jobs, false);
    let sequence = run(&jobs, &mut placement);
    let words = placement.row_words();
    let (starts, horizon) = placement.into_parts();
    Solution { jobs, sequence, starts, horizon, words }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Critical { bonus: bool },
    List,
    Colouring { orders: u64 },
    Tour,
}

/// Everything that a search needs to know about its component.
pub(crate) struct Search<'a> {
    pub(crate) traffic: &'a Traffic,
    pub(crate) banks: &'a dyn Banks,
    pub(crate) component: &'a Component,
    pub(crate) contested: &'a [u64],
    /// Lower bound of the horizon that matters: of this component, or of the whole phase if that is larger.
    pub(crate) bound: u32,
}

impl Search<'_> {
    fn good(&self, horizon: u32) -> bool {
        u64::from(horizon) * 1000 <= u64::from(self.bound) * GOOD
    }

    fn keep(best: &mut Option<Solution>, candidate: Solution) {
        if best.as_ref().is_none_or(|best| candidate.rank() < best.rank()) {
            *best = Some(candidate);
        }
    }

    /// The best of a portfolio of at most `effort` placed jobs, but at least one pass; not worse than `first`.
    pub(crate) fn run(&self, effort: Effort, first: Option<Solution>) -> Solution {
        let mut best = first;
        let mut left = i64::from(effort.0);
        for (method, grain) in self.portfolio() {
            if best.as_ref().is_some_and(|best| self.good(best.horizon) || left <= 0) {
                break;
            }
            let jobs = Arc::new(jobs::cut(self.traffic, self.banks, self.component, self.contested, grain));
            let count = jobs.list.len() as i64 + jobs.endpoints() as i64 / 8;
            if method == Method::List && best.is_some() && count > 30_000 {
                continue;
            }
            for candidate in self.attempt(method, jobs) {
                left -= count;
                let mut candidate = candidate;
                // Right- and left-justify while it helps.
                while !self.good(candidate.horizon) && left > 0 {
                    left -= 2 * count;
                    let next = Self::justify(&candidate);
                    let gain = candidate.horizon.saturating_sub(next.horizon);
                    let enough = gain * 200 >= candidate.horizon;
                    if next.rank() < candidate.rank() {
                        candidate = next;
                    }
                    if !enough {
                        break;
                    }
                }
                Self::keep(&mut best, candidate);
                if left <= 0 || best.as_ref().is_some_and(|best| self.good(best.horizon)) {
                    break;
                }
            }
        }
        best.expect("invariant: a portfolio is never empty")
    }

    fn portfolio(&self) -> Vec<(Method, Grain)> {
        let streams = &self.component.streams;
        let unicast = streams.iter().all(|stream| self.traffic.destinations(stream.transfers[0]).len() == 1);
        let longest = streams.iter().map(|stream| stream.words).max().unwrap_or(0);
        let total: u64 = streams.iter().map(|stream| u64::from(stream.words)).sum();
        let mean = (total / streams.len().max(1) as u64) as u32;
        let equal = u64::from(longest) * 10 <= u64::from(mean) * 11;
        let critical = |bonus| Method::Critical { bonus };
        let mut list = Vec::new();
        if unicast && equal {
            list.push((Method::Colouring { orders: 12 }, Grain::Whole));
        }
        if unicast {
            if longest > 400 && !equal {
                list.push((critical(true), Grain::Words(256)));
                list.push((critical(true), Grain::Words(128)));
            }
            list.push((critical(true), Grain::Whole));
            list.push((Method::List, Grain::Whole));
            list.push((critical(false), Grain::Message));
            if !equal {
                list.push((Method::Colouring { orders: 2 }, Grain::Whole));
            }
            list.push((critical(true), Grain::Words(512)));
            list.push((critical(true), Grain::Message));
        } else {
            list.push((Method::List, Grain::Whole));
            list.push((critical(true), Grain::Whole));
            list.push((Method::Tour, Grain::Whole));
            list.push((critical(false), Grain::Whole));
            if longest > 512 {
                list.push((Method::List, Grain::Words(512)));
                list.push((critical(true), Grain::Words(256)));
            }
            if streams.iter().any(|stream| stream.transfers.len() > 1) {
                list.push((Method::List, Grain::Message));
                list.push((critical(true), Grain::Message));
                list.push((critical(false), Grain::Message));
            }
        }
        list
    }

    fn attempt(&self, method: Method, jobs: Arc<Jobs>) -> Box<dyn Iterator<Item = Solution>> {
        match method {
            Method::Critical { bonus } => {
                let sequence = sequence::critical(&jobs, bonus);
                Box::new(std::iter::once_with(move || place(jobs, sequence)))
            }
            Method::Tour => {
                let sequence = sequence::tour(&jobs, self.component);
                Box::new(std::iter::once_with(move || place(jobs, sequence)))
            }
            Method::List => Box::new(std::iter::once_with(move || place_while(jobs, sequence::list))),
            Method::Colouring { orders } => {
                let orders = sequence::colouring(&jobs, 0..orders);
                Box::new(orders.into_iter().map(move |sequence| place(jobs.clone(), sequence)))
            }
        }
    }

    /// One forward-backward round.
    fn justify(solution: &Solution) -> Solution {
        let jobs = &solution.jobs;
        let mut order = solution.sequence.clone();
        let end = |job: u32, starts: &[u32]| starts[job as usize] + jobs.list[job as usize].words;
        order.sort_by_key(|&job| std::cmp::Reverse(end(job, &solution.starts)));
        let mut mirrored = Placement::new(jobs, true);
        for &job in &order {
            mirrored.place(job, 0);
        }
        let starts = std::mem::take(&mut mirrored.starts);
        order.sort_by_key(|&job| std::cmp::Reverse(end(job, &starts)));
        place(jobs.clone(), order)
    }
}
