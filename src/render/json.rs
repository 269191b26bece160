//! The form for programs: the object `"reason": "diagnostic"` of the interface contract.

use ipuc_queries::diagnostics::{Place, Problem, locate};
use ipuc_queries::model::Value;
use serde_json::{Map, json};

use super::{Source, full};

/// One problem. Lines and columns count from 1, columns in characters; the span that causes it comes first.
pub fn json(problem: &Problem, source: &Source<'_>) -> serde_json::Value {
    let position = |byte: u32| {
        let position = source.lines.position(byte);
        json!({ "byte": byte, "line": position.line, "column": position.column })
    };
    let spans: Vec<serde_json::Value> = locate(problem, source.map)
        .iter()
        .map(|located| {
            let path = match &located.label.place {
                Place::Path { path, .. } => Some(path),
                Place::Bytes(_) => None,
            };
            json!({
                "start": position(located.span.start),
                "end": position(located.span.end),
                "label": located.label.text,
                "path": path,
                "primary": located.label.primary,
            })
        })
        .collect();
    let suggestions: Vec<serde_json::Value> = problem
        .suggestions
        .iter()
        .map(|suggestion| {
            let edits: Vec<serde_json::Value> = suggestion
                .edits
                .iter()
                .map(|edit| json!({ "path": edit.path, "value": edit.value.to_serde() }))
                .collect();
            json!({ "message": suggestion.message, "edits": edits, "effect": object(&suggestion.effect) })
        })
        .collect();
    json!({
        "reason": "diagnostic",
        "code": problem.code.name(),
        "level": problem.level().name(),
        "message": problem.message,
        "file": source.file,
        "spans": spans,
        "data": object(&problem.data),
        "notes": problem.notes,
        "suggestions": suggestions,
        "rendered": full(problem, source, false),
    })
}

fn object(members: &[(String, Value)]) -> serde_json::Value {
    serde_json::Value::Object(
        members.iter().map(|(name, value)| (name.clone(), value.to_serde())).collect::<Map<_, _>>(),
    )
}
