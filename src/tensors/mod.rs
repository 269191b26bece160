//! Tensor data on the host: from files and seeded generators to row-major elements of the declared type.
//!
//! In: tensor declarations of a graph, files given on the command line. Out: one [`HostTensor`] a declaration, of the
//! declared shape and type, all elements finite.
//!
//! Which data a tensor gets: a file given with `--input`, else what the declaration states (a file, a generator), else
//! normal(1.0) with [`DEFAULT_SEED`].

mod npy;
mod random;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use half::f16;
use ipuc_device::package::{Data, Distribution, Dtype, Graph, Tensor};

pub use npy::{read_npy, write_npy};
pub use random::draw;

/// Seed of inputs that no one gave data for.
pub const DEFAULT_SEED: u64 = 0;

/// Row-major elements of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum HostTensor {
    /// Binary16.
    F16 {
        /// Extents, outermost first.
        shape: Vec<u64>,
        /// Elements.
        elements: Vec<f16>,
    },
    /// Binary32.
    F32 {
        /// Extents, outermost first.
        shape: Vec<u64>,
        /// Elements.
        elements: Vec<f32>,
    },
    /// Signed 32-bit integers.
    I32 {
        /// Extents, outermost first.
        shape: Vec<u64>,
        /// Elements.
        elements: Vec<i32>,
    },
}

impl HostTensor {
    /// Element type.
    pub fn dtype(&self) -> Dtype {
        match self {
            Self::F16 { .. } => Dtype::F16,
            Self::F32 { .. } => Dtype::F32,
            Self::I32 { .. } => Dtype::I32,
        }
    }

    /// Extents, outermost first.
    pub fn shape(&self) -> &[u64] {
        match self {
            Self::F16 { shape, .. } | Self::F32 { shape, .. } | Self::I32 { shape, .. } => shape,
        }
    }

    /// Floating elements cast to the declared type with round-to-nearest-even. An element that has no finite value there is
    /// refused.
    pub fn from_floats(tensor: &Tensor, elements: impl Iterator<Item = f64>) -> anyhow::Result<Self> {
        let shape = tensor.shape.clone();
        let refuse = |at: usize, value: f64| {
            anyhow::anyhow!(
                "tensor {}: element {:?} is {value}, which {} can't hold",
                tensor.name,
                coordinates(&tensor.shape, at),
                tensor.dtype
            )
        };
        match tensor.dtype {
            Dtype::F16 => {
                let cast = |(at, value): (usize, f64)| {
                    let element = f16::from_f64(value);
                    if element.is_finite() { Ok(element) } else { Err(refuse(at, value)) }
                };
                Ok(Self::F16 { shape, elements: elements.enumerate().map(cast).collect::<anyhow::Result<_>>()? })
            }
            Dtype::F32 => {
                let cast = |(at, value): (usize, f64)| {
                    let element = value as f32;
                    if element.is_finite() { Ok(element) } else { Err(refuse(at, value)) }
                };
                Ok(Self::F32 { shape, elements: elements.enumerate().map(cast).collect::<anyhow::Result<_>>()? })
            }
            Dtype::I32 => bail!("tensor {}: floating data for an i32 tensor", tensor.name),
            Dtype::F8e4m3fnuz | Dtype::F8e5m2fnuz => {
                bail!("tensor {}: {} data is not supported yet", tensor.name, tensor.dtype)
            }
        }
    }
}

/// Row-major position of an element, for messages.
pub fn coordinates(shape: &[u64], at: usize) -> Vec<u64> {
    let mut rest = at as u64;
    let mut position: Vec<u64> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let index = rest % extent.max(1);
            rest /= extent.max(1);
            index
        })
        .collect();
    position.reverse();
    position
}

/// Loads all tensors of a graph. Relative paths of the graph start from `base`; `given` are files by tensor name, which
/// must be inputs of the graph.
pub fn load(
    graph: &Graph,
    base: &Path,
    given: &BTreeMap<String, PathBuf>,
) -> anyhow::Result<BTreeMap<String, HostTensor>> {
    for name in given.keys() {
        if !graph.inputs.iter().any(|tensor| &tensor.name == name) {
            let names: Vec<&str> = graph.inputs.iter().map(|tensor| tensor.name.as_str()).collect();
            bail!("--input {name}: the model has no such input; its inputs are {}", names.join(", "));
        }
    }
    let load = |tensor: &Tensor| {
        let loaded = match given.get(&tensor.name) {
            Some(path) => read_npy(path, tensor)?,
            None => load_declared(tensor, base)?,
        };
        Ok((tensor.name.clone(), loaded))
    };
    graph.tensors().map(load).collect()
}

fn load_declared(tensor: &Tensor, base: &Path) -> anyhow::Result<HostTensor> {
    match &tensor.data {
        Data::Unstated => draw(tensor, Distribution::Normal(1.0), DEFAULT_SEED),
        Data::Random { distribution, seed } => draw(tensor, *distribution, *seed),
        Data::File { path, tensor: inner } => {
            let file = base.join(path);
            if inner.is_some() || file.extension().is_none_or(|extension| extension != "npy") {
                bail!("tensor {}: {}: only .npy files are supported yet", tensor.name, file.display());
            }
            read_npy(&file, tensor).with_context(|| format!("data of tensor {}", tensor.name))
        }
    }
}

#[cfg(test)]
mod tests;
