//! A bucket of S3 for the suites, and whole transfers into one.

use std::path::Path;

use cpt_control_aws::clients::http_client;
use cpt_ends_s3::client::{Bucket, Place, Setup};
use cpt_ends_s3::destination::BucketDestination;
use cpt_ends_s3::written::Written;
use cpt_relay::digest::Proof;
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::{Compare, Overwrite};
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::event::SkipReason;
use cpt_relay::documents::extras::Stayed;
use cpt_relay::documents::seat::Seat;
use cpt_relay::documents::selection::Selection;
use cpt_relay::documents::survey::Survey;
use cpt_relay::documents::text::{HexDigest, PlanId, TransferId};
use cpt_relay::ends::problem::{Reach, reach};
use cpt_relay::ends::{Destination, LargeFile, Left, OpenDestination, Placed, Removal};
use cpt_relay::mirror::Extras;
use cpt_relay::select::Selector;
use cpt_relay::survey::compare::Listing;
use cpt_relay::survey::scan;
use cpt_relay::wire::frame::SegmentHeader;
use cpt_relay::{receive, send};

use super::s3_faults::Fault;
use super::s3_service::Service;
use super::site::Site;
use crate::harness::{Transfer, noise, path, wait_for};

pub const PREFIX: &str = "some/where/";
const PART: u64 = 64 << 10;
const KEY: &str = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd";

pub struct S3 {
    pub service: Service,
    bucket: Bucket,
    pub end: BucketDestination,
}

impl S3 {
    pub fn new() -> Self {
        let service = Service::start();
        let bucket = client(&service, "id");
        Self { service, end: BucketDestination::new(bucket.clone()), bucket }
    }

    /// As one of several receivers has it, whose access key has the seat's name as its id.
    pub fn shared(&self, seat: Seat) -> BucketDestination {
        BucketDestination::new(client(&self.service, &seat.to_string())).received_by(seat).beside_others(true)
    }

    /// The same, to which objects are written with a class, a tag and a key.
    fn writing(self) -> Self {
        let (storage_class, tags) = (Some("GLACIER_IR".to_owned()), Some("a=b%20c".to_owned()));
        let bucket = self.bucket.writing(Written { storage_class, tags, kms_key: Some(KEY.to_owned()) });
        Self { end: BucketDestination::new(bucket), ..self }
    }

    pub fn keys(&self) -> Vec<String> {
        self.service.state().objects.keys().map(|key| key.strip_prefix(PREFIX).unwrap().to_owned()).collect()
    }

    pub fn stored(&self, path: &str) -> Option<Vec<u8>> {
        self.service.state().objects.get(&format!("{PREFIX}{path}")).map(|object| object.bytes.clone())
    }

    /// Bytes that were exchanged without relays, and through them.
    pub fn moved(&self) -> (usize, usize) {
        let state = self.service.state();
        let by = |is_direct: bool| {
            state.moved.iter().filter(|(host, _)| self.service.endpoint.ends_with(*host) == is_direct).map(|(_, bytes)| bytes).sum()
        };
        (by(true), by(false))
    }

    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    pub fn called(&self, operation: &str) -> usize {
        self.service.state().calls.get(operation).copied().unwrap_or_default()
    }
}

impl Site for S3 {
    fn destination(&self) -> &dyn Destination {
        &self.end
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        self.service.state().put(&format!("{PREFIX}{path}"), bytes);
    }

    fn remove(&self, path: &str) {
        self.service.state().objects.remove(&format!("{PREFIX}{path}")).unwrap();
    }

    /// Its upload is aborted.
    fn replace_unfinished(&self, _entry: u64) {
        self.service.state().abort_all();
    }

    fn fill_up(&self) -> bool {
        false
    }

    fn is_tidy(&self) -> bool {
        self.service.state().uploads() == 0 && self.keys().iter().all(|key| !key.starts_with(".cpt-partial-"))
    }
}

