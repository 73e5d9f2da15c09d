//! A source of which somebody changes something at a counted moment: while it is listed, or while a file of it is read.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use cpt_ends_posix::PosixSource;
use cpt_relay::digest::Digest;
use cpt_relay::documents::entry::Segment;
use cpt_relay::ends::Halted;
use cpt_relay::ends::{Each, Listed, Source, SourceFailure, SourceFile, Version};

use crate::interfere::Op;

/// What of a source is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Entries that were listed.
    Listed,
    /// Files that are about to be opened.
    Opened,
    /// Pieces of files that are about to be read.
    Read,
    /// Files of which the last byte was read.
    Looked,
}

/// A change that happens once.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub of: Of,
    /// Counted from 1.
    pub at: u64,
    pub op: Op,
    pub serial: u64,
}

pub struct Watched {
    inner: PosixSource,
    root: PathBuf,
    change: Change,
    count: AtomicU64,
}

impl Watched {
    /// `root` is where the change happens.
    pub const fn new(inner: PosixSource, root: PathBuf, change: Change) -> Self {
        Self { inner, root, change, count: AtomicU64::new(0) }
    }

    fn note(&self, of: Of) {
        let Change { of: counted, at, op, serial } = self.change;
        if of == counted && self.count.fetch_add(1, Ordering::SeqCst) + 1 == at {
            let _ = op.apply(&self.root, serial);
        }
    }
}

impl Source for Watched {
    fn list(&self, each: Each<'_>) -> Result<(), Halted> {
        self.inner.list(&mut |listed: Listed| {
            each(listed)?;
            self.note(Of::Listed);
            Ok(())
        })
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        self.note(Of::Opened);
        let file = self.inner.open(segment)?;
        Ok(file.map(|file| Box::new(WatchedFile { of: self, file }) as Box<dyn SourceFile>))
    }

    fn digest(&self, key: &[u8]) -> io::Result<Digest> {
        self.inner.digest(key)
    }

    fn sample(&self, key: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.sample(key, offset, buffer)
    }

    fn read_rate(&self, key: &[u8], size: u64) -> Option<f64> {
        self.inner.read_rate(key, size)
    }
}

struct WatchedFile<'a> {
    of: &'a Watched,
    file: Box<dyn SourceFile + 'a>,
}

impl SourceFile for WatchedFile<'_> {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
        self.of.note(Of::Read);
        self.file.read(buffer, offset)
    }

    fn data(&self, offset: u64) -> Range<u64> {
        self.file.data(offset)
    }

    fn state(&self) -> Version {
        self.file.state()
    }

    fn check(&self) -> Result<Version, SourceFailure> {
        self.of.note(Of::Looked);
        self.file.check()
    }
}
