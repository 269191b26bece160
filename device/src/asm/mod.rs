//! Tile assembly text to relocatable ELF32 objects.
//!
//! In: a source with its name, predefined macros, an include resolver. Out: an [`Object`], or every error that one
//! pass over the source finds. The stages, in the order of the data:
//!
//! ```text
//! preprocess   #define, #include, #if, comments -> logical lines
//! statements   ; .macro .rept .irp              -> statements
//! lexer, expression, operands                   -> mnemonic and operands
//! alias, select                                 -> form of the instruction table and values
//! bundle, directive, data                       -> bytes in sections, fixups
//! finish                                        -> values of symbols, repeat checks, relocations
//! object                                        -> ELF
//! ```
//!
//! Properties:
//! 1. Every instruction has a fixed size, so all places are known at once: one pass and a list of fixups suffice.
//! 2. An error ends its statement only; positions are those of the source text, through includes and macros.
//! 3. No source makes the assembler panic, hang or take unbounded memory: every expansion has a limit.
//! 4. Equal source and options give equal bytes.
//!
//! Syntax and rules: `assembler.md`; instructions come from the table in `isa` alone.

mod alias;
mod assembler;
mod bundle;
mod data;
mod diagnostic;
mod directive;
mod disassemble;
mod expression;
mod finish;
mod lexer;
mod object;
mod operands;
mod preprocess;
mod section;
mod select;
mod statements;
mod symbols;
mod text;

pub use diagnostic::{Diagnostic, Level};
pub use disassemble::{Disassembly, DisassemblyError, Line, disassemble_either, disassemble_object, disassemble_words};

use crate::isa::{AmpFlags, Context};

/// Finds the text of `#include` and `.include` files.
pub trait Includes {
    /// Path and text of `name`, included from the file `from`; `None` when there is no such file.
    fn read(&self, name: &str, from: &str) -> Option<(String, String)>;
}

impl<F: Fn(&str, &str) -> Option<(String, String)>> Includes for F {
    fn read(&self, name: &str, from: &str) -> Option<(String, String)> {
        self(name, from)
    }
}

/// The resolver that finds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl Includes for NoIncludes {
    fn read(&self, _: &str, _: &str) -> Option<(String, String)> {
        None
    }
}

/// How a source is to be assembled.
pub struct Options<'a> {
    /// Who executes until the first `.supervisor` or `.worker`; a worker by default.
    pub context: Context,
    /// Predefined preprocessor macros: name and replacement text.
    pub defines: Vec<(String, String)>,
    /// Finds included files.
    pub includes: &'a dyn Includes,
    /// Values of the `TAMP_` symbols.
    pub flags: AmpFlags,
    /// Whether the rules about alignment and repeat bodies are errors (else they are warnings).
    pub enforce_layout: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            context: Context::Worker,
            defines: Vec::new(),
            includes: &NoIncludes,
            flags: AmpFlags::default(),
            enforce_layout: true,
        }
    }
}

/// A relocatable object.
#[derive(Clone, Debug)]
pub struct Object {
    /// The ELF file.
    pub bytes: Vec<u8>,
    /// What is odd but allowed.
    pub warnings: Vec<Diagnostic>,
}

/// Assembles a source to an object; on errors, all of them in source order (warnings left out).
pub fn assemble(file_name: &str, source: &str, options: &Options<'_>) -> Result<Object, Vec<Diagnostic>> {
    let mut assembler = assembler::Assembler::new(file_name, source, options);
    assembler.run();
    assembler.finish();
    let object = object::write(&assembler);
    let (errors, warnings) = assembler.into_diagnostics();
    if !errors.is_empty() {
        return Err(errors);
    }
    match object {
        Ok(bytes) => Ok(Object { bytes, warnings }),
        Err(message) => Err(vec![Diagnostic {
            level: Level::Error,
            file: file_name.to_owned(),
            line: 1,
            column: 1,
            message,
            notes: Vec::new(),
        }]),
    }
}

/// The bytes of one instruction statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HexLine {
    /// All bytes of the statement in memory order; fields that only a linker can fill are 0.
    pub bytes: Vec<u8>,
    /// The statement.
    pub source: String,
}

impl std::fmt::Display for HexLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for byte in &self.bytes {
            write!(f, "{byte:02x}")?;
        }
        write!(f, "\t{}", self.source)
    }
}

/// The bytes of every instruction statement in source order: a bundle is one statement, `ldconst` may have 8 bytes.
/// Alignment is not enforced, whatever the options say.
pub fn hex(file_name: &str, source: &str, options: &Options<'_>) -> Result<Vec<HexLine>, Vec<Diagnostic>> {
    let options = Options {
        context: options.context,
        defines: options.defines.clone(),
        includes: options.includes,
        flags: options.flags.clone(),
        enforce_layout: false,
    };
    let mut assembler = assembler::Assembler::new(file_name, source, &options);
    assembler.run();
    assembler.finish();
    let lines = assembler.listing();
    let (errors, _) = assembler.into_diagnostics();
    if errors.is_empty() { Ok(lines) } else { Err(errors) }
}
