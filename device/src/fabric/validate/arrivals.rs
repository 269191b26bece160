//! What arrives at one tile, and whether it was asked for.
//!
//! The receive pointer goes one word further with every write; a pointer control at an event applies to the write at
//! that event (`exchange.md` 3.1, 3.3).

use super::super::decode::{ControlAt, Setting};
use super::Tile;
use super::violation::{Report, ViolationKind};
use crate::memory::TileId;

/// Words of one run that pass the mux of one tile.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    /// Event of the first write.
    pub(super) event: i64,
    pub(super) words: u32,
    /// Memory address of the first write.
    pub(super) address: u32,
    pub(super) source: TileId,
    /// Memory address of the first word at the source.
    pub(super) source_address: u32,
}

/// What one tile wants at an address.
#[derive(Clone, Copy)]
pub(super) struct Want {
    pub(super) address: u32,
    pub(super) words: u32,
    pub(super) source: TileId,
    pub(super) source_address: u32,
}

/// The receive pointer along a row.
pub(super) struct Pointer<'t> {
    controls: &'t [ControlAt],
    base: u32,
    next_control: usize,
    /// Address of the next write.
    address: Option<u32>,
    /// Event of a pointer control after which nothing was written yet.
    fresh: Option<u32>,
    arrivals: Vec<Arrival>,
}

impl<'t> Pointer<'t> {
    pub(super) fn new(tile: &'t Tile) -> Self {
        Self {
            controls: &tile.row.controls,
            base: tile.input.registers.incoming_base,
            next_control: 0,
            address: None,
            fresh: None,
            arrivals: Vec::new(),
        }
    }

    /// Sets the pointer as the controls up to `event` say.
    fn advance(&mut self, event: i64, report: &mut Report) {
        while let Some(c) = self.controls.get(self.next_control).filter(|c| i64::from(c.event) <= event) {
            self.next_control += 1;
            if let Setting::Pointer(words) = c.setting {
                if let Some(unused) = self.fresh.replace(c.event) {
                    unused_pointer(unused, report);
                }
                self.address = Some((words * 4).wrapping_add(self.base));
            }
        }
    }

    /// Event of the next pointer control.
    fn next_change(&self) -> Option<i64> {
        self.controls[self.next_control..]
            .iter()
            .find(|c| matches!(c.setting, Setting::Pointer(_)))
            .map(|c| c.event.into())
    }

    /// Writes words that come one an event from `event` on. Calls are in event order.
    pub(super) fn write(&mut self, mut event: i64, mut words: u32, source: TileId, mut from: u32, report: &mut Report) {
        while words > 0 {
            self.advance(event, report);
            let n = self.next_change().map_or(words, |change| words.min((change - event) as u32));
            if let Some(set) = self.fresh.take().filter(|&set| i64::from(set) != event) {
                unused_pointer(set, report);
            }
            if let Some(address) = self.address {
                self.arrivals.push(Arrival { event, words: n, address, source, source_address: from });
                self.address = Some(address.wrapping_add(4 * n));
            } else {
                let message = format!("{n} words from tile {source} arrive before any pointer");
                report.add(ViolationKind::UndefinedPointer, event, message);
            }
            event += i64::from(n);
            words -= n;
            from = from.wrapping_add(4 * n);
        }
    }

    pub(super) fn finish(mut self, report: &mut Report) -> Vec<Arrival> {
        self.advance(i64::MAX, report);
        if let Some(unused) = self.fresh {
            unused_pointer(unused, report);
        }
        self.arrivals
    }
}

fn unused_pointer(event: u32, report: &mut Report) {
    let message = "nothing is written at the event of this pointer".to_owned();
    report.add(ViolationKind::PointerEvent, event, message);
}

/// Compares what arrived with what was asked for. `arrivals` are sorted by address.
pub(super) fn compare(arrivals: &[Arrival], mut wants: Vec<Want>, report: &mut Report) {
    wants.sort_unstable_by_key(|w| (w.address, w.source, w.source_address));
    for two in wants.windows(2).filter(|two| two[0].address + 4 * two[0].words > two[1].address) {
        let message =
            format!("two transfers into {:#x}, from tiles {} and {}", two[1].address, two[0].source, two[1].source);
        report.add(ViolationKind::Input, 0, message);
    }
    let missing = |w: &Want, from: u32, report: &mut Report| {
        let end = w.address + 4 * w.words;
        if from < end {
            let words = (end - from) / 4;
            let message = format!("{words} words from tile {} do not arrive at {from:#x}", w.source);
            report.add(ViolationKind::MissingWord, 0, message);
        }
    };
    let mut wanted = wants.iter();
    let mut want = wanted.next();
    // First address of the present want that has not arrived.
    let mut covered = want.map_or(0, |w| w.address);
    let mut written = 0u64;
    for a in arrivals {
        let (mut at, end) = (u64::from(a.address), u64::from(a.address) + 4 * u64::from(a.words));
        if at < written {
            let message = format!("words at {at:#x}..{:#x} are written twice", written.min(end));
            report.add(ViolationKind::DoubleWrite, a.event, message);
            at = written;
        }
        written = written.max(end);
        while at < end {
            let event = a.event + (at - u64::from(a.address)) as i64 / 4;
            let Some(w) = want.filter(|w| u64::from(w.address) < end) else {
                report.add(ViolationKind::UnexpectedWrite, event, unexpected(a, at, end));
                break;
            };
            let w_end = w.address + 4 * w.words;
            if u64::from(w_end) <= at {
                missing(w, covered, report);
                want = wanted.next();
                covered = want.map_or(0, |w| w.address);
                continue;
            }
            if u64::from(w.address) > at {
                report.add(ViolationKind::UnexpectedWrite, event, unexpected(a, at, w.address.into()));
                at = w.address.into();
                continue;
            }
            if u64::from(covered) < at {
                let words = (at as u32 - covered) / 4;
                let message = format!("{words} words from tile {} do not arrive at {covered:#x}", w.source);
                report.add(ViolationKind::MissingWord, 0, message);
            }
            let stop = end.min(w_end.into());
            let came = a.source_address.wrapping_add(at as u32 - a.address);
            let asked = w.source_address.wrapping_add(at as u32 - w.address);
            if (a.source, came) != (w.source, asked) {
                let message = format!(
                    "{} words at {at:#x} come from tile {} {came:#x}, asked for from tile {} {asked:#x}",
                    (stop - at) / 4,
                    a.source,
                    w.source
                );
                report.add(ViolationKind::WrongWord, event, message);
            }
            covered = stop as u32;
            at = stop;
        }
    }
    if let Some(w) = want {
        missing(w, covered, report);
    }
    for w in wanted {
        missing(w, w.address, report);
    }
}

fn unexpected(a: &Arrival, from: u64, to: u64) -> String {
    format!("{} words of tile {} are written to {from:#x}, where nothing was asked for", (to - from) / 4, a.source)
}
