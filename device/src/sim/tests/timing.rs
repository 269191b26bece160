//! One micro-benchmark for each timing rule (`semantics.md` 1.1, 7; `exchange.md` 3.2).

use super::program::{Program, WORKER, ZERO, call, cycles, on_workers};

#[test]
fn independent_instructions_issue_every_clock() {
    assert_eq!(
        cycles(|p| {
            p.nops(24);
        }),
        24
    );
    assert_eq!(
        cycles(|p| {
            p.set(0, 1).set(1, 1).set(2, 1).set(3, 1);
        }),
        4
    );
}

#[test]
fn a_result_is_ready_after_six_clocks() {
    // setzi at 0, add at 6, the return at 7 waits for nothing of it.
    assert_eq!(
        cycles(|p| {
            p.set(0, 1).op("add_mmmn", &[1, 0, ZERO]);
        }),
        7
    );
    // Each link of a chain of dependent additions waits.
    assert_eq!(
        cycles(|p| {
            p.set(0, 1);
            for _ in 0..4 {
                p.op("add_mmmn_si", &[0, 0, 1]);
            }
        }),
        25
    );
    // Five independent instructions hide the wait.
    assert_eq!(
        cycles(|p| {
            p.set(0, 1).nops(5).op("add_mmmn", &[1, 0, ZERO]);
        }),
        7
    );
}

#[test]
fn a_loaded_value_is_ready_after_six_clocks() {
    let build = |p: &mut Program| {
        p.set(1, 0x60000).nops(5);
        p.op("st32_mmmn_zi", &[ZERO, 1, ZERO, 0]).op("ld32_mmmn_zi", &[0, 1, ZERO, 0]);
        p.op("add_mmmn", &[2, 0, 0]);
    };
    assert_eq!(cycles(build), 6 + 1 + 6 + 1);
}

#[test]
fn taken_branches_take_six_clocks_and_others_one() {
    assert_eq!(
        cycles(|p| {
            let next = p.here() as i32 / 4 + 1;
            p.op("bri_mmmn_zi", &[next]);
        }),
        6
    );
    assert_eq!(
        cycles(|p| {
            p.op("brnz_mmmn_zi", &[ZERO, 0x4c000 / 4]);
        }),
        1
    );
    // A loop of n passes: setzi, a wait, n - 1 taken and one not taken.
    for n in 1..5u32 {
        let measured = cycles(|p| {
            p.set(0, n - 1).nops(5);
            let here = p.here() as i32 / 4;
            p.op("brnzdec_mmmn_zi", &[0, here]);
        });
        assert_eq!(measured, 6 + 6 * u64::from(n - 1) + 1);
    }
}

#[test]
fn base_puts_take_thirteen_clocks() {
    assert_eq!(
        cycles(|p| {
            p.op("put_mmmn_zi", &[0xa7, ZERO]);
        }),
        13
    );
    // setzi and two of them: 27, they don't wait for the register.
    assert_eq!(
        cycles(|p| {
            p.set(0, 0x60000).op("put_mmmn_zi", &[0xa4, 0]).op("put_mmmn_zi", &[0xa7, 0]);
        }),
        27
    );
    assert_eq!(
        cycles(|p| {
            p.op("put_mmmn_zi", &[0xa6, ZERO]);
        }),
        1
    );
}

#[test]
fn coefficient_loads_take_one_clock_after_the_address_has_settled() {
    let measure = |form: &'static str, count: i32, step: i32| {
        cycles(|p| {
            p.set(0, 0x80000).set(1, 0x7fff8).set(2, 0x400).nops(3);
            // Write the block first: 128 words.
            for i in 0..128 {
                p.op("st32_mmmn_zi", &[ZERO, 0, ZERO, i]);
            }
            p.op("put_mmmn_zi", &[0x50, 0]);
            for i in 0..count {
                p.op(form, &[i * step]);
            }
        }) - 6
            - 128
    };
    assert_eq!(measure("ld64putcs_mmmn_zi", 64, 1), 6 + 64);
    assert_eq!(measure("ld128putcs_mmmn_zi", 32, 2), 6 + 32);
}

#[test]
fn local_sync_without_workers_takes_six_clocks() {
    assert_eq!(
        cycles(|p| {
            p.op("sync_mmmn_zi", &[2]);
        }),
        6
    );
}

#[test]
fn workers_issue_every_six_clocks() {
    let measure = |n: usize| {
        let (outcome, _) = on_workers(|p| {
            p.nops(n).op("exitz_mmmn", &[ZERO]);
        });
        outcome.unwrap_or_else(|f| panic!("{f}")).cycles
    };
    let empty = measure(0);
    for n in [1, 2, 10] {
        assert_eq!(measure(n) - empty, 6 * n as u64);
    }
    // By hand. Clock 0: call; 6, 7: setzi; 13: runall, when $m1 is ready. Worker i issues at the first clock of its slot
    // from 13 + 6 + 4 i on: 24, 25, 32, 33, 40, 41. Workers 0 and 1 exit at 24, 25, so the sync issues in slot 0 at 30;
    // worker 5 exits at 41; the return issues at 47 and takes 6.
    assert_eq!(empty, 53);
}

