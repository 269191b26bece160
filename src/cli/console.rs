//! The two streams: results to stdout, everything else to stderr; and the logging set-up.

use std::io::{self, IsTerminal as _, Write as _};

use ipuc_device::host::DeviceError;
use ipuc_device::package::PackageError;
use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;

use super::arguments::{Color, Common, LogFormat, MessageFormat};
use crate::compile::Diagnostic;

/// Where a command writes.
#[derive(Debug)]
pub(super) struct Console {
    json: bool,
    quiet: bool,
    color: bool,
}

impl Console {
    /// As the common flags say; also starts the log.
    pub(super) fn start(common: &Common) -> Self {
        // Any non-empty NO_COLOR counts; an explicit flag is stronger.
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = match common.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => io::stderr().is_terminal() && !no_color,
        };
        start_log(common, color);
        Self { json: common.message_format == MessageFormat::Json, quiet: common.quiet, color }
    }

    /// Whether stdout holds JSON objects.
    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether diagnostics for people are coloured.
    pub(super) fn color(&self) -> bool {
        self.color
    }

    /// Whether a progress display makes sense.
    pub(super) fn shows_progress(&self) -> bool {
        !self.json && !self.quiet && std::env::var_os("CI").is_none() && io::stderr().is_terminal()
    }

    /// A line of results for people; nothing with JSON.
    pub(super) fn line(&self, text: &str) -> io::Result<()> {
        if self.json { Ok(()) } else { writeln!(io::stdout(), "{text}") }
    }

    /// Results that are text in themselves, whatever the format: a schema, a listing.
    pub(super) fn text(text: &str) -> io::Result<()> {
        io::stdout().write_all(text.as_bytes())
    }

    /// An object of results for programs; nothing without JSON.
    pub(super) fn object(&self, reason: &str, mut object: Value) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        object["reason"] = reason.into();
        writeln!(io::stdout(), "{object}")
    }

    /// A diagnostic, in the form asked for.
    pub(super) fn diagnostic(&self, diagnostic: &Diagnostic) -> io::Result<()> {
        if self.json {
            self.object("diagnostic", diagnostic.json.clone())
        } else {
            Self::note(&diagnostic.rendered);
            Ok(())
        }
    }

    /// A remark on stderr. That no one reads it changes nothing.
    pub(super) fn note(text: &str) {
        let _ = writeln!(io::stderr(), "{}", text.trim_end());
    }

    /// An error of a command as a diagnostic.
    pub(super) fn error(&self, error: &anyhow::Error) -> io::Result<()> {
        let code = code_of(error);
        let message = format!("{error:#}");
        let head = code.map_or_else(|| "error".to_owned(), |code| format!("error[{code}]"));
        let rendered = format!("{head}: {message}");
        let json = json!({ "code": code, "level": "error", "message": message, "file": null, "spans": [], "data": {},
            "suggestions": [], "rendered": rendered });
        self.diagnostic(&Diagnostic { rendered, json })
    }
}

/// The diagnostic code of an error from the device crate.
fn code_of(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        let of_package = cause.downcast_ref::<PackageError>().and_then(PackageError::code);
        of_package.or_else(|| cause.downcast_ref::<DeviceError>().and_then(DeviceError::code))
    })
}

/// Events go to stderr: warnings by default, more with `-v`, errors alone with `-q`; `IPUC_LOG` overrides.
fn start_log(common: &Common, color: bool) {
    let level = match (common.quiet, common.verbose) {
        (true, _) => "error",
        (_, 0) => "warn",
        // salsa tells every execution at the level of users' events.
        (_, 1) => "info,salsa=warn",
        (_, 2) => "debug,salsa=warn",
        _ => "trace",
    };
    let stated = std::env::var("IPUC_LOG").ok().filter(|filter| !filter.is_empty());
    let (filter, wrong) = match stated.as_deref().map(EnvFilter::try_new) {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (EnvFilter::new(level), Some(error)),
        None => (EnvFilter::new(level), None),
    };
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    // A log that was started before, by an embedding program or a test, stays.
    let _ = match common.log_format {
        LogFormat::Text => log.with_ansi(color).try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    if let Some(error) = wrong {
        tracing::warn!("IPUC_LOG is not a filter: {error}");
    }
}
