//! The instruction-level simulator of the whole chip.
//!
//! In: bytes. For every logical tile segments of memory, the AMP flag table, named debug regions and symbols for messages.
//! Out: the memories after the run, clocks and counts; or one [`Fault`] with tile, context, clock, address, symbol and
//! instruction. No schedule, plan or encoder is looked at: what the chip does is derived from the words alone.
//!
//! ```text
//! fault        kinds of faults, and where they happened
//! memory       one tile's memory, with a written bit per word
//! number       f16 and f32 as bits
//! operation    word -> decoded instruction with its handlers; the code cache
//! integer      operations on main registers          (supervisor and workers)
//! access       loads and stores
//! elementwise  floating point on arithmetic registers (workers)
//! accumulator  $AACC instructions
//! amp          the matrix unit
//! worker       a worker context and its issue
//! supervisor   the supervisor context and its issue, row instructions
//! tile         contexts by clock
//! exchange     which word arrives where and when, after a barrier
//! machine      tiles in parallel, barriers, the report
//! ```
//!
//! Properties:
//! 1. Contexts issue in the exact order of the clocks; tiles meet only at barriers and in the words of an epoch.
//! 2. Results, clocks and the reported fault do not depend on the number of threads.
//! 3. No input panics: every word, register value and address either has a meaning or is a fault.
//!
//! Every hardware fact relied on is listed with source and confidence in `device/FIDELITY.md`.

mod access;
mod accumulator;
mod amp;
mod elementwise;
mod exchange;
mod fault;
mod integer;
mod machine;
mod memory;
mod number;
mod operation;
mod supervisor;
#[cfg(test)]
mod tests;
mod tile;
mod worker;

pub use fault::{ContextId, FAULT_CODE, Fault, FaultKind};
pub use machine::{
    BARRIER_LATENCY, BarrierReport, Call, Machine, MachineConfig, Region, RunReport, TileMachine, TileReport,
};
pub use operation::supported_forms;
pub use tile::{TraceLine, TraceSink};
