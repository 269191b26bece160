//! A package depends on the model alone: not on the edits that led to it, nor on threads.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ipuc_queries::database::Compiler;
use ipuc_queries::diagnostics::{Level, Problem};
use ipuc_queries::keys::{LimitsKey, PlanSetKey, Scenario};
use ipuc_queries::model::Edit;
use ipuc_queries::stages;
use ipuc_queries::trace::Clock;
use proptest::prelude::*;

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

fn compiler() -> Compiler {
    Compiler::new(Arc::new(Frozen))
}

/// Package bytes, or why there are none.
type Outcome = Result<Vec<u8>, Vec<Problem>>;

/// Builds as the command line does, with the schedules warmed by so many threads.
fn build(db: &mut Compiler, text: &str, edits: &[Edit], threads: usize) -> Outcome {
    let source = db.set_source("model.json", text);
    let db: &Compiler = db;
    db.build_trace().begin();
    let scenario = Scenario::new(db, source, edits.to_vec());
    let limits = LimitsKey::new(db, stages::limits(db, scenario).clone());
    let set = stages::choice(db, scenario, limits);
    if !set.operators.is_empty() {
        stages::warm(db, scenario, limits, threads);
    }
    let problems = stages::problems(db, scenario, limits);
    if problems.iter().any(|p| p.level() == Level::Error) {
        return Err(problems.clone());
    }
    let package = stages::package(db, scenario, PlanSetKey::new(db, set.clone())).as_ref().expect("no problems");
    Ok(package.package.to_bytes().expect("a built package is valid"))
}

/// A chain of two GEMMs on a few tiles, with everything that the property edits.
#[derive(Clone, Debug)]
struct Model {
    name: &'static str,
    tiles: u32,
    table_limit: Option<u32>,
    memory_limit: Option<u32>,
    rows: u32,
    columns: [u32; 3],
    operators: [&'static str; 2],
    grids: [Option<[u32; 3]>; 2],
    budget: Option<u32>,
    seed: u32,
    reversed: bool,
    description: bool,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            name: "chain",
            tiles: 12,
            table_limit: None,
            memory_limit: None,
            rows: 40,
            columns: [64, 48, 32],
            operators: ["first", "second"],
            grids: [None; 2],
            budget: None,
            seed: 1,
            reversed: false,
            description: false,
        }
    }
}

