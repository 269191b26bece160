//! Who listens to which slots of a sender.

/// Slots of a sender to which a tile listens.
#[derive(Clone, Copy)]
pub(super) struct Listening {
    pub(super) sender: u16,
    pub(super) listener: u16,
    pub(super) slot: u32,
    pub(super) end: u32,
}

/// Slots of a sender with the same listeners.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) slot: u32,
    pub(super) end: u32,
    pub(super) count: u32,
    /// Exclusive or of the listeners: the listener itself when there is one.
    pub(super) all: u16,
}

/// Disjoint parts in slot order; slots without listeners are left out. `listening` is sorted by slot and end.
pub(super) fn parts(listening: &[Listening]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for group in listening.chunk_by(|a, b| (a.slot, a.end) == (b.slot, b.end)) {
        let all = group.iter().fold(0, |all, l| all ^ l.listener);
        let part = Part { slot: group[0].slot, end: group[0].end, count: group.len() as u32, all };
        if parts.last().is_some_and(|last| last.end > part.slot) {
            return overlapping_parts(listening);
        }
        parts.push(part);
    }
    parts
}

/// As [`parts`], where listeners come and go in the middle of others.
fn overlapping_parts(listening: &[Listening]) -> Vec<Part> {
    let mut events: Vec<(u32, bool, u16)> =
        listening.iter().flat_map(|l| [(l.slot, true, l.listener), (l.end, false, l.listener)]).collect();
    events.sort_unstable();
    let mut parts = Vec::new();
    let (mut slot, mut count, mut all) = (0, 0u32, 0);
    for (at, starts, listener) in events {
        if count > 0 && slot < at {
            parts.push(Part { slot, end: at, count, all });
        }
        slot = at;
        count = if starts { count + 1 } else { count - 1 };
        all ^= listener;
    }
    parts
}