#[test]
fn a_repeat_costs_one_issue_and_its_bundles() {
    let measure = |count: i32| {
        let (outcome, _) = on_workers(|p| {
            // A solo rpt stands at 4 mod 8.
            p.nops(1).op("rpt_mmmn_zi_zi", &[count, 1]);
            for _ in 0..2 {
                p.bundle(("add_mmmn_si", &[0, 0, 1]), ("setzi_aaan_zi", &[13, 0]));
            }
            p.op("exitz_mmmn", &[ZERO]);
        });
        outcome.unwrap_or_else(|f| panic!("{f}")).cycles
    };
    let zero = measure(0);
    assert_eq!(zero, 53 + 12);
    assert_eq!(measure(1) - zero, 12);
    assert_eq!(measure(7) - zero, 7 * 12);
}

#[test]
fn long_operations_take_several_issues() {
    let (outcome, _) = on_workers(|p| {
        p.op("f32div_aaan", &[0, ZERO, ZERO]).op("exitz_mmmn", &[ZERO]);
    });
    assert_eq!(outcome.unwrap_or_else(|f| panic!("{f}")).cycles, 53 + 4 * 6);
}

#[test]
fn a_taken_branch_of_a_worker_takes_one_issue() {
    let (outcome, _) = on_workers(|p| {
        p.set(0, 4);
        let here = p.here() as i32 / 4;
        p.op("brnzdec_mmmn_zi", &[0, here]).op("exitz_mmmn", &[ZERO]);
    });
    assert_eq!(outcome.unwrap_or_else(|f| panic!("{f}")).cycles, 53 + 6 + 5 * 6);
}

#[test]
fn the_supervisor_takes_the_clocks_that_no_worker_owns() {
    // One worker runs for 100 issues; the supervisor has five of six clocks.
    let mut worker = Program::at(WORKER);
    worker.nops(100).op("exitz_mmmn", &[ZERO]);
    let (outcome, _) = {
        let mut supervisor = Program::at(super::program::CODE);
        supervisor.set(0, WORKER).set(1, 0).op("run_mmmn_zi", &[0, 1, 0]);
        supervisor.nops(50).ret();
        let mut tile = super::program::tile();
        worker.load(&mut tile);
        supervisor.load(&mut tile);
        (tile.call(super::program::CODE), tile)
    };
    // The call ends when the worker has exited: run at 13, first issue at 24 (slot 0), exit 100 issues later.
    assert_eq!(outcome.unwrap_or_else(|f| panic!("{f}")).cycles, 24 + 600 + 1);
    // The supervisor's own progress shows in the cycle counter, read before and after 50 instructions.
    let mut supervisor = Program::at(super::program::CODE);
    supervisor.set(0, WORKER).set(1, 0).op("run_mmmn_zi", &[0, 1, 0]);
    supervisor.op("get_mmmn_zi", &[2, 0x60]).nops(50).op("get_mmmn_zi", &[3, 0x60]).op("sync_mmmn_zi", &[2]).ret();
    let mut tile = super::program::tile();
    worker.load(&mut tile);
    supervisor.load(&mut tile);
    tile.call(super::program::CODE).unwrap_or_else(|f| panic!("{f}"));
    // 51 issues in the clocks of slots 1 to 5.
    let spent = tile.register(3) - tile.register(2);
    assert_eq!(spent, 51 + 51 / 5);
}

#[test]
fn the_cycle_counter_counts_clocks() {
    let (outcome, mut tile) = call(|p| {
        p.op("get_mmmn_zi", &[0, 0x60]).nops(9).op("get_mmmn_zi", &[1, 0x60]).ret();
    });
    outcome.unwrap_or_else(|f| panic!("{f}"));
    assert_eq!((tile.register(0), tile.register(1)), (6, 16));
}

#[test]
fn results_of_workers_are_ready_at_their_next_issue() {
    let (outcome, tile) = on_workers(|p| {
        p.set(0, 5).op("add_mmmn", &[1, 0, 0]).op("get_mmmn_zi", &[2, 1]);
        p.op("stm32_mmmn", &[1, 13, 2]).op("exitz_mmmn", &[ZERO]);
    });
    outcome.unwrap_or_else(|f| panic!("{f}"));
    for i in 0..6 {
        assert_eq!(tile.read(0x90000 + 4 * i, 4), 10u32.to_le_bytes());
    }
}
