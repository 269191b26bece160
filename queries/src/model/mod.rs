//! From the text of model.json to a resolved graph.
//!
//! In: a text and edits on it. Out: the [`Ast`] with spans, the [`SourceMap`], and [`Resolved`]: graph, limits, problems.
//! 1. Neither the graph nor the limits nor the problems of [`resolve`] hold a position.
//! 2. No input panics; every problem has a code and a place; whatever is not supported is refused by name.
//! 3. A model with errors still gives the part of the graph that is sound.
//!
//! What it stops: white space, comments in `description` and key order change the tree and the source map and nothing
//! below; limits change [`Limits`] only; names and data sources change their own part of the graph.
//!
//! Cost: linear in the text.

pub mod ast;
pub mod check;
pub mod declaration;
pub mod graph;
pub mod json;
pub mod limits;
pub mod line_index;
mod print;
pub mod resolve;
pub mod schema;
pub mod shapes;
pub mod source_map;
pub mod value;
pub mod verify;

use crate::diagnostics::codes::{DUPLICATE_NAME, SYNTAX};
use crate::diagnostics::{Label, Place, Problem};

pub use ast::Ast;
pub use graph::Graph;
pub use limits::Limits;
pub use line_index::LineIndex;
pub use resolve::{Resolved, resolve};
pub use schema::json_schema;
pub use source_map::SourceMap;
pub use value::{Edit, Value};

/// Reads the text. The problems are those of the syntax (E0001) and keys that stand twice (E0007); all others come of
/// [`resolve`].
pub fn parse(text: &str) -> (Ast, Vec<Problem>) {
    let (root, defects) = json::parse(text);
    let sound = defects.is_empty();
    let problems = defects
        .into_iter()
        .map(|defect| {
            let code = if defect.duplicate { DUPLICATE_NAME } else { SYNTAX };
            let label = |span, text, primary| Label { place: Place::Bytes(span), text, primary };
            let problem = Problem::new(code, defect.message).label(label(defect.span, defect.label, true));
            match defect.other {
                Some((span, text)) => problem.label(label(span, text, false)),
                None => problem,
            }
        })
        .collect();
    (Ast { root, sound }, problems)
}
