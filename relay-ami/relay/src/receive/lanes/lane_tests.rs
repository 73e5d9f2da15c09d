#![allow(clippy::unwrap_used)]

use std::net::Shutdown;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::Receiver;

use super::*;
use crate::builders::control::InMemory;
use crate::builders::stream::{Speaker, pair};
use crate::control::{Control, Seat};
use crate::digest::{Proof, TreeDigest};
use crate::documents::membership::Membership;
use crate::documents::plan::TransferPlan;
use crate::documents::text::TransferId;
use crate::objects::digests::Digests;
use crate::rate::RateRules;
use crate::receive::builders::{header, intake};
use crate::receive::commit::Verified;
use crate::receive::outcome::{End, Outcome};
use crate::secure::keys::Identity;
use crate::stop::Stop;
use crate::under_way::UnderWay;
use crate::wire::frame::VERSION;

const EPOCH: u64 = 65_536;

fn lanes(folder: &Path) -> (Lanes, Receiver<Verified>) {
    lanes_of(folder, InMemory::default())
}

fn lanes_of(folder: &Path, control: InMemory) -> (Lanes, Receiver<Verified>) {
    let plan = include_str!("../../../../../contracts/examples/good/transfer-plan/two-parts.json");
    let plan = TransferPlan::parse(plan.as_bytes()).unwrap();
    let (intake, queue) = intake(folder);
    let control: Arc<dyn Control> = Arc::new(control);
    let gate = Gate {
        transfer: TransferId::new("t").unwrap(),
        epoch: EPOCH,
        proof: Proof::Blake3,
        rules: RateRules::default(),
        identity: Identity::generate().unwrap(),
        peer_key: Arc::new(|_| true),
        sender_epochs: Mutex::default(),
    };
    let finish = Finish {
        site: Arc::clone(&intake.site),
        seat: Seat::RECEIVER,
        digests: Digests::new(Arc::clone(&control), "", &plan.plan_id),
        control,
        asked: Arc::new(UnderWay::default()),
        plan,
        plan_key: String::new(),
        prefix: String::new(),
        proof: Proof::Blake3,
        end: Arc::new(End::new(Stop::new().unwrap())),
    };
    (Lanes { gate, intake, finish, sending: Arc::default(), listeners: Arc::default(), beside: None }, queue)
}

fn hello(epoch: u64, transfer: &str, proof: Proof) -> Frame {
    let (transfer, path) = (transfer.to_owned(), "direct".to_owned());
    Frame::Hello { version: VERSION, transfer, seat: Seat::SENDER, epoch, path, generation: 1, lane: 0, proof }
}

/// What a stream on which the sender says this comes to, and what the sender hears; it says nothing more then.
fn conversation(lanes: &Lanes, says: impl FnOnce(&mut Speaker)) -> (Result<(), StreamError>, Vec<Frame>) {
    let ((sealer, opener), (replies, heard), socket) = pair();
    let mut sender = Speaker { sealer, reader: FrameReader::new(opener) };
    says(&mut sender);
    sender.sealer.close().unwrap();
    let result = lanes.converse(&socket, replies, heard);
    // A chunk that was handed on would hold the stream open.
    socket.shutdown(Shutdown::Write).unwrap();
    let mut all = Vec::new();
    while let Ok(Some(frame)) = sender.reader.frame() {
        all.push(frame);
    }
    (result, all)
}

fn greeted(lanes: &Lanes, frames: &[Frame]) -> (Result<(), StreamError>, Vec<Frame>) {
    let (result, mut heard) = conversation(lanes, |sender| {
        sender.say(&[hello(EPOCH, "t", Proof::Blake3)]);
        sender.say(frames);
    });
    assert_eq!(heard.remove(0), Frame::Welcome { version: VERSION, epoch: EPOCH, proof: Proof::Blake3 });
    (result, heard)
}

/// Of a transfer of which this end has nothing, some chunks given up.
fn finish() -> Frame {
    let (entries, tree) = TreeDigest::default().finish();
    Frame::Finish { complete: false, skipped: 0, entries, tree }
}

/// Of one that is delivered, and of which this end has something else.
fn differs() -> Frame {
    Frame::Finish { complete: true, skipped: 0, entries: 1, tree: [7; 32] }
}

