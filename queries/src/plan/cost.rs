//! Predicted cycles, in closed form: of a kernel call, and of a whole plan without building it.
//!
//! Exchange is priced at one word a cycle on the busiest port plus a fixed overhead a phase; a tile that shares its part
//! of an operand from the buffer that it also receives into sends and receives in turn, so both count.

use ipuc_device::kernels;

use super::gemm::{GemmPlan, GemmShape, OperandKind};

/// Fill, drain, barrier and call of a phase: the fill and drain bound of a short phase (about 110) and the code around it.
pub const PHASE_OVERHEAD: u64 = 190;

/// Cycles of one GEMM call.
pub fn gemm_cycles(rows: u32, k_groups: u32, n_groups: u32, accumulate: bool) -> u32 {
    kernels::gemm_f16_cycles(rows, k_groups, n_groups, accumulate) as u32
}

/// Cycles of one reduction of `chunks` 16-byte chunks of an own and `received` further partials.
pub fn reduce_cycles(chunks: u32, received: u32) -> u32 {
    kernels::reduce_add_f16_cycles(chunks, received) as u32
}

/// Cycles of one copy of 8-byte words.
pub fn copy_cycles(words: u32) -> u32 {
    kernels::copy_64_cycles(words) as u32
}

/// What a plan costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cost {
    /// Tile cycles, exchange included.
    pub cycles: u64,
    /// Those in exchange.
    pub exchange_cycles: u64,
    /// Bytes of the exchange tables on the worst tile: 8 a message and receiver plus 8 a phase (`planning.md` 5.4).
    pub table_bytes: u32,
    /// Bytes on a tile that the loader writes, live from the start.
    pub resident_bytes: u32,
    /// Bytes on a tile while the operator runs, resident ones included.
    pub peak_bytes: u32,
}

/// The cost of a plan.
pub fn cost(shape: &GemmShape, plan: &GemmPlan) -> Cost {
    let [mp, np, kp] = plan.grid;
    let rows = shape.m.div_ceil(mp);
    let n_groups = shape.n_groups().div_ceil(np);
    let k_groups = shape.k_groups().div_ceil(kp);
    let chunk = k_groups.div_ceil(plan.steps);
    let (left_moves, right_moves) = (plan.left_moves(shape), plan.right_moves(shape));

    let left_words = u64::from(if left_moves { rows * k_groups * 8 } else { 0 });
    let right_words = u64::from(if right_moves { n_groups * k_groups * 128 } else { 0 });
    let mut exchange = left_words + right_words;
    let mut table = 0;
    if left_moves || right_moves {
        exchange += u64::from(plan.steps) * PHASE_OVERHEAD;
        let senders = match (left_moves, shape.left) {
            (false, _) => 0,
            // A computed operand comes in panels from as many producers as share its rows.
            (true, OperandKind::Result) => np.max(chunk),
            (true, _) => np,
        } + if right_moves { mp } else { 0 };
        table += plan.steps * (8 * senders + 16);
    }
    let mut compute = u64::from(gemm_cycles(rows, chunk, n_groups, false));
    if plan.steps > 1 {
        compute += u64::from(plan.steps - 1) * u64::from(gemm_cycles(rows, chunk, n_groups, true));
        // Each tile copies its own part of what streams, chunk by chunk.
        let own = left_words / u64::from(np) + right_words / u64::from(mp);
        let words = (own / 2 / u64::from(plan.steps)) as u32;
        compute += u64::from(plan.steps) * u64::from(copy_cycles(words.max(1)));
    }
    let atoms = rows * n_groups;
    let slice = atoms.div_ceil(kp);
    if kp > 1 {
        exchange += u64::from(slice * (kp - 1) * 8) + PHASE_OVERHEAD;
        compute += u64::from(reduce_cycles(slice * 2, kp - 1));
        table += 16 * kp + 16;
    }

    let share = |atoms: u32, moves: bool, sharers: u32| {
        if moves { atoms.div_ceil(sharers) + plan.steps } else { atoms }
    };
    let left_atoms = rows * k_groups;
    let right_atoms = n_groups * k_groups * 16;
    let streams = plan.steps > 1;
    let (left_home, left_stage) = match shape.left {
        OperandKind::Result => (0, rows * chunk),
        _ if left_moves && streams => (share(left_atoms, true, np), rows * chunk),
        _ => (left_atoms, 0),
    };
    let (right_home, right_stage) =
        if right_moves && streams { (share(right_atoms, true, mp), n_groups * chunk * 16) } else { (right_atoms, 0) };
    let resident = left_home + right_home;
    let reduction = if kp > 1 { slice * kp } else { 0 };
    let peak = resident + atoms + (left_stage + right_stage).max(reduction.saturating_sub(left_home + right_home));
    Cost {
        cycles: exchange + compute,
        exchange_cycles: exchange,
        table_bytes: table,
        resident_bytes: resident.saturating_mul(32),
        peak_bytes: peak.saturating_mul(32),
    }
}
