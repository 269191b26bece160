//! Query keys: interned content, never positions. Probes are other keys in the same revision, so they share every memo.

use crate::digest::Keyed;
use crate::emit::tile_program::TileProgram;
use crate::exchange::banks::ClashSig;
use crate::exchange::problem::Problem;
use crate::inputs::SourceFile;
use crate::lower::ir::KernelInstance;
use crate::model::{Edit, Limits};
use crate::plan::candidates::Pins;
use crate::plan::gemm::{GemmPlan, GemmShape};
use crate::plan::layout::Layout;
use crate::plan::whole::PlanSet;

/// Everything that may change a plan, except limits: a model file and edits on it (`--target`, a probe's what-if).
#[salsa::interned(debug)]
pub struct Scenario<'db> {
    /// The model.
    #[returns(copy)]
    pub source: SourceFile,
    /// The edits, in order.
    #[returns(ref)]
    pub edits: Vec<Edit>,
}

/// Limits that a plan is chosen under.
#[salsa::interned(debug)]
pub struct LimitsKey<'db> {
    /// The limits.
    #[returns(ref)]
    pub limits: Limits,
}

/// An operator without its name: what it computes, and what the user pins.
#[salsa::interned(debug)]
pub struct OpSig<'db> {
    /// Kind, shapes, origins of the operands.
    #[returns(copy)]
    pub shape: GemmShape,
    /// Pins.
    #[returns(copy)]
    pub pins: Pins,
}

/// The nameless graph with the chosen plan of every operator.
#[salsa::interned(debug)]
pub struct PlanSetKey<'db> {
    /// The content.
    #[returns(ref)]
    pub set: Keyed<PlanSet>,
}

/// An operator with its plan and the layout of its computed operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkRequest {
    /// What it computes.
    pub shape: GemmShape,
    /// How.
    pub plan: GemmPlan,
    /// Where its computed left operand lies.
    pub left: Option<Keyed<Layout>>,
}

/// A [`WorkRequest`] as a key.
#[salsa::interned(debug)]
pub struct WorkKey<'db> {
    /// The content.
    #[returns(ref)]
    pub request: WorkRequest,
}

/// An exchange phase before scheduling.
#[salsa::interned(debug)]
pub struct PhaseProblem<'db> {
    /// The content.
    #[returns(ref)]
    pub problem: Keyed<Problem>,
}

/// Bank structure of the buffers of a phase.
#[salsa::interned(debug)]
pub struct ClashKey<'db> {
    /// The content.
    #[returns(ref)]
    pub clash: Keyed<ClashSig>,
}

/// What is set aside for code and exchange tables, in whole 16 KiB elements from the first placeable address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reservation {
    /// Elements of tile code; 0 when it fits between the linked image and the host aperture.
    pub code_elements: u32,
    /// Elements of exchange rows.
    pub table_elements: u32,
}

/// A kernel source to assemble with defines.
#[salsa::interned(debug)]
pub struct KernelKey<'db> {
    /// File name of the source.
    #[returns(deref)]
    pub source: String,
    /// Defines in order.
    #[returns(ref)]
    pub defines: Vec<(String, u32)>,
}

/// Kernels to link, sorted, with the address of the tile program.
#[salsa::interned(debug)]
pub struct KernelSet<'db> {
    /// The kernels.
    #[returns(ref)]
    pub instances: Vec<KernelInstance>,
    /// Where the tile program starts.
    #[returns(copy)]
    pub tile_program: u32,
}

/// Tiles with equal programs.
#[salsa::interned(debug)]
pub struct TileClass<'db> {
    /// The content.
    #[returns(ref)]
    pub program: Keyed<TileProgram>,
}
