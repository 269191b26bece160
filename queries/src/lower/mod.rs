//! From plans to work per tile: logical shards, kernel calls and exchange phases, without addresses.

pub mod gemm;
#[cfg(test)]
mod interpret;
pub mod ir;
pub mod program;
