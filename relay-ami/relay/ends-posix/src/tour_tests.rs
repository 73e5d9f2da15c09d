#![allow(clippy::unwrap_used)]

use std::fs as std_fs;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[&str]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|path| tree.write(path));
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str) {
        let path = self.path(path);
        std_fs::create_dir_all(path.parent().unwrap()).unwrap();
        std_fs::write(path, "content").unwrap();
    }

    /// What a walk gives, with why it stays; into what stays it does not go.
    fn walked(&self, names: usize) -> Vec<(Vec<u8>, Option<Spared>)> {
        let mut tour = PosixTour::holding(self.0.path(), names).unwrap();
        let mut given = Vec::new();
        while let Some(stop) = tour.step().unwrap() {
            assert!(matches!(stop, Stop::Entry(_)));
            let spared = tour.spared();
            given.push((tour.path().to_vec(), spared));
            if spared.is_some() {
                tour.pass();
            }
        }
        given
    }

    fn spared(&self) -> Vec<(String, Spared)> {
        let given = self.walked(HELD_NAMES).into_iter();
        given.filter_map(|(path, spared)| Some((String::from_utf8(path).unwrap(), spared?))).collect()
    }
}

#[test]
fn any_names_are_given_in_order_however_few_of_them_are_held() {
    let tree = Tree::new(&["b/z", "b/a/x", "b!", "a", "line\nbreak"]);
    std_fs::write(tree.0.path().join(std::ffi::OsString::from_vec(b"\xff\xfe".to_vec())), "").unwrap();
    (0..300).for_each(|number| tree.write(&format!("many/{number}")));
    let whole = tree.walked(HELD_NAMES);
    let paths: Vec<&[u8]> = whole.iter().map(|(path, _)| &**path).collect();
    let expected: [&[u8]; 7] = [b"a", b"b", b"b/a", b"b/a/x", b"b/z", b"b!", b"line\nbreak"];
    assert_eq!(paths[..7], expected);
    assert_eq!((paths.len(), paths[7], paths.last().copied()), (309, &b"many"[..], Some(&b"\xff\xfe"[..])));
    assert!(paths[8..308].is_sorted());
    for held in [1, 2, 10, 100, 1000] {
        assert_eq!(tree.walked(held), whole, "{held} bytes");
    }
}

#[test]
fn a_deep_tree_is_walked_however_few_names_are_held() {
    const DEEP: usize = 150;
    let tree = Tree::new(&[]);
    let mut directory = String::new();
    for _ in 0..DEEP {
        // One before and two after what lies below, which is given on the way back.
        ["a", "c", "d"].iter().for_each(|name| tree.write(&format!("{directory}{name}")));
        directory.push_str("b/");
    }
    let whole = tree.walked(HELD_NAMES);
    assert_eq!(whole.len(), 4 * DEEP - 1);
    assert_eq!((&*whole[0].0, &*whole[4 * DEEP - 2].0), (&b"a"[..], &b"d"[..]));
    assert_eq!(tree.walked(1), whole);
}

#[test]
fn a_link_is_given_and_not_followed() {
    let outside = Tree::new(&["secret"]);
    let tree = Tree::new(&[]);
    symlink(outside.0.path(), tree.path("link")).unwrap();
    let mut tour = PosixTour::begin(tree.0.path()).unwrap();
    let Some(Stop::Entry(found)) = tour.step().unwrap() else { panic!("nothing") };
    assert_eq!((found.kind, found.size), (Kind::Symlink, outside.0.path().as_os_str().len() as u64));
    assert_eq!(tour.step().unwrap(), None);
}

#[test]
fn partial_files_of_any_transfer_and_this_programs_own_directory_stay() {
    let tree = Tree::new(&[".cpt-partial-t/1", "deep/.cpt-partial-u/2", "deep/cpt-partial"]);
    let expected = [(".cpt-partial-t", Spared::Partial), ("deep/.cpt-partial-u", Spared::Partial)];
    assert_eq!(tree.spared(), expected.map(|(path, why)| (path.to_owned(), why)));
    let home = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().to_owned();
    let mut tour = PosixTour::begin(home.parent().unwrap()).unwrap();
    while tour.path() != home.file_name().unwrap().as_bytes() {
        assert!(tour.step().unwrap().is_some());
        if tour.spared().is_none() {
            tour.pass();
        }
    }
    assert_eq!(tour.spared(), Some(Spared::Own));
}

/// Needs root, who may mount.
#[test]
fn nothing_that_is_mounted_is_gone_into_not_even_of_the_same_file_system() {
    let tree = Tree::new(&["disk/below", "same/below", "elsewhere/inside", "file", "other file"]);
    let mount = |arguments: &[&str], at: &str| Command::new("mount").args(arguments).arg(tree.path(at)).status().unwrap().success();
    if !rustix::process::geteuid().is_root() || !mount(&["-t", "tmpfs", "cpt-test"], "disk") {
        cpt_skipped::skipped("only root may mount: what mounts do is tested as root");
        return;
    }
    let elsewhere = tree.path("elsewhere").to_str().unwrap().to_owned();
    let other_file = tree.path("other file").to_str().unwrap().to_owned();
    assert!(mount(&["--bind", &elsewhere], "same") && mount(&["--bind", &other_file], "file"));
    let spared = tree.spared();
    for at in ["file", "same", "disk"] {
        assert!(Command::new("umount").arg(tree.path(at)).status().unwrap().success());
    }
    assert_eq!(spared, ["disk", "file", "same"].map(|path| (path.to_owned(), Spared::OtherFileSystem)));
    assert_eq!(tree.spared(), []);
}

#[test]
fn what_a_path_leads_to_is_found_beneath_and_through_no_link_nor_mount() {
    let tree = Tree::new(&["d/Name", "other"]);
    std_fs::hard_link(tree.path("d/Name"), tree.path("d/second")).unwrap();
    std::os::unix::fs::symlink("d", tree.path("link")).unwrap();
    let mut tour = PosixTour::begin(tree.0.path()).unwrap();
    let mut found = |path: &[u8]| tour.finds(path).unwrap();
    let name = found(b"d/Name");
    assert!(name.is_some() && found(b"d/second") == name && found(b"other") != name);
    for path in [&b"d/name"[..], b"d/Name/x", b"nothing/x", b"link/Name", b"../x", b"/etc/passwd", &[b'x'; 300]] {
        assert_eq!(found(path), None, "{path:?}");
    }
    let id = name.unwrap();
    let mut same = Vec::new();
    while tour.step().unwrap().is_some() {
        if tour.may_be(&id) {
            same.push(String::from_utf8(tour.path().to_vec()).unwrap());
        }
    }
    assert_eq!(same, ["d/Name", "d/second"]);
}

#[test]
fn what_cannot_be_looked_into_is_said_and_the_walk_goes_on() {
    let tree = Tree::new(&["a/x", "b/x", "c"]);
    let mut tour = PosixTour::begin(tree.0.path()).unwrap();
    tour.step().unwrap();
    // Whoever is root may look into everything: it is taken away instead.
    std_fs::rename(tree.path("a"), tree.path("moved")).unwrap();
    assert_eq!((tour.step().unwrap(), tour.path()), (Some(Stop::Unreadable), &b"a"[..]));
    assert!(matches!(tour.step().unwrap(), Some(Stop::Entry(_))));
    assert_eq!(tour.path(), b"b");
    assert!(PosixTour::begin(&tree.path("nothing")).is_err());
}
