//! First-fit placement of jobs on bit timelines.
//!
//! In: the [`Jobs`] of a component and a job after the other. Out: the start slot of each.
//! 1. Send windows of a tile are disjoint, receive windows too; all receivers of a job share its start
//!    (`exchange.md` 3.3, 3.4(1), 3.5(1)).
//! 2. No incoming control of a tile at the first two events of one of its messages (3.5(2)).
//! 3. A pointer and a source control of one tile share an event only where the row can always be encoded: the
//!    [`QUIET`] slots before hold no other control and no beginning or end of a send, so there is an instruction of two
//!    events or more that can be split to make the word index even (3.5(3)).
//! 4. A send and a receive of one tile that share a bank do not overlap in time, guard included (3.8).
//! 5. Placing a job never invalidates one that stands: the control set used here is the largest possible one
//!    (every source, neutral and pointer), and only shrinks when neighbours touch.
//!
//! The mirrored form runs time backwards (lags negated, no controls): it right-justifies, and its order of starts is a
//! good order for a forward placement.

use super::jobs::{Job, Jobs, RECEIVE_GUARD, SHORTEST_SEND};
use super::timeline::Timeline;

/// Slots before a pair of controls that must be quiet.
pub(crate) const QUIET: u32 = 3;
/// Added to positions that may be a little negative: mux time, bank windows, and all of mirrored time.
const PAD: i32 = 192;

/// The state of all ports of a component.
pub(crate) struct Placement<'a> {
    jobs: &'a Jobs,
    mirrored: bool,
    /// Send slots.
    send: Vec<Timeline>,
    /// Mux slots, padded.
    receive: Vec<Timeline>,
    /// Source and neutral controls, by event.
    sources: Vec<Timeline>,
    /// Pointer controls.
    pointers: Vec<Timeline>,
    /// Events of (2).
    forbidden: Vec<Timeline>,
    /// Events of (3).
    pairs: Vec<Timeline>,
    /// Per tile and contested bank: when sends read it, as a receive must see it; padded.
    reads: Vec<Timeline>,
    /// Per tile and contested bank: when receives write it, as a send must see it; padded.
    writes: Vec<Timeline>,
    /// Index of a tile's first contested bank.
    bank_base: Vec<u32>,
    /// Start of each placed job.
    pub(crate) starts: Vec<u32>,
    /// End of the last row.
    pub(crate) horizon: u32,
    /// Slot by slot refusals and placements so far: the work done.
    pub(crate) steps: u64,
}

impl<'a> Placement<'a> {
    pub(crate) fn new(jobs: &'a Jobs, mirrored: bool) -> Self {
        let tiles = jobs.contested.len();
        let rows = |count: usize| vec![Timeline::default(); count];
        let mut bank_base = Vec::with_capacity(tiles);
        let mut banks = 0;
        for set in &jobs.contested {
            bank_base.push(banks);
            banks += set.count_ones();
        }
        let controls = if mirrored { 0 } else { tiles };
        Self {
            jobs,
            mirrored,
            send: rows(tiles),
            receive: rows(tiles),
            sources: rows(controls),
            pointers: rows(controls),
            forbidden: rows(controls),
            pairs: rows(controls),
            reads: rows(banks as usize),
            writes: rows(banks as usize),
            bank_base,
            starts: vec![u32::MAX; jobs.list.len()],
            horizon: 0,
            steps: 0,
        }
    }

    /// The lag from a start to the mux position, padded.
    fn mux_lag(&self, tau: i32) -> i32 {
        PAD + if self.mirrored { -tau } else { tau }
    }

    /// The lag from a start to the first write, padded.
    fn write_lag(&self, tau: i32, to_memory: i32) -> i32 {
        let lag = tau + to_memory + 1;
        PAD + if self.mirrored { -lag } else { lag }
    }

    fn head(&self, job: &Job) -> u32 {
        if self.mirrored { job.tail.max(1) + PAD as u32 } else { job.head }
    }

