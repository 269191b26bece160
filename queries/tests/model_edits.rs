//! Which edits change which part of a resolved model, edits by path, and broken texts.

use std::fmt::Write as _;

use ipuc_queries::diagnostics::{Level, arrange, codes, locate};
use ipuc_queries::model::graph::{OpId, Operand, TensorId};
use ipuc_queries::model::verify::verify;
use ipuc_queries::model::{Edit, Resolved, SourceMap, Value, parse, resolve};
use proptest::prelude::*;

const CHAIN: &str = include_str!("models/ok-chain.json");

fn resolved(text: &str) -> Resolved {
    let (ast, problems) = parse(text);
    assert_eq!(problems, []);
    resolve(&ast, &[])
}

fn replaced(from: &str, to: &str) -> Resolved {
    assert!(CHAIN.contains(from), "{from}");
    resolved(&CHAIN.replace(from, to))
}

/// Writes a JSON value with the members of every object in another order and other white space.
fn shuffled(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Object(members) => {
            out.push_str("{\n\n");
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(key, _)| std::cmp::Reverse(key.len() * 7 % 5));
            for (index, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if index == 0 { "" } else { " ,\t" });
                write!(out, "{} :", serde_json::Value::from(key.as_str())).expect("a string");
                shuffled(value, out);
            }
            out.push_str(" }");
        }
        serde_json::Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                shuffled(item, out);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

#[test]
fn spelling_changes_nothing() {
    let base = resolved(CHAIN);
    let value: serde_json::Value = serde_json::from_str(CHAIN).expect("JSON");
    let mut text = String::new();
    shuffled(&value, &mut text);
    assert_ne!(text, CHAIN);
    assert_eq!(resolved(&text), base);
    assert_eq!(resolved(&serde_json::to_string(&value).expect("JSON")), base);
    assert_eq!(replaced("\"name\": \"chain\"", "\"description\": \"words\", \"name\": \"chain\""), base);
}

#[test]
fn problems_do_not_move_with_white_space() {
    let text = include_str!("models/e0004-inner.json");
    let spaced = text.replace(',', " ,\n\n");
    assert_eq!(resolve(&parse(&spaced).0, &[]), resolve(&parse(text).0, &[]));
}

#[test]
fn limits_are_apart_from_the_graph() {
    let base = resolved(CHAIN);
    for (from, to) in [("400000", "300000"), ("40000 }", "50000 }"), ("65536", "1000")] {
        let other = replaced(from, to);
        assert_eq!(other.graph, base.graph);
        assert_ne!(other.limits, base.limits);
    }
    assert_eq!(replaced(", \"budget\": { \"tile_bytes\": 65536 }", "").graph, base.graph);
    assert_eq!(base.limits.operator_tile_bytes.get(&OpId(1)), Some(&65536));
}

#[test]
fn names_and_data_are_apart_from_the_content() {
    let base = resolved(CHAIN);
    for (from, to) in [("w.1", "another"), ("\"fc1\"", "\"zz\""), ("\"x\"", "\"a0\""), ("\"chain\"", "\"other\"")] {
        let other = replaced(from, to);
        assert!(!other.has_errors(), "{other:?}");
        assert_eq!(other.graph.content, base.graph.content, "{from}");
        assert_eq!(other.graph.data, base.graph.data);
        assert_eq!(other.graph.digest(), base.graph.digest());
        assert_ne!(other.graph.names, base.graph.names);
        assert_ne!(other.graph.full_digest(), base.graph.full_digest());
    }
    for (from, to) in [("\"seed\": 1", "\"seed\": 2"), ("data/w2.npy", "w3.npy"), ("[-2, 2]", "[-1, 1]")] {
        let other = replaced(from, to);
        assert_eq!(other.graph.content, base.graph.content);
        assert_eq!(other.graph.names, base.graph.names);
        assert_ne!(other.graph.data, base.graph.data);
    }
}