impl Model {
    /// The model as JSON.
    fn text(&self) -> String {
        let [k, n, last] = self.columns;
        let [first, second] = self.operators;
        let tensor = |rows: u32, columns: u32, seed: u32| {
            format!(
                r#"{{ "shape": [{rows}, {columns}], "dtype": "f16", "random": {{ "normal": 0.5, "seed": {seed} }} }}"#
            )
        };
        let mut target = format!(r#""chip": "ipu21", "tiles": {}"#, self.tiles);
        for (key, limit) in [("exchange_table_bytes", self.table_limit), ("tile_memory_bytes", self.memory_limit)] {
            if let Some(limit) = limit {
                write!(target, r#", "{key}": {limit}"#).expect("a string");
            }
        }
        let operator = |index: usize, left: &str, right: &str| {
            let mut members = vec![
                format!(r#""name": "{}""#, self.operators[index]),
                r#""op": "gemm""#.to_owned(),
                format!(r#""inputs": ["{left}", "{right}"]"#),
            ];
            members.extend(self.grids[index].map(|grid| format!(r#""plan": {{ "grid": {grid:?} }}"#)));
            members.extend(self.budget.filter(|_| index == 1).map(|b| format!(r#""budget": {{ "tile_bytes": {b} }}"#)));
            self.object(members)
        };
        let inputs = format!(r#""inputs": {{ "x": {} }}"#, tensor(self.rows, k, self.seed));
        let weights = [format!(r#""u": {}"#, tensor(k, n, 7)), format!(r#""v": {}"#, tensor(n, last, 8))];
        let mut members = vec![
            format!(r#""name": "{}""#, self.name),
            format!(r#""target": {{ {target} }}"#),
            inputs,
            format!(r#""weights": {{ {} }}"#, weights.join(", ")),
            format!(r#""ops": [{}, {}]"#, operator(0, "x", "u"), operator(1, first, "v")),
            format!(r#""outputs": ["{second}"]"#),
        ];
        if self.description {
            members.push(r#""description": "words""#.to_owned());
        }
        self.object(members)
    }

    fn object(&self, mut members: Vec<String>) -> String {
        if self.reversed {
            members.reverse();
        }
        format!("{{ {} }}", members.join(if self.reversed { " ,\n\t" } else { ", " }))
    }
}

/// One edit.
#[derive(Clone, Debug)]
enum Change {
    Name(&'static str),
    Tiles(u32),
    Table(Option<u32>),
    Memory(Option<u32>),
    Rows(u32),
    Column(usize, u32),
    Operator(usize, &'static str),
    Grid(usize, Option<[u32; 3]>),
    Budget(Option<u32>),
    Seed(u32),
    Order,
    Description,
}

impl Change {
    fn apply(self, model: &mut Model) {
        match self {
            Self::Name(name) => model.name = name,
            Self::Tiles(tiles) => model.tiles = tiles,
            Self::Table(limit) => model.table_limit = limit,
            Self::Memory(limit) => model.memory_limit = limit,
            Self::Rows(rows) => model.rows = rows,
            Self::Column(index, extent) => model.columns[index] = extent,
            Self::Operator(index, name) => model.operators[index] = name,
            Self::Grid(index, grid) => model.grids[index] = grid,
            Self::Budget(bytes) => model.budget = bytes,
            Self::Seed(seed) => model.seed = seed,
            Self::Order => model.reversed ^= true,
            Self::Description => model.description ^= true,
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    use proptest::option::of;
    use proptest::sample::select;
    prop_oneof![
        select(vec!["chain", "other"]).prop_map(Change::Name),
        (1u32..=16).prop_map(Change::Tiles),
        // Some of the limits refuse every plan, some change which is chosen.
        of(select(vec![64, 400, 2000, 80000])).prop_map(Change::Table),
        of(select(vec![60000, 112_000, 125_000, 600_000])).prop_map(Change::Memory),
        (1u32..=70).prop_map(Change::Rows),
        (0usize..3, 1u32..=100).prop_map(|(index, extent)| Change::Column(index, extent)),
        (0usize..2, select(vec![["first", "one"], ["second", "two"]]))
            .prop_map(|(choice, names)| Change::Operator(usize::from(names[0] == "second"), names[choice])),
        (0usize..2, of([1u32..=3, 1u32..=3, 1u32..=2])).prop_map(|(index, grid)| Change::Grid(index, grid)),
        of(select(vec![100, 8000, 100_000])).prop_map(Change::Budget),
        (1u32..4).prop_map(Change::Seed),
        Just(Change::Order),
        Just(Change::Description),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever was edited before, the outcome is that of a clean build.
    #[test]
    fn edits_give_what_a_clean_build_gives(changes in proptest::collection::vec(change(), 1..10), threads in 1usize..=2) {
        let mut db = compiler();
        let mut model = Model::default();
        prop_assert!(build(&mut db, &model.text(), &[], threads).is_ok());
        for change in changes {
            change.apply(&mut model);
            let text = model.text();
            let edited = build(&mut db, &text, &[], threads);
            let clean = build(&mut compiler(), &text, &[], 1);
            prop_assert!(edited == clean, "{text}\n{:?}\n{:?}", edited.err(), clean.err());
        }
    }
}

/// A probe is an edit that the text does not have: it gives what the edited text gives.
#[test]
fn a_probe_gives_what_the_edited_text_gives() {
    let mut db = compiler();
    let base = Model::default();
    let before = build(&mut db, &base.text(), &[], 1);
    for tiles in [1, 5, 16] {
        let probe = build(&mut db, &base.text(), &[Edit::set("target.tiles", tiles)], 1);
        let edited = build(&mut compiler(), &Model { tiles, ..base.clone() }.text(), &[], 1);
        assert!(probe.is_ok() && probe == edited, "{tiles} tiles");
    }
    assert!(build(&mut db, &base.text(), &[], 1) == before);
}

#[test]
fn threads_do_not_change_a_byte() {
    let text = include_str!("../../examples/gemm-chain.json");
    let in_pool = |size: usize, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(size).build().expect("a pool");
        pool.install(|| build(&mut compiler(), text, &[], threads)).expect("an example builds")
    };
    let alone = in_pool(1, 1);
    for (size, threads) in [(2, 1), (1, 2), (2, 2), (3, 4)] {
        assert!(in_pool(size, threads) == alone, "pool of {size}, {threads} threads");
    }
}
