//! The printed JSON Schema against the parser: the same keys, the same verdicts.

use std::collections::{BTreeMap, BTreeSet};

use ipuc_queries::diagnostics::{Code, Place, codes};
use ipuc_queries::model::check::check;
use ipuc_queries::model::schema::is_name;
use ipuc_queries::model::{Edit, Value, json_schema, parse, resolve};
use proptest::prelude::*;
use serde_json::Value as Json;

const FULL: &str = r#"{
  "name": "full",
  "description": "every key stands here",
  "target": { "chip": "ipu21", "tiles": 64, "tile_memory_bytes": 600000, "exchange_table_bytes": 80000, "profiling": "none", "effort": "max" },
  "inputs": {
    "x": { "shape": [64, 64], "dtype": "f16", "random": { "integers": [-2, 2], "seed": 3 } },
    "z": { "shape": [64, 64], "dtype": "f16", "file": "z.npy" }
  },
  "weights": {
    "w": { "shape": [64, 64], "dtype": "f16", "random": { "normal": 0.5, "seed": 4 } },
    "v": { "shape": [64, 64], "dtype": "f16", "file": "v.npy" }
  },
  "ops": [
    { "name": "a", "op": "gemm", "inputs": ["x", "w"], "precision": "f16", "plan": { "grid": [1, 2, 3], "steps": 1 }, "budget": { "tile_bytes": 1000 } },
    { "name": "b", "op": "gemm", "inputs": ["z", "v"] }
  ],
  "outputs": ["a", "b"]
}"#;

/// Paths of all keys that the schema has properties for, with `*` for names and items.
fn keys(schema: &Json, path: &str, out: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Json::as_object) {
        for (key, inner) in properties {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            keys(inner, &path, out);
            out.insert(path);
        }
    }
    for (part, suffix) in [("additionalProperties", ".*"), ("items", "[*]")] {
        if let Some(inner @ Json::Object(_)) = schema.get(part) {
            keys(inner, &format!("{path}{suffix}"), out);
        }
    }
}

#[test]
fn the_schema_has_the_keys_of_the_contract() {
    let mut found = BTreeSet::new();
    keys(&json_schema(), "", &mut found);
    let tensor = |section: &str| {
        ["shape", "dtype", "file", "random", "random.normal", "random.integers", "random.seed"]
            .map(|key| format!("{section}.*.{key}"))
    };
    let mut expected: BTreeSet<String> = ["name", "description", "target", "inputs", "weights", "ops", "outputs"]
        .into_iter()
        .chain(["target.chip", "target.tiles", "target.tile_memory_bytes", "target.exchange_table_bytes"])
        .chain(["target.profiling", "target.effort", "ops[*].name", "ops[*].op", "ops[*].inputs", "ops[*].precision"])
        .chain(["ops[*].plan", "ops[*].plan.grid", "ops[*].plan.steps", "ops[*].budget", "ops[*].budget.tile_bytes"])
        .map(str::to_owned)
        .collect();
    expected.extend(tensor("inputs"));
    expected.extend(tensor("weights"));
    assert_eq!(found, expected);
}

#[test]
fn every_key_of_the_schema_is_read() {
    let (ast, problems) = parse(FULL);
    assert_eq!(problems, []);
    let base = resolve(&ast, &[]);
    assert_eq!(base.problems, []);
    let mut schema_keys = BTreeSet::new();
    keys(&json_schema(), "", &mut schema_keys);
    for key in schema_keys {
        let paths: Vec<String> = match key.split_once(".*.").or_else(|| key.split_once("[*].")) {
            Some(("inputs", rest)) => vec![format!("inputs.x.{rest}")],
            Some(("weights", rest)) => vec![format!("weights.w.{rest}")],
            Some(("ops", rest)) => vec![format!("ops.a.{rest}")],
            _ => vec![key],
        };
        for path in paths {
            // An array in an array is nothing that any key takes.
            let wrong = Value::Array(vec![Value::Array(Vec::new())]);
            let found = resolve(&ast, &[Edit { path: path.clone(), value: wrong }]);
            let refused = found.problems.iter().any(|problem| {
                problem.code == codes::INVALID_VALUE
                    && problem.labels.iter().any(|label| match &label.place {
                        // An operator without a sound name is called by its number.
                        Place::Path { path: at, .. } => at.starts_with(path.as_str()) || at == "ops[0].name",
                        Place::Bytes(_) => false,
                    })
            });
            assert!(refused, "{path}: {:?}", found.problems);
            let beside = Edit::set(format!("{path}_"), 0u32);
            let found = resolve(&ast, &[beside]);
            let unknown = |code: &Code| *code == codes::UNKNOWN_KEY;
            assert!(found.problems.iter().map(|problem| problem.code).any(|code| unknown(&code)), "{path}_");
        }
    }
}