#[test]
fn what_may_change_a_plan_changes_the_content() {
    let base = resolved(CHAIN);
    for (from, to) in [
        ("\"tiles\": 200", "\"tiles\": 201"),
        ("[4, 2, 1]", "[2, 4, 1]"),
        ("\"steps\": 3", "\"steps\": 4"),
        ("[640, 96]", "[640, 95]"),
        ("[2, 320, 1152]", "[640, 1152]"),
        ("\"fc2\", \"fc1\"]", "\"fc2\"]"),
        ("\"tiles\": 200", "\"effort\": \"max\", \"tiles\": 200"),
    ] {
        let other = replaced(from, to);
        assert!(!other.has_errors(), "{other:?}");
        assert_ne!(other.graph.content, base.graph.content, "{to}");
        assert_ne!(other.graph.digest(), base.graph.digest());
        assert_eq!(other.limits, base.limits);
    }
    // The second operator alone: the first one's signature stays.
    let other = replaced("[640, 96]", "[640, 95]");
    assert_eq!(other.graph.content.ops[0], base.graph.content.ops[0]);
    assert_ne!(other.graph.content.ops[1], base.graph.content.ops[1]);
}

#[test]
fn the_graph_answers() {
    let graph = resolved(CHAIN).graph;
    assert_eq!(graph.op("fc2"), Some(OpId(1)));
    assert_eq!(graph.tensor("w.2"), Some(TensorId(2)));
    assert_eq!(graph.tensor_path(TensorId(2)), "weights.w.2");
    assert_eq!(graph.op_path(OpId(0)), "ops.fc1");
    let extents = graph.content.ops[0].signature.gemm().expect("a gemm");
    assert_eq!((extents.m, extents.k, extents.n), (640, 1152, 640));
    assert_eq!(graph.content.uses(Operand::Result(OpId(0))), [(OpId(1), 0)]);
    // The digest is part of file formats: a change of it needs a new version in its context.
    let pinned = "3c7a7c22ebe9ceb0ace03f4f7fcb65742f1ca341561f937dbb9161b194348b54";
    assert_eq!(graph.digest().to_string(), pinned);
}

#[test]
fn edits_act_like_the_text() {
    let (ast, _) = parse(CHAIN);
    for (path, value, from, to) in [
        ("target.tiles", "64", "\"tiles\": 200", "\"tiles\": 64"),
        ("target.exchange_table_bytes", "12345", "40000 }", "12345 }"),
        ("target.effort", "fast", "\"tiles\": 200", "\"tiles\": 200, \"effort\": \"fast\""),
        ("ops.fc1.plan.grid", "[1, 1, 1]", "[4, 2, 1]", "[1, 1, 1]"),
        ("ops.fc1.plan.grid[2]", "2", "[4, 2, 1]", "[4, 2, 2]"),
        ("ops.fc1.plan", "null", ", \"plan\": { \"grid\": [4, 2, 1], \"steps\": 3 }", ""),
        ("weights.w.2.shape[1]", "95", "[640, 96]", "[640, 95]"),
    ] {
        assert_eq!(resolve(&ast, &[Edit::typed(path, value)]), replaced(from, to), "{path}");
    }
    // Sections that are not in the text are made.
    let (bare, _) = parse(&CHAIN.replace(
        "  \"target\": { \"tiles\": 200, \"tile_memory_bytes\": 400000, \"exchange_table_bytes\": 40000 },\n",
        "",
    ));
    let edited = resolve(&bare, &[Edit::set("target.tiles", 200u32)]);
    assert!(!edited.has_errors());
    assert_eq!(edited.graph, resolved(CHAIN).graph);
}

#[test]
fn wrong_edits_are_problems_with_a_place() {
    let (ast, _) = parse(CHAIN);
    let map = SourceMap::new(&ast);
    for (path, value, code) in [
        ("target.tile", "64", codes::UNKNOWN_KEY),
        ("target.tiles", "0", codes::INVALID_VALUE),
        ("target.tiles", "many", codes::INVALID_VALUE),
        ("ops.fc3.plan.grid", "[1, 1, 1]", codes::UNKNOWN_NAME),
        ("ops.fc1.inputs[5]", "x", codes::UNKNOWN_NAME),
        ("ops.fc1.name.more", "x", codes::UNKNOWN_NAME),
        ("", "1", codes::UNKNOWN_NAME),
        ("outputs", "null", codes::MISSING_KEY),
        ("target.profiling", "full", codes::NOT_SUPPORTED),
    ] {
        let mut problems = resolve(&ast, &[Edit::typed(path, value)]).problems;
        arrange(&mut problems, &map);
        assert_eq!(problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), [code], "{path}: {problems:?}");
        assert!(!locate(&problems[0], &map).is_empty());
    }
    let problems = resolve(&ast, &[Edit::typed("target.tiles", "0")]).problems;
    assert_eq!(problems[0].notes, ["`target.tiles` is set to 0 from outside the file"]);
}

