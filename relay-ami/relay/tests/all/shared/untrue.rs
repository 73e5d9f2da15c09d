//! Clients that do not say how it is at the server, or say nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use std::time::{Duration, Instant};

use cpt_ends_posix::PosixDestination;
use cpt_relay::digest::Proof;
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::Destination as _;
use cpt_relay::{receive, send};

use super::client::{Client, Locks, Server};
use super::lost_answers::{CHUNK, arrives, fill, moved, to_shared};
use crate::harness::{Transfer, list, path};

/// The receiver has a directory open, and another machine removes it and makes it anew.
#[test]
fn a_directory_that_another_machine_has_made_anew_gets_its_files() {
    let mut transfer = Transfer::plan(CHUNK, Some(3), fill);
    let server = transfer.directory.path().join("server");
    fs::create_dir(&server).unwrap();
    let Some(mut client) = Client::mount(&server, transfer.destination(), Locks::Shared) else { return };
    client.tell("hang link");
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(None);
    client.tell("hung");
    fs::remove_dir_all(server.join("d")).unwrap();
    client.tell("release");
    let outcome = sender.join();
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == 0), "{outcome:?} {:?}", transfer.skipped());
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert_eq!(list(&transfer.source()), list(&server));
}

/// What another machine has done to a file is seen before the transfer is called delivered, however old this client's view is.
#[test]
fn the_last_look_sees_the_server_and_not_what_the_client_remembers() {
    let Some((mut transfer, mut client)) = to_shared(Locks::Shared) else { return };
    client.tell("stale 3600");
    // The look syncs each directory that it goes through.
    client.tell("hang fsyncdir");
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(None);
    client.tell("hung");
    let server = transfer.directory.path().join("server");
    fs::write(server.join("d/f3"), b"of another machine").unwrap();
    client.tell("release");
    let outcome = sender.join();
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.repaired_chunks > 0), "{outcome:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert_eq!(list(&transfer.source()), list(&server));
}

#[test]
fn a_server_whose_clock_is_an_hour_off_gets_each_file_once() {
    for clock in [3600, -3600] {
        let Some((mut transfer, mut client)) = to_shared(Locks::Shared) else { return };
        client.tell(&format!("clock {clock}"));
        arrives(&mut transfer);
    }
}

#[test]
fn a_server_of_whole_seconds_gets_each_file_once() {
    let Some((mut transfer, mut client)) = to_shared(Locks::Shared) else { return };
    client.tell("time-step 1000000000");
    let (outcome, received) = moved(&mut transfer);
    let send::Outcome::Delivered(totals) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((totals.skipped, totals.repaired_chunks, received), (0, 0, receive::Outcome::Agreed));
}

#[test]
fn a_client_that_hangs_and_is_released_has_lost_nothing() {
    for call in ["mkdir", "link", "unlink", "write", "fsync"] {
        let Some((mut transfer, mut client)) = to_shared(Locks::Shared) else { return };
        client.tell(&format!("hang {call}"));
        let receiver = transfer.receive();
        transfer.members(vec![path("direct", &[], receiver.address)]);
        let sender = transfer.send(None);
        client.tell("hung");
        assert!(!sender.is_finished());
        client.tell("release");
        let outcome = sender.join();
        assert!(matches!(&outcome, send::Outcome::Delivered(_)), "{call}: {outcome:?}");
        assert_eq!(receiver.join(), receive::Outcome::Agreed);
        transfer.assert_same_trees();
    }
}

/// Root is nobody there.
#[test]
fn a_destination_that_squashes_root_takes_what_nobody_may_write() {
    let mut transfer = Transfer::plan(CHUNK, Some(1), fill);
    let server = transfer.directory.path().join("server");
    fs::create_dir(&server).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o777)).unwrap();
    let Some(mut client) = Client::mount(&server, transfer.destination(), Locks::Shared) else { return };
    client.tell("squash-root");
    arrives(&mut transfer);
    assert_eq!(server.join("d/f0").metadata().unwrap().uid(), 65534);
}

/// Its client says of a directory that is there that it is not, and that it is when it is to be made.
#[test]
fn a_directory_that_is_there_and_is_not_is_waited_for_and_not_for_ever() {
    let server = Server::new();
    let Some(mut client) = server.client("one") else { return };
    fs::create_dir(server.root().join(".cpt-partial-t-1")).unwrap();
    fs::set_permissions(server.root().join(".cpt-partial-t-1"), fs::Permissions::from_mode(0o700)).unwrap();
    let open = || {
        let (transfer, plan) = (TransferId::new("t-1").unwrap(), PlanId::new("1".repeat(32)).unwrap());
        PosixDestination::new(client_at(&server)).open(&transfer, &plan, CHUNK, Proof::Blake3).map(drop)
    };
    client.tell("fail lookup 20 ENOENT");
    open().unwrap();
    assert!(client.served("lookup") > 20);
    client.tell("fail lookup 1000000 ENOENT");
    let begun = Instant::now();
    let error = open().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(begun.elapsed() >= Duration::from_secs(10), "{:?}", begun.elapsed());
}

fn client_at(server: &Server) -> std::path::PathBuf {
    server.root().with_file_name("one")
}
