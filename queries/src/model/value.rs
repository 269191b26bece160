//! JSON data without positions: the values of edits, of a problem's numbers and of suggestions.
//!
//! Everything compares and hashes exactly (floating numbers by their bits), so that values can be part of query keys.

use std::fmt;

/// A floating number that compares by its bits, so that a memo that holds one can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Real(u64);

impl Real {
    /// Wraps a number; minus zero becomes zero.
    pub fn new(value: f64) -> Self {
        Self(if value == 0.0 { 0 } else { value.to_bits() })
    }

    /// The number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.get())
    }
}

/// A JSON value without spans.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// `null`; as the value of an [`Edit`]: remove the key.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without fraction and exponent.
    Integer(i64),
    /// Any other number.
    Float(Real),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Value>),
    /// An object, keys in the order written.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The same value for `serde_json`.
    pub fn to_serde(&self) -> serde_json::Value {
        match self {
            Self::Null => serde_json::Value::Null,
            Self::Bool(value) => (*value).into(),
            Self::Integer(value) => (*value).into(),
            Self::Float(value) => value.get().into(),
            Self::Text(value) => value.clone().into(),
            Self::Array(items) => items.iter().map(Self::to_serde).collect(),
            Self::Object(members) => {
                serde_json::Value::Object(members.iter().map(|(key, value)| (key.clone(), value.to_serde())).collect())
            }
        }
    }
}

impl fmt::Display for Value {
    /// Compact JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{}", serde_json::Value::from(value.as_str())),
            Self::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (index, (key, value)) in members.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{}: {value}", serde_json::Value::from(key.as_str()))?;
                }
                f.write_str("}")
            }
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<u64> for Value {
    /// Numbers beyond the range of an integer become floating ones.
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Float(Real::new(value as f64)), Self::Integer)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(Real::new(value))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

/// A change of one place of the model: `--target KEY=VALUE`, a what-if of an editor, a suggested fix.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edit {
    /// Which place, for example `target.tiles` or `ops.fc1.plan.grid`.
    pub path: String,
    /// The new value; null removes the key.
    pub value: Value,
}

impl Edit {
    /// Sets `path` to `value`.
    pub fn set(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { path: path.into(), value: value.into() }
    }

    /// An edit as typed on a command line: the text is JSON if it parses as such, else a string as it stands
    /// (`effort=fast`).
    pub fn typed(path: impl Into<String>, text: &str) -> Self {
        let (node, defects) = super::json::parse(text);
        let value = if defects.is_empty() { node.to_value() } else { Value::from(text) };
        Self { path: path.into(), value }
    }
}
