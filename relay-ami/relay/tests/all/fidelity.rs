//! Trees with every oddity arrive as they were, as rsync and the blocks that they use show.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan;
use cpt_relay::control::Control as _;
use cpt_relay::digest::Proof;
use cpt_relay::documents::attributes::{Attributes, Owner, Preserve};
use cpt_relay::documents::command::Compare;
use cpt_relay::documents::entry::{Kind, ListingEntry};
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::Destination as _;
use cpt_relay::survey::compare::Listing;
use cpt_relay::survey::scan;
use cpt_relay::wire::frame::SegmentHeader;
use cpt_relay::{receive, send};
use rustix::fs::{FileType, Mode, XattrFlags};

use crate::harness::{EVERYTHING, Transfer, path};
use crate::selection::Mounted;

const CHUNK: u64 = 1 << 20;

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A file with data at `at` and holes around it.
fn sparse(path: &Path, size: u64, at: &[u64]) {
    let mut file = File::create(path).unwrap();
    for offset in at {
        file.seek(SeekFrom::Start(*offset)).unwrap();
        file.write_all(&[7; 5000]).unwrap();
    }
    file.set_len(size).unwrap();
}

fn attribute(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()).unwrap();
}

/// An access control list in the kernel's form (version 2): tag, permissions and id of each entry.
fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&permissions.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    bytes
}

/// Owner 6, user 1234 4, group 4, mask 6, others 0.
fn acl() -> Vec<u8> {
    list(&[(1, 6, u32::MAX), (2, 4, 1234), (4, 4, u32::MAX), (0x10, 6, u32::MAX), (0x20, 0, u32::MAX)])
}

