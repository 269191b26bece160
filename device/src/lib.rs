//! The chip: everything about an IPU21 that can be said without a compiler.
//!
//! The modules stand in the order in which bytes come to life:
//!
//! ```text
//! isa       one table of instructions: encode, decode, print, registers, CSRs
//! asm       tile assembly text -> relocatable ELF32 objects
//! link      objects -> image in the executable region, with a map
//! fabric    topology, route times, exchange rows (encode, decode, validate)
//! memory    regions, elements, fixed addresses
//! package   `.ipuexe`: manifest and deduplicated segments
//! sim       package bytes -> execution, instruction by instruction
//! kernels   the embedded tile kernel sources and their call contracts
//! host      the `Device` trait: load, start, call, read back
//! ```
//!
//! Architecture invariants: this crate has no salsa and no notion of a model. `sim` and `fabric::validate` take
//! bytes; they import neither encoder, schedule nor plan.

pub mod asm;
pub mod fabric;
pub mod host;
pub mod isa;
pub mod kernels;
pub mod link;
pub mod memory;
pub mod package;
pub mod sim;
