//! What the loader puts on each tile before the start: the program, then tensor data in device order.

use std::collections::BTreeMap;
use std::sync::Arc;

use half::f16;

use super::DeviceError;
use crate::memory::TileId;
use crate::package::{Package, Role, Write};

/// Addresses and bytes of one tile, by ascending address.
pub type Content<'a> = Vec<(u32, &'a [u8])>;

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
    pub fn contents(&self) -> Result<Vec<Content<'_>>, DeviceError> {
        let given = self.package.manifest.bindings.iter().filter(|binding| binding.role != Role::Output);
        for binding in given {
            if !self.writes.contains_key(&binding.name) {
                return Err(DeviceError::NotWritten(binding.name.clone()));
            }
        }
        let mut tiles: Vec<Content> = self
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{DeviceOptions, open};
    use crate::memory::LOAD_BASE;
    use crate::package::{
        Binding, Data, Dtype, Graph, ImageSegment, Manifest, Operation, OperationKind, Order, Span, Tensor, TileImage,
    };

    /// `y [2, 16] = x [2, 16] w [16, 16]`, `x` split over tiles 1 and 2, `w` on both, `y` on tile 2.
    fn package() -> Arc<Package> {
        let tensor = |name: &str, rows| Tensor {
            name: name.into(),
            shape: vec![rows, 16],
            dtype: Dtype::F16,
            data: Data::Unstated,
        };
        let binding = |name: &str, role, order, rows: u32, spans: &[(u16, u32, u32, u32)]| Binding {
            name: name.into(),
            role,
            shape: vec![u64::from(rows), 16],
            dtype: Dtype::F16,
            order,
            rows,
            columns: 16,
            spans: spans.iter().map(|&span| Span::from(span)).collect(),
        };
        let manifest = Manifest {
            name: "m".into(),
            tiles_used: 3,
            entry: LOAD_BASE,
            bindings: vec![
                binding("x", Role::Input, Order::Left, 2, &[(2, 0x60000, 0, 1), (1, 0x60000, 1, 1)]),
                binding("w", Role::Weight, Order::Right, 16, &[(1, 0x80000, 0, 16), (2, 0x80000, 0, 16)]),
                binding("y", Role::Output, Order::Left, 2, &[(2, 0x60020, 0, 2)]),
            ],
            graph: Graph {
                inputs: vec![tensor("x", 2)],
                weights: vec![tensor("w", 16)],
                operations: vec![Operation {
                    name: "y".into(),
                    kind: OperationKind::Gemm { k_parts: 1 },
                    operands: vec!["x".into(), "w".into()],
                    shape: vec![2, 16],
                    dtype: Dtype::F16,
                }],
                outputs: vec!["y".into()],
            },
            ..Manifest::default()
        };
        let segment = ImageSegment { address: LOAD_BASE, bytes: vec![7; 8].into() };
        let image = Arc::new(TileImage { segments: vec![segment] });
        Arc::new(Package { manifest, tiles: vec![image; 1472] })
    }

    #[test]
    fn every_tile_gets_its_program_and_its_data() {
        let mut loader = Loader::new(package()).unwrap();
        assert!(matches!(loader.contents(), Err(DeviceError::NotWritten(name)) if name == "x"));
        let x: Vec<f16> = (0..32u8).map(f16::from).collect();
        loader.write("x", &x).unwrap();
        assert!(matches!(loader.contents(), Err(DeviceError::NotWritten(name)) if name == "w"));
        loader.write("w", &[f16::ONE; 256]).unwrap();
        let contents = loader.contents().unwrap();
        let addresses = |tile: usize| contents[tile].iter().map(|(address, _)| *address).collect::<Vec<_>>();
        assert_eq!(addresses(0), [LOAD_BASE]);
        assert_eq!(addresses(1), [LOAD_BASE, 0x60000, 0x80000]);
        assert_eq!(addresses(2), [LOAD_BASE, 0x60000, 0x80000]);
        assert_eq!(contents[1][1].1[..2], f16::from(16u8).to_le_bytes());
        assert_eq!(contents[2][1].1[..2], f16::from(0u8).to_le_bytes());
        assert_eq!(contents[1][2].1.len(), 512);
        // Writing again replaces.
        loader.write("x", &[f16::ONE; 32]).unwrap();
        assert_eq!(loader.contents().unwrap()[2][1].1[..2], f16::ONE.to_le_bytes());
    }

    #[test]
    fn what_is_no_such_tensor_is_refused() {
        let mut loader = Loader::new(package()).unwrap();
        assert!(matches!(loader.write("y", &[f16::ONE; 32]), Err(DeviceError::NoTensor { .. })));
        assert!(matches!(loader.write("x", &[f16::ONE; 31]), Err(DeviceError::Storage(_))));
        let read = |_: TileId, _: u32, _: &mut [u8]| Ok(());
        assert!(matches!(loader.read("x", read), Err(DeviceError::NoTensor { .. })));
        assert_eq!(loader.read("y", read).unwrap().len(), 32);
        let failing = |tile: TileId, address: u32, _: &mut [u8]| {
            Err(DeviceError::Fault(format!("tile {tile} has nothing at {address:#x}")))
        };
        assert_eq!(loader.read("y", failing).unwrap_err().to_string(), "tile 2 has nothing at 0x60020");
    }

    #[test]
    fn devices_want_a_program_before_data() {
        let mut device = open("sim", &DeviceOptions::default()).unwrap();
        assert!(matches!(device.write("x", &[]), Err(DeviceError::NotLoaded)));
        assert!(matches!(device.run(), Err(DeviceError::NotLoaded)));
        assert!(matches!(device.read("y"), Err(DeviceError::NotLoaded | DeviceError::NotRun)));
        let mut broken = (*package()).clone();
        broken.manifest.bindings.pop();
        assert!(matches!(device.load(Arc::new(broken)), Err(DeviceError::Package(_))));
        for name in ["/dev/ipu0", "card"] {
            assert!(matches!(open(name, &DeviceOptions::default()), Err(DeviceError::Unsupported { .. })));
        }
    }
}
