//! Problems of a model in the two forms of the interface contract: for people, in the look of rustc, and as JSON.
//!
//! In: problems in any order, the text and its source map. Out: diagnostics in the order of the text.

use annotate_snippets::{AnnotationKind, Group, Level as Title, Renderer, Snippet};
use ipuc_queries::diagnostics::{Level, Located, Problem, arrange, locate};
use ipuc_queries::model::json::Span;
use ipuc_queries::model::{LineIndex, SourceMap};
use serde_json::{Map, Value, json};

use crate::compile::Diagnostic;

/// A model's text and what its places are called.
#[derive(Debug)]
pub struct Source<'a> {
    /// As the user named the file.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Places of its entities.
    pub map: &'a SourceMap,
}

/// Renders problems.
pub fn diagnostics(source: &Source<'_>, mut problems: Vec<Problem>, color: bool) -> Vec<Diagnostic> {
    arrange(&mut problems, source.map);
    let lines = LineIndex::new(source.text);
    let render = |problem: &Problem| {
        let labels = locate(problem, source.map);
        let rendered = human(source, problem, &labels, color);
        let plain = if color { human(source, problem, &labels, false) } else { rendered.clone() };
        Diagnostic { json: object(source, problem, &labels, &lines, &plain), rendered }
    };
    problems.iter().map(render).collect()
}

/// The bytes of a span, inside the text and between characters.
fn range(text: &str, span: Span) -> std::ops::Range<usize> {
    let floor = |at: u32| text.floor_char_boundary(at as usize);
    let start = floor(span.start);
    start..floor(span.end).max(start)
}

fn human(source: &Source<'_>, problem: &Problem, labels: &[Located<'_>], color: bool) -> String {
    let level = match problem.level() {
        Level::Error => Title::ERROR,
        Level::Warning => Title::WARNING,
    };
    let annotations = labels.iter().map(|located| {
        let kind = if located.label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let annotation = kind.span(range(source.text, located.span));
        if located.label.text.is_empty() { annotation } else { annotation.label(located.label.text.as_str()) }
    });
    let title = level.primary_title(problem.message.as_str()).id(problem.code.name());
    let mut group: Group = if labels.is_empty() {
        Group::with_title(title)
    } else {
        title.element(Snippet::source(source.text).path(source.path).annotations(annotations))
    };
    for note in &problem.notes {
        group = group.element(Title::NOTE.message(note.as_str()));
    }
    for suggestion in &problem.suggestions {
        let effect: Vec<String> =
            suggestion.effect.iter().map(|(name, value)| format!("{name} {}", value.to_serde())).collect();
        let effect = if effect.is_empty() { String::new() } else { format!(" ({})", effect.join(", ")) };
        group = group.element(Title::HELP.message(format!("{}{effect}", suggestion.message)));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

fn object(source: &Source<'_>, problem: &Problem, labels: &[Located<'_>], lines: &LineIndex, rendered: &str) -> Value {
    use ipuc_queries::diagnostics::Place;
    let place = |byte: u32| {
        let position = lines.position(byte);
        json!({ "byte": byte, "line": position.line, "column": position.column })
    };
    let span = |located: &Located| {
        let path = match &located.label.place {
            Place::Path { path, .. } => Some(path),
            Place::Bytes(_) => None,
        };
        json!({ "start": place(located.span.start), "end": place(located.span.end), "label": located.label.text,
            "primary": located.label.primary, "path": path })
    };
    let numbers = |pairs: &[(String, ipuc_queries::model::Value)]| -> Map<String, Value> {
        pairs.iter().map(|(name, value)| (name.clone(), value.to_serde())).collect()
    };
    let suggestions: Vec<Value> = problem
        .suggestions
        .iter()
        .map(|suggestion| {
            let edit = |edit: &ipuc_queries::model::Edit| json!({ "path": edit.path, "value": edit.value.to_serde() });
            json!({ "message": suggestion.message, "edits": suggestion.edits.iter().map(edit).collect::<Vec<_>>(),
                "effect": numbers(&suggestion.effect) })
        })
        .collect();
    json!({ "code": problem.code.name(), "level": problem.level().name(), "message": problem.message,
        "file": source.path, "spans": labels.iter().map(span).collect::<Vec<_>>(), "notes": problem.notes,
        "data": numbers(&problem.data), "suggestions": suggestions, "rendered": rendered })
}

#[cfg(test)]
mod tests {
    use ipuc_queries::model::{parse, resolve};

    use super::*;

    fn rendered(text: &str, color: bool) -> Vec<Diagnostic> {
        let (ast, mut problems) = parse(text);
        problems.extend(resolve(&ast, &[]).problems);
        let map = SourceMap::new(&ast);
        diagnostics(&Source { path: "model.json", text, map: &map }, problems, color)
    }

    #[test]
    fn a_wrong_shape_is_shown_where_it_stands() {
        let text = r#"{
  "name": "m",
  "inputs": { "x": { "shape": [4, 8], "dtype": "f16" } },
  "weights": { "w": { "shape": [9, 4], "dtype": "f16", "random": { "normal": 1.0 } } },
  "ops": [{ "name": "y", "op": "gemm", "inputs": ["x", "w"] }],
  "outputs": ["y"]
}
"#;
        let all = rendered(text, false);
        assert_eq!(all.len(), 1);
        assert!(all[0].rendered.starts_with("error[E0004]: "), "{}", all[0].rendered);
        assert!(all[0].rendered.contains("--> model.json:"), "{}", all[0].rendered);
        let json = &all[0].json;
        assert_eq!(
            (&json["code"], &json["level"], &json["file"]),
            (&"E0004".into(), &"error".into(), &"model.json".into())
        );
        assert_eq!(json["rendered"], all[0].rendered.as_str());
        let span = &json["spans"][0];
        let byte = |end: &str| span[end]["byte"].as_u64().unwrap() as usize;
        let line = text[..byte("start")].lines().count();
        assert_eq!(span["start"]["line"], line);
        assert!(!text[byte("start")..byte("end")].is_empty());
        assert!(span["path"].is_string());
    }

    #[test]
    fn no_text_makes_the_renderer_panic() {
        let model = include_str!("../examples/gemm-chain.json");
        for end in 0..model.len() {
            for (color, text) in [(false, model[..end].to_owned()), (true, format!("{}\u{e9}\u{1f600}", &model[..end]))]
            {
                for diagnostic in rendered(&text, color) {
                    assert!(!diagnostic.rendered.is_empty());
                }
            }
        }
        assert!(rendered(model, false).is_empty());
    }
}
