//! `.npy` files: C order, little-endian `f4`, `f2` and `i4`.

use std::path::Path;

use anyhow::{Context, bail, ensure};
use half::f16;
use ipuc_device::package::write_whole;
use ipuc_device::package::{Dtype, Tensor};
use npyz::{DType, NpyFile, WriterBuilder as _};

use super::HostTensor;

/// A header longer than this is no header of a plain array.
const LONGEST_HEADER: usize = 1 << 16;

/// Reads the data of a tensor; shape and kind of number must be the declared ones.
pub fn read_npy(path: &Path, tensor: &Tensor) -> anyhow::Result<HostTensor> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&bytes, tensor).with_context(|| path.display().to_string())
}

/// The array of a file's content.
fn parse(bytes: &[u8], tensor: &Tensor) -> anyhow::Result<HostTensor> {
    check_header(bytes)?;
    let file = NpyFile::new(bytes).context("not a usable .npy file")?;
    ensure!(file.order() == npyz::Order::C, "the array is in Fortran order; C order is needed");
    ensure!(
        file.shape() == tensor.shape,
        "the array has shape {:?}, tensor {} has {:?}",
        file.shape(),
        tensor.name,
        tensor.shape
    );
    let DType::Plain(kind) = file.dtype() else { bail!("records are not supported; use '<f4', '<f2' or '<i4'") };
    let kind = kind.to_string();
    let item = match kind.as_str() {
        "<f4" | "<i4" => 4,
        "<f2" => 2,
        _ => bail!("arrays of '{kind}' are not supported; use '<f4', '<f2' or '<i4'"),
    };
    // The header was read, so what follows it is all data. The shape is the declared one: the product does not overflow.
    let expected = tensor.elements() * item;
    let header = header_end(bytes).expect("the header was checked") as u64;
    let data = bytes.len() as u64 - header;
    ensure!(data == expected, "the file holds {data} bytes of data, the shape needs {expected}");
    match (kind.as_str(), tensor.dtype) {
        ("<i4", Dtype::I32) => Ok(HostTensor::I32 { shape: tensor.shape.clone(), elements: file.into_vec::<i32>()? }),
        ("<i4", dtype) => bail!("an array of integers ('<i4') for tensor {}, which is {dtype}", tensor.name),
        ("<f4", _) => HostTensor::from_floats(tensor, file.into_vec::<f32>()?.into_iter().map(f64::from)),
        _ => HostTensor::from_floats(tensor, file.into_vec::<f16>()?.into_iter().map(f64::from)),
    }
}

/// Where the header ends, if the file has a whole one.
fn header_end(bytes: &[u8]) -> Option<usize> {
    let start = if bytes.get(6)? == &1 { 10 } else { 12 };
    let mut length = [0; 4];
    length[..start - 8].copy_from_slice(bytes.get(8..start)?);
    let end = start + u32::from_le_bytes(length) as usize;
    (end <= bytes.len()).then_some(end)
}

/// Refuses what the header's general parser would follow too far: it is recursive and believes lengths.
fn check_header(bytes: &[u8]) -> anyhow::Result<()> {
    ensure!(bytes.starts_with(b"\x93NUMPY"), "not a .npy file");
    let Some(end) = header_end(bytes) else { bail!("the .npy header is cut short") };
    ensure!(end <= LONGEST_HEADER, "a .npy header of {end} bytes");
    let header = &bytes[10..end];
    let once = |byte: u8| header.split(|&b| b == byte).nth(2).is_none();
    ensure!(!header.contains(&b'['), "records are not supported; use '<f4', '<f2' or '<i4'");
    ensure!(once(b'(') && once(b'{'), "the .npy header is not one dictionary with a shape");
    Ok(())
}

/// Writes a tensor in its own type.
pub fn write_npy(path: &Path, tensor: &HostTensor) -> anyhow::Result<()> {
    let write = || -> std::io::Result<Vec<u8>> {
        let mut file = Vec::new();
        let shape = tensor.shape();
        match tensor {
            HostTensor::F16 { elements, .. } => write_elements(&mut file, shape, elements)?,
            HostTensor::F32 { elements, .. } => write_elements(&mut file, shape, elements)?,
            HostTensor::I32 { elements, .. } => write_elements(&mut file, shape, elements)?,
        }
        Ok(file)
    };
    Ok(write_whole(path, &write()?)?)
}

fn write_elements<T: npyz::AutoSerialize + Copy>(
    file: &mut Vec<u8>,
    shape: &[u64],
    elements: &[T],
) -> std::io::Result<()> {
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd()?;
    writer.extend(elements.iter().copied())?;
    writer.finish()
}
