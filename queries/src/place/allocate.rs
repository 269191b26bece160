//! The allocator: buffers with lifetimes and bank constraints to addresses.
//!
//! A two-ended arena: standard buffers grow from its low end (they may straddle the region boundary), interleaved ones
//! from its high end down, never below the boundary. Buffers are placed in order of size, largest first, ties in the
//! order of the requests; each at the first address from its end that no constraint forbids. So the result is a pure
//! function of the requests, and a small buffer never moves a large one.
//!
//! Properties of an [`Allocation`]:
//! 1. Buffers whose lifetimes meet do not overlap.
//! 2. Buffers that are `apart` and whose lifetimes meet share no bank (16 KiB element, 32 KiB pair).
//! 3. Interleaved buffers lie in region 1.
//! 4. Every address is a multiple of 32 bytes.
//! 5. It always completes: what does not fit lies past the end of memory, on a virtual tile, and is counted. A virtual
//!    buffer touches no other one and crosses no multiple of [`ADDRESS_LIMIT`], so that rows that only count it keep their
//!    shape when its addresses wrap.

use ipuc_device::fabric::row::ADDRESS_LIMIT;
use ipuc_device::memory::{ELEMENT, ELEMENT_PAIR, END, INTERLEAVED_BASE, LOADABLE_END, bank_end};

use crate::lower::ir::MemoryClass;

/// Alignment of every buffer in bytes: the GEMM operands need it, and an atom has it.
pub const ALIGNMENT: u32 = 32;

/// One buffer to place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Size.
    pub bytes: u32,
    /// Region.
    pub class: MemoryClass,
    /// First and last step in which it is live.
    pub live: (u32, u32),
    /// Requests with which it may not share a bank.
    pub apart: Vec<u32>,
}

/// Where everything lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Allocation {
    /// Address of each request.
    pub addresses: Vec<u32>,
    /// One past the highest byte of the low end's buffers.
    pub standard_end: u32,
    /// The lowest byte of the high end's buffers.
    pub interleaved_start: u32,
    /// Requests that lie past the end of memory.
    pub overflow: Vec<u32>,
}

impl Allocation {
    /// Bytes of data memory in use on a tile, gaps included, without overflow. The two ends may use the same bytes at
    /// different times, which count once.
    pub fn data_bytes(&self, base: u32) -> u32 {
        (self.standard_end - base) + (LOADABLE_END - self.interleaved_start.max(self.standard_end))
    }
}

/// First address of the bank that holds `address`.
fn bank_start(address: u32) -> u32 {
    if address < INTERLEAVED_BASE {
        address / ELEMENT * ELEMENT
    } else {
        INTERLEAVED_BASE + (address - INTERLEAVED_BASE) / ELEMENT_PAIR * ELEMENT_PAIR
    }
}

fn meet(a: (u32, u32), b: (u32, u32)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// Places `requests` in the data memory from `base` up.
pub fn allocate(requests: &[Request], base: u32) -> Allocation {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(requests[i].bytes), i));
    let mut addresses = vec![0u32; requests.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut result =
        Allocation { addresses: Vec::new(), standard_end: base, interleaved_start: LOADABLE_END, overflow: Vec::new() };
    let mut virtual_end = END.next_multiple_of(ELEMENT_PAIR);
    for &i in &order {
        let request = &requests[i];
        if request.bytes == 0 {
            addresses[i] = base;
            continue;
        }
        let mut forbidden: Vec<(u32, u32)> = placed
            .iter()
            .filter(|&&p| meet(requests[p].live, request.live))
            .map(|&p| {
                let (start, end) = (addresses[p], addresses[p] + requests[p].bytes);
                if request.apart.contains(&(p as u32)) || requests[p].apart.contains(&(i as u32)) {
                    (bank_start(start), bank_end(end - 1))
                } else {
                    (start, end)
                }
            })
            .collect();
        forbidden.sort_unstable();
        let found = match request.class {
            MemoryClass::Standard => lowest(base, request.bytes, &forbidden),
            MemoryClass::Interleaved => highest(request.bytes, &forbidden),
        };
        if let Some(address) = found {
            addresses[i] = address;
            match request.class {
                MemoryClass::Standard => result.standard_end = result.standard_end.max(address + request.bytes),
                MemoryClass::Interleaved => result.interleaved_start = result.interleaved_start.min(address),
            }
        } else {
            if virtual_end % ADDRESS_LIMIT + request.bytes > ADDRESS_LIMIT {
                virtual_end = virtual_end.next_multiple_of(ADDRESS_LIMIT);
            }
            addresses[i] = virtual_end;
            virtual_end = (virtual_end + request.bytes + 1).next_multiple_of(ELEMENT_PAIR);
            result.overflow.push(i as u32);
        }
        placed.push(i);
    }
    result.overflow.sort_unstable();
    result.addresses = addresses;
    result
}

/// The lowest aligned address from `base` at which `bytes` bytes avoid the sorted `forbidden` intervals.
fn lowest(base: u32, bytes: u32, forbidden: &[(u32, u32)]) -> Option<u32> {
    let mut at = base.next_multiple_of(ALIGNMENT);
    for &(start, end) in forbidden {
        if at + bytes <= start {
            break;
        }
        at = at.max(end.next_multiple_of(ALIGNMENT));
    }
    (at + bytes <= LOADABLE_END).then_some(at)
}

