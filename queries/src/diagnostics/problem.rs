//! One problem of the user's model.

use crate::model::json::Span;
use crate::model::value::{Edit, Value};

use super::codes::Code;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// No package comes of this model.
    Error,
    /// Worth a look.
    Warning,
}

impl Level {
    /// "error" or "warning".
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Which part of an entity a label points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// What names it: an operator's name, a tensor's key; for other objects the opening bracket.
    Head,
    /// Its key.
    Key,
    /// Its whole value.
    Value,
}

/// Where a label points.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// An entity by its path, for example `ops.fc1.plan.grid` or `inputs.x.shape[0]`.
    Path {
        /// The path; empty for the whole model.
        path: String,
        /// What of it.
        part: Part,
    },
    /// Bytes of the text: only for problems of the parser, where no entity exists yet.
    Bytes(Span),
}

/// A place and what it has to do with the problem.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// A few words, perhaps none.
    pub text: String,
    /// The cause, rather than context.
    pub primary: bool,
}

/// A change that may help.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Suggestion {
    /// What to do, in the imperative.
    pub message: String,
    /// The same as edits of the model; none where it can't be said so.
    pub edits: Vec<Edit>,
    /// Numbers that were found by trying it; empty if it was not tried.
    pub effect: Vec<(String, Value)>,
}

/// Something that is wrong with the model or does not fit the chip.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Problem {
    /// Its code.
    pub code: Code,
    /// The first line, without code.
    pub message: String,
    /// Where, primary labels among them.
    pub labels: Vec<Label>,
    /// Further lines: rules, contributors.
    pub notes: Vec<String>,
    /// Its numbers by name: needed, limit, worst tile, ...
    pub data: Vec<(String, Value)>,
    /// What to change.
    pub suggestions: Vec<Suggestion>,
}

impl Problem {
    /// A problem without places yet.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            data: Vec::new(),
            suggestions: Vec::new(),
        }
    }

    /// Error or warning, by the code.
    pub fn level(&self) -> Level {
        self.code.level()
    }

    /// Adds the cause: a part of the entity at `path`.
    #[must_use]
    pub fn at(self, path: impl Into<String>, part: Part, text: impl Into<String>) -> Self {
        self.label(Label { place: Place::Path { path: path.into(), part }, text: text.into(), primary: true })
    }

    /// Adds the cause: the operator or tensor at `path`, shown at its name.
    #[must_use]
    pub fn entity(self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.at(path, Part::Head, text)
    }

    /// Adds context: a part of the entity at `path`.
    #[must_use]
    pub fn context(self, path: impl Into<String>, part: Part, text: impl Into<String>) -> Self {
        self.label(Label { place: Place::Path { path: path.into(), part }, text: text.into(), primary: false })
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, label: Label) -> Self {
        self.labels.push(label);
        self
    }

    /// Adds a line.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a number or name that a program may want.
    #[must_use]
    pub fn datum(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.data.push((name.to_owned(), value.into()));
        self
    }

    /// Adds a change that was not tried.
    #[must_use]
    pub fn suggest(mut self, message: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.suggestions.push(Suggestion { message: message.into(), edits, effect: Vec::new() });
        self
    }
}
