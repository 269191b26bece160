//! Every kind of fault that one tile can raise, each from the smallest program that does.

use super::program::{CODE, Program, WORKER, ZERO, call, on_workers, on_workers_with, tile};
use crate::memory::TileId;
use crate::sim::{ContextId, Fault, FaultKind, MachineConfig, TileMachine};

fn supervisor_fault(build: impl FnOnce(&mut Program)) -> Fault {
    call(|p| {
        build(p);
        p.ret();
    })
    .0
    .expect_err("a fault")
}

fn worker_fault(build: impl FnOnce(&mut Program)) -> Fault {
    on_workers(|p| {
        build(p);
        p.op("exitz_mmmn", &[ZERO]);
    })
    .0
    .expect_err("a fault")
}

#[test]
fn a_fault_names_its_place() {
    let mut program = Program::at(CODE);
    program.nops(3).set(0, 0x60002).op("ld32_mmmn_zi", &[1, 0, ZERO, 0]);
    let config =
        MachineConfig { symbols: vec![("kernel".into(), CODE), ("later".into(), CODE + 64)], ..Default::default() };
    let mut tile = TileMachine::new(config);
    program.load(&mut tile);
    let fault = tile.call(CODE).expect_err("a fault");
    assert_eq!(fault.code, "E6001");
    assert_eq!((fault.tile, fault.context), (TileId(0), ContextId::Supervisor));
    // The call takes 6 clocks, setzi issues at 9 and its reader at 15.
    assert_eq!((fault.clock, fault.address), (15, CODE + 16));
    assert_eq!(fault.symbol.as_deref(), Some("kernel+0x10"));
    assert_eq!(fault.instruction.as_deref(), Some("ld32 $m1, $m0, $m15, 0"));
    assert_eq!(fault.kind, FaultKind::Misaligned);
    assert_eq!(
        fault.to_string(),
        "E6001: tile 0 supervisor clock 15 at 0x4c128 (kernel+0x10) `ld32 $m1, $m0, $m15, 0`: misaligned access: address \
         0x60002 is no multiple of 4"
    );
}

#[test]
fn the_worker_of_a_fault_is_named_and_the_earliest_counts() {
    let fault = worker_fault(|p| {
        p.word(0x7fff_ffff);
    });
    assert_eq!((fault.kind, fault.context), (FaultKind::UndefinedInstruction, ContextId::Worker(0)));
    assert_eq!(fault.address, WORKER);
    // Only worker 3 reads outside memory.
    let fault = worker_fault(|p| {
        p.op("get_mmmn_zi", &[0, 1]).op("cmpeq_mmmn_zi", &[1, 0, 3]);
        let over = p.here() as i32 / 4 + 2;
        p.op("brz_mmmn_zi", &[1, over]).op("ld32_mman", &[0, ZERO, ZERO, ZERO]);
    });
    assert_eq!((fault.kind, fault.context), (FaultKind::InvalidAddress, ContextId::Worker(3)));
}

#[test]
fn undefined_and_refused_instructions() {
    assert_eq!(
        supervisor_fault(|p| {
            p.word(0x5f00_0000);
        })
        .kind,
        FaultKind::UndefinedInstruction
    );
    assert_eq!(
        supervisor_fault(|p| {
            p.word(0);
        })
        .kind,
        FaultKind::UndefinedInstruction
    );
    // A bundle is no supervisor code.
    assert_eq!(
        supervisor_fault(|p| {
            p.word(0x99e0_0000);
        })
        .kind,
        FaultKind::UndefinedInstruction
    );
    let fault = worker_fault(|p| {
        p.op("f16v4rmask_aaan", &[0, 2, 4]);
    });
    assert_eq!(fault.kind, FaultKind::Refused);
    assert!(fault.message.contains("f16v4rmask"), "{fault}");
    // A main instruction in the aux place, an aux one in the main place.
    let main = ("setzi_mmmn_zi", &[0, 0][..]);
    assert_eq!(
        worker_fault(|p| {
            p.bundle(main, main);
        })
        .kind,
        FaultKind::UndefinedInstruction
    );
    let aux = ("setzi_aaan_zi", &[0, 0][..]);
    assert_eq!(
        worker_fault(|p| {
            p.bundle(aux, aux);
        })
        .kind,
        FaultKind::UndefinedInstruction
    );
}

