//! `run`: build if it must be, load, execute, compare.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context, bail};
use half::f16;
use ipuc_device::host::{self, DeviceError, DeviceOptions, RunReport};
use ipuc_device::memory::TileId;
use ipuc_device::package::{MAGIC, Package};
use ipuc_device::sim::{TraceLine, TraceSink};
use serde_json::json;

use super::arguments::{Common, Run as Arguments};
use super::console::Console;
use super::exit::{Exit, Refused};
use super::progress::Progress;
use super::{build, paths};
use crate::reference;
use crate::report::{Report, Run};
use crate::tensors::{self, HostTensor};
use crate::verdict::{Verdict, word};

/// `ipuc run`.
pub(super) fn run(console: &Console, common: &Common, arguments: &Arguments) -> anyhow::Result<Exit> {
    if arguments.profile.is_some() {
        return Err(Refused("--profile is not available yet".into()).into());
    }
    // A device that does not exist is no reason to compile first.
    let trace = arguments.trace.map(|tile| (TileId(tile), trace_sink()));
    let options = DeviceOptions { trace, ..DeviceOptions::default() };
    let mut device = host::open(&arguments.device, &options)?;
    let given = given_inputs(&arguments.input)?;
    let (path, built) = match program(console, common, &arguments.program)? {
        Ok(program) => program,
        Err(report) => {
            if let Some(path) = &arguments.report {
                build::write_report(path, &report)?;
            }
            console.object("run-finished", json!({ "success": false, "package": null, "report": report }))?;
            return Ok(Exit::Failure);
        }
    };
    tracing::info!("reading application package");
    let package = Arc::new(Package::read(&path).with_context(|| path.display().to_string())?);
    tracing::info!(
        tiles = package.tiles.len(),
        compiler = package.manifest.compiler.as_str(),
        "application package read"
    );
    let mut report = built.unwrap_or_else(|| Report::of_package(&package.manifest));

    let graph = &package.manifest.graph;
    let data = tensors::load(graph, paths::directory(&path), &given)?;
    device.load(package.clone())?;
    // A tensor that no operation uses lies nowhere.
    for (name, tensor) in data.iter().filter(|(name, _)| package.bindings(name).next().is_some()) {
        let HostTensor::F16 { elements, .. } = tensor else {
            bail!("tensor {name}: {} tensors are not supported yet", tensor.dtype());
        };
        device.write(name, elements)?;
    }
    let progress = Progress::start(console, "running");
    let ran = device.run();
    drop(progress);
    let outcome = match ran {
        Ok(measured) => {
            let outputs: BTreeMap<&str, Vec<f16>> = graph
                .outputs
                .iter()
                .map(|name| Ok((name.as_str(), device.read(name)?)))
                .collect::<Result<_, DeviceError>>()?;
            if let Some(directory) = &arguments.output {
                write_outputs(directory, &package, &outputs)?;
            }
            let verdict = if arguments.no_check {
                None
            } else {
                let progress = Progress::start(console, "computing the reference");
                let expected = reference::evaluate(graph, &data)?;
                drop(progress);
                Some(Verdict::new(outputs.iter().map(|(&name, found)| (name, &found[..], &expected[name]))))
            };
            Outcome { measured: Some(measured), verdict }
        }
        Err(fault @ DeviceError::Fault(_)) => {
            console.error(&fault.into())?;
            Outcome { measured: None, verdict: None }
        }
        Err(error) => return Err(error.into()),
    };
    report.run = Some(outcome.record());
    if let Some(path) = &arguments.report {
        build::write_report(path, &report)?;
    }
    outcome.print(console, &path, &package, device.name(), &report)?;
    Ok(if outcome.passed() { Exit::Success } else { Exit::Failure })
}

/// Trace lines on stderr, one an instruction.
fn trace_sink() -> TraceSink {
    Arc::new(Mutex::new(|line: TraceLine| {
        let TraceLine { clock, context, address, text } = line;
        Console::note(&format!("{clock:>10} {context:<10} {address:#07x} {text}"));
    }))
}

