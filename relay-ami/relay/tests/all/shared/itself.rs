//! The shared file system does what the tests on it rely on.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, FlockOperation, StatxFlags};
use rustix::io::Errno;

use super::client::{Locks, Server};

fn size(path: &std::path::Path) -> u64 {
    path.metadata().unwrap().len()
}

#[test]
fn what_one_client_has_closed_another_one_sees() {
    let server = Server::new();
    let (Some(one), Some(other)) = (server.client("one"), server.client("other")) else { return };
    fs::create_dir(one.at.join("d")).unwrap();
    fs::write(one.at.join("d/f"), b"of one").unwrap();
    assert_eq!(fs::read(other.at.join("d/f")).unwrap(), b"of one");
    fs::rename(other.at.join("d/f"), other.at.join("g")).unwrap();
    assert_eq!(fs::read(one.at.join("g")).unwrap(), b"of one");
    assert_eq!(fs::read_dir(one.at.join("d")).unwrap().count(), 0);
}

#[test]
fn attributes_and_names_of_a_client_are_old_until_it_opens_or_asks_the_server() {
    let server = Server::new();
    let (Some(one), Some(mut other)) = (server.client("one"), server.client("other")) else { return };
    other.tell("stale 3600");
    fs::write(one.at.join("f"), b"first").unwrap();
    let (seen, unseen) = (other.at.join("f"), other.at.join("g"));
    assert_eq!(size(&seen), 5);
    assert!(!unseen.exists());
    fs::write(one.at.join("f"), b"second one").unwrap();
    fs::write(one.at.join("g"), b"new").unwrap();
    assert_eq!((size(&seen), unseen.exists()), (5, false), "it believes what it has");
    let truth = rustix::fs::statx(CWD, &seen, AtFlags::STATX_FORCE_SYNC, StatxFlags::SIZE).unwrap();
    assert_eq!(truth.stx_size, 10);
    fs::write(one.at.join("f"), b"3").unwrap();
    let opened = File::open(&seen).unwrap();
    assert_eq!((opened.metadata().unwrap().len(), size(&seen)), (1, 1), "what is opened is looked at");
}

#[test]
fn a_file_that_another_client_has_replaced_is_stale_and_is_found_by_its_name() {
    let server = Server::new();
    let (Some(one), Some(mut other)) = (server.client("one"), server.client("other")) else { return };
    other.tell("stale 3600");
    fs::write(one.at.join("f"), b"first").unwrap();
    assert_eq!(size(&other.at.join("f")), 5);
    fs::write(one.at.join("new"), b"another").unwrap();
    fs::rename(one.at.join("new"), one.at.join("f")).unwrap();
    assert_eq!(size(&other.at.join("f")), 5);
    assert_eq!(fs::read(other.at.join("f")).unwrap(), b"another", "the kernel asks for the name once more");
}

