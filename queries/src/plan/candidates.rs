//! All plans of one operator that may be worth having: exact enumeration of the grids by closed-form costs.
//!
//! Pruned by what a tile can hold, never by a limit. The result is the Pareto set over (cycles, peak bytes, resident
//! bytes, table bytes), thinned to [`KEEP`] entries that span the trade between cycles and memory; sorted by cycles.

use ipuc_device::memory::{LOADABLE_END, PLACEABLE_BASE};

use super::cost::{Cost, cost};
use super::gemm::{GemmPlan, GemmShape, OperandKind};

/// Most candidates kept.
pub const KEEP: usize = 48;

/// Plan choices that the user pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pins {
    /// Partitions of M, N and K.
    pub grid: Option<[u32; 3]>,
    /// Chunks of the K range.
    pub steps: Option<u32>,
}

/// A plan with its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Candidate {
    /// The price.
    pub cost: Cost,
    /// The plan.
    pub plan: GemmPlan,
}

/// The candidates of a GEMM on `tiles` tiles; an error says why the pins admit none.
///
/// Never empty when `Ok`: where nothing fits a tile, the plans that need the least memory are kept.
pub fn candidates(shape: &GemmShape, tiles: u32, pins: &Pins) -> Result<Vec<Candidate>, String> {
    let mut front = Front::default();
    if let Some(grid) = pins.grid {
        let probe = GemmPlan { grid, steps: pins.steps.unwrap_or(1), left_resident: false, right_resident: false };
        if let Some(objection) = probe.objection(shape, tiles) {
            return Err(objection);
        }
        variants(shape, grid, pins, &mut front);
    } else {
        let (k_groups, n_groups) = (shape.k_groups(), shape.n_groups());
        let reserved = pins.steps.unwrap_or(1);
        if reserved == 0 || reserved > k_groups {
            return Err(format!("{reserved} steps of an inner extent of {} ({k_groups} groups of 16)", shape.k));
        }
        for kp in 1..=(k_groups / reserved).min(tiles) {
            for np in 1..=n_groups.min(tiles / kp) {
                let most = shape.m.min(tiles / (kp * np));
                let mut mp = 1;
                while mp <= most {
                    // More row blocks of the same height only help to share homes: take the most of them.
                    let rows = shape.m.div_ceil(mp);
                    let same = if rows == 1 { most } else { ((shape.m - 1) / (rows - 1)).min(most) };
                    variants(shape, [mp, np, kp], pins, &mut front);
                    if same > mp {
                        variants(shape, [same, np, kp], pins, &mut front);
                    }
                    mp = same + 1;
                }
            }
        }
    }
    let found = front.finish();
    match pins.steps {
        // `variants` leaves out steps of what lies on its tile anyhow.
        Some(steps) if found.is_empty() => {
            Err(format!("{steps} steps, but no operand moves between tiles in a plan like this; leave `steps` out"))
        }
        _ => Ok(found),
    }
}

/// Numbers of chunks worth trying for a K range of `groups`.
fn step_counts(groups: u32) -> impl Iterator<Item = u32> {
    (0..6).map(|i| 1u32 << i).chain([groups]).filter(move |&s| s <= groups).take_while({
        let mut last = 0;
        move |&s| std::mem::replace(&mut last, s) < s
    })
}

fn variants(shape: &GemmShape, grid: [u32; 3], pins: &Pins, front: &mut Front) {
    let smallest = shape.k_groups() / grid[2];
    let weight = |kind| kind == OperandKind::Weight;
    for steps in step_counts(smallest)
        .filter(|s| pins.steps.is_none_or(|p| p == *s))
        .chain(pins.steps.filter(|&p| p <= smallest && step_counts(smallest).all(|s| s != p)))
    {
        for right_resident in [false, true] {
            // One sharer holds it all either way: one name for one plan.
            if right_resident != (weight(shape.right) && grid[0] > 1)
                && (right_resident || grid[0] == 1 && weight(shape.right))
            {
                continue;
            }
            for left_resident in [false, true] {
                if left_resident && !(weight(shape.left) && grid[1] > 1) {
                    continue;
                }
                let plan = GemmPlan { grid, steps, left_resident, right_resident };
                if steps > 1 && !plan.left_moves(shape) && !plan.right_moves(shape) {
                    continue;
                }
                front.offer(Candidate { cost: cost(shape, &plan), plan });
            }
        }
    }
}

