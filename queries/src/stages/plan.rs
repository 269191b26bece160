//! Stages `plan` and `lower`: candidates, frontier, choice, work, program.

use std::sync::Arc;

use super::model::content;
use super::names::{self, node};
use crate::database::Db;
use crate::digest::Keyed;
use crate::exchange::Effort;
use crate::keys::{LimitsKey, OpSig, PlanSetKey, Scenario, WorkKey, WorkRequest};
use crate::lower::gemm::lower;
use crate::lower::ir::OpWork;
use crate::lower::program::{OperandSource, Operator, Program};
use crate::model::graph::{self, Content, Operand, Role};
use crate::plan::candidates::{self as search, Candidate, Pins};
use crate::plan::gemm::{GemmShape, OperandKind};
use crate::plan::layout::Layout;
use crate::plan::whole::{self, OperatorInput, PlanSet, Priced};

/// The plans of an operator, or why its pins admit none.
pub(super) type Candidates = Result<Arc<Vec<Candidate>>, String>;

/// The plans worth having of an operator on so many tiles.
pub fn candidates<'db>(db: &'db dyn Db, signature: OpSig<'db>, tiles: u32) -> &'db Candidates {
    db.trace().edge(node("candidates", format!("{} on {tiles}", names::signature(db, signature))));
    candidates_query(db, signature, tiles)
}

#[salsa::tracked]
fn candidates_query<'db>(db: &'db dyn Db, signature: OpSig<'db>, tiles: u32) -> Candidates {
    db.trace().execute(node("candidates", format!("{} on {tiles}", names::signature(db, signature))), || {
        search::candidates(&signature.shape(db), tiles, &signature.pins(db)).map(Arc::new)
    })
}

/// Why an operator has no plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Objection {
    /// Which operator.
    pub operator: u32,
    /// Its pins are impossible (else it is not supported).
    pub pinned: bool,
    /// Why.
    pub reason: String,
}

/// Whole-graph plans.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frontier {
    /// Fastest first; empty when there is an objection or no operator.
    pub plans: Keyed<Vec<Priced>>,
    /// Operators without a plan.
    pub objections: Vec<Objection>,
}

/// The Pareto set of whole-graph plans, pruned by the chip's size only.
pub fn frontier<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> &'db Frontier {
    db.trace().edge(node("frontier", names::scenario(db, scenario)));
    frontier_query(db, scenario)
}

#[salsa::tracked]
fn frontier_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> Frontier {
    db.trace().execute(node("frontier", names::scenario(db, scenario)), || {
        let graph = content(db, scenario);
        let (mut operators, mut objections) = (Vec::new(), Vec::new());
        let tiles = u32::from(graph.target.tiles);
        for operator in operands(graph) {
            match operator {
                Err(objection) => objections.push(objection),
                Ok((index, shape, operands)) => {
                    let pins = graph.ops[index as usize].pins;
                    let pins = Pins { grid: pins.grid, steps: pins.steps };
                    let output = graph.outputs.iter().any(|o| o.0 == index);
                    match candidates(db, OpSig::new(db, shape, pins), tiles) {
                        Ok(found) => {
                            operators.push(OperatorInput { shape, operands, output, candidates: Arc::clone(found) });
                        }
                        Err(reason) => {
                            objections.push(Objection { operator: index, pinned: true, reason: reason.clone() });
                        }
                    }
                }
            }
        }
        let plans =
            if objections.is_empty() && !operators.is_empty() { whole::frontier(&operators) } else { Vec::new() };
        Frontier { plans: Keyed::new(plans), objections }
    })
}

type Operands = (u32, GemmShape, Vec<OperandSource>);

/// Shape and operand sources of every operator: the first operator that uses an input has it loaded.
fn operands(graph: &Content) -> Vec<Result<Operands, Objection>> {
    /// Who has the loader write an input, and as which operand.
    type Loader = Option<(u32, usize)>;
    let mut loaders: Vec<Loader> = vec![None; graph.tensors.len()];
    (0u32..)
        .zip(&graph.ops)
        .map(|(index, op)| {
            let mut kinds = Vec::new();
            for (position, operand) in op.operands.iter().enumerate() {
                kinds.push(match *operand {
                    Operand::Result(producer) => (OperandKind::Result, OperandSource::Result(producer.0)),
                    Operand::Tensor(tensor) if graph.tensors[tensor.index()].role == Role::Weight => {
                        (OperandKind::Weight, OperandSource::Tensor(tensor.0))
                    }
                    Operand::Tensor(tensor) => match loaders[tensor.index()] {
                        None => {
                            loaders[tensor.index()] = Some((index, position));
                            (OperandKind::Input, OperandSource::Tensor(tensor.0))
                        }
                        Some((loader, 0)) if position == 0 => (OperandKind::Result, OperandSource::Loaded(loader)),
                        Some(_) => {
                            let reason =
                                "an input that is the right operand of one gemm and an operand of another".into();
                            return Err(Objection { operator: index, pinned: false, reason });
                        }
                    },
                });
            }
            let extents = op.signature.gemm().expect("gemm is the only operator that resolves");
            let graph::GemmExtents { m, k, n } = extents;
            let shape = GemmShape { m, k, n, left: kinds[0].0, right: kinds[1].0 };
            Ok((index, shape, kinds.into_iter().map(|(_, source)| source).collect()))
        })
        .collect()
}

