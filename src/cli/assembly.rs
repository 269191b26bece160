//! `asm` and `disasm`.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ipuc_device::asm::{self, Includes, Level, Options};
use ipuc_device::isa::Context;
use ipuc_device::memory::{INTERLEAVED_BASE, TileId};
use ipuc_device::package::{MAGIC, Package, write_whole};
use serde_json::json;

use super::arguments::{Asm, AssemblyContext, Disasm};
use super::console::Console;
use super::exit::{Exit, Refused};
use super::paths;
use crate::compile::Diagnostic;

impl From<AssemblyContext> for Context {
    fn from(context: AssemblyContext) -> Self {
        match context {
            AssemblyContext::Worker => Self::Worker,
            AssemblyContext::Supervisor => Self::Supervisor,
        }
    }
}

/// Finds included files beside the file that includes them, then in the `-I` directories in order.
struct Directories<'a>(&'a [PathBuf]);

impl Includes for Directories<'_> {
    fn read(&self, name: &str, from: &str) -> Option<(String, String)> {
        let beside = paths::directory(Path::new(from));
        let directories = std::iter::once(beside).chain(self.0.iter().map(PathBuf::as_path));
        directories.map(|directory| directory.join(name)).find_map(|path| {
            let text = std::fs::read_to_string(&path).ok()?;
            Some((path.display().to_string(), text))
        })
    }
}

