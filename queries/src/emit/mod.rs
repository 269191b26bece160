//! From placed steps to bytes: tile programs, tile images, the package.

pub mod tile_program;
