//! The `ipuc` command line.
fn main() {}
