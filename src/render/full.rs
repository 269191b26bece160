//! The form for people: rustc's look, with source lines.

use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet, normalize_untrusted_str};
use ipuc_queries::diagnostics::{self, Problem, Suggestion, locate};
use ipuc_queries::model::Value;

use super::Source;

/// One problem; the first line is `error[E0002]: ...`. `color`: with ANSI styles.
pub fn full(problem: &Problem, source: &Source<'_>, color: bool) -> String {
    let level = match problem.level() {
        diagnostics::Level::Error => Level::ERROR,
        diagnostics::Level::Warning => Level::WARNING,
    };
    let title = level.primary_title(problem.message.as_str()).id(problem.code.name());
    let located = locate(problem, source.map);
    let mut group = if located.is_empty() {
        title.element(Origin::path(source.file))
    } else {
        let annotations = located.iter().map(|located| {
            let kind = if located.label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let annotation = kind.span(located.span.start as usize..located.span.end as usize);
            if located.label.text.is_empty() {
                annotation
            } else {
                annotation.label(normalize_untrusted_str(&located.label.text))
            }
        });
        title.element(Snippet::source(source.text).path(source.file).annotations(annotations))
    };
    for note in &problem.notes {
        group = group.element(Level::NOTE.message(normalize_untrusted_str(note)));
    }
    for suggestion in &problem.suggestions {
        group = group.element(Level::HELP.message(normalize_untrusted_str(&help(suggestion))));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.decor_style(DecorStyle::Ascii).render(&[group])
}

/// A suggestion in one line: what to do, the edit if it is a single one, and what it was found to bring.
fn help(suggestion: &Suggestion) -> String {
    let mut text = suggestion.message.clone();
    if let [edit] = suggestion.edits.as_slice()
        && edit.value != Value::Null
    {
        write!(text, ": {} = {}", edit.path, edit.value).expect("a string");
    }
    if !suggestion.effect.is_empty() {
        let effect: Vec<String> = suggestion.effect.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        write!(text, " ({})", effect.join(", ")).expect("a string");
    }
    text
}
