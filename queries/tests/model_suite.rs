//! The model stage on files: each `tests/models/NAME.json` beside `NAME.expected`, which holds its problems, and graph and
//! limits if it has no errors. `IPUC_BLESS=1` rewrites the expectations.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use ipuc_queries::diagnostics::{Level, Problem, arrange, codes, locate};
use ipuc_queries::model::verify::verify;
use ipuc_queries::model::{LineIndex, SourceMap, parse, resolve};

fn models() -> Vec<(String, PathBuf)> {
    json_files("tests/models")
}

fn json_files(folder: &str) -> Vec<(String, PathBuf)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut models: Vec<(String, PathBuf)> = std::fs::read_dir(folder)
        .expect("the folder of the suite is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| (path.file_stem().expect("a file").to_string_lossy().into_owned(), path))
        .collect();
    models.sort();
    models
}

fn all_problems(text: &str) -> (Vec<Problem>, SourceMap, String) {
    let (ast, mut problems) = parse(text);
    let resolved = resolve(&ast, &[]);
    assert_eq!(verify(&resolved.graph), Vec::<String>::new(), "{text}");
    let dump = if problems.is_empty() && !resolved.has_errors() {
        format!("{}{}", resolved.graph, resolved.limits.print(&resolved.graph))
    } else {
        String::new()
    };
    problems.extend(resolved.problems);
    let map = SourceMap::new(&ast);
    arrange(&mut problems, &map);
    (problems, map, dump)
}

fn print(text: &str) -> String {
    let (problems, map, dump) = all_problems(text);
    let index = LineIndex::new(text);
    let mut out = String::new();
    for problem in &problems {
        writeln!(out, "{}[{}]: {}", problem.level().name(), problem.code, problem.message).expect("a string");
        for located in locate(problem, &map) {
            let at = |byte| {
                let position = index.position(byte);
                format!("{}:{}", position.line, position.column)
            };
            let sign = if located.label.primary { "^" } else { "-" };
            let (start, end) = (at(located.span.start), at(located.span.end));
            writeln!(out, "  {sign} {start}..{end} {}", located.label.text).expect("a string");
        }
        for note in &problem.notes {
            writeln!(out, "  = {note}").expect("a string");
        }
        for (name, value) in &problem.data {
            writeln!(out, "  # {name}: {value}").expect("a string");
        }
        for suggestion in &problem.suggestions {
            writeln!(out, "  ? {}", suggestion.message).expect("a string");
            for edit in &suggestion.edits {
                writeln!(out, "    {} = {}", edit.path, edit.value).expect("a string");
            }
        }
    }
    out + &dump
}

#[test]
fn suite() {
    let bless = std::env::var_os("IPUC_BLESS").is_some();
    let mut failures = Vec::new();
    for (name, path) in models() {
        let text = std::fs::read_to_string(&path).expect("readable");
        let printed = print(&text);
        let expectation = path.with_extension("expected");
        if bless {
            std::fs::write(&expectation, &printed).expect("writable");
        } else if std::fs::read_to_string(&expectation).unwrap_or_default() != printed {
            failures.push(format!("{name}:\n{printed}"));
        }
    }
    assert!(failures.is_empty(), "differ from their expectations (IPUC_BLESS=1 rewrites):\n{}", failures.join("\n"));
}

/// `e0004-inner.json` must give E0004 and no other code; `ok-*.json` no problems; `mixed-*` anything.
#[test]
fn each_code_has_an_example_and_each_example_its_code() {
    let mut shown = BTreeSet::new();
    for (name, path) in models() {
        let (problems, ..) = all_problems(&std::fs::read_to_string(&path).expect("readable"));
        let found: BTreeSet<String> = problems.iter().map(|problem| problem.code.name().to_lowercase()).collect();
        let prefix = name.split('-').next().expect("a prefix").to_owned();
        match prefix.as_str() {
            "ok" => assert!(found.is_empty(), "{name} has problems"),
            "mixed" => assert!(found.len() > 1, "{name} has several problems"),
            _ => {
                assert_eq!(found, BTreeSet::from([prefix.clone()]), "{name}");
                shown.insert(prefix);
            }
        }
    }
    for entry in codes::ALL {
        let stage = &entry.code.name()[..2];
        if stage == "E0" || entry.code.level() == Level::Warning {
            assert!(shown.contains(&entry.code.name().to_lowercase()), "{} has no example", entry.code);
        }
    }
}

#[test]
fn the_examples_have_no_problems() {
    let examples = json_files("../examples");
    assert!(!examples.is_empty());
    for (name, path) in examples {
        let (problems, ..) = all_problems(&std::fs::read_to_string(&path).expect("readable"));
        assert_eq!(problems, [], "{name}");
    }
}
