//! The spanned tree of model.json, the paths of its places, and edits on it.
//!
//! One path syntax everywhere: `target.tiles`, `inputs.x.shape[0]`, `ops.fc1.plan.grid`. Operators are named; an operator
//! without a name, or with one that an earlier operator has, is `ops[3]`. Names may hold dots: a path is matched against
//! the longest key that fits.

use rustc_hash::FxHashSet;

use crate::diagnostics::codes::UNKNOWN_NAME;
use crate::diagnostics::spelling::did_you_mean;
use crate::diagnostics::{Part, Problem};

use super::json::{Kind, Member, Node, Object, Span};
use super::value::{Edit, Value};

/// The text of a model as a tree with spans. Changes with every edit of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ast {
    /// The outermost value.
    pub root: Node,
    /// The text had no defects.
    pub sound: bool,
}

/// The path of a member.
pub fn member_path(parent: &str, key: &str) -> String {
    if parent.is_empty() { key.to_owned() } else { format!("{parent}.{key}") }
}

/// The path of an array item.
pub fn item_path(parent: &str, index: usize) -> String {
    format!("{parent}[{index}]")
}

/// The paths of the items of `ops`, in order.
pub fn operator_paths(ops: &Node) -> Vec<String> {
    let mut seen = FxHashSet::default();
    ops.items()
        .iter()
        .enumerate()
        .map(|(index, op)| match op.get("name").and_then(Node::text) {
            Some(name) if !name.is_empty() && seen.insert(name) => format!("ops.{name}"),
            _ => item_path("ops", index),
        })
        .collect()
}

/// Applies `edit` to the tree. Objects that the path names and that are not there are made; a path through anything else
/// that is not there is a problem.
pub fn apply(root: &mut Node, edit: &Edit) -> Result<(), Box<Problem>> {
    if edit.path.is_empty() {
        return Err(nothing(edit, "", "the path is empty", Vec::new()));
    }
    descend(root, String::new(), &edit.path, edit)
}

fn descend(node: &mut Node, at: String, rest: &str, edit: &Edit) -> Result<(), Box<Problem>> {
    if rest.is_empty() {
        // The span stays: labels show where the replaced value stands.
        node.kind = Node::from_value(&edit.value).kind;
        return Ok(());
    }
    if let Some(bracket) = rest.strip_prefix('[') {
        let Kind::Array(items) = &mut node.kind else {
            return Err(nothing(edit, &at, &format!("`{at}` is {}, not an array", node.describe()), Vec::new()));
        };
        let length = items.len();
        let index = bracket.split_once(']').and_then(|(digits, after)| Some((digits.parse::<usize>().ok()?, after)));
        return match index {
            Some((index, "")) if index < length && edit.value == Value::Null => {
                items.remove(index);
                Ok(())
            }
            Some((index, after)) if index < length => {
                let after = after.strip_prefix('.').unwrap_or(after);
                descend(&mut items[index], item_path(&at, index), after, edit)
            }
            _ => Err(nothing(edit, &at, &format!("`{at}` has {length} items"), Vec::new())),
        };
    }
    match &mut node.kind {
        Kind::Array(items) if at == "ops" => {
            let names: Vec<Option<String>> =
                items.iter().map(|op| op.get("name").and_then(Node::text).map(str::to_owned)).collect();
            let Some((index, after)) = longest(names.iter().map(|name| name.as_deref().unwrap_or("")), rest) else {
                let known = names.into_iter().flatten().collect();
                return Err(nothing(edit, &at, "no operator bears this name", known));
            };
            if after.is_empty() && edit.value == Value::Null {
                items.remove(index);
                return Ok(());
            }
            let path = member_path(&at, names[index].as_deref().unwrap_or_default());
            descend(&mut items[index], path, after, edit)
        }
        Kind::Object(object) => {
            let found = longest(object.members.iter().map(|member| member.key.as_str()), rest);
            let (index, after) = match found {
                Some((index, "")) if edit.value == Value::Null => {
                    object.members.remove(index);
                    return Ok(());
                }
                Some(found) => found,
                None if edit.value == Value::Null => return Ok(()),
                None => {
                    let end = rest.find(['.', '[']).unwrap_or(rest.len());
                    let after = rest[end..].strip_prefix('.').unwrap_or(&rest[end..]);
                    let kind = Kind::Object(Object { members: Vec::new(), complete: true });
                    object.members.push(Member {
                        key: rest[..end].to_owned(),
                        key_span: Span::default(),
                        value: Node { span: Span::default(), kind },
                    });
                    (object.members.len() - 1, after)
                }
            };
            let member = &mut object.members[index];
            let path = member_path(&at, &member.key);
            descend(&mut member.value, path, after, edit)
        }
        _ => Err(nothing(edit, &at, &format!("`{at}` is {}", node.describe()), Vec::new())),
    }
}

