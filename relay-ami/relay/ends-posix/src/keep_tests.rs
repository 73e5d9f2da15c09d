use std::fs::{create_dir, read_to_string, write};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use super::super::tree::Tree;
use super::*;
use cpt_ends::{Remover as _, Version};
use cpt_wire::documents::attributes::Attributes;

const NAME: &str = ".kept";

fn kept(transfer: &str) -> Kept {
    Kept { name: KeepName::new(NAME).unwrap(), transfer: TransferId::new(transfer).unwrap() }
}

fn tree(root: &Path) -> Tree {
    Tree::open(root, &TransferId::new("t").unwrap(), None).unwrap().keeping(Some(kept("t"))).unwrap()
}

/// Places a file as a receiver does.
fn place(tree: &Tree, path: &str, content: &str) -> io::Result<Option<Version>> {
    let (home, name) = (tree.home(path.as_bytes())?, tree.unique_name(7));
    let mut file = tree.create(&home, path.as_bytes(), &name, 0o644)?;
    std::io::Write::write_all(&mut file, content.as_bytes())?;
    tree.place(&home, &name, path.as_bytes(), &Attributes::default())
}

fn read(root: &Path, path: &str) -> Option<String> {
    read_to_string(root.join(path)).ok()
}

#[test]
fn what_is_replaced_is_kept_at_its_path_as_it_was_and_is_for_its_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    create_dir(root.join("d")).unwrap();
    write(root.join("d/f"), "old").unwrap();
    symlink("old", root.join("link")).unwrap();
    let inode = root.join("d/f").metadata().unwrap().ino();
    let tree = tree(root);
    for path in ["d/f", "link", "d/new"] {
        place(&tree, path, "new").unwrap();
        assert_eq!(read(root, path).as_deref(), Some("new"));
    }
    assert_eq!(root.join(".kept/t/d/f").metadata().unwrap().ino(), inode);
    assert_eq!(std::fs::read_link(root.join(".kept/t/link")).unwrap().to_str(), Some("old"));
    assert!(!root.join(".kept/t/d/new").exists());
    assert_eq!(root.join(".kept/t/d/f").metadata().unwrap().nlink(), 1, "nothing is left among the partial files");
    for directory in [".kept", ".kept/t", ".kept/t/d"] {
        assert_eq!(root.join(directory).metadata().unwrap().mode() & 0o7777, 0o700, "{directory}");
    }
    assert_eq!(tree.keep.as_ref().unwrap().count().unwrap(), 2);
}

#[test]
fn what_the_transfer_has_placed_itself_is_not_kept_and_what_somebody_has_put_there_since_is() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root.join("f"), "old").unwrap();
    let tree = tree(root);
    for content in ["first", "second", "third"] {
        place(&tree, "f", content).unwrap();
    }
    assert_eq!((read(root, "f"), read(root, ".kept/t/f")), (Some("third".into()), Some("old".into())));
    assert_eq!(tree.keep.as_ref().unwrap().count().unwrap(), 1);
    write(root.join("f"), "somebody's").unwrap();
    place(&tree, "f", "fourth").unwrap();
    assert_eq!(read(root, ".kept/t/f").as_deref(), Some("old"));
    assert_eq!(read(root, ".kept/t.2/f").as_deref(), Some("somebody's"));
    assert_eq!(tree.keep.as_ref().unwrap().count().unwrap(), 2);
}

#[test]
fn another_transfer_and_another_process_of_the_same_one_take_nothing_away() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (transfer, content) in [("t", "1"), ("t", "2"), ("u", "3"), ("t", "4")] {
        write(root.join("f"), content).unwrap();
        let tree = Tree::open(root, &TransferId::new("t").unwrap(), None).unwrap().keeping(Some(kept(transfer))).unwrap();
        place(&tree, "f", "new").unwrap();
    }
    let there = ["t/f", "t.2/f", "u/f", "t.3/f"].map(|path| read(root, &format!(".kept/{path}")).unwrap());
    assert_eq!(there, ["1", "2", "3", "4"]);
}

/// A process that was killed after the first step has left another name of what is in the place.
#[test]
fn what_an_earlier_process_has_begun_to_keep_is_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root.join("f"), "old").unwrap();
    std::fs::create_dir_all(root.join(".kept/t")).unwrap();
    std::fs::hard_link(root.join("f"), root.join(".kept/t/f")).unwrap();
    let tree = tree(root);
    place(&tree, "f", "new").unwrap();
    assert_eq!((read(root, "f"), read(root, ".kept/t/f")), (Some("new".into()), Some("old".into())));
    assert_eq!(tree.keep.as_ref().unwrap().count().unwrap(), 1);
}

/// A process that was killed after the exchange has left what it kept among the partial files too, under the name of a small file or of a
/// large one, which the next process would go on with.
#[test]
fn what_an_earlier_process_has_exchanged_stays_as_it_was_however_the_next_one_goes_on() {
    for staged in ["7-0", "7"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root.join("f"), "new").unwrap();
        for directory in [".kept/t", ".cpt-partial-t"] {
            std::fs::create_dir_all(root.join(directory)).unwrap();
        }
        write(root.join(".kept/t/f"), "old").unwrap();
        std::fs::hard_link(root.join(".kept/t/f"), root.join(".cpt-partial-t").join(staged)).unwrap();
        let tree = tree(root);
        let home = tree.home(b"f").unwrap();
        let mut large = tree.open_large(&home, b"f", 7, 3, false).unwrap();
        std::io::Write::write_all(&mut large, b"new").unwrap();
        tree.place(&home, "7", b"f", &Attributes::default()).unwrap();
        assert_eq!((read(root, "f"), read(root, ".kept/t/f")), (Some("new".into()), Some("old".into())), "{staged}");
    }
}

