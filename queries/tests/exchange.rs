//! Schedules, checked from outside: the scheduler's own checker on the pieces, and the fabric's validator, which sees
//! nothing but the encoded words.

use std::sync::Arc;
use std::time::Duration;

use ipuc_device::fabric::encode::encode_row;
use ipuc_device::fabric::rows::build_rows;
use ipuc_device::fabric::validate::{EntryRegisters, Expected, PhaseInput, TileInput, validate};
use ipuc_device::memory::TileId;
use ipuc_queries::database::Compiler;
use ipuc_queries::exchange::Effort;
use ipuc_queries::exchange::absolute::{AbsoluteProblem, AbsoluteTransfer, schedule_absolute};
use ipuc_queries::exchange::timing::Schedule;
use ipuc_queries::keys::{LimitsKey, PlanSetKey, Scenario};
use ipuc_queries::lower::ir::{BufferRef, Step};
use ipuc_queries::stages;
use ipuc_queries::trace::Clock;
use proptest::prelude::*;

type Row = (TileId, Arc<[u32]>);

/// Source tile, address, words, and the destinations with their addresses.
type Asked = (TileId, u32, u32, Vec<(TileId, u32)>);

/// Violations that the validator finds in rows; the horizon that it derives.
fn validated(rows: &[Row], row_address: u32, asked: &[Asked]) -> (Vec<String>, u32) {
    let tiles: Vec<TileInput> = rows
        .iter()
        .map(|(tile, words)| TileInput { tile: *tile, row_address, words, registers: EntryRegisters::default() })
        .collect();
    let expected: Vec<Expected> = asked
        .iter()
        .map(|(source, source_address, words, destinations)| Expected {
            source: *source,
            source_address: *source_address,
            words: *words,
            destinations,
        })
        .collect();
    let validation = validate(&PhaseInput::new(&tiles, &expected));
    let violations = validation.violations.iter().take(5).map(|v| format!("tile {}: {}", v.tile, v.message)).collect();
    (violations, validation.horizon)
}

fn rows(problem: &AbsoluteProblem, schedule: &Schedule) -> Vec<Row> {
    let rows = build_rows(&problem.messages(schedule)).expect("the schedule keeps the port rules");
    rows.into_iter()
        .map(|(tile, row)| (tile, Arc::from(encode_row(&row).expect("the schedule keeps the control rules"))))
        .collect()
}

/// Schedules a problem and has everything checked; the schedule.
fn checked(problem: &AbsoluteProblem, effort: Effort) -> Schedule {
    let report = schedule_absolute(problem, effort).expect("a legal problem");
    assert!(report.valid);
    let asked: Vec<_> = problem
        .transfers
        .iter()
        .map(|t| {
            let destinations = t.destinations.iter().map(|&(d, a)| (TileId(d as u16), a)).collect();
            (TileId(t.source as u16), t.source_address, t.words, destinations)
        })
        .collect();
    // The rows lie in an element that no problem of these tests touches.
    let (violations, horizon) = validated(&rows(problem, &report.schedule), 0x5c000, &asked);
    assert_eq!(violations, [""; 0]);
    assert_eq!(horizon, report.schedule.horizon);
    report.schedule
}

fn transfer(source: u32, source_address: u32, words: u32, destinations: &[(u32, u32)]) -> AbsoluteTransfer {
    AbsoluteTransfer { source, source_address, words, destinations: destinations.to_vec() }
}

/// The phase of `exchange.md` 4.3.
#[test]
fn the_worked_phase_is_no_longer_than_by_hand() {
    let transfers = vec![
        transfer(0, 0x65000, 100, &[(2, 0x60000)]),
        transfer(4, 0x65000, 60, &[(2, 0x60190)]),
        transfer(2, 0x68000, 150, &[(6, 0x60000), (7, 0x60000)]),
        transfer(0, 0x66000, 40, &[(2, 0x61000)]),
    ];
    let schedule = checked(&AbsoluteProblem { tiles: 8, transfers }, Effort::NORMAL);
    assert!(schedule.horizon <= 260, "{}", schedule.horizon);
}

