//! The queries: thin memos around the stages, in the order in which data flows.
//!
//! ```text
//! SourceFile -> ast -> graph -> content -> candidates -> frontier -> choice -> op_work -> program
//!                  \-> limits ------------------------------^                               |
//!     order -> provisional -> reservation <-> placement -> clash -> timing -> rows  <-------+
//!     object -> linked -> classes -> tile_program -> package           usage -> problems
//! ```
//!
//! Each query is a pair: an accessor that records *caller -> callee* in the build log, and a tracked body that records
//! its execution and the digest of its result ([`crate::trace`]). Handles never enter rayon: [`warm`] runs keys on
//! ordinary threads, each with its own handle.
//!
//! | edit | what runs | where it is cut off |
//! |---|---|---|
//! | white space, key order, description | `ast`, `graph` | `graph` gives an equal result |
//! | a limit | `ast`, `graph`, `limits`, `choice`, `problems` | `choice` gives an equal plan set |
//! | a name | `ast`, `graph`, `content`, `package`, `problems` | `content` |
//! | the shape of an operator | its `candidates`, `op_work`, phases | operators and phases before it are re-used |
//! | a kernel source | its `object`, `linked`, `classes`, `tile_program`, `package` | an equal object |

mod code;
mod dump;
mod exchange;
mod model;
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

use crate::database::{Compiler, warm as warm_keys};
use crate::keys::{ClashKey, LimitsKey, PhaseProblem, PlanSetKey, Scenario};
use crate::lower::ir::Step;
use crate::trace::Node;

pub(crate) fn node(query: &'static str, key: impl Into<String>) -> Node {
    Node { query, key: key.into().into() }
}

/// Computes the expensive memos of a plan set on up to `threads` threads; [`package()`] then finds them.
pub fn warm<'db>(db: &'db Compiler, scenario: Scenario<'db>, limits: LimitsKey<'db>, threads: usize) {
    let set = choice(db, scenario, limits).clone();
    let key = PlanSetKey::new(db, set.clone());
    let phases = program(db, key).phases().count();
    warm_keys(db, threads, phases, |db, i| {
        let key = PlanSetKey::new(db, set.clone());
        let program = program(db, key);
        let position = program.phases().nth(i).expect("counted");
        if let (_, Step::Exchange(problem)) = program.step(position) {
            order(db, PhaseProblem::new(db, problem.clone()), effort_of(db, key));
        }
    });
    let first = reservation_guess(db, key);
    warm_keys(db, threads, phases, |db, i| {
        let key = PlanSetKey::new(db, set.clone());
        let program = program(db, key);
        let position = program.phases().nth(i).expect("counted");
        if let (_, Step::Exchange(problem)) = program.step(position) {
            let clash = ClashKey::new(db, clash(db, key, first, position as u32).clone());
            timing(db, PhaseProblem::new(db, problem.clone()), clash, effort_of(db, key));
        }
    });
}

use place::first_guess as reservation_guess;
use plan::effort_of;
