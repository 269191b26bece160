//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Compiles model graphs for a Graphcore IPU21 and runs them, by default on a simulator.
#[derive(Debug, Parser)]
#[command(name = "ipuc", version, about, arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct Cli {
    /// Flags of all commands.
    #[command(flatten)]
    pub common: Common,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
pub(super) struct Common {
    /// Print what happens (-vv: in detail); IPUC_LOG filters finer
    #[arg(short, long, action = clap::ArgAction::Count, global = true, conflicts_with = "quiet")]
    pub verbose: u8,
    /// Print errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Form of results and diagnostics; json: one object a line on stdout
    #[arg(long, value_enum, default_value_t = MessageFormat::Human, global = true, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Form of the log on stderr
    #[arg(long, value_enum, default_value_t = LogFormat::Text, global = true, value_name = "FORMAT")]
    pub log_format: LogFormat,
    /// Colours; NO_COLOR turns them off, this flag is stronger
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true, value_name = "WHEN")]
    pub color: Color,
    /// Replace a field of the model's target, for example exchange_table_bytes=65536
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = assignment)]
    pub target: Vec<(String, String)>,
    /// Do not use artifacts of earlier runs
    #[arg(long, global = true)]
    pub no_cache: bool,
}

/// `KEY=VALUE`, neither part empty.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.into(), value.into())),
        _ => Err("expected KEY=VALUE".into()),
    }
}

/// `NAME[=VALUE]`; the value is 1 if absent.
fn define(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    if name.is_empty() { Err("expected NAME or NAME=VALUE".into()) } else { Ok((name.into(), value.into())) }
}

/// A tile number.
fn tile(text: &str) -> Result<u16, String> {
    let tiles = ipuc_device::memory::TILES;
    match text.parse() {
        Ok(number) if u32::from(number) < tiles => Ok(number),
        _ => Err(format!("expected a tile number below {tiles}")),
    }
}

/// Form of results and diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MessageFormat {
    /// Text.
    Human,
    /// One JSON object a line.
    Json,
}

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// Text.
    Text,
    /// One JSON object a line.
    Json,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Execution context of assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum AssemblyContext {
    /// Worker code.
    Worker,
    /// Supervisor code.
    Supervisor,
}

/// The commands. Those of later versions are refused by name.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Compile a model to a package
    Build(Build),
    /// Run a model or a package and compare the results with a reference
    Run(Run),
    /// Report every problem of a model, without writing anything
    Check(Check),
    /// Print the JSON Schema of model files
    Schema,
    /// Summarise a package
    Inspect(Inspect),
    /// Assemble tile assembly
    Asm(Asm),
    /// Disassemble an object, a package or words
    Disasm(Disasm),
    /// Explain a diagnostic code
    Explain(Explain),
    #[command(hide = true)]
    Watch(Later),
    #[command(hide = true)]
    Bisect(Later),
    #[command(hide = true)]
    Lsp(Later),
    #[command(hide = true)]
    Profile(Later),
    #[command(hide = true)]
    Import(Later),
    #[command(hide = true)]
    Cache(Later),
    /// Schedule one exchange phase
    Schedule(Schedule),
}

/// Arguments of a command that is not available yet.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(super) struct Later {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<OsString>,
}

/// Compile a model to a package.
#[derive(Debug, Args)]
pub(super) struct Build {
    /// The model file
    pub model: PathBuf,
    /// Where the package goes [default: MODEL's name with .ipuexe, in the current directory]
    #[arg(short, long, value_name = "FILE.ipuexe")]
    pub output: Option<PathBuf>,
    /// Write the report there
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Write every exchange phase to DIR/phase-N.json, as `ipuc schedule` reads it
    #[arg(long, value_name = "DIR")]
    pub export_exchange: Option<PathBuf>,
    /// Write every stage of the compiler as text to DIR
    #[arg(long, value_name = "DIR")]
    pub dump: Option<PathBuf>,
}

/// Run a model or a package.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// A model file, compiled first to .ipuc/NAME.ipuexe; or a package
    #[arg(value_name = "MODEL|PACKAGE")]
    pub program: PathBuf,
    /// What it runs on
    #[arg(long, default_value = "sim", value_name = "sim|/dev/ipu0")]
    pub device: String,
    /// Data of an input
    #[arg(long, value_name = "NAME=FILE.npy", value_parser = assignment)]
    pub input: Vec<(String, String)>,
    /// Write every output to DIR/NAME.npy
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Write the report there
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Do not compare with the reference
    #[arg(long)]
    pub no_check: bool,
    /// Print the instructions of one tile to stderr
    #[arg(long, value_name = "TILE", value_parser = tile)]
    pub trace: Option<u16>,
    #[arg(long, value_name = "FILE", hide = true)]
    pub profile: Option<PathBuf>,
}

/// Report every problem of a model.
#[derive(Debug, Args)]
pub(super) struct Check {
    /// The model file
    pub model: PathBuf,
}

/// Summarise a package.
#[derive(Debug, Args)]
pub(super) struct Inspect {
    /// The package
    pub package: PathBuf,
}

/// Schedule one exchange phase.
#[derive(Debug, Args)]
pub(super) struct Schedule {
    /// The problem: tiles, and transfers between addresses
    #[arg(value_name = "PROBLEM.json")]
    pub problem: PathBuf,
    /// How much work to spend
    #[arg(long, value_enum, default_value_t = EffortName::Normal)]
    pub effort: EffortName,
    /// Write horizon, bounds and sizes there
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Write the start slot of every piece there
    #[arg(long = "schedule", value_name = "FILE.json")]
    pub pieces: Option<PathBuf>,
}

/// Work to spend on a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum EffortName {
    /// A first usable one.
    Fast,
    /// What builds use.
    Normal,
    /// For final builds.
    Max,
}

/// Assemble tile assembly.
#[derive(Debug, Args)]
pub(super) struct Asm {
    /// Source file; - reads stdin
    #[arg(value_name = "FILE.S|-")]
    pub source: PathBuf,
    /// Where the object goes [default: the source's name with .o, in the current directory]
    #[arg(short, long, value_name = "FILE.o", conflicts_with = "hex")]
    pub output: Option<PathBuf>,
    /// Define a preprocessor macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = define)]
    pub define: Vec<(String, String)>,
    /// Look for included files there, too
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Who executes until the source says so
    #[arg(long, value_enum, default_value_t = AssemblyContext::Worker)]
    pub context: AssemblyContext,
    /// Print the bytes of every instruction statement instead
    #[arg(long)]
    pub hex: bool,
    #[arg(long, value_name = "FILE", hide = true)]
    pub tile_defines: Option<PathBuf>,
}

/// Disassemble.
#[derive(Debug, Args)]
pub(super) struct Disasm {
    /// An object file or a package
    #[arg(value_name = "FILE.o|PACKAGE", required_unless_present = "hex", conflicts_with = "hex")]
    pub file: Option<PathBuf>,
    /// Which tile of a package
    #[arg(long, value_name = "TILE", value_parser = tile, conflicts_with = "hex")]
    pub tile: Option<u16>,
    /// Bytes in memory order, as hexadecimal digits
    #[arg(long, value_name = "HEXBYTES")]
    pub hex: Option<String>,
    /// Who executes [default: as the object says; else worker]
    #[arg(long, value_enum)]
    pub context: Option<AssemblyContext>,
}

/// Explain a code.
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// For example E3001
    pub code: String,
}