/// What came of a run: no figures after a fault, no verdict if nothing was compared.
struct Outcome {
    measured: Option<RunReport>,
    verdict: Option<Verdict>,
}

impl Outcome {
    fn passed(&self) -> bool {
        self.measured.is_some() && self.verdict.as_ref().is_none_or(Verdict::passed)
    }

    fn record(&self) -> Run {
        match &self.measured {
            Some(measured) => Run::finished(measured.clone(), self.verdict.as_ref()),
            None => Run::faulted(),
        }
    }

    fn print(
        &self,
        console: &Console,
        path: &Path,
        package: &Package,
        device: &str,
        report: &Report,
    ) -> anyhow::Result<()> {
        let (path, tiles) = (path.display().to_string(), package.tiles.len());
        if let Some(verdict) = &self.verdict
            && let Some(miss) = &verdict.worst
        {
            Console::note(&format!("{} of {} elements are wrong: {miss}", verdict.misses, verdict.elements));
        }
        if let Some(measured) = &self.measured {
            console.line(&format!(
                "simulated_cycles={} exchange_cycles={} compute_cycles={} amp_peak_cycles={} wall_ms={}",
                measured.simulated_cycles,
                measured.exchange_cycles,
                measured.compute_cycles,
                measured.amp_peak_cycles,
                measured.wall_ms
            ))?;
        }
        let record = self.record();
        let error = self.verdict.as_ref().map_or(f64::NAN, |verdict| verdict.max_abs_error);
        console.line(&format!("referenceMaximumAbsoluteError={error:.6} numericalTest={}", record.numerical_test))?;
        let test = word(self.measured.is_some());
        console.line(&format!("package={path} tiles={tiles} deviceTest={test} device={device}"))?;
        let object = json!({ "success": self.passed(), "package": path, "tiles": tiles, "device": device,
            "report": report });
        console.object("run-finished", object)?;
        Ok(())
    }
}

/// The package to run and, if it was built just now, the report so far; the report alone if the model has none.
type Program = Result<(PathBuf, Option<Report>), Report>;

fn program(console: &Console, common: &Common, path: &Path) -> anyhow::Result<Program> {
    if is_package(path)? {
        return Ok(Ok((path.to_owned(), None)));
    }
    let directory = Path::new(".ipuc");
    std::fs::create_dir_all(directory).context("cannot create the directory .ipuc")?;
    let output = paths::beside(directory, path, "ipuexe");
    let built = build::to_file(console, common, path, &output, build::Extras::default())?;
    Ok(built.map(|report| (output, Some(report))))
}

/// A package by its first bytes or its name: a damaged one must be called damaged, not a bad model.
pub(super) fn is_package(path: &Path) -> anyhow::Result<bool> {
    let cannot_read = || format!("cannot read {}", path.display());
    let file = std::fs::File::open(path).with_context(cannot_read)?;
    let mut start = Vec::new();
    file.take(MAGIC.len() as u64).read_to_end(&mut start).with_context(cannot_read)?;
    Ok(start == MAGIC || path.extension().is_some_and(|extension| extension == "ipuexe"))
}

fn given_inputs(pairs: &[(String, String)]) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let mut given = BTreeMap::new();
    for (name, path) in pairs {
        if given.insert(name.clone(), PathBuf::from(path)).is_some() {
            return Err(Refused(format!("--input {name} is given twice")).into());
        }
    }
    Ok(given)
}

fn write_outputs(directory: &Path, package: &Package, outputs: &BTreeMap<&str, Vec<f16>>) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    for (&name, elements) in outputs {
        let operation = package.manifest.graph.operation(name).context("an output is an operation")?;
        let tensor = HostTensor::F16 { shape: operation.shape.clone(), elements: elements.clone() };
        tensors::write_npy(&directory.join(format!("{name}.npy")), &tensor)?;
    }
    Ok(())
}
