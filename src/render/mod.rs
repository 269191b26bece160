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

#[cfg(test)]
mod tests {
    use ipuc_queries::model::{parse, resolve};

    use super::*;

    fn rendered(text: &str, color: bool) -> Vec<Diagnostic> {
        let (ast, mut problems) = parse(text);
        problems.extend(resolve(&ast, &[]).problems);
        let (map, lines) = (SourceMap::new(&ast), LineIndex::new(text));
        diagnostics(&problems, &Source { file: "model.json", text, map: &map, lines: &lines }, color)
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
        let model = include_str!("../../examples/gemm-chain.json");
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