fn fill(root: &Path) {
    let is_root = rustix::process::geteuid().is_root();
    fs::create_dir_all(root.join("a/deep")).unwrap();
    fs::create_dir(root.join("z")).unwrap();
    fs::write(root.join("a/first"), b"one file of three names").unwrap();
    fs::hard_link(root.join("a/first"), root.join("a/deep/second")).unwrap();
    fs::hard_link(root.join("a/first"), root.join("z/third")).unwrap();
    fs::write(root.join("a/large"), vec![3; 3 * usize::try_from(CHUNK).unwrap() + 5]).unwrap();
    fs::hard_link(root.join("a/large"), root.join("0-large")).unwrap();
    sparse(&root.join("holes"), 40 << 20, &[0, 8 << 20, (20 << 20) + 4096, 30 << 20]);
    sparse(&root.join("only a hole"), 5 << 20, &[]);
    sparse(&root.join("small holes"), 300_000, &[131_072]);
    sparse(&root.join("ends with data"), 300_000, &[295_000]);
    fs::write(root.join("named"), b"x").unwrap();
    attribute(&root.join("named"), "user.colour", b"dark\0red");
    attribute(&root.join("named"), "user.empty", b"");
    attribute(&root.join("named"), "system.posix_acl_access", &acl());
    attribute(&root.join("z"), "user.directory", b"yes");
    attribute(&root.join("z"), "system.posix_acl_default", &acl());
    symlink("a/first", root.join("link")).unwrap();
    for (name, kind) in [("pipe", FileType::Fifo), ("socket", FileType::Socket)] {
        rustix::fs::mknodat(rustix::fs::CWD, root.join(name), kind, Mode::from_raw_mode(0o620), 0).unwrap();
    }
    if is_root {
        attribute(&root.join("a/large"), "security.capability", &[1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for (name, user, group) in [("named", 1234, 2345), ("a/deep", 7, 0), ("link", 8, 9), ("z/third", 10, 11), ("pipe", 1, 1)] {
            std::os::unix::fs::lchown(root.join(name), Some(user), Some(group)).unwrap();
        }
        fs::write(root.join("set-user"), b"s").unwrap();
        std::os::unix::fs::chown(root.join("set-user"), Some(12), Some(13)).unwrap();
        fs::set_permissions(root.join("set-user"), fs::Permissions::from_mode(0o6755)).unwrap();
        let device = rustix::fs::makedev(1, 3);
        // Where even root may not, as in a container without the right, there is none.
        let _ = rustix::fs::mknodat(rustix::fs::CWD, root.join("null"), FileType::CharacterDevice, Mode::from_raw_mode(0o666), device);
    }
    let long_ago = rustix::fs::Timespec { tv_sec: 1_000_000_000, tv_nsec: 5 };
    let times = rustix::fs::Timestamps { last_access: long_ago, last_modification: long_ago };
    for name in ["a/deep", "a", "z", "link", "pipe", "z/third"] {
        rustix::fs::utimensat(rustix::fs::CWD, root.join(name), &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
}

fn all(root: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        into.push(path.clone());
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            all(&path, into);
        }
    }
}

/// Fails where rsync would change anything, or a file takes up other room.
pub fn assert_as_it_was(from: &Path, to: &Path) {
    let (source, destination) = (from.join("").display().to_string(), to.join("").display().to_string());
    if Command::new("rsync").arg("--version").output().is_ok() {
        // Its own top is not moved: a path with a slash at its end is what the directory holds.
        let differences = run("rsync", &["-aHAXSni", "--checksum", "--delete", &source, &destination]);
        let differences: Vec<&str> = differences.lines().filter(|line| !line.ends_with(" ./")).collect();
        assert_eq!(differences, Vec::<&str>::new());
    } else {
        cpt_skipped::skipped("rsync is missing, which says what is different");
    }
    let mut paths = Vec::new();
    all(from, &mut paths);
    for path in paths {
        let there = to.join(path.strip_prefix(from).unwrap());
        let (is, was) = (fs::symlink_metadata(&there).unwrap(), fs::symlink_metadata(&path).unwrap());
        if was.is_file() {
            assert_eq!((is.blocks(), is.nlink()), (was.blocks(), was.nlink()), "{path:?}");
        }
    }
}

fn move_all(transfer: &mut Transfer) {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    let send::Outcome::Delivered(_) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
}

#[test]
fn a_tree_of_every_oddity_arrives_as_it_was() {
    let mut transfer = Transfer::plan_all(CHUNK, fill);
    move_all(&mut transfer);
    assert_as_it_was(&transfer.source(), &transfer.destination());
}

#[test]
fn a_second_run_sends_nothing_and_a_change_of_what_is_kept_sends_its_entry() {
    let mut transfer = Transfer::plan_all(CHUNK, fill);
    move_all(&mut transfer);
    let to = transfer.destination();
    let compared = || {
        let listing = Listing { control: &*transfer.control, prefix: "", parts: 1 };
        let to = PosixDestination::new(to.clone());
        let found = serde_json::to_value(listing.with_destination(&to, Compare::SizeTime, "changed/", "equal/").unwrap()).unwrap();
        if found["parts"] == 0 {
            return Vec::new();
        }
        let text = transfer.control.read_object("changed/part-00000.ndjson", None).unwrap();
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(|line| ListingEntry::parse(line).unwrap());
        lines.filter(|entry| entry.kind != Kind::Directory).map(|entry| entry.path).collect()
    };
    assert_eq!(compared(), Vec::<String>::new());
    attribute(&to.join("holes"), "user.new", b"1");
    assert_eq!(compared(), ["holes"]);
    rustix::fs::lremovexattr(to.join("holes"), "user.new").unwrap();
    // The first name in the order of the walk carries the bytes.
    fs::remove_file(to.join("a/first")).unwrap();
    fs::copy(to.join("a/deep/second"), to.join("a/first")).unwrap();
    assert_eq!(compared(), ["a/first"], "a copy is no other name of the file");
    fs::remove_file(to.join("a/deep/second")).unwrap();
    assert_eq!(compared(), ["a/deep/second", "a/first", "z/third"], "the names of a file that comes again come with it");
}

/// A directory of a team hands its group on; a change of group takes a program's capabilities away.
#[test]
fn a_program_that_gets_the_group_of_its_directory_keeps_its_capabilities() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    fs::write(&program, b"x").unwrap();
    let capability = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    attribute(&program, "security.capability", &capability);
    let preserve = Preserve { xattrs: true, ..Preserve::default() };
    let from = PosixSource::new(vec![folder.path().join("")]).preserving(preserve);
    let mut transfer = Transfer::of(CHUNK, Some(1), std::sync::Arc::new(from));
    transfer.preserve = preserve;
    let team = transfer.destination();
    fs::create_dir(&team).unwrap();
    std::os::unix::fs::chown(&team, None, Some(4242)).unwrap();
    fs::set_permissions(&team, fs::Permissions::from_mode(0o2770)).unwrap();
    move_all(&mut transfer);
    let arrived = team.join("program");
    assert_eq!(fs::metadata(&arrived).unwrap().gid(), 4242);
    assert_eq!(fs::metadata(&team).unwrap().mode() & 0o2000, 0o2000);
    let mut value = [0; 64];
    let length = rustix::fs::getxattr(&arrived, "security.capability", &mut value[..]).unwrap();
    assert_eq!(value[..length], capability);
}

#[test]
fn a_path_of_the_request_that_is_a_pipe_is_a_problem_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let control = Directory::open(folder.path().join("control"), plan::RANGE_SIZE, None).unwrap();
    let survey =
        |source: PosixSource| serde_json::to_value(scan::source(&source, &control, "", scan::Options::default()).unwrap()).unwrap();
    let found = survey(PosixSource::new(vec![pipe.clone()]));
    assert_eq!((&found["problemCount"], &found["files"]), (&1.into(), &0.into()));
    assert!(found["problems"][0].to_string().contains("is a pipe"), "{found}");
    let asked = survey(PosixSource::new(vec![pipe]).preserving(EVERYTHING));
    assert_eq!((&asked["problemCount"], &asked["files"]), (&0.into(), &1.into()));
}

