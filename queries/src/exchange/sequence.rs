//! Orders in which the jobs of a component are placed.
//!
//! In: [`Jobs`]. Out: a permutation of their indices (or, for the list order, a placement made on the way). None of the
//! orders is best for every shape (`scheduling-study.md` 0), so the search tries several. All are deterministic: ties
//! fall to the lower index, and shuffles are seeded by a constant.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ipuc_device::fabric::topology::physical;

use super::jobs::{Component, Jobs};
use super::placement::Placement;

/// Words left to place per port: senders first, then receivers.
fn loads(jobs: &Jobs) -> Vec<u32> {
    let tiles = jobs.contested.len();
    let mut load = vec![0; 2 * tiles];
    for job in &jobs.list {
        load[job.source as usize] += job.words;
        for r in jobs.receivers(job) {
            load[tiles + r.tile as usize] += job.words;
        }
    }
    // A tile whose sends and receives exclude each other is one port with the load of both.
    for tile in 0..tiles {
        if jobs.contested[tile] != 0 {
            let both = load[tile] + load[tiles + tile];
            (load[tile], load[tiles + tile]) = (both, both);
        }
    }
    load
}

/// The ports of each job, flat.
struct Ports {
    first: Vec<u32>,
    ports: Vec<u32>,
}

impl Ports {
    /// With both ports of a contested tile, since the job takes time from both.
    fn of(jobs: &Jobs) -> Self {
        let tiles = jobs.contested.len() as u32;
        let (mut first, mut ports) = (vec![0], Vec::new());
        for job in &jobs.list {
            ports.push(job.source);
            if jobs.contested[job.source as usize] != 0 {
                ports.push(tiles + job.source);
            }
            for r in jobs.receivers(job) {
                ports.push(tiles + r.tile);
                if jobs.contested[r.tile as usize] != 0 {
                    ports.push(r.tile);
                }
            }
            first.push(ports.len() as u32);
        }
        Self { first, ports }
    }
    fn of_job(&self, job: u32) -> &[u32] {
        &self.ports[self.first[job as usize] as usize..self.first[job as usize + 1] as usize]
    }
}

/// Critical first: of the port with the most words left, the job whose other ends have the most words left, plus half
/// its length when `bonus`.
pub(crate) fn critical(jobs: &Jobs, bonus: bool) -> Vec<u32> {
    let mut load = loads(jobs);
    let ports = Ports::of(jobs);
    let simple = jobs.contested.iter().all(|&set| set == 0);
    let mut pending: Vec<Vec<Entry>> = vec![Vec::new(); load.len()];
    for (index, job) in jobs.list.iter().enumerate() {
        let list = ports.of_job(index as u32);
        for &port in list {
            // With one other end its load is all that counts.
            let other = match list {
                &[a, b] if simple => a + b - port,
                _ => u32::MAX,
            };
            pending[port as usize].push(Entry { job: index as u32, other, words: job.words });
        }
    }
    let tiles = jobs.contested.len() as u32;
    let mut done = vec![false; jobs.list.len()];
    let mut order = Vec::with_capacity(jobs.list.len());
    let mut heap: BinaryHeap<(u32, Reverse<u32>)> = load
        .iter()
        .enumerate()
        .filter(|(_, load)| **load > 0)
        .map(|(port, &load)| (load, Reverse(port as u32)))
        .collect();
    while let Some((key, Reverse(port))) = heap.pop() {
        let now = load[port as usize];
        if now != key {
            if now > 0 {
                heap.push((now, Reverse(port)));
            }
            continue;
        }
        let list = &mut pending[port as usize];
        let (mut best, mut at) = (None, 0);
        while at < list.len() {
            let entry = list[at];
            if done[entry.job as usize] {
                list.swap_remove(at);
                continue;
            }
            let others = if entry.other == u32::MAX {
                ports
                    .of_job(entry.job)
                    .iter()
                    .filter(|&&p| p % tiles != port % tiles)
                    .map(|&p| load[p as usize])
                    .max()
                    .unwrap_or(0)
            } else {
                load[entry.other as usize]
            };
            let value = others + if bonus { entry.words / 2 } else { 0 };
            if best.is_none_or(|(v, Reverse(j))| (v, Reverse(j)) < (value, Reverse(entry.job))) {
                best = Some((value, Reverse(entry.job)));
            }
            at += 1;
        }
        let Some((_, Reverse(job))) = best else { continue };
        done[job as usize] = true;
        order.push(job);
        for &p in ports.of_job(job) {
            load[p as usize] -= jobs.list[job as usize].words;
        }
        if load[port as usize] > 0 {
            heap.push((load[port as usize], Reverse(port)));
        }
    }
    order
}

#[derive(Clone, Copy)]
struct Entry {
    job: u32,
    other: u32,
    words: u32,
}

