#![allow(clippy::unwrap_used)]

use std::fs as std_fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::*;
use crate::tour::PosixTour;
use cpt_ends::Tour as _;

struct Site(tempfile::TempDir);

impl Site {
    /// A destination `in` beside `out`.
    fn new(files: &[&str]) -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        for path in files {
            let path = site.path(path);
            std_fs::create_dir_all(path.parent().unwrap()).unwrap();
            std_fs::write(path, "content").unwrap();
        }
        site
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn id(&self) -> DirectoryId {
        PosixTour::begin(&self.path("in")).unwrap().directory().clone()
    }

    fn open(&self) -> PosixRemover {
        PosixRemover::open(&self.path("in"), &self.id()).unwrap()
    }

    /// What the entry is now, which is what was meant.
    fn seen(&self, path: &str) -> Found {
        found(&fs::statat(fs::CWD, self.path("in").join(path), AtFlags::SYMLINK_NOFOLLOW).unwrap())
    }

    fn remove(&self, path: &str) -> Removal {
        let meant = self.seen(path);
        self.open().remove(path.as_bytes(), &|found| *found == meant).unwrap()
    }

    fn exists(&self, path: &str) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }
}

const STAYS: Removal = Removal::Stays(Stayed::Changed, None);

#[test]
fn what_is_as_it_was_meant_is_removed_and_the_directory_keeps_its_time() {
    let site = Site::new(&["in/d/file", "in/d/empty/x", "in/stays", "out/target"]);
    std_fs::remove_file(site.path("in/d/empty/x")).unwrap();
    symlink(site.path("out"), site.path("in/d/link")).unwrap();
    fs::mknodat(fs::CWD, site.path("in/d/pipe"), fs::FileType::Fifo, Mode::RWXU, 0).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    std_fs::File::open(site.path("in/d")).unwrap().set_modified(time).unwrap();
    for path in ["d/file", "d/link", "d/pipe", "d/empty"] {
        assert_eq!(site.remove(path), Removal::Removed, "{path}");
        assert!(!site.exists(&format!("in/{path}")));
        assert_eq!(site.path("in/d").metadata().unwrap().modified().unwrap(), time, "{path}");
    }
    assert_eq!(site.remove("d"), Removal::Removed);
    assert!(site.exists("in/stays") && site.exists("out/target"));
}

#[test]
fn another_name_of_a_file_stays_with_its_bytes() {
    let site = Site::new(&["in/one", "out/x"]);
    std_fs::hard_link(site.path("in/one"), site.path("out/other")).unwrap();
    assert_eq!(site.remove("one"), Removal::Removed);
    assert_eq!(std_fs::read(site.path("out/other")).unwrap(), b"content");
}

#[test]
fn what_is_not_what_was_meant_any_more_stays() {
    type Change = &'static dyn Fn(&Path);
    let changes: [(&str, Change); 5] = [
        ("size", &|path| {
            let time = path.metadata().unwrap().modified().unwrap();
            std_fs::write(path, "longer than it was").unwrap();
            std_fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        }),
        ("time", &|path| std_fs::File::open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap()),
        ("a link", &|path| {
            std_fs::remove_file(path).unwrap();
            symlink("content", path).unwrap();
        }),
        ("a directory", &|path| {
            std_fs::remove_file(path).unwrap();
            std_fs::create_dir(path).unwrap();
        }),
        ("nothing", &|path| std_fs::remove_file(path).unwrap()),
    ];
    for (what, change) in changes {
        let site = Site::new(&["in/d/file"]);
        let meant = site.seen("d/file");
        change(&site.path("in/d/file"));
        let is = |found: &Found| found.is(meant.kind, meant.size, meant.mtime_ns);
        let expected = if what == "nothing" { Removal::Gone } else { STAYS };
        assert_eq!(site.open().remove(b"d/file", &is).unwrap(), expected, "{what}");
        assert_eq!(site.exists("in/d/file"), what != "nothing", "{what}");
    }
}

#[test]
fn a_directory_goes_only_when_it_is_empty_whatever_its_time_is() {
    let site = Site::new(&["in/d/new"]);
    let is = |found: &Found| found.is(Kind::Directory, 0, None);
    assert_eq!(site.open().remove(b"d", &is).unwrap(), Removal::Stays(Stayed::NotEmpty, None));
    std_fs::remove_file(site.path("in/d/new")).unwrap();
    assert_eq!(site.open().remove(b"d", &is).unwrap(), Removal::Removed);
    assert_eq!(site.open().remove(b"d", &is).unwrap(), Removal::Gone);
    assert_eq!(site.open().remove(b"d/new", &is).unwrap(), Removal::Gone);
}

