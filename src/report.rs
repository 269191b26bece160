//! The report file: figures of a build and of a run, as the interface contract names them.
//!
//! Plain data in, JSON out; nothing is computed here that a stage did not say.

use ipuc_device::host::RunReport;
use ipuc_device::package::{Manifest, OperatorRecord, PhaseRecord, Totals};
use serde::Serialize;

use crate::verdict::{Verdict, word};

/// Wall time of one stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stage {
    /// Its name, as in the `package build phase finished` event.
    pub name: String,
    /// Milliseconds.
    pub elapsed_ms: u64,
}

/// Totals of a build: what the package knows, and what only the building process knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BuildTotals {
    /// From reading the model to the package on disk, in milliseconds; absent if nothing was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_ms: Option<u64>,
    /// Figures of the program.
    #[serde(flatten)]
    pub program: Totals,
    /// Queries executed; absent if nothing was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries_executed: Option<u64>,
    /// Queries reused; absent if nothing was built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries_reused: Option<u64>,
}

/// Figures of a run and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// What the device measured; absent after a fault.
    #[serde(flatten)]
    pub measured: Option<RunReport>,
    /// Largest difference from the reference; null where nothing was compared or an element is NaN.
    pub max_abs_error: Option<f64>,
    /// Cosine between outputs and reference; null likewise.
    pub cosine: Option<f64>,
    /// "PASS", "FAIL", or "SKIPPED" with `--no-check`.
    pub numerical_test: String,
    /// "PASS" or "FAIL".
    pub device_test: String,
}

impl Run {
    /// A run that ended; `verdict` is absent if nothing was compared.
    pub fn finished(measured: RunReport, verdict: Option<&Verdict>) -> Self {
        let finite = |value: f64| value.is_finite().then_some(value);
        Self {
            measured: Some(measured),
            max_abs_error: verdict.and_then(|verdict| finite(verdict.max_abs_error)),
            cosine: verdict.and_then(|verdict| finite(verdict.cosine)),
            numerical_test: verdict.map_or("SKIPPED", |verdict| word(verdict.passed())).into(),
            device_test: word(true).into(),
        }
    }

    /// A run that did not end well: there are no numbers to be right.
    pub fn faulted() -> Self {
        Self {
            measured: None,
            max_abs_error: None,
            cosine: None,
            numerical_test: word(false).into(),
            device_test: word(false).into(),
        }
    }
}

/// The whole report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Stages in the order in which they ran.
    pub stages: Vec<Stage>,
    /// Exchange phases in execution order.
    pub phases: Vec<PhaseRecord>,
    /// Totals.
    pub totals: BuildTotals,
    /// Operators in execution order.
    pub operators: Vec<OperatorRecord>,
    /// The run; absent if nothing ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
}

impl Report {
    /// What a package says about itself.
    pub fn of_package(manifest: &Manifest) -> Self {
        Self {
            phases: manifest.phases.clone(),
            operators: manifest.operators.clone(),
            totals: BuildTotals { program: manifest.totals.clone(), ..BuildTotals::default() },
            ..Self::default()
        }
    }

    /// The file's content.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report is plain data");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_bear_the_names_of_the_contract() {
        let manifest = Manifest {
            phases: vec![PhaseRecord { kind: "ordinary".into(), ..PhaseRecord::default() }],
            operators: vec![OperatorRecord::default()],
            ..Manifest::default()
        };
        let mut report = Report::of_package(&manifest);
        report.stages.push(Stage { name: "lower".into(), elapsed_ms: 3 });
        report.totals.build_ms = Some(9);
        (report.totals.queries_executed, report.totals.queries_reused) = (Some(1), Some(2));
        report.run = Some(Run::finished(RunReport::default(), None));
        let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
        let keys = |value: &serde_json::Value| {
            let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys.join(" ")
        };
        assert_eq!(keys(&json), "operators phases run stages totals");
        assert_eq!(keys(&json["stages"][0]), "elapsed_ms name");
        assert_eq!(
            keys(&json["phases"][0]),
            "endpoint_lower_bound executions fill_drain_lower_bound horizon kind max_row_words operation phase pieces \
             reused transfers words words_received"
        );
        assert_eq!(
            keys(&json["totals"]),
            "build_ms estimated_cycles estimated_exchange_cycles exchange_table_bytes peak_interleaved_bytes \
             peak_standard_bytes queries_executed queries_reused tile_memory_bytes"
        );
        assert_eq!(keys(&json["operators"][0]), "cycles exchange_cycles exchange_table_bytes name op plan tile_bytes");
        assert_eq!(
            keys(&json["run"]),
            "amp_macs amp_peak_cycles compute_cycles cosine device_test exchange_cycles instructions max_abs_error \
             numerical_test simulated_cycles wall_ms"
        );
        assert_eq!(json["run"]["numerical_test"], "SKIPPED");
    }
}
