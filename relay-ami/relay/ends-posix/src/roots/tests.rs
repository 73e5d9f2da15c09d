#![allow(clippy::unwrap_used)]

use std::fs as std_fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::fs::{AtFlags, CWD, RenameFlags, chownat, renameat_with};

use super::*;
use crate::defaults::AHEAD_NAMES;

const NOBODY: u32 = 65_534;

fn content(file: OwnedFd) -> String {
    std::io::read_to_string(std_fs::File::from(file)).unwrap()
}

#[test]
fn only_what_lies_beneath_the_roots_is_opened_and_by_no_other_spelling() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    for file in ["a/x", "a/d/y", "b/one", "b/one too", "b/other", "outside"] {
        std_fs::create_dir_all(here.join(file).parent().unwrap()).unwrap();
        std_fs::write(here.join(file), file).unwrap();
    }
    let at = |path: &str| format!("{}/{path}", here.display());
    let roots = Roots::new(&[at("a//").into(), at("b/./one").into()]);
    let open = |path: &str| roots.open(at(path).as_bytes(), OFlags::RDONLY);
    for inside in ["a/x", "a/d/y", "b/one"] {
        assert_eq!(content(open(inside).unwrap()), inside);
    }
    for outside in ["outside", "b/other", "b/one too", "b", "a", "a/", "", "b/one/../other", "a/../outside", "a//x", "a/./x", "a/d/../x"] {
        assert!(open(outside).is_err(), "{outside}");
    }
    let error = open("outside").unwrap_err();
    assert!(error.to_string().contains("outside the source paths"), "{error}");
    assert!(Roots::default().open(b"/etc/passwd", OFlags::RDONLY).is_err());
}

#[test]
fn a_root_that_is_absent_at_first_is_found_later_and_then_stays_the_one_that_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    let (root, moved) = (here.join("root"), here.join("moved"));
    let roots = Roots::new(&[root.join("")]);
    let open = || roots.open(root.join("x").as_os_str().as_bytes(), OFlags::RDONLY);
    assert_eq!(open().unwrap_err().kind(), io::ErrorKind::NotFound);
    std_fs::create_dir(&root).unwrap();
    std_fs::write(root.join("x"), "first").unwrap();
    assert_eq!(content(open().unwrap()), "first");
    std_fs::rename(&root, moved).unwrap();
    std_fs::create_dir(&root).unwrap();
    std_fs::write(root.join("x"), "second").unwrap();
    assert_eq!(content(open().unwrap()), "first");
}

#[test]
fn a_link_on_the_way_is_followed_if_this_user_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    std_fs::create_dir_all(here.join("real/deep")).unwrap();
    symlink("real", here.join("relative")).unwrap();
    symlink(here.join("relative/deep/.."), here.join("absolute")).unwrap();
    symlink("around", here.join("around")).unwrap();
    let inode = std_fs::metadata(here.join("real/deep")).unwrap().ino();
    for way in ["real/deep", "relative/deep", "absolute/deep", "relative/../absolute//./deep"] {
        let reached = reach(format!("{}/{way}", here.display()).as_bytes()).unwrap();
        assert_eq!((fs::fstat(&reached.directory).unwrap().st_ino, reached.missing.len()), (inode, 0), "{way}");
    }
    let reached = reach(format!("{}/relative/deep/not/there", here.display()).as_bytes()).unwrap();
    assert_eq!((fs::fstat(&reached.directory).unwrap().st_ino, reached.missing), (inode, vec![b"not".to_vec(), b"there".to_vec()]));
    let error = |way: &str| reach(format!("{}/{way}", here.display()).as_bytes()).unwrap_err().raw_os_error();
    assert_eq!(error("around"), Some(Errno::LOOP.raw_os_error()));
    std_fs::write(here.join("file"), "").unwrap();
    assert_eq!(error("file/x"), Some(Errno::NOTDIR.raw_os_error()));
    assert_eq!(error("none/../real"), Some(Errno::NOENT.raw_os_error()));
}

