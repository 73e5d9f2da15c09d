//! A source of keys and blobs.

use std::io;

use cpt_relay::digest::Digest;
use cpt_relay::documents::entry::{Kind, ListingEntry, Segment};
use cpt_relay::documents::event::SkipReason;
use cpt_relay::documents::percent;
use cpt_relay::ends::{Each, Halted, Listed, Source, SourceFailure, SourceFile, Version};
use cpt_relay::mirror::order;

use super::blobs::{BlobDestination, DATA, blob, key, parts_of, version};
use super::site::{Blobs, Site};
use super::source::Field;

impl Source for BlobDestination {
    fn list(&self, each: Each<'_>) -> Result<(), Halted> {
        let mut paths: Vec<_> = self.bucket.keys(DATA).iter().map(|key| key[DATA.len()..].to_vec()).collect();
        paths.sort_by(|one, other| order(one, other));
        for path in paths {
            let blob = self.bucket.get(&key(&path)).unwrap();
            let (mtime_ns, bytes) = parts_of(&blob);
            let path = percent::encode(&path);
            each(Listed::Entry(ListingEntry {
                source: format!("/{path}"),
                path,
                kind: Kind::File,
                size: bytes.len() as u64,
                mode: 0o644,
                mtime_ns,
                inode: 0,
                target: None,
                attributes: None,
                basis: false,
                same: false,
                unreadable: false,
                stored: None,
            }))?;
        }
        Ok(())
    }

    fn open<'a>(&'a self, segment: &'a Segment) -> Result<Option<Box<dyn SourceFile + 'a>>, SourceFailure> {
        let mut opened = Opened { of: self, segment, state: Version::NONE };
        opened.state = opened.check()?;
        Ok(Some(Box::new(opened)))
    }

    fn digest(&self, key: &[u8]) -> io::Result<Digest> {
        Ok(*blake3::hash(parts_of(&self.named(key)?).1).as_bytes())
    }

    fn sample(&self, key: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let blob = self.named(key)?;
        let rest = parts_of(&blob).1.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn read_rate(&self, _: &[u8], _: u64) -> Option<f64> {
        None
    }
}

impl BlobDestination {
    fn named(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        self.bucket.get(&key(name.strip_prefix(b"/").unwrap()))
    }
}

struct Opened<'a> {
    of: &'a BlobDestination,
    segment: &'a Segment,
    state: Version,
}

impl Opened<'_> {
    fn now(&self) -> Result<Vec<u8>, SourceFailure> {
        let found = percent::decode(&self.segment.source).map_err(io::Error::other).and_then(|name| self.of.named(&name));
        found.map_err(|error| self.failed(SkipReason::SourceUnreadable, &error.to_string()))
    }

    fn failed(&self, reason: SkipReason, why: &str) -> SourceFailure {
        SourceFailure { reason, message: format!("{}: {why}", self.segment.source), transient: false }
    }
}

impl SourceFile for Opened<'_> {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
        let blob = self.now()?;
        let rest = parts_of(&blob).1.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        if rest.is_empty() {
            return Err(self.failed(SkipReason::SourceChanged, "ends"));
        }
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn state(&self) -> Version {
        self.state
    }

    fn check(&self) -> Result<Version, SourceFailure> {
        let blob = self.now()?;
        let (mtime_ns, bytes) = parts_of(&blob);
        let is_listed = (mtime_ns, bytes.len() as u64) == (self.segment.mtime_ns, self.segment.size);
        if is_listed { Ok(version(&blob)) } else { Err(self.failed(SkipReason::SourceChanged, "changed")) }
    }
}

impl Field for Blobs {
    fn source(&self) -> &dyn Source {
        &self.end
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        self.end.bucket.put(&key(path.as_bytes()), &blob(bytes.len().try_into().unwrap(), bytes)).unwrap();
    }

    fn write_quietly(&self, path: &str, bytes: &[u8]) {
        self.put(path, bytes);
    }

    fn link(&self, _: &str, _: &str) {
        panic!("a bucket has no links");
    }

    fn remove(&self, path: &str) {
        Site::remove(self, path);
    }
}
