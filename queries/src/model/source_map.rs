//! Path of an entity -> its bytes in the text. Read by diagnostics only, so that no stage sees a position.

use std::collections::BTreeMap;

use crate::diagnostics::Part;

use super::ast::{Ast, item_path, member_path, operator_paths};
use super::json::{Node, Span};

/// Where one entity stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// What names it: for an object with a `name` that name, else its key, else its first bracket.
    pub head: Span,
    /// Its key with quotes; for array items the value.
    pub key: Span,
    /// The value.
    pub value: Span,
}

/// The places of all entities of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceMap {
    places: BTreeMap<String, Location>,
}

impl SourceMap {
    /// Walks the tree.
    pub fn new(ast: &Ast) -> Self {
        let mut map = Self { places: BTreeMap::new() };
        map.walk(String::new(), None, &ast.root);
        map
    }

    fn walk(&mut self, path: String, key: Option<Span>, node: &Node) {
        let name = node.get("name").filter(|name| name.text().is_some()).map(|name| name.span);
        let opening = Span { start: node.span.start, end: node.span.end.min(node.span.start + 1) };
        let value = node.span;
        let head = match (name, key) {
            // The name of the whole model is not what names a missing section.
            (Some(name), _) if !path.is_empty() => name,
            (_, Some(key)) => key,
            _ if node.object().is_some() => opening,
            _ => value,
        };
        for member in node.members() {
            self.walk(member_path(&path, &member.key), Some(member.key_span), &member.value);
        }
        let operators = if path == "ops" { operator_paths(node) } else { Vec::new() };
        for (index, item) in node.items().iter().enumerate() {
            self.walk(item_path(&path, index), None, item);
            // A second path of the same place.
            match operators.get(index) {
                Some(named) if *named != item_path(&path, index) => self.walk(named.clone(), None, item),
                _ => {}
            }
        }
        self.places.entry(path).or_insert(Location { head, key: key.unwrap_or(value), value });
    }

    /// Where the entity at `path` stands, if the text has it.
    pub fn get(&self, path: &str) -> Option<&Location> {
        self.places.get(path)
    }

    /// The bytes of a part of the entity at `path`, or the head of the nearest entity around it.
    pub fn nearest(&self, path: &str, part: Part) -> Span {
        if let Some(location) = self.places.get(path) {
            return match part {
                Part::Head => location.head,
                Part::Key => location.key,
                Part::Value => location.value,
            };
        }
        let mut path = path;
        while let Some(end) = path.rfind(['.', '[']) {
            path = &path[..end];
            if let Some(location) = self.places.get(path) {
                return location.head;
            }
        }
        self.places.get("").map_or(Span::default(), |location| location.head)
    }

    /// The innermost entity whose value or key holds a byte (for an editor's hover).
    pub fn at(&self, byte: u32) -> Option<(&str, &Location)> {
        let holds = |span: Span| span.start <= byte && byte < span.end;
        self.places
            .iter()
            .filter(|(_, location)| holds(location.value) || holds(location.key))
            .min_by_key(|(path, location)| {
                // Of the two paths of an operator the named one.
                (location.value.end - location.value.start, path.starts_with("ops["))
            })
            .map(|(path, location)| (path.as_str(), location))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn finds_parts_and_nearest() {
        let text = r#"{"inputs": {"x": {"shape": [8, 9]}}, "ops": [{"name": "f", "plan": {}}, {"name": "f"}]}"#;
        let (ast, _) = parse(text);
        let map = SourceMap::new(&ast);
        let cut = |span: Span| &text[span.start as usize..span.end as usize];
        for (path, part, expected) in [
            ("inputs.x.shape[1]", Part::Value, "9"),
            ("inputs.x", Part::Head, "\"x\""),
            ("inputs.x.shape", Part::Key, "\"shape\""),
            ("ops.f", Part::Head, "\"f\""),
            ("ops.f.plan", Part::Value, "{}"),
            ("ops[1]", Part::Value, "{\"name\": \"f\"}"),
            ("ops.f.plan.grid", Part::Value, "\"plan\""),
            ("inputs.x.dtype", Part::Value, "\"x\""),
            ("target.tiles", Part::Value, "{"),
        ] {
            assert_eq!(cut(map.nearest(path, part)), expected, "{path}");
        }
        assert_eq!(map.at(text.find('9').expect("there") as u32).map(|found| found.0), Some("inputs.x.shape[1]"));
        assert_eq!(map.at(text.find("\"f\"").expect("there") as u32).map(|found| found.0), Some("ops.f.name"));
    }
}
