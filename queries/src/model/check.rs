//! The tree against the schema: unknown and missing keys, wrong types, values out of range.
//!
//! In: a tree. Out: problems that name places by path. Each place gives at most one problem, and places that the parser
//! could not read give none. What passes here can be read by `declaration` without further tests.

use crate::diagnostics::codes::{INVALID_VALUE, MISSING_KEY, NOT_SUPPORTED, UNKNOWN_KEY};
use crate::diagnostics::spelling::{did_you_mean, listed, shown};
use crate::diagnostics::{Code, Part, Problem};

use super::ast::{item_path, member_path, operator_paths};
use super::json::{Kind, Node};
use super::schema::{Form, LONGEST_NAME, MODEL, Record, is_name};
use super::value::{Edit, Value};

/// Checks a whole model.
pub fn check(root: &Node) -> Vec<Problem> {
    let mut checker = Checker { problems: Vec::new() };
    checker.record(root, &MODEL, "");
    checker.problems
}

/// Problems after which checking ends, so that a broken file of any size stays cheap.
const MOST_PROBLEMS: usize = 100;

struct Checker {
    problems: Vec<Problem>,
}

/// The place in words: "`inputs.x.shape`", or "the model".
fn place(path: &str) -> String {
    if path.is_empty() { "the model".to_owned() } else { format!("`{}`", shown(path)) }
}

impl Checker {
    fn wrong(&mut self, path: &str, node: &Node, expected: &str) {
        let found = match &node.kind {
            Kind::Invalid => return,
            Kind::Bool(_) | Kind::Integer(_) | Kind::Float(_) => node.to_value().to_string(),
            _ => node.describe().to_owned(),
        };
        let problem = Problem::new(INVALID_VALUE, format!("{} must be {expected}, found {found}", place(path)));
        self.problems.push(problem.at(path, Part::Value, format!("expected {expected}")));
    }

    fn record(&mut self, node: &Node, record: &Record, path: &str) {
        let Some(object) = node.object() else {
            self.wrong(path, node, "an object");
            return;
        };
        for member in &object.members {
            if self.problems.len() >= MOST_PROBLEMS {
                return;
            }
            let member_at = member_path(path, &member.key);
            match record.keys.iter().find(|key| key.name == member.key) {
                Some(key) if matches!(key.form, Form::Later) => {
                    let message = format!("{} is not supported yet", place(&member_at));
                    self.problems.push(
                        Problem::new(NOT_SUPPORTED, message)
                            .at(member_at, Part::Key, "not supported yet")
                            .note(format!("`{}`: {}", key.name, key.text)),
                    );
                }
                Some(key) => self.form(&member.value, &key.form, &member_at),
                None => self.unknown_key(record, path, &member.key, &member.value, node),
            }
        }
        if !object.complete {
            return;
        }
        for key in record.keys.iter().filter(|key| key.required && object.get(key.name).is_none()) {
            let message = format!("{} has no `{}`", place(path), key.name);
            self.problems.push(
                Problem::new(MISSING_KEY, message)
                    .at(path, Part::Head, format!("`{}` is missing here", key.name))
                    .note(format!("`{}`: {}", key.name, key.text)),
            );
        }
        if let Some(group) = &record.one_of {
            let present: Vec<&str> = group.keys.iter().copied().filter(|key| object.get(key).is_some()).collect();
            if present.is_empty() && group.required {
                let message = format!("{} needs {}", place(path), listed(group.keys.iter().copied()));
                let text = format!("{} without either", record.what);
                self.problems.push(Problem::new(MISSING_KEY, message).at(path, Part::Head, text));
            } else if let [first, second, ..] = present[..] {
                let message = format!("{} has both `{first}` and `{second}`", place(path));
                self.problems.push(
                    Problem::new(INVALID_VALUE, message)
                        .at(member_path(path, second), Part::Key, "only one of the two may stand")
                        .context(member_path(path, first), Part::Key, "the other one"),
                );
            }
        }
    }

