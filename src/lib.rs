//! The front of `ipuc`: command line, tensors on disk, the host reference, verdicts and reports.
//!
//! Architecture invariants: this crate decides nothing about compilation, and its reference shares no code with layouts,
//! planner or kernels.
//!
//! ```text
//! cli        arguments, commands, streams, exit codes
//! compile    the one place where the compiler is asked
//! tensors    data from files and seeded generators
//! reference  what the numbers should be, and how far they may be off
//! verdict    whether they are
//! render     problems of a model for people and programs
//! report     the figures of builds and runs as JSON
//! ```

pub mod cli;
pub mod compile;
pub mod reference;
pub mod render;
pub mod report;
pub mod tensors;
pub mod verdict;
