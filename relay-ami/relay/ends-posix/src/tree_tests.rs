use super::*;

fn tree() -> (tempfile::TempDir, Tree) {
    let directory = tempfile::tempdir().unwrap();
    let tree = Tree::open(&directory.path().join("in"), &TransferId::new("t").unwrap(), None).unwrap();
    (directory, tree)
}

/// Makes an empty partial file for a path, and places it.
fn make(tree: &Tree, name: &str, path: &str) -> io::Result<Option<Version>> {
    let home = tree.home(path.as_bytes())?;
    tree.create(&home, path.as_bytes(), name, 0o644)?;
    tree.place(&home, name, path.as_bytes(), &Attributes::default())
}

#[test]
fn no_path_leaves_the_destination() {
    for path in
        ["/etc/x", "../x", "a/../../x", "a//x", ".", "", "a/.", ".cpt-partial-t/x", ".cpt-partial-other/0", "a/.cpt-partial-t", "a\0b/x"]
    {
        assert!(Tree::check(path.as_bytes()).is_err(), "{path:?}");
    }
}

#[test]
fn a_path_of_two_thousand_names_needs_no_more_stack_than_the_committing_thread_has() {
    let (directory, tree) = tree();
    let path = "a/".repeat(2000) + "f";
    let place = || make(&tree, "1-0", &path);
    std::thread::scope(|scope| {
        let placed = std::thread::Builder::new().stack_size(cpt_process::STACK_BYTES).spawn_scoped(scope, place).unwrap();
        placed.join().unwrap().unwrap();
    });
    assert!(directory.path().join("in/a/a/a").is_dir());
    assert!(tree.directory(&path.as_bytes()[..path.len() - 2], 0o755, 0, &Attributes::default()).is_ok());
}

#[test]
fn a_planted_link_is_not_followed() {
    let (directory, tree) = tree();
    let outside = directory.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, directory.path().join("in/sub")).unwrap();
    assert!(make(&tree, "1-0", "sub/file").is_err());
    assert!(tree.directory(b"sub/directory", 0o755, 0, &Attributes::default()).is_err());
    assert!(std::fs::read_dir(&outside).unwrap().next().is_none());
}

#[test]
fn an_existing_file_is_replaced_and_a_directory_is_not() {
    let (directory, tree) = tree();
    std::fs::write(directory.path().join("in/file"), "old").unwrap();
    make(&tree, "1-0", "file").unwrap();
    assert_eq!(std::fs::read(directory.path().join("in/file")).unwrap(), b"");
    tree.directory(b"dir", 0o700, 0, &Attributes::default()).unwrap();
    assert!(make(&tree, "2-0", "dir").is_err());
}

#[test]
fn a_file_gets_its_mode_and_time_whether_or_not_it_is_made_with_them() {
    use std::os::unix::fs::MetadataExt as _;
    let (directory, tree) = tree();
    let home = tree.home(b"file").unwrap();
    for mode in [0o644, 0o600, 0o777, 0o444, 0o1640, 0o6755, 0] {
        // As it is known, and as if more bits were taken away.
        for is_made_so in [home.staging.has_mode_when_made(mode), false] {
            let file = tree.create(&home, b"file", "1-0", mode).unwrap();
            super::super::partial::finish_file(&home.staging, &file, "1-0", mode, is_made_so, -1, &Attributes::default()).unwrap();
            tree.place(&home, "1-0", b"file", &Attributes::default()).unwrap();
            let found = directory.path().join("in/file").metadata().unwrap();
            assert_eq!(found.mode() & 0o7777, u32::from(mode) & cpt_ends::KEPT_MODE, "{mode:o}");
            assert_eq!((found.mtime(), found.mtime_nsec()), (-1, 999_999_999));
        }
    }
}

#[test]
fn bits_that_the_file_system_or_the_mask_takes_away_are_known() {
    let (directory, tree) = tree();
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(directory.path().join("probe")).unwrap();
    // What `open` without a mode of its own asks for is 0666.
    let mode = Mode::from_raw_mode(fs::fstat(&made).unwrap().st_mode);
    assert_eq!(tree.staging.masked & Mode::from_raw_mode(0o666), Mode::from_raw_mode(0o666) - mode);
    assert_eq!(std::fs::read_dir(directory.path().join("in/.cpt-partial-t")).unwrap().count(), 0, "the probe is gone");
}

#[test]
fn what_an_earlier_process_left_is_no_obstacle() {
    let (directory, tree) = tree();
    drop(tree);
    let partial = directory.path().join("in/.cpt-partial-t");
    std::fs::write(partial.join("1-0"), "small").unwrap();
    std::fs::write(partial.join("7"), "large").unwrap();
    // On a file system that is far.
    std::fs::create_dir(partial.join("small.3")).unwrap();
    std::fs::write(partial.join("small.3/1-3"), "small").unwrap();
    let tree = Tree::open(&directory.path().join("in"), &TransferId::new("t").unwrap(), None).unwrap();
    assert!(!partial.join("1-0").exists() && partial.join("7").exists());
    assert!(!partial.join("small.3/1-3").exists());
    std::fs::write(partial.join("small.3/1-3"), "of a receiver that has ended").unwrap();
    std::fs::write(partial.join("2-0"), "planted").unwrap();
    tree.staging.link("2-0", b"target").unwrap();
    assert_eq!(std::fs::read_link(partial.join("2-0")).unwrap(), Path::new("target"));
    tree.remove_partial(&|| {}).unwrap();
    assert!(!partial.exists());
}

#[test]
fn a_second_receiver_waits_for_the_first_to_end() {
    let (directory, first) = tree();
    let path = directory.path().join("in");
    let partial = File::open(path.join(".cpt-partial-t")).unwrap();
    assert_eq!(fs::flock(&partial, fs::FlockOperation::NonBlockingLockExclusive), Err(Errno::WOULDBLOCK));
    let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&ended);
    let second = std::thread::spawn(move || {
        Tree::open(&path, &TransferId::new("t").unwrap(), None).unwrap();
        seen.load(Ordering::SeqCst)
    });
    ended.store(true, Ordering::SeqCst);
    drop(first);
    assert!(second.join().unwrap());
}

#[test]
fn a_partial_directory_of_another_user_is_not_used() {
    if !rustix::process::geteuid().is_root() {
        cpt_skipped::skipped("only root can give a directory away");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let partial = folder.path().join(".cpt-partial-t");
    std::fs::create_dir(&partial).unwrap();
    std::os::unix::fs::chown(&partial, Some(65_534), None).unwrap();
    let error = Tree::open(folder.path(), &TransferId::new("t").unwrap(), None).err().unwrap();
    assert!(error.to_string().contains("belongs to another user"), "{error}");
}
