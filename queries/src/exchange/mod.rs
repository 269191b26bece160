//! Exchange phases: problem, order, timing, rows.

pub mod problem;