#[test]
fn an_answer_is_lost_as_often_as_was_told_and_what_it_is_of_is_done() {
    let server = Server::new();
    let Some(mut client) = server.client("one") else { return };
    let (root, at) = (server.root(), client.at.clone());
    client.tell("lose mkdir 1");
    assert_eq!(fs::create_dir(at.join("d")).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert!(root.join("d").is_dir());
    fs::write(at.join("f"), b"x").unwrap();
    client.tell("lose rename 2");
    for (from, to) in [("f", "g"), ("g", "h")] {
        assert_eq!(fs::rename(at.join(from), at.join(to)).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(root.join(to).exists() && !root.join(from).exists());
    }
    fs::rename(at.join("h"), at.join("i")).unwrap();
    client.tell("lose link 1");
    assert_eq!(fs::hard_link(at.join("i"), at.join("j")).unwrap_err().kind(), ErrorKind::AlreadyExists);
    // The kernel tries once more by itself, and then there is nothing.
    client.tell("lose unlink 1 ESTALE");
    assert_eq!(fs::remove_file(at.join("i")).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(root.join("j").exists() && !root.join("i").exists());
    assert_eq!(client.served("rename"), 3);
    // The other one is not done.
    client.tell("fail mkdir 1 EDQUOT");
    fs::create_dir(at.join("e")).unwrap_err();
    assert!(!root.join("e").exists());
}

#[test]
fn a_client_hangs_while_the_other_one_works_until_it_is_released() {
    let server = Server::new();
    let (Some(mut one), Some(other)) = (server.client("one"), server.client("other")) else { return };
    one.tell("hang mkdir");
    let hanging = one.at.join("d");
    let made = std::thread::spawn(move || fs::create_dir(hanging));
    one.tell("hung");
    assert!(!other.at.join("d").exists() && !made.is_finished());
    fs::write(other.at.join("f"), b"x").unwrap();
    one.tell("release");
    made.join().unwrap().unwrap();
    assert!(other.at.join("d").exists() && one.at.join("f").exists());
}

#[test]
fn locks_reach_other_clients_or_do_not_or_are_not_there() {
    let server = Server::new();
    let (Some(mut one), Some(other)) = (server.client("one"), server.client("other")) else { return };
    let Some(alone) = server.client_with("alone", Locks::Local) else { return };
    fs::write(one.at.join("f"), b"").unwrap();
    let lock = |client: &super::client::Client| {
        let file = File::open(client.at.join("f")).unwrap();
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).map(|()| file)
    };
    let held = lock(&one).unwrap();
    assert_eq!(lock(&other).unwrap_err(), Errno::WOULDBLOCK);
    let of_its_own = lock(&alone).unwrap();
    assert_eq!(lock(&alone).unwrap_err(), Errno::WOULDBLOCK);
    drop((held, of_its_own));
    for why in ["ENOLCK", "ENOSYS"] {
        one.tell(&format!("fail flock 1 {why}"));
        assert!([Errno::NOLCK, Errno::NOSYS].contains(&lock(&one).unwrap_err()));
    }
    // The server hears of the end of a file a moment after it is closed.
    let locked = crate::harness::wait_for("a lock", || lock(&one).ok());
    drop(locked);
}

#[test]
fn times_are_the_servers_and_as_coarse_as_it_has_them() {
    let server = Server::new();
    let Some(mut client) = server.client("one") else { return };
    client.tell("clock 3600");
    fs::write(client.at.join("f"), b"x").unwrap();
    let ahead = |at: SystemTime| at.duration_since(SystemTime::now()).map_or(0, |ahead| ahead.as_secs());
    let found = client.at.join("f").metadata().unwrap();
    assert!((3500..=3600).contains(&ahead(found.modified().unwrap())), "{found:?}");
    // What is told is kept as it is.
    let told = SystemTime::UNIX_EPOCH + std::time::Duration::from_nanos(5_123_456_789);
    File::options().write(true).open(client.at.join("f")).unwrap().set_modified(told).unwrap();
    assert_eq!(client.at.join("f").metadata().unwrap().modified().unwrap(), told);
    client.tell("time-step 1000000000");
    let found = client.at.join("f").metadata().unwrap();
    assert_eq!((found.mtime(), found.mtime_nsec()), (5, 0));
}

#[test]
fn root_is_nobody_on_a_client_that_is_squashed() {
    let server = Server::new();
    let (Some(mut client), Some(plain)) = (server.client("one"), server.client("other")) else { return };
    client.tell("squash-root");
    fs::write(client.at.join("f"), b"").unwrap_err();
    rustix::fs::chmod(server.root(), 0o777.into()).unwrap();
    fs::write(client.at.join("f"), b"").unwrap();
    assert_eq!(plain.at.join("f").metadata().unwrap().uid(), 65534);
    assert_eq!(std::os::unix::fs::chown(client.at.join("f"), Some(1), None).unwrap_err().kind(), ErrorKind::PermissionDenied);
    std::os::unix::fs::chown(plain.at.join("f"), Some(1), None).unwrap();
}

#[test]
fn handles_are_stale_until_their_names_are_asked_for_again() {
    let server = Server::new();
    let Some(mut client) = server.client("one") else { return };
    fs::create_dir(client.at.join("d")).unwrap();
    fs::write(client.at.join("d/f"), b"x").unwrap();
    let directory = File::open(client.at.join("d")).unwrap();
    client.tell("stale-handles");
    let looked = rustix::fs::statat(&directory, "f", AtFlags::empty());
    assert_eq!(looked.unwrap_err(), Errno::STALE);
    assert_eq!(fs::read(client.at.join("d/f")).unwrap(), b"x");
}
