//! The exchange fabric: which word arrives where and when.
//!
//! ```text
//! topology   logical and physical tiles, route times
//! row        one tile's part of a phase, addresses resolved, times decided
//! rows       placed messages of a phase -> one row description per tile
//! encode     row description -> words
//! decode     words -> send pieces and controls
//! validate   words and registers of all tiles -> which word arrives where and when -> broken invariants
//! ```
//!
//! `decode` and `validate` know neither `encode` nor `row`/`rows`: they are the witness of those.

pub mod decode;
pub mod encode;
pub mod row;
pub mod rows;
pub mod topology;
pub mod validate;
