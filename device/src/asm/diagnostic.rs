//! What the assembler has to say about a source: errors and warnings with their place.

use std::fmt;

use super::text::Position;

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// No object is made.
    Error,
    /// The object is made all the same.
    Warning,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub level: Level,
    /// File as the caller or the include resolver named it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// Reason.
    pub message: String,
    /// Macro expansions that led here, innermost first.
    pub notes: Vec<String>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = if self.level == Level::Error { "error" } else { "warning" };
        write!(f, "{}:{}:{}: {level}: {}", self.file, self.line, self.column, self.message)?;
        for note in &self.notes {
            write!(f, "\n  {note}")?;
        }
        Ok(())
    }
}

/// A reason with its place, before file names and notes are filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) at: Position,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(at: Position, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

pub(super) type Outcome<T> = Result<T, Problem>;
