//! The instruction set: one table of 368 forms from which encoder, decoder, printer, assembler and simulator dispatch
//! are driven. There is no second list.
//!
//! In: the tab-separated tables beside this file (`common.tsv`, `worker.tsv`, `supervisor.tsv`: one row a form, pattern
//! bit 31 first; `*_modifiers.tsv`: operand suffixes; `csr.tsv`: register names), facts of the public LLVM back end.
//! Out: [`Form`]s, and [`Instruction`]s, which are a form with its operand values.
//!
//! Properties:
//! 1. `decode(encode(x)) == x` for every form and every operand values in range.
//! 2. Within one context no word matches two forms.
//! 3. Operand values are in source order and in the unit of the source text: a signed immediate is signed, an
//!    `imm12iz` is the 32-bit value whose low 20 bits are 0, a branch target is a word address, a register is its
//!    number (the low one of a pair or quad).

mod csr;
mod decode;
mod encode;
mod flags;
mod print;
mod table;

pub use csr::{Bank, Csr, csr_by_name, csr_by_number};
pub use decode::decode;
pub use encode::{EncodeError, encode, encode_form};
pub use flags::{AmpFlags, AmpStep};
pub use print::{print, print_bundle};
pub use table::{
    Class, Context, Contexts, Form, FormId, Lane, Operand, Piece, Role, Suffix, form, form_by_name, forms,
};

/// Bit 31: this word is half of a bundle.
pub const BUNDLE_BIT: u32 = 1 << 31;

/// A form with its operand values, in source order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Which row of the table.
    pub form: FormId,
    /// Operand values in source order; entries past the form's operand count are 0.
    pub operands: [i32; 6],
    /// Half of a bundle.
    pub bundled: bool,
}

impl Instruction {
    /// An instruction outside a bundle, by form name and operands in source order.
    ///
    /// Panics when the form does not exist or takes another number of operands: both are bugs of the caller.
    pub fn new(name: &str, operands: &[i32]) -> Self {
        let form = form_by_name(name).unwrap_or_else(|| panic!("no instruction form {name}"));
        assert_eq!(form.operands.len(), operands.len(), "operand count of {name}");
        let mut all = [0; 6];
        all[..operands.len()].copy_from_slice(operands);
        Self { form: form.id, operands: all, bundled: false }
    }

    /// The row of the table.
    pub fn form(&self) -> &'static Form {
        form(self.form)
    }
}
