//! Whole transfers of keys and blobs, and one into a bucket whose receiver, a process of its own, is killed.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan;
use cpt_relay::control::{Control, KeyRecord, Seat};
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::command::{Compare, Verify};
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::documents::text::TransferId;
use cpt_relay::rate::RateRules;
use cpt_relay::secure::keys::Identity;
use cpt_relay::sockets::acceptor::Limits;
use cpt_relay::sockets::net;
use cpt_relay::stop::Stop;
use cpt_relay::survey::compare::Listing;
use cpt_relay::survey::scan;
use cpt_relay::transport::peer;
use cpt_relay::{receive, send};

use super::blobs::{BlobDestination, DATA, blob, key, parts_of};
use crate::harness::{Transfer, noise, path, sent_once, wait_for};

const PART: u64 = 64 << 10;
/// In the environment of a receiver that is a process: the transfer's folder, and its epoch.
const FOLDER: &str = "CPT_TEST_BLOBS_OF";
const EPOCH: &str = "CPT_TEST_BLOBS_EPOCH";

fn source(folder: &Path) -> Arc<BlobDestination> {
    let source = BlobDestination::at(&folder.join("from"));
    let put = |path: &str, bytes: &[u8]| source.bucket.put(&key(path.as_bytes()), &blob(7, bytes)).unwrap();
    put("b/large", &noise(1, 24 * PART as usize + 1));
    (0..40).for_each(|number| put(&format!("a/{number}"), &noise(number, 5000)));
    put("empty", b"");
    Arc::new(source)
}

fn assert_same_blobs(from: &BlobDestination, to: &BlobDestination) {
    assert_eq!(from.bucket.keys(DATA), to.bucket.keys(b""), "nothing is left beside them");
    for key in from.bucket.keys(DATA) {
        assert!(from.bucket.get(&key).unwrap() == to.bucket.get(&key).unwrap(), "{}", String::from_utf8_lossy(&key));
    }
}

fn totals(outcome: send::Outcome) -> send::Totals {
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!((totals.skipped, totals.repaired_chunks), (0, 0));
    totals
}

fn move_all(transfer: &mut Transfer) {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    totals(transfer.send(None).join());
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
}

#[test]
fn blobs_arrive_in_a_tree_and_a_tree_in_a_bucket() {
    let folder = tempfile::tempdir().unwrap();
    let from = source(folder.path());
    let mut transfer = Transfer::of(PART, None, Arc::clone(&from) as _);
    move_all(&mut transfer);
    for found in from.bucket.keys(DATA) {
        let name = std::str::from_utf8(&found[DATA.len()..]).unwrap();
        assert!(std::fs::read(transfer.destination().join(name)).unwrap() == parts_of(&from.bucket.get(&found).unwrap()).1, "{name}");
    }

    let to = BlobDestination::at(&folder.path().join("to"));
    let fill = |root: &Path| {
        std::fs::create_dir_all(root.join("d/empty")).unwrap();
        std::fs::write(root.join("d/large"), noise(2, 2 * PART as usize)).unwrap();
    };
    let mut transfer = Transfer::plan(PART, None, fill).to(to.clone());
    move_all(&mut transfer);
    assert_eq!(to.bucket.keys(b""), [key(b"d/large")], "directories are names, and nothing else");
    assert!(parts_of(&to.bucket.get(&key(b"d/large")).unwrap()).1 == noise(2, 2 * PART as usize));
}

#[test]
fn what_a_bucket_has_is_found_equal_directories_included() {
    let folder = tempfile::tempdir().unwrap();
    let to = BlobDestination::at(&folder.path().join("to"));
    let fill = |root: &Path| {
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/file"), b"bytes").unwrap();
    };
    let mut transfer = Transfer::plan(PART, None, fill).to(to.clone());
    move_all(&mut transfer);
    let from = cpt_ends_posix::PosixSource::new(vec![transfer.source().join("")]);
    transfer.control.clear().unwrap();
    scan::source(&from, &*transfer.control, "", scan::Options::default()).unwrap();
    let listing = Listing { control: &*transfer.control, prefix: "", parts: 1 };
    let found = listing.with_destination(&to, Compare::SizeTime, "changed/1/", "equal/1/").unwrap();
    let found = serde_json::to_value(found).unwrap();
    assert_eq!((&found["files"], &found["directories"]), (&0.into(), &0.into()), "{found}");
}

