//! A destination on a shared file system that loses answers: what was asked for is done, and the client hears that it cannot be.

use std::fs;
use std::path::Path;

use cpt_relay::receive;
use cpt_relay::send;

use super::client::{Client, Locks};
use crate::harness::{Transfer, noise, path};

pub const CHUNK: u64 = 64 << 10;
/// More than there are calls.
const EACH: u64 = 100_000;

/// Something of each kind.
pub fn fill(root: &Path) {
    fs::create_dir_all(root.join("d/e")).unwrap();
    for number in 0..6 {
        fs::write(root.join(format!("d/f{number}")), noise(number, 3000)).unwrap();
    }
    fs::write(root.join("d/e/large"), noise(9, 3 * CHUNK as usize + 1)).unwrap();
    fs::hard_link(root.join("d/f0"), root.join("again")).unwrap();
    std::os::unix::fs::symlink("d/f0", root.join("link")).unwrap();
}

/// A transfer whose destination is a client of a shared file system.
pub fn to_shared(locks: Locks) -> Option<(Transfer, Client)> {
    let transfer = Transfer::plan_all(CHUNK, fill);
    let server = transfer.directory.path().join("server");
    fs::create_dir(&server).unwrap();
    let client = Client::mount(&server, transfer.destination(), locks)?;
    Some((transfer, client))
}

pub fn moved(transfer: &mut Transfer) -> (send::Outcome, receive::Outcome) {
    transfer.epoch += 1;
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    (outcome, receiver.join())
}

/// All of it is there, and nothing else; the next run has nothing to do.
pub fn arrives(transfer: &mut Transfer) {
    let (outcome, received) = moved(transfer);
    let send::Outcome::Delivered(totals) = &outcome else { panic!("{outcome:?}") };
    assert_eq!((totals.skipped, &received), (0, &receive::Outcome::Agreed), "{:?}", transfer.skipped());
    transfer.assert_same_trees();
}

/// Other files are in the places of some, which are renamed over them.
fn fill_places(transfer: &Transfer) {
    let server = transfer.directory.path().join("server");
    fs::create_dir(server.join("d")).unwrap();
    for number in 0..6 {
        fs::write(server.join(format!("d/f{number}")), b"older").unwrap();
    }
}

fn loses(call: &str, times: u64) {
    let Some((mut transfer, mut client)) = to_shared(Locks::Shared) else { return };
    if call == "rename" {
        fill_places(&transfer);
    }
    client.tell(&format!("lose {call} {times}"));
    arrives(&mut transfer);
    assert!(client.left(call) < times, "{call} was never called");
}

/// One answer, and each of them.
macro_rules! lost {
    ($($name:ident: $call:literal),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                loses($call, 1);
                loses($call, EACH);
            }
        )+
    };
}

/// As a mount says it that gives up (`soft`): the next try finds what the first one has done.
#[test]
fn files_whose_move_ended_in_an_error_and_was_done_are_in_their_places() {
    for call in ["rename", "link", "unlink", "mkdir", "setattr", "write"] {
        let mut transfer = Transfer::plan(CHUNK, Some(3), fill);
        let server = transfer.directory.path().join("server");
        fs::create_dir(&server).unwrap();
        if call == "rename" {
            fill_places(&transfer);
        }
        let Some(mut client) = Client::mount(&server, transfer.destination(), Locks::Shared) else { return };
        // The receiver has its own directory by then.
        client.tell("hang write");
        let receiver = transfer.receive();
        transfer.members(vec![path("direct", &[], receiver.address)]);
        let sender = transfer.send(None);
        client.tell("hung");
        client.tell(&format!("lose {call} 2 EIO"));
        client.tell("release");
        let outcome = sender.join();
        assert!(
            matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == 0),
            "{call}: {outcome:?} {:?}",
            transfer.skipped()
        );
        assert_eq!((receiver.join(), client.left(call)), (receive::Outcome::Agreed, 0), "{call}");
        transfer.assert_same_trees();
    }
}

lost! {
    files_whose_rename_is_not_answered_are_in_their_places: "rename",
    directories_whose_making_is_not_answered_are_there: "mkdir",
    files_and_further_names_whose_making_is_not_answered_are_there: "link",
    symbolic_links_whose_making_is_not_answered_are_there: "symlink",
    what_is_removed_without_an_answer_is_gone: "unlink",
    directories_that_are_removed_without_an_answer_are_gone: "rmdir",
}
