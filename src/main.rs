//! The `ipuc` command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        hook(panic);
        tracing::error!("this is a bug of ipuc; please report it with the command line and the model");
    }));
    let ended = std::panic::catch_unwind(|| ipuc::cli::main(std::env::args_os()));
    ended.unwrap_or(ipuc::cli::Exit::Bug).into()
}