/// `ipuc asm`.
pub(super) fn assemble(console: &Console, arguments: &Asm) -> anyhow::Result<Exit> {
    if arguments.tile_defines.is_some() {
        return Err(Refused("--tile-defines is not available yet".into()).into());
    }
    let from_stdin = arguments.source == Path::new("-");
    let output = match &arguments.output {
        Some(path) => path.clone(),
        None if from_stdin && !arguments.hex => {
            return Err(Refused("a source from stdin needs -o FILE.o or --hex".into()).into());
        }
        None => paths::beside(Path::new(""), &arguments.source, "o"),
    };
    let mut bytes = Vec::new();
    let name = if from_stdin { "<stdin>".to_owned() } else { arguments.source.display().to_string() };
    let read = if from_stdin {
        std::io::stdin().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(&arguments.source).map(|read| bytes = read)
    };
    read.with_context(|| format!("cannot read {name}"))?;
    let source = String::from_utf8(bytes).with_context(|| format!("{name} is not text"))?;
    let includes = Directories(&arguments.include);
    let options = Options {
        context: arguments.context.into(),
        defines: arguments.define.clone(),
        includes: &includes,
        ..Options::default()
    };
    if arguments.hex {
        let lines = match asm::hex(&name, &source, &options) {
            Ok(lines) => lines,
            Err(errors) => return refuse(console, &errors),
        };
        for line in lines {
            let hex = line.bytes.iter().fold(String::new(), |mut hex, byte| {
                // Writing to a string can't fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            });
            if console.is_json() {
                console.object("instruction", json!({ "bytes": hex, "source": line.source }))?;
            } else {
                console.line(&line.to_string())?;
            }
        }
        return Ok(Exit::Success);
    }
    let object = match asm::assemble(&name, &source, &options) {
        Ok(object) => object,
        Err(errors) => return refuse(console, &errors),
    };
    for warning in &object.warnings {
        console.diagnostic(&diagnostic(warning))?;
    }
    if !from_stdin && paths::same_file(&arguments.source, &output) {
        return Err(Refused(format!("-o {}: the object would replace its source", output.display())).into());
    }
    write_whole(&output, &object.bytes).context("cannot write the object")?;
    console.object("assembled", json!({ "object": output.display().to_string() }))?;
    Ok(Exit::Success)
}

fn refuse(console: &Console, errors: &[asm::Diagnostic]) -> anyhow::Result<Exit> {
    for error in errors {
        console.diagnostic(&diagnostic(error))?;
    }
    Ok(Exit::Failure)
}

/// An assembler message in both forms.
fn diagnostic(message: &asm::Diagnostic) -> Diagnostic {
    let rendered = message.to_string();
    let error = message.level == Level::Error;
    let place = json!({ "line": message.line, "column": message.column });
    let json = json!({ "code": error.then_some("E4001"), "level": if error { "error" } else { "warning" },
        "message": message.message, "file": message.file,
        "spans": [{ "start": place, "end": place, "label": message.notes.join("; "), "path": null }],
        "data": {}, "suggestions": [], "rendered": rendered });
    Diagnostic { rendered, json }
}

/// `ipuc disasm`.
pub(super) fn disassemble(console: &Console, arguments: &Disasm) -> anyhow::Result<Exit> {
    let context = arguments.context.map(Context::from);
    if let Some(hex) = &arguments.hex {
        let words = words_of(&bytes_of(hex)?)?;
        let lines = asm::disassemble_words(&words, 0, context.unwrap_or(Context::Worker));
        let invalid = lines.iter().any(|line| !line.valid);
        let lines: Vec<String> = lines.into_iter().map(|line| line.text).collect();
        return print(console, &lines, invalid);
    }
    let path = arguments.file.as_ref().context("a file or --hex is required")?;
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.starts_with(&MAGIC) {
        let package = Package::from_bytes(&bytes).with_context(|| path.display().to_string())?;
        let tile = TileId(arguments.tile.unwrap_or(0));
        return print(console, &disassemble_tile(&package, tile, context), false);
    }
    if arguments.tile.is_some() {
        return Err(Refused(format!("--tile: {} is not a package", path.display())).into());
    }
    let disassembly = asm::disassemble_object(&bytes, context).with_context(|| path.display().to_string())?;
    print(console, &disassembly.lines, disassembly.invalid > 0)
}

fn print(console: &Console, lines: &[String], invalid: bool) -> anyhow::Result<Exit> {
    for line in lines {
        if console.is_json() {
            console.object("instruction", json!({ "text": line }))?;
        } else {
            console.line(line)?;
        }
    }
    if invalid && !console.is_json() {
        Console::note("error: some words are no instructions; they are listed as `invalid`");
    }
    Ok(if invalid { Exit::Failure } else { Exit::Success })
}

/// The code of one tile of a package: the segments in executable memory that a debug region names. Between functions lie
/// padding and constants, so words that are no instructions are no error here.
fn disassemble_tile(package: &Package, tile: TileId, context: Option<Context>) -> Vec<String> {
    let manifest = &package.manifest;
    let mut lines = Vec::new();
    for segment in &package.tiles[tile.index()].segments {
        let end = segment.address + segment.bytes.len() as u32;
        let region = manifest.debug_regions.iter().find(|region| region.start < end && segment.address < region.end);
        let Some(region) = region.filter(|_| end <= INTERLEAVED_BASE) else { continue };
        lines.push(format!("# tile {tile}, {}, {:#x}..{end:#x}", region.name, segment.address));
        let words: Vec<u32> = segment
            .bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
            .collect();
        let code = match context {
            Some(context) => asm::disassemble_words(&words, segment.address, context),
            None => asm::disassemble_either(&words, segment.address),
        };
        for line in code {
            let labels = manifest.symbols.iter().filter(|symbol| symbol.address == line.address);
            lines.extend(labels.map(|symbol| format!("{}:", symbol.name)));
            lines.push(format!("  {:#07x}: {}", line.address, line.text));
        }
    }
    lines
}

/// Bytes of hexadecimal digits.
fn bytes_of(hex: &str) -> anyhow::Result<Vec<u8>> {
    let wrong = || Refused(format!("--hex {hex}: expected pairs of hexadecimal digits"));
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return Err(wrong().into());
    }
    let byte = |at: usize| {
        let pair = &hex[at..at + 2];
        let digits = pair.bytes().all(|digit| digit.is_ascii_hexdigit());
        u8::from_str_radix(pair, 16).ok().filter(|_| digits).ok_or_else(|| wrong().into())
    };
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Little-endian words.
fn words_of(bytes: &[u8]) -> anyhow::Result<Vec<u32>> {
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) {
        return Err(Refused(format!("--hex: {} bytes are no whole number of words", bytes.len())).into());
    }
    Ok(bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect())
}
