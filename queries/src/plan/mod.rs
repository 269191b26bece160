//! Plans: which tile computes what, and what it costs.

pub mod candidates;
pub mod cost;
pub mod gemm;
pub mod layout;
pub mod partition;
pub mod whole;