/// Candidates that fit a tile, and the smallest of those that do not.
#[derive(Default)]
struct Front {
    fitting: Vec<Candidate>,
    smallest: Option<Candidate>,
}

impl Front {
    fn offer(&mut self, candidate: Candidate) {
        const ROOM: u32 = LOADABLE_END - PLACEABLE_BASE;
        if candidate.cost.peak_bytes > ROOM {
            let key = |c: &Candidate| (c.cost.peak_bytes, c.cost.cycles, c.plan);
            if self.smallest.as_ref().is_none_or(|s| key(&candidate) < key(s)) {
                self.smallest = Some(candidate);
            }
        } else {
            self.fitting.push(candidate);
        }
    }

    fn finish(mut self) -> Vec<Candidate> {
        self.fitting.sort_unstable();
        let mut front: Vec<Candidate> = Vec::new();
        for candidate in self.fitting {
            let c = &candidate.cost;
            // Sorted by cycles: everything in the front is at least as fast.
            let dominated = front.iter().rev().any(|f| {
                f.cost.peak_bytes <= c.peak_bytes
                    && f.cost.resident_bytes <= c.resident_bytes
                    && f.cost.table_bytes <= c.table_bytes
            });
            if !dominated {
                front.push(candidate);
            }
        }
        if front.is_empty() {
            return self.smallest.into_iter().collect();
        }
        thin(front)
    }
}

/// Keeps the fastest, then those that lower the peak or the resident bytes by a visible step.
fn thin(front: Vec<Candidate>) -> Vec<Candidate> {
    for percent in [100u64, 99, 97, 94, 90, 85, 75, 60] {
        let (mut peak, mut resident) = (u64::MAX, u64::MAX);
        let kept: Vec<Candidate> = front
            .iter()
            .filter(|c| {
                let (p, r) = (u64::from(c.cost.peak_bytes), u64::from(c.cost.resident_bytes));
                let keep = p < peak / 100 * percent || r < resident / 100 * percent;
                if keep {
                    (peak, resident) = (peak.min(p), resident.min(r));
                }
                keep
            })
            .copied()
            .collect();
        if kept.len() <= KEEP {
            return kept;
        }
    }
    front.into_iter().take(KEEP).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(m: u32, k: u32, n: u32) -> GemmShape {
        GemmShape { m, k, n, left: OperandKind::Input, right: OperandKind::Weight }
    }

    #[test]
    fn every_candidate_can_work() {
        for (s, tiles) in [(shape(1, 1, 1), 1), (shape(100, 200, 72), 37), (shape(1024, 512, 512), 64)] {
            let found = candidates(&s, tiles, &Pins::default()).expect("no pins");
            assert!(!found.is_empty() && found.len() <= KEEP);
            for c in &found {
                assert_eq!(c.plan.objection(&s, tiles), None);
            }
            assert!(found.windows(2).all(|w| w[0].cost.cycles <= w[1].cost.cycles));
        }
    }

    #[test]
    fn pins_are_obeyed_or_refused() {
        let s = shape(1024, 512, 512);
        let pins = Pins { grid: Some([4, 4, 4]), steps: Some(2) };
        let found = candidates(&s, 64, &pins).expect("possible");
        assert!(found.iter().all(|c| c.plan.grid == [4, 4, 4] && c.plan.steps == 2));
        assert!(candidates(&s, 63, &pins).expect_err("too many tiles").contains("needs 64 tiles"));
    }

    #[test]
    fn the_large_gemm_is_near_the_peak() {
        // 215,574 cycles of AMP at its peak, and 456 rows x 384 in F16 are 87,552 words to bring in.
        let found = candidates(&shape(4096, 1152, 4304), 1472, &Pins::default()).expect("no pins");
        assert!(found[0].cost.cycles < 340_000, "{:?}", found[0]);
    }
}
