//! Tests of the simulator, on programs put together word by word.

mod exchange;
mod faults;
mod matrix;
mod operations;
mod program;
mod random;
mod report;
mod timing;