#[test]
fn nothing_is_removed_behind_a_link_or_by_a_path_that_leaves_the_destination() {
    let site = Site::new(&["in/d/file", "out/file"]);
    let meant = site.seen("d/file");
    let is = |found: &Found| found.kind == meant.kind && found.size == meant.size;
    std_fs::rename(site.path("in/d"), site.path("in/moved")).unwrap();
    for target in [site.path("out"), "../out".into(), "moved".into()] {
        symlink(&target, site.path("in/d")).unwrap();
        assert_eq!(site.open().remove(b"d/file", &is).unwrap(), STAYS, "{}", target.display());
        std_fs::remove_file(site.path("in/d")).unwrap();
    }
    for path in [&b"../out/file"[..], b"moved/../../out/file", b"/etc/passwd", b"", b".", b"moved/./file", b"moved//file", b"a\0b"] {
        assert!(site.open().remove(path, &|_| true).is_err(), "{path:?}");
    }
    assert!(site.exists("out/file") && site.exists("in/moved/file"));
}

#[test]
fn partial_files_are_not_removed_whoever_names_them() {
    let site = Site::new(&["in/.cpt-partial-t/1", "in/deep/.cpt-partial-t"]);
    assert!(site.open().remove(b".cpt-partial-t/1", &|_| true).is_err());
    assert!(site.open().remove(b"deep/.cpt-partial-t", &|_| true).is_err());
    assert!(site.exists("in/.cpt-partial-t/1"));
}

#[test]
fn another_directory_in_the_place_of_the_destination_is_not_touched() {
    let site = Site::new(&["in/file"]);
    let (id, remover) = (site.id(), site.open());
    remover.check_there().unwrap();
    std_fs::rename(site.path("in"), site.path("moved")).unwrap();
    assert!(remover.check_there().is_err(), "it is not there");
    std_fs::create_dir(site.path("in")).unwrap();
    let refusal = remover.check_there().unwrap_err().to_string();
    assert!(refusal.contains("is another directory") && refusal.contains(id.as_str()), "{refusal}");
    assert!(PosixRemover::open(&site.path("in"), &id).is_err());
}

/// Needs root, who may mount.
#[test]
fn nothing_is_removed_on_what_is_mounted_meanwhile() {
    let site = Site::new(&["in/d/file", "out/file"]);
    let meant = site.seen("d/file");
    let out = site.path("out").to_str().unwrap().to_owned();
    let mounted = || Command::new("mount").args(["--bind", &out]).arg(site.path("in/d")).status().unwrap().success();
    if !rustix::process::geteuid().is_root() || !mounted() {
        cpt_skipped::skipped("only root may mount: what mounts do is tested as root");
        return;
    }
    let is = |found: &Found| found.kind == meant.kind && found.size == meant.size;
    let inside = site.open().remove(b"d/file", &is).unwrap();
    let itself = site.open().remove(b"d", &|_| true).unwrap();
    assert!(Command::new("umount").arg(site.path("in/d")).status().unwrap().success());
    assert_eq!(inside, STAYS);
    assert!(matches!(itself, Removal::Stays(Stayed::Refused | Stayed::NotEmpty, _)), "{itself:?}");
    assert!(site.exists("in/d/file") && site.exists("out/file"));
}

#[test]
fn what_the_system_refuses_stays_and_its_words_are_kept() {
    let site = Site::new(&["in/d/file"]);
    let directory = site.path("in/d");
    let mount = |arguments: &[&str]| Command::new("mount").args(arguments).arg(&directory).status().unwrap().success();
    // Modes refuse root nothing, and others only what is not theirs.
    if !rustix::process::geteuid().is_root() || !mount(&["-t", "tmpfs", "cpt-test"]) {
        return;
    }
    std_fs::write(directory.join("file"), "content").unwrap();
    assert!(mount(&["-o", "remount,ro"]));
    let id = PosixTour::begin(&directory).unwrap().directory().clone();
    let refused = PosixRemover::open(&directory, &id).unwrap().remove(b"file", &|_| true).unwrap();
    assert!(Command::new("umount").arg(&directory).status().unwrap().success());
    let Removal::Stays(Stayed::Refused, Some(words)) = refused else { panic!("{refused:?}") };
    assert!(words.contains("Read-only"), "{words}");
    assert!(site.exists("in/d/file"));
}

#[test]
fn a_directory_that_its_owner_may_not_write_is_lent_its_bit() {
    let site = Site::new(&["in/d/file"]);
    let directory = site.path("in/d");
    std_fs::set_permissions(&directory, std_fs::Permissions::from_mode(0o555)).unwrap();
    let removed = PosixRemover::open(&site.path("in"), &site.id()).unwrap().remove(b"d/file", &|_| true).unwrap();
    assert!(matches!(removed, Removal::Removed), "{removed:?}");
    assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o777, 0o555);
}

#[test]
fn two_processes_do_not_remove_at_the_same_time() {
    let site = Site::new(&["in/file"]);
    let first = site.open();
    let (path, id) = (site.path("in"), site.id());
    let refused = PosixRemover::open_within(&path, &id, Duration::ZERO).err().unwrap().to_string();
    assert!(refused.contains("another process holds a lock on the destination's directory"), "{refused}");
    let second = std::thread::spawn(move || drop(PosixRemover::open(&path, &id).unwrap()));
    drop(first);
    second.join().unwrap();
}