fn client(service: &Service, id: &str) -> Bucket {
    let place = Place { bucket: "there".to_owned(), prefix: PREFIX.to_owned(), region: "eu-west-1".to_owned(), owner: None };
    let (endpoint, http) = (Some(service.endpoint.clone()), http_client().unwrap());
    Bucket::new(place, Setup { endpoint, http, credentials: Setup::keys(id, "secret", None) }).unwrap()
}

fn opened(site: &S3) -> (Box<dyn OpenDestination>, Left) {
    let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("1".repeat(32)).unwrap());
    site.end.open(&transfer, &plan, PART, Proof::Blake3).unwrap()
}

fn header(size: u64) -> SegmentHeader {
    let (path, target, attributes) = (b"large".to_vec(), Vec::new(), Vec::new());
    SegmentHeader { entry: 7, kind: Kind::File, mode: 0o600, mtime_ns: 5, size, offset: 0, length: size, path, target, attributes }
}

/// Brings one part, whose bytes are its number.
fn bring(to: &dyn OpenDestination, file: &dyn LargeFile, part: u64) {
    file.write(&vec![part as u8; PART as usize], part * PART).unwrap();
    file.prepare_sync(part * PART..(part + 1) * PART).unwrap();
    to.sync().unwrap();
    file.keep(part, part * PART..(part + 1) * PART, [part as u8; 32]).unwrap();
}

#[test]
fn an_object_whose_completion_nobody_lived_to_note_is_not_sent_again() {
    let site = S3::new();
    let (to, _) = opened(&site);
    let (file, _) = to.large(&header(3 * PART)).unwrap();
    (0..3).for_each(|part| bring(&*to, &*file, part));
    let placed = file.place().unwrap();
    // Without a word of it, and without closing.
    std::mem::forget((to, file));
    let (to, left) = opened(&site);
    assert!(left.placed.is_empty() && left.begun.contains(&7));
    let (file, kept) = to.large(&header(3 * PART)).unwrap();
    assert_eq!(kept.len(), 3);
    assert_eq!(file.place().unwrap(), placed);
    assert_eq!((site.called("UploadPart"), site.called("CreateMultipartUpload")), (3, 1));
    to.finish(&|| ()).unwrap();
    assert!(site.is_tidy());
}

#[test]
fn objects_get_what_is_asked_for_and_notes_the_key_alone() {
    let site = S3::new().writing();
    assert!(site.end.room().problem.is_none());
    moved_to(&site);
    let asked = [Some("GLACIER_IR"), Some("a=b%20c"), Some(KEY)].map(|text| text.map(str::to_owned));
    let of_notes = [None, None, Some(KEY.to_owned())];
    let written = site.service.state().written.clone();
    let (probes, rest): (Vec<_>, Vec<_>) = written.into_iter().partition(|(key, _)| key.ends_with(".cpt-partial-survey"));
    // A policy of the bucket may refuse either.
    assert_eq!(probes.into_iter().map(|(_, found)| found).collect::<Vec<_>>(), [asked.clone(), of_notes.clone()]);
    let (notes, objects): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(key, _)| key.contains("/.cpt-partial-"));
    assert!(!notes.is_empty() && notes.iter().all(|(_, found)| *found == of_notes), "{notes:?}");
    assert!(objects.len() == 302 && objects.iter().all(|(_, found)| *found == asked));
}

#[test]
fn parts_of_an_upload_that_was_begun_otherwise_do_not_count() {
    let site = S3::new();
    let (to, _) = opened(&site);
    let (file, _) = to.large(&header(3 * PART)).unwrap();
    bring(&*to, &*file, 0);
    to.sync_notes().unwrap();
    std::mem::forget((to, file));
    let site = site.writing();
    let (_, left) = opened(&site);
    assert!(left.begun.is_empty());
    assert_eq!(site.service.state().uploads(), 0);
}

