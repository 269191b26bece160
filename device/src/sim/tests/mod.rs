//! Tests of the simulator, on programs put together word by word.

mod program;
mod timing;
