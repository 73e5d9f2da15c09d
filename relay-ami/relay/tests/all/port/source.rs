//! What every kind of source must do.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use cpt_ends_posix::PosixSource;
use cpt_relay::documents::entry::{Kind, ListingEntry, Segment};
use cpt_relay::documents::event::SkipReason;
use cpt_relay::documents::percent;
use cpt_relay::ends::{Listed, Source, SourceFailure};

use super::kinds;
use super::memory_source::MemorySource;

const CONTENT: &[u8] = b"the bytes of the file, in two parts";
const PART: u64 = 16;

/// A source, and what its owner can do there.
pub trait Field {
    fn source(&self) -> &dyn Source;
    /// Writes a file, and makes the directories above.
    fn write(&self, path: &str, bytes: &[u8]);
    /// Writes over a file and puts its modification time back.
    fn write_quietly(&self, path: &str, bytes: &[u8]);
    fn link(&self, path: &str, target: &str);
    fn remove(&self, path: &str);
}

pub struct Posix(tempfile::TempDir, PosixSource);

impl Posix {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("from")).unwrap();
        let source = PosixSource::new(vec![folder.path().join("from").join("")]);
        Self(folder, source)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join("from").join(path)
    }
}

impl Field for Posix {
    fn source(&self) -> &dyn Source {
        &self.1
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        // Never that of an earlier writing, however fast these follow one another.
        let ages = Duration::from_secs(3600 + bytes.len() as u64);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - ages).unwrap();
    }

    fn write_quietly(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        let time = path.metadata().unwrap().modified().unwrap();
        // Beyond a tick of the kernel's clock, within which two changes look like one.
        std::thread::sleep(Duration::from_millis(20));
        std::fs::write(&path, bytes).unwrap();
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        let _ = std::fs::remove_file(self.path(path));
        symlink(target, self.path(path)).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).unwrap();
    }
}

impl Field for MemorySource {
    fn source(&self) -> &dyn Source {
        self
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        for (at, _) in path.match_indices('/') {
            self.put(&path[..at], Kind::Directory, b"", 0);
        }
        self.put(path, Kind::File, bytes, bytes.len().try_into().unwrap());
    }

    fn write_quietly(&self, path: &str, bytes: &[u8]) {
        self.put(path, Kind::File, bytes, self.item(path).unwrap().mtime_ns);
    }

    fn link(&self, path: &str, target: &str) {
        self.put(path, Kind::Symlink, target.as_bytes(), 0);
    }

    fn remove(&self, path: &str) {
        MemorySource::remove(self, path);
    }
}

macro_rules! behaviours {
    ($($kind:ident: $make:expr),+ $(,)?) => {
        $(
            kinds! { $kind: $make =>
                everything_is_listed_in_order_with_what_it_is,
                any_range_of_a_file_is_read,
                a_file_that_changes_is_noticed_before_and_after_it_is_read,
                parts_that_are_read_before_and_after_a_change_are_of_two_states,
                what_is_gone_or_points_elsewhere_has_changed,
                nothing_outside_of_the_source_is_read,
                a_file_is_digested_as_it_is_now,
            }
        )+
    };
}

behaviours! { posix: super::Posix::new(), memory: super::MemorySource::default() }

// It has no links, and objects are replaced, where files change.
kinds! { bucket: crate::port::bucket_source::OfStore::new() =>
    any_range_of_a_file_is_read,
    nothing_outside_of_the_source_is_read,
    a_file_is_digested_as_it_is_now,
}

// It has no links, and what is written over is another file.
kinds! { hdfs: if crate::port::hdfs::OfHdfs::new() =>
    any_range_of_a_file_is_read,
    nothing_outside_of_the_source_is_read,
    a_file_is_digested_as_it_is_now,
}

// It has neither directories nor links.
kinds! { blobs: crate::port::site::Blobs::new() =>
    any_range_of_a_file_is_read,
    a_file_that_changes_is_noticed_before_and_after_it_is_read,
    parts_that_are_read_before_and_after_a_change_are_of_two_states,
    nothing_outside_of_the_source_is_read,
    a_file_is_digested_as_it_is_now,
}

pub fn listed(field: &dyn Field) -> Vec<ListingEntry> {
    let mut entries = Vec::new();
    let take = &mut |listed| {
        match listed {
            Listed::Entry(entry) => entries.push(entry),
            Listed::LeftOut(path, reason) => panic!("{path:?} is left out: {reason:?}"),
            Listed::Unkept(names) => panic!("{names:?} are not kept"),
            Listed::Problem(path, why) => panic!("{path:?}: {why}"),
        }
        Ok(())
    };
    field.source().list(take).unwrap();
    entries
}

/// `length` bytes from `offset` of an entry, as the listing has it; all of it where these are none.
pub fn segment(field: &dyn Field, path: &str, range: Option<(u64, u64)>) -> Segment {
    let entries = listed(field);
    let number = entries.iter().position(|entry| entry.path == path).unwrap();
    let ListingEntry { path, source, kind, size, mode, mtime_ns, inode, target, attributes, basis, same, unreadable, .. } =
        entries[number].clone();
    let (offset, length) = range.unwrap_or((0, size));
    Segment {
        entry: number as u64,
        path,
        source,
        kind,
        size,
        mode,
        mtime_ns,
        inode,
        target,
        attributes,
        basis,
        same,
        unreadable,
        offset,
        length,
    }
}

