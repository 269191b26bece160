//! Instruction to word.

use super::{BUNDLE_BIT, Class, Form, Instruction, Operand};

/// Why operand values do not fit a form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// An immediate outside the range of its field.
    #[error("immediate {value} out of range {low} .. {high}")]
    Range {
        /// What was given.
        value: i64,
        /// Lowest value that fits.
        low: i64,
        /// Highest value that fits.
        high: i64,
    },
    /// An upper-bits immediate with bits among the low 20.
    #[error("immediate {0:#x} has bits set below bit 20")]
    LowBits(i64),
    /// A register group whose low register is no multiple of its span.
    #[error("register group at {0} is not aligned to its span")]
    Group(i64),
    /// No such register.
    #[error("no register {0}")]
    Register(i64),
    /// A form that cannot stand in a bundle.
    #[error("{0} cannot be half of a bundle")]
    NotBundleable(&'static str),
}

/// Lowest and highest value that an operand takes, in the unit of the source text.
pub(super) fn range(operand: &Operand) -> (i64, i64) {
    match operand.class {
        Class::Signed => (-(1 << (operand.bits - 1)), (1 << (operand.bits - 1)) - 1),
        _ => (0, (1 << operand.bits) - 1),
    }
}

/// The word of an instruction; bit 31 is set when it is half of a bundle.
pub fn encode(instruction: &Instruction) -> Result<u32, EncodeError> {
    let form = instruction.form();
    let word = encode_form(form, &instruction.operands.map(i64::from)[..form.operands.len()])?;
    if !instruction.bundled {
        return Ok(word);
    }
    if form.coissue { Ok(word | BUNDLE_BIT) } else { Err(EncodeError::NotBundleable(form.mnemonic)) }
}

/// The word of a form with operand values in source order (bit 31 as the form fixes it, else 0).
pub fn encode_form(form: &Form, values: &[i64]) -> Result<u32, EncodeError> {
    let mut word = form.value;
    for (operand, &value) in form.operands.iter().zip(values) {
        let stored = field_value(operand, value)?;
        for p in &operand.pieces {
            let bits = ((1u64 << p.width) - 1) as u32;
            word |= ((stored >> p.value_low) & bits) << p.word_low;
        }
    }
    Ok(word)
}

fn field_value(operand: &Operand, value: i64) -> Result<u32, EncodeError> {
    match operand.class {
        Class::UpperBits => {
            if !(-(1i64 << 31)..1i64 << 32).contains(&value) {
                return Err(EncodeError::Range { value, low: -(1 << 31), high: (1 << 32) - 1 });
            }
            let value32 = value as u32;
            if value32 & 0xf_ffff != 0 {
                return Err(EncodeError::LowBits(value));
            }
            Ok(value32 >> 20)
        }
        class if class.is_register() => {
            if !(0..16).contains(&value) {
                return Err(EncodeError::Register(value));
            }
            if value % i64::from(class.span()) != 0 {
                return Err(EncodeError::Group(value));
            }
            Ok(value as u32)
        }
        _ => {
            let (low, high) = range(operand);
            if value < low || value > high {
                return Err(EncodeError::Range { value, low, high });
            }
            Ok(value as u32)
        }
    }
}
