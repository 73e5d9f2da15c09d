//! A source that changes under way: the file is left out with that reason, and no mixed file appears.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use cpt_ends_posix::PosixSource;
use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::entry::Segment;
use cpt_relay::ends::{Listed, Source as _};
use cpt_relay::{receive, send};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::harness::{Transfer, noise, path, wait_for};
use crate::selection::Mounted;
use crate::users::is_root;

const CHUNK: u64 = 64 << 10;
const PARTS: u64 = 12;

/// Sends a file slowly, and changes it once its first part has arrived.
fn under_way(change: impl FnOnce(&Path)) -> (Transfer, send::Totals, receive::Outcome) {
    let content = noise(8, (PARTS * CHUNK) as usize);
    let mut transfer = Transfer::plan(CHUNK, Some(1), |root| {
        fs::write(root.join("large"), &content).unwrap();
        fs::write(root.join("other"), b"untouched").unwrap();
    });
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(Some(4));
    wait_for("first part", || transfer.chunks().iter().any(|item| item.state == ChunkState::Delivered).then_some(()));
    change(&transfer.source().join("large"));
    let outcome = sender.join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    (transfer, totals, receiver.join())
}

/// What is done to a file under way, and is no change of its content: it arrives.
fn unchanged_under_way(change: impl FnOnce(&Path)) {
    let (transfer, totals, received) = under_way(change);
    assert_eq!((totals.skipped, totals.files, totals.repaired_chunks), (0, 2, 0), "{:?}", transfer.skipped());
    assert_eq!(received, receive::Outcome::Agreed);
    for name in ["large", "other"] {
        assert!(fs::read(transfer.source().join(name)).unwrap() == fs::read(transfer.destination().join(name)).unwrap(), "{name}");
    }
}

