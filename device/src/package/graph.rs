//! The computation that a package performs, in the terms of the model: enough to load the data and to check the result
//! without the model file. No tile, no address and no layout occurs here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Element types, under the names that ONNX and JAX use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// Graphcore F143.
    F8e4m3fnuz,
    /// Graphcore F152.
    F8e5m2fnuz,
    /// Signed 32-bit integer.
    I32,
}

impl Dtype {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::F32, Self::F16, Self::F8e4m3fnuz, Self::F8e5m2fnuz, Self::I32];

    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::F8e4m3fnuz => "f8e4m3fnuz",
            Self::F8e5m2fnuz => "f8e5m2fnuz",
            Self::I32 => "i32",
        }
    }

    /// The type of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F16 => 2,
            Self::F8e4m3fnuz | Self::F8e5m2fnuz => 1,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What random elements look like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Normal with mean 0 and this standard deviation.
    Normal(f64),
    /// Integers between the two, both included, all equally likely.
    Integers(i64, i64),
}

/// Where the elements of an input or weight come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// Nothing stated: given with the run, or default data.
    Unstated,
    /// A file; a relative path starts from the directory of the file that names it (the model, or the package).
    File {
        /// The path as written.
        path: String,
        /// Which tensor of the file, where it holds several.
        tensor: Option<String>,
    },
    /// Drawn from a seeded generator.
    Random {
        /// Of what kind.
        distribution: Distribution,
        /// Seed; the tensor's name is mixed in.
        seed: u64,
    },
}

/// An input or a weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// Element type in which it is stored on the chip.
    pub dtype: Dtype,
    /// Where its elements come from.
    pub data: Data,
}

impl Tensor {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().product()
    }
}

/// What an operation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationKind {
    /// Matrix product of operand 0, `[.., M, K]`, and operand 1, `[K, N]`, partial sums kept in F16.
    Gemm {
        /// Into how many parts the plan cuts K. The parts' results are added at the end. Only the tolerance depends on it.
        k_parts: u32,
    },
}

/// One operation; its result bears its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// What it computes.
    pub kind: OperationKind,
    /// Names of tensors or of earlier operations.
    pub operands: Vec<String>,
    /// Extents of the result.
    pub shape: Vec<u64>,
    /// Element type of the result.
    pub dtype: Dtype,
}

/// The whole computation; operations in an order in which every operand comes first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// Tensors given with each call.
    pub inputs: Vec<Tensor>,
    /// Tensors that stay.
    pub weights: Vec<Tensor>,
    /// The operations.
    pub operations: Vec<Operation>,
    /// Names of the operations whose results are read back.
    pub outputs: Vec<String>,
}

impl Graph {
    /// Inputs, then weights.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.inputs.iter().chain(&self.weights)
    }

    /// The operation of a name.
    pub fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }
}
