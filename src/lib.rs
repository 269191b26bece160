//! The front of `ipuc`: command line, tensors on disk, the host reference, verdicts and reports.
//!
//! Architecture invariants: this crate decides nothing about compilation, and its reference shares no code with layouts,
//! planner or kernels.

pub mod reference;
pub mod tensors;
