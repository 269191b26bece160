//! The compiler: from model text to tile programs, every stage a memoized query.
//!
//! The modules stand in the order in which the data flows.

pub mod diagnostics;
pub mod emit;
pub mod exchange;
pub mod kernels;
pub mod lower;
pub mod model;
pub mod place;
pub mod plan;
