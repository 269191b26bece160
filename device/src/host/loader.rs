//! What the loader puts on each tile before the start: the program, then tensor data in device order.

use std::collections::BTreeMap;
use std::sync::Arc;

use half::f16;

use super::DeviceError;
use crate::memory::TileId;
use crate::package::{Package, Role, Write};

/// A package and the tensors given for it so far.
#[derive(Debug)]
pub struct Loader {
    package: Arc<Package>,
    writes: BTreeMap<String, Vec<Write>>,
}

impl Loader {
    /// A package without data.
    pub fn new(package: Arc<Package>) -> Result<Self, DeviceError> {
        package.verify()?;
        Ok(Self { package, writes: BTreeMap::new() })
    }

    /// The package.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// Gives a row-major input or weight, once more if it was given before.
    pub fn write(&mut self, name: &str, values: &[f16]) -> Result<(), DeviceError> {
        let mut writes = Vec::new();
        for binding in self.package.bindings(name).filter(|binding| binding.role != Role::Output) {
            writes.extend(binding.scatter(values)?);
        }
        if writes.is_empty() {
            return Err(DeviceError::NoTensor { name: name.into(), role: "input or weight" });
        }
        self.writes.insert(name.into(), writes);
        Ok(())
    }

    /// All (address, bytes) of every tile by ascending address; refused while an input or weight is missing.
    pub fn contents(&self) -> Result<Vec<Vec<(u32, &[u8])>>, DeviceError> {
        let given = self.package.manifest.bindings.iter().filter(|binding| binding.role != Role::Output);
        for binding in given {
            if !self.writes.contains_key(&binding.name) {
                return Err(DeviceError::NotWritten(binding.name.clone()));
            }
        }
        let mut tiles: Vec<Vec<(u32, &[u8])>> = self
            .package
            .tiles
            .iter()
            .map(|image| image.segments.iter().map(|segment| (segment.address, &*segment.bytes)).collect())
            .collect();
        for write in self.writes.values().flatten() {
            tiles[write.tile.index()].push((write.address, &write.bytes));
        }
        for tile in &mut tiles {
            tile.sort_unstable_by_key(|&(address, _)| address);
        }
        Ok(tiles)
    }

    /// Gathers a row-major output; `read` fills a buffer from a tile's memory.
    pub fn read(
        &self,
        name: &str,
        read: impl FnMut(TileId, u32, &mut [u8]) -> Result<(), DeviceError>,
    ) -> Result<Vec<f16>, DeviceError> {
        let binding = self.package.bindings(name).find(|binding| binding.role == Role::Output);
        let missing = || DeviceError::NoTensor { name: name.into(), role: "output" };
        binding.ok_or_else(missing)?.gather(read)
    }
}