/// Where a directory was kept and then a file, or the other way round.
#[test]
fn what_has_another_kind_than_what_is_kept_there_goes_to_the_next_directory() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in ["a", "b"] {
        write(root.join(path), "file").unwrap();
    }
    std::fs::create_dir_all(root.join(".kept/t/a")).unwrap();
    write(root.join(".kept/t/a/x"), "below").unwrap();
    let tree = tree(root);
    for path in ["a", "b"] {
        place(&tree, path, "new").unwrap();
    }
    std::fs::remove_file(root.join("b")).unwrap();
    create_dir(root.join("b")).unwrap();
    write(root.join("b/x"), "below").unwrap();
    tree.parents.lock().unwrap().clear();
    place(&tree, "b/x", "new").unwrap();
    let there = ["t/a/x", "t.2/a", "t/b", "t.2/b/x"].map(|path| read(root, &format!(".kept/{path}")).unwrap());
    assert_eq!(there, ["below", "file", "file", "below"]);
}

#[test]
fn what_has_no_further_name_is_exchanged_where_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root.join("f"), "old").unwrap();
    write(root.join("new"), "new").unwrap();
    let (directory, keep) = (OwnedFd::from(std::fs::File::open(root).unwrap()), tree(root).keep.unwrap());
    let not_moved = |error: Errno| error.into();
    let base = OsStr::new("f");
    let step = Move { keep: &keep, staging: &directory, name: "new", parent: &directory, path: b"f", base, not_moved: &not_moved };
    assert!(step.exchange_there().unwrap());
    assert_eq!((read(root, "f"), read(root, ".kept/t/f"), read(root, "new")), (Some("new".into()), Some("old".into()), None));
}

/// Between the look and the exchange somebody puts another file there: it is kept as well.
#[test]
fn what_comes_out_of_the_place_and_is_not_what_was_kept_is_kept_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root.join("f"), "somebody's").unwrap();
    write(root.join("new"), "new").unwrap();
    let (directory, keep) = (OwnedFd::from(std::fs::File::open(root).unwrap()), tree(root).keep.unwrap());
    let not_moved = |error: Errno| error.into();
    let base = OsStr::new("f");
    let step = Move { keep: &keep, staging: &directory, name: "new", parent: &directory, path: b"f", base, not_moved: &not_moved };
    assert!(step.exchange(0).unwrap());
    assert_eq!((read(root, "f"), read(root, ".kept/t/f"), read(root, "new")), (Some("new".into()), Some("somebody's".into()), None));
    // A directory stays.
    create_dir(root.join("d")).unwrap();
    write(root.join("new"), "new").unwrap();
    let step = Move { base: OsStr::new("d"), path: b"d", ..step };
    assert!(step.exchange(0).is_err());
    assert_eq!((root.join("d").is_dir(), read(root, "new")), (true, Some("new".into())));
    assert!(step.exchange_there().is_err());
    assert_eq!((root.join("d").is_dir(), read(root, "new")), (true, Some("new".into())));
}

#[test]
fn a_directory_that_is_a_link_or_no_directory_is_refused_and_nothing_is_replaced() {
    for make in [|path: &Path| symlink("/tmp", path).unwrap(), |path: &Path| write(path, "x").unwrap()] {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join(NAME));
        let opened = Tree::open(folder.path(), &TransferId::new("t").unwrap(), None).unwrap().keeping(Some(kept("t")));
        let error = opened.err().unwrap().to_string();
        assert!(error.contains(".kept is no directory") && error.contains("$.keepReplaced"), "{error}");
    }
    // Planted while the transfer runs.
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = tree(folder.path());
    write(folder.path().join("f"), "old").unwrap();
    symlink(outside.path(), folder.path().join(NAME)).unwrap();
    assert!(place(&tree, "f", "new").is_err());
    assert_eq!(read(folder.path(), "f").as_deref(), Some("old"));
    assert!(outside.path().read_dir().unwrap().next().is_none());
}

#[test]
fn no_entry_of_the_source_lands_where_things_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(folder.path());
    for path in [".kept", ".kept/t/x", ".KEPT/x", ".\u{212a}ept"] {
        assert!(tree.is_for_sources(path.as_bytes()).is_err(), "{path}");
    }
    for path in [".kept2", "a/.kept", "kept"] {
        assert!(tree.is_for_sources(path.as_bytes()).is_ok(), "{path}");
    }
}

#[test]
fn what_is_removed_is_kept_and_directories_are_only_removed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    create_dir(root.join("d")).unwrap();
    write(root.join("d/f"), "old").unwrap();
    symlink("old", root.join("d/link")).unwrap();
    let id = super::super::tour::id_of(&std::fs::File::open(root).unwrap()).unwrap();
    let mut remover = super::super::removal::PosixRemover::open(root, &id).unwrap().keeping(Some(kept("t"))).unwrap();
    for path in ["d/f", "d/link", "d"] {
        assert_eq!(remover.remove(path.as_bytes(), &|_| true).unwrap(), cpt_ends::Removal::Removed, "{path}");
    }
    assert!(!root.join("d").exists());
    assert_eq!(read(root, ".kept/t/d/f").as_deref(), Some("old"));
    assert!(root.join(".kept/t/d/link").is_symlink());
    assert_eq!(remover.kept().unwrap(), 2);
    let again = remover.remove(b".kept/t/d/f", &|_| true).unwrap();
    assert!(matches!(again, cpt_ends::Removal::Stays(..)), "{again:?}");
    assert_eq!(remover.kept().unwrap(), 2);
}
