//! What an edit re-does: every kind of edit on `examples/gemm-chain.json`, asserted from the build log, query by query.
//!
//! A build asks what the command line asks, in its order. Each case names all queries that ran, with the number of keys;
//! a `=` behind a name says that every one of them gave an equal result and so ended the change there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipuc_queries::database::Compiler;
use ipuc_queries::keys::{LimitsKey, PlanSetKey, Scenario};
use ipuc_queries::model::Edit;
use ipuc_queries::stages;
use ipuc_queries::trace::{Clock, Summary};

const CHAIN: &str = include_str!("../../examples/gemm-chain.json");

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// A database with one model, and the text that it holds now.
struct Session {
    db: Compiler,
    text: String,
    threads: usize,
}

impl Session {
    fn new(text: &str, threads: usize) -> Self {
        let mut session = Self { db: Compiler::new(Arc::new(Frozen)), text: text.to_owned(), threads };
        session.rebuild();
        session
    }

    /// Builds the model with edits on it; gives the package's bytes and what the build did.
    fn build_with(&mut self, edits: Vec<Edit>) -> (Vec<u8>, Summary) {
        let source = self.db.set_source("model.json", &self.text);
        let db = &self.db;
        db.build_trace().begin();
        let scenario = Scenario::new(db, source, edits);
        assert_eq!(stages::graph(db, scenario).problems, []);
        let limits = LimitsKey::new(db, stages::limits(db, scenario).clone());
        let set = PlanSetKey::new(db, stages::choice(db, scenario, limits).clone());
        stages::warm(db, scenario, limits, self.threads);
        let problems = stages::problems(db, scenario, limits);
        assert_eq!(problems, &[]);
        let package = stages::package(db, scenario, set).as_ref().expect("no problems");
        let bytes = package.package.to_bytes().expect("a built package is valid");
        (bytes, db.build_trace().summary())
    }

    fn rebuild(&mut self) -> (Vec<u8>, Summary) {
        self.build_with(Vec::new())
    }

    /// Replaces a part of the text and builds.
    fn edit(&mut self, from: &str, to: &str) -> Summary {
        assert_eq!(self.text.matches(from).count(), 1, "{from}");
        self.text = self.text.replace(from, to);
        self.rebuild().1
    }

    /// Replaces a part of a kernel source and builds.
    fn edit_kernel(&mut self, name: &str, from: &str, to: &str) -> Summary {
        let text = ipuc_device::kernels::source(name).expect("a kernel");
        assert!(text.contains(from), "{from}");
        assert!(self.db.set_kernel(name, &text.replacen(from, to, 1)));
        self.rebuild().1
    }
}

/// `name xCOUNT` of everything that ran, with `=` where all results were equal.
fn executed(summary: &Summary) -> String {
    let mut counts: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for e in &summary.executed {
        let (count, cut_off) = counts.entry(e.node.query).or_insert((0, true));
        *count += 1;
        *cut_off &= e.cut_off;
    }
    let one = |(name, (count, cut_off)): (&str, (usize, bool))| {
        let times = if count == 1 { String::new() } else { format!(" x{count}") };
        format!("{name}{times}{}", if cut_off { "=" } else { "" })
    };
    counts.into_iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Keys of a query that a build re-used.
fn reused(summary: &Summary, query: &str) -> usize {
    summary.reused.iter().filter(|node| node.query == query).count()
}

fn ran(summary: &Summary, query: &str) -> usize {
    summary.executed.iter().filter(|e| e.node.query == query).count()
}

#[test]
fn probe() {
    let mut session = Session::new(CHAIN, 1);
    println!("again: {}", executed(&session.rebuild().1));
    println!("space: {}", executed(&session.edit("\"ops\":", "\n\"ops\"  :")));
    println!("descr: {}", executed(&session.edit("Two matrix products", "Two products")));
    println!("order: {}", executed(&session.edit("\"op\": \"gemm\", \"inputs\": [\"y\", \"w2\"]", "\"inputs\": [\"y\", \"w2\"], \"op\": \"gemm\"")));
    println!("limit: {}", executed(&session.edit("\"tiles\": 200", "\"tiles\": 200, \"exchange_table_bytes\": 80000")));
    println!("limit: {}", executed(&session.edit("80000", "80000, \"tile_memory_bytes\": 600000")));
    println!("name: {}", executed(&session.edit("gemm-chain", "other").clone()));
}
