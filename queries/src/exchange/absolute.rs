//! Exchange problems with absolute addresses, as `ipuc schedule` reads them.
//!
//! In: JSON text or an [`AbsoluteProblem`]. Out: a schedule of it, or a [`Refusal`] that names the transfer.
//! 1. A problem that is accepted writes no word twice on a tile and neither sends and receives one.
//! 2. Addresses are multiples of 4 inside the memory that exchange may use.

use std::fmt;

use ipuc_device::fabric::rows::PlacedMessage;
use ipuc_device::memory::{self, TileId};
use serde::{Deserialize, Serialize};

use super::banks::ByAddress;
use super::search::Effort;
use super::timing::{self, Schedule};
use super::traffic::{Endpoint, Traffic};
use super::verify;

/// A transfer between byte addresses of logical tiles.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsoluteTransfer {
    /// Sending tile.
    pub source: u32,
    /// Byte address of the first word there.
    pub source_address: u32,
    /// 32-bit words.
    pub words: u32,
    /// Receiving tiles and byte addresses.
    pub destinations: Vec<(u32, u32)>,
}

/// A phase between byte addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsoluteProblem {
    /// Tiles of the machine; tile numbers are below it.
    pub tiles: u32,
    /// The transfers, independent of each other.
    pub transfers: Vec<AbsoluteTransfer>,
}

/// Why a problem is not scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The transfer at fault, by its index.
    pub transfer: Option<usize>,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.transfer {
            Some(index) => write!(f, "transfer {index}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for Refusal {}

impl AbsoluteProblem {
    /// Reads the JSON form.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        serde_json::from_str(text).map_err(|error| Refusal { transfer: None, reason: error.to_string() })
    }

    /// Checks the problem and gives it the scheduler's form.
    pub fn traffic(&self) -> Result<Traffic, Refusal> {
        if self.tiles == 0 || self.tiles > memory::TILES {
            let reason = format!("\"tiles\" is {}, not 1 to {}", self.tiles, memory::TILES);
            return Err(Refusal { transfer: None, reason });
        }
        let mut traffic = Traffic::default();
        for (index, transfer) in self.transfers.iter().enumerate() {
            self.check(transfer).map_err(|reason| Refusal { transfer: Some(index), reason })?;
            let mut ends: Vec<Endpoint> = transfer.destinations.iter().map(|&(tile, at)| endpoint(tile, at)).collect();
            ends.sort_unstable();
            traffic.push(endpoint(transfer.source, transfer.source_address), transfer.words, ends);
        }
        self.overlaps()?;
        Ok(traffic)
    }

    /// The placed pieces of a schedule of this problem, as the row builder takes them.
    pub fn messages(&self, schedule: &Schedule) -> Vec<PlacedMessage> {
        let placed = schedule.pieces.iter().map(|piece| {
            let t = &self.transfers[piece.transfer as usize];
            let offset = 4 * piece.first_word;
            PlacedMessage {
                source: TileId(t.source as u16),
                slot: piece.slot,
                address: t.source_address + offset,
                words: piece.words,
                destinations: t.destinations.iter().map(|&(d, a)| (TileId(d as u16), a + offset)).collect(),
            }
        });
        placed.collect()
    }

    fn check(&self, transfer: &AbsoluteTransfer) -> Result<(), String> {
        if transfer.words == 0 {
            return Err("no words".into());
        }
        if transfer.destinations.is_empty() {
            return Err("no destinations".into());
        }
        let place = |what: &str, tile: u32, at: u32| {
            if tile >= self.tiles {
                return Err(format!("{what} tile {tile} of {}", self.tiles));
            }
            let end = u64::from(at) + 4 * u64::from(transfer.words);
            if !at.is_multiple_of(4) {
                return Err(format!("{what} address {at} is not a multiple of 4"));
            }
            if at < memory::BASE || end > u64::from(memory::END) {
                return Err(format!(
                    "{what} bytes {at} to {end} are outside tile memory, {} to {}",
                    memory::BASE,
                    memory::END
                ));
            }
            Ok(())
        };
        place("source", transfer.source, transfer.source_address)?;
        let mut tiles: Vec<u32> = Vec::with_capacity(transfer.destinations.len());
        for &(tile, at) in &transfer.destinations {
            place("destination", tile, at)?;
            if tile == transfer.source {
                return Err(format!("tile {tile} sends to itself"));
            }
            tiles.push(tile);
        }
        tiles.sort_unstable();
        match tiles.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("destination tile {} twice", pair[0])),
            None => Ok(()),
        }
    }

    /// P1: sorted by tile and address, a write may overlap nothing.
    fn overlaps(&self) -> Result<(), Refusal> {
        let mut spans: Vec<(u32, u32, u32, bool, usize)> = Vec::new();
        for (index, t) in self.transfers.iter().enumerate() {
            spans.push((t.source, t.source_address, t.source_address + 4 * t.words, false, index));
            spans.extend(t.destinations.iter().map(|&(tile, at)| (tile, at, at + 4 * t.words, true, index)));
        }
        spans.sort_unstable();
        let (mut tile, mut read, mut written) = (u32::MAX, 0, 0);
        for &(t, start, end, write, index) in &spans {
            if t != tile {
                (tile, read, written) = (t, 0, 0);
            }
            let reason = if start < written && write {
                Some(format!("writes address {start} of tile {t}, which another transfer writes too"))
            } else if start < written || (write && start < read) {
                Some(format!("address {start} of tile {t} is both sent and received"))
            } else {
                None
            };
            if let Some(reason) = reason {
                return Err(Refusal { transfer: Some(index), reason });
            }
            if write {
                written = end;
            } else {
                read = read.max(end);
            }
        }
        Ok(())
    }
}

fn endpoint(tile: u32, at: u32) -> Endpoint {
    Endpoint { tile: TileId(tile as u16), at: u64::from(at) }
}

/// A scheduled problem.
#[derive(Clone, Debug)]
pub struct Report {
    /// The placed pieces, horizon and bounds.
    pub schedule: Schedule,
    /// Transfers of the problem.
    pub transfers: usize,
    /// Whether the independent check found nothing.
    pub valid: bool,
}

/// Schedules a problem with absolute addresses and checks the result.
pub fn schedule_absolute(problem: &AbsoluteProblem, effort: Effort) -> Result<Report, Refusal> {
    let traffic = problem.traffic()?;
    let schedule = timing::schedule(&traffic, &ByAddress, effort);
    let valid = verify::verify(&traffic, &ByAddress, &schedule.pieces).is_empty();
    Ok(Report { schedule, transfers: problem.transfers.len(), valid })
}
