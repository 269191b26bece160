//! Stage `exchange`, the address-free part and the placed one.

use super::names::{self, node};
use super::place::placement;
use super::plan::{effort_of, program};
use crate::database::Db;
use crate::digest::Keyed;
use crate::exchange::Effort;
use crate::exchange::banks::{self, ClashSig};
use crate::exchange::order::{self as ordering, Order};
use crate::exchange::timing::{self as placing, Schedule};
use crate::keys::{ClashKey, PhaseProblem, PlanSetKey, Reservation};
use crate::lower::ir::Step;

/// Send order and grouping of a phase: address-free, the expensive one.
pub fn order<'db>(db: &'db dyn Db, phase: PhaseProblem<'db>, effort: u32) -> &'db Keyed<Order> {
    db.trace().edge(node("order", names::phase(db, phase, effort)));
    order_query(db, phase, effort)
}

#[salsa::tracked]
fn order_query<'db>(db: &'db dyn Db, phase: PhaseProblem<'db>, effort: u32) -> Keyed<Order> {
    db.trace().execute(node("order", names::phase(db, phase, effort)), || {
        Keyed::new(ordering::order(phase.problem(db), Effort(effort)))
    })
}

/// Which buffers of the phase at a step share banks.
pub fn clash<'db>(
    db: &'db dyn Db,
    set: PlanSetKey<'db>,
    reservation: Reservation,
    position: u32,
) -> &'db Keyed<ClashSig> {
    db.trace().edge(node("clash", format!("{} step {position}", names::placed(db, set, reservation))));
    clash_query(db, set, reservation, position)
}

#[salsa::tracked]
fn clash_query<'db>(db: &'db dyn Db, set: PlanSetKey<'db>, reservation: Reservation, position: u32) -> Keyed<ClashSig> {
    db.trace().execute(node("clash", format!("{} step {position}", names::placed(db, set, reservation))), || {
        let program = program(db, set);
        let placed = placement(db, set, reservation);
        let (operator, step) = program.step(position as usize);
        let Step::Exchange(problem) = step else { unreachable!("a clash belongs to a phase") };
        let number = |buffer| program.resolve(operator, buffer) as usize;
        Keyed::new(banks::clash(problem, &|b| placed.addresses[number(b)], &|b| {
            program.buffers[number(b)].buffer.bytes
        }))
    })
}

/// Start slots of a phase.
pub fn timing<'db>(
    db: &'db dyn Db,
    phase: PhaseProblem<'db>,
    clash: ClashKey<'db>,
    effort: u32,
) -> &'db Keyed<Schedule> {
    db.trace().edge(node("timing", names::placed_phase(db, phase, clash, effort)));
    timing_query(db, phase, clash, effort)
}

#[salsa::tracked]
fn timing_query<'db>(db: &'db dyn Db, phase: PhaseProblem<'db>, clash: ClashKey<'db>, effort: u32) -> Keyed<Schedule> {
    db.trace().execute(node("timing", names::placed_phase(db, phase, clash, effort)), || {
        let ordered = order(db, phase, effort);
        Keyed::new(placing::timing(phase.problem(db), ordered, clash.clash(db), Effort(effort)))
    })
}

/// Start slots of the phase at a step of a plan set, in a reservation.
pub(super) fn schedule<'db>(
    db: &'db dyn Db,
    set: PlanSetKey<'db>,
    room: Reservation,
    position: u32,
) -> &'db Keyed<Schedule> {
    let (_, Step::Exchange(problem)) = program(db, set).step(position as usize) else {
        unreachable!("only a phase has a schedule")
    };
    let clash = ClashKey::new(db, clash(db, set, room, position).clone());
    timing(db, PhaseProblem::new(db, problem.clone()), clash, effort_of(db, set))
}
