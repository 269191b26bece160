//! Stage `model`: text to tree, graph and limits.

use super::names::{self, node};
use crate::database::Db;
use crate::diagnostics::Problem;
use crate::digest::{Digest, Keyed};
use crate::inputs::SourceFile;
use crate::keys::Scenario;
use crate::model::graph::{Content, DataSource, Names};
use crate::model::{Ast, Limits, SourceMap, parse, resolve};

/// What parsing gives, field by field, so that a reader depends on what it reads only.
#[salsa::tracked(debug)]
pub struct ParsedModel<'db> {
    /// The tree, with spans: changes with every edit of the text.
    #[tracked]
    #[returns(ref)]
    pub tree: Ast,
    /// Problems of the syntax.
    #[tracked]
    #[returns(ref)]
    pub syntax: Vec<Problem>,
}

/// The tree of a model file.
pub fn ast(db: &dyn Db, source: SourceFile) -> ParsedModel<'_> {
    db.trace().edge(node("ast", source.path(db)));
    ast_query(db, source)
}

#[salsa::tracked(returns(copy))]
fn ast_query(db: &dyn Db, source: SourceFile) -> ParsedModel<'_> {
    let text = source.text(db);
    let (tree, syntax) = db.trace().execute_as(node("ast", source.path(db)), || parse(text), |_| Digest::of(&**text));
    ParsedModel::new(db, tree, syntax)
}

/// Where everything stands in the text: for diagnostics only.
pub fn source_map(db: &dyn Db, source: SourceFile) -> SourceMap {
    SourceMap::new(ast(db, source).tree(db))
}

/// A resolved model without positions and limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResolvedModel {
    /// What decides plans.
    pub content: Keyed<Content>,
    /// Names of its entities.
    pub names: Names,
    /// What its tensors hold.
    pub data: Vec<DataSource>,
    /// What is wrong with it, apart from syntax.
    pub problems: Vec<Problem>,
}

/// What resolving gives, field by field: limits are apart, so that one of them leaves the model as it is.
#[salsa::tracked(debug)]
struct ResolvedScenario<'db> {
    #[tracked]
    #[returns(ref)]
    model: ResolvedModel,
    #[tracked]
    #[returns(ref)]
    limits: Limits,
}

/// The graph of a scenario.
pub fn graph<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> &'db ResolvedModel {
    resolved(db, scenario).model(db)
}

fn resolved<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> ResolvedScenario<'db> {
    db.trace().edge(node("graph", names::scenario(db, scenario)));
    graph_query(db, scenario)
}

#[salsa::tracked(returns(copy))]
fn graph_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> ResolvedScenario<'db> {
    let (model, limits) = db.trace().execute_as(
        node("graph", names::scenario(db, scenario)),
        || {
            let resolved = resolve(ast(db, scenario.source(db)).tree(db), scenario.edits(db));
            let model = ResolvedModel {
                content: Keyed::new(resolved.graph.content),
                names: resolved.graph.names,
                data: resolved.graph.data,
                problems: resolved.problems,
            };
            (model, resolved.limits)
        },
        |(model, _)| Digest::of(model),
    );
    ResolvedScenario::new(db, model, limits)
}

/// The part of the graph that decides plans: names and data stop here.
pub fn content<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> &'db Keyed<Content> {
    db.trace().edge(node("content", names::scenario(db, scenario)));
    content_query(db, scenario)
}

#[salsa::tracked]
fn content_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> Keyed<Content> {
    db.trace().execute(node("content", names::scenario(db, scenario)), || graph(db, scenario).content.clone())
}

/// The limits that a scenario states.
pub fn limits<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> &'db Limits {
    db.trace().edge(node("limits", names::scenario(db, scenario)));
    limits_query(db, scenario)
}

#[salsa::tracked]
fn limits_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> Limits {
    db.trace().execute(node("limits", names::scenario(db, scenario)), || resolved(db, scenario).limits(db).clone())
}