/// What is done to a file under way, and changes it: it is left out. Returns what was said about it.
fn changed_under_way(change: impl FnOnce(&Path)) -> String {
    let (transfer, totals, received) = under_way(change);
    assert_eq!((totals.skipped, totals.files, totals.bytes), (1, 1, b"untouched".len() as u64));
    assert!(transfer.events().is_empty(), "no chunk fails for it");
    let [skip] = &*transfer.skipped() else { panic!("{:?}", transfer.skipped()) };
    let said = skip["message"].as_str().unwrap().to_owned();
    // A mode that forbids reading is a change too; who comes after it cannot open the file, unless it is root.
    let reasons: &[&str] = if said.contains("Permission denied") { &["source-changed", "source-unreadable"] } else { &["source-changed"] };
    assert!(reasons.contains(&skip["reason"].as_str().unwrap()) && skip["path"] == "large", "{skip}");
    assert_eq!(received, receive::Outcome::Agreed);
    let arrived: Vec<_> = fs::read_dir(transfer.destination()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(arrived, ["other"], "neither a mixed file nor its partial one");
    assert_eq!(fs::read(transfer.destination().join("other")).unwrap(), b"untouched");
    said
}

fn overwrite(file: &Path, part: u64) {
    File::options().write(true).open(file).unwrap().write_all_at(b"other bytes", part * CHUNK).unwrap();
}

fn overwrite_quietly(file: &Path, part: u64) {
    let before = fs::metadata(file).unwrap().modified().unwrap();
    overwrite(file, part);
    File::options().write(true).open(file).unwrap().set_modified(before).unwrap();
}

/// Puts what `make` makes in the place of `file`, in one step: nobody sees it absent. The file has the other name then.
fn replace(file: &Path, make: impl FnOnce(&Path)) {
    let other = file.with_extension("other");
    make(&other);
    renameat_with(CWD, file, CWD, &other, RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn written_to() {
    let said = changed_under_way(|file| overwrite(file, PARTS - 1));
    assert!(said.contains("modification time was"), "{said}");
}

#[test]
fn written_to_and_its_modification_time_put_back() {
    let said = changed_under_way(|file| overwrite_quietly(file, 0));
    assert!(said.contains("not those any more that were read of it before"), "{said}");
}

/// What has gone out still is what is there: all of it is of the new state.
#[test]
fn written_to_where_it_was_not_read_yet_and_its_modification_time_put_back_it_arrives_as_it_is() {
    unchanged_under_way(|file| overwrite_quietly(file, PARTS - 1));
}

/// A snapshot by hard links, as rsync --link-dest and cp -al make them, moves the change time of a file.
#[test]
fn a_name_that_is_made_of_it_elsewhere_is_no_change() {
    unchanged_under_way(|file| fs::hard_link(file, file.parent().unwrap().with_file_name("snapshot")).unwrap());
}

#[test]
fn a_mode_that_lets_others_write_is_no_change_of_its_content() {
    unchanged_under_way(|file| fs::set_permissions(file, PermissionsExt::from_mode(0o666)).unwrap());
}

#[test]
fn appended_to() {
    let said = changed_under_way(|file| File::options().append(true).open(file).unwrap().write_all(b"more").unwrap());
    assert!(said.contains("size was"), "{said}");
}

#[test]
fn truncated() {
    let said = changed_under_way(|file| File::options().write(true).open(file).unwrap().set_len(CHUNK).unwrap());
    assert!(said.contains("size was") || said.contains("ends at"), "{said}");
}

#[test]
fn replaced_by_a_file_of_the_same_size_and_time() {
    let said = changed_under_way(|file| {
        let (other, before) = (file.with_extension("new"), fs::metadata(file).unwrap().modified().unwrap());
        fs::write(&other, noise(9, (PARTS * CHUNK) as usize)).unwrap();
        File::options().write(true).open(&other).unwrap().set_modified(before).unwrap();
        fs::rename(other, file).unwrap();
    });
    assert!(said.contains("not those any more that were read of it before"), "{said}");
}

#[test]
fn replaced_by_a_link_to_itself() {
    let said = changed_under_way(|file| replace(file, |other| symlink(other, other).unwrap()));
    assert!(said.contains("symbolic link"), "{said}");
}

#[test]
fn replaced_by_a_pipe() {
    let said = changed_under_way(|file| replace(file, |other| mknodat(CWD, other, FileType::Fifo, Mode::RWXU, 0).unwrap()));
    assert!(said.contains("is no file any more"), "{said}");
}

#[test]
fn replaced_by_a_directory() {
    let said = changed_under_way(|file| replace(file, |other| fs::create_dir(other).unwrap()));
    assert!(said.contains("is no file any more"), "{said}");
}

#[test]
fn made_unreadable() {
    let forbid = |file: &Path| fs::set_permissions(file, PermissionsExt::from_mode(0o000)).unwrap();
    if is_root() {
        return unchanged_under_way(forbid);
    }
    let said = changed_under_way(forbid);
    assert!(said.contains("Permission denied"), "{said}");
}

#[test]
fn removed() {
    let said = changed_under_way(|file| fs::remove_file(file).unwrap());
    assert!(said.contains("No such file"), "{said}");
}

#[test]
fn a_link_that_points_elsewhere_now() {
    let mut transfer = Transfer::plan(CHUNK, Some(1), |root| symlink("here", root.join("link")).unwrap());
    fs::remove_file(transfer.source().join("link")).unwrap();
    symlink("there", transfer.source().join("link")).unwrap();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == 1), "{outcome:?}");
    assert_eq!(transfer.skipped()[0]["message"], "points elsewhere now");
    receiver.join();
    assert!(fs::read_dir(transfer.destination()).unwrap().next().is_none());
}

/// A file whose content changed before its first byte was read, behind an unchanged size, time and inode, arrives as it
/// then is: one state of the file, not two.
#[test]
fn changed_before_it_was_read_and_time_put_back_it_arrives_whole_as_it_is() {
    let mut transfer = Transfer::plan(CHUNK, Some(1), |root| fs::write(root.join("large"), noise(8, 4 * CHUNK as usize)).unwrap());
    let file = transfer.source().join("large");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    let opened = File::options().write(true).open(&file).unwrap();
    opened.write_all_at(b"other bytes", 3 * CHUNK).unwrap();
    opened.set_modified(before).unwrap();
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    transfer.assert_same_trees();
}

/// Needs root, who may mount, loop devices, and fincore of util-linux. The kernel's own read-ahead on such a file system is 128 KiB.
#[test]
fn a_large_file_is_asked_for_before_it_is_read_and_not_all_at_once() {
    if !is_root() || !Path::new("/usr/bin/fincore").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("source");
    fs::create_dir(&root).unwrap();
    let Some(mounted) = Mounted::image("ext4", &folder.path().join("image"), 64 << 20, root.clone()) else { return };
    let large = root.join("large");
    fs::write(&large, noise(1, 24 << 20)).unwrap();
    let file = File::open(&large).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();

    let source = PosixSource::new(vec![large.clone()]);
    let mut lines = Vec::new();
    let mut each = |listed| {
        if let Listed::Entry(entry) = listed {
            let mut line = serde_json::to_value(entry).unwrap();
            line["entry"] = 0.into();
            line["offset"] = 0.into();
            line["length"] = line["size"].clone();
            lines.push(serde_json::to_vec(&line).unwrap());
        }
        Ok(())
    };
    source.list(&mut each).unwrap();
    let segment = Segment::parse(&lines[0]).unwrap();
    let opened = source.open(&segment).unwrap().unwrap();
    let resident = || -> u64 {
        let found = Command::new("fincore").args(["--bytes", "--noheadings", "--output", "RES"]).arg(&large).output().unwrap();
        String::from_utf8(found.stdout).unwrap().trim().parse().unwrap()
    };
    assert_eq!(resident(), 0);
    let mut buffer = vec![0; 64 << 10];
    for at in [0, 4 << 20, 8 << 20] {
        assert_eq!(opened.read(&mut buffer, at).unwrap(), buffer.len());
        wait_for("what follows", || (resident() >= at + (4 << 20)).then_some(()));
    }
    assert!(resident() <= 16 << 20, "{}", resident());
    drop((opened, file, mounted));
}
