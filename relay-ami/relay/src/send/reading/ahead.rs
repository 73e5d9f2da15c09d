//! Files that are opened, and of which the first bytes are read, before their turn comes.
//!
//! A disk behind a network takes milliseconds for a file and answers many requests side by side. One lane that opens one file after the
//! other gets a few hundred of them a second from it. Where files are that slow, other threads open those that come next. Where the page
//! cache has them, handing a file from one thread to another would cost more than opening it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use crate::defaults::{AHEAD_FILES, AHEAD_THREADS, STACK_BYTES, THREADS_AT_ONCE};
use crate::documents::entry::{Kind, Segment};
use crate::ends::{Source, SourceFailure, SourceFile};
use crate::secure::record::DATA_BYTES;
use crate::tempo::Tempo;
use crate::thread::lock;

/// Threads of this process that may be begun for it.
#[derive(Debug)]
pub struct Helpers(AtomicUsize);

impl Default for Helpers {
    fn default() -> Self {
        Self(AtomicUsize::new(AHEAD_THREADS))
    }
}

impl Helpers {
    /// Takes as many as one lane may have, or as many as there are.
    fn take(&self) -> usize {
        let least = |free: usize| Some(free - free.min(THREADS_AT_ONCE));
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, least).map_or(0, |free| free.min(THREADS_AT_ONCE))
    }

    fn give_back(&self, threads: usize) {
        self.0.fetch_add(threads, Ordering::SeqCst);
    }
}

/// A file before its turn.
pub struct Opened<'a> {
    /// None where a segment has no bytes.
    pub file: Option<Box<dyn SourceFile + 'a>>,
    /// The first bytes; none where they are to be read in their turn.
    pub first: Vec<u8>,
    pub time: Duration,
}

/// The segments of one chunk: those that are opened before their turn, or have been.
pub struct Window<'a> {
    source: &'a dyn Source,
    segments: &'a [Segment],
    state: Mutex<State<'a>>,
    /// One more may be opened.
    room: Condvar,
    /// One has been.
    came: Condvar,
}

#[derive(Default)]
struct State<'a> {
    /// The first segment that nobody has taken upon himself.
    next: usize,
    /// The one whose turn it is.
    turn: usize,
    /// None where opening it has failed: it is opened again in its turn, and what is wrong with it is said then.
    ready: HashMap<usize, Option<Opened<'a>>>,
    is_over: bool,
}

impl<'a> Window<'a> {
    pub fn new(source: &'a dyn Source, segments: &'a [Segment]) -> Self {
        Self { source, segments, state: Mutex::default(), room: Condvar::new(), came: Condvar::new() }
    }

    /// The lane's side, to which threads come once files are slow.
    pub const fn begin<'scope, 'env>(&'env self, scope: &'scope Scope<'scope, 'env>, helpers: &'env Helpers) -> Ahead<'scope, 'env, 'a> {
        Ahead { window: self, scope, helpers, threads: 0 }
    }

    /// Opens what comes next until nothing is left, never further ahead than `AHEAD_FILES`.
    fn work(&self) {
        let mut state = lock(&self.state);
        loop {
            while !state.is_over && state.next >= state.turn + AHEAD_FILES {
                state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let index = state.next;
            let Some(segment) = self.segments.get(index).filter(|_| !state.is_over) else { return };
            state.next += 1;
            drop(state);
            let opened = open(self.source, segment).ok();
            state = lock(&self.state);
            state.ready.insert(index, opened);
            self.came.notify_one();
        }
    }
}

fn open<'a>(source: &'a dyn Source, segment: &'a Segment) -> Result<Opened<'a>, SourceFailure> {
    let began = Instant::now();
    let file = source.open(segment)?;
    let mut first = Vec::new();
    if let Some(file) = &file
        && segment.kind == Kind::File
        && segment.length > 0
        // Where a hole is shows in its turn.
        && !segment.attributes.as_ref().is_some_and(|attributes| attributes.sparse)
    {
        first = vec![0; usize::try_from(segment.length).map_or(DATA_BYTES, |length| length.min(DATA_BYTES))];
        let count = file.read(&mut first, segment.offset)?;
        first.truncate(count);
    }
    Ok(Opened { file, first, time: began.elapsed() })
}

/// The lane's side of a window. Dropped, it ends the threads.
pub struct Ahead<'scope, 'env, 'a> {
    window: &'env Window<'a>,
    scope: &'scope Scope<'scope, 'env>,
    helpers: &'env Helpers,
    /// Those that it has of the helpers.
    threads: usize,
}

impl<'env, 'a: 'env> Ahead<'_, 'env, 'a> {
    /// The segment whose turn it is, if another thread has opened it. None where that is left to the lane.
    pub fn take(&mut self, index: usize, tempo: &mut Tempo) -> Option<Opened<'a>> {
        if self.threads == 0 && tempo.is_slow() && index + 1 < self.window.segments.len() {
            self.begin_threads(index);
            return None;
        }
        if self.threads == 0 {
            return None;
        }
        let mut state = lock(&self.window.state);
        state.turn = index;
        self.window.room.notify_one();
        if state.next <= index {
            state.next = index + 1;
            return None;
        }
        let opened = loop {
            match state.ready.remove(&index) {
                Some(opened) => break opened?,
                None => state = self.window.came.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        tempo.note(opened.time);
        Some(opened)
    }

    fn begin_threads(&mut self, index: usize) {
        self.threads = self.helpers.take();
        // The lane opens this one itself.
        *lock(&self.window.state) = State { next: index + 1, turn: index, ..State::default() };
        let window = self.window;
        for _ in 0..self.threads {
            let begun = Builder::new().name("ahead".to_owned()).stack_size(STACK_BYTES).spawn_scoped(self.scope, || window.work());
            if let Err(error) = begun {
                // Fewer do the same; without any, each segment is left to the lane.
                tracing::warn!(%error, "a thread that opens files ahead");
                break;
            }
        }
    }
}

impl Drop for Ahead<'_, '_, '_> {
    fn drop(&mut self) {
        lock(&self.window.state).is_over = true;
        self.window.room.notify_all();
        self.helpers.give_back(self.threads);
    }
}

#[cfg(test)]
#[path = "ahead_tests.rs"]
mod tests;
