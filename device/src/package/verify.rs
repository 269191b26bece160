//! Invariants of a package, compared before it is written and after it is read (`runtime.md` 7.3).
//!
//! 1. The target is the chip that this crate models, with all its tiles.
//! 2. Segments of a tile are not empty, ascend, do not overlap and lie where the loader can write; the entry is in one.
//! 3. Names of bindings are unique, but a weight that two operators hold differently has one for each; every binding passes its own check (`storage.rs`).
//! 4. Inputs and weights, which are all written before the start, overlap neither each other nor a segment.
//! 5. Every tensor that an operation uses and every output has its binding, of the same role, shape and type, and there
//!    are no others.
//! 6. Operations name only what comes before them; names can be file names.
//! 7. Debug regions have names and are not empty; symbols have names.

use std::collections::{BTreeMap, BTreeSet};

use super::{Binding, Dtype, OperationKind, Package, PackageError, Role, Target};
use crate::memory::{LOAD_BASE, LOADABLE_END, TileId};

/// Elements of the largest tensor; the chip holds less.
const GREATEST: u64 = u32::MAX as u64;

impl Package {
    /// Compares all invariants; the first that does not hold is the error.
    pub fn verify(&self) -> Result<(), PackageError> {
        self.violation().map_or(Ok(()), |text| Err(PackageError::Invalid(text)))
    }

    fn violation(&self) -> Option<String> {
        let manifest = &self.manifest;
        if manifest.target != Target::default() {
            return Some(format!("made for {:?}", manifest.target));
        }
        if self.tiles.len() != manifest.target.tiles as usize {
            return Some(format!("images of {} tiles, the chip has {}", self.tiles.len(), manifest.target.tiles));
        }
        if manifest.tiles_used == 0 || manifest.tiles_used > manifest.target.tiles {
            return Some(format!(
                "the plan uses {} tiles, the chip has {}",
                manifest.tiles_used, manifest.target.tiles
            ));
        }
        if let Some(region) = manifest.debug_regions.iter().find(|r| r.name.is_empty() || r.start >= r.end) {
            return Some(format!("debug region {:?} at {:#x}..{:#x}", region.name, region.start, region.end));
        }
        if let Some(symbol) = manifest.symbols.iter().find(|symbol| symbol.name.is_empty()) {
            return Some(format!("symbol without a name at {:#x}", symbol.address));
        }
        (self.segments_violation()).or_else(|| self.graph_violation()).or_else(|| self.bindings_violation())
    }

    fn segments_violation(&self) -> Option<String> {
        let mut last = None;
        for (tile, image) in self.tiles.iter().enumerate() {
            // Equal tiles share their image: it is looked at once a run.
            if last.is_some_and(|last| std::ptr::eq(last, image.as_ref())) {
                continue;
            }
            last = Some(image.as_ref());
            let mut free = LOAD_BASE;
            for segment in &image.segments {
                let (start, bytes) = (segment.address, segment.bytes.len());
                let end = u64::from(start) + bytes as u64;
                if bytes == 0 || start < free || end > u64::from(LOADABLE_END) {
                    return Some(format!(
                        "tile {tile}: segment {start:#x}..{end:#x} is empty, overlaps the one before it, or leaves \
                         {LOAD_BASE:#x}..{LOADABLE_END:#x}"
                    ));
                }
                free = end as u32;
            }
            if self.image(TileId(tile as u16), self.manifest.entry, 4).is_none() {
                return Some(format!("tile {tile}: no instruction at the entry {:#x}", self.manifest.entry));
            }
        }
        None
    }

