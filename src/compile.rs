//! From a model file to a package: the one place where the front asks the compiler.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipuc_device::package::Package;
use ipuc_queries::database::Compiler;
use ipuc_queries::diagnostics::{Level, Problem};
use ipuc_queries::exchange::absolute::AbsoluteProblem;
use ipuc_queries::keys::{LimitsKey, PlanSetKey, Scenario};
use ipuc_queries::model::{Edit, LineIndex};
use ipuc_queries::stages;
use ipuc_queries::trace::Clock;

use crate::render::{self, Source};
use crate::report::{Report, Stage};

/// What to compile, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Path of the model, as the user wrote it; for messages.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
    /// `--target KEY=VALUE`, in the order given: fields of `target` that replace the model's.
    pub target: &'a [(String, String)],
    /// Whether human diagnostics are coloured.
    pub color: bool,
    /// Also give the stages as text.
    pub dump: bool,
    /// Also give the exchange phases as stand-alone problems.
    pub exchange: bool,
}

/// A diagnostic in both of its forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// For people, with source lines.
    pub rendered: String,
    /// For programs: the object of the interface contract.
    pub json: serde_json::Value,
}

/// A model that compiles.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program. Paths of data files in it are as in the model: they start from the model's directory.
    pub package: Package,
    /// Stages, phases, totals and operators; no run.
    pub report: Report,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
    /// The stages as text, if asked for.
    pub dump: Vec<stages::Dump>,
    /// The exchange phases as problems of `ipuc schedule`, if asked for.
    pub exchange: Vec<AbsoluteProblem>,
}

/// Why there is no package: the model has errors or does not fit.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// As far as the stages got.
    pub report: Box<Report>,
    /// The stages as text, if asked for, as far as they got.
    pub dump: Vec<stages::Dump>,
}

/// Time since the clock was made.
#[derive(Debug)]
pub struct WallClock(Instant);

impl Default for WallClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for WallClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Times the stages of one build and tells of each.
#[derive(Default)]
struct Stages(Vec<Stage>);

impl Stages {
    fn run<R>(&mut self, name: &str, stage: impl FnOnce() -> R) -> R {
        let span = tracing::info_span!("package.phase", phase = name);
        let _entered = span.enter();
        let start = Instant::now();
        let result = stage();
        let elapsed_ms = start.elapsed().as_millis() as u64;
        tracing::info!(phase = name, elapsed_ms, success = true, "package build phase finished");
        self.0.push(Stage { name: name.to_owned(), elapsed_ms });
        result
    }
}

/// Compiles a model.
pub fn build(request: &Request<'_>) -> Result<Compiled, Failure> {
    let mut db = Compiler::new(Arc::new(WallClock::default()));
    build_in(&mut db, request)
}