/// Ends with the process, which is this test again.
fn receive_as_a_process(folder: &Path) {
    let control = Arc::new(Directory::open(folder.join("control"), plan::RANGE_SIZE, None).unwrap());
    let epoch = std::env::var(EPOCH).unwrap().parse().unwrap();
    let (identity, stop) = (Identity::generate().unwrap(), Stop::new().unwrap());
    let listeners = net::listen(&[SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)], &stop).unwrap();
    let address = Some(listeners[0].local_addr().unwrap().to_string());
    let key = KeyRecord { epoch, tls_public_key: peer::to_text(identity.public()), route_public_key: None, address };
    assert!(control.publish_key(Seat::RECEIVER, &key).unwrap());
    let config = receive::Config {
        seat: Seat::RECEIVER,
        transfer: TransferId::new("t-1").unwrap(),
        epoch,
        before: None,
        destination: Box::new(BlobDestination::at(&folder.join("to"))),
        plan: TransferPlan::parse(&control.read_object(plan::PLAN_KEY, None).unwrap()).unwrap(),
        plan_key: plan::PLAN_KEY.to_owned(),
        prefix: String::new(),
        rules: RateRules::default(),
        limits: Limits::RECEIVER,
        verify: Verify::Digest,
        placing_threads: cpt_relay::defaults::THREADS_AT_ONCE,
        preserve: Preserve::default(),
        many_senders: false,
        many_receivers: false,
    };
    assert_eq!(receive::run(config, control, identity, &listeners, &stop).unwrap(), receive::Outcome::Agreed);
}

/// Starts a receiver in the transfer's epoch, and gives its address to the sender.
fn receiver(transfer: &Transfer) -> Child {
    let name = "port::resumed::a_receiver_of_blobs_that_is_killed_is_followed_by_one_that_continues";
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", name, "--nocapture"]).env(FOLDER, transfer.directory.path()).env(EPOCH, transfer.epoch.to_string());
    let child = program.stdout(Stdio::null()).spawn().unwrap();
    let address: SocketAddr = wait_for("a receiver", || {
        let key = transfer.control.key(Seat::RECEIVER).unwrap().filter(|key| key.epoch == transfer.epoch);
        key.and_then(|key| key.address)?.parse().ok()
    });
    let SocketAddr::V4(address) = address else { panic!("{address} is not IPv4") };
    transfer.members(vec![path("direct", &[], address)]);
    child
}

fn delivered(transfer: &Transfer) -> Vec<u64> {
    transfer.chunks().iter().filter(|chunk| chunk.state == ChunkState::Delivered).map(|chunk| chunk.bytes).collect()
}

#[test]
fn a_receiver_of_blobs_that_is_killed_is_followed_by_one_that_continues() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return receive_as_a_process(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let from = source(folder.path());
    let mut transfer = Transfer::of(PART, None, Arc::clone(&from) as _);
    let mut killed = receiver(&transfer);
    let sender = transfer.send(Some(4));
    wait_for("some chunks", || (delivered(&transfer).len() >= 8).then_some(()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    sender.stop.request();
    sender.join();
    let before = delivered(&transfer);
    assert!((before.len() as u64) < transfer.plan.chunks, "too late");

    let to = BlobDestination::at(&transfer.directory.path().join("to"));
    assert!(to.bucket.keys(b"").len() > 1, "what was on its way is in the bucket");
    transfer.epoch = 2;
    let mut follower = receiver(&transfer);
    let totals = totals(transfer.send(None).join());
    assert!(follower.wait().unwrap().success());
    let rest = totals.bytes - before.iter().sum::<u64>();
    let sent = sent_once(&totals);
    assert!(sent <= rest, "{sent} bytes were sent for {rest}");
    assert_same_blobs(&from, &to);
}
