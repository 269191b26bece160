//! Plans: which tile computes what, and what it costs.

pub mod layout;
