//! `build` and `check`.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use ipuc_device::package::Package;
use ipuc_queries::exchange::absolute::AbsoluteProblem;
use serde_json::json;

use super::arguments::{Build, Check, Common};
use super::console::Console;
use super::exit::{Exit, Refused};
use super::paths;
use super::progress::Progress;
use crate::compile::{self, Failure, Request};
use crate::report::Report;

/// `ipuc build`.
pub(super) fn build(console: &Console, common: &Common, arguments: &Build) -> anyhow::Result<Exit> {
    let output = arguments.output.clone().unwrap_or_else(|| paths::beside(Path::new(""), &arguments.model, "ipuexe"));
    let extras = Extras { dump: arguments.dump.as_deref(), exchange: arguments.export_exchange.as_deref() };
    let built = to_file(console, common, &arguments.model, &output, extras)?;
    let report = match &built {
        Ok(report) | Err(report) => report,
    };
    if let Some(path) = &arguments.report {
        write_report(path, report)?;
    }
    let package = built.is_ok().then(|| output.display().to_string());
    console.object("build-finished", json!({ "success": built.is_ok(), "package": package, "report": report }))?;
    if built.is_err() {
        return Ok(Exit::Failure);
    }
    console.line(&format!("package={}", output.display()))?;
    Ok(Exit::Success)
}

/// Folders for what a build gives besides its package.
#[derive(Clone, Copy, Default)]
pub(super) struct Extras<'a> {
    /// For the stages as text.
    dump: Option<&'a Path>,
    /// For the exchange phases as problems.
    exchange: Option<&'a Path>,
}

impl Extras<'_> {
    fn write(self, dump: &[(String, String)], phases: &[AbsoluteProblem]) -> anyhow::Result<()> {
        if let Some(folder) = self.dump {
            for (name, text) in dump {
                paths::write_text(&folder.join(name), text)?;
            }
        }
        if let Some(folder) = self.exchange {
            for (number, phase) in phases.iter().enumerate() {
                let text = serde_json::to_string(phase).context("an exchange phase")?;
                paths::write_text(&folder.join(format!("phase-{number}.json")), &text)?;
            }
        }
        Ok(())
    }
}

/// Compiles a model to a package on disk and prints its diagnostics. The report of a model that has none is the error.
pub(super) fn to_file(
    console: &Console,
    common: &Common,
    model: &Path,
    output: &Path,
    extras: Extras,
) -> anyhow::Result<Result<Report, Report>> {
    let started = Instant::now();
    let text = read_model(model)?;
    if paths::same_file(model, output) {
        return Err(Refused(format!("{}: the package would replace its model", output.display())).into());
    }
    let progress = Progress::start(console, "compiling");
    let request = Request {
        dump: extras.dump.is_some(),
        exchange: extras.exchange.is_some(),
        ..request(console, common, model, &text)
    };
    let built = compile::build(&request);
    drop(progress);
    match built {
        Ok(compiled) => {
            for warning in &compiled.warnings {
                console.diagnostic(warning)?;
            }
            extras.write(&compiled.dump, &compiled.exchange)?;
            let mut report = compiled.report;
            write_package(compiled.package, model, output)?;
            report.totals.build_ms = Some(started.elapsed().as_millis() as u64);
            Ok(Ok(report))
        }
        Err(Failure { diagnostics, report, dump }) => {
            extras.write(&dump, &[])?;
            for diagnostic in &diagnostics {
                console.diagnostic(diagnostic)?;
            }
            let mut report = *report;
            report.totals.build_ms = Some(started.elapsed().as_millis() as u64);
            // A package of an earlier build must not pass for one of this model; any other file stays.
            if paths::is_package(output).unwrap_or(false) {
                std::fs::remove_file(output).with_context(|| format!("cannot remove {}", output.display()))?;
            }
            Ok(Err(report))
        }
    }
}

fn write_package(mut package: Package, model: &Path, output: &Path) -> anyhow::Result<()> {
    paths::rebase(&mut package, paths::directory(model), paths::directory(output))?;
    tracing::info!(tiles = package.tiles.len(), "writing application package");
    package.write(output)?;
    tracing::info!("application package written");
    Ok(())
}

/// `ipuc check`.
pub(super) fn check(console: &Console, common: &Common, arguments: &Check) -> anyhow::Result<Exit> {
    let text = read_model(&arguments.model)?;
    let diagnostics = compile::check(&request(console, common, &arguments.model, &text));
    let mut exit = Exit::Success;
    for diagnostic in &diagnostics {
        console.diagnostic(diagnostic)?;
        if diagnostic.json["level"] == "error" {
            exit = Exit::Failure;
        }
    }
    console.object("check-finished", json!({ "success": exit == Exit::Success }))?;
    Ok(exit)
}

fn request<'a>(console: &Console, common: &'a Common, path: &'a Path, text: &'a str) -> Request<'a> {
    Request { path, text, target: &common.target, color: console.color(), dump: false, exchange: false }
}

fn read_model(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    String::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Refused(format!("{}:{line}:{column}: a byte that is no UTF-8 text", path.display())).into()
    })
}

/// Writes a report file.
pub(super) fn write_report(path: &Path, report: &Report) -> anyhow::Result<()> {
    paths::write_text(path, &report.to_json())
}
