//! A source's tree as it lands where links are followed, by where the kernel says that they lead.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::seen::{Kind, Tree};

/// Links that are not followed stay in it.
pub fn followed(tree: &Tree, root: &Path) -> Tree {
    let mut landing = Tree::new();
    if let Ok(real) = fs::canonicalize(root) {
        add(tree, (root, &real), b"", b"", &[], &mut landing);
    }
    landing
}

/// Adds what `directory` of the tree holds, beneath `at`. `above`: inodes of the directories that lead there.
fn add(tree: &Tree, root: (&Path, &Path), directory: &[u8], at: &[u8], above: &[u64], landing: &mut Tree) {
    let inside = if directory.is_empty() { Vec::new() } else { [directory, b"/"].concat() };
    for (path, found) in tree {
        let Some(name) = path.strip_prefix(&*inside).filter(|name| !name.contains(&b'/')) else { continue };
        let lands = if at.is_empty() { name.to_vec() } else { [at, b"/", name].concat() };
        let real = if found.kind == Kind::Link { target(root, path) } else { Some(path.clone()) };
        let Some((real, meant)) = real.and_then(|real| Some((real.clone(), tree.get(&real)?))) else {
            landing.insert(lands, found.clone());
            continue;
        };
        if meant.kind != Kind::Directory {
            landing.insert(lands, meant.clone());
            continue;
        }
        let is_loop = path.starts_with(&[&*real, b"/"].concat()) || above.contains(&meant.inode);
        if found.kind == Kind::Link && is_loop {
            landing.insert(lands, found.clone());
            continue;
        }
        landing.insert(lands.clone(), meant.clone());
        add(tree, root, &real, &lands, &[above, &[meant.inode]].concat(), landing);
    }
}

/// What a link leads to, below the root; none where that is not beneath it.
fn target((root, real): (&Path, &Path), link: &[u8]) -> Option<Vec<u8>> {
    let target = fs::canonicalize(root.join(OsStr::from_bytes(link))).ok()?;
    Some(target.strip_prefix(real).ok()?.as_os_str().as_bytes().to_vec())
}
