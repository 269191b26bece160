//! Problems as text and as JSON, one format a file. The only place that knows the renderer crate.

mod full;
mod json;

use ipuc_queries::diagnostics::{Level, Problem, arrange};
use ipuc_queries::model::{LineIndex, SourceMap};

use crate::compile::Diagnostic;

pub use full::full;
pub use json::json;

/// The text that problems point into.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file as the user wrote it.
    pub file: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Where its entities stand.
    pub map: &'a SourceMap,
    /// Its lines.
    pub lines: &'a LineIndex,
}

/// Both forms of all problems, in the order of the text. `color`: ANSI styles in the form for people.
pub fn diagnostics(problems: &[Problem], source: &Source<'_>, color: bool) -> Vec<Diagnostic> {
    let mut problems = problems.to_vec();
    arrange(&mut problems, source.map);
    problems
        .iter()
        .map(|problem| Diagnostic { rendered: full(problem, source, color), json: json(problem, source) })
        .collect()
}

/// A last line for people: "2 errors, 1 warning in model.json"; none if there is nothing to tell.
pub fn summary(problems: &[Problem], file: &str) -> Option<String> {
    let count = |level: Level, one: &str| {
        let found = problems.iter().filter(|problem| problem.level() == level).count();
        match found {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{found} {one}s")),
        }
    };
    let counts: Vec<String> =
        [count(Level::Error, "error"), count(Level::Warning, "warning")].into_iter().flatten().collect();
    (!counts.is_empty()).then(|| format!("{} in {file}", counts.join(", ")))
}
