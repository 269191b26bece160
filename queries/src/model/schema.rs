//! The one list of what model.json may hold. The checker reads it, and `ipuc schema` prints it as JSON Schema.
//!
//! What the compiler knows but can't do yet stands here as `later`: it is refused by name (E0010) and not offered by the
//! printed schema.

use serde_json::{Map, json};

use ipuc_device::memory;

use crate::diagnostics::Code;
use crate::diagnostics::codes::{INVALID_VALUE, UNKNOWN_NAME};

/// An object with fixed keys.
#[derive(Debug)]
pub struct Record {
    /// What such an object is, for messages: "a weight".
    pub what: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// Keys that exclude each other.
    pub one_of: Option<OneOf>,
}

/// A group of keys of which at most one may stand.
#[derive(Debug)]
pub struct OneOf {
    /// The keys.
    pub keys: &'static [&'static str],
    /// One must stand.
    pub required: bool,
}

/// A key of a [`Record`].
#[derive(Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// Must it stand?
    pub required: bool,
    /// What its value may be.
    pub form: Form,
    /// What it means.
    pub text: &'static str,
}

/// What a value may be.
#[derive(Debug)]
pub enum Form {
    /// Any non-empty string.
    Text,
    /// Any string, also an empty one.
    Remark,
    /// A name, see [`is_name`].
    Name,
    /// One of a few words.
    Choice {
        /// What they are: "dtype".
        what: &'static str,
        /// Accepted words.
        accepted: &'static [&'static str],
        /// Known words that are refused by name.
        later: &'static [&'static str],
        /// Code for any other word.
        unknown: Code,
    },
    /// An integer of a range, both ends included.
    Integer(i64, i64),
    /// A finite number, not negative.
    Deviation,
    /// An array of integers.
    Integers {
        /// What they are: "extents".
        what: &'static str,
        /// Fewest and most items.
        items: (usize, usize),
        /// Smallest and greatest value.
        range: (i64, i64),
    },
    /// Two integers of a range, the second not below the first.
    Bounds(i64, i64),
    /// An array of strings that name things, not empty; whether they do is found out later.
    Names,
    /// A file name that ends with `.npy`.
    File,
    /// An object with fixed keys.
    Record(&'static Record),
    /// An object whose keys are names.
    Map(&'static Record),
    /// The array of operators.
    Operators(&'static Record),
    /// A known key that is refused by name.
    Later,
}

/// Most axes of a tensor.
pub const MOST_AXES: usize = 16;
/// Longest name, in bytes.
pub const LONGEST_NAME: usize = 128;
/// Greatest finite F16.
const F16_GREATEST: i64 = 65504;
const TILES: i64 = memory::TILES as i64;
/// Greatest number of a pin: more parts than tiles or blocks is the planner's to refuse.
const MOST_PARTS: i64 = i32::MAX as i64;

/// All dtypes that the contract names; only f16 is accepted yet.
const DTYPES_LATER: &[&str] = &["f32", "f8e4m3fnuz", "f8e5m2fnuz", "i32"];

/// The kinds of operators that are accepted.
pub const OPERATORS: &[&str] = &["gemm"];
/// The kinds of operators that are known and refused by name.
pub const OPERATORS_LATER: &[&str] = &[
    "add",
    "attention",
    "cast",
    "flash_attention",
    "gelu",
    "layer_norm",
    "merge_heads",
    "repeat",
    "slice",
    "softmax",
    "split_heads",
    "transpose",
    "view",
];

/// The whole file.
pub static MODEL: Record = Record {
    what: "a model",
    keys: &[
        Key { name: "name", required: true, form: Form::Text, text: "Name of the model." },
        Key { name: "description", required: false, form: Form::Remark, text: "Remarks; they change nothing." },
        Key { name: "target", required: false, form: Form::Record(&TARGET), text: "The chip and its limits." },
        Key {
            name: "inputs",
            required: false,
            form: Form::Map(&INPUT),
            text: "Tensors that are given at each call, by name.",
        },
        Key {
            name: "weights",
            required: false,
            form: Form::Map(&WEIGHT),
            text: "Tensors that are loaded once and stay on the tiles, by name.",
        },
        Key {
            name: "ops",
            required: true,
            form: Form::Operators(&OPERATOR),
            text: "Operators in execution order; an operator's result bears its name.",
        },
        Key {
            name: "outputs",
            required: true,
            form: Form::Names,
            text: "Names of the operators whose results are returned.",
        },
    ],
    one_of: None,
};

static TARGET: Record = Record {
    what: "a target",
    keys: &[
        Key {
            name: "chip",
            required: false,
            form: Form::Choice { what: "chip", accepted: &["ipu21"], later: &[], unknown: INVALID_VALUE },
            text: "The chip.",
        },
        Key { name: "tiles", required: false, form: Form::Integer(1, TILES), text: "Tiles to use (default 1472)." },
        Key {
            name: "tile_memory_bytes",
            required: false,
            form: Form::Integer(1, memory::SIZE as i64),
            text: "Limit of the bytes of a tile (default 638976).",
        },
        Key {
            name: "exchange_table_bytes",
            required: false,
            form: Form::Integer(0, memory::SIZE as i64),
            text: "Limit of the bytes of exchange rows of a tile (default 81920).",
        },
        Key {
            name: "profiling",
            required: false,
            form: Form::Choice {
                what: "profiling",
                accepted: &["none"],
                later: &["overall", "full"],
                unknown: INVALID_VALUE,
            },
            text: "Cycle samples in the program (default none).",
        },
        Key {
            name: "effort",
            required: false,
            form: Form::Choice {
                what: "effort",
                accepted: &["fast", "normal", "max"],
                later: &[],
                unknown: INVALID_VALUE,
            },
            text: "How much work the planner and the exchange scheduler do (default normal).",
        },
    ],
    one_of: None,
};

const SHAPE: Key = Key {
    name: "shape",
    required: true,
    form: Form::Integers { what: "extents", items: (1, MOST_AXES), range: (1, u32::MAX as i64) },
    text: "Extents, outermost first.",
};
const DTYPE: Key = Key {
    name: "dtype",
    required: true,
    form: Form::Choice { what: "dtype", accepted: &["f16"], later: DTYPES_LATER, unknown: INVALID_VALUE },
    text: "Element type.",
};
const FILE: Key = Key {
    name: "file",
    required: false,
    form: Form::File,
    text: "A .npy file with the data; relative paths are relative to the model.",
};
const TENSOR_IN_FILE: Key =
    Key { name: "tensor", required: false, form: Form::Later, text: "Name of the tensor in a .safetensors file." };
const RANDOM: Key =
    Key { name: "random", required: false, form: Form::Record(&RANDOM_DATA), text: "Seeded random data." };

static INPUT: Record = Record {
    what: "an input",
    keys: &[SHAPE, DTYPE, FILE, TENSOR_IN_FILE, RANDOM],
    one_of: Some(OneOf { keys: &["file", "random"], required: false }),
};

static WEIGHT: Record = Record {
    what: "a weight",
    keys: &[SHAPE, DTYPE, FILE, TENSOR_IN_FILE, RANDOM],
    one_of: Some(OneOf { keys: &["file", "random"], required: true }),
};

static RANDOM_DATA: Record = Record {
    what: "random data",
    keys: &[
        Key {
            name: "normal",
            required: false,
            form: Form::Deviation,
            text: "Normal distribution around zero with this standard deviation.",
        },
        Key {
            name: "integers",
            required: false,
            form: Form::Bounds(-F16_GREATEST, F16_GREATEST),
            text: "Integers from the first to the second bound, both included.",
        },
        Key { name: "seed", required: false, form: Form::Integer(0, i64::MAX), text: "Seed (default 0)." },
    ],
    one_of: Some(OneOf { keys: &["normal", "integers"], required: true }),
};

static OPERATOR: Record = Record {
    what: "an operator",
    keys: &[
        Key { name: "name", required: true, form: Form::Name, text: "Name of the operator and of its result." },
        Key {
            name: "op",
            required: true,
            form: Form::Choice {
                what: "operator kind",
                accepted: OPERATORS,
                later: OPERATORS_LATER,
                unknown: UNKNOWN_NAME,
            },
            text: "What it does.",
        },
        Key {
            name: "inputs",
            required: true,
            form: Form::Names,
            text: "Operands: for gemm the left one [.., M, K] and the right one [K, N].",
        },
        Key {
            name: "precision",
            required: false,
            form: Form::Choice {
                what: "precision",
                accepted: &["f16"],
                later: &["f32", "f8e4m3fnuz", "f8e5m2fnuz"],
                unknown: INVALID_VALUE,
            },
            text: "In what it multiplies (default f16).",
        },
        Key {
            name: "transpose_left",
            required: false,
            form: Form::Later,
            text: "Swap the last two axes of the left operand.",
        },
        Key {
            name: "transpose_right",
            required: false,
            form: Form::Later,
            text: "Swap the last two axes of the right operand.",
        },
        Key { name: "plan", required: false, form: Form::Record(&PLAN), text: "Pins choices of the planner." },
        Key { name: "budget", required: false, form: Form::Record(&BUDGET), text: "Limits of this operator." },
    ],
    one_of: None,
};

static PLAN: Record = Record {
    what: "a plan",
    keys: &[
        Key {
            name: "grid",
            required: false,
            form: Form::Integers { what: "parts of [M, N, K]", items: (3, 3), range: (1, MOST_PARTS) },
            text: "Into how many parts M, N and K are cut.",
        },
        Key {
            name: "steps",
            required: false,
            form: Form::Integer(1, MOST_PARTS),
            text: "In how many passes over K a tile works.",
        },
    ],
    one_of: None,
};

static BUDGET: Record = Record {
    what: "a budget",
    keys: &[Key {
        name: "tile_bytes",
        required: false,
        form: Form::Integer(1, memory::SIZE as i64),
        text: "Limit of the bytes of this operator on a tile.",
    }],
    one_of: None,
};

/// Whether a tensor or an operator may bear this name: ASCII letters, digits, `_`, `-` and `.`, beginning with a letter, a
/// digit or `_`, so that paths and file names can hold it.
pub fn is_name(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let all = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    first && all && name.len() <= LONGEST_NAME
}

/// The JSON Schema (draft 2020-12) of model.json.
pub fn json_schema() -> serde_json::Value {
    let mut schema = record(&MODEL);
    let top = schema.as_object_mut().expect("a record is an object");
    top.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    top.insert("title".to_owned(), json!("ipuc model"));
    schema
}

fn record(record: &Record) -> serde_json::Value {
    let accepted = || record.keys.iter().filter(|key| !matches!(key.form, Form::Later));
    let properties: Map<String, serde_json::Value> = accepted()
        .map(|key| {
            let mut value = form(&key.form);
            value.as_object_mut().expect("a form is an object").insert("description".to_owned(), json!(key.text));
            (key.name.to_owned(), value)
        })
        .collect();
    let required: Vec<&str> = accepted().filter(|key| key.required).map(|key| key.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let members = schema.as_object_mut().expect("an object was made");
    if !required.is_empty() {
        members.insert("required".to_owned(), json!(required));
    }
    if let Some(group) = &record.one_of {
        let each: Vec<_> = group.keys.iter().map(|key| json!({ "required": [key] })).collect();
        if group.required {
            members.insert("oneOf".to_owned(), json!(each));
        } else {
            members.insert("not".to_owned(), json!({ "required": group.keys }));
        }
    }
    schema
}

fn form(form: &Form) -> serde_json::Value {
    match form {
        Form::Text => json!({ "type": "string", "minLength": 1 }),
        Form::Remark => json!({ "type": "string" }),
        Form::Name => name_schema(),
        Form::Choice { accepted, .. } => json!({ "enum": accepted }),
        Form::Integer(least, greatest) => json!({ "type": "integer", "minimum": least, "maximum": greatest }),
        Form::Deviation => json!({ "type": "number", "minimum": 0 }),
        Form::Integers { items, range, .. } => json!({
            "type": "array",
            "items": { "type": "integer", "minimum": range.0, "maximum": range.1 },
            "minItems": items.0,
            "maxItems": items.1,
        }),
        Form::Bounds(least, greatest) => json!({
            "type": "array",
            "items": { "type": "integer", "minimum": least, "maximum": greatest },
            "minItems": 2,
            "maxItems": 2,
        }),
        Form::Names => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
        Form::File => json!({ "type": "string", "pattern": "\\.[nN][pP][yY]$" }),
        Form::Record(inner) => record(inner),
        Form::Map(inner) => json!({
            "type": "object",
            "propertyNames": name_schema(),
            "additionalProperties": record(inner),
        }),
        Form::Operators(inner) => json!({ "type": "array", "items": record(inner), "minItems": 1 }),
        Form::Later => unreachable!("later keys are filtered out"),
    }
}

fn name_schema() -> serde_json::Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*$", "maxLength": LONGEST_NAME })
}
