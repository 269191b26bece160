//! From a model file to a package: the one place where the front asks the compiler.

use std::path::Path;

use ipuc_device::package::Package;

use crate::report::Report;

/// What to compile, and how.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Path of the model, as the user wrote it; for messages.
    pub path: &'a Path,
    /// Its text.
    pub text: &'a str,
    /// `--target KEY=VALUE`, in the order given: fields of `target` that replace the model's.
    pub target: &'a [(String, String)],
    /// Whether the artifact store may be used.
    pub cache: bool,
    /// Whether human diagnostics are coloured.
    pub color: bool,
}

/// A diagnostic in both of its forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// For people, with source lines.
    pub rendered: String,
    /// For programs: the object of the interface contract.
    pub json: serde_json::Value,
}

/// A model that compiles.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program. Paths of data files in it are as in the model: they start from the model's directory.
    pub package: Package,
    /// Stages, phases, totals and operators; no run.
    pub report: Report,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

/// Why there is no package.
#[derive(Clone, Debug)]
pub enum Failure {
    /// This version can't compile yet.
    Unavailable(&'static str),
    /// The model has errors or does not fit.
    Problems {
        /// What is wrong.
        diagnostics: Vec<Diagnostic>,
        /// As far as the stages got.
        report: Box<Report>,
    },
}

/// Compiles a model.
pub fn build(request: &Request<'_>) -> Result<Compiled, Failure> {
    let _ = request;
    Err(Failure::Unavailable("compiling models is not available yet"))
}

/// All problems of a model, without a package.
pub fn check(request: &Request<'_>) -> Result<Vec<Diagnostic>, Failure> {
    let _ = request;
    Err(Failure::Unavailable("checking models is not available yet"))
}
