//! A bucket of S3 as a source: what every source must do, and what only a bucket can do to it.

use std::sync::Arc;

use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use cpt_control_aws::clients::http_client;
use cpt_ends_s3::client::{Bucket, Place, Setup};
use cpt_ends_s3::source::BucketSource;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::event::SkipReason;
use cpt_relay::ends::{Listed, Source};
use cpt_relay::epoch::PROCESSES_PER_START;
use cpt_relay::{receive, send};

use super::objects::{Fault, Store};
use super::source::{Field, read, segment};
use crate::harness::{Transfer, noise, path, sent_once, wait_for};

const CONTENT: &[u8] = b"the bytes of the object, in two parts";
/// More than the attempts of one call by the SDK.
const BEYOND_ATTEMPTS: usize = 4;

/// What lies below `in/`.
pub struct OfStore {
    pub store: Store,
    source: BucketSource,
}

pub fn source_of(store: &Store) -> BucketSource {
    let credentials = SharedCredentialsProvider::new(Credentials::new("key", "secret", None, None, "test"));
    let setup = Setup { endpoint: Some(store.endpoint.clone()), http: http_client().unwrap(), credentials };
    let place = Place { bucket: "b".to_owned(), prefix: "in/".to_owned(), region: "eu-west-1".to_owned(), owner: None };
    BucketSource::new(Bucket::new(place, setup).unwrap())
}

impl OfStore {
    pub fn new() -> Self {
        let store = Store::start(3);
        let source = source_of(&store);
        Self { store, source }
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        self.store.put(&format!("in/{path}"), bytes);
    }
}

impl Field for OfStore {
    fn source(&self) -> &dyn Source {
        &self.source
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        self.put(path, bytes);
    }

    fn write_quietly(&self, path: &str, bytes: &[u8]) {
        self.put(path, bytes);
    }

    fn link(&self, _: &str, _: &str) {
        panic!("a bucket has no links");
    }

    fn remove(&self, path: &str) {
        self.store.state().objects.remove(&format!("in/{path}")).unwrap();
    }
}

/// What all sources have that keep objects: nothing of it changes, it is replaced, and the listing has the entity tag.
#[test]
fn an_object_that_was_replaced_by_one_of_its_size_is_not_read() {
    let field = OfStore::new();
    field.put("file", CONTENT);
    let parts = [(0, 16), (16, CONTENT.len() as u64 - 16)].map(|range| segment(&field, "file", Some(range)));
    let first = field.source.open(&parts[0]).unwrap().unwrap();
    field.put("file", &CONTENT.to_ascii_uppercase());
    let failure = field.source.open(&parts[1]).err().unwrap();
    assert_eq!((failure.reason, failure.transient), (SkipReason::SourceChanged, false), "{}", failure.message);
    assert!(failure.message.contains("/in/file: was replaced"), "{}", failure.message);
    // What was asked for before is of one object, whatever has come in its place.
    let mut buffer = [0; 16];
    assert_eq!((first.read(&mut buffer, 0).unwrap(), &buffer[..]), (16, &CONTENT[..16]));
    assert_eq!(first.check().unwrap(), first.state());
    // What is asked for after it is not.
    assert_eq!(first.read(&mut buffer, 0).err().unwrap().reason, SkipReason::SourceChanged);
}

/// The same bytes, put again, are another state: their parts may be of two objects.
#[test]
fn the_same_bytes_put_again_are_another_state() {
    let field = OfStore::new();
    field.put("file", CONTENT);
    let segment = segment(&field, "file", None);
    let state = || field.source.open(&segment).unwrap().unwrap().state();
    let before = state();
    assert_eq!(state(), before);
    field.put("file", CONTENT);
    assert_ne!(state(), before);
}

#[test]
fn an_object_that_is_gone_or_shorter_has_changed() {
    let field = OfStore::new();
    field.put("gone", CONTENT);
    field.put("shorter", CONTENT);
    field.put("empty", b"");
    let [gone, shorter, empty] = ["gone", "shorter", "empty"].map(|path| segment(&field, path, None));
    assert!(read(&field.source, &empty).unwrap().is_empty());
    let end = segment(&field, "shorter", Some((30, 5)));
    field.remove("gone");
    field.put("shorter", b"short");
    field.put("empty", b"no more");
    for changed in [&gone, &shorter, &end, &empty] {
        let failure = field.source.open(changed).err().unwrap();
        assert_eq!((failure.reason, failure.transient), (SkipReason::SourceChanged, false), "{}", failure.message);
    }
}

