//! The embedded tile kernel sources.

/// File name and text of every kernel source.
pub const SOURCES: &[(&str, &str)] = &[];