#[test]
fn large_broken_models_are_cheap() {
    let mut text = String::from("{\"name\": \"m\", \"ops\": [");
    for index in 0..20_000 {
        let next = index + 1;
        write!(text, "{{\"name\": \"a{index}\", \"op\": \"gemm\", \"inputs\": [\"a{next}\", \"q{index}\"]}},")
            .expect("a string");
    }
    text += "{}], \"outputs\": [\"a0\"]}";
    let (ast, problems) = parse(&text);
    assert_eq!(problems, []);
    let started = std::time::Instant::now();
    assert!(resolve(&ast, &[]).has_errors());
    let mut keys = String::new();
    for index in 0..20_000 {
        write!(keys, ", \"k{index}\": 0").expect("a string");
    }
    assert!(resolve(&parse(&format!("{{\"name\": \"m\"{keys}}}")).0, &[]).has_errors());
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn each_gemm_of_a_long_chain_has_one_signature() {
    let mut text = String::from(
        "{\"name\": \"m\", \"inputs\": {\"x\": {\"shape\": [64, 64], \"dtype\": \"f16\"}}, \"weights\": {\"w\": {\"shape\": \
         [64, 64], \"dtype\": \"f16\", \"random\": {\"normal\": 1}}}, \"ops\": [",
    );
    for index in 0..50 {
        let left = if index == 0 { "x".to_owned() } else { format!("a{}", index - 1) };
        let comma = if index == 0 { "" } else { ", " };
        write!(text, "{comma}{{\"name\": \"a{index}\", \"op\": \"gemm\", \"inputs\": [\"{left}\", \"w\"]}}")
            .expect("a string");
    }
    let resolved = resolved(&(text + "], \"outputs\": [\"a49\"]}"));
    assert_eq!(resolved.problems, []);
    let signatures: std::collections::BTreeSet<_> =
        resolved.graph.content.ops.iter().map(|op| op.signature.clone()).collect();
    // The first one reads an input, all others a result.
    assert_eq!(signatures.len(), 2);
}

/// All that a front end does with a text; must not panic.
fn digest_text(text: &str) {
    let (ast, mut problems) = parse(text);
    let resolved = resolve(&ast, &[Edit::set("target.tiles", 7u32), Edit::set("ops.fc1.plan", Value::Null)]);
    problems.extend(resolved.problems);
    assert_eq!(verify(&resolved.graph), Vec::<String>::new());
    let resolved = resolve(&ast, &[]);
    assert_eq!(verify(&resolved.graph), Vec::<String>::new());
    if !resolved.has_errors() && problems.iter().all(|problem| problem.level() != Level::Error) {
        assert!(!resolved.graph.content.ops.is_empty() && !resolved.graph.content.outputs.is_empty());
    }
    problems.extend(resolved.problems);
    let map = SourceMap::new(&ast);
    arrange(&mut problems, &map);
    for problem in &problems {
        assert!(!problem.labels.is_empty(), "{problem:?}");
        for located in locate(problem, &map) {
            let (start, end) = (located.span.start as usize, located.span.end as usize);
            assert!(start <= end && text.is_char_boundary(start) && text.is_char_boundary(end), "{problem:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn arbitrary_texts(text in "\\PC*") {
        digest_text(&text);
    }

    #[test]
    fn mutated_models(
        which in 0..4usize,
        mutations in prop::collection::vec((0..3u8, 0..4000usize, 0..60usize, "[\\[\\]{}:,\"a-z0-9.\u{e9}-]{0,6}"), 1..6),
    ) {
        let mut text = [
            CHAIN,
            include_str!("models/e0005-tensors.json"),
            include_str!("models/e0008-order.json"),
            include_str!("models/e0010-later.json"),
        ][which].to_owned();
        for (kind, at, length, insert) in mutations {
            let mut start = at % (text.len() + 1);
            while !text.is_char_boundary(start) { start -= 1; }
            let mut end = (start + length).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            match kind {
                0 => text.replace_range(start..end, ""),
                1 => text.insert_str(start, &insert),
                _ => { let copy = text[start..end].to_owned(); text.insert_str(start, &copy); }
            }
        }
        digest_text(&text);
    }
}