/// Phases of another compiler's builds, with the horizons of its own scheduler.
#[test]
fn recorded_phases_are_shorter_than_recorded() {
    let sum: u32 = ["mlp-64-phase0", "mlp-64-phase1", "mlp-64-phase2"].map(recorded).into_iter().sum();
    assert!(sum < 6_909, "{sum}");
    assert!(recorded("attention-1472-phase0") <= 2_666);
}

fn recorded(name: &str) -> u32 {
    let path = format!("{}/tests/exchange/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let problem = AbsoluteProblem::parse(&std::fs::read_to_string(path).expect("a fixture")).expect("a problem");
    checked(&problem, Effort::NORMAL).horizon
}

prop_compose! {
    /// A problem on `tiles` tiles: each receiver has a write cursor, each sender reads anywhere in its own area.
    fn problems()(
        tiles in 2u32..40,
        specs in proptest::collection::vec((any::<u32>(), 1u32..300, 1usize..5, any::<u32>(), any::<bool>()), 1..60),
    ) -> AbsoluteProblem {
        let mut cursor = vec![0u32; tiles as usize];
        let transfers = specs
            .into_iter()
            .map(|(source, words, fan, seed, skip)| {
                let source = source % tiles;
                let mut destinations: Vec<u32> =
                    (0..fan as u32).map(|i| (source + 1 + (seed.wrapping_add(i * 7)) % (tiles - 1)) % tiles).collect();
                destinations.sort_unstable();
                destinations.dedup();
                let destinations = destinations
                    .into_iter()
                    .map(|d| {
                        let at = &mut cursor[d as usize];
                        *at += if skip { 64 } else { 0 };
                        let address = 0x80000 + *at;
                        *at += 4 * words;
                        (d, address)
                    })
                    .collect();
                // Two source areas; neither shares a bank with what the tile receives at 0x80000 and up.
                let base = if seed % 2 == 0 { 0x60000 } else { 0xa0000 };
                AbsoluteTransfer { source, source_address: base + seed % 1000 * 4, words, destinations }
            })
            .collect();
        AbsoluteProblem { tiles, transfers }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn random_phases_are_legal(problem in problems()) {
        checked(&problem, Effort::FAST);
    }
}

struct Frozen;
impl Clock for Frozen {
    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

/// The rows that go into packages, against what the lowered program asks for.
#[test]
fn rows_of_the_examples_deliver_what_was_asked_for() {
    for name in ["gemm-64", "gemm-odd", "gemm-chain"] {
        let path = format!("{}/../examples/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("an example");
        let mut db = Compiler::new(Arc::new(Frozen));
        let source = db.set_source(name, &text);
        let scenario = Scenario::new(&db, source, Vec::new());
        let limits = LimitsKey::new(&db, stages::limits(&db, scenario).clone());
        let set = PlanSetKey::new(&db, stages::choice(&db, scenario, limits).clone());
        let room = stages::reservation(&db, set);
        let (program, placed) = (stages::program(&db, set), stages::placement(&db, set, room));
        for phase in &stages::rows(&db, set, room).phases {
            let (operator, Step::Exchange(problem)) = program.step(phase.position as usize) else {
                panic!("{name}: rows of a compute step")
            };
            let address = |b: BufferRef| placed.addresses[program.resolve(operator, b) as usize];
            let asked: Vec<_> = problem
                .transfers
                .iter()
                .map(|t| {
                    let destinations =
                        t.destinations.iter().map(|d| (d.tile, address(d.at.buffer) + d.at.offset)).collect();
                    (t.source, address(t.at.buffer) + t.at.offset, t.words, destinations)
                })
                .collect();
            let (violations, horizon) = validated(&phase.rows, placed.table + phase.slot, &asked);
            assert_eq!(violations, [""; 0], "{name}");
            assert_eq!(horizon, phase.horizon, "{name}");
        }
    }
}
