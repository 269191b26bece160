//! Stage `model`: text to tree, graph and limits.

use super::node;
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
    /// The limits that the text states, without spans.
    #[tracked]
    #[returns(ref)]
    pub limits: Limits,
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
    db.trace().execute(
        node("ast", source.path(db)),
        || {
            let (tree, syntax) = parse(text);
            let limits = resolve(&tree, &[]).limits;
            ParsedModel::new(db, tree, limits, syntax)
        },
        |_| Digest::of(&**text),
    )
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

fn scenario_name(db: &dyn Db, scenario: Scenario) -> String {
    let mut name = scenario.source(db).path(db).to_owned();
    for edit in scenario.edits(db) {
        name.push_str(&format!(" {}={}", edit.path, edit.value));
    }
    name
}

/// The graph of a scenario.
pub fn graph<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> &'db ResolvedModel {
    db.trace().edge(node("graph", scenario_name(db, scenario)));
    graph_query(db, scenario)
}

#[salsa::tracked]
fn graph_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> ResolvedModel {
    db.trace().execute(
        node("graph", scenario_name(db, scenario)),
        || {
            let parsed = ast(db, scenario.source(db));
            let resolved = resolve(parsed.tree(db), scenario.edits(db));
            ResolvedModel {
                content: Keyed::new(resolved.graph.content),
                names: resolved.graph.names,
                data: resolved.graph.data,
                problems: resolved.problems,
            }
        },
        |value| Digest::of(value),
    )
}

/// The part of the graph that decides plans: names and data stop here.
pub fn content<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> &'db Keyed<Content> {
    db.trace().edge(node("content", scenario_name(db, scenario)));
    content_query(db, scenario)
}

#[salsa::tracked]
fn content_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> Keyed<Content> {
    db.trace().execute(
        node("content", scenario_name(db, scenario)),
        || graph(db, scenario).content.clone(),
        |value| value.digest,
    )
}

/// The limits that a scenario states.
pub fn limits<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> &'db Limits {
    db.trace().edge(node("limits", scenario_name(db, scenario)));
    limits_query(db, scenario)
}

#[salsa::tracked]
fn limits_query<'db>(db: &'db dyn Db, scenario: Scenario<'db>) -> Limits {
    db.trace().execute(
        node("limits", scenario_name(db, scenario)),
        || {
            let parsed = ast(db, scenario.source(db));
            if scenario.edits(db).is_empty() {
                parsed.limits(db).clone()
            } else {
                resolve(parsed.tree(db), scenario.edits(db)).limits
            }
        },
        |value| Digest::of(value),
    )
}
