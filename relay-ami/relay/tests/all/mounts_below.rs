//! A destination with other file systems, and directories of teams, below it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use cpt_relay::{receive, send};

use crate::harness::{Transfer, noise, path};
use crate::selection::Mounted;
use crate::users::is_root;

const CHUNK: u64 = 64 << 10;
const STAGING: &str = ".cpt-partial-t-1";

fn fill(root: &Path) {
    for directory in ["d/team/deep", "d/disk/deep", "d/other"] {
        fs::create_dir_all(root.join(directory)).unwrap();
        fs::write(root.join(directory).join("small"), noise(1, 3000)).unwrap();
        fs::write(root.join(directory).join("large"), noise(9, 3 * CHUNK as usize)).unwrap();
        fs::write(root.join(directory).join("n".repeat(255)), b"255").unwrap();
        symlink("small", root.join(directory).join("link")).unwrap();
    }
}

fn moved(transfer: &mut Transfer) -> send::Totals {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    totals
}

fn check(transfer: &Transfer) {
    for directory in ["d/team/deep", "d/disk/deep", "d/other"] {
        for name in ["small", "large", "link", &"n".repeat(255)] {
            let [from, to] = [transfer.source(), transfer.destination()].map(|end| fs::read(end.join(directory).join(name)));
            assert!(from.unwrap() == to.unwrap(), "{directory}/{name}");
        }
    }
    let left = Command::new("find").arg(transfer.destination()).args(["-name", ".cpt-partial*"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "", "something is left");
}

/// The destination with a disk of its own at `d/disk`; none without root.
fn with_disk() -> Option<(Transfer, Mounted)> {
    if !is_root() {
        cpt_skipped::skipped("only root mounts");
        return None;
    }
    let transfer = Transfer::plan(CHUNK, Some(1), fill);
    let at = transfer.destination().join("d/disk");
    fs::create_dir_all(&at).unwrap();
    let mounted = Mounted::new("tmpfs", at);
    Some((transfer, mounted))
}

#[test]
fn what_belongs_on_a_disk_below_the_destination_arrives_there() {
    let Some((mut transfer, mounted)) = with_disk() else { return };
    assert_eq!(moved(&mut transfer).skipped, 0);
    check(&transfer);
    let device = |path: &str| transfer.destination().join(path).metadata().unwrap().dev();
    assert_eq!(device("d/disk"), device("d/disk/deep/large"));
    assert_ne!(device("d/disk/deep/large"), device("d/other/large"));
    drop(mounted);
}

#[test]
fn a_bind_mount_is_a_file_system_of_its_own_though_its_device_is_the_same() {
    let Some((mut transfer, mounted)) = with_disk() else { return };
    drop(mounted);
    let [at, from] = [transfer.destination().join("d/disk"), transfer.directory.path().join("elsewhere")];
    fs::create_dir(&from).unwrap();
    assert!(Command::new("mount").arg("--bind").args([&from, &at]).status().unwrap().success());
    let totals = moved(&mut transfer);
    let _ = Command::new("umount").arg("--lazy").arg(&at).status();
    assert_eq!(totals.skipped, 0);
    assert!(fs::read(from.join("deep/large")).unwrap() == fs::read(transfer.source().join("d/disk/deep/large")).unwrap());
    assert_eq!(fs::read_dir(&from).unwrap().count(), 1, "something is left");
}

/// What is on its way on another disk is found again by the next receiver, and goes with the last one.
#[test]
fn a_receiver_that_is_started_again_goes_on_on_a_disk_below_the_destination() {
    let Some((mut transfer, _mounted)) = with_disk() else { return };
    let planted = transfer.destination().join("d/disk").join(STAGING);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    // 0.1 MB/s.
    let sender = transfer.send(Some(1));
    crate::harness::wait_for("a partial file on the disk", || planted.exists().then_some(()));
    for stop in [&sender.stop, &receiver.stop] {
        stop.request();
    }
    sender.join();
    receiver.join();
    fs::create_dir_all(&planted).unwrap();
    fs::write(planted.join("7-0"), b"of a process that was killed").unwrap();
    transfer.epoch = 2;
    transfer.limit(None);
    assert_eq!(moved(&mut transfer).skipped, 0);
    check(&transfer);
}

#[test]
fn files_for_directories_of_a_team_have_its_group_and_its_access_control_list() {
    if !is_root() {
        cpt_skipped::skipped("only root gives a directory to any group");
        return;
    }
    let mut transfer = Transfer::plan(CHUNK, Some(1), fill);
    let team = transfer.destination().join("d/team");
    fs::create_dir_all(&team).unwrap();
    std::os::unix::fs::chown(&team, None, Some(4711)).unwrap();
    fs::set_permissions(&team, fs::Permissions::from_mode(0o2775)).unwrap();
    let other = transfer.destination().join("d/other");
    fs::create_dir_all(&other).unwrap();
    let has_list = Command::new("setfacl").args(["-d", "-m", "u:4712:rw"]).arg(&other).status().is_ok_and(|status| status.success());
    assert_eq!(moved(&mut transfer).skipped, 0);
    check(&transfer);
    for name in ["deep", "deep/small", "deep/large"] {
        assert_eq!(team.join(name).metadata().unwrap().gid(), 4711, "{name}");
    }
    for name in ["small", "large"] {
        assert_ne!(other.join(name).metadata().unwrap().gid(), 4711);
        let shown = Command::new("getfacl").arg("-p").arg(other.join(name)).output();
        assert!(!has_list || String::from_utf8_lossy(&shown.unwrap().stdout).contains("user:4712:rw"), "{name}");
    }
}
