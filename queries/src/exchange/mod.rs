//! Exchange phases: problem, order, timing, rows.
//!
//! In: a [`problem::Problem`]. [`order::order`] finds, without addresses, in which order and pieces the words leave;
//! [`banks::clash`] condenses the addresses to what matters for time; [`timing::timing`] places every piece exactly.

pub mod banks;
pub mod bounds;
mod jobs;
pub mod order;
mod placement;
pub mod problem;
mod search;
mod sequence;
mod timeline;
pub mod timing;
pub mod traffic;
pub mod verify;
pub mod absolute;

pub use jobs::{LONGEST_MESSAGE, Span};
pub use search::Effort;
