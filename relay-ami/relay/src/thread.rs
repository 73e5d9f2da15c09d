//! Threads that keep the log's span, so that each line carries the transfer's id.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::defaults::STACK_BYTES;

/// Starts a thread with a small stack inside the current span.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    let span = tracing::Span::current();
    Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(move || span.in_scope(work))
}

/// A thread that panicked has been logged; what it guarded is plain counters and queues, valid after every statement.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