    fn graph_violation(&self) -> Option<String> {
        let graph = &self.manifest.graph;
        let mut shapes: BTreeMap<&str, &[u64]> = BTreeMap::new();
        let product = |shape: &[u64]| shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent));
        let checked = |name: &str, shape: &[u64]| match product(shape) {
            // Names become file names.
            _ if name.is_empty()
                || name.starts_with('.')
                || name.contains(|c: char| c.is_control() || "/\\".contains(c)) =>
            {
                Some(format!("a tensor called {name:?}"))
            }
            Some(1..=GREATEST) if !shape.is_empty() => None,
            _ => Some(format!("tensor {name}: shape {shape:?}")),
        };
        for tensor in graph.tensors() {
            if let Some(text) = checked(&tensor.name, &tensor.shape) {
                return Some(text);
            }
            if shapes.insert(&tensor.name, &tensor.shape).is_some() {
                return Some(format!("two tensors are called {}", tensor.name));
            }
        }
        for operation in &graph.operations {
            if let Some(text) = checked(&operation.name, &operation.shape) {
                return Some(text);
            }
            let mut operands = Vec::new();
            for name in &operation.operands {
                let Some(shape) = shapes.get(name.as_str()) else {
                    return Some(format!("operation {}: operand {name} is not known", operation.name));
                };
                operands.push(*shape);
            }
            let OperationKind::Gemm { k_parts } = operation.kind;
            let expected = match operands.as_slice() {
                [[outer @ .., k], [inner, n]] if k == inner && k_parts >= 1 && !outer.is_empty() => {
                    Some(outer.iter().copied().chain([*n]).collect::<Vec<_>>())
                }
                _ => None,
            };
            if expected.as_deref() != Some(operation.shape.as_slice()) {
                return Some(format!(
                    "operation {}: gemm of {operands:?} does not give {:?}",
                    operation.name, operation.shape
                ));
            }
            if shapes.insert(&operation.name, &operation.shape).is_some() {
                return Some(format!("two tensors are called {}", operation.name));
            }
        }
        let unknown = graph.outputs.iter().find(|name| graph.operation(name).is_none());
        unknown.map(|name| format!("output {name} is no operation"))
    }

    fn bindings_violation(&self) -> Option<String> {
        let graph = &self.manifest.graph;
        let used: BTreeSet<&String> = graph.operations.iter().flat_map(|operation| &operation.operands).collect();
        let mut expected: BTreeMap<(&str, Role), (&[u64], Dtype)> = BTreeMap::new();
        for (role, tensors) in [(Role::Input, &graph.inputs), (Role::Weight, &graph.weights)] {
            let used = tensors.iter().filter(|tensor| used.contains(&tensor.name));
            expected.extend(used.map(|t| ((t.name.as_str(), role), (t.shape.as_slice(), t.dtype))));
        }
        for operation in graph.outputs.iter().filter_map(|name| graph.operation(name)) {
            expected.insert((&operation.name, Role::Output), (&operation.shape, operation.dtype));
        }
        let (mut names, mut bound) = (BTreeSet::new(), BTreeSet::new());
        for binding in &self.manifest.bindings {
            if !names.insert(&binding.name) && binding.role != Role::Weight {
                return Some(format!("two bindings are called {}", binding.name));
            }
            if let Err(error) = binding.check() {
                return Some(error.to_string());
            }
            let key = (binding.name.as_str(), binding.role);
            bound.insert(key);
            match expected.get(&key).copied() {
                None => return Some(format!("binding {}: the graph has no such {}", binding.name, binding.role)),
                Some((shape, dtype)) if (shape, dtype) != (binding.shape.as_slice(), binding.dtype) => {
                    return Some(format!("binding {}: {dtype} {shape:?} in the graph", binding.name));
                }
                Some(_) => {}
            }
        }
        if let Some((name, role)) = expected.keys().find(|key| !bound.contains(*key)) {
            return Some(format!("{role} {name} has no binding"));
        }
        self.overlap_violation()
    }

    fn overlap_violation(&self) -> Option<String> {
        let written = |binding: &&Binding| binding.role != Role::Output;
        let mut ranges: Vec<(TileId, u32, u32, &str)> = Vec::new();
        for binding in self.manifest.bindings.iter().filter(written) {
            ranges.extend(binding.spans.iter().map(|s| (s.tile, s.address, s.end() as u32, binding.name.as_str())));
        }
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            let ((tile, _, end, first), (next, start, _, second)) = (pair[0], pair[1]);
            if tile == next && start < end {
                return Some(format!("tile {tile}: {first} and {second} overlap at {start:#x}"));
            }
        }
        for &(tile, start, end, name) in &ranges {
            let segments = &self.tiles[tile.index()].segments;
            let after = segments.partition_point(|s| s.address < end);
            let before = after.checked_sub(1).map(|index| &segments[index]);
            if before.is_some_and(|s| s.address + s.bytes.len() as u32 > start) {
                return Some(format!("tile {tile}: {name} at {start:#x} overlaps a segment of the program"));
            }
        }
        None
    }
}
