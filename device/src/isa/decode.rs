//! Word to instruction.

use super::table::{Class, Context, Operand, TABLE};
use super::{BUNDLE_BIT, Instruction, form};

/// The instruction of a word in a context; `None` when no form matches or a register field is invalid.
///
/// Bit 31 makes it half of a bundle, except for `sendpicp`, whose bit 31 is fixed.
pub fn decode(word: u32, context: Context) -> Option<Instruction> {
    let bucket = &TABLE.buckets[((word >> 24) & 0x7f) as usize];
    for &id in bucket {
        let form = form(id);
        if (word ^ form.value) & form.mask != 0 || !form.contexts.allow(context) {
            continue;
        }
        let mut operands = [0; 6];
        for (slot, operand) in operands.iter_mut().zip(&form.operands) {
            *slot = operand_value(operand, word)?;
        }
        let bundled = form.mask & BUNDLE_BIT == 0 && word & BUNDLE_BIT != 0;
        return Some(Instruction { form: id, operands, bundled });
    }
    None
}

fn operand_value(operand: &Operand, word: u32) -> Option<i32> {
    let mut stored = 0u32;
    for p in &operand.pieces {
        let bits = ((1u64 << p.width) - 1) as u32;
        stored |= ((word >> p.word_low) & bits) << p.value_low;
    }
    match operand.class {
        Class::UpperBits => Some((stored << 20) as i32),
        Class::Signed => {
            let shift = 32 - u32::from(operand.bits);
            Some(((stored << shift) as i32) >> shift)
        }
        // Pairs of the main file end at $m10:11: the registers above are special (assembler.md 2).
        Class::MPair if stored > 10 => None,
        class if class.is_register() && !stored.is_multiple_of(class.span()) => None,
        _ => Some(stored as i32),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Class, Context, Instruction, encode, forms};
    use super::*;

    fn context_of(form: &super::super::Form) -> Context {
        if form.contexts.allow(Context::Worker) { Context::Worker } else { Context::Supervisor }
    }

    proptest! {
        #[test]
        fn decode_inverts_encode(seeds in proptest::array::uniform6(any::<u32>()), bundled in any::<bool>()) {
            for form in forms() {
                let mut operands = [0i32; 6];
                for ((slot, operand), seed) in operands.iter_mut().zip(&form.operands).zip(seeds) {
                    let (low, high) = super::super::encode::range(operand);
                    *slot = match operand.class {
                        Class::UpperBits => (seed << 20) as i32,
                        Class::MPair => (seed % 6 * 2) as i32,
                        c if c.is_register() => (seed % (16 / c.span()) * c.span()) as i32,
                        _ => (low + i64::from(seed) % (high - low + 1)) as i32,
                    };
                }
                let x = Instruction { form: form.id, operands, bundled: bundled && form.coissue };
                let word = encode(&x).expect("operands are in range");
                prop_assert_eq!(decode(word, context_of(form)), Some(x), "{}", form.name);
            }
        }
    }
}
