//! The simulator as a device.

use std::sync::Arc;
use std::time::Instant;

use half::f16;

use super::{Device, DeviceError, DeviceOptions, Loader, RunReport};
use crate::memory::{COMPLETION, LOAD_BASE, TILES, TileId};
use crate::package::{Manifest, Package, PackageError};
use crate::sim::{self, Machine, MachineConfig, Region};

/// F16 multiply-adds that one tile's AMP can do in a cycle (`planning.md` 5.1).
const F16_MACS_PER_CYCLE: u64 = 64;

/// A run is stopped after so many times the cycles that the compiler expects, and so many more: a program that does not end
/// must not spin for minutes.
const CYCLE_LIMIT: (u64, u64) = (8, 1_000_000);

/// The instruction-level simulator behind the [`Device`] trait.
pub struct SimDevice {
    options: DeviceOptions,
    loader: Option<Loader>,
    /// The chip after its last run that ended well.
    finished: Option<Machine>,
}

impl SimDevice {
    /// A chip without a program.
    pub fn new(options: DeviceOptions) -> Self {
        Self { options, loader: None, finished: None }
    }

    fn config(&self, manifest: &Manifest) -> MachineConfig {
        let region = |r: &crate::package::DebugRegion| Region { name: r.name.clone(), start: r.start, end: r.end };
        let mut config = MachineConfig {
            flags: manifest.amp_flags.clone(),
            trace: self.options.trace.clone(),
            regions: manifest.debug_regions.iter().map(region).collect(),
            symbols: manifest.symbols.iter().map(|symbol| (symbol.name.clone(), symbol.address)).collect(),
            ..MachineConfig::default()
        };
        config.threads = self.options.threads;
        // A program made by hand expects nothing: the machine's own limit holds.
        let expected = manifest.totals.estimated_cycles;
        let derived = (expected > 0).then(|| expected.saturating_mul(CYCLE_LIMIT.0).saturating_add(CYCLE_LIMIT.1));
        if let Some(limit) = self.options.cycle_limit.or(derived) {
            config.cycle_limit = limit;
        }
        config
    }
}

impl Device for SimDevice {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn load(&mut self, package: Arc<Package>) -> Result<(), DeviceError> {
        tracing::info!(tile_count = package.tiles.len(), "loading application");
        (self.loader, self.finished) = (None, None);
        if package.manifest.entry != LOAD_BASE {
            let entry = package.manifest.entry;
            let text = format!("entry {entry:#x}; the loader starts every tile at {LOAD_BASE:#x}");
            return Err(PackageError::Invalid(text).into());
        }
        self.loader = Some(Loader::new(package)?);
        Ok(())
    }

    fn write(&mut self, name: &str, values: &[f16]) -> Result<(), DeviceError> {
        self.loader.as_mut().ok_or(DeviceError::NotLoaded)?.write(name, values)
    }

    fn run(&mut self) -> Result<RunReport, DeviceError> {
        // Frees the memory of the chip before the next one is made.
        self.finished = None;
        let loader = self.loader.as_ref().ok_or(DeviceError::NotLoaded)?;
        let mut machine = Machine::new(self.config(&loader.package().manifest));
        for (tile, contents) in loader.contents()?.into_iter().enumerate() {
            for (address, bytes) in contents {
                machine.load(TileId(tile as u16), address, bytes);
            }
        }
        tracing::info!(tile_count = TILES, "application loaded");
        let started = Instant::now();
        let measured = machine.run().map_err(|fault| DeviceError::Fault(described(&fault)))?;
        let wall_ms = started.elapsed().as_millis() as u64;
        completed(&machine)?;
        let report = report(&measured, wall_ms)?;
        self.finished = Some(machine);
        Ok(report)
    }

    fn read(&self, name: &str) -> Result<Vec<f16>, DeviceError> {
        let loader = self.loader.as_ref().ok_or(DeviceError::NotLoaded)?;
        let machine = self.finished.as_ref().ok_or(DeviceError::NotRun)?;
        loader.read(name, |tile, address, bytes| {
            let stored = machine.read(tile, address, bytes.len() as u32);
            let missing = || DeviceError::Fault(format!("tile {tile} has no memory at {address:#x}"));
            bytes.copy_from_slice(stored.ok_or_else(missing)?);
            Ok(())
        })
    }
}

/// The completion word of every tile is 1; that every supervisor stands at its end, the machine has seen to.
fn completed(machine: &Machine) -> Result<(), DeviceError> {
    for tile in 0..TILES as u16 {
        let word = machine.read(TileId(tile), COMPLETION, 4);
        if word != Some(&1u32.to_le_bytes()[..]) {
            let text = format!("tile {tile} ended without a completion word: {word:?} at {COMPLETION:#x}");
            return Err(DeviceError::Fault(text));
        }
    }
    Ok(())
}

fn report(measured: &sim::RunReport, wall_ms: u64) -> Result<RunReport, DeviceError> {
    let missing = || DeviceError::Fault("no tile ran a generated program up to its completion".into());
    let simulated_cycles = measured.simulated_cycles().ok_or_else(missing)?;
    let exchange_cycles = measured.exchange_cycles();
    Ok(RunReport {
        simulated_cycles,
        exchange_cycles,
        compute_cycles: simulated_cycles.saturating_sub(exchange_cycles),
        amp_macs: measured.amp_macs_f16,
        amp_peak_cycles: measured.amp_macs_f16.div_ceil(u64::from(TILES) * F16_MACS_PER_CYCLE),
        instructions: measured.instructions,
        wall_ms,
    })
}

/// The fault in words, without its code: that is told apart.
fn described(fault: &sim::Fault) -> String {
    let text = fault.to_string();
    text.strip_prefix(&format!("{}: ", fault.code)).map_or(text.clone(), str::to_owned)
}
