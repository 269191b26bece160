//! Whole-graph plans: a Pareto set over cycles, memory and table bytes, and the choice within limits.
//!
//! In: the operators in order, each with its candidates. Out: [`Priced`] plan sets. The search is a dynamic programme
//! along the operators; costs add, loaded operands stay, temporaries take turns. The survivors are then priced by
//! really allocating their buffers, so that "fits" means what placement will find.
//!
//! The frontier knows no limit, only the size of the chip; [`choose`] applies limits to it.

use std::sync::Arc;

use ipuc_device::memory::{BASE, ELEMENT, PLACEABLE_BASE};

use super::candidates::Candidate;
use super::gemm::{GemmPlan, GemmShape};
use crate::lower::gemm::{Life, buffers_of};
use crate::lower::program::OperandSource;
use crate::place::allocate::{Request, allocate};

/// A plan set that needs more bytes a tile than this is priced by closed form and never laid out: addresses have 32 bits,
/// and such a model is off by a factor, not by a buffer.
pub const HOPELESS: u32 = 1 << 20;

/// Most partial plan sets kept after each operator.
const WIDTH: usize = 128;

/// One operator of the search.
#[derive(Clone, Debug)]
pub struct OperatorInput {
    /// What it computes.
    pub shape: GemmShape,
    /// Where its operands come from.
    pub operands: Vec<OperandSource>,
    /// Its result is an output of the model.
    pub output: bool,
    /// Its plans.
    pub candidates: Arc<Vec<Candidate>>,
}

/// An operator with its chosen plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlannedOperator {
    /// What it computes.
    pub shape: GemmShape,
    /// How.
    pub plan: GemmPlan,
    /// Where its operands come from.
    pub operands: Vec<OperandSource>,
    /// Its result is an output of the model.
    pub output: bool,
}

/// The nameless graph with the chosen plan of every operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanSet {
    /// In execution order.
    pub operators: Vec<PlannedOperator>,
    /// Work units that scheduling may spend on a phase.
    pub effort: u32,
}

/// A plan set with its price.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Priced {
    /// Predicted tile cycles.
    pub cycles: u64,
    /// Those in exchange.
    pub exchange_cycles: u64,
    /// Exchange table bytes on the worst tile, estimated.
    pub table_bytes: u32,
    /// Bytes on a tile, fixed areas and table elements included.
    pub memory_bytes: u32,
    /// It does not fit the chip.
    pub overflow: bool,
    /// The plans.
    pub set: PlanSet,
}

/// A prefix of a plan set.
#[derive(Clone)]
struct State {
    cycles: u64,
    exchange_cycles: u64,
    table_bytes: u32,
    resident: u32,
    temporary: u32,
    chosen: Vec<usize>,
}

/// The Pareto set of whole-graph plans, fastest first; never empty.
pub fn frontier(operators: &[OperatorInput]) -> Vec<Priced> {
    let mut states =
        vec![State { cycles: 0, exchange_cycles: 0, table_bytes: 0, resident: 0, temporary: 0, chosen: Vec::new() }];
    for operator in operators {
        let next = states.iter().flat_map(|state| {
            operator.candidates.iter().enumerate().map(move |(i, c)| {
                let mut chosen = state.chosen.clone();
                chosen.push(i);
                State {
                    cycles: state.cycles + c.cost.cycles,
                    exchange_cycles: state.exchange_cycles + c.cost.exchange_cycles,
                    table_bytes: state.table_bytes.saturating_add(c.cost.table_bytes),
                    resident: state.resident.saturating_add(c.cost.resident_bytes),
                    temporary: state.temporary.max(c.cost.peak_bytes.saturating_sub(c.cost.resident_bytes)),
                    chosen,
                }
            })
        });
        states = prune(next.collect());
    }
    let priced: Vec<Priced> = states.iter().map(|s| price(operators, s)).collect();
    let fitting: Vec<Priced> = priced.iter().filter(|p| !p.overflow).cloned().collect();
    let mut pool = if fitting.is_empty() { priced } else { fitting };
    pool.sort();
    let mut front: Vec<Priced> = Vec::new();
    for p in pool {
        if !front.iter().any(|f| f.memory_bytes <= p.memory_bytes && f.table_bytes <= p.table_bytes) {
            front.push(p);
        }
    }
    front
}

/// Pareto set over (cycles, resident, temporary, table), thinned evenly to [`WIDTH`], the ends kept.
fn prune(mut states: Vec<State>) -> Vec<State> {
    states.sort_by(|a, b| {
        (a.cycles, a.resident, a.temporary, a.table_bytes, &a.chosen).cmp(&(
            b.cycles,
            b.resident,
            b.temporary,
            b.table_bytes,
            &b.chosen,
        ))
    });
    let mut front: Vec<State> = Vec::new();
    for s in states {
        let dominated = front
            .iter()
            .any(|f| f.resident <= s.resident && f.temporary <= s.temporary && f.table_bytes <= s.table_bytes);
        if !dominated {
            front.push(s);
        }
    }
    if front.len() <= WIDTH {
        return front;
    }
    let smallest = (0..front.len()).min_by_key(|&i| (front[i].resident.saturating_add(front[i].temporary), i));
    let last = front.len() - 1;
    (0..front.len())
        .filter(|&i| (i * WIDTH / last) != ((i + last - 1) % last * WIDTH / last) || i == 0 || Some(i) == smallest)
        .map(|i| front[i].clone())
        .collect()
}

