//! Cycles of the kernel calls, from the `call` to the instruction after it.
//!
//! In: the scalar arguments of an entry. Out: tile clocks, within 5 % of the simulator. Issue counts are those of the
//! `.S` files. The clocks around them are those of `semantics.md` 1.1: six between two issues of a worker; six for
//! `call`, a taken branch, `runall` and a granted `sync`; worker i starts about 4 i clocks after worker 0.

/// Workers of a tile.
const WORKERS: u32 = 6;
/// Clocks between two issues of a worker.
const ISSUE: u64 = 6;

/// Clocks of a call that starts all six workers and waits for their immediate exit (`empty_call`): the part of every
/// call that no shape changes.
pub const fn call_overhead() -> u64 {
    53
}

/// Clocks from the first launch to the last exit when worker i makes `issues[i]` issues.
const fn last_exit(issues: [u64; WORKERS as usize]) -> u64 {
    /// Clocks by which the workers start later than the first, with the wait for their slots.
    const STAGGER: [u64; WORKERS as usize] = [0, 0, 6, 12, 12, 18];
    let mut last = 0;
    let mut worker = 0;
    while worker < issues.len() {
        let exit = STAGGER[worker] + ISSUE * issues[worker];
        if exit > last {
            last = exit;
        }
        worker += 1;
    }
    last
}

/// Units of worker `worker` when `count` units are dealt evenly, the first workers getting the rest.
const fn share(count: u32, worker: usize) -> u64 {
    ((count + WORKERS - 1 - worker as u32) / WORKERS) as u64
}

/// Issues of the code for a number of rows, by its label in `gemm_f16.S`.
const fn initialise_issues(rows: u64) -> u64 {
    match rows {
        0 => 1,
        1 => 11,
        _ => 4 * rows + 8,
    }
}

const fn accumulate_issues(rows: u64) -> u64 {
    match rows {
        0 => 1,
        1 => 15,
        2 => 20,
        _ => 4 * rows + 13,
    }
}

/// Clocks of one panel of `rows` rows: the wait for the workers before, 32 coefficient loads, the launch, the workers.
const fn panel(rows: u32, accumulate: bool, extra: u64) -> u64 {
    /// Clocks of the supervisor from the last exit to the launch.
    const SUPERVISOR: u64 = 42;
    let mut issues = [0; WORKERS as usize];
    let mut worker = 0;
    while worker < issues.len() {
        let rows = share(rows, worker);
        issues[worker] = extra + if accumulate { accumulate_issues(rows) } else { initialise_issues(rows) };
        worker += 1;
    }
    SUPERVISOR + last_exit(issues)
}

/// Clocks of `gemm_f16_initialise` (or `gemm_f16_accumulate` when `accumulate`): `rows` rows, `k_groups` groups of 16 of the
/// inner axis, `n_groups` groups of 16 columns, all at least 1.
pub const fn gemm_f16_cycles(rows: u32, k_groups: u32, n_groups: u32, accumulate: bool) -> u64 {
    /// Clocks of the supervisor before the first panel and after the last one.
    const AROUND: u64 = 38;
    /// What the entry that accumulates takes longer: a branch.
    const BRANCH: u64 = 6;
    /// Clocks of the supervisor between two column groups that no worker hides.
    const COLUMN: u64 = 3;
    /// Issues of a worker that find its share of the rows.
    const SET_UP: u64 = 24;
    let (k, n) = (k_groups as u64, n_groups as u64);
    // K group 0 goes back to the first x and packs addresses (initialise) or leaves that to the code for its rows.
    let first = if accumulate { 2 } else { 3 };
    // With 18 rows the further K groups enter the code for three or more rows directly.
    let next = if rows < 18 { 1 } else { 0 };
    AROUND
        + if accumulate { BRANCH } else { 0 }
        + panel(rows, accumulate, SET_UP + first)
        + (n - 1) * (COLUMN + panel(rows, accumulate, 2 + first))
        + n * (k - 1) * panel(rows, true, next)
}

/// Clocks of a call whose workers make `issues[units]` issues for 0 and 1 unit of their share, and for more `issues[2]`
/// and `each` for every unit.
const fn dealt(around: u64, count: u32, issues: [u64; 3], each: u64) -> u64 {
    let mut made = [0; WORKERS as usize];
    let mut worker = 0;
    while worker < made.len() {
        made[worker] = match share(count, worker) {
            0 => issues[0],
            1 => issues[1],
            units => issues[2] + each * units,
        };
        worker += 1;
    }
    around + last_exit(made)
}

/// Clocks of `reduce_add_f16` over `chunks` chunks of 16 bytes with `received` received partials (at least 1).
pub const fn reduce_add_f16_cycles(chunks: u32, received: u32) -> u64 {
    // The last chunk of a worker fetches no successor.
    let each = 2 * received as u64 + 7;
    dealt(45, chunks, [9, 24 + each, 26], each)
}

/// Clocks of `copy_64` of `words` 8-byte words.
pub const fn copy_64_cycles(words: u32) -> u64 {
    dealt(35, words, [14, 16, 14], 2)
}

/// Clocks of `copy_64_far` of `words` 8-byte words.
pub const fn copy_64_far_cycles(words: u32) -> u64 {
    dealt(41, words, [14, 21, 20], 1)
}

/// Clocks of `fill_64` of `words` 8-byte words.
pub const fn fill_64_cycles(words: u32) -> u64 {
    dealt(29, words, [13, 14, 13], 1)
}
