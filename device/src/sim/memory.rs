//! The memory of one simulated tile: 624 KiB, and one bit per 32-bit word that says whether anybody wrote it.
//!
//! 1. Accesses are naturally aligned and inside 0x4c000 .. 0xe8000; 128-bit ones lie in interleaved memory
//!    (`semantics.md` 3.1, 3.2).
//! 2. Pages that nobody touches cost nothing: the allocator hands out zero pages.

use super::fault::{FaultKind, Outcome, trouble};
use crate::memory::{BASE, END, INTERLEAVED_BASE, SIZE};

/// One tile's memory.
pub(super) struct Memory {
    bytes: Box<[u8]>,
    written: Box<[u64]>,
    check_unwritten: bool,
}

/// The element port that an access of at most 8 bytes uses (`semantics.md` 3.3): the 16 KiB element in region 0; pair and
/// address bit 3 in region 1.
#[inline]
pub(super) fn element(address: u32) -> u32 {
    if address < INTERLEAVED_BASE {
        address >> 14
    } else {
        0x100 + (((address - INTERLEAVED_BASE) >> 15) << 1) + ((address >> 3) & 1)
    }
}

impl Memory {
    pub(super) fn new(check_unwritten: bool) -> Self {
        Self {
            bytes: vec![0; SIZE as usize].into_boxed_slice(),
            written: vec![0; SIZE as usize / 4 / 64].into_boxed_slice(),
            check_unwritten,
        }
    }

    /// Whether `bytes` bytes at `address` lie in tile memory.
    pub(super) fn contains(address: u32, bytes: u32) -> bool {
        (BASE..=END).contains(&address) && bytes <= END - address
    }

    /// What lies at `address`; the range must be inside.
    pub(super) fn slice(&self, address: u32, bytes: u32) -> &[u8] {
        let start = (address - BASE) as usize;
        &self.bytes[start..start + bytes as usize]
    }

    /// Stores bytes as a loader would; the range must be inside.
    pub(super) fn load(&mut self, address: u32, bytes: &[u8]) {
        let start = (address - BASE) as usize;
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        if !bytes.is_empty() {
            self.mark(start / 4, (start + bytes.len()).div_ceil(4));
        }
    }

    fn mark(&mut self, first_word: usize, end_word: usize) {
        let mut word = first_word;
        while word < end_word {
            let (index, bit) = (word / 64, word % 64);
            let count = (end_word - word).min(64 - bit);
            let ones = if count == 64 { u64::MAX } else { ((1 << count) - 1) << bit };
            self.written[index] |= ones;
            word += count;
        }
    }

    /// First of `words` words at `address` that nobody wrote; `None` when unwritten reads are allowed.
    pub(super) fn first_unwritten(&self, address: u32, words: u32) -> Option<u32> {
        if !self.check_unwritten {
            return None;
        }
        let start = ((address - BASE) / 4) as usize;
        (start..start + words as usize).find(|w| self.written[w / 64] >> (w % 64) & 1 == 0).map(|w| BASE + 4 * w as u32)
    }

    /// Alignment and range of an access of `SIZE` bytes; its index into the memory.
    #[inline]
    pub(super) fn locate<const BYTES: u32>(address: u32) -> Outcome<usize> {
        if address & (BYTES - 1) != 0 {
            return misaligned(address, BYTES);
        }
        if address.wrapping_sub(BASE) >= SIZE {
            return outside(address);
        }
        if BYTES == 16 && address < INTERLEAVED_BASE {
            return trouble(
                FaultKind::NotInterleaved,
                format!("address {address:#x} lies below {INTERLEAVED_BASE:#x}"),
            );
        }
        Ok((address - BASE) as usize)
    }

    /// Complains when a word of `BYTES` bytes at an index was never written.
    #[inline]
    fn known<const BYTES: u32>(&self, index: usize) -> Outcome {
        let word = index / 4;
        let ones: u64 = match BYTES {
            16 => 15,
            8 => 3,
            _ => 1,
        };
        // Aligned accesses never straddle a group of 64 words.
        if (self.written[word / 64] >> (word % 64)) & ones != ones && self.check_unwritten {
            return unwritten(BASE + index as u32, BYTES);
        }
        Ok(())
    }

    /// An 8, 16 or 32-bit value, zero-extended. `wanted` is false for loads to a zero register, which perform the access
    /// and drop the value.
    #[inline]
    pub(super) fn read<const BYTES: u32>(&self, address: u32, wanted: bool) -> Outcome<u32> {
        let index = Self::locate::<BYTES>(address)?;
        if wanted {
            self.known::<BYTES>(index)?;
        }
        let b = &self.bytes[index..];
        Ok(match BYTES {
            1 => u32::from(b[0]),
            2 => u32::from(u16::from_le_bytes([b[0], b[1]])),
            _ => u32::from_le_bytes([b[0], b[1], b[2], b[3]]),
        })
    }

    /// A 64-bit value.
    #[inline]
    pub(super) fn read64(&self, address: u32, wanted: bool) -> Outcome<u64> {
        let index = Self::locate::<8>(address)?;
        if wanted {
            self.known::<8>(index)?;
        }
        Ok(self.word64(index))
    }

    /// Two 64-bit values, low address first, from interleaved memory.
    #[inline]
    pub(super) fn read128(&self, address: u32, wanted: bool) -> Outcome<[u64; 2]> {
        let index = Self::locate::<16>(address)?;
        if wanted {
            self.known::<16>(index)?;
        }
        Ok([self.word64(index), self.word64(index + 8)])
    }

    #[inline]
    fn word64(&self, index: usize) -> u64 {
        let b: &[u8; 8] = self.bytes[index..index + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(*b)
    }

    /// Stores 32 bits.
    #[inline]
    pub(super) fn write32(&mut self, address: u32, value: u32) -> Outcome {
        let index = Self::locate::<4>(address)?;
        self.bytes[index..index + 4].copy_from_slice(&value.to_le_bytes());
        self.written[index / 256] |= 1 << (index / 4 % 64);
        Ok(())
    }

    /// Stores 64 bits.
    #[inline]
    pub(super) fn write64(&mut self, address: u32, value: u64) -> Outcome {
        let index = Self::locate::<8>(address)?;
        self.bytes[index..index + 8].copy_from_slice(&value.to_le_bytes());
        self.written[index / 256] |= 3 << (index / 4 % 64);
        Ok(())
    }

    /// The two words at an instruction address (the second one only matters to bundles).
    #[inline]
    pub(super) fn fetch(&self, pc: u32) -> Outcome<u64> {
        if pc & 3 != 0 {
            return trouble(FaultKind::InvalidPc, format!("program counter {pc:#x} is no multiple of 4"));
        }
        if pc.wrapping_sub(BASE) >= INTERLEAVED_BASE - BASE {
            return trouble(
                FaultKind::InvalidPc,
                format!("instructions lie in {BASE:#x} .. {INTERLEAVED_BASE:#x}, not at {pc:#x}"),
            );
        }
        Ok(self.word64((pc - BASE) as usize))
    }
}

#[cold]
fn misaligned<T>(address: u32, bytes: u32) -> Outcome<T> {
    trouble(FaultKind::Misaligned, format!("address {address:#x} is no multiple of {bytes}"))
}

#[cold]
fn outside<T>(address: u32) -> Outcome<T> {
    trouble(FaultKind::InvalidAddress, format!("address {address:#x} is outside {BASE:#x} .. {END:#x}"))
}

#[cold]
fn unwritten<T>(address: u32, bytes: u32) -> Outcome<T> {
    trouble(FaultKind::Unwritten, format!("{bytes} bytes at {address:#x} were never written"))
}