fn price(operators: &[OperatorInput], state: &State) -> Priced {
    let set = PlanSet {
        operators: operators
            .iter()
            .zip(&state.chosen)
            .map(|(o, &i)| PlannedOperator {
                shape: o.shape,
                plan: o.candidates[i].plan,
                operands: o.operands.clone(),
                output: o.output,
            })
            .collect(),
        effort: 0,
    };
    let (cycles, exchange_cycles, table_bytes) = (state.cycles, state.exchange_cycles, state.table_bytes);
    let closed_form = state.resident.saturating_add(state.temporary);
    if closed_form > HOPELESS {
        return Priced { cycles, exchange_cycles, table_bytes, memory_bytes: closed_form, overflow: true, set };
    }
    let base = PLACEABLE_BASE + table_elements(table_bytes) * ELEMENT;
    let requests = requests(&set);
    let allocation = allocate(&requests, base);
    let beyond: u32 = allocation.overflow.iter().map(|&i| requests[i as usize].bytes).sum();
    let memory_bytes = (base - BASE) + allocation.data_bytes(base) + beyond;
    Priced { cycles, exchange_cycles, table_bytes, memory_bytes, overflow: !allocation.overflow.is_empty(), set }
}

/// Whole elements that hold tables of so many bytes, with room for the slots' slack and the fetch guard.
fn table_elements(bytes: u32) -> u32 {
    (bytes + bytes / 2 + 64).div_ceil(ELEMENT).max(1)
}

/// The buffers of a plan set as placement will see them, three coarse steps an operator.
fn requests(set: &PlanSet) -> Vec<Request> {
    let count = set.operators.len() as u32;
    let mut last_use: Vec<u32> =
        (0u32..).zip(&set.operators).map(|(o, op)| if op.output { 3 * count } else { 3 * o + 2 }).collect();
    let mut last_load: Vec<u32> = (0..count).map(|o| 3 * o + 1).collect();
    for (o, operator) in (0u32..).zip(&set.operators) {
        for source in &operator.operands {
            let last = match source {
                OperandSource::Result(owner) => &mut last_use[*owner as usize],
                OperandSource::Loaded(owner) => &mut last_load[*owner as usize],
                OperandSource::Tensor(_) => continue,
            };
            *last = (*last).max(3 * o + 1);
        }
    }
    let mut requests = Vec::new();
    for (o, operator) in (0u32..).zip(&set.operators) {
        let first = requests.len() as u32;
        for (buffer, life) in buffers_of(&operator.shape, &operator.plan) {
            let live = match life {
                Life::Loaded => (0, last_load[o as usize]),
                Life::Staged => (3 * o, 3 * o + 1),
                Life::Partial => (3 * o + 1, 3 * o + 2),
                Life::Received => (3 * o + 2, 3 * o + 2),
                Life::Result { reduced } => (3 * o + 1 + u32::from(reduced), last_use[o as usize]),
            };
            requests.push(Request {
                bytes: buffer.bytes,
                class: buffer.class,
                live,
                apart: buffer.apart_from.iter().map(|b| b + first).collect(),
            });
        }
    }
    requests
}

/// The best plan set within the limits: the fastest that fits, else the one that is over by the least; a hopeless one only
/// where all are.
pub fn choose(frontier: &[Priced], tile_memory_bytes: u64, exchange_table_bytes: u64) -> &Priced {
    let over = |p: &Priced| {
        u64::from(p.memory_bytes).saturating_sub(tile_memory_bytes)
            + u64::from(p.table_bytes).saturating_sub(exchange_table_bytes)
    };
    frontier.iter().min_by_key(|p| (p.memory_bytes > HOPELESS, over(p), p.cycles)).expect("a frontier is never empty")
}

#[cfg(test)]
mod tests {
    use ipuc_device::memory::SIZE;

    use super::super::candidates::{Pins, candidates};
    use super::super::gemm::OperandKind;
    use super::*;

    fn operator(m: u32, k: u32, n: u32, left: OperandKind, source: OperandSource, tiles: u32) -> OperatorInput {
        let shape = GemmShape { m, k, n, left, right: OperandKind::Weight };
        OperatorInput {
            shape,
            operands: vec![source, OperandSource::Tensor(1)],
            output: true,
            candidates: Arc::new(candidates(&shape, tiles, &Pins::default()).expect("no pins")),
        }
    }

    #[test]
    fn a_chain_fits_and_a_lower_limit_takes_a_smaller_plan() {
        let ops = [
            operator(640, 1152, 640, OperandKind::Input, OperandSource::Tensor(0), 200),
            operator(640, 640, 96, OperandKind::Result, OperandSource::Result(0), 200),
        ];
        let front = frontier(&ops);
        assert!(!front[0].overflow);
        let free = choose(&front, 638_976, 81_920);
        assert_eq!(free, &front[0]);
        let tight = choose(&front, u64::from(front[0].memory_bytes) - 1, 81_920);
        assert!(tight.memory_bytes < free.memory_bytes || front.len() == 1);
    }

    #[test]
    fn what_lies_beyond_memory_counts() {
        let front = frontier(&[operator(1024, 512, 512, OperandKind::Input, OperandSource::Tensor(0), 3)]);
        assert!(front.iter().all(|p| p.overflow && p.memory_bytes > SIZE), "{front:?}");
    }

    #[test]
    fn the_large_gemm_fits_the_chip() {
        let ops = [operator(4096, 1152, 4304, OperandKind::Input, OperandSource::Tensor(0), 1472)];
        let front = frontier(&ops);
        assert!(!front[0].overflow, "{:?}", front[0]);
        assert!(front[0].cycles < 345_000, "{:?}", front[0]);
    }
}
