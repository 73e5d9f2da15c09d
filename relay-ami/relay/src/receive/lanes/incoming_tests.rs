#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use super::*;
use crate::builders::stream::Speaker;
use crate::documents::entry::Kind;
use crate::documents::event::SkipReason;
use crate::receive::builders::{header, intake};

const CONTENT: &[u8] = b"content";

/// One chunk on its way into a folder.
struct Chunk {
    sender: Speaker,
    reader: FrameReader,
    replies: Arc<Replies>,
    intake: Intake,
    queue: Receiver<Verified>,
    /// As the sender has it.
    digest: blake3::Hasher,
}

impl Chunk {
    fn into(folder: &Path) -> Self {
        let (sender, reader, replies) = Speaker::to_receiver();
        let (intake, queue) = intake(folder);
        Self { sender, reader, replies, intake, queue, digest: blake3::Hasher::new() }
    }

    /// A frame that counts in the chunk's digest.
    fn says(&mut self, frame: &Frame) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        self.digest.update(&bytes);
        self.sender.say(std::slice::from_ref(frame));
    }

    fn file(&mut self, entry: u64, path: &str) {
        self.says(&Frame::Segment(header(entry, path, CONTENT.len() as u64)));
        self.sender.data(CONTENT);
        let mut hasher = Proof::Blake3.whole();
        hasher.update(CONTENT).end(&mut self.digest);
    }

    fn ends(&mut self) {
        let digest = *self.digest.finalize().as_bytes();
        self.sender.say(&[Frame::Digest(digest)]);
    }

    /// Whether the receiver takes it to its end, and hands it on or refuses it.
    fn arrives(&mut self, segments: u32) -> Result<bool, StreamError> {
        let (disk, path) = (self.intake.site.disk.caller(), Arc::from("direct"));
        let ticket = Ticket { chunk: 3, attempt: 1, path: &path, lane: 0, replies: &self.replies };
        let mut incoming = Incoming::new(&self.intake, &disk, ticket);
        let is_whole = incoming.receive(&mut self.reader, segments)?;
        if is_whole {
            incoming.settle();
        }
        Ok(is_whole)
    }

    /// Entries and bytes of what was handed on; none where nothing was.
    fn handed_on(&self) -> Option<(Vec<u64>, u64)> {
        let verified = self.queue.try_recv().ok()?;
        Some((verified.landed.iter().map(Landed::entry).collect(), verified.bytes))
    }
}

/// Files that lie in the staging directory, its journal among them.
fn staged(folder: &Path) -> usize {
    std::fs::read_dir(folder.join(".cpt-partial-t")).unwrap().count()
}

#[test]
fn a_chunk_that_is_what_the_sender_digested_is_handed_on_with_all_its_entries() {
    let folder = tempfile::tempdir().unwrap();
    let mut chunk = Chunk::into(folder.path());
    chunk.file(1, "a");
    chunk.file(2, "b");
    chunk.ends();
    assert!(chunk.arrives(2).unwrap());
    assert_eq!(chunk.handed_on(), Some((vec![1, 2], 14)));
    assert_eq!(chunk.intake.site.counters.moved.load(Ordering::Relaxed), 14);
}

#[test]
fn a_chunk_with_another_digest_is_refused_and_nothing_of_it_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut chunk = Chunk::into(folder.path());
    chunk.file(1, "a");
    chunk.sender.say(&[Frame::Digest([7; 32])]);
    let before = staged(folder.path());
    assert!(chunk.arrives(1).unwrap());
    let reason = FailureReason::ChecksumMismatch;
    assert!(matches!(chunk.sender.hears(), Frame::Nack { chunk: 3, attempt: 1, reason: heard, .. } if heard == reason));
    assert_eq!((chunk.handed_on(), staged(folder.path())), (None, before));
}

#[test]
fn what_the_sender_gives_up_is_neither_handed_on_nor_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut chunk = Chunk::into(folder.path());
    chunk.file(1, "a");
    chunk.sender.say(&[Frame::Abort { reason: FailureReason::SourceUnreadable, message: String::new() }]);
    assert!(!chunk.arrives(2).unwrap());
    assert_eq!((chunk.handed_on(), chunk.intake.site.counters.failed.load(Ordering::Relaxed)), (None, 0));
}

#[test]
fn a_file_that_the_sender_takes_back_is_none_of_the_chunk_and_its_neighbour_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut chunk = Chunk::into(folder.path());
    let skip = |entry| Frame::Skip { entry, reason: SkipReason::SourceChanged, message: String::new() };
    chunk.file(1, "a");
    // After its last byte; and one that is left out before any came.
    chunk.says(&skip(1));
    chunk.says(&skip(2));
    chunk.file(3, "c");
    chunk.ends();
    assert!(chunk.arrives(3).unwrap());
    assert_eq!(chunk.handed_on().map(|(entries, _)| entries), Some(vec![3]));
    assert_eq!(chunk.intake.site.files.skipped(), [1, 2].into());
}

#[test]
fn an_entry_that_the_destination_refuses_is_named_and_its_neighbours_count() {
    let folder = tempfile::tempdir().unwrap();
    let mut chunk = Chunk::into(folder.path());
    let mut special = header(1, "pipe", 0);
    special.kind = Kind::Special;
    chunk.intake.preserve.special_files = true;
    chunk.says(&Frame::Segment(special));
    Proof::Blake3.whole().end(&mut chunk.digest);
    chunk.file(2, "b");
    chunk.ends();
    assert!(chunk.arrives(2).unwrap());
    assert!(matches!(chunk.sender.hears(), Frame::Refused { chunk: 3, attempt: 1, entry: 1, .. }));
    assert_eq!(chunk.handed_on().map(|(entries, _)| entries), Some(vec![2]));
}

#[test]
fn a_sender_that_breaks_the_protocol_is_not_heard_on() {
    let breaks = |says: &dyn Fn(&mut Chunk)| {
        let folder = tempfile::tempdir().unwrap();
        let mut chunk = Chunk::into(folder.path());
        chunk.intake.total_bytes = 100;
        let before = staged(folder.path());
        says(&mut chunk);
        let arrived = chunk.arrives(1);
        assert!(matches!(&arrived, Err(StreamError::Protocol(_))), "{arrived:?}");
        assert_eq!((chunk.handed_on(), staged(folder.path())), (None, before));
    };
    breaks(&|chunk| chunk.says(&Frame::Segment(header(1, "larger-than-the-plan", 101))));
    breaks(&|chunk| {
        chunk.says(&Frame::Segment(header(1, "short", 3)));
        chunk.sender.data(CONTENT);
    });
    breaks(&|chunk| {
        chunk.says(&Frame::Segment(header(1, "f", 8)));
        chunk.sender.say(&[Frame::Forgotten]);
    });
    breaks(&|chunk| chunk.says(&Frame::Segment(SegmentHeader { kind: Kind::Special, ..header(1, "not-asked-for", 0) })));
    breaks(&|chunk| {
        chunk.file(1, "one");
        chunk.file(2, "more-than-announced");
    });
}