#[test]
fn a_segment_is_one_request_however_small_the_pieces_are_in_which_it_is_read() {
    let field = OfStore::new();
    let bytes = noise(1, 1 << 20);
    field.put("file", &bytes);
    assert_eq!(read(&field.source, &segment(&field, "file", Some((4096, 1 << 19)))).unwrap(), bytes[4096..4096 + (1 << 19)]);
    assert_eq!(field.store.calls("GET in/file"), 1);
}

#[test]
fn a_body_that_is_cut_goes_on_from_there_and_only_of_the_same_object() {
    let field = OfStore::new();
    let bytes = noise(2, 1 << 20);
    field.put("file", &bytes);
    let segment = segment(&field, "file", None);
    field.store.spoil("GET in/file", 3, Fault::Cut(100_000));
    assert_eq!(read(&field.source, &segment).unwrap(), bytes);
    assert_eq!((field.store.left(), field.store.calls("GET in/file")), (0, 4));
    let log = field.store.state().log.clone();
    let matched = log.iter().filter(|line| line.contains("GET") && line.ends_with('"')).count();
    assert_eq!(matched, 3, "{log:?}");
    assert!(log.last().unwrap().contains("bytes=300000-1048575"), "{log:?}");

    field.store.spoil("GET in/file", 1, Fault::Cut(100_000));
    let file = field.source.open(&segment).unwrap().unwrap();
    field.put("file", &noise(3, 1 << 20));
    let (mut at, mut buffer) = (0, vec![0; 1 << 20]);
    let failure = loop {
        match file.read(&mut buffer, at) {
            Ok(count) => at += count as u64,
            Err(failure) => break failure,
        }
    };
    assert_eq!((failure.reason, at), (SkipReason::SourceChanged, 100_000), "{}", failure.message);
}

#[test]
fn what_may_pass_is_tried_again_and_what_may_not_is_said() {
    let field = OfStore::new();
    field.put("file", CONTENT);
    let segment = segment(&field, "file", None);
    for fault in [Fault::Status(503, "SlowDown"), Fault::Status(500, "InternalError"), Fault::Status(400, "ExpiredToken")] {
        field.store.spoil("GET in/file", BEYOND_ATTEMPTS, fault);
        assert_eq!(read(&field.source, &segment).unwrap(), CONTENT);
        assert_eq!(field.store.left(), 0, "{fault:?}");
    }
    for (status, code) in [(403, "AccessDenied"), (403, "InvalidObjectState"), (400, "InvalidRequest")] {
        field.store.spoil("GET in/file", 1, Fault::Status(status, code));
        let failure = field.source.open(&segment).err().unwrap();
        assert_eq!((failure.reason, failure.transient), (SkipReason::SourceUnreadable, false), "{code}: {}", failure.message);
        assert_eq!(field.store.left(), 0);
    }
}

#[test]
fn a_listing_of_many_pages_names_all_and_waits_for_a_throttled_bucket() {
    let field = OfStore::new();
    let paths = ["", "a", "a b/+&=%", "a-b", "a/c", "a/é\n", "d/", "d/..", "cold"];
    paths.iter().for_each(|path| field.put(path, if path.ends_with('/') { b"" } else { CONTENT }));
    field.store.put_as("in/cold", CONTENT, "DEEP_ARCHIVE");
    field.store.state().objects.remove("in/").unwrap();
    field.store.spoil("LIST", BEYOND_ATTEMPTS, Fault::Status(503, "SlowDown"));
    let mut lines = Vec::new();
    let take = &mut |listed| {
        lines.push(match listed {
            Listed::Entry(entry) => format!("{} {:?} {}", entry.path, entry.kind, entry.size),
            Listed::LeftOut(path, reason) => format!("{} {reason:?}", String::from_utf8(path).unwrap()),
            Listed::Problem(path, why) => format!("{} {why}", String::from_utf8(path).unwrap()),
            Listed::Unkept(_) => panic!("nothing is unkept"),
        });
        Ok(())
    };
    field.source.list(take).unwrap();
    assert_eq!(field.store.left(), 0);
    let archived = lines.pop().unwrap();
    assert!(archived.starts_with("in/cold is archived, as are 1 objects of 37 bytes"), "{archived}");
    let expected =
        ["a NoPath", "a/c File 37", "a/%C3%A9%0A File 37", "a%20b/%2B%26%3D%25 File 37", "a-b File 37", "d Directory 0", "d/.. NoPath"];
    assert_eq!(lines, expected);
}

