//! The resolved graph: what is computed from what, without positions, limits or formatting.
//!
//! Properties of a [`Graph`] (checked by `verify`):
//! 1. Operators stand in execution order; operands are tensors or results of earlier operators (single assignment).
//! 2. Every signature agrees with the shapes and dtypes of the operands, and its result with shape inference.
//! 3. Tensors are numbered by first use in the operators (unused ones follow by name), so that neither key order nor names
//!    have an influence on [`Content`].
//! 4. Nothing in it depends on white space, key order, `description`, or the limits of the target and of operators.
//!
//! It has three parts that change apart from each other: [`Content`] decides plans, [`Names`] name its entities,
//! the data sources say what the tensors hold.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::value::Real;

/// Number of a tensor of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TensorId(pub u32);

/// Number of an operator of the graph, in execution order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OpId(pub u32);

impl TensorId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl OpId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Element types that the contract names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// Graphcore's F143, with a scale per tensor.
    F8E4M3Fnuz,
    /// Graphcore's F152, with a scale per tensor.
    F8E5M2Fnuz,
    /// 32-bit integer.
    I32,
}

impl DType {
    /// The name in model.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::F8E4M3Fnuz => "f8e4m3fnuz",
            Self::F8E5M2Fnuz => "f8e5m2fnuz",
            Self::I32 => "i32",
        }
    }

    /// The type of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::F32, Self::F16, Self::F8E4M3Fnuz, Self::F8E5M2Fnuz, Self::I32]
            .into_iter()
            .find(|dtype| dtype.name() == name)
    }

    /// Bytes of an element.
    pub fn bytes(self) -> u32 {
        match self {
            Self::F32 | Self::I32 => 4,
            Self::F16 => 2,
            Self::F8E4M3Fnuz | Self::F8E5M2Fnuz => 1,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Extents, outermost first; at least one, none of them zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shape(pub Vec<u32>);

impl Shape {
    /// Product of the extents, at most `u64::MAX`.
    pub fn elements(&self) -> u64 {
        self.0.iter().fold(1, |product: u64, &extent| product.saturating_mul(extent.into()))
    }

    /// The shape as a matrix: all leading axes flattened to rows (at most `u64::MAX`), and the last axis.
    pub fn matrix(&self) -> (u64, u32) {
        let (&columns, leading) = self.0.split_last().expect("a shape has an axis");
        (leading.iter().fold(1, |product: u64, &extent| product.saturating_mul(extent.into())), columns)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Shape and element type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TensorType {
    /// Extents.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
}

impl TensorType {
    /// Bytes as a matrix in blocks of 16 x 16 elements, as the layouts pad it; at most `u64::MAX`.
    pub fn padded_bytes(&self) -> u64 {
        let (rows, columns) = self.shape.matrix();
        let blocks = rows.div_ceil(16).saturating_mul(columns.div_ceil(16).into());
        blocks.saturating_mul(256 * u64::from(self.dtype.bytes()))
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}

/// How a tensor gets onto the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Role {
    /// Given at each call; every byte lands on exactly one tile.
    Input,
    /// Loaded once; may be resident on several tiles.
    Weight,
}

/// A tensor that the host gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tensor {
    /// Input or weight.
    pub role: Role,
    /// Shape and element type.
    pub kind: TensorType,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operand {
    /// An input or a weight.
    Tensor(TensorId),
    /// The result of an earlier operator.
    Result(OpId),
}

/// Where an operand comes from, as far as plans care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Origin {
    /// An input of the model.
    Input,
    /// A weight.
    Weight,
    /// The result of an operator.
    Result,
}

/// Operator kinds with their attributes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OpKind {
    /// [.., M, K] x [K, N] -> [.., M, N].
    Gemm {
        /// In what it multiplies.
        precision: DType,
    },
}

impl OpKind {
    /// The name in model.json.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gemm { .. } => "gemm",
        }
    }
}

/// An operand as a signature sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OperandSig {
    /// Where it comes from.
    pub origin: Origin,
    /// Shape and element type.
    pub kind: TensorType,
}

/// All that decides which plans an operator has: identical layers have equal signatures. No name, no pins.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OpSig {
    /// Kind and attributes.
    pub kind: OpKind,
    /// Operands in order.
    pub operands: Vec<OperandSig>,
    /// The result.
    pub result: TensorType,
}

/// The extents of a gemm with all leading axes flattened into M.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GemmExtents {
    /// Rows of the left operand and of the result.
    pub m: u32,
    /// Columns of the left operand, rows of the right one.
    pub k: u32,
    /// Columns of the right operand and of the result.
    pub n: u32,
}

impl OpSig {
    /// The extents if this is a gemm.
    pub fn gemm(&self) -> Option<GemmExtents> {
        match self.kind {
            OpKind::Gemm { .. } => {
                let (m, k) = self.operands[0].kind.shape.matrix();
                let n = self.operands[1].kind.shape.matrix().1;
                Some(GemmExtents { m: u32::try_from(m).expect("resolved tensors are below 4 GiB"), k, n })
            }
        }
    }
}

