//! The chip as the host sees it: load a package, write tensors, run, read tensors.
//!
//! In: a [`Package`] and row-major tensors. Out: row-major tensors and what the run cost.
//!
//! Properties:
//! 1. Inputs and weights are written by the loader before the start, each through its binding and nothing else; a run with
//!    one of them missing is refused. Outputs are read after completion.
//! 2. A run has ended when the completion word of every tile is 1 and every supervisor stands at its end; otherwise it is
//!    a fault.
//! 3. Every run starts from the loaded image: two runs with equal inputs are equal.

mod loader;
mod sim;

use std::sync::Arc;

use half::f16;

use crate::memory::TileId;
use crate::package::{Package, PackageError, StorageError};
use crate::sim::TraceSink;

pub use loader::{Content, Loader};
pub use sim::SimDevice;

/// What one run did and cost; fields as the report contract defines them.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct RunReport {
    /// Slowest tile: from the first fetch in the generated program to the jump to completion.
    pub simulated_cycles: u64,
    /// Sum over phases: from the last tile's entry into the barrier to the last row end.
    pub exchange_cycles: u64,
    /// The rest of the cycles.
    pub compute_cycles: u64,
    /// Multiply-adds done by the AMP.
    pub amp_macs: u64,
    /// Those, divided by what all tiles can do in a cycle.
    pub amp_peak_cycles: u64,
    /// Instructions executed on all tiles.
    pub instructions: u64,
    /// Wall time of the execution alone, in milliseconds.
    pub wall_ms: u64,
}

/// Why a device did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// No such device, or none that this version knows.
    #[error("device {name}: {reason}")]
    Unsupported {
        /// As the user wrote it.
        name: String,
        /// What is missing.
        reason: String,
    },
    /// Used before a package was loaded.
    #[error("no package is loaded")]
    NotLoaded,
    /// No such tensor in that role.
    #[error("the package has no {role} tensor {name}")]
    NoTensor {
        /// The name.
        name: String,
        /// "input or weight", "output".
        role: &'static str,
    },
    /// A run without data.
    #[error("tensor {0} has not been written")]
    NotWritten(String),
    /// Read before a run has ended.
    #[error("there is no finished run to read from")]
    NotRun,
    /// Bad package.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// Bad binding or data.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The program did something that the chip does not allow, or never ended.
    #[error("{0}")]
    Fault(String),
}

impl DeviceError {
    /// The diagnostic code, where there is one.
    pub fn code(&self) -> Option<&'static str> {
        match self {
            Self::Package(error) => error.code(),
            Self::Fault(_) => Some("E6001"),
            _ => None,
        }
    }
}

/// A chip.
pub trait Device {
    /// The name in reports.
    fn name(&self) -> &'static str;
    /// Takes a program; data and results of an earlier one are forgotten.
    fn load(&mut self, package: Arc<Package>) -> Result<(), DeviceError>;
    /// Gives a row-major input or weight.
    fn write(&mut self, name: &str, values: &[f16]) -> Result<(), DeviceError>;
    /// Runs the program once, to its end.
    fn run(&mut self) -> Result<RunReport, DeviceError>;
    /// Takes a row-major output of the last run.
    fn read(&self, name: &str) -> Result<Vec<f16>, DeviceError>;
}

/// How to open a device.
#[derive(Clone, Default)]
pub struct DeviceOptions {
    /// A tile whose instructions go to a sink.
    pub trace: Option<(TileId, TraceSink)>,
    /// Threads of the simulator; `None` for one a processor.
    pub threads: Option<usize>,
    /// Stop after this many cycles; `None` for the device's own limit.
    pub cycle_limit: Option<u64>,
}

/// Opens a device by its name: `sim`, or the path of a card.
pub fn open(name: &str, options: &DeviceOptions) -> Result<Box<dyn Device>, DeviceError> {
    if name == "sim" {
        return Ok(Box::new(SimDevice::new(options.clone())));
    }
    let reason = if name.starts_with("/dev/ipu") {
        "cards are not supported yet; use the simulator (--device sim)"
    } else {
        "there is no such device; use sim"
    };
    Err(DeviceError::Unsupported { name: name.into(), reason: reason.into() })
}