    fn unknown_key(&mut self, record: &Record, path: &str, key: &str, value: &Node, parent: &Node) {
        let at = member_path(path, key);
        let accepted = || record.keys.iter().filter(|key| !matches!(key.form, Form::Later)).map(|key| key.name);
        // A key that is already there can't be what was meant.
        let meant = did_you_mean(key, accepted().filter(|known| parent.get(known).is_none()));
        let label = meant.map_or("not a key of the schema".to_owned(), |meant| format!("did you mean `{meant}`?"));
        let mut problem = Problem::new(UNKNOWN_KEY, format!("unknown key `{}` in {}", shown(key), place(path)))
            .at(at.clone(), Part::Key, label)
            .note(format!("keys of {}: {}", record.what, listed(accepted())))
            .datum("key", key);
        if let Some(meant) = meant {
            let edits = vec![Edit::set(at, Value::Null), Edit::set(member_path(path, meant), value.to_value())];
            problem = problem.suggest(format!("rename it to `{meant}`"), edits);
        }
        self.problems.push(problem);
    }

    fn form(&mut self, node: &Node, form: &Form, path: &str) {
        match form {
            Form::Remark => {
                if node.text().is_none() {
                    self.wrong(path, node, "a string");
                }
            }
            Form::Text | Form::File => match node.text() {
                Some("") => self.invalid(path, "must not be empty", "empty"),
                Some(file) if matches!(form, Form::File) => self.file(path, file),
                Some(_) => {}
                None => self.wrong(path, node, "a string"),
            },
            Form::Name => self.name(node, path),
            Form::Choice { what, accepted, later, unknown } => self.choice(node, path, what, accepted, later, *unknown),
            &Form::Integer(least, greatest) => self.integer(node, path, least, greatest),
            Form::Deviation => match node.number() {
                Some(value) if value >= 0.0 => {}
                Some(_) => self.wrong(path, node, "0 or more"),
                None => self.wrong(path, node, "a number"),
            },
            Form::Integers { what, items, range } => self.integers(node, path, what, *items, *range),
            &Form::Bounds(least, greatest) => {
                self.integers(node, path, "bounds", (2, 2), (least, greatest));
                if let [low, high] = node.items()
                    && low.integer() > high.integer()
                    && high.integer().is_some()
                {
                    self.invalid(path, "must not begin above its end", "the first is greater than the second");
                }
            }
            Form::Names => {
                let Kind::Array(found) = &node.kind else {
                    self.wrong(path, node, "an array of names");
                    return;
                };
                if found.is_empty() {
                    self.invalid(path, "must name at least one", "empty");
                }
                for (index, item) in found.iter().enumerate() {
                    if item.text().is_none() {
                        self.wrong(&item_path(path, index), item, "a name");
                    }
                }
            }
            Form::Record(record) => self.record(node, record, path),
            Form::Map(record) => {
                let Some(object) = node.object() else {
                    self.wrong(path, node, "an object");
                    return;
                };
                for member in &object.members {
                    let at = member_path(path, &member.key);
                    if !is_name(&member.key) {
                        self.bad_name(&at, Part::Key, &member.key);
                    }
                    self.record(&member.value, record, &at);
                }
            }
            Form::Operators(record) => self.operators(node, record, path),
            Form::Later => unreachable!("refused where the key is found"),
        }
    }

    fn integers(&mut self, node: &Node, path: &str, what: &str, items: (usize, usize), range: (i64, i64)) {
        let Kind::Array(found) = &node.kind else {
            self.wrong(path, node, "an array of integers");
            return;
        };
        if found.len() < items.0 || found.len() > items.1 {
            let needed = match items {
                (least, most) if least == most => least.to_string(),
                (least, most) => format!("{least} to {most}"),
            };
            let message = format!("must hold {needed} {what}, found {}", found.len());
            let label = if found.is_empty() { "empty" } else { "wrong number of items" };
            self.invalid(path, &message, label);
            return;
        }
        for (index, item) in found.iter().enumerate() {
            self.integer(item, &item_path(path, index), range.0, range.1);
        }
    }

    fn operators(&mut self, node: &Node, record: &Record, path: &str) {
        let Kind::Array(found) = &node.kind else {
            self.wrong(path, node, "an array of operators");
            return;
        };
        if found.is_empty() {
            self.invalid(path, "must hold at least one operator", "empty");
        }
        for (op, at) in found.iter().zip(operator_paths(node)) {
            let key = |name: &str| record.keys.iter().find(|key| key.name == name).expect("keys of an operator");
            let Form::Choice { accepted, .. } = key("op").form else { unreachable!("the kind is a choice") };
            match op.get("op").and_then(Node::text) {
                // The keys of a kind that is unknown or comes later are not known here.
                Some(kind) if !accepted.contains(&kind) => {
                    for name in ["name", "op"] {
                        if let Some(value) = op.get(name) {
                            self.form(value, &key(name).form, &member_path(&at, name));
                        }
                    }
                }
                _ => self.record(op, record, &at),
            }
        }
    }

