//! Which places of a phase share a memory bank, without the addresses themselves.
//!
//! In: the buffers of a phase and their addresses. Out: [`ClashSig`], equal for any addresses that cut the buffers into
//! banks at the same offsets and put the same parts together; so an address that moves without changing that ends here.
//! 1. Labels are numbered by first appearance in the order of the buffers (sorted) and offsets.
//! 2. Two places share a label exactly when they share a bank (`exchange.md` 3.8: element below 0x80000, pair above).
//! 3. A chip has 45 banks, so a set of labels is a 64-bit word; a layout beyond the end of memory shares the last label.

use ipuc_device::memory;

use super::problem::{Place, Problem};
use super::traffic;
use crate::lower::ir::BufferRef;

/// The bank structure of places, as the placement asks for it.
pub trait Banks: Sync {
    /// The set of banks that `bytes` bytes from `at` touch, one bit a bank.
    fn set(&self, at: u64, bytes: u32) -> u64;
    /// The first place after `at` that may lie in another bank.
    fn change(&self, at: u64) -> u64;
}

/// No two places share a bank: what an order assumes.
#[derive(Clone, Copy, Debug)]
pub struct Apart;

impl Banks for Apart {
    fn set(&self, _at: u64, _bytes: u32) -> u64 {
        0
    }
    fn change(&self, _at: u64) -> u64 {
        u64::MAX
    }
}

/// Places are byte addresses of tile memory.
#[derive(Clone, Copy, Debug)]
pub struct ByAddress;

impl Banks for ByAddress {
    fn set(&self, at: u64, bytes: u32) -> u64 {
        memory::bank_set(at as u32, bytes)
    }
    fn change(&self, at: u64) -> u64 {
        u64::from(memory::bank_end(at as u32))
    }
}

/// The bank structure of a phase's buffers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClashSig {
    /// For each buffer in sorted order: (byte offset where a bank begins, its label), the first at offset 0.
    buffers: Vec<Vec<(u32, u8)>>,
    /// Names of the buffers, for [`ClashSig::labels`].
    names: Vec<BufferRef>,
}

impl ClashSig {
    /// The labels of `words` words at a place, one bit a label; empty for a buffer that the phase does not use.
    pub fn labels(&self, place: Place, words: u32) -> u64 {
        match self.names.binary_search(&place.buffer) {
            Ok(index) => self.set(((index as u64) << 32) + u64::from(place.offset), 4 * words),
            Err(_) => 0,
        }
    }
}

impl Banks for ClashSig {
    fn set(&self, at: u64, bytes: u32) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let parts = &self.buffers[(at >> 32) as usize];
        let (first, last) = (at as u32, at as u32 + (bytes - 1));
        let from = parts.partition_point(|part| part.0 <= first).saturating_sub(1);
        parts[from..].iter().take_while(|part| part.0 <= last).fold(0, |set, part| set | 1 << part.1)
    }
    fn change(&self, at: u64) -> u64 {
        let parts = &self.buffers[(at >> 32) as usize];
        parts
            .get(parts.partition_point(|part| part.0 <= at as u32))
            .map_or(u64::MAX, |part| (at >> 32 << 32) + u64::from(part.0))
    }
}

/// The bank structure of the buffers of `problem` at the given byte addresses; `size_of` in bytes.
pub fn clash(problem: &Problem, address_of: &dyn Fn(BufferRef) -> u32, size_of: &dyn Fn(BufferRef) -> u32) -> ClashSig {
    let names = traffic::buffers(problem);
    let mut label_of: Vec<memory::Bank> = Vec::new();
    let buffers = names
        .iter()
        .map(|&name| {
            let (start, size) = (address_of(name), size_of(name).max(1));
            let (mut parts, mut address) = (Vec::new(), start);
            while address < start + size {
                let bank = memory::bank(address);
                let label = label_of.iter().position(|&known| known == bank).unwrap_or_else(|| {
                    label_of.push(bank);
                    label_of.len() - 1
                });
                parts.push((address - start, label.min(63) as u8));
                address = memory::bank_end(address);
            }
            parts
        })
        .collect();
    ClashSig { buffers, names }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::problem::{Destination, Transfer};
    use ipuc_device::memory::TileId;

    fn two_buffers() -> Problem {
        let place = |buffer, offset| Place { buffer: BufferRef::Own(buffer), offset };
        Problem {
            transfers: vec![Transfer {
                source: TileId(0),
                at: place(3, 0),
                words: 8,
                destinations: vec![Destination { tile: TileId(1), at: place(7, 0) }],
            }],
        }
    }

    fn sig(first: u32, second: u32) -> ClashSig {
        let address = move |b| if b == BufferRef::Own(3) { first } else { second };
        clash(&two_buffers(), &address, &|_| 0x5000)
    }

    #[test]
    fn addresses_that_keep_the_structure_give_an_equal_value() {
        assert_eq!(sig(0x5c000, 0x64000), sig(0x60000, 0x6c000));
        // Two buffers of 0x5000 bytes: apart, or the second begins in the last bank of the first.
        assert_ne!(sig(0x5c000, 0x64000), sig(0x5c000, 0x61000));
        // The same boundary, but in region 1 a bank holds both parts.
        assert_ne!(sig(0x5c000, 0x64000), sig(0x80000, 0x90000));
    }

    #[test]
    fn labels_follow_the_banks() {
        let place = |buffer, offset| Place { buffer: BufferRef::Own(buffer), offset };
        let s = sig(0x5d000, 0x62000);
        assert_eq!(s.labels(place(3, 0), 8), 0b01);
        assert_eq!(s.labels(place(3, 0x2ff0), 8), 0b11);
        assert_eq!(s.labels(place(7, 0), 8), 0b10);
        assert_eq!(s.labels(place(7, 0x2000), 8), 0b100);
        assert_eq!(s.labels(place(9, 0), 8), 0);
        assert_eq!(s.change(0), 0x3000);
        assert_eq!(s.change(0x3000), u64::MAX);
    }
}