#[test]
fn every_form_is_executed_or_refused_by_name() {
    let supported = crate::sim::supported_forms();
    for form in crate::isa::forms().iter().filter(|f| f.contexts == crate::isa::Contexts::Worker) {
        if supported.contains(&form.name) {
            continue;
        }
        let operands: Vec<i32> = vec![0; form.operands.len()];
        let fault = worker_fault(|p| {
            p.op(form.name, &operands);
        });
        assert_eq!(fault.kind, FaultKind::Refused, "{}", form.name);
        assert!(fault.message.contains(form.name), "{fault}");
    }
    // The supervisor's forms are all executed.
    for form in crate::isa::forms().iter().filter(|f| f.contexts != crate::isa::Contexts::Worker) {
        assert!(supported.contains(&form.name), "{}", form.name);
    }
}

#[test]
fn addresses() {
    let load = |address: u32, form: &'static str| {
        supervisor_fault(move |p| {
            p.set(1, address).op(form, &[0, 1, ZERO, 0]);
        })
        .kind
    };
    assert_eq!(load(0x60001, "ldz16_mmmn_zi"), FaultKind::Misaligned);
    assert_eq!(load(0x4bffc, "ld32_mmmn_zi"), FaultKind::InvalidAddress);
    assert_eq!(load(0xe8000, "ld32_mmmn_zi"), FaultKind::InvalidAddress);
    assert_eq!(load(0x4bfff, "ldz8_mmmn_zi"), FaultKind::InvalidAddress);
    let store = |address: u32| {
        supervisor_fault(move |p| {
            p.set(1, address).op("st32_mmmn_zi", &[0, 1, ZERO, 0]);
        })
        .kind
    };
    assert_eq!(store(0xe8000), FaultKind::InvalidAddress);
    assert_eq!(store(0x60002), FaultKind::Misaligned);
    let quad = |address: u32| {
        worker_fault(move |p| {
            p.set(1, address).op("ld128_mman_zi", &[12, 1, ZERO, 0]);
        })
        .kind
    };
    assert_eq!(quad(0x60000), FaultKind::NotInterleaved);
    assert_eq!(quad(0x90008), FaultKind::Misaligned);
    // A store to a dropped register's address still faults; a load to a zero register performs its access.
    assert_eq!(
        worker_fault(|p| {
            p.op("ld64_mman_zi", &[14, ZERO, ZERO, 0]);
        })
        .kind,
        FaultKind::InvalidAddress
    );
}

#[test]
fn fetches() {
    let branch = |target: u32| {
        supervisor_fault(move |p| {
            p.set(0, target).op("br_mmmn", &[0]);
        })
    };
    let fault = branch(0x80000);
    assert_eq!((fault.kind, fault.address, fault.instruction), (FaultKind::InvalidPc, 0x80000, None));
    assert_eq!(branch(CODE + 2).kind, FaultKind::InvalidPc);
    let entry = |entry: u32| {
        supervisor_fault(move |p| {
            p.set(0, entry).op("runall_mmmn_zi", &[0, ZERO, 0]);
        })
        .kind
    };
    assert_eq!(entry(0x80000), FaultKind::InvalidPc);
    assert_eq!(entry(WORKER + 1), FaultKind::Misaligned);
    // A worker runs off the executable region.
    let (outcome, _) = on_workers_with(
        |tile| tile.load(0x7fffc, &0x19e0_0000u32.to_le_bytes()),
        |p| {
            p.op("bri_mmmn_zi", &[0x7fffc / 4]);
        },
    );
    let fault = outcome.expect_err("a fault");
    assert_eq!((fault.kind, fault.address), (FaultKind::InvalidPc, 0x80000));
    // A bundle straddles its end.
    let (outcome, _) = on_workers_with(
        |tile| tile.load(0x7fffc, &[0x99e0_0000u32, 0x9ad0_0000].map(u32::to_le_bytes).concat()),
        |p| {
            p.op("bri_mmmn_zi", &[0x7fffc / 4]);
        },
    );
    let fault = outcome.expect_err("a fault");
    assert_eq!((fault.kind, fault.address), (FaultKind::InvalidPc, 0x7fffc));
}

#[test]
fn unwritten_memory_is_not_read() {
    let fault = supervisor_fault(|p| {
        p.set(1, 0x60000).op("ld32_mmmn_zi", &[0, 1, ZERO, 0]);
    });
    assert_eq!(fault.kind, FaultKind::Unwritten);
    // Half of it is written.
    let (outcome, _) = on_workers_with(
        |t| t.load(0x60000, &[0; 4]),
        |p| {
            p.set(1, 0x60000).op("ld64_mman_zi", &[0, 1, ZERO, 0]);
        },
    );
    assert_eq!(outcome.expect_err("a fault").kind, FaultKind::Unwritten);
    // A zero register does not count.
    let (outcome, _) = on_workers(|p| {
        p.set(1, 0x60000).op("ld64_mman_zi", &[14, 1, ZERO, 0]).op("exitz_mmmn", &[ZERO]);
    });
    assert!(outcome.is_ok());
    // The check can be switched off.
    let mut program = Program::at(CODE);
    program.set(1, 0x60000).op("ld32_mmmn_zi", &[0, 1, ZERO, 0]).ret();
    let mut tile = TileMachine::new(MachineConfig { check_unwritten: false, ..Default::default() });
    program.load(&mut tile);
    assert!(tile.call(CODE).is_ok());
}

