//! The exchange fabric: which word arrives where and when.

pub mod encode;
pub mod row;
pub mod rows;
pub mod topology;
