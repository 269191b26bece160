//! Lower bounds of a phase's horizon (`exchange.md` 5.3).
//!
//! 1. Endpoint: the most words that a tile sends or receives.
//! 2. Fill and drain: the same with the shortest way in and out of each port.
//! 3. Clash: words that a tile sends from and receives into one bank, which exclude each other in time.

use ipuc_device::fabric::topology::{mux_to_memory, physical, route_time};

use super::banks::Banks;
use super::jobs::{Component, RECEIVE_GUARD};
use super::traffic::Traffic;

/// Lower bounds in cycles; each is true of every schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Bounds {
    /// (a) of the source: words only.
    pub endpoint: u32,
    /// (b): with fill and drain.
    pub fill_drain: u32,
    /// (c): sends and receives of one bank, without fill and drain.
    pub clash: u32,
}

impl Bounds {
    /// The sharpest of them.
    pub fn best(self) -> u32 {
        self.endpoint.max(self.fill_drain).max(self.clash)
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            endpoint: self.endpoint.max(other.endpoint),
            fill_drain: self.fill_drain.max(other.fill_drain),
            clash: self.clash.max(other.clash),
        }
    }
}

#[derive(Clone, Copy)]
struct Port {
    words: u32,
    /// Least time before the first word.
    fill: u32,
    /// Least time after the last word.
    drain: u32,
}

/// The bounds of one component; `contested` per local tile.
pub(crate) fn bounds(traffic: &Traffic, banks: &dyn Banks, component: &Component, contested: &[u64]) -> Bounds {
    let idle = Port { words: 0, fill: u32::MAX, drain: u32::MAX };
    let mut send = vec![idle; component.tiles.len()];
    let mut receive = vec![idle; component.tiles.len()];
    let mut clash = vec![Vec::new(); component.tiles.len()];
    for (tile, &set) in contested.iter().enumerate() {
        clash[tile] = vec![0u32; set.count_ones() as usize];
    }
    for stream in &component.streams {
        let first = stream.transfers[0];
        let source = component.local(traffic.source(first).tile) as usize;
        let s = physical(traffic.source(first).tile);
        let receivers: Vec<(usize, i32, i32)> = traffic
            .destinations(first)
            .iter()
            .map(|end| {
                let d = physical(end.tile);
                (component.local(end.tile) as usize, route_time(s, d), mux_to_memory(d))
            })
            .collect();
        let start = receivers.iter().map(|r| -r.1).max().unwrap_or(0).max(0);
        let latency = receivers.iter().map(|r| r.1 + r.2).max().unwrap_or(0);
        let port = &mut send[source];
        port.words += stream.words;
        port.fill = port.fill.min(start as u32);
        port.drain = port.drain.min((latency + 1) as u32 + RECEIVE_GUARD);
        for &(tile, tau, to_memory) in &receivers {
            let port = &mut receive[tile];
            port.words += stream.words;
            port.fill = port.fill.min((start + tau + 1 + to_memory) as u32);
            port.drain = RECEIVE_GUARD;
        }
        let mut add = |tile: usize, at: u64, words: u32| {
            let set = contested[tile];
            let mut left = set & if set == 0 { 0 } else { banks.set(at, 4 * words) };
            if left == 0 {
                return;
            }
            let single = left.is_power_of_two() && banks.change(at) >= at + 4 * u64::from(words);
            if single {
                clash[tile][(set & (left - 1)).count_ones() as usize] += words;
                return;
            }
            let (mut at, end) = (at, at + 4 * u64::from(words));
            while at < end && left != 0 {
                let next = banks.change(at).min(end);
                let here = banks.set(at, (next - at) as u32) & set;
                if here.is_power_of_two() {
                    clash[tile][(set & (here - 1)).count_ones() as usize] += ((next - at) / 4) as u32;
                }
                left &= !here;
                at = next;
            }
        };
        for &t in &stream.transfers {
            let words = traffic.words(t);
            add(source, traffic.source(t).at, words);
            for (&(tile, ..), end) in receivers.iter().zip(traffic.destinations(t)) {
                add(tile, end.at, words);
            }
        }
    }
    let mut result = Bounds::default();
    for port in send.iter().chain(&receive).filter(|port| port.words > 0) {
        result.endpoint = result.endpoint.max(port.words);
        result.fill_drain = result.fill_drain.max(port.words + port.fill + port.drain);
    }
    result.clash = clash.iter().flatten().copied().max().unwrap_or(0);
    result
}