/// The longest key that `rest` begins with, and what follows it.
fn longest<'k, 'r>(keys: impl Iterator<Item = &'k str>, rest: &'r str) -> Option<(usize, &'r str)> {
    keys.enumerate()
        .filter(|(_, key)| !key.is_empty())
        .filter_map(|(index, key)| {
            let after = rest.strip_prefix(key)?;
            let after = if after.starts_with('[') { after } else { after.strip_prefix('.').or(non_empty(after))? };
            Some((key.len(), index, after))
        })
        .max_by_key(|&(length, index, _)| (length, std::cmp::Reverse(index)))
        .map(|(_, index, after)| (index, after))
}

/// `Some("")` for an empty text: a key that the path ends with.
fn non_empty(after: &str) -> Option<&str> {
    after.is_empty().then_some(after)
}

fn nothing(edit: &Edit, at: &str, reason: &str, known: Vec<String>) -> Box<Problem> {
    let problem = Problem::new(UNKNOWN_NAME, format!("`{}` names nothing in the model", edit.path))
        .at(at, Part::Head, reason)
        .note("an edit from outside the file (for example --target) names this path");
    let word = edit.path.strip_prefix("ops.").map(|rest| rest.split(['.', '[']).next().unwrap_or(rest));
    Box::new(match word.and_then(|word| did_you_mean(word, known.iter().map(String::as_str))) {
        Some(meant) => problem.suggest(format!("did you mean `{meant}`?"), Vec::new()),
        None => problem,
    })
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    fn edited(text: &str, path: &str, value: &str) -> Result<String, String> {
        let (mut root, _) = json::parse(text);
        match apply(&mut root, &Edit::typed(path, value)) {
            Ok(()) => Ok(root.to_value().to_string()),
            Err(problem) => Err(problem.message),
        }
    }

    #[test]
    fn edits_by_path() {
        let text = r#"{"a": {"x.y": [1, 2]}, "ops": [{"name": "f"}, {"name": "f.g", "k": 1}]}"#;
        for (path, value, expected) in [
            ("a.x.y[1]", "7", r#"{"a": {"x.y": [1, 7]}, "ops": [{"name": "f"}, {"name": "f.g", "k": 1}]}"#),
            ("a.x.y[0]", "null", r#"{"a": {"x.y": [2]}, "ops": [{"name": "f"}, {"name": "f.g", "k": 1}]}"#),
            ("ops.f.k", "{}", r#"{"a": {"x.y": [1, 2]}, "ops": [{"name": "f", "k": {}}, {"name": "f.g", "k": 1}]}"#),
            ("ops.f.g.k", "word", r#"{"a": {"x.y": [1, 2]}, "ops": [{"name": "f"}, {"name": "f.g", "k": "word"}]}"#),
            ("ops[1]", "null", r#"{"a": {"x.y": [1, 2]}, "ops": [{"name": "f"}]}"#),
            ("ops.f", "null", r#"{"a": {"x.y": [1, 2]}, "ops": [{"name": "f.g", "k": 1}]}"#),
            ("a", "null", r#"{"ops": [{"name": "f"}, {"name": "f.g", "k": 1}]}"#),
        ] {
            assert_eq!(edited(text, path, value).as_deref(), Ok(expected), "{path}");
        }
        assert_eq!(edited("{}", "target.tiles", "4").as_deref(), Ok(r#"{"target": {"tiles": 4}}"#));
        for path in ["", "a.x.y[2]", "a.x.y[x]", "a.x.y[0].z", "ops.h.k", "a[0]", "a.x.y[18446744073709551616]"] {
            assert!(edited(text, path, "1").is_err(), "{path}");
        }
    }
}