/// The highest aligned address in region 1 at which `bytes` bytes avoid the sorted `forbidden` intervals.
fn highest(bytes: u32, forbidden: &[(u32, u32)]) -> Option<u32> {
    let down = |end: u32| end.checked_sub(bytes).map(|a| a / ALIGNMENT * ALIGNMENT);
    let mut at = down(LOADABLE_END)?;
    // By falling ends: an interval with a lower end can't block a place above it.
    let mut by_end: Vec<(u32, u32)> = forbidden.to_vec();
    by_end.sort_unstable_by_key(|&(start, end)| std::cmp::Reverse((end, start)));
    for (start, end) in by_end {
        if end <= at {
            break;
        }
        if start < at + bytes {
            at = down(start)?;
        }
    }
    (at >= INTERLEAVED_BASE).then_some(at)
}

/// Violations of the properties above; empty for every result of [`allocate`].
pub fn verify(requests: &[Request], allocation: &Allocation, base: u32) -> Vec<String> {
    let mut violations = Vec::new();
    for (i, a) in requests.iter().enumerate().filter(|(_, r)| r.bytes > 0) {
        let at = allocation.addresses[i];
        let over = allocation.overflow.contains(&(i as u32));
        if !at.is_multiple_of(ALIGNMENT) {
            violations.push(format!("buffer {i} at {at:#x} is not aligned"));
        }
        if !over && (at < base || at + a.bytes > LOADABLE_END) {
            violations.push(format!("buffer {i} at {at:#x} lies outside data memory"));
        }
        if !over && a.class == MemoryClass::Interleaved && at < INTERLEAVED_BASE {
            violations.push(format!("interleaved buffer {i} at {at:#x} lies in region 0"));
        }
        for (j, b) in requests.iter().enumerate().take(i).filter(|(_, r)| r.bytes > 0 && meet(r.live, a.live)) {
            let bt = allocation.addresses[j];
            if at < bt + b.bytes && bt < at + a.bytes {
                violations.push(format!("buffers {j} and {i} overlap"));
            }
            let apart = a.apart.contains(&(j as u32)) || b.apart.contains(&(i as u32));
            let (a0, a1) = (bank_start(at), bank_end(at + a.bytes - 1));
            if apart && a0 < bank_end(bt + b.bytes - 1) && bank_start(bt) < a1 {
                violations.push(format!("buffers {j} and {i} share a bank"));
            }
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: u32 = 0x60000;

    fn request(bytes: u32, class: MemoryClass) -> Request {
        Request { bytes, class, live: (0, 1), apart: vec![] }
    }

    #[test]
    fn a_large_left_operand_straddles_the_boundary() {
        let mut left = request(350 * 1024, MemoryClass::Standard);
        left.apart = vec![2];
        let requests =
            [left, request(61 * 1024, MemoryClass::Interleaved), request(73 * 1024, MemoryClass::Interleaved)];
        let allocation = allocate(&requests, BASE);
        assert_eq!(allocation.addresses[0], BASE);
        assert_eq!(allocation.overflow, [0u32; 0]);
        assert_eq!(verify(&requests, &allocation, BASE), [""; 0]);
    }

    #[test]
    fn what_does_not_fit_is_virtual_and_counted() {
        let requests = [request(400 << 10, MemoryClass::Interleaved), request(400 << 10, MemoryClass::Interleaved)];
        let allocation = allocate(&requests, BASE);
        assert_eq!(allocation.overflow, [1]);
        assert!(allocation.addresses[1] >= END);
        // From `END` it would cross 1 MiB, where addresses of rows wrap.
        assert_eq!(
            allocation.addresses[1] / ADDRESS_LIMIT,
            (allocation.addresses[1] + (400 << 10) - 1) / ADDRESS_LIMIT
        );
        assert_eq!(verify(&requests, &allocation, BASE), [""; 0]);
    }

    #[test]
    fn memory_is_reused_after_the_last_use() {
        let mut requests = vec![request(300 << 10, MemoryClass::Standard), request(300 << 10, MemoryClass::Standard)];
        requests[1].live = (2, 3);
        let allocation = allocate(&requests, BASE);
        assert_eq!(allocation.addresses, [BASE, BASE]);
    }

    #[test]
    fn bytes_used_from_both_ends_in_turn_count_once() {
        let mut requests =
            vec![request(500 << 10, MemoryClass::Standard), request(300 << 10, MemoryClass::Interleaved)];
        requests[1].live = (2, 3);
        let allocation = allocate(&requests, BASE);
        assert_eq!(allocation.overflow, [0u32; 0]);
        assert_eq!(allocation.data_bytes(BASE), LOADABLE_END - BASE);
    }

    proptest! {
        #[test]
        fn properties_hold(specs in proptest::collection::vec((1u32..4000, any::<bool>(), 0u32..6, 0u32..4, proptest::collection::vec(0u32..12, 0..3)), 1..12)) {
            let count = specs.len() as u32;
            let requests: Vec<Request> = specs
                .into_iter()
                .enumerate()
                .map(|(i, (size, interleaved, from, length, apart))| Request {
                    bytes: size * 32,
                    class: if interleaved { MemoryClass::Interleaved } else { MemoryClass::Standard },
                    live: (from, from + length),
                    apart: apart.into_iter().filter(|&a| a < count && a != i as u32).collect(),
                })
                .collect();
            let allocation = allocate(&requests, BASE);
            prop_assert_eq!(verify(&requests, &allocation, BASE), Vec::<String>::new());
            prop_assert_eq!(&allocation, &allocate(&requests, BASE));
        }
    }
}