    fn invalid(&mut self, path: &str, message: &str, label: &str) {
        let problem = Problem::new(INVALID_VALUE, format!("{} {message}", place(path)));
        self.problems.push(problem.at(path, Part::Value, label));
    }

    fn integer(&mut self, node: &Node, path: &str, least: i64, greatest: i64) {
        match node.kind {
            Kind::Integer(value) if (least..=greatest).contains(&value) => {}
            Kind::Integer(value) => {
                let range = format!("from {least} to {greatest}");
                let problem = Problem::new(INVALID_VALUE, format!("{} must be {range}, found {value}", place(path)))
                    .at(path, Part::Value, format!("not {range}"))
                    .datum("least", least)
                    .datum("greatest", greatest)
                    .datum("found", value);
                self.problems.push(problem);
            }
            Kind::Float(value) if value.get().fract() == 0.0 && value.get().abs() <= greatest as f64 => {
                let whole = value.get() as i64;
                let message = format!("{} must be an integer, found {value}", place(path));
                let problem = Problem::new(INVALID_VALUE, message).at(path, Part::Value, format!("write {whole}"));
                self.problems.push(problem.suggest(format!("write {whole}"), vec![Edit::set(path, whole)]));
            }
            _ => self.wrong(path, node, &format!("an integer from {least} to {greatest}")),
        }
    }

    fn name(&mut self, node: &Node, path: &str) {
        match node.text() {
            Some(name) if is_name(name) => {}
            Some(name) => self.bad_name(path, Part::Value, name),
            None => self.wrong(path, node, "a name"),
        }
    }

    fn bad_name(&mut self, path: &str, part: Part, name: &str) {
        let shown = shown(name);
        let message = if name.is_empty() { "a name is empty".to_owned() } else { format!("`{shown}` is not a name") };
        self.problems.push(Problem::new(INVALID_VALUE, message).at(path, part, "not a name").note(format!(
            "a name consists of ASCII letters, digits, `_`, `-` and `.`, begins with a letter, a digit or `_`, and has at \
             most {LONGEST_NAME} characters"
        )));
    }

    fn choice(&mut self, node: &Node, path: &str, what: &str, accepted: &[&str], later: &[&str], unknown: Code) {
        let Some(word) = node.text() else {
            self.wrong(path, node, &format!("one of {}", listed(accepted.iter().copied())));
            return;
        };
        if accepted.contains(&word) {
            return;
        }
        let supported = format!("supported: {}", listed(accepted.iter().copied()));
        if later.contains(&word) {
            let message = format!("the {what} `{word}` is not supported yet");
            self.problems.push(
                Problem::new(NOT_SUPPORTED, message)
                    .at(path, Part::Value, "not supported yet")
                    .note(supported)
                    .datum("found", word),
            );
            return;
        }
        let shown = shown(word);
        let meant = did_you_mean(word, accepted.iter().chain(later).copied());
        let label = meant.map_or(format!("unknown {what}"), |meant| format!("did you mean `{meant}`?"));
        let mut problem = Problem::new(unknown, format!("unknown {what} `{shown}`"))
            .at(path, Part::Value, label)
            .note(supported)
            .datum("found", word);
        if let Some(meant) = meant {
            problem = problem.suggest(format!("write `{meant}`"), vec![Edit::set(path, meant)]);
        }
        self.problems.push(problem);
    }

    fn file(&mut self, path: &str, file: &str) {
        let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
        match extension.as_str() {
            "npy" => {}
            "safetensors" => self.problems.push(
                Problem::new(NOT_SUPPORTED, "data from .safetensors files is not supported yet")
                    .at(path, Part::Value, "not supported yet")
                    .note("supported: .npy files, and `random`"),
            ),
            _ => self.invalid(path, "must name a .npy file", "not a .npy file"),
        }
    }
}
