//! `build` and `check`.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use ipuc_device::package::Package;
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
    if arguments.export_exchange.is_some() {
        return Err(Refused("--export-exchange is not available yet".into()).into());
    }
    let output = arguments.output.clone().unwrap_or_else(|| paths::beside(Path::new(""), &arguments.model, "ipuexe"));
    let built = to_file(console, common, &arguments.model, &output)?;
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

/// Compiles a model to a package on disk and prints its diagnostics. The report of a model that has none is the error.
pub(super) fn to_file(
    console: &Console,
    common: &Common,
    model: &Path,
    output: &Path,
) -> anyhow::Result<Result<Report, Report>> {
    let started = Instant::now();
    let text = read_model(model)?;
    let progress = Progress::start(console, "compiling");
    let built = compile::build(&request(console, common, model, &text));
    drop(progress);
    match built {
        Ok(compiled) => {
            for warning in &compiled.warnings {
                console.diagnostic(warning)?;
            }
            let mut report = compiled.report;
            write_package(compiled.package, model, output)?;
            report.totals.build_ms = Some(started.elapsed().as_millis() as u64);
            Ok(Ok(report))
        }
        Err(Failure { diagnostics, report }) => {
            for diagnostic in &diagnostics {
                console.diagnostic(diagnostic)?;
            }
            let mut report = *report;
            report.totals.build_ms = Some(started.elapsed().as_millis() as u64);
            // A package of an earlier build must not pass for one of this model.
            match std::fs::remove_file(output) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("cannot remove {}", output.display()))
                }
                _ => Ok(Err(report)),
            }
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
    Request { path, text, target: &common.target, color: console.color() }
}

fn read_model(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a report file.
pub(super) fn write_report(path: &Path, report: &Report) -> anyhow::Result<()> {
    std::fs::write(path, report.to_json()).with_context(|| format!("cannot write {}", path.display()))
}