#[test]
fn a_link_on_the_way_that_another_user_made_is_named_with_its_owner_and_target() {
    if !rustix::process::geteuid().is_root() {
        return; // nobody else can make links of another user
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    std_fs::create_dir(here.join("real")).unwrap();
    symlink("real", here.join("theirs")).unwrap();
    symlink("theirs", here.join("ours")).unwrap();
    let nobody = rustix::process::Uid::from_raw(NOBODY);
    chownat(CWD, here.join("theirs"), Some(nobody), None, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    for way in ["theirs", "ours"] {
        let error = reach(here.join(way).as_os_str().as_bytes()).unwrap_err().to_string();
        for word in [&*format!("{:?}", here.join("theirs")), "user 65534", "\"real\"", "name the path"] {
            assert!(error.contains(word), "{error}");
        }
        assert!(Root::open(&here.join(way).join("")).is_err());
    }
    // As the last name, without a slash, it is what is moved.
    assert_eq!(Root::open(&here.join("theirs")).unwrap().names().unwrap().0, [b"theirs"]);
}

#[test]
fn a_deep_tree_is_walked_with_few_open_directories() {
    const DEEP: usize = 150;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    let mut directory = here.join("root");
    for _ in 0..DEEP {
        std_fs::create_dir_all(&directory).unwrap();
        // One before and two after what lies below: those are given on the way back.
        for name in ["a", "c", "d"] {
            std_fs::write(directory.join(name), "").unwrap();
        }
        directory.push("b");
    }
    let root = Root::open(&here.join("root")).unwrap();
    let mut walk = Walk::new(&root, b"root".to_vec());
    let (mut given, mut most) = (Vec::new(), 0);
    while let Some(step) = walk.step() {
        match step {
            Step::Entry(_) => given.push(walk.relative().to_vec()),
            Step::Problem(error) | Step::Broken(error) => panic!("{error}"),
        }
        most = most.max(walk.open_directories());
    }
    assert_eq!(given.len(), DEEP * 4);
    assert!(most <= 66, "{most} directories were open");
    let mut sorted = given.clone();
    sorted.sort_by(|one, other| one.split(|byte| *byte == b'/').cmp(other.split(|byte| *byte == b'/')));
    assert_eq!(given, sorted);
}

/// What a user may do who owns a directory at the source, and what must never come of it.
#[test]
fn whoever_swaps_a_directory_with_a_link_gets_nothing_from_beyond_it_opened() {
    const TRIES: u32 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    for (directory, words) in [("source/d", "own"), ("secret", "root only")] {
        std_fs::create_dir_all(here.join(directory)).unwrap();
        std_fs::write(here.join(directory).join("x"), words).unwrap();
    }
    symlink(here.join("secret"), here.join("link")).unwrap();
    let roots = Roots::new(&[here.join("source").join("")]);
    let source = here.join("source/d/x");
    let (done, swaps) = (AtomicBool::new(false), AtomicU32::new(0));
    let (mut own, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, here.join("source/d"), CWD, here.join("link"), RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        while own + refused < TRIES || swaps.load(Ordering::Relaxed) < 100 {
            match roots.open(source.as_os_str().as_bytes(), OFlags::RDONLY) {
                Ok(file) => {
                    assert_eq!(content(file), "own");
                    own += 1;
                }
                Err(_) => refused += 1,
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("{own} opened, {refused} refused, {} swaps", swaps.into_inner());
    assert!(own > 0 && refused > 0);
}

#[test]
fn a_walk_of_a_slow_file_system_looks_ahead_and_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..AHEAD_NAMES + 40 {
        std_fs::create_dir_all(folder.path().join(format!("top/d{}", number % 3))).unwrap();
        std_fs::write(folder.path().join(format!("top/f{number}")), "").unwrap();
        std_fs::write(folder.path().join(format!("top/d{}/f{number}", number % 3)), "").unwrap();
    }
    let root = Root::open(&folder.path().join("top")).unwrap();
    let paths = |is_slow: bool| {
        let (mut walk, mut paths, mut ahead) = (Walk::new(&root, b"top".to_vec()), Vec::new(), 0);
        loop {
            if is_slow {
                walk.seems_slow();
            }
            match walk.step() {
                Some(Step::Entry(_)) => paths.push(String::from_utf8(walk.relative().to_vec()).unwrap()),
                Some(Step::Problem(error) | Step::Broken(error)) => panic!("{error}"),
                None => return (paths, ahead),
            }
            ahead = ahead.max(walk.looked_at_ahead());
        }
    };
    let (plain, slow) = (paths(false), paths(true));
    assert_eq!(plain.0, slow.0);
    assert_eq!(plain.0.len(), 4 + 2 * (AHEAD_NAMES + 40));
    assert_eq!((plain.1, slow.1), (0, AHEAD_NAMES + 43), "all names of the largest directory");
}