#[test]
fn accesses_of_one_instruction_use_different_elements() {
    let pace = |form: &'static str, operands: &'static [i32], addresses: [u32; 3]| {
        let (outcome, _) = on_workers_with(
            |t| t.load(0x60000, &vec![0; 0x48000]),
            |p| {
                p.set(0, addresses[0]).set(1, addresses[1]).set(2, addresses[2]);
                p.op("tapack_mmmn", &[4, 0, 1, 2]).op(form, operands).op("exitz_mmmn", &[ZERO]);
            },
        );
        outcome.err().map(|f| f.kind)
    };
    let (loads, both) =
        (("ld2x64pace_mmbn_ef", &[0, 2, 4, 15, 0][..]), ("ld2xst64pace_mbbn_ef", &[0, 4, 4, 15, 0][..]));
    let conflict = Some(FaultKind::Conflict);
    // Region 0: the 16 KiB element.
    assert_eq!(pace(loads.0, loads.1, [0x60000, 0x63ff8, 0]), conflict);
    assert_eq!(pace(loads.0, loads.1, [0x60000, 0x64000, 0]), None);
    // Region 1: pair and address bit 3.
    assert_eq!(pace(loads.0, loads.1, [0x80000, 0x87ff0, 0]), conflict);
    assert_eq!(pace(loads.0, loads.1, [0x80000, 0x87ff8, 0]), None);
    assert_eq!(pace(loads.0, loads.1, [0x80000, 0x88000, 0]), None);
    // The store counts.
    assert_eq!(pace(both.0, both.1, [0x60000, 0x80000, 0x80058]), None);
    assert_eq!(pace(both.0, both.1, [0x60000, 0x80000, 0x80050]), conflict);
    assert_eq!(pace(both.0, both.1, [0x60000, 0x80000, 0x60008]), conflict);
    assert_eq!(pace("ldst64pace_mbbn_ef", &[0, 4, 4, 15, 0], [0x60000, 0, 0x60008]), conflict);
    assert_eq!(pace("ldst64pace_mbbn_ef", &[0, 4, 4, 15, 0], [0x60000, 0, 0x64000]), None);
}

#[test]
fn operands() {
    // Equal destinations, in one instruction and in a bundle.
    assert_eq!(
        worker_fault(|p| {
            p.op("ld2x64pace_mmbn_ef", &[0, 0, 4, 15, 0]);
        })
        .kind,
        FaultKind::InvalidOperand
    );
    assert_eq!(
        worker_fault(|p| {
            p.op("ld32step_mmmn_si", &[2, ZERO, 2, 1]);
        })
        .kind,
        FaultKind::InvalidOperand
    );
    let load = ("ld64_mman_zi", &[0, 13, ZERO, 0][..]);
    let clash = |register: i32| {
        worker_fault(|p| {
            p.bundle(load, ("setzi_aaan_zi", &[register, 0]));
        })
        .kind
    };
    assert_eq!(clash(1), FaultKind::InvalidOperand);
    assert_eq!(
        worker_fault(|p| {
            p.op("setzi_aaan_zi", &[9, 0]);
        })
        .kind,
        FaultKind::InvalidOperand
    );
    // Repeat bodies: a solo instruction, a system instruction, a misplaced body.
    let body = |p: &mut Program| {
        p.op("rpt_mmmn_zi_zi", &[2, 0]);
    };
    let fault = worker_fault(|p| {
        p.nops(1);
        body(p);
        p.nops(2);
    });
    assert_eq!((fault.kind, fault.address), (FaultKind::InvalidOperand, WORKER + 8));
    let system = worker_fault(|p| {
        p.nops(1);
        body(p);
        p.bundle(("get_mmmn_zi", &[0, 0]), ("setzi_aaan_zi", &[13, 0]));
    });
    assert_eq!(system.kind, FaultKind::InvalidOperand);
    assert_eq!(
        worker_fault(|p| {
            body(p);
            p.nops(2);
        })
        .kind,
        FaultKind::Misaligned
    );
    // Coefficient index.
    assert_eq!(
        supervisor_fault(|p| {
            p.op("ld64putcs_mmmn_zi", &[64]);
        })
        .kind,
        FaultKind::InvalidOperand
    );
    assert_eq!(
        supervisor_fault(|p| {
            p.op("ld128putcs_mmmn_zi", &[1]);
        })
        .kind,
        FaultKind::InvalidOperand
    );
}