    /// Earliest start that the ends of the ports allow.
    pub(crate) fn estimate(&self, job: &Job) -> u32 {
        let mut start = self.head(job).max(self.send[job.source as usize].end());
        for r in self.jobs.receivers(job) {
            let end = self.receive[r.tile as usize].end() as i32 - self.mux_lag(r.tau);
            start = start.max(end.max(0) as u32);
        }
        start
    }

    /// Places a job at its first possible start at `from` or later.
    pub(crate) fn place(&mut self, index: u32, from: u32) -> u32 {
        let jobs = self.jobs;
        let job = &jobs.list[index as usize];
        let start = self.find(job, from);
        self.mark(job, start);
        self.starts[index as usize] = start;
        start
    }

    fn find(&mut self, job: &Job, from: u32) -> u32 {
        let jobs = self.jobs;
        let receivers = jobs.receivers(job);
        let sender = job.source as usize;
        let mut start = from.max(self.head(job)).max(self.send[sender].low());
        for r in receivers {
            let low = self.receive[r.tile as usize].low() as i32 - self.mux_lag(r.tau);
            start = start.max(low.max(0) as u32);
        }
        let has_banks = job.banks != 0 || receivers.iter().any(|r| r.banks != 0);
        let rows = receivers.len() + 1;
        loop {
            // Ports: go round until all agree.
            let (mut row, mut agreed) = (0, 0);
            while agreed < rows {
                self.steps += 1;
                let (line, lag) = if row == 0 {
                    (&self.send[sender], 0)
                } else {
                    let r = &receivers[row - 1];
                    (&self.receive[r.tile as usize], self.mux_lag(r.tau))
                };
                match line.last_set((start as i32 + lag) as u32, job.words) {
                    None => agreed += 1,
                    Some(last) => {
                        // The window moved: what lies behind it may be taken, so this row is asked again too.
                        start = (line.next_clear(last + 1) as i32 - lag) as u32;
                        agreed = 0;
                        continue;
                    }
                }
                row = if row + 1 == rows { 0 } else { row + 1 };
            }
            if has_banks && let Some(later) = self.bank_conflict(job, start) {
                start = later;
                continue;
            }
            if self.mirrored || self.controls_fit(job, start) {
                return start;
            }
            start += 1;
        }
    }

    /// The next start to try, if a bank is busy (P4).
    fn bank_conflict(&self, job: &Job, start: u32) -> Option<u32> {
        let conflict = |line: &Timeline, lag: i32, length: u32| {
            line.last_set((start as i32 + lag) as u32, length)
                .map(|last| (line.next_clear(last + 1) as i32 - lag) as u32)
        };
        for row in self.bank_rows(job.source, job.banks) {
            if let Some(later) = conflict(&self.writes[row], PAD, job.words.max(SHORTEST_SEND)) {
                return Some(later);
            }
        }
        for r in self.jobs.receivers(job) {
            for row in self.bank_rows(r.tile, r.banks) {
                if let Some(later) = conflict(&self.reads[row], self.write_lag(r.tau, r.to_memory), job.words) {
                    return Some(later);
                }
            }
        }
        None
    }

    fn bank_rows(&self, tile: u32, set: u64) -> impl Iterator<Item = usize> + use<> {
        let contested = self.jobs.contested[tile as usize];
        let base = self.bank_base[tile as usize];
        let mut left = set & contested;
        std::iter::from_fn(move || {
            if left == 0 {
                return None;
            }
            let bit = left.trailing_zeros();
            left &= left - 1;
            Some((base + (contested & ((1u64 << bit) - 1)).count_ones()) as usize)
        })
    }

