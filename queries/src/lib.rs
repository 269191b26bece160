//! The compiler: from model text to tile programs, every stage a memoized query.
//!
//! The stages stand in the order in which the data flows; each is plain functions on plain data, and
//! [`stages`] holds the memos around them.
//!
//! ```text
//! model       text -> spanned tree -> resolved graph, limits apart
//! plan        candidates of each operator, whole-graph frontier, choice within limits
//! lower       plans -> buffers, kernel calls, exchange phases per tile; no addresses
//! exchange    phase problem -> order -> start slots
//! place       lifetimes, memory classes, addresses
//! emit        tile programs -> supervisor code
//! diagnostics codes, problems that name entities
//! ```
//!
//! Invariants: nothing here prints, opens a file or a device, or watches anything.

pub mod model;
pub mod plan;
pub mod lower;
pub mod exchange;
pub mod place;
pub mod emit;
pub mod diagnostics;

pub mod database;
pub mod digest;
pub mod inputs;
pub mod keys;
pub mod stages;
pub mod trace;