/// Choices of the planner that the model pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Pins {
    /// Into how many parts M, N and K are cut, in this order.
    pub grid: Option<[u32; 3]>,
    /// In how many passes over K a tile works.
    pub steps: Option<u32>,
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Op {
    /// Where its operands come from.
    pub operands: Vec<Operand>,
    /// What it is.
    pub signature: OpSig,
    /// Pinned choices.
    pub pins: Pins,
}

/// How much is measured at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Profiling {
    /// Nothing beyond the whole program.
    None,
}

/// How much work planner and scheduler may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Effort {
    /// Least.
    Fast,
    /// The default.
    Normal,
    /// Most.
    Max,
}

impl Effort {
    /// The name in model.json.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::Max => "max",
        }
    }
}

/// The fields of the target that may change a plan. Limits are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Target {
    /// Tiles to use, 1 to 1472.
    pub tiles: u16,
    /// How much is measured.
    pub profiling: Profiling,
    /// How much work the compiler may do.
    pub effort: Effort,
}

/// All that decides plans, without names and data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Content {
    /// The target.
    pub target: Target,
    /// Inputs and weights.
    pub tensors: Vec<Tensor>,
    /// Operators in execution order.
    pub ops: Vec<Op>,
    /// Operators whose results are returned, in the order of the model.
    pub outputs: Vec<OpId>,
}

/// The names, in the order of the content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Names {
    /// Name of the model.
    pub model: String,
    /// Names of the tensors.
    pub tensors: Vec<String>,
    /// Names of the operators and of their results.
    pub ops: Vec<String>,
}

/// A seeded distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Distribution {
    /// Normal around zero with this standard deviation.
    Normal(Real),
    /// Integers of a range, both ends included.
    Integers(i64, i64),
}

/// What a tensor holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DataSource {
    /// Nothing is said: an input that comes with the call, or gets seeded normal(1.0) data.
    Absent,
    /// A .npy file; a relative path is relative to the model.
    File(String),
    /// Seeded data.
    Random {
        /// How it is distributed.
        distribution: Distribution,
        /// The seed.
        seed: u64,
    },
}

/// A resolved model.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Graph {
    /// What is computed.
    pub content: Content,
    /// What its entities are called.
    pub names: Names,
    /// What the tensors hold, in their order.
    pub data: Vec<DataSource>,
}

/// A blake3 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Graph {
    /// Digest of the content: the same for every spelling of the same computation, whatever its names and data.
    pub fn digest(&self) -> Digest {
        digest("ipuc graph 1", &self.content)
    }

    /// Digest of content, names and data sources.
    pub fn full_digest(&self) -> Digest {
        digest("ipuc named graph 1", self)
    }

    /// The operator of this name.
    pub fn op(&self, name: &str) -> Option<OpId> {
        self.names.ops.iter().position(|known| known == name).map(|index| OpId(index as u32))
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<TensorId> {
        self.names.tensors.iter().position(|known| known == name).map(|index| TensorId(index as u32))
    }

    /// The path of an operator in diagnostics.
    pub fn op_path(&self, op: OpId) -> String {
        format!("ops.{}", self.names.ops[op.index()])
    }

    /// The path of a tensor in diagnostics.
    pub fn tensor_path(&self, tensor: TensorId) -> String {
        let section = match self.content.tensors[tensor.index()].role {
            Role::Input => "inputs",
            Role::Weight => "weights",
        };
        format!("{section}.{}", self.names.tensors[tensor.index()])
    }
}

impl Content {
    /// Every use of an operand: (operator, which of its operands), in order.
    pub fn uses(&self, operand: Operand) -> Vec<(OpId, usize)> {
        let mut uses = Vec::new();
        for (op, id) in self.ops.iter().zip(0..) {
            for (index, used) in op.operands.iter().enumerate() {
                if *used == operand {
                    uses.push((OpId(id), index));
                }
            }
        }
        uses
    }

    /// Shape and element type of an operand.
    pub fn kind(&self, operand: Operand) -> &TensorType {
        match operand {
            Operand::Tensor(tensor) => &self.tensors[tensor.index()].kind,
            Operand::Result(op) => &self.ops[op.index()].signature.result,
        }
    }
}

/// MessagePack of values without maps is canonical: fields in order, the shortest form of every number.
fn digest(context: &str, value: &impl Serialize) -> Digest {
    let bytes = rmp_serde::to_vec(value).expect("plain data serialises");
    let mut hasher = blake3::Hasher::new();
    hasher.update(context.as_bytes());
    hasher.update(&[0]);
    hasher.update(&bytes);
    Digest(*hasher.finalize().as_bytes())
}