    /// (2) and (3) for a job at `start`.
    fn controls_fit(&self, job: &Job, start: u32) -> bool {
        let s = job.source as usize;
        for &offset in self.jobs.starts(job) {
            let slot = start + offset;
            if self.sources[s].any(slot, 2) || self.pointers[s].any(slot, 2) || self.pairs[s].any(slot, QUIET + 2) {
                return false;
            }
        }
        if self.pairs[s].any(start + job.words, QUIET + 2) {
            return false;
        }
        let pointers = self.jobs.pointers(job);
        self.jobs.receivers(job).iter().all(|r| {
            let d = r.tile as usize;
            let x = (start as i32 + r.tau + 1) as u32;
            let p = x + r.to_memory as u32;
            let own_pointer = |event: u32| event >= p && pointers.binary_search(&(event - p)).is_ok();
            let quiet = |event: u32| {
                let from = event.saturating_sub(QUIET);
                let length = event - from;
                let busy = self.send[d].count(from.saturating_sub(1), length + 1);
                !(self.sources[d].any(from, length)
                    || self.pointers[d].any(from, length)
                    || self.forbidden[d].any(from, length + 1)
                    || (busy != 0 && busy != length + 1)
                    || (from..event).any(|e| e == x || e == x + job.words || own_pointer(e)))
            };
            [x, x + job.words].into_iter().all(|event| {
                !self.forbidden[d].get(event)
                    && !self.pairs[d].any(event + 1, QUIET)
                    && (!(self.pointers[d].get(event) || own_pointer(event)) || quiet(event))
            }) && pointers.iter().all(|&offset| {
                let event = p + offset;
                !self.forbidden[d].get(event)
                    && !self.pairs[d].any(event + 1, QUIET)
                    && (!self.sources[d].get(event) || quiet(event))
            })
        })
    }

    /// The start of each job and the end of the last row.
    pub(crate) fn into_parts(self) -> (Vec<u32>, u32) {
        (self.starts, self.horizon)
    }

    /// About the words of the longest row and of all rows together, without delays.
    pub(crate) fn row_words(&self) -> (u32, u64) {
        let mut words: Vec<u32> = self.sources.iter().zip(&self.pointers).map(|(s, p)| s.ones() + p.ones()).collect();
        for job in &self.jobs.list {
            let starts = self.jobs.starts(job).len() as u32;
            let long = if job.words > 64 * starts { starts } else { 0 };
            words[job.source as usize] += starts + long;
        }
        (words.iter().copied().max().unwrap_or(0), words.iter().map(|&w| u64::from(w)).sum())
    }

    fn mark(&mut self, job: &Job, start: u32) {
        let jobs = self.jobs;
        let s = job.source as usize;
        self.steps += 1;
        self.send[s].set(start, job.words);
        let (guard_reads, guard_writes) = if self.mirrored {
            ((0, RECEIVE_GUARD), (RECEIVE_GUARD, 0))
        } else {
            ((RECEIVE_GUARD, 0), (0, RECEIVE_GUARD))
        };
        for row in self.bank_rows(job.source, job.banks) {
            let from = (start as i32 + PAD) as u32 - guard_reads.0;
            self.reads[row].set(from, job.words.max(SHORTEST_SEND) + guard_reads.0 + guard_reads.1);
        }
        let mut end = start + job.words.max(SHORTEST_SEND);
        for r in jobs.receivers(job) {
            let d = r.tile as usize;
            let mux = (start as i32 + self.mux_lag(r.tau)) as u32;
            self.receive[d].set(mux, job.words);
            for row in self.bank_rows(r.tile, r.banks) {
                let from = (start as i32 + self.write_lag(r.tau, r.to_memory)) as u32 - guard_writes.0;
                self.writes[row].set(from, job.words + guard_writes.0 + guard_writes.1);
            }
            if self.mirrored {
                continue;
            }
            let x = (start as i32 + r.tau + 1) as u32;
            let p = x + r.to_memory as u32;
            for event in [x, x + job.words] {
                self.sources[d].set(event, 1);
                if self.pointers[d].get(event) {
                    self.pairs[d].set(event, 1);
                }
            }
            for &offset in jobs.pointers(job) {
                let event = p + offset;
                self.pointers[d].set(event, 1);
                if self.sources[d].get(event) {
                    self.pairs[d].set(event, 1);
                }
            }
            end = end.max(p + job.words + RECEIVE_GUARD);
        }
        if !self.mirrored {
            for &offset in jobs.starts(job) {
                self.forbidden[s].set(start + offset, 2);
            }
            self.horizon = self.horizon.max(end);
        }
    }
}
