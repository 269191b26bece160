//! The command line: parse, choose, end with the right code.
//!
//! Usage errors end with 2 and so does every error of the world (files, packages, devices); what is wrong with the model,
//! or a test that fails, ends with 1. Results are on stdout, everything else on stderr.

mod arguments;
mod assembly;
mod build;
mod console;
mod exit;
mod explain;
mod inspect;
mod paths;
mod progress;
mod run;
mod schedule;

use std::ffi::OsString;

use clap::Parser as _;

use arguments::{Cli, Command};
use console::Console;
pub use exit::{Exit, Refused};

/// Does what the arguments say.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help is no error. If the reader is gone there is no one to tell.
            let _ = error.print();
            return if error.exit_code() == 0 { Exit::Success } else { Exit::Usage };
        }
    };
    let console = Console::start(&cli.common);
    match dispatch(&console, &cli) {
        Ok(exit) => exit,
        Err(error) if is_broken_pipe(&error) => Exit::Success,
        Err(error) => {
            // With the stream gone, the exit code still tells.
            let _ = console.error(&error);
            Exit::Usage
        }
    }
}

fn dispatch(console: &Console, cli: &Cli) -> anyhow::Result<Exit> {
    let later = |name: &str| Err(Refused(format!("`ipuc {name}` is not available yet")).into());
    match &cli.command {
        Command::Build(arguments) => build::build(console, &cli.common, arguments),
        Command::Run(arguments) => run::run(console, &cli.common, arguments),
        Command::Check(arguments) => build::check(console, &cli.common, arguments),
        Command::Inspect(arguments) => inspect::inspect(console, arguments),
        Command::Schema => explain::schema(console),
        Command::Asm(arguments) => assembly::assemble(console, arguments),
        Command::Disasm(arguments) => assembly::disassemble(console, arguments),
        Command::Explain(arguments) => explain::explain(console, arguments),
        Command::Watch(_) => later("watch"),
        Command::Bisect(_) => later("bisect"),
        Command::Lsp(_) => later("lsp"),
        Command::Profile(_) => later("profile"),
        Command::Import(_) => later("import"),
        Command::Cache(_) => later("cache"),
        Command::Schedule(arguments) => schedule::schedule(console, arguments),
    }
}

/// Whether the reader of stdout went away, which ends a command quietly.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
