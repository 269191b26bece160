//! The simulator as a device.

use std::sync::Arc;

use half::f16;

use super::{Device, DeviceError, DeviceOptions, Loader, RunReport};
use crate::package::Package;

/// The instruction-level simulator behind the [`Device`] trait.
#[derive(Debug)]
pub struct SimDevice {
    options: DeviceOptions,
    loader: Option<Loader>,
}

impl SimDevice {
    /// A chip without a program.
    pub fn new(options: DeviceOptions) -> Self {
        Self { options, loader: None }
    }
}

impl Device for SimDevice {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn load(&mut self, package: Arc<Package>) -> Result<(), DeviceError> {
        tracing::info!(tile_count = package.tiles.len(), "loading application");
        self.loader = Some(Loader::new(package)?);
        Ok(())
    }

    fn write(&mut self, name: &str, values: &[f16]) -> Result<(), DeviceError> {
        self.loader.as_mut().ok_or(DeviceError::NotLoaded)?.write(name, values)
    }

    fn run(&mut self) -> Result<RunReport, DeviceError> {
        let loader = self.loader.as_ref().ok_or(DeviceError::NotLoaded)?;
        let _ = (loader.contents()?, &self.options);
        Err(DeviceError::Unsupported { name: "sim".into(), reason: "the simulator is not available yet".into() })
    }

    fn read(&self, _name: &str) -> Result<Vec<f16>, DeviceError> {
        Err(DeviceError::NotRun)
    }
}
