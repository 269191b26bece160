//! What an operator does on the tiles, without addresses and without names.
//!
//! Properties of an [`OpWork`]:
//! 1. Every buffer has the same size and, after placement, the same address on every tile that uses it.
//! 2. A buffer that a step reads was written before: by an earlier step, by the loader (`loads`), or it is an operand.
//! 3. In one phase no two transfers write the same bytes of a tile, and no byte is both sent and received on a tile.
//! 4. Offsets and sizes are multiples of 32 bytes (an atom).

use ipuc_device::memory::TileId;

use crate::digest::Keyed;
use crate::exchange::problem::Problem;
use crate::plan::layout::Layout;

/// A buffer as one operator's steps name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BufferRef {
    /// Buffer `i` of this operator.
    Own(u32),
    /// Buffer `buffer` of the operator that produced operand `operand` of this one.
    Operand {
        /// Which operand.
        operand: u32,
        /// Buffer index in the producer's work.
        buffer: u32,
    },
}

/// Where a buffer may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryClass {
    /// Anywhere in data memory, across the region boundary too.
    Standard,
    /// In region 1: 128-bit loads, or two accesses of one buffer in a bundle.
    Interleaved,
}

/// One buffer of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// What it is for, in the words of reports: "left", "right", "partial", "received partials", "result", ...
    pub role: &'static str,
    /// Bytes on the worst tile.
    pub bytes: u32,
    /// Where it may lie.
    pub class: MemoryClass,
    /// Own buffers with which it may not share a memory bank (16 KiB element / 32 KiB pair): the streams of one
    /// paced bundle.
    pub apart_from: Vec<u32>,
}

/// An argument of a kernel call, in the order of the argument registers ($m2, $m3, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// Address of a byte of a buffer.
    Address(BufferRef, u32),
    /// A number below 2^20.
    Value(u32),
}

/// A kernel entry point, specialised by defines.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelInstance {
    /// Source file in `device/kernels`, for example `gemm_f16.S`.
    pub source: &'static str,
    /// Preprocessor defines in order.
    pub defines: Vec<(&'static str, u32)>,
    /// Global symbol to call.
    pub entry: &'static str,
}

/// One kernel call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// What is called.
    pub kernel: KernelInstance,
    /// With what.
    pub arguments: Vec<Argument>,
    /// Predicted tile cycles.
    pub cycles: u32,
    /// Buffers read.
    pub reads: Vec<BufferRef>,
    /// Buffers written.
    pub writes: Vec<BufferRef>,
}

/// Tiles that make the same calls in a compute step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TileCalls {
    /// Which tiles, sorted.
    pub tiles: Vec<TileId>,
    /// Their calls in order.
    pub calls: Vec<Call>,
}

/// One step of an operator; all tiles pass the steps in the same order, exchange steps together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// An exchange phase.
    Exchange(Keyed<Problem>),
    /// Kernel calls; a tile in no group does nothing.
    Compute(Vec<TileCalls>),
}

/// A tensor operand that the loader writes into this operator's buffers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Load {
    /// Which operand.
    pub operand: u32,
    /// Where. For a per-call input every atom appears exactly once; a weight may be replicated.
    pub layout: Layout,
}

/// The whole work of one operator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpWork {
    /// Its buffers.
    pub buffers: Vec<Buffer>,
    /// Operands that the loader writes.
    pub loads: Vec<Load>,
    /// Its steps in order.
    pub steps: Vec<Step>,
    /// Where its result lies at the end; every atom exactly once.
    pub result: Layout,
}
