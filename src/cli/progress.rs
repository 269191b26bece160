//! A sign of life for whatever takes longer than a second.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::console::Console;

/// Shown from the second second on, gone when dropped.
#[derive(Debug)]
pub(super) struct Progress {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins; `what` is a present participle: "simulating".
    pub(super) fn start(console: &Console, what: &'static str) -> Self {
        if !console.shows_progress() {
            return Self { running: None };
        }
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(Duration::from_secs(1)) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}").expect("a constant template");
            let bar = ProgressBar::new_spinner().with_style(style).with_message(what);
            bar.enable_steady_tick(Duration::from_millis(120));
            // Ends when the other side says so or is gone.
            let _ = stopped.recv();
            bar.finish_and_clear();
        });
        Self { running: Some((stop, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // A display that failed is no reason to fail.
            let _ = thread.join();
        }
    }
}