/// Compiles a model in a database that may have compiled before.
pub fn build_in(db: &mut Compiler, request: &Request<'_>) -> Result<Compiled, Failure> {
    let source = db.set_source(&request.path.display().to_string(), request.text);
    let db: &Compiler = db;
    db.build_trace().begin();
    let mut timed = Stages::default();
    let scenario = Scenario::new(db, source, edits(request));
    timed.run("resolve_graph", || stages::graph(db, scenario).problems.len());
    let limits = LimitsKey::new(db, stages::limits(db, scenario).clone());
    let errors = |problems: &[Problem]| problems.iter().any(|p| p.level() == Level::Error);
    let sound = {
        let syntax = stages::ast(db, source).syntax(db);
        !errors(syntax) && !errors(&stages::graph(db, scenario).problems)
    };
    let mut chosen = None;
    if sound {
        let frontier = timed.run("select_finalist", || stages::frontier(db, scenario));
        for (finalist, plan) in frontier.plans.iter().enumerate().take(8) {
            tracing::debug!(
                finalist,
                operations = plan.set.operators.len(),
                estimated_cycles = plan.cycles,
                estimated_exchange_cycles = plan.exchange_cycles,
                exchange_row_bytes = plan.table_bytes,
                peak_total_bytes = plan.memory_bytes,
                "retained operator-plan finalist"
            );
        }
        let set = stages::choice(db, scenario, limits);
        if !set.operators.is_empty() {
            let key = PlanSetKey::new(db, set.clone());
            let (shards, phases) = timed.run("lower_mid", || {
                let program = stages::program(db, key);
                (program.buffers.len(), program.phases().count())
            });
            tracing::info!(logical_shards = shards, exchange_phases = phases, "lowered graph for package construction");
            timed.run("schedule_exchanges", || stages::warm(db, scenario, limits, rayon::current_num_threads()));
            let room = timed.run("place_storage", || stages::reservation(db, key));
            let placed = stages::placement(db, key, room);
            tracing::info!(
                exchange_table_bytes = stages::rows(db, key, room).worst.1,
                code_address = placed.code,
                table_address = placed.table,
                data_address = placed.data,
                "allocated package support memory"
            );
            chosen = Some((key, room));
        }
    }
    let problems = timed.run("check", || stages::problems(db, scenario, limits).clone());
    let diagnostics = render(db, source, request, &problems);
    let dump = if request.dump && sound { stages::dump(db, scenario, limits) } else { Vec::new() };
    if let (Some((key, room)), false) = (chosen, errors(&problems)) {
        let _ = timed.run("emit_tile_code", || stages::classes(db, key, room).is_ok());
        let package = timed.run("build_tile_images", || stages::package(db, scenario, key));
        // Errors of kernels are problems, so a model without problems has its package.
        let package = package.as_ref().expect("problems holds every kernel error").package.as_ref().clone();
        let mut report = Report::of_package(&package.manifest);
        finish(db, &mut report, timed);
        let tiles = package.manifest.tiles_used;
        let exchange = if request.exchange { stages::exchange_problems(db, key, tiles) } else { Vec::new() };
        return Ok(Compiled { package, report, warnings: diagnostics, dump, exchange });
    }
    let mut report = Report::default();
    if let Some((key, _)) = chosen {
        let usage = stages::usage(db, key);
        let names = &stages::graph(db, scenario).names;
        report.phases = stages::named_phases(usage, names);
        report.operators = stages::named_operators(usage, names);
        report.totals.program = usage.totals.clone();
    }
    finish(db, &mut report, timed);
    Err(Failure { diagnostics, report: Box::new(report), dump })
}

fn finish(db: &Compiler, report: &mut Report, timed: Stages) {
    let summary = db.build_trace().summary();
    report.stages = timed.0;
    report.totals.queries_executed = Some(summary.executed.len() as u64);
    report.totals.queries_reused = Some(summary.reused.len() as u64);
}

/// All problems of a model, without a package.
pub fn check(request: &Request<'_>) -> Vec<Diagnostic> {
    let mut db = Compiler::new(Arc::new(WallClock::default()));
    let source = db.set_source(&request.path.display().to_string(), request.text);
    let scenario = Scenario::new(&db, source, edits(request));
    let limits = LimitsKey::new(&db, stages::limits(&db, scenario).clone());
    let problems = stages::problems(&db, scenario, limits).clone();
    render(&db, source, request, &problems)
}

fn edits(request: &Request<'_>) -> Vec<Edit> {
    request.target.iter().map(|(key, value)| Edit::typed(format!("target.{key}"), value)).collect()
}

fn render(
    db: &Compiler,
    source: ipuc_queries::inputs::SourceFile,
    request: &Request<'_>,
    problems: &[Problem],
) -> Vec<Diagnostic> {
    if problems.is_empty() {
        return Vec::new();
    }
    let file = request.path.display().to_string();
    let map = stages::source_map(db, source);
    let lines = LineIndex::new(request.text);
    render::diagnostics(problems, &Source { file: &file, text: request.text, map: &map, lines: &lines }, request.color)
}
