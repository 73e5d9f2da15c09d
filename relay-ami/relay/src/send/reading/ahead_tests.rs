use std::io;
use std::sync::Barrier;

use super::*;
use crate::digest::Digest;
use crate::documents::event::SkipReason;
use crate::ends::{Each, Halted, Version};

/// Each file's bytes are its name. The first ones are opened by so many threads at once, or not at all.
struct Files {
    together: Option<Barrier>,
    opened: AtomicUsize,
}

struct One<'a>(&'a Segment);

impl SourceFile for One<'_> {
    fn read(&self, buffer: &mut [u8], _offset: u64) -> Result<usize, SourceFailure> {
        buffer.copy_from_slice(self.0.source.as_bytes());
        Ok(buffer.len())
    }

    fn state(&self) -> Version {
        Version::NONE
    }

    fn check(&self) -> Result<Version, SourceFailure> {
        Ok(Version::NONE)
    }
}

impl Source for Files {
    fn list(&self, _each: Each<'_>) -> Result<(), Halted> {
        Ok(())
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        let before = self.opened.fetch_add(1, Ordering::SeqCst);
        if let Some(barrier) = self.together.as_ref().filter(|_| before < THREADS_AT_ONCE) {
            barrier.wait();
        }
        if segment.source.ends_with("gone") {
            return Err(SourceFailure { reason: SkipReason::SourceChanged, message: "gone".to_owned(), transient: false });
        }
        Ok(Some(Box::new(One(segment))))
    }

    fn digest(&self, _key: &[u8]) -> io::Result<Digest> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sample(&self, _key: &[u8], _offset: u64, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_rate(&self, _key: &[u8], _size: u64) -> Option<f64> {
        None
    }
}

fn segments(names: impl Iterator<Item = String>) -> Vec<Segment> {
    let line = |(number, name): (usize, String)| {
        let (size, inode) = (name.len() + 1, number + 1);
        format!(
            r#"{{"entry":{number},"kind":"file","path":"{name}","source":"/{name}","size":{size},"mode":420,"mtimeNs":0,"inode":{inode},"offset":0,"length":{size}}}"#
        )
    };
    names.enumerate().map(|each| Segment::parse(line(each).as_bytes()).unwrap()).collect()
}

fn slow() -> Tempo {
    let mut tempo = Tempo::default();
    for _ in 0..9 {
        tempo.note(Duration::from_secs(1));
    }
    tempo
}

fn drive(source: &Files, segments: &[Segment], mut tempo: Tempo, each: &mut dyn FnMut(usize, Option<Opened<'_>>)) -> Tempo {
    let (window, helpers) = (Window::new(source, segments), Helpers::default());
    std::thread::scope(|scope| {
        let mut ahead = window.begin(scope, &helpers);
        for index in 0..segments.len() {
            each(index, ahead.take(index, &mut tempo));
        }
    });
    assert_eq!(helpers.0.into_inner(), AHEAD_THREADS, "all are given back");
    tempo
}

#[test]
fn fast_files_are_left_to_the_lane() {
    let source = Files { together: None, opened: AtomicUsize::new(0) };
    let segments = segments((0..100).map(|number| format!("f{number}")));
    let tempo = drive(&source, &segments, Tempo::default(), &mut |_, opened| assert!(opened.is_none()));
    assert_eq!((source.opened.into_inner(), tempo.is_slow()), (0, false));
}

#[test]
fn slow_files_are_opened_by_many_threads_at_once_and_come_in_their_order() {
    let source = Files { together: Some(Barrier::new(THREADS_AT_ONCE)), opened: AtomicUsize::new(0) };
    let segments = segments((0..100).map(|number| format!("f{number}")));
    let mut ahead = 0;
    drive(&source, &segments, slow(), &mut |index, opened| {
        // While the lane has its first file open, the others go on.
        while index == 0 && source.opened.load(Ordering::SeqCst) < THREADS_AT_ONCE {
            std::thread::yield_now();
        }
        let Some(opened) = opened else { return };
        assert_eq!(opened.first, format!("/f{index}").as_bytes());
        ahead += 1;
    });
    assert!(ahead >= THREADS_AT_ONCE, "{ahead}");
}

#[test]
fn a_file_that_fails_is_left_to_the_lane_and_those_behind_it_come() {
    let source = Files { together: None, opened: AtomicUsize::new(0) };
    let segments = segments(["a", "b-gone", "c", "d-gone"].map(str::to_owned).into_iter());
    let mut by_lane = Vec::new();
    drive(&source, &segments, slow(), &mut |index, opened| {
        while index == 0 && source.opened.load(Ordering::SeqCst) < segments.len() - 1 {
            std::thread::yield_now();
        }
        if opened.is_none() {
            by_lane.push(index);
        }
    });
    assert_eq!(by_lane, [0, 1, 3]);
}

#[test]
fn never_more_files_are_open_than_the_window_holds() {
    let source = Files { together: None, opened: AtomicUsize::new(0) };
    let segments = segments((0..500).map(|number| format!("f{number}")));
    let mut most = 0;
    drive(&source, &segments, slow(), &mut |index, _| {
        most = most.max(source.opened.load(Ordering::SeqCst).saturating_sub(index));
    });
    assert!(most <= AHEAD_FILES + 1, "{most}");
}

#[test]
fn a_lane_that_breaks_off_ends_the_threads() {
    let source = Files { together: None, opened: AtomicUsize::new(0) };
    let segments = segments((0..10_000).map(|number| format!("f{number}")));
    let (window, helpers, mut tempo) = (Window::new(&source, &segments), Helpers::default(), slow());
    std::thread::scope(|scope| {
        let mut ahead = window.begin(scope, &helpers);
        for index in 0..3 {
            ahead.take(index, &mut tempo);
        }
    });
    assert!(source.opened.load(Ordering::SeqCst) <= 3 + AHEAD_FILES);
}

#[test]
fn lanes_share_the_threads() {
    let helpers = Helpers::default();
    let taken: Vec<usize> = (0..6).map(|_| helpers.take()).collect();
    assert_eq!(taken, [16, 16, 16, 16, 0, 0]);
    helpers.give_back(3);
    assert_eq!(helpers.take(), 3);
}
