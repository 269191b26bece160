//! How a command ends.

use std::process::ExitCode;

/// Exit codes of the interface contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Success = 0,
    /// The model has errors or does not fit, or a test failed.
    Failure = 1,
    /// Wrong usage, a missing or unreadable file, a damaged package.
    Usage = 2,
    /// A bug of ours.
    Bug = 101,
    /// Interrupted.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Something that a command refuses as wrong usage although the argument parser let it pass.
#[derive(Debug)]
pub struct Refused(pub String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
