//! One bit per slot of a port, with the three questions that first-fit placement asks.

/// Bits from position 0 up; everything past the stored words is free. Negative positions do not exist: callers add a pad.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    words: Vec<u64>,
    /// All bits below are set.
    low: u32,
    /// All bits from here up are clear.
    end: u32,
}

impl Timeline {
    /// First clear position.
    pub(crate) fn low(&self) -> u32 {
        self.low
    }

    /// One past the last set position.
    pub(crate) fn end(&self) -> u32 {
        self.end
    }

    /// Sets `[start, start + length)`.
    pub(crate) fn set(&mut self, start: u32, length: u32) {
        if length == 0 {
            return;
        }
        let last = start + length - 1;
        let (first_word, last_word) = ((start / 64) as usize, (last / 64) as usize);
        if self.words.len() <= last_word {
            self.words.resize(last_word + 1, 0);
        }
        let head = u64::MAX << (start % 64);
        let tail = u64::MAX >> (63 - last % 64);
        if first_word == last_word {
            self.words[first_word] |= head & tail;
        } else {
            self.words[first_word] |= head;
            for word in &mut self.words[first_word + 1..last_word] {
                *word = u64::MAX;
            }
            self.words[last_word] |= tail;
        }
        self.end = self.end.max(last + 1);
        if start <= self.low && self.low <= last {
            self.low = self.next_clear(last + 1);
        }
    }

    /// Whether the position is set.
    pub(crate) fn get(&self, position: u32) -> bool {
        self.words.get((position / 64) as usize).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    /// The last set position in `[start, start + length)`.
    pub(crate) fn last_set(&self, start: u32, length: u32) -> Option<u32> {
        if start >= self.end || length == 0 {
            return None;
        }
        let last = (start + length - 1).min(self.end - 1);
        let (first_word, mut at) = ((start / 64) as usize, (last / 64) as usize);
        let mut word = self.words[at] & (u64::MAX >> (63 - last % 64));
        loop {
            if at == first_word {
                word &= u64::MAX << (start % 64);
            }
            if word != 0 {
                return Some(at as u32 * 64 + 63 - word.leading_zeros());
            }
            if at == first_word {
                return None;
            }
            at -= 1;
            word = self.words[at];
        }
    }

    /// Whether any of `[start, start + length)` is set.
    pub(crate) fn any(&self, start: u32, length: u32) -> bool {
        self.last_set(start, length).is_some()
    }

    /// The number of set positions in `[start, start + length)`, `length` at most 64.
    pub(crate) fn count(&self, start: u32, length: u32) -> u32 {
        (start..start + length).filter(|&position| self.get(position)).count() as u32
    }

    /// The number of all set positions.
    pub(crate) fn ones(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The first clear position from `start` up.
    pub(crate) fn next_clear(&self, start: u32) -> u32 {
        let mut at = (start / 64) as usize;
        if at >= self.words.len() {
            return start;
        }
        let mut word = !self.words[at] & (u64::MAX << (start % 64));
        loop {
            if word != 0 {
                return at as u32 * 64 + word.trailing_zeros();
            }
            at += 1;
            match self.words.get(at) {
                Some(next) => word = !next,
                None => return at as u32 * 64,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_list_of_booleans(
            sets in prop::collection::vec((0u32..400, 0u32..150), 0..12),
            asks in prop::collection::vec((0u32..700, 1u32..200), 1..40),
        ) {
            let (mut line, mut plain) = (Timeline::default(), vec![false; 2000]);
            for (start, length) in sets {
                line.set(start, length);
                plain[start as usize..(start + length) as usize].fill(true);
                prop_assert_eq!(line.low() as usize, plain.iter().position(|b| !b).unwrap());
                prop_assert_eq!(line.end() as usize, plain.iter().rposition(|b| *b).map_or(0, |p| p + 1));
            }
            for (start, length) in asks {
                let window = &plain[start as usize..(start + length) as usize];
                prop_assert_eq!(line.last_set(start, length), window.iter().rposition(|b| *b).map(|p| start + p as u32));
                prop_assert_eq!(line.any(start, length), window.contains(&true));
                prop_assert_eq!(line.get(start), plain[start as usize]);
                let clear = (start as usize..plain.len()).find(|&p| !plain[p]).unwrap();
                prop_assert_eq!(line.next_clear(start) as usize, clear);
                let short = length.min(64);
                let ones = plain[start as usize..(start + short) as usize].iter().filter(|b| **b).count();
                prop_assert_eq!(line.count(start, short) as usize, ones);
            }
        }
    }
}
