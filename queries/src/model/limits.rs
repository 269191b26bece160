//! The limits that a model states. They are apart from the graph: a limit changes which plan is chosen, never which exist.

use std::collections::BTreeMap;

use ipuc_device::memory;

use super::graph::OpId;

/// Bytes that may be used on the worst tile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Limits {
    /// All of a tile.
    pub tile_memory_bytes: u32,
    /// Exchange rows of a tile.
    pub exchange_table_bytes: u32,
    /// `budget.tile_bytes` of the operators that have one.
    pub operator_tile_bytes: BTreeMap<OpId, u32>,
}

/// Default of `exchange_table_bytes`.
pub const EXCHANGE_TABLE_BYTES: u32 = 81920;

impl Default for Limits {
    fn default() -> Self {
        Self {
            tile_memory_bytes: memory::SIZE,
            exchange_table_bytes: EXCHANGE_TABLE_BYTES,
            operator_tile_bytes: BTreeMap::new(),
        }
    }
}
