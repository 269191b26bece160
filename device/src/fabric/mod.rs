//! The exchange fabric: which word arrives where and when.

pub mod topology;
