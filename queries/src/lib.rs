//! The compiler: from model text to tile programs, every stage a memoized query.
//!
//! The modules stand in the order in which the data flows.

pub mod database;
pub mod diagnostics;
pub mod digest;
pub mod emit;
pub mod exchange;
pub mod inputs;
pub mod kernels;
pub mod lower;
pub mod model;
pub mod place;
pub mod plan;
pub mod trace;