/// List: the job that can start first by the ends of its ports; of those the one with the most words left at its ends
/// together. Places while it goes.
pub(crate) fn list(jobs: &Jobs, placement: &mut Placement<'_>) -> Vec<u32> {
    let mut load = loads(jobs);
    let ports = Ports::of(jobs);
    let key = |placement: &Placement<'_>, load: &[u32], job: u32| {
        let sum: u64 = ports.of_job(job).iter().map(|&p| u64::from(load[p as usize])).sum();
        (Reverse(placement.estimate(&jobs.list[job as usize])), sum, Reverse(job))
    };
    let mut heap: BinaryHeap<_> = (0..jobs.list.len() as u32).map(|job| key(placement, &load, job)).collect();
    let mut order = Vec::with_capacity(jobs.list.len());
    while let Some(entry) = heap.pop() {
        let Reverse(job) = entry.2;
        let now = key(placement, &load, job);
        // Both parts of a key only get worse; equal estimates with a smaller load keep the lead only against the next.
        if now != entry && heap.peek().is_some_and(|next| now < *next) {
            heap.push(now);
            continue;
        }
        placement.place(job, 0);
        order.push(job);
        for &p in ports.of_job(job) {
            load[p as usize] -= jobs.list[job as usize].words;
        }
    }
    order
}

/// Edge colouring of the jobs between senders and receivers (König, alternating paths); the colour is the wave. Only for
/// jobs with one receiver. `seed` 0 keeps the waves in order, others shuffle them.
pub(crate) fn colouring(jobs: &Jobs, seeds: std::ops::Range<u64>) -> Vec<Vec<u32>> {
    const FREE: u32 = u32::MAX;
    let tiles = jobs.contested.len();
    let ends = |job: u32| {
        let job = &jobs.list[job as usize];
        [job.source as usize, tiles + jobs.receivers(job)[0].tile as usize]
    };
    let mut degree = vec![0usize; 2 * tiles];
    for job in 0..jobs.list.len() as u32 {
        for port in ends(job) {
            degree[port] += 1;
        }
    }
    let colours = degree.iter().copied().max().unwrap_or(0);
    let mut table = vec![FREE; 2 * tiles * colours];
    let mut colour_of = vec![0usize; jobs.list.len()];
    let mut hint = vec![0usize; 2 * tiles];
    for job in 0..jobs.list.len() as u32 {
        let [u, v] = ends(job);
        let mut free = |table: &[u32], port: usize| {
            let mut colour = hint[port];
            while table[port * colours + colour] != FREE {
                colour += 1;
            }
            hint[port] = colour;
            colour
        };
        let (a, b) = (free(&table, u), free(&table, v));
        let colour = if table[v * colours + a] == FREE {
            a
        } else if table[u * colours + b] == FREE {
            b
        } else {
            // `a` is free at u and used at v, `b` the other way round: swap them along the path from v. The graph is
            // bipartite, so the path does not end at u.
            let (mut port, mut from, mut to) = (v, a, b);
            let mut carried = table[port * colours + from];
            table[port * colours + from] = FREE;
            while carried != FREE {
                let [x, y] = ends(carried);
                let other = x + y - port;
                let next = table[other * colours + to];
                table[port * colours + to] = carried;
                table[other * colours + to] = carried;
                if table[other * colours + from] == carried {
                    table[other * colours + from] = FREE;
                }
                colour_of[carried as usize] = to;
                hint[port] = 0;
                hint[other] = 0;
                port = other;
                carried = next;
                std::mem::swap(&mut from, &mut to);
            }
            a
        };
        table[u * colours + colour] = job;
        table[v * colours + colour] = job;
        colour_of[job as usize] = colour;
    }
    seeds
        .map(|seed| {
            let mut rank: Vec<usize> = (0..colours).collect();
            if seed > 0 {
                let mut state = seed;
                for i in (1..colours).rev() {
                    rank.swap(i, (split_mix(&mut state) % (i as u64 + 1)) as usize);
                }
            }
            let mut order: Vec<u32> = (0..jobs.list.len() as u32).collect();
            order.sort_by_key(|&job| rank[colour_of[job as usize]]);
            order
        })
        .collect()
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Senders of one column after the other, row by row: neighbours in this order have equal lags to all receivers
/// (`exchange.md` 1.4), so that receivers change source without idle slots.
pub(crate) fn tour(jobs: &Jobs, component: &Component) -> Vec<u32> {
    let mut order: Vec<u32> = (0..jobs.list.len() as u32).collect();
    order.sort_by_key(|&job| {
        let p = physical(component.tiles[jobs.list[job as usize].source as usize]).0;
        ((p >> 2) & 15, p & 1, p >> 6, (p >> 1) & 1, job)
    });
    order
}
