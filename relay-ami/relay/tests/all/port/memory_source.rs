//! A source in memory.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use cpt_relay::digest::Digest;
use cpt_relay::documents::entry::{Kind, ListingEntry, Segment};
use cpt_relay::documents::event::SkipReason;
use cpt_relay::documents::percent;
use cpt_relay::ends::Halted;
use cpt_relay::ends::{Each, Listed, Source, SourceFailure, SourceFile, Version};

/// Above all of its paths.
const ROOT: &str = "/memory/";

#[derive(Clone)]
pub struct Item {
    pub kind: Kind,
    /// Of a file its content, of a link its target.
    pub bytes: Vec<u8>,
    pub mtime_ns: i64,
    inode: u64,
    /// Grows with every change, as a change time does.
    version: i64,
}

impl Item {
    const fn state(&self) -> Version {
        Version::of_numbers((self.inode, self.version))
    }
}

/// Paths are plain ASCII.
#[derive(Default)]
pub struct MemorySource {
    items: Mutex<BTreeMap<String, Item>>,
}

impl MemorySource {
    /// Makes an item, or changes the one that is there.
    pub fn put(&self, path: &str, kind: Kind, bytes: &[u8], mtime_ns: i64) {
        let mut items = self.items.lock().unwrap();
        let inode = items.get(path).map_or(items.len() as u64 + 1, |item| item.inode);
        let version = items.get(path).map_or(0, |item| item.version + 1);
        items.insert(path.to_owned(), Item { kind, bytes: bytes.to_vec(), mtime_ns, inode, version });
    }

    pub fn remove(&self, path: &str) {
        self.items.lock().unwrap().remove(path);
    }

    pub fn item(&self, path: &str) -> Option<Item> {
        self.items.lock().unwrap().get(path).cloned()
    }

    fn named(&self, source: &str) -> Result<Item, SourceFailure> {
        let outside = || failure(SkipReason::SourceUnreadable, source, "is outside the source paths");
        let path = source.strip_prefix(ROOT).ok_or_else(outside)?;
        self.item(path).ok_or_else(|| failure(SkipReason::SourceChanged, source, "is gone"))
    }
}

fn failure(reason: SkipReason, source: &str, why: &str) -> SourceFailure {
    SourceFailure { reason, message: format!("{source}: {why}"), transient: false }
}

impl Source for MemorySource {
    fn list(&self, each: Each<'_>) -> Result<(), Halted> {
        let items = self.items.lock().unwrap().clone();
        let mut sorted: Vec<_> = items.into_iter().collect();
        sorted.sort_by(|(one, _), (other, _)| one.split('/').cmp(other.split('/')));
        for (path, Item { kind, bytes, mtime_ns, inode, .. }) in sorted {
            let size = if kind == Kind::File { bytes.len() as u64 } else { 0 };
            let target = (kind == Kind::Symlink).then(|| String::from_utf8(bytes).unwrap());
            let mode = if kind == Kind::Directory { 0o755 } else { 0o644 };
            each(Listed::Entry(ListingEntry {
                source: format!("{ROOT}{path}"),
                path,
                kind,
                size,
                mode,
                mtime_ns,
                inode,
                target,
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
        if segment.kind == Kind::Directory {
            return Ok(None);
        }
        let now = self.named(&segment.source)?;
        if segment.kind == Kind::Symlink {
            let same = now.kind == Kind::Symlink && segment.target.as_deref().map(str::as_bytes) == Some(&*now.bytes);
            return if same { Ok(None) } else { Err(failure(SkipReason::SourceChanged, &segment.source, "points elsewhere")) };
        }
        let opened = Opened { source: self, segment, state: now.state() };
        opened.check()?;
        Ok(Some(Box::new(opened)))
    }

    fn digest(&self, key: &[u8]) -> io::Result<Digest> {
        let item = self.named(&percent::encode(key)).map_err(|failure| io::Error::other(failure.message))?;
        Ok(*blake3::hash(&item.bytes).as_bytes())
    }

    fn sample(&self, key: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let item = self.named(&percent::encode(key)).map_err(|failure| io::Error::other(failure.message))?;
        let rest = item.bytes.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn read_rate(&self, _: &[u8], _: u64) -> Option<f64> {
        None
    }
}

struct Opened<'a> {
    source: &'a MemorySource,
    segment: &'a Segment,
    state: Version,
}

impl SourceFile for Opened<'_> {
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, SourceFailure> {
        let item = self.source.named(&self.segment.source)?;
        let rest = item.bytes.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        if rest.is_empty() {
            return Err(failure(SkipReason::SourceChanged, &self.segment.source, "ends"));
        }
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn state(&self) -> Version {
        self.state
    }

    fn check(&self) -> Result<Version, SourceFailure> {
        let now = self.source.named(&self.segment.source)?;
        let Segment { kind, size, mtime_ns, .. } = *self.segment;
        if (now.kind, now.bytes.len() as u64, now.mtime_ns) == (kind, size, mtime_ns) {
            Ok(now.state())
        } else {
            Err(failure(SkipReason::SourceChanged, &self.segment.source, "changed"))
        }
    }
}
