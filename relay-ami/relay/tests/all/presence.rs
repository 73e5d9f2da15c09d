//! Success means that it is there: whoever interferes at the destination before the end, what is missing or replaced comes again.

use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt, symlink};
use std::path::Path;

use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::membership;
use cpt_relay::{receive, send};
use rustix::fs::FileType;
use serde_json::Value;

use crate::harness::{Transfer, noise, path, sent_once, wait_for};

const CHUNK: u64 = 64 << 10;
/// Slow enough for somebody to interfere in the middle, Mbit/s.
const SLOW: Option<u64> = Some(16);

/// Files that come early, and enough behind them to last until the end.
fn fill(root: &Path) {
    for number in 0..20u64 {
        std::fs::write(root.join(format!("early-{number:02}")), noise(number, 6000)).unwrap();
    }
    std::fs::create_dir(root.join("empty")).unwrap();
    symlink("early-00", root.join("early-link")).unwrap();
    std::fs::write(root.join("large"), noise(3, 3 * CHUNK as usize)).unwrap();
    // Does not fit into the bundle of those that come early any more.
    std::fs::write(root.join("second"), noise(5, 6000)).unwrap();
    std::fs::write(root.join("vast"), noise(4, 30 * CHUNK as usize)).unwrap();
}

fn delivered(transfer: &Transfer) -> usize {
    transfer.chunks().iter().filter(|chunk| chunk.state == ChunkState::Delivered).count()
}

/// Interferes once all that comes early is in its place; how many bytes more were sent than there are.
fn interfered(interfere: impl FnOnce(&Path)) -> u64 {
    interfered_in(&mut Transfer::plan(CHUNK, Some(9), fill), interfere)
}

fn interfered_in(transfer: &mut Transfer, interfere: impl FnOnce(&Path)) -> u64 {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(SLOW);
    let is_there = |name: &str| transfer.destination().join(name).symlink_metadata().is_ok();
    wait_for("what comes early", || ["early-00", "early-link", "large"].into_iter().all(is_there).then_some(()));
    assert!((delivered(transfer) as u64) < transfer.plan.chunks, "too late");
    interfere(&transfer.destination());
    transfer.limit(None);
    let outcome = sender.join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    sent_once(&totals) - totals.bytes
}

/// Takes the destination itself away in the middle; why the receiver cannot go on.
fn without_destination(replace: impl FnOnce(&Path)) -> String {
    let mut transfer = Transfer::plan(CHUNK, Some(9), fill);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(SLOW);
    wait_for("what comes early", || transfer.destination().join("large").exists().then_some(()));
    std::fs::rename(transfer.destination(), transfer.directory.path().join("away")).unwrap();
    replace(&transfer.destination());
    transfer.limit(None);
    let why = receiver.failure();
    sender.stop.request();
    assert!(!matches!(sender.join(), send::Outcome::Delivered(_)));
    why
}

/// Puts another file of the same size, mode and modification time in a file's place, as `touch -r` makes one.
fn forge(file: &Path) {
    let metadata = file.metadata().unwrap();
    let other = file.with_extension("forged");
    std::fs::write(&other, noise(99, usize::try_from(metadata.len()).unwrap())).unwrap();
    std::fs::File::options().write(true).open(&other).unwrap().set_modified(metadata.modified().unwrap()).unwrap();
    std::fs::set_permissions(&other, metadata.permissions()).unwrap();
    std::fs::rename(&other, file).unwrap();
}

#[test]
fn a_destination_that_was_moved_away_is_no_success() {
    assert!(without_destination(|_| ()).contains("was moved away"));
    assert!(without_destination(|path| std::fs::create_dir(path).unwrap()).contains("another directory was put in place"));
    assert!(without_destination(|path| std::fs::write(path, "").unwrap()).contains("was moved away"));
    let through_a_link = without_destination(|path| symlink(path.with_file_name("elsewhere"), path).unwrap());
    assert!(through_a_link.contains("was moved away"), "{through_a_link}");
}

#[test]
fn a_destination_that_is_reached_by_a_link_of_the_same_name_now_is_still_the_same() {
    let sent_again = interfered(|root| {
        let moved = root.with_file_name("moved");
        std::fs::rename(root, &moved).unwrap();
        symlink(&moved, root).unwrap();
    });
    assert_eq!(sent_again, 0);
}

#[test]
fn a_file_that_was_removed_comes_again() {
    assert!(interfered(|root| std::fs::remove_file(root.join("early-03")).unwrap()) > 0);
}

#[test]
fn a_large_file_that_was_removed_comes_again() {
    assert!(interfered(|root| std::fs::remove_file(root.join("large")).unwrap()) >= 3 * CHUNK);
}

#[test]
fn a_file_that_was_replaced_by_one_of_the_same_size_and_time_comes_again() {
    assert!(interfered(|root| forge(&root.join("early-07"))) > 0);
}

#[test]
fn bytes_that_were_changed_in_place_under_the_same_time_come_again() {
    let change = |root: &Path| {
        let file = std::fs::File::options().write(true).open(root.join("large")).unwrap();
        let time = file.metadata().unwrap().modified().unwrap();
        file.write_all_at(b"somebody else", CHUNK).unwrap();
        file.set_modified(time).unwrap();
    };
    assert!(interfered(change) >= 3 * CHUNK);
}

