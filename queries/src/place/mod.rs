//! Where everything lies on a tile: reserved code and tables, then buffers.

pub mod allocate;
