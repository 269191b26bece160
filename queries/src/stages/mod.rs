//! The queries: thin memos around the stages, in the order in which data flows.
//!
//! ```text
//! SourceFile -> ast -> graph -> content -> candidates -> frontier -> choice -> op_work -> program
//!                          \-> limits ----------------------------------^                     |
//!     order -> provisional -> reservation <-> placement -> clash -> timing -> rows  <-------+
//!     object -> linked -> classes -> tile_program -> package           usage -> problems
//! ```
//!
//! Each query is a pair: an accessor that records *caller -> callee* in the build log, and a tracked body that records
//! its execution and the digest of its result ([`crate::trace`]), both under the name that `names` gives the key. A query
//! whose readers need different parts gives a tracked struct (`ast`, `graph`, `linked`): a reader depends on the fields
//! that it reads. Handles never enter rayon: [`warm`] runs keys on ordinary threads, each with its own handle.
//!
//! | edit | what runs | where it is cut off |
//! |---|---|---|
//! | white space, key order, description | `ast`, `graph` | `graph` gives an equal result |
//! | a limit | `ast`, `graph`, `limits`, `choice`, `problems` | `graph`; `choice` gives a plan set that is known |
//! | a name, data of a tensor | `ast`, `graph`, `content`, `package`, `problems` | `content` |
//! | the shape of an operator | its `candidates`, `op_work`, `order`, `timing`; all of the new plan set | other operators |
//! | a comment in a kernel source | its `object` | an equal object |
//! | code of a kernel source | its `object`, `linked`, `classes`, `package`; `tile_program` if an entry moved | |
//!
//! `queries/tests/incremental.rs` asserts this table.

use std::cmp::Reverse;

mod code;
mod dump;
mod exchange;
mod model;
mod names;
mod package;
mod place;
mod plan;
mod report;

pub use code::{Linked, LinkedImage, linked, object, tile_program};
pub use dump::{Dump, dump, exchange_problems};
pub use exchange::{clash, order, timing};
pub use model::{ParsedModel, ast, content, graph, limits, source_map};
pub use package::{Classes, classes, package};
pub use place::{Placement, RowTable, kernels_used, placement, provisional, reservation, rows};
pub use plan::{candidates, choice, frontier, op_work, program};
pub use report::{Usage, named_operators, named_phases, problems, usage};

use self::exchange::schedule;
use self::place::first_guess;
use crate::database::{Compiler, warm as warm_keys};
use crate::keys::{LimitsKey, PlanSetKey, Scenario};
use crate::lower::ir::Step;

/// Schedules the phases of a plan set on up to `threads` threads; [`rows`] then finds them.
///
/// The threads have ended, and dropped their handles, when this returns: a write that follows waits for none of them.
pub fn warm<'db>(db: &'db Compiler, scenario: Scenario<'db>, limits: LimitsKey<'db>, threads: usize) {
    let set = choice(db, scenario, limits);
    let key = PlanSetKey::new(db, set.clone());
    let program = program(db, key);
    let room = first_guess(db, key);
    placement(db, key, room);
    let transfers = |position: usize| match program.step(position) {
        (_, Step::Exchange(problem)) => problem.transfers.len(),
        (_, Step::Compute(_)) => unreachable!("a phase is an exchange"),
    };
    let mut phases: Vec<usize> = program.phases().collect();
    // Largest first: none of them is begun last, with the other threads idle.
    phases.sort_by_key(|&position| Reverse(transfers(position)));
    warm_keys(db, threads, phases.len(), |db, i| {
        // The handle of this thread has its own references.
        let key = PlanSetKey::new(db, set.clone());
        schedule(db, key, room, phases[i] as u32);
    });
}