/// Reads a segment to its end, as a sender does.
pub fn read(source: &dyn Source, segment: &Segment) -> Result<Vec<u8>, SourceFailure> {
    let file = source.open(segment)?.expect("a file has bytes");
    let (mut bytes, mut buffer) = (Vec::new(), [0; 7]);
    while (bytes.len() as u64) < segment.length {
        let left = usize::try_from(segment.length).unwrap() - bytes.len();
        let want = left.min(buffer.len());
        let count = file.read(&mut buffer[..want], segment.offset + bytes.len() as u64)?;
        bytes.extend_from_slice(&buffer[..count]);
    }
    file.check()?;
    Ok(bytes)
}

fn everything_is_listed_in_order_with_what_it_is(field: &dyn Field) {
    field.write("b/deep/file", CONTENT);
    field.write("a", b"");
    field.write("b.txt", b"beside");
    field.link("link", "a");
    let found = listed(field);
    let found: Vec<_> = found.iter().map(|entry| (&*entry.path, entry.kind, entry.size, entry.target.as_deref())).collect();
    let size = CONTENT.len() as u64;
    assert_eq!(
        found,
        [
            ("a", Kind::File, 0, None),
            ("b", Kind::Directory, 0, None),
            ("b/deep", Kind::Directory, 0, None),
            ("b/deep/file", Kind::File, size, None),
            ("b.txt", Kind::File, 6, None),
            ("link", Kind::Symlink, 0, Some("a")),
        ]
    );
    assert!(field.source().open(&segment(field, "b", None)).unwrap().is_none(), "a directory has no bytes");
    assert!(field.source().open(&segment(field, "link", None)).unwrap().is_none());
}

fn any_range_of_a_file_is_read(field: &dyn Field) {
    field.write("file", CONTENT);
    let rest = CONTENT.len() as u64 - PART;
    let [second, first] = [Some((PART, rest)), Some((0, PART))].map(|range| read(field.source(), &segment(field, "file", range)).unwrap());
    assert_eq!([first, second].concat(), CONTENT);
    assert_eq!(read(field.source(), &segment(field, "file", None)).unwrap(), CONTENT);
}

fn a_file_that_changes_is_noticed_before_and_after_it_is_read(field: &dyn Field) {
    field.write("file", CONTENT);
    let segment = segment(field, "file", None);
    let file = field.source().open(&segment).unwrap().unwrap();
    assert_eq!(file.check().unwrap(), file.state());
    field.write_quietly("file", &CONTENT.to_ascii_uppercase());
    assert_ne!(file.check().unwrap(), file.state(), "size and time are the same");
    drop(file);
    field.write("file", b"shorter");
    assert_eq!(field.source().open(&segment).err().unwrap().reason, SkipReason::SourceChanged);
}

fn parts_that_are_read_before_and_after_a_change_are_of_two_states(field: &dyn Field) {
    field.write("file", CONTENT);
    let parts = [Some((0, PART)), Some((PART, CONTENT.len() as u64 - PART))].map(|range| segment(field, "file", range));
    let state = |part| field.source().open(part).unwrap().unwrap().state();
    assert_eq!(state(&parts[0]), state(&parts[1]));
    let before = state(&parts[0]);
    field.write_quietly("file", &CONTENT.to_ascii_uppercase());
    assert_ne!(state(&parts[1]), before);
}

fn what_is_gone_or_points_elsewhere_has_changed(field: &dyn Field) {
    field.write("file", CONTENT);
    field.link("link", "file");
    let segments = ["file", "link"].map(|path| segment(field, path, None));
    field.remove("file");
    field.link("link", "elsewhere");
    for segment in &segments {
        let failure = field.source().open(segment).err().unwrap();
        assert_eq!((failure.reason, failure.transient), (SkipReason::SourceChanged, false), "{}", failure.message);
        assert!(failure.message.contains(&segment.source), "{}", failure.message);
    }
}

fn nothing_outside_of_the_source_is_read(field: &dyn Field) {
    field.write("file", CONTENT);
    let outside = Segment { source: "/etc/passwd".to_owned(), ..segment(field, "file", None) };
    assert_eq!(field.source().open(&outside).err().unwrap().reason, SkipReason::SourceUnreadable);
    assert!(field.source().digest(b"/etc/passwd").is_err());
}

fn a_file_is_digested_as_it_is_now(field: &dyn Field) {
    field.write("file", b"before");
    let source = segment(field, "file", None).source;
    field.write("file", CONTENT);
    assert_eq!(field.source().digest(&percent::decode(&source).unwrap()).unwrap(), *blake3::hash(CONTENT).as_bytes());
    field.remove("file");
    assert!(field.source().digest(&percent::decode(&source).unwrap()).is_err());
}
