//! Threads that keep the log's span, so that each line carries the transfer's id.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::STACK_BYTES;

/// Starts a thread with a small stack inside the current span.
pub fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    let span = tracing::Span::current();
    Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(move || span.in_scope(work))
}

/// Calls `work` with each item, on so many threads at once. Returns the results in the order of the items.
pub fn map<T: Send, R: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let (span, threads) = (tracing::Span::current(), threads.min(items.len()));
    let (queue, done) = (Mutex::new(items.into_iter().enumerate()), Mutex::new(Vec::new()));
    let run = || {
        let _entered = span.enter();
        loop {
            let Some((number, item)) = lock(&queue).next() else { return };
            let result = work(item);
            lock(&done).push((number, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Without any other thread this one does it all.
            let _ = Builder::new().name("map".to_owned()).stack_size(STACK_BYTES).spawn_scoped(scope, run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A thread that panicked has been logged; what it guarded is plain counters and queues, valid after every statement.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn items_are_worked_on_at_once_and_results_come_in_their_order() {
        let together = Barrier::new(8);
        let results = map(8, (0..8).collect(), |number| {
            together.wait();
            number * 2
        });
        assert_eq!(results, [0, 2, 4, 6, 8, 10, 12, 14]);
        assert_eq!(map(8, Vec::new(), |number: u8| number), Vec::<u8>::new());
    }
}