#[test]
fn what_a_receiver_notes_that_was_replaced_counts_for_nobody() {
    let site = S3::new();
    let placed = |of: u8| Placed { digest: [of; 32], version: None };
    let (frozen, _) = opened(&site);
    frozen.note(1, &placed(1)).unwrap();
    frozen.sync_notes().unwrap();
    let (next, left) = opened(&site);
    assert_eq!(left.placed.iter().collect::<Vec<_>>(), [(1, placed(1))]);
    next.forget(1).unwrap();
    next.note(2, &placed(2)).unwrap();
    next.sync_notes().unwrap();
    frozen.note(3, &placed(3)).unwrap();
    frozen.sync_notes().unwrap();
    let left = opened(&site).1;
    assert_eq!(left.placed.iter().collect::<Vec<_>>(), [(2, placed(2))]);
}

#[test]
fn a_bucket_that_is_taken_away_is_found_missing() {
    let site = S3::new();
    let (to, _) = opened(&site);
    site.service.state().is_gone = true;
    let error = wait_for("an answer about the bucket", || to.check_there().err());
    assert!(error.to_string().contains("NoSuchBucket"), "{error}");
    assert_eq!(reach(&error), Reach::Destination);
}

fn removed(site: &S3, path: &str, kind: Kind) -> Removal {
    let directory = site.end.tour().unwrap().directory().clone();
    site.end.remover(&directory).unwrap().remove(path.as_bytes(), &|found| found.kind == kind).unwrap()
}

#[test]
fn an_object_and_what_is_below_its_key_are_removed_apart() {
    let site = S3::new();
    ["both", "both/x", "above/x"].iter().for_each(|path| site.put(path, b"12345"));
    assert_eq!(removed(&site, "above", Kind::File), Removal::Gone, "what is below its key is no object in its place");
    assert_eq!(removed(&site, "both", Kind::Directory), Removal::Stays(Stayed::NotEmpty, None));
    assert_eq!(removed(&site, "both/x", Kind::File), Removal::Removed);
    assert_eq!(removed(&site, "both", Kind::Directory), Removal::Gone, "the object was not meant");
    assert_eq!(site.keys(), ["above/x", "both"]);
}

#[test]
fn an_object_and_what_is_below_its_key_are_both_held_against_what_the_source_has_there() {
    let site = S3::new();
    ["f", "f/below"].iter().for_each(|path| site.put(path, b"12345"));
    let transfer = Transfer::plan(PART, None, |root| {
        std::fs::create_dir_all(root).unwrap();
        std::fs::write(root.join("f"), b"a file").unwrap();
    });
    let listed = |overwrite| {
        let from = cpt_ends_posix::PosixSource::new(vec![transfer.source().join("")]);
        transfer.control.clear().unwrap();
        let survey = scan::source(&from, &*transfer.control, "", scan::Options::default()).unwrap();
        let Survey::Source { parts, listing_digest, .. } = survey else { panic!("{survey:?}") };
        let digest = HexDigest::new(listing_digest).unwrap();
        let extras = Extras {
            control: &*transfer.control,
            prefix: "",
            listing: (parts, &digest),
            unselected: (0, None),
            within: None,
            apart: &[],
            above: &[],
            selector: &Selector::new(&Selection::default()).unwrap(),
            preserve: Preserve::default(),
            folder: "extras/1/",
            overwrite,
        };
        let survey = extras.list(&site.end).unwrap();
        let Survey::Extras { files, directories, in_the_way, .. } = survey else { panic!("{survey:?}") };
        (files, directories, in_the_way)
    };
    assert_eq!(listed(Overwrite::Always), (1, 1, 2), "where it is below a key of the source it goes before that comes");
    assert_eq!(listed(Overwrite::Never), (0, 0, 0), "or stays, where nothing goes");
}

#[test]
fn an_object_whose_removal_was_answered_to_nobody_is_gone() {
    let site = S3::new();
    site.put("a", b"12345");
    site.service.state().faults.meet("DeleteObject", 1, Fault::Lost);
    assert_eq!(removed(&site, "a", Kind::File), Removal::Gone);
    assert_eq!(site.called("DeleteObject"), 2);
}