/// What nobody may list is a problem of the listing, and says why.
#[test]
fn a_bucket_that_refuses_is_a_problem() {
    let field = OfStore::new();
    field.store.spoil("LIST", 1, Fault::Status(403, "AccessDenied"));
    let mut problems = Vec::new();
    let take = &mut |listed| {
        let Listed::Problem(path, why) = listed else { panic!("nothing is listed") };
        problems.push((String::from_utf8(path).unwrap(), why));
        Ok(())
    };
    field.source.list(take).unwrap();
    assert_eq!(problems, [("s3://b/in/".to_owned(), "AccessDenied: as a test wants it".to_owned())]);
}

#[test]
fn a_piece_is_sampled_where_an_object_has_it() {
    let field = OfStore::new();
    field.put("file", CONTENT);
    let mut buffer = [0; 16];
    assert_eq!((field.source.sample(b"/in/file", 30, &mut buffer).unwrap(), &buffer[..7]), (7, &CONTENT[30..]));
    assert!(field.source.sample(b"/in/file", 300, &mut buffer).is_err());
    assert!(field.source.sample(b"/other", 0, &mut buffer).is_err());
}

const PART: u64 = 64 << 10;

/// A bucket of large and small objects, and what no tree can have.
fn filled(store: &Store) {
    store.put("in/d/large", &noise(4, 5 * PART as usize + 1));
    store.put("in/d", b"a directory's name");
    store.put("in/empty", b"");
    (0..40).for_each(|number| store.put(&format!("in/many/{number}"), &noise(number, 1000)));
    store.put("out/side", b"another prefix");
}

fn arrives(store: &Store, transfer: &mut Transfer) {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == 0), "{outcome:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    same_as_in(store, transfer);
}

fn same_as_in(store: &Store, transfer: &Transfer) {
    let state = store.state();
    let mut found = 0;
    for (key, object) in &state.objects {
        let Some(path) = key.strip_prefix("in/").filter(|path| *path != "d") else { continue };
        assert_eq!(std::fs::read(transfer.destination().join(path)).unwrap(), object.bytes, "{path}");
        found += 1;
    }
    assert_eq!(found, 42);
    assert!(!transfer.destination().join("side").exists());
}

#[test]
fn a_bucket_arrives_in_a_tree_over_sockets() {
    let store = Store::start(10);
    filled(&store);
    let mut transfer = Transfer::of(PART, Some(1), Arc::new(source_of(&store)));
    arrives(&store, &mut transfer);
    // One request for each object or part, and none of what is left out.
    assert_eq!((store.calls("GET in/d/large"), store.calls("GET in/many/"), store.calls("GET in/d ")), (6, 40, 0));
}

#[test]
fn a_bucket_arrives_though_each_of_its_objects_is_cut_and_throttled() {
    let store = Store::start(10);
    filled(&store);
    let mut transfer = Transfer::of(PART, Some(1), Arc::new(source_of(&store)));
    store.spoil("GET in/d/large", 6, Fault::Cut(30_000));
    store.spoil("GET in/many/", 40, Fault::Cut(500));
    store.spoil("GET in/empty", 2, Fault::Status(503, "SlowDown"));
    arrives(&store, &mut transfer);
    assert_eq!(store.left(), 0);
}

#[test]
fn a_sender_from_a_bucket_that_ends_is_followed_by_one_that_goes_on() {
    let store = Store::start(10);
    filled(&store);
    let mut transfer = Transfer::of(PART, None, Arc::new(source_of(&store)));
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let first = transfer.send(Some(1));
    let delivered = |transfer: &Transfer| -> Vec<u64> {
        transfer.chunks().iter().filter(|chunk| chunk.state == ChunkState::Delivered).map(|chunk| chunk.bytes).collect()
    };
    wait_for("some chunks", || (delivered(&transfer).len() >= 2).then_some(()));
    first.stop.request();
    first.join();
    let before = delivered(&transfer);
    assert!((before.len() as u64) < transfer.plan.chunks, "too late");
    transfer.epoch = PROCESSES_PER_START;
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    let rest = totals.bytes - before.iter().sum::<u64>();
    let sent = sent_once(&totals);
    assert!(sent <= rest, "{sent} bytes were sent for {rest}");
    same_as_in(&store, &transfer);
}
