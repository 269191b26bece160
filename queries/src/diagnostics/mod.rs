//! Problems as values: what is wrong with the user's model, where, by how much, and what to change.
//!
//! In: problems of every stage, which name entities by path and never by position. Out: the same in the order of the
//! text, with spans.
//! 1. A problem of a stage after parsing holds no span, so a white-space edit leaves it equal and moves only its labels.
//! 2. Every code stands in [`codes`] with its long text.
//!
//! Own bugs are no problems: they panic.

pub mod codes;
pub mod problem;
pub mod spelling;

use crate::model::json::Span;
use crate::model::source_map::SourceMap;

pub use codes::Code;
pub use problem::{Label, Level, Part, Place, Problem, Suggestion};

/// A label with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<'a> {
    /// The label.
    pub label: &'a Label,
    /// Its bytes.
    pub span: Span,
}

/// The labels of a problem with their spans; a place that does not stand in the text (a key that is missing or set by an
/// edit) is shown at the nearest place around it. Primary labels come first.
pub fn locate<'a>(problem: &'a Problem, map: &SourceMap) -> Vec<Located<'a>> {
    let mut located: Vec<Located> = problem
        .labels
        .iter()
        .map(|label| {
            let span = match &label.place {
                Place::Bytes(span) => *span,
                Place::Path { path, part } => map.nearest(path, *part),
            };
            Located { label, span }
        })
        .collect();
    located.sort_by_key(|located| !located.label.primary);
    located
}

/// Sorts problems for printing: by the place of the first primary label, then by code and message.
pub fn arrange(problems: &mut [Problem], map: &SourceMap) {
    problems.sort_by_cached_key(|problem| {
        let start = locate(problem, map).first().map_or(0, |located| located.span.start);
        (start, problem.code, problem.message.clone())
    });
}