/// The plan set: best of the frontier within the limits, or the least bad one; empty when there is none at all, or none
/// that comes near the chip's memory.
pub fn choice<'db>(db: &'db dyn Db, scenario: Scenario<'db>, limits: LimitsKey<'db>) -> &'db Keyed<PlanSet> {
    db.trace().edge(node("choice", names::within(db, scenario, limits)));
    choice_query(db, scenario, limits)
}

#[salsa::tracked]
fn choice_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>, limits: LimitsKey<'db>) -> Keyed<PlanSet> {
    db.trace().execute(node("choice", names::within(db, scenario, limits)), || {
        let plans = &frontier(db, scenario).plans;
        let l = limits.limits(db);
        let effort = content(db, scenario).target.effort;
        let best = (!plans.is_empty())
            .then(|| whole::choose(plans, l.tile_memory_bytes.into(), l.exchange_table_bytes.into()))
            .filter(|best| best.memory_bytes <= whole::HOPELESS);
        let mut set = best.map(|best| best.set.clone()).unwrap_or_default();
        set.effort = match effort {
            graph::Effort::Fast => Effort::FAST.0,
            graph::Effort::Normal => Effort::NORMAL.0,
            graph::Effort::Max => Effort::MAX.0,
        };
        Keyed::new(set)
    })
}

/// Work units that scheduling may spend on a phase of a plan set.
pub(super) fn effort_of(db: &dyn Db, set: PlanSetKey) -> u32 {
    set.set(db).effort
}

/// The work of an operator, and where its result lies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    /// Buffers, loads, steps.
    pub content: Keyed<OpWork>,
    /// Layout of its result.
    pub result: Keyed<Layout>,
    /// Layout of its left operand if the loader writes it.
    pub loaded: Option<Keyed<Layout>>,
}

/// Lowers an operator.
pub fn op_work<'db>(db: &'db dyn Db, key: WorkKey<'db>) -> &'db Work {
    db.trace().edge(node("op_work", names::work(db, key)));
    op_work_query(db, key)
}

#[salsa::tracked]
fn op_work_query<'db>(db: &'db dyn Db, key: WorkKey<'db>) -> Work {
    db.trace().execute(node("op_work", names::work(db, key)), || {
        let WorkRequest { shape, plan, left } = key.request(db);
        let work = lower(shape, plan, left.as_deref());
        let result = Keyed::new(work.result.clone());
        let loaded = work.loads.iter().find(|l| l.operand == 0).map(|l| Keyed::new(l.layout.clone()));
        Work { content: Keyed::new(work), result, loaded }
    })
}

/// All operators of a plan set, lowered and joined.
pub fn program<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> &'db Keyed<Program> {
    db.trace().edge(node("program", names::plan_set(db, set)));
    program_query(db, set)
}

#[salsa::tracked]
fn program_query<'db>(db: &'db dyn Db, set: PlanSetKey<'db>) -> Keyed<Program> {
    db.trace().execute(node("program", names::plan_set(db, set)), || {
        let mut works: Vec<&Work> = Vec::new();
        let mut operators = Vec::new();
        for planned in &set.set(db).operators {
            let left = match planned.operands[0] {
                OperandSource::Result(i) => Some(works[i as usize].result.clone()),
                OperandSource::Loaded(i) => works[i as usize].loaded.clone(),
                OperandSource::Tensor(_) => None,
            };
            let request = WorkRequest { shape: planned.shape, plan: planned.plan, left };
            let work = op_work(db, WorkKey::new(db, request));
            operators.push(Operator {
                work: work.content.clone(),
                operands: planned.operands.clone(),
                output: planned.output,
            });
            works.push(work);
        }
        Keyed::new(Program::new(operators))
    })
}