/// A validator for the part of JSON Schema that the printed schema uses; any other keyword panics.
fn valid(schema: &Json, value: &Json) -> bool {
    let members = value.as_object();
    let items = value.as_array();
    let properties = schema.get("properties").and_then(Json::as_object);
    schema.as_object().expect("a schema is an object").iter().all(|(keyword, rule)| match keyword.as_str() {
        "$schema" | "title" | "description" => true,
        "type" => match rule.as_str().expect("a type is a word") {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            other => panic!("type {other}"),
        },
        "enum" => rule.as_array().expect("an array").contains(value),
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().expect("a number")),
        "maximum" => match (value.as_i64(), rule.as_i64()) {
            (Some(number), Some(most)) => number <= most,
            _ => !value.is_number(),
        },
        "minLength" => value.as_str().is_none_or(|text| text.len() as u64 >= rule.as_u64().expect("a number")),
        "maxLength" => value.as_str().is_none_or(|text| text.len() as u64 <= rule.as_u64().expect("a number")),
        "pattern" => value.as_str().is_none_or(|text| match rule.as_str().expect("a pattern") {
            "^[A-Za-z0-9_][A-Za-z0-9_.-]*$" => is_name(&text[..text.len().min(100)]),
            "\\.[nN][pP][yY]$" => text.to_lowercase().ends_with(".npy"),
            other => panic!("pattern {other}"),
        }),
        "minItems" => items.is_none_or(|items| items.len() as u64 >= rule.as_u64().expect("a number")),
        "maxItems" => items.is_none_or(|items| items.len() as u64 <= rule.as_u64().expect("a number")),
        "items" => items.is_none_or(|items| items.iter().all(|item| valid(rule, item))),
        "required" => members.is_none_or(|members| {
            rule.as_array().expect("an array").iter().all(|key| members.contains_key(key.as_str().expect("a key")))
        }),
        "properties" => members.is_none_or(|members| {
            let rules = rule.as_object().expect("an object");
            members.iter().all(|(key, value)| rules.get(key).is_none_or(|rule| valid(rule, value)))
        }),
        "additionalProperties" => members.is_none_or(|members| {
            members.iter().filter(|(key, _)| properties.is_none_or(|known| !known.contains_key(*key))).all(
                |(_, value)| match rule {
                    Json::Bool(allowed) => *allowed,
                    rule => valid(rule, value),
                },
            )
        }),
        "propertyNames" => {
            members.is_none_or(|members| members.keys().all(|key| valid(rule, &Json::from(key.as_str()))))
        }
        "oneOf" => rule.as_array().expect("an array").iter().filter(|rule| valid(rule, value)).count() == 1,
        "not" => !valid(rule, value),
        other => panic!("keyword {other}"),
    })
}

/// Both verdicts on a text.
fn verdicts(text: &str) -> (bool, bool) {
    let (ast, problems) = parse(text);
    assert_eq!(problems, [], "{text}");
    let value: Json = serde_json::from_str(text).expect("the parser accepts only JSON");
    (valid(&json_schema(), &value), check(&ast.root).is_empty())
}

#[test]
fn schema_and_parser_agree_on_the_suite() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut seen = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder of the suite is there") {
        let path = entry.expect("readable").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        if path.extension().is_some_and(|extension| extension == "json") && parse(&text).1.is_empty() {
            let (schema, parser) = verdicts(&text);
            assert_eq!(schema, parser, "{}", path.display());
            *seen.entry(schema).or_insert(0) += 1;
        }
    }
    assert_eq!(verdicts(FULL), (true, true));
    assert!(seen.len() == 2, "both verdicts occur: {seen:?}");
}

fn value() -> impl Strategy<Value = Json> {
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        prop_oneof![-3..70000i64, Just(i64::MAX), Just(1 << 32), Just(638976), Just(638977)].prop_map(Json::from),
        Just(Json::from(0.5)),
        Just(Json::from(-0.5)),
        prop_oneof![
            Just("f16"),
            Just("f32"),
            Just("gemm"),
            Just("gelu"),
            Just("fast"),
            Just("none"),
            Just("ipu21"),
            Just("x"),
            Just(""),
            Just("a b"),
            Just("q.npy"),
            Just("q.NPY"),
            Just("q.safetensors"),
            Just(".hidden")
        ]
        .prop_map(Json::from),
    ];
    scalar.prop_recursive(2, 6, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(
                prop_oneof![
                    Just("shape"),
                    Just("normal"),
                    Just("integers"),
                    Just("seed"),
                    Just("grid"),
                    Just("x y"),
                    Just("t")
                ],
                inner,
                0..3
            )
            .prop_map(|members| Json::Object(
                members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

/// Paths of all places of a value.
fn places(value: &Json, at: String, out: &mut Vec<String>) {
    match value {
        Json::Object(members) => {
            for (key, inner) in members {
                places(inner, format!("{at}/{key}"), out);
            }
        }
        Json::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                places(inner, format!("{at}/{index}"), out);
            }
        }
        _ => {}
    }
    out.push(at);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn schema_and_parser_agree(which in 0..200usize, remove in any::<bool>(), value in value()) {
        let mut model: Json = serde_json::from_str(FULL).expect("JSON");
        let mut all = Vec::new();
        places(&model, String::new(), &mut all);
        let place = &all[which % all.len()];
        let (parent, key) = place.rsplit_once('/').unwrap_or(("", ""));
        match model.pointer_mut(parent) {
            Some(Json::Object(members)) if remove => { members.remove(key); }
            _ => *model.pointer_mut(place).expect("one of its places") = value,
        }
        // That the bounds of random integers are in order is the one rule that JSON Schema can't say.
        let bounds = model.pointer("/inputs/x/random/integers").and_then(Json::as_array);
        prop_assume!(bounds.is_none_or(|bounds| bounds.len() != 2 || bounds[0].as_i64() <= bounds[1].as_i64()));
        let (schema, parser) = verdicts(&model.to_string());
        prop_assert_eq!(schema, parser, "{} {}", place, model);
    }
}