#[test]
fn a_part_that_is_sent_again_counts_as_it_came_last() {
    let site = S3::new();
    let (to, _) = opened(&site);
    let (file, _) = to.large(&header(2 * PART)).unwrap();
    for byte in [9, 8, 0] {
        file.write(&vec![byte; PART as usize], 0).unwrap();
        file.prepare_sync(0..PART).unwrap();
    }
    to.sync().unwrap();
    file.keep(0, 0..PART, [0; 32]).unwrap();
    bring(&*to, &*file, 1);
    file.place().unwrap();
    let put = site.service.state().objects[&format!("{PREFIX}large")].bytes.clone();
    assert!(put == [vec![0; PART as usize], vec![1; PART as usize]].concat());
}

#[test]
fn names_that_no_bucket_bears_are_the_entrys_fault() {
    let site = S3::new();
    let (to, _) = opened(&site);
    let long = "n/".repeat(600) + "n";
    let refused = |path: &[u8]| {
        let header = SegmentHeader { path: path.to_vec(), ..header(2 * PART) };
        reach(&to.large(&header).err().unwrap()) == Reach::Entry(SkipReason::DestinationRefused)
    };
    assert!(refused(b"\xff") && refused(long.as_bytes()) && refused(b".cpt-partial-u/x") && refused(b"bell\x07"));
    assert!(to.small(&SegmentHeader { path: b"bell\x07".to_vec(), ..header(1) }).is_ok(), "whole, it can be put");
    let many = SegmentHeader { size: 10_001 * PART, ..header(0) };
    assert_eq!(reach(&to.large(&many).err().unwrap()), Reach::Entry(SkipReason::DestinationRefused));
}

fn fill(root: &Path) {
    std::fs::create_dir_all(root.join("d/empty")).unwrap();
    std::fs::write(root.join("d/large"), noise(2, 3 * PART as usize + 7)).unwrap();
    (0..300).for_each(|number| std::fs::write(root.join(format!("d/{number}")), noise(number, 10)).unwrap());
    // A listing of keys has it before what is in the directory, a walk after it.
    std::fs::write(root.join("d!"), b"after").unwrap();
}

fn moved_to(site: &S3) -> Transfer {
    let mut transfer = Transfer::plan(PART, None, fill).to(site.end.clone());
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.repaired_chunks + totals.skipped == 0), "{outcome:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer
}

#[test]
fn a_tree_is_put_and_seen_by_its_listing_alone() {
    let site = S3::new();
    let transfer = moved_to(&site);
    assert!(site.is_tidy());
    let keys = site.keys();
    assert_eq!(keys.len(), 302, "directories are names, and nothing else");
    for key in keys {
        let put = site.service.state().objects[&format!("{PREFIX}{key}")].bytes.clone();
        assert!(put == std::fs::read(transfer.source().join(&key)).unwrap(), "{key}");
    }
    assert_eq!(site.called("HeadObject"), 0, "what was put is known by its entity tag");
    assert_eq!((site.called("CreateMultipartUpload"), site.called("UploadPart"), site.called("CompleteMultipartUpload")), (1, 4, 1));
}

#[test]
fn what_a_bucket_has_is_found_equal_by_one_question_each() {
    let site = S3::new();
    let transfer = moved_to(&site);
    let compared = |by: Compare| {
        let from = cpt_ends_posix::PosixSource::new(vec![transfer.source().join("")]);
        transfer.control.clear().unwrap();
        let listed = scan::source(&from, &*transfer.control, "", scan::Options::default()).unwrap();
        let Survey::Source { parts, .. } = listed else { panic!("{listed:?}") };
        let listing = Listing { control: &*transfer.control, prefix: "", parts };
        let Survey::Comparison { files, same_files, .. } = listing.with_destination(&site.end, by, "changed/1/", "equal/1/").unwrap()
        else {
            panic!("no comparison")
        };
        (files, same_files)
    };
    assert_eq!(compared(Compare::SizeTime), (0, 302));
    assert_eq!(site.called("HeadObject"), 302);
    std::fs::write(transfer.source().join("d/7"), b"otherwise").unwrap();
    std::fs::write(transfer.source().join("d/new"), b"new").unwrap();
    assert_eq!(compared(Compare::SizeTime), (2, 301));
}