/// Moves all but what is left out, and returns that: paths and messages.
pub fn left_out(transfer: &mut Transfer) -> Vec<(String, String)> {
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    let skipped = transfer.skipped();
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.skipped == skipped.len() as u64), "{outcome:?}");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    skipped.iter().map(|line| (text(&line["path"]), text(&line["message"]))).collect()
}

/// Needs root, who may mount.
#[test]
fn where_the_file_system_has_no_attributes_those_with_some_are_left_out_by_name() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut transfer = Transfer::plan_all(CHUNK, |root| {
        fs::write(root.join("plain"), b"plain").unwrap();
        fs::write(root.join("named"), b"named").unwrap();
        attribute(&root.join("named"), "user.colour", b"red");
        fs::write(root.join("listed"), b"listed").unwrap();
        attribute(&root.join("listed"), "system.posix_acl_access", &acl());
        sparse(&root.join("holes"), 3 << 20, &[1 << 20]);
    });
    let to = transfer.destination();
    fs::create_dir(&to).unwrap();
    let mounted = Mounted::new("ramfs", to.clone());
    let left_out = left_out(&mut transfer);
    let [(listed, why_listed), (named, why_named)] = &*left_out else { panic!("{left_out:?}") };
    assert_eq!((&**listed, &**named), ("listed", "named"));
    assert!(why_named.contains("user.colour") && why_listed.contains("posix_acl_access"), "{left_out:?}");
    assert_eq!(fs::read(to.join("plain")).unwrap(), b"plain");
    assert_eq!(fs::read(to.join("holes")).unwrap(), fs::read(transfer.source().join("holes")).unwrap(), "holes are zeros there");
    assert!(!to.join("named").exists() && !to.join("listed").exists());
    drop(mounted);
}

/// Needs root, who may mount.
#[test]
fn attributes_that_are_too_large_are_a_problem_of_their_file() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mounted = Mounted::new("tmpfs", folder.path().to_path_buf());
    fs::write(folder.path().join("file"), b"x").unwrap();
    // Each zero byte is three as it is sent.
    attribute(&folder.path().join("file"), "user.large", &[0; 20_000]);
    let control = Directory::open(folder.path().join("control"), plan::RANGE_SIZE, None).unwrap();
    let source = PosixSource::new(vec![folder.path().join("file")]).preserving(EVERYTHING);
    let found = serde_json::to_value(scan::source(&source, &control, "", scan::Options::default()).unwrap()).unwrap();
    assert_eq!((&found["problemCount"], &found["files"]), (&1.into(), &0.into()));
    assert!(found["problems"][0]["reason"].as_str().unwrap().contains("extended attributes are"), "{found}");

    // What a source can have and ext4 cannot is no full disk.
    attribute(&folder.path().join("file"), "user.large", &[b'a'; 20_000]);
    let mut transfer = Transfer::plan_all_of(CHUNK, PosixSource::new(vec![folder.path().join("file")]));
    let left_out = left_out(&mut transfer);
    let takes_all = transfer.destination().join("file").exists();
    assert!(takes_all || left_out.iter().any(|(path, why)| path == "file" && why.contains("user.large")), "{left_out:?}");
    drop(mounted);
}

/// Needs root, who gives files away.
#[test]
fn owners_are_found_by_name_and_one_that_is_not_known_by_number() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (transfer, folder) = (TransferId::new("t").unwrap(), tempfile::tempdir().unwrap());
    let destination = PosixDestination::new(folder.path().join("to"));
    let (to, _) = destination.open(&transfer, &PlanId::new("1".repeat(32)).unwrap(), CHUNK, Proof::Blake3).unwrap();
    // Every Linux has `root`; nobody has the other.
    for (entry, (name, number)) in [("root", 0), ("no-such-name", 4_242)].into_iter().enumerate() {
        let owner = Owner { uid: 4_242, gid: 4_242, user: Some(name.to_owned()), group: Some(name.to_owned()) };
        let attributes = Attributes { owner: Some(owner), ..Attributes::default() };
        let header = SegmentHeader {
            entry: entry as u64,
            kind: Kind::File,
            mode: 0o4755,
            mtime_ns: 1,
            size: 0,
            offset: 0,
            length: 0,
            path: name.as_bytes().to_vec(),
            target: Vec::new(),
            attributes: attributes.encode(),
        };
        let mut file = to.small(&header).unwrap();
        file.finish().unwrap();
        file.place(name.as_bytes()).unwrap();
        let found = fs::metadata(folder.path().join("to").join(name)).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (number, number, 0o4755), "{name}");
        assert_eq!(to.view().attributes(name.as_bytes(), &attributes).unwrap(), attributes, "it is as it was sent");
    }
}
