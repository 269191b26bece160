//! The salsa database: storage, the build log and the map from paths to inputs.
//!
//! Handles live on ordinary threads, one each; rayon is for plain data inside one query, and a rayon closure never
//! captures a handle. The driver's own threads warm keys with [`warm`].

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;

use crate::inputs::{KernelSource, SourceFile};
use crate::trace::{BuildTrace, Clock};

/// What queries see.
#[salsa::db]
pub trait Db: salsa::Database {
    /// The build log.
    fn trace(&self) -> &BuildTrace;
    /// The input handle of a kernel source.
    fn kernel_source(&self, name: &str) -> Option<KernelSource>;
}

/// The database.
#[salsa::db]
#[derive(Clone)]
pub struct Compiler {
    trace: BuildTrace,
    sources: Arc<DashMap<String, SourceFile>>,
    kernels: Arc<DashMap<String, KernelSource>>,
    // Last: a write waits until other handles have dropped their storage, and their maps must be gone by then.
    storage: salsa::Storage<Self>,
}

#[salsa::db]
impl salsa::Database for Compiler {}

#[salsa::db]
impl Db for Compiler {
    fn trace(&self) -> &BuildTrace {
        &self.trace
    }

    fn kernel_source(&self, name: &str) -> Option<KernelSource> {
        self.kernels.get(name).map(|entry| *entry)
    }
}

impl Compiler {
    /// A database with the embedded kernel sources.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let db = Self {
            trace: BuildTrace::new(clock),
            sources: Arc::default(),
            kernels: Arc::default(),
            storage: salsa::Storage::default(),
        };
        for (name, text) in ipuc_device::kernels::sources().chain(ipuc_device::kernels::headers()) {
            let source =
                KernelSource::builder(name.to_owned(), Arc::from(text)).durability(salsa::Durability::HIGH).new(&db);
            db.kernels.insert(name.to_owned(), source);
        }
        db
    }

    /// The build log.
    pub fn build_trace(&self) -> &BuildTrace {
        &self.trace
    }

    /// Sets the text of a model file; nothing happens when it is equal.
    pub fn set_source(&mut self, path: &str, text: &str) -> SourceFile {
        use salsa::Setter;
        if let Some(source) = self.sources.get(path).map(|entry| *entry) {
            if &**source.text(self) != text {
                source.set_text(self).to(Arc::from(text));
            }
            return source;
        }
        let source = SourceFile::new(self, path.to_owned(), Arc::from(text));
        self.sources.insert(path.to_owned(), source);
        source
    }

    /// Replaces the text of a kernel source; `false` when there is no such kernel.
    pub fn set_kernel(&mut self, name: &str, text: &str) -> bool {
        use salsa::Setter;
        let Some(source) = self.kernels.get(name).map(|entry| *entry) else { return false };
        if &**source.text(self) != text {
            source.set_text(self).with_durability(salsa::Durability::HIGH).to(Arc::from(text));
        }
        true
    }
}

/// Runs `job(handle, i)` for every `i < count` on up to `threads` threads, each with a handle of its own.
///
/// For warming memos only: results are dropped, the caller asks again on its own handle so that edges are recorded.
pub fn warm(db: &Compiler, threads: usize, count: usize, job: impl Fn(&Compiler, usize) + Sync) {
    if threads < 2 || count < 2 {
        return;
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(count))
            .map(|_| {
                let handle = db.clone();
                let (next, job) = (&next, &job);
                scope.spawn(move || {
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= count {
                            break;
                        }
                        job(&handle, i);
                    }
                })
            })
            .collect();
        for worker in workers {
            // As it was: a cancellation must stay one for the caller.
            worker.join().unwrap_or_else(|payload| resume_unwind(payload));
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use salsa::Database as _;

    use super::*;

    struct Frozen;

    impl Clock for Frozen {
        fn now(&self) -> Duration {
            Duration::ZERO
        }
    }

    #[test]
    fn jobs_run_at_the_same_time_and_leave_no_handle() {
        let mut db = Compiler::new(Arc::new(Frozen));
        let source = db.set_source("model.json", "{}");
        let together = Barrier::new(2);
        let ran = AtomicUsize::new(0);
        // Each job waits for another one: one thread alone would wait for ever.
        warm(&db, 2, 4, |handle, _| {
            together.wait();
            ran.fetch_add(source.text(handle).len(), Ordering::Relaxed);
        });
        assert_eq!(ran.into_inner(), 8);
        // A write waits until all other handles are gone.
        db.set_source("model.json", "[]");
        assert_eq!(&**source.text(&db), "[]");
    }

    #[test]
    fn a_cancelled_job_stays_one() {
        let db = Compiler::new(Arc::new(Frozen));
        let cancelled = salsa::Cancelled::catch(std::panic::AssertUnwindSafe(|| {
            warm(&db, 2, 2, |handle, i| {
                if i == 1 {
                    handle.cancellation_token().cancel();
                    handle.unwind_if_revision_cancelled();
                }
            });
        }));
        assert!(matches!(cancelled, Err(salsa::Cancelled::Local)), "{cancelled:?}");
    }
}
