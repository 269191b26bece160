mod elementwise;
mod gemm;
mod numbers;
mod runtime;
mod sources;
mod tile;
