//! What a build executed, what it cut off and what it re-used.
//!
//! Salsa tells neither edges nor cut-offs, and a memo hit never enters a body. So each query has an accessor outside
//! its tracked function, which records *caller -> callee* ([`BuildTrace::edge`]), and its body records execution, time,
//! the key's display name and the digest of the result ([`BuildTrace::execute`]).
//!
//! For one build (everything since [`BuildTrace::begin`]):
//! - *executed*: the body ran;
//! - *cut off*: it ran and its result equals the one of its last execution;
//! - *re-used*: in the closure of the build's roots, by the edges of each query's last execution, and not executed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::digest::Digest;

/// A query with its key, by display name: stable over processes, unlike salsa's ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node {
    /// Name of the query.
    pub query: &'static str,
    /// Display name of the key.
    pub key: Arc<str>,
}

/// Wall time, injected so that queries stay pure and tests can freeze it.
pub trait Clock: Send + Sync {
    /// Time since some fixed start.
    fn now(&self) -> Duration;
}

#[derive(Default)]
struct Record {
    callees: BTreeSet<Node>,
    digest: Option<Digest>,
    /// The last build in which the body ran.
    build: u64,
    cut_off: bool,
    elapsed: Duration,
}

#[derive(Default)]
struct State {
    build: u64,
    roots: BTreeSet<Node>,
    records: BTreeMap<Node, Record>,
}

/// The log of one database; handles of it share it.
#[derive(Clone)]
pub struct BuildTrace {
    state: Arc<Mutex<State>>,
    clock: Arc<dyn Clock>,
}

thread_local! {
    /// What each query asked for whose body runs on this thread, outermost first. It becomes the query's edges when the
    /// body ends: salsa keeps the memo of a body that unwinds, and with it stay the edges of that memo.
    static RUNNING: RefCell<Vec<BTreeSet<Node>>> = const { RefCell::new(Vec::new()) };
}

/// The entry of a body in [`RUNNING`]; removed when the body unwinds, too.
struct Frame;

impl Frame {
    fn push() -> Self {
        RUNNING.with_borrow_mut(|stack| stack.push(BTreeSet::new()));
        Self
    }

    fn pop(self) -> BTreeSet<Node> {
        std::mem::forget(self);
        RUNNING.with_borrow_mut(Vec::pop).expect("pushed by `push`")
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(Vec::pop);
    }
}

impl BuildTrace {
    /// An empty log.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { state: Arc::default(), clock }
    }

    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        // A panicking query leaves the log usable: it holds no half-made record.
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Starts a new build.
    pub fn begin(&self) {
        self.with(|s| {
            s.build += 1;
            s.roots.clear();
        });
    }

    /// Records that the running query asks for `node`, or the driver, on whichever of its threads.
    pub fn edge(&self, node: Node) {
        let asked_by_driver = RUNNING.with_borrow_mut(|stack| match stack.last_mut() {
            Some(callees) => {
                callees.insert(node);
                None
            }
            None => Some(node),
        });
        if let Some(root) = asked_by_driver {
            self.with(|s| s.roots.insert(root));
        }
    }

    /// Runs the body of `node`, whose result tells its content by its hash.
    pub fn execute<T: Hash>(&self, node: Node, body: impl FnOnce() -> T) -> T {
        self.execute_as(node, body, |value| Digest::of(value))
    }

    /// Runs the body of `node`; `digest` tells its result's content.
    pub fn execute_as<T>(&self, node: Node, body: impl FnOnce() -> T, digest: impl FnOnce(&T) -> Digest) -> T {
        let start = self.clock.now();
        let frame = Frame::push();
        let span = tracing::debug_span!("query", query = node.query, key = %node.key);
        let value = span.in_scope(body);
        let callees = frame.pop();
        let elapsed = self.clock.now().saturating_sub(start);
        let digest = digest(&value);
        self.with(|s| {
            let build = s.build;
            let record = s.records.entry(node).or_default();
            record.callees = callees;
            record.cut_off = record.digest == Some(digest);
            record.digest = Some(digest);
            record.build = build;
            record.elapsed = elapsed;
        });
        value
    }

    /// What the build since [`Self::begin`] did.
    pub fn summary(&self) -> Summary {
        self.with(|s| {
            let mut reached = BTreeSet::new();
            let mut open: Vec<Node> = s.roots.iter().cloned().collect();
            while let Some(node) = open.pop() {
                if let Some(record) = s.records.get(&node) {
                    open.extend(record.callees.iter().filter(|n| !reached.contains(*n)).cloned());
                }
                reached.insert(node);
            }
            let mut summary = Summary::default();
            for (node, record) in &s.records {
                if record.build == s.build {
                    summary.executed.push(Executed {
                        node: node.clone(),
                        cut_off: record.cut_off,
                        elapsed: record.elapsed,
                        callees: record.callees.iter().cloned().collect(),
                    });
                } else if reached.contains(node) {
                    summary.reused.push(node.clone());
                }
            }
            summary
        })
    }
}

/// One execution of a query.
#[derive(Clone, Debug)]
pub struct Executed {
    /// Which.
    pub node: Node,
    /// Its result equals the one before.
    pub cut_off: bool,
    /// Time in its body, callees included.
    pub elapsed: Duration,
    /// What it asked for.
    pub callees: Vec<Node>,
}

/// What one build did, sorted by query and key.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Bodies that ran.
    pub executed: Vec<Executed>,
    /// Queries of the build that did not run.
    pub reused: Vec<Node>,
}

impl Summary {
    /// How often each query ran, by name.
    pub fn executed_counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for e in &self.executed {
            *counts.entry(e.node.query).or_insert(0) += 1;
        }
        counts
    }

    /// Names of the queries that ran.
    pub fn executed_names(&self) -> Vec<&'static str> {
        self.executed_counts().into_keys().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Frozen;
    impl Clock for Frozen {
        fn now(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn node(query: &'static str) -> Node {
        Node { query, key: "k".into() }
    }

    #[test]
    fn executed_cut_off_and_reused() {
        let trace = BuildTrace::new(Arc::new(Frozen));
        let run = |value: u8, inner: bool| {
            trace.begin();
            trace.edge(node("top"));
            trace.execute(node("top"), || {
                trace.edge(node("leaf"));
                if inner {
                    trace.execute(node("leaf"), || 1u8);
                }
                value
            });
            trace.summary()
        };
        let first = run(1, true);
        assert_eq!(first.executed_names(), ["leaf", "top"]);
        let second = run(1, false);
        assert_eq!(second.executed_names(), ["top"]);
        assert!(second.executed[0].cut_off);
        assert_eq!(second.reused, [node("leaf")]);
        assert!(!run(2, false).executed[0].cut_off);
    }

    #[test]
    fn a_body_that_unwinds_leaves_its_record() {
        let trace = BuildTrace::new(Arc::new(Frozen));
        trace.execute(node("top"), || trace.edge(node("leaf")));
        trace.execute(node("leaf"), || ());
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            trace.execute(node("top"), || std::panic::resume_unwind(Box::new(())));
        }));
        assert!(unwound.is_err());
        // The driver asks again after the edit was taken back: both memos hold.
        trace.begin();
        trace.edge(node("top"));
        assert_eq!(trace.summary().reused, [node("leaf"), node("top")]);
        assert!(trace.summary().executed.is_empty());
    }
}
