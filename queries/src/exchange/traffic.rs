//! The scheduler's own form of a phase: tiles, words, and a number for every place.
//!
//! In: a [`Problem`] (buffers and offsets) or absolute addresses. Out: [`Traffic`], flat arrays.
//! 1. A place is a 64-bit number; two places are consecutive words when the numbers differ by 4. For a [`Problem`] it is
//!    the index of the buffer in the sorted list of the problem's buffers, shifted by 32, plus the byte offset, so nothing
//!    here depends on an address.
//! 2. Transfers keep the order of the problem, destinations the order of the transfer.

use ipuc_device::memory::TileId;

use super::problem::Problem;
use crate::lower::ir::BufferRef;

/// A tile and a place on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// The tile.
    pub tile: TileId,
    /// The place, see P1 of this file.
    pub at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Row {
    source: Endpoint,
    words: u32,
    first: u32,
    count: u32,
}

/// All transfers of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Traffic {
    rows: Vec<Row>,
    ends: Vec<Endpoint>,
}

impl Traffic {
    /// The transfers of a problem.
    pub fn of(problem: &Problem) -> Self {
        let buffers = buffers(problem);
        let place = |buffer: BufferRef, offset: u32| {
            let index = buffers.binary_search(&buffer).expect("invariant: every buffer of the problem is listed");
            ((index as u64) << 32) + u64::from(offset)
        };
        let mut traffic = Self::default();
        for transfer in &problem.transfers {
            let source = Endpoint { tile: transfer.source, at: place(transfer.at.buffer, transfer.at.offset) };
            traffic.push(
                source,
                transfer.words,
                transfer.destinations.iter().map(|d| Endpoint { tile: d.tile, at: place(d.at.buffer, d.at.offset) }),
            );
        }
        traffic
    }

    /// Adds a transfer.
    pub fn push(&mut self, source: Endpoint, words: u32, destinations: impl IntoIterator<Item = Endpoint>) {
        let first = self.ends.len() as u32;
        self.ends.extend(destinations);
        self.rows.push(Row { source, words, first, count: self.ends.len() as u32 - first });
    }

    /// Number of transfers.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Sender of a transfer.
    pub fn source(&self, transfer: u32) -> Endpoint {
        self.rows[transfer as usize].source
    }

    /// Words of a transfer.
    pub fn words(&self, transfer: u32) -> u32 {
        self.rows[transfer as usize].words
    }

    /// Receivers of a transfer.
    pub fn destinations(&self, transfer: u32) -> &[Endpoint] {
        let row = &self.rows[transfer as usize];
        &self.ends[row.first as usize..(row.first + row.count) as usize]
    }

    /// Receivers of all transfers together.
    pub fn endpoints(&self) -> usize {
        self.ends.len()
    }

    /// One past the highest tile number in use.
    pub fn tiles(&self) -> usize {
        let senders = self.rows.iter().map(|row| row.source.tile.index() + 1).max().unwrap_or(0);
        let receivers = self.ends.iter().map(|end| end.tile.index() + 1).max().unwrap_or(0);
        senders.max(receivers)
    }
}

/// The buffers that a problem names, sorted; their index is the upper half of a place.
pub fn buffers(problem: &Problem) -> Vec<BufferRef> {
    let mut list: Vec<BufferRef> = Vec::new();
    // Few buffers and many transfers: look the last hits up before sorting anything.
    let mut seen = std::collections::BTreeSet::new();
    let mut note = |buffer: BufferRef| {
        if list.last() != Some(&buffer) && seen.insert(buffer) {
            list.push(buffer);
        }
    };
    for transfer in &problem.transfers {
        note(transfer.at.buffer);
        for destination in &transfer.destinations {
            note(destination.at.buffer);
        }
    }
    list.sort_unstable();
    list.dedup();
    list
}
