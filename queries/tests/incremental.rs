//! What an edit re-does: each kind of edit on `examples/gemm-chain.json`, asserted from the build log, query by query.
//!
//! A build asks what the command line asks, in its order. An expectation names all queries that ran; a `=` behind a name
//! says that it gave an equal result for each of its keys, and so ended the change there.
//! All cases run with the schedules warmed by one thread and by two: what runs does not depend on it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipuc_queries::database::Compiler;
use ipuc_queries::keys::{LimitsKey, PlanSetKey, Scenario};
use ipuc_queries::lower::ir::Step;
use ipuc_queries::model::Edit;
use ipuc_queries::stages;
use ipuc_queries::trace::{Clock, Node, Summary};

const CHAIN: &str = include_str!("../../examples/gemm-chain.json");

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// A database with one model, and what the last build of it gave.
struct Session {
    db: Compiler,
    text: String,
    threads: usize,
    package: Vec<u8>,
    summary: Summary,
}

impl Session {
    fn new(threads: usize) -> Self {
        let mut session = Self {
            db: Compiler::new(Arc::new(Frozen)),
            text: CHAIN.to_owned(),
            threads,
            package: Vec::new(),
            summary: Summary::default(),
        };
        session.build(&[]);
        session
    }

    /// Builds the model with edits on it.
    fn build(&mut self, edits: &[Edit]) {
        let source = self.db.set_source("model.json", &self.text);
        let db = &self.db;
        db.build_trace().begin();
        let scenario = Scenario::new(db, source, edits.to_vec());
        assert_eq!(stages::graph(db, scenario).problems, []);
        let limits = LimitsKey::new(db, stages::limits(db, scenario).clone());
        let set = PlanSetKey::new(db, stages::choice(db, scenario, limits).clone());
        stages::warm(db, scenario, limits, self.threads);
        assert_eq!(stages::problems(db, scenario, limits), &[]);
        let package = stages::package(db, scenario, set).as_ref().expect("no problems");
        self.package = package.package.to_bytes().expect("a built package is valid");
        self.summary = db.build_trace().summary();
    }

    /// Replaces a part of the text, builds, and compares what ran.
    #[track_caller]
    fn edit(&mut self, from: &str, to: &str, expected: &str) {
        assert_eq!(self.text.matches(from).count(), 1, "{from}");
        self.text = self.text.replace(from, to);
        self.build(&[]);
        assert_eq!(self.executed(), expected, "{from} -> {to}");
    }

    /// Replaces a part of the original of a kernel source or header, builds, and compares what ran.
    #[track_caller]
    fn edit_kernel(&mut self, name: &str, from: &str, to: &str, expected: &str) {
        let mut files = ipuc_device::kernels::sources().chain(ipuc_device::kernels::headers());
        let (_, text) = files.find(|(n, _)| *n == name).expect("a file of the kernels");
        assert!(text.contains(from), "{from}");
        assert!(self.db.set_kernel(name, &text.replacen(from, to, 1)));
        self.build(&[]);
        assert_eq!(self.executed(), expected, "{name}: {from} -> {to}");
    }