#[test]
fn a_file_that_was_truncated_comes_again() {
    let cut = |root: &Path| std::fs::File::options().write(true).open(root.join("early-11")).unwrap().set_len(1).unwrap();
    assert!(interfered(cut) > 0);
}

#[test]
fn a_file_with_another_mode_comes_again() {
    let change = |root: &Path| std::fs::set_permissions(root.join("early-12"), PermissionsExt::from_mode(0o777)).unwrap();
    assert!(interfered(change) > 0);
}

/// A backup that makes hard links changes nothing but the change time: the files are read again, and not sent.
#[test]
fn a_hard_link_to_a_file_costs_no_traffic() {
    let linked = |root: &Path| {
        let backup = root.parent().unwrap().join("backup");
        std::fs::create_dir(&backup).unwrap();
        for name in ["early-05", "large"] {
            std::fs::hard_link(root.join(name), backup.join(name)).unwrap();
        }
    };
    assert_eq!(interfered(linked), 0);
}

#[test]
fn a_link_that_was_removed_or_points_elsewhere_comes_again() {
    interfered(|root| std::fs::remove_file(root.join("early-link")).unwrap());
    interfered(|root| {
        std::fs::remove_file(root.join("early-link")).unwrap();
        symlink("/etc/passwd", root.join("early-link")).unwrap();
    });
}

#[test]
fn a_link_or_a_pipe_that_was_exchanged_for_one_of_another_time_comes_again() {
    interfered(|root| {
        std::fs::remove_file(root.join("early-link")).unwrap();
        symlink("early-00", root.join("early-link")).unwrap();
    });
    let pipe = |path: &Path| rustix::fs::mknodat(rustix::fs::CWD, path, FileType::Fifo, 0o640.into(), 0).unwrap();
    let mut transfer = Transfer::plan_all(CHUNK, |root| {
        fill(root);
        pipe(&root.join("early-pipe"));
    });
    let modified = |root: &Path| root.join("early-pipe").symlink_metadata().unwrap().modified().unwrap();
    interfered_in(&mut transfer, |root| {
        wait_for("the pipe", || root.join("early-pipe").symlink_metadata().ok());
        std::fs::remove_file(root.join("early-pipe")).unwrap();
        pipe(&root.join("early-pipe"));
    });
    assert_eq!(modified(&transfer.source()), modified(&transfer.destination()));
}

#[test]
fn a_further_name_comes_though_its_first_one_was_removed_or_replaced_before_it() {
    let interferences: [fn(&Path); 2] =
        [|first| std::fs::remove_file(first).unwrap(), |first| std::fs::write(first, noise(99, 6000)).unwrap()];
    for interfere in interferences {
        let mut transfer = Transfer::plan_all(CHUNK, |root| {
            fill(root);
            std::fs::hard_link(root.join("early-00"), root.join("name")).unwrap();
        });
        interfered_in(&mut transfer, |root| {
            assert!(!root.join("name").exists(), "too late");
            interfere(&root.join("early-00"));
        });
        let inode = |path: &str| transfer.destination().join(path).metadata().unwrap().ino();
        assert_eq!(inode("early-00"), inode("name"));
        assert_eq!(transfer.skipped(), Vec::<Value>::new());
    }
}

/// Nothing of a further name is kept while it waits, so nothing fails before it is made.
#[test]
fn no_entry_is_left_out_because_somebody_has_removed_what_files_wait_in() {
    let mut transfer = Transfer::plan_all(CHUNK, |root| {
        fill(root);
        std::fs::hard_link(root.join("early-00"), root.join("name")).unwrap();
    });
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(SLOW);
    wait_for("what comes early", || transfer.destination().join("large").exists().then_some(()));
    std::fs::rename(transfer.destination().join(".cpt-partial-t-1"), transfer.directory.path().join("away")).unwrap();
    transfer.limit(None);
    assert!(receiver.failure().contains("was removed from it"));
    let receiver = transfer.receive();
    transfer.members(vec![membership::Path { generation: 2, ..path("direct", &[], receiver.address) }]);
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    assert_eq!(transfer.skipped(), Vec::<Value>::new());
}

#[test]
fn everything_that_was_removed_comes_again() {
    interfered(|root| {
        for entry in std::fs::read_dir(root).unwrap().map(Result::unwrap) {
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                std::fs::remove_file(entry.path()).unwrap();
            }
        }
    });
}

/// Interferes after all was delivered, and starts both ends again; how many bytes they send.
fn interfered_before_a_restart(interfere: impl FnOnce(&Path)) -> u64 {
    let mut transfer = Transfer::plan(CHUNK, Some(9), fill);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    assert!(matches!(transfer.send(None).join(), send::Outcome::Delivered(_)));
    receiver.join();
    interfere(&transfer.destination());
    transfer.epoch = 2;
    let receiver = transfer.receive();
    transfer.members(vec![membership::Path { generation: 2, ..path("direct", &[], receiver.address) }]);
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    totals.sent_bytes
}

#[test]
fn an_empty_directory_that_was_removed_is_made_again() {
    assert_eq!(interfered_before_a_restart(|root| std::fs::remove_dir(root.join("empty")).unwrap()), 0);
}

#[test]
fn what_was_removed_or_replaced_before_a_restart_comes_again_and_nothing_else() {
    let sent = interfered_before_a_restart(|root| {
        std::fs::remove_file(root.join("large")).unwrap();
        forge(&root.join("early-02"));
    });
    assert!((3 * CHUNK..6 * CHUNK).contains(&sent), "{sent}");
}