#[test]
fn only_this_transfers_sender_of_the_latest_epoch_that_digests_alike_brings_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let (lanes, _queue) = lanes(folder.path());
    let answers = |frame: Frame| {
        let (result, heard) = conversation(&lanes, |sender| sender.say(&[frame]));
        (result.is_ok(), heard.len())
    };
    assert_eq!(answers(Frame::Pause), (false, 0));
    assert_eq!(answers(hello(EPOCH, "another", Proof::Blake3)), (false, 0));
    assert_eq!(answers(hello(EPOCH + 1, "t", Proof::Blake3)), (true, 1));
    assert_eq!(answers(hello(EPOCH, "t", Proof::Blake3)), (false, 0), "it was replaced");
    assert_eq!(answers(hello(EPOCH + 1, "t", Proof::Crc64)), (false, 1), "it hears how this end digests");
    assert!(lanes.gate.is_of_same_start());
}

#[test]
fn the_receiver_ends_once_the_sender_has_heard_what_a_finish_came_to_and_not_before() {
    let folder = tempfile::tempdir().unwrap();
    let (lanes, _queue) = lanes(folder.path());
    let end = &lanes.finish.end;
    let (result, heard) = greeted(&lanes, &[finish()]);
    assert!(matches!(result, Err(StreamError::Ended)) && !end.stop.is_requested(), "it may not have been heard");
    assert!(matches!(&*heard, [Frame::Finished { agreed: true, .. }]));
    let (result, _) = greeted(&lanes, &[finish(), Frame::Drain]);
    assert!(result.is_ok() && end.stop.is_requested());
    assert_eq!(end.take().unwrap(), Outcome::Agreed);
}

#[test]
fn what_is_forgotten_after_a_finish_is_forgotten_before_the_sender_hears_so_and_the_finish_does_not_hold_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (lanes, _queue) = lanes(folder.path());
    let placed = crate::ends::Placed { digest: [1; 32], version: None };
    [4, 5, 6].into_iter().for_each(|entry| lanes.intake.site.files.complete(entry, placed));
    let (result, heard) =
        greeted(&lanes, &[differs(), Frame::Forget { entry: 4, last: false }, Frame::Forget { entry: 5, last: true }, Frame::Drain]);
    assert!(result.is_ok() && !lanes.finish.end.stop.is_requested(), "{result:?}");
    assert!(matches!(&*heard, [Frame::Finished { agreed: false, .. }, Frame::Forgotten]));
    assert_eq!(lanes.intake.site.files.placed().iter().map(|(entry, _)| entry).collect::<Vec<_>>(), [6]);
}

#[test]
fn chunks_of_one_stream_are_handed_on_with_its_path_and_a_frame_out_of_place_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let (lanes, queue) = lanes(folder.path());
    let segment = Frame::Segment(header(1, "f", 0));
    let (mut bytes, mut digest) = (Vec::new(), blake3::Hasher::new());
    segment.encode(&mut bytes);
    digest.update(&bytes);
    Proof::Blake3.whole().end(&mut digest);
    let chunk = Frame::Chunk { chunk: 7, attempt: 2, segments: 1, phase: 0 };
    let digest = Frame::Digest(*digest.finalize().as_bytes());
    let (result, _) = greeted(&lanes, &[chunk, segment, digest, Frame::Pause, Frame::Forgotten]);
    assert!(matches!(result, Err(StreamError::Protocol(why)) if why.contains("Forgotten")));
    let verified = queue.try_recv().unwrap();
    assert_eq!((verified.chunk, verified.attempt, &*verified.path, verified.landed.len()), (7, 2, "direct", 1));
}

/// The sender, who asks for that, may have read of it sooner: the copy of what another one may still write into depends on it.
#[test]
fn a_receiver_that_gathers_knows_who_was_given_up_when_it_is_asked() {
    let (folder, control) = (tempfile::tempdir().unwrap(), InMemory::default());
    let retired = r#"{"seatId": "r0", "epoch": 65536, "isGone": false}"#;
    let text = format!(r#"{{"schemaVersion": 1, "version": 4, "paths": [], "probes": [], "retired": [{retired}]}}"#);
    *crate::thread::lock(&control.membership) = Some(Membership::parse(text.as_bytes()).unwrap());
    let (mut lanes, _queue) = lanes_of(folder.path(), control);
    let beside = Arc::new(Beside::new(Seat::new("r1").unwrap(), EPOCH));
    lanes.beside = Some(Arc::clone(&beside));
    let (result, heard) = greeted(&lanes, &[Frame::Gather]);
    assert!(result.is_ok() && matches!(&*heard, [Frame::Gathered { .. }]), "{result:?} {heard:?}");
    assert_eq!(beside.in_doubt(), [Seat::new("r0").unwrap()]);
}
