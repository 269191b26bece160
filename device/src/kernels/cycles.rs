//! Cycles of the kernel calls, from the `call` to the instruction after it.
//!
//! In: the scalar arguments of an entry. Out: tile clocks. Each formula counts the issues of the busiest worker (6 clocks
//! each) and the clocks of the supervisor around them; the supervisor cannot issue while six workers run.
//!
//! Sources: issue counts are those of the `.S` files; supervisor costs are `semantics.md` 1.1 (`sync`, `runall` and a
//! taken branch 6 clocks, a coefficient load 1), as the simulator charges them.

/// Workers of a tile.
const WORKERS: u32 = 6;
/// Clocks between two issues of a worker.
const ISSUE: u32 = 6;

/// Clocks of a call that starts all six workers and waits for their immediate exit (`empty_call`): the part of every
/// call that no shape changes.
pub const fn call_overhead() -> u32 {
    38
}

/// Issues of a worker with `rows` rows in one panel, from the packing of its addresses to its exit.
const fn panel_issues(rows: u32, accumulate: bool) -> u32 {
    match (rows, accumulate) {
        (0, _) => 3,
        (1, false) => 13,
        (1, true) => 17,
        (2, true) => 21,
        (_, false) => 4 * rows + 10,
        (_, true) => 4 * rows + 15,
    }
}

/// Clocks of `gemm_f16_initialise` (or `gemm_f16_accumulate` when `accumulate`): `rows` rows, `k_groups` groups of 16 of the
/// inner axis, `n_groups` groups of 16 columns.
pub const fn gemm_f16_cycles(rows: u32, k_groups: u32, n_groups: u32, accumulate: bool) -> u64 {
    let rows = rows.div_ceil(WORKERS);
    // The first panel of a call computes the worker's share, the first of a later column group goes back to K group 0,
    // the others step on.
    let first = 23 + panel_issues(rows, accumulate);
    let column = 2 + panel_issues(rows, accumulate);
    let next = 1 + panel_issues(rows, true);
    let (k, n) = (k_groups as u64, n_groups as u64);
    let issues = first as u64 + (n - 1) * column as u64 + n * (k - 1) * next as u64;
    FIXED + n * COLUMN + n * k * PANEL + ISSUE as u64 * issues
}

/// Clocks of the supervisor around a call of the product.
const FIXED: u64 = 40;
/// Clocks of the supervisor at the end of a column group.
const COLUMN: u64 = 3;
/// Clocks of the supervisor per panel: wait, 32 coefficient loads, start, loop; and the stagger of the workers.
const PANEL: u64 = 50;

/// Units of the busiest worker when `count` units are dealt round robin.
const fn share(count: u32) -> u64 {
    count.div_ceil(WORKERS) as u64
}

/// Clocks of `reduce_add_f16` over `chunks` chunks of 16 bytes with `received` received partials.
pub const fn reduce_add_f16_cycles(chunks: u32, received: u32) -> u64 {
    call_overhead() as u64 + 140 + ISSUE as u64 * share(chunks) * (2 * received as u64 + 7)
}

/// Clocks of `copy_64` of `words` 8-byte words.
pub const fn copy_64_cycles(words: u32) -> u64 {
    call_overhead() as u64 + 80 + ISSUE as u64 * 2 * share(words)
}

/// Clocks of `copy_64_far` of `words` 8-byte words.
pub const fn copy_64_far_cycles(words: u32) -> u64 {
    call_overhead() as u64 + 120 + ISSUE as u64 * share(words)
}

/// Clocks of `fill_64` of `words` 8-byte words.
pub const fn fill_64_cycles(words: u32) -> u64 {
    call_overhead() as u64 + 75 + ISSUE as u64 * share(words)
}