#[test]
fn control_registers() {
    assert_eq!(
        supervisor_fault(|p| {
            p.op("get_mmmn_zi", &[0, 0xff]);
        })
        .kind,
        FaultKind::InvalidRegister
    );
    assert_eq!(
        supervisor_fault(|p| {
            p.op("put_mmmn_zi", &[0x60, 0]);
        })
        .kind,
        FaultKind::InvalidRegister
    );
    let fault = worker_fault(|p| {
        p.op("put_mmmn_zi", &[0x70, 0]);
    });
    assert_eq!(fault.kind, FaultKind::InvalidRegister);
    assert!(fault.message.contains("$DBG_DATA"), "{fault}");
    assert_eq!(
        worker_fault(|p| {
            p.op("uget_aaan_zi", &[0, 77]);
        })
        .kind,
        FaultKind::InvalidRegister
    );
    // Stochastic rounding is refused.
    assert_eq!(
        worker_fault(|p| {
            p.op("setzi_aaan_zi", &[0, 1 << 19]).op("uput_aaan_zi", &[2, 0]);
        })
        .kind,
        FaultKind::Refused
    );
}

#[test]
fn workers_at_the_wrong_time() {
    let twice = supervisor_fault(|p| {
        p.set(0, WORKER).set(1, 0).op("run_mmmn_zi", &[0, 1, 0]).op("runall_mmmn_zi", &[0, 1, 0]);
    });
    assert_eq!(twice.kind, FaultKind::WorkerActive);
    let load = supervisor_fault(|p| {
        p.set(0, WORKER).set(1, 0).op("run_mmmn_zi", &[0, 1, 0]).op("ld64putcs_mmmn_zi", &[0]);
    });
    assert_eq!(load.kind, FaultKind::WorkerActive);
    let base = supervisor_fault(|p| {
        p.set(0, WORKER).set(1, 0).op("run_mmmn_zi", &[0, 1, 0]).op("put_mmmn_zi", &[0x21, 0]);
    });
    assert_eq!(base.kind, FaultKind::WorkerActive);
}

#[test]
fn floating_point_exceptions_that_are_enabled() {
    // 65504 + 65504 overflows f16: saturated unless the exception is enabled.
    let overflow = |p: &mut Program, control: i32| {
        p.op("setzi_aaan_zi", &[1, control]).op("uput_aaan_zi", &[2, 1]);
        p.op("setzi_aaan_zi", &[0, 0x7bff]).op("f16v2add_aaan", &[2, 0, 0]);
    };
    let (outcome, _) = on_workers(|p| {
        overflow(p, 0);
        p.op("exitz_mmmn", &[ZERO]);
    });
    assert!(outcome.is_ok());
    assert_eq!(worker_fault(|p| overflow(p, 4)).kind, FaultKind::FloatingPoint);
}

#[test]
fn traps_limits_and_syncs() {
    let fault = supervisor_fault(|p| {
        p.op("trap_mmmn_zi", &[1]);
    });
    assert_eq!((fault.kind, fault.instruction.as_deref()), (FaultKind::Trap, Some("trap 1")));
    let fault = supervisor_fault(|p| {
        let here = p.here() as i32 / 4;
        p.op("bri_mmmn_zi", &[here]);
    });
    assert_eq!((fault.kind, fault.address), (FaultKind::CycleLimit, CODE));
    let fault = worker_fault(|p| {
        let here = p.here() as i32 / 4;
        p.op("bri_mmmn_zi", &[here]);
    });
    assert_eq!((fault.kind, fault.context), (FaultKind::CycleLimit, ContextId::Worker(0)));
    assert_eq!(
        supervisor_fault(|p| {
            p.op("sync_mmmn_zi", &[9]);
        })
        .kind,
        FaultKind::Refused
    );
    let promised = supervisor_fault(|p| {
        p.op("sans_mmmn_zi", &[0]).op("sync_mmmn_zi", &[3]);
    });
    assert_eq!(promised.kind, FaultKind::Sync);
    let outside = supervisor_fault(|p| {
        p.set(0, 1).op("put_mmmn_zi", &[0xa6, 0]).op("sync_mmmn_zi", &[0]);
    });
    assert_eq!(outside.kind, FaultKind::Deadlock);
}

#[test]
fn changed_code_is_seen_at_once() {
    // The cache must not survive a word that changes.
    let mut tile = tile();
    for value in [1u32, 2] {
        let mut program = Program::at(CODE);
        program.set(0, value).ret();
        program.load(&mut tile);
        tile.call(CODE).unwrap_or_else(|f| panic!("{f}"));
        assert_eq!(tile.register(0), value);
    }
}
