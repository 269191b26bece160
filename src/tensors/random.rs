//! Seeded tensor data, the same on every machine.
//!
//! The generator is ChaCha8 with the key `blake3("ipuc tensor data" | seed, 8 bytes little-endian | name of the tensor)`: two
//! tensors of a model that state the same seed get different data, and no tensor's data depends on another tensor.
//! Elements are drawn in row-major order and cast to the declared type.

use anyhow::{bail, ensure};
use ipuc_device::package::{Distribution, Dtype, Tensor};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};

use super::HostTensor;

/// Draws the elements of a tensor.
pub fn draw(tensor: &Tensor, distribution: Distribution, seed: u64) -> anyhow::Result<HostTensor> {
    let mut key = blake3::Hasher::new();
    key.update(b"ipuc tensor data").update(&seed.to_le_bytes()).update(tensor.name.as_bytes());
    let mut generator = ChaCha8Rng::from_seed(*key.finalize().as_bytes());
    let count = tensor.elements();
    match distribution {
        Distribution::Normal(deviation) => {
            ensure!(
                deviation.is_finite() && deviation >= 0.0,
                "tensor {}: random normal data with deviation {deviation}",
                tensor.name
            );
            let normal = (0..count).map(|_| {
                let value: f64 = StandardNormal.sample(&mut generator);
                deviation * value
            });
            HostTensor::from_floats(tensor, normal)
        }
        Distribution::Integers(low, high) => {
            if low > high {
                bail!("tensor {}: random integers from {low} to {high}", tensor.name);
            }
            if tensor.dtype == Dtype::I32 {
                let (low, high) = (i32::try_from(low), i32::try_from(high));
                let (Ok(low), Ok(high)) = (low, high) else {
                    bail!("tensor {}: random integers that i32 can't hold", tensor.name);
                };
                let elements = (0..count).map(|_| generator.random_range(low..=high)).collect();
                return Ok(HostTensor::I32 { shape: tensor.shape.clone(), elements });
            }
            HostTensor::from_floats(tensor, (0..count).map(|_| generator.random_range(low..=high) as f64))
        }
    }
}
