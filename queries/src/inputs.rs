//! What a user can change: one input field for each.

use std::sync::Arc;

/// A model file.
#[salsa::input(debug)]
pub struct SourceFile {
    /// As the user named it.
    #[returns(deref)]
    pub path: String,
    /// Its content.
    #[returns(ref)]
    pub text: Arc<str>,
}

/// A kernel source or an include file of one.
#[salsa::input(debug)]
pub struct KernelSource {
    /// File name, for example `gemm_f16.S`.
    #[returns(deref)]
    pub name: String,
    /// Its content.
    #[returns(ref)]
    pub text: Arc<str>,
}
