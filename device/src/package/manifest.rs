//! What a package says about its program, apart from the program.

use serde::{Deserialize, Serialize};

use super::graph::Graph;
use super::storage::Binding;
use crate::isa::AmpFlags;
use crate::memory;

/// The chip that a program is made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name of the chip.
    pub chip: String,
    /// Tiles of the chip: all of them are loaded.
    pub tiles: u32,
    /// First byte address of tile memory.
    pub memory_base: u32,
    /// Bytes of tile memory.
    pub memory_bytes: u32,
}

impl Default for Target {
    fn default() -> Self {
        Self { chip: "ipu21".into(), tiles: memory::TILES, memory_base: memory::BASE, memory_bytes: memory::SIZE }
    }
}

/// A symbol of the linked image, the same on every tile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Symbol {
    /// Byte address.
    pub address: u32,
    /// Its name.
    pub name: String,
}

/// A named range of addresses, the same on every tile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugRegion {
    /// "generated tile program", "static runtime", "exchange rows", ...
    pub name: String,
    /// First byte address.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// One exchange phase, as reports describe it; cycles, words and bytes as the report contract defines them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Display number in execution order.
    pub phase: u32,
    /// Operation that it serves.
    pub operation: String,
    /// Times it runs.
    pub executions: u32,
    /// Transfers after merging.
    pub transfers: u64,
    /// Pieces after cutting.
    pub pieces: u64,
    /// Words sent, a multicast counted once.
    pub words: u64,
    /// Words received, counted per receiver.
    pub words_received: u64,
    /// Cycles from event 0 to the last row end.
    pub horizon: u64,
    /// Busiest tile's words.
    pub endpoint_lower_bound: u64,
    /// The sharper bound.
    pub fill_drain_lower_bound: u64,
    /// "ordinary", "paired" or "mixed".
    pub kind: String,
    /// A relocated schedule was kept.
    pub reused: bool,
    /// Encoded words of the longest row.
    pub max_row_words: u64,
}

/// One operator, as reports describe it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OperatorRecord {
    /// Its name.
    pub name: String,
    /// What it is.
    pub op: String,
    /// The chosen plan in words.
    pub plan: String,
    /// Predicted cycles, exchange included.
    pub cycles: u64,
    /// Predicted cycles in exchange.
    pub exchange_cycles: u64,
    /// Encoded rows on the worst tile.
    pub exchange_table_bytes: u64,
    /// Bytes on the worst tile.
    pub tile_bytes: u64,
}

/// Totals of the program, as the compiler knows and predicts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Totals {
    /// Encoded rows on the worst tile.
    pub exchange_table_bytes: u64,
    /// Everything placed, on the worst tile.
    pub tile_memory_bytes: u64,
    /// Tensors in standard memory, at the peak.
    pub peak_standard_bytes: u64,
    /// Tensors in interleaved memory, at the peak.
    pub peak_interleaved_bytes: u64,
    /// Predicted cycles of one run.
    pub estimated_cycles: u64,
    /// Predicted cycles of it in exchange.
    pub estimated_exchange_cycles: u64,
}

/// What is known about a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Name of the model.
    pub name: String,
    /// Name and version of the producer.
    pub compiler: String,
    /// Blake3 digest of the computation without names and data sources, as hexadecimal digits.
    pub source_digest: String,
    /// The chip.
    pub target: Target,
    /// Tiles that the plan was allowed to use.
    pub tiles_used: u32,
    /// Address at which every tile starts.
    pub entry: u32,
    /// The AMP flag values that the kernels were assembled with.
    pub amp_flags: AmpFlags,
    /// Symbols by address.
    pub symbols: Vec<Symbol>,
    /// Named ranges by address.
    pub debug_regions: Vec<DebugRegion>,
    /// Where tensors lie.
    pub bindings: Vec<Binding>,
    /// The computation.
    pub graph: Graph,
    /// Exchange phases in execution order.
    pub phases: Vec<PhaseRecord>,
    /// Operators in execution order.
    pub operators: Vec<OperatorRecord>,
    /// Totals.
    pub totals: Totals,
}