    /// Everything that ran, with `=` where all results were equal to those before.
    fn executed(&self) -> String {
        let mut queries: BTreeMap<&str, bool> = BTreeMap::new();
        for e in &self.summary.executed {
            *queries.entry(e.node.query).or_insert(true) &= e.cut_off;
        }
        let one = |(name, cut_off): (&str, bool)| format!("{name}{}", if cut_off { "=" } else { "" });
        queries.into_iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// How many keys of a query ran, and how many the build re-used.
    fn keys(&self, query: &str) -> (usize, usize) {
        let ran = self.summary.executed.iter().filter(|e| e.node.query == query).count();
        (ran, self.summary.reused.iter().filter(|node| node.query == query).count())
    }

    /// Phases of each operator in the present plan, by display name of their problem.
    fn phases(&mut self) -> Vec<Vec<String>> {
        let source = self.db.set_source("model.json", &self.text);
        let db = &self.db;
        let scenario = Scenario::new(db, source, Vec::new());
        let limits = LimitsKey::new(db, stages::limits(db, scenario).clone());
        let set = stages::choice(db, scenario, limits);
        let mut phases = vec![Vec::new(); set.operators.len()];
        let program = stages::program(db, PlanSetKey::new(db, set.clone()));
        for position in program.phases() {
            let (operator, Step::Exchange(problem)) = program.step(position) else { unreachable!("a phase") };
            phases[operator as usize].push(problem.digest.short());
        }
        phases
    }
}

fn on_one_and_two_threads(case: impl Fn(Session)) {
    for threads in [1, 2] {
        case(Session::new(threads));
    }
}

#[test]
fn without_an_edit_everything_is_reused() {
    on_one_and_two_threads(|mut session| {
        assert!(session.summary.reused.is_empty());
        let first: Vec<Node> = session.summary.executed.iter().map(|e| e.node.clone()).collect();
        session.build(&[]);
        assert_eq!(session.executed(), "");
        assert_eq!(session.summary.reused, first);
    });
}

#[test]
fn spelling_ends_at_the_graph() {
    on_one_and_two_threads(|mut session| {
        let (package, all) = (session.package.clone(), session.summary.executed.len());
        session.edit("\"ops\":", "\n\n  \"ops\"  :", "ast, graph=");
        session.edit("Two matrix products", "Two products", "ast, graph=");
        let (keys, swapped) =
            ("\"op\": \"gemm\", \"inputs\": [\"y\", \"w2\"]", "\"inputs\": [\"y\", \"w2\"], \"op\": \"gemm\"");
        session.edit(keys, swapped, "ast, graph=");
        // The outputs before everything else.
        session.text =
            session.text.replace("],\n  \"outputs\": [\"z\"]", "]").replacen('{', "{ \"outputs\": [\"z\"],", 1);
        session.build(&[]);
        assert_eq!(session.executed(), "ast, graph=");
        assert_eq!(session.package, package);
        assert_eq!(session.summary.reused.len(), all - 2);
    });
}

#[test]
fn a_limit_that_changes_no_plan_ends_at_the_choice() {
    const LIMIT: &str = "ast, choice, graph=, limits, problems";
    on_one_and_two_threads(|mut session| {
        let package = session.package.clone();
        session.edit("\"tiles\": 200", "\"tiles\": 200, \"exchange_table_bytes\": 80000", LIMIT);
        session.edit("80000", "70000, \"tile_memory_bytes\": 600000", LIMIT);
        session.edit("600000", "500000", LIMIT);
        let (operator, budget) = ("[\"y\", \"w2\"]", "[\"y\", \"w2\"], \"budget\": { \"tile_bytes\": 400000 }");
        session.edit(operator, budget, LIMIT);
        // Limits that were in force before are a key that is known.
        session.edit(budget, operator, "ast, graph=, limits");
        assert_eq!(session.package, package);
        assert_eq!(session.keys("op_work"), (0, 2));
    });
}

#[test]
fn a_limit_that_bites_searches_nothing_again() {
    on_one_and_two_threads(|mut session| {
        let source = session.db.set_source("model.json", CHAIN);
        let scenario = Scenario::new(&session.db, source, Vec::new());
        let fastest = stages::frontier(&session.db, scenario).plans[0].memory_bytes;
        let limit = format!("\"tiles\": 200, \"tile_memory_bytes\": {}", fastest - 1);
        session.text = CHAIN.replace("\"tiles\": 200", &limit);
        session.build(&[]);
        for (query, keys) in [
            ("graph", (1, 0)),
            ("content", (0, 1)),
            ("candidates", (0, 2)),
            ("frontier", (0, 1)),
            ("choice", (1, 0)),
            ("program", (1, 0)),
            ("package", (1, 0)),
        ] {
            assert_eq!(session.keys(query), keys, "{query}");
        }
    });
}

#[test]
fn the_shape_of_the_second_operator_leaves_the_first() {
    on_one_and_two_threads(|mut session| {
        let package = session.package.clone();
        session.edit(
            "[640, 96]",
            "[640, 80]",
            "ast, candidates, choice, clash, classes, content, frontier, graph, op_work, order, package, placement, \
             problems=, program, provisional, reservation, rows, tile_program, timing, usage",
        );
        assert_ne!(session.package, package);
        assert_eq!(session.keys("candidates"), (1, 1));
        assert_eq!(session.keys("op_work"), (1, 1));
        let [first, second] = session.phases().try_into().expect("two operators");
        assert!(!first.is_empty() && !second.is_empty());
        for query in ["order", "timing"] {
            assert_eq!(session.keys(query), (second.len(), first.len()), "{query}");
            let of = |node: &Node, phases: &[String]| phases.iter().any(|phase| node.key.starts_with(phase.as_str()));
            for e in session.summary.executed.iter().filter(|e| e.node.query == query) {
                assert!(of(&e.node, &second), "{:?}", e.node);
            }
            for node in session.summary.reused.iter().filter(|node| node.query == query) {
                assert!(of(node, &first), "{node:?}");
            }
        }
        // Back and forth: a plan set that was there is a key that is known; what the model itself keys asks again.
        session.edit("[640, 80]", "[640, 96]", "ast, choice, content, frontier, graph, package=, problems=");
        assert_eq!(session.package, package);
        session.edit("[640, 96]", "[640, 80]", "ast, choice, content, frontier, graph, package=, problems=");
    });
}

#[test]
fn names_and_data_end_at_the_content() {
    const NAMES: &str = "ast, content=, graph, package, problems=";
    on_one_and_two_threads(|mut session| {
        let first = "\"name\": \"y\"";
        let second = "\"inputs\": [\"y\", \"w2\"]";
        session.text = session.text.replace(second, "\"inputs\": [\"hidden\", \"w2\"]");
        session.edit(first, "\"name\": \"hidden\"", NAMES);
        session.edit("gemm-chain", "chain", NAMES);
        session.edit("\"seed\": 3", "\"seed\": 4", NAMES);
        session.edit("\"normal\": 0.0395", "\"normal\": 0.04", NAMES);
    });
}

#[test]
fn a_kernel_source_reaches_the_images_only() {
    on_one_and_two_threads(|mut session| {
        let package = session.package.clone();
        session.edit_kernel("gemm_f16.S", "//", "// A remark.\n//", "object=");
        assert_eq!(session.keys("object").0, 1);
        session.edit_kernel("tile.h", "//", "// A remark.\n//", "object=");
        assert_eq!(session.keys("object").1, 0);
        assert_eq!(session.package, package);
        // Other code of the same length moves no entry: the programs stay.
        session.edit_kernel("gemm_f16.S", "br $m10", "br $m11", "classes, linked, object, package");
        assert_ne!(session.package, package);
        // A longer kernel moves those that are linked after it.
        let longer = format!("br $m10\n{}", "    br $m10\n".repeat(8));
        session.edit_kernel("copy.S", "br $m10", &longer, "classes, linked, object, package, tile_program");
        assert_eq!(session.keys("object").0, 1);
        // A kernel that the model does not use.
        session.edit_kernel("fill.S", "br $m10", "br $m10\n    br $m10", "");
        // Back to the first texts: all programs are keys that are known.
        session.edit_kernel("copy.S", "//", "//", "classes, linked, object, package");
        session.edit_kernel("gemm_f16.S", "//", "//", "classes, linked, object, package");
        assert_eq!(session.package, package);
    });
}

#[test]
fn a_broken_kernel_is_a_problem() {
    let mut session = Session::new(1);
    assert!(session.db.set_kernel("gemm_f16.S", "    no_such_instruction $m0\n"));
    let source = session.db.set_source("model.json", CHAIN);
    let db = &session.db;
    let scenario = Scenario::new(db, source, Vec::new());
    let limits = LimitsKey::new(db, stages::limits(db, scenario).clone());
    db.build_trace().begin();
    let problems = stages::problems(db, scenario, limits);
    assert_eq!(problems.len(), 1, "{problems:?}");
    session.summary = db.build_trace().summary();
    assert_eq!(session.executed(), "linked, object, problems");
}

#[test]
fn a_probe_is_another_key() {
    on_one_and_two_threads(|mut session| {
        let (package, all) = (session.package.clone(), session.summary.executed.len());
        session.build(&[Edit::set("target.tiles", 100u32)]);
        assert_ne!(session.package, package);
        assert_eq!((session.keys("ast"), session.keys("object").0), ((0, 1), 0));
        session.build(&[]);
        assert_eq!(session.executed(), "");
        assert_eq!((session.summary.reused.len(), &session.package), (all, &package));
        // Spelling, with a probe open.
        session.edit("\"ops\":", "\"ops\" :", "ast, graph=");
        session.build(&[Edit::set("target.tiles", 100u32)]);
        assert_eq!(session.executed(), "graph=");
    });
}
