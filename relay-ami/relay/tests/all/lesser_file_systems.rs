//! Destinations that keep less than was sent: what they keep is measured, and nothing is sent twice for what they do not.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use cpt_ends_posix::{PosixSource, cannot_keep};
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan;
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::Compare;
use cpt_relay::survey::scan;
use cpt_relay::{receive, send};
use rustix::fs::XattrFlags;

use crate::harness::{Transfer, noise, path, sent_once};
use crate::selection::Mounted;
use crate::users::is_root;

const CHUNK: u64 = 64 << 10;
const FILES: u64 = 6;

fn fill(root: &Path) {
    fs::create_dir(root.join("d")).unwrap();
    for number in 0..FILES {
        fs::write(root.join(format!("d/f{number}")), noise(number, 3000)).unwrap();
    }
    fs::write(root.join("large"), noise(9, 3 * CHUNK as usize)).unwrap();
}

/// A transfer to a new file system of a kind. Needs root, loop devices and the program that makes it: without one of them there is none.
fn to(kind: &str, options: &[&str], transfer: Transfer) -> Option<(Transfer, Mounted)> {
    let (at, image) = (transfer.destination(), transfer.directory.path().join("image"));
    fs::create_dir(&at).unwrap();
    let mounted = if is_root() { Mounted::made(kind, options, &image, 32 << 20, at.clone()) } else { None };
    if mounted.is_none() {
        cpt_skipped::skipped(&format!("no root, no mkfs.{kind}, or this kernel does not mount {kind}"));
    }
    let _ = fs::remove_dir(at.join("lost+found"));
    mounted.map(|mounted| (transfer, mounted))
}

fn moved(transfer: &mut Transfer) -> send::Totals {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    // What was left out has been sent as well: 3 000 bytes each.
    assert_eq!((totals.repaired_chunks, sent_once(&totals)), (0, totals.bytes + 3000 * totals.skipped), "nothing is sent twice");
    totals
}

/// All has arrived, and the next run finds nothing to do.
fn arrives_once(transfer: &mut Transfer) {
    assert_eq!(moved(transfer).skipped, 0);
    for name in ["d/f0", "d/f5", "large"] {
        assert!(fs::read(transfer.source().join(name)).unwrap() == fs::read(transfer.destination().join(name)).unwrap(), "{name}");
    }
    transfer.plan_compared(Compare::SizeTime, CHUNK);
    assert_eq!((transfer.plan.files, transfer.plan.bytes), (0, 0));
}

/// As Lustre has them too.
#[test]
fn a_destination_of_whole_seconds_gets_each_file_once() {
    let Some((mut transfer, _mounted)) = to("ext4", &["-q", "-I", "128"], Transfer::plan(CHUNK, Some(1), fill)) else { return };
    arrives_once(&mut transfer);
}

/// No modes, no owners, times in steps of two seconds.
#[test]
fn a_destination_without_modes_gets_each_file_once() {
    let Some((mut transfer, _mounted)) = to("vfat", &[], Transfer::plan(CHUNK, Some(1), fill)) else { return };
    arrives_once(&mut transfer);
}

/// Whoever asks for what cannot be kept hears it before anything moves.
#[test]
fn what_a_file_system_cannot_keep_is_refused_by_name_in_the_survey() {
    if !is_root() {
        cpt_skipped::skipped("only root mounts");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Keeps neither.
    let _mounted = Mounted::new("ramfs", folder.path().to_path_buf());
    let wish = |xattrs, acls| Preserve { xattrs, acls, ..Preserve::default() };
    assert_eq!(cannot_keep(folder.path(), &wish(false, false)), None);
    for (asked, key) in [(wish(true, false), "preserve.xattrs"), (wish(false, true), "preserve.acls")] {
        let why = cannot_keep(&folder.path().join("not/yet"), &asked).unwrap();
        assert!(why.starts_with(key), "{why}");
    }
}

#[test]
fn a_time_that_the_destination_does_not_keep_is_that_files_problem() {
    let planned = Transfer::plan(CHUNK, Some(1), |root| {
        fill(root);
        // 2042: such a file system ends in 2038.
        let late = SystemTime::UNIX_EPOCH + Duration::from_secs(2_272_147_200);
        File::open(root.join("d/f3")).unwrap().set_modified(late).unwrap();
    });
    let Some((mut transfer, _mounted)) = to("ext4", &["-q", "-I", "128"], planned) else { return };
    assert_eq!(moved(&mut transfer).skipped, 1);
    let skip = &transfer.skipped()[0];
    assert_eq!((skip["path"].as_str(), skip["reason"].as_str()), (Some("d/f3"), Some("destination-refused")));
    assert!(skip["message"].as_str().unwrap().contains("its modification time, 2272147200 s from 1970"), "{skip}");
    assert!(transfer.destination().join("d/f2").exists() && !transfer.destination().join("d/f3").exists());
}

/// As Samba's are, and lists of other kinds than POSIX'.
#[test]
fn attributes_that_are_not_kept_are_counted_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let path = folder.path().join(name);
        fs::write(&path, b"x").unwrap();
        rustix::fs::lsetxattr(&path, "user.kept", b"x", XattrFlags::empty()).unwrap();
        if rustix::fs::lsetxattr(&path, "security.NTACL", b"x", XattrFlags::empty()).is_err() {
            cpt_skipped::skipped("only who administers the machine sets such attributes");
            return;
        }
    }
    rustix::fs::lsetxattr(folder.path().join("b"), "trusted.overlay", b"x", XattrFlags::empty()).unwrap();
    let unkept = |preserve| {
        let source = PosixSource::new(vec![folder.path().join("a"), folder.path().join("b")]).preserving(preserve);
        let directory = Directory::open(folder.path().join("control"), plan::RANGE_SIZE, None).unwrap();
        serde_json::to_value(scan::source(&source, &directory, "", scan::Options::default()).unwrap()).unwrap()["unkept"].clone()
    };
    assert_eq!(unkept(Preserve::default()), serde_json::Value::Null);
    assert_eq!(unkept(Preserve { acls: true, ..Preserve::default() }), serde_json::Value::Null);
    let found = unkept(Preserve { xattrs: true, ..Preserve::default() });
    assert_eq!(found, serde_json::json!({"security.NTACL": 2, "trusted.overlay": 1}));
}
