//! Owners, extended attributes and access control lists from one directory of HDFS to another, and what a mirror moves into the trash.

use std::collections::BTreeMap;

use cpt_ends_hdfs::cluster::Cluster;
use cpt_ends_hdfs::destination::HdfsDestination;
use cpt_ends_hdfs::source::{Asked, HdfsSource};
use cpt_relay::digest::Proof;
use cpt_relay::documents::attributes::{Attributes, Owners, Preserve};
use cpt_relay::documents::entry::{Kind, ListingEntry};
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::{Destination, Listed, OpenDestination, Removal, Source};
use cpt_relay::wire::frame::SegmentHeader;
use hdfs_native::acl::{AclEntry, AclEntryScope};

use super::hadoop::{Directory, USER};
use super::hdfs::Hdfs;

const ALL: Preserve =
    Preserve { hard_links: false, sparse: false, owners: Some(Owners::Names), xattrs: true, acls: true, special_files: false };
const PART: u64 = 4096;

impl Directory {
    fn superuser(&self) -> Cluster {
        let user = self.wait(self.of.client().get_file_info("/")).unwrap().owner;
        Cluster::of(&self.of.configuration, &user, None).unwrap()
    }

    /// Gives an entry a list: `access:user:bob:rw-` and so on.
    fn set_acl(&self, path: &str, entries: &[&str]) {
        let entry = |text: &&str| {
            let [scope, of, name, rights] = text.split(':').collect::<Vec<_>>()[..] else { panic!("{text}") };
            AclEntry::new(of, scope, rights, (!name.is_empty()).then(|| name.to_owned()))
        };
        self.wait(self.of.client().modify_acl_entries(&format!("{}/{path}", self.path), entries.iter().map(entry).collect())).unwrap();
    }

    fn acl(&self, path: &str) -> Vec<AclEntry> {
        self.wait(self.of.client().get_acl_status(&format!("{}/{path}", self.path))).unwrap().entries
    }

    fn set_xattr(&self, path: &str, name: &str, value: &[u8]) {
        self.wait(self.of.client().set_xattr(&format!("{}/{path}", self.path), name, value.to_vec())).unwrap();
    }

    fn xattrs(&self, path: &str) -> BTreeMap<String, Vec<u8>> {
        self.wait(self.of.client().xattrs(&format!("{}/{path}", self.path))).unwrap().into_iter().collect()
    }

    fn owner(&self, path: &str) -> (String, String) {
        let found = self.wait(self.of.client().get_file_info(&format!("{}/{path}", self.path))).unwrap();
        (found.owner, found.group)
    }
}

fn listed(directory: &Directory) -> Vec<ListingEntry> {
    let asked = Asked { path: format!("{}/", directory.path), lands_as: None };
    let source = HdfsSource::new(directory.superuser(), vec![asked]).preserving(&ALL);
    let mut entries = Vec::new();
    source
        .list(&mut |listed| {
            let Listed::Entry(entry) = listed else { panic!("not an entry") };
            entries.push(entry);
            Ok(())
        })
        .unwrap();
    entries
}

fn arrive(to: &dyn OpenDestination, number: u64, entry: &ListingEntry, bytes: &[u8]) {
    let attributes = entry.attributes.clone().unwrap().encode();
    let (path, target, size) = (entry.path.clone().into_bytes(), Vec::new(), entry.size);
    let mode = u16::try_from(entry.mode).unwrap();
    let header = SegmentHeader {
        entry: number,
        kind: entry.kind,
        mode,
        mtime_ns: entry.mtime_ns,
        size,
        offset: 0,
        length: size,
        path,
        target,
        attributes,
    };
    match entry.kind {
        Kind::Directory => to.directory(&header).unwrap(),
        _ if size > PART => {
            let (file, _) = to.large(&header).unwrap();
            for (part, bytes) in (0..).zip(bytes.chunks(usize::try_from(PART).unwrap())) {
                let range = part * PART..part * PART + bytes.len() as u64;
                file.begin_part(part, "direct").unwrap();
                file.write(bytes, range.start).unwrap();
                file.prepare_sync(range.clone()).unwrap();
                file.keep(part, range.clone(), Proof::Blake3.part(range.start).update(bytes).digest()).unwrap();
            }
            file.place().unwrap();
        }
        _ => {
            let mut file = to.small(&header).unwrap();
            file.write(bytes).unwrap();
            file.finish().unwrap();
            file.place(&header.path).unwrap();
        }
    }
}

#[test]
fn owners_attributes_and_lists_arrive_and_what_the_destination_had_instead_goes() {
    let (Some(from), Some(to)) = (Directory::new(), Directory::new()) else { return };
    let large = vec![7; 2 * PART as usize + 700];
    for (path, bytes) in [("d/plain", &b"plain"[..]), ("large", &large), ("small", b"small")] {
        from.write(path, bytes, 5);
    }
    from.set_acl("d", &["default:user:carol:r-x", "access:group:crew:rwx"]);
    from.set_acl("small", &["access:user:bob:rw-"]);
    from.set_acl("large", &["access:user:bob:---"]);
    from.set_xattr("small", "user.note", b"\xff two");
    from.set_xattr("small", "trusted.seal", b"");
    from.set_xattr("d", "user.note", b"of a directory");
    from.wait(from.of.client().set_owner(&format!("{}/small", from.path), Some("bob"), Some("crew"))).unwrap();
    let entries = listed(&from);
    assert_eq!(entries.iter().map(|entry| &*entry.path).collect::<Vec<_>>(), ["d", "d/plain", "large", "small"]);

    let end = HdfsDestination::new(to.superuser(), &to.path).preserving(&ALL);
    let plan = PlanId::new("1".repeat(32)).unwrap();
    let (open, _) = end.open(&TransferId::new("t").unwrap(), &plan, PART, Proof::Blake3).unwrap();
    // What is there already has other attributes, and what arrives in it would inherit a list.
    to.write("d/other", b"", 1);
    to.set_acl("d", &["default:user:dave:rwx", "access:user:dave:rwx"]);
    to.set_xattr("d", "user.old", b"old");
    let content = |path: &str| match path {
        "large" => large.clone(),
        "small" => b"small".to_vec(),
        _ => b"plain".to_vec(),
    };
    // Whatever comes first; then a directory comes last, as in a transfer.
    for (number, entry) in (0..).zip(entries.iter().rev()) {
        arrive(&*open, number, entry, &content(&entry.path));
    }
    for entry in &entries {
        let path = &*entry.path;
        assert_eq!((to.acl(path), to.xattrs(path), to.owner(path)), (from.acl(path), from.xattrs(path), from.owner(path)), "{path}");
        let listed = entry.attributes.as_deref().unwrap();
        assert_eq!(open.view().attributes(path.as_bytes(), listed).unwrap(), *listed, "{path}");
        let seen = open.view().see(path.as_bytes()).unwrap();
        assert_eq!((seen.mode, seen.mtime_ns), (entry.mode, Some(entry.mtime_ns)), "{path}");
    }
    assert!(to.acl("d").iter().any(|entry| entry.scope == AclEntryScope::Default), "the directory's own list is there");
    assert_eq!(open.view().attributes(b"small", &Attributes::default()).unwrap(), Attributes::default(), "nothing else is asked for");
    open.finish(&|| ()).unwrap();
}

#[test]
fn who_gives_files_away_without_being_a_superuser_is_refused_by_the_survey() {
    let Some(to) = Directory::new() else { return };
    let cluster = Cluster::of(&to.of.configuration, USER, None).unwrap();
    let refusal = |preserve: &Preserve| {
        let end = HdfsDestination::new(cluster.clone(), &to.path).preserving(preserve).tried_by("t-here".to_owned());
        end.room().problem.map_or_else(String::new, |problem| problem.reason)
    };
    assert!(refusal(&ALL).contains("cannot change owner"), "{}", refusal(&ALL));
    assert_eq!(refusal(&Preserve { owners: None, ..ALL }), "");
    assert_eq!(to.names(""), Vec::<String>::new(), "nothing stays of the trials");
}

#[test]
fn what_a_mirror_removes_goes_into_the_trash_where_that_is_asked_for() {
    let Some(site) = Hdfs::new() else { return };
    let directory = &site.directory;
    let home = format!("/user/{USER}");
    directory.wait(async {
        directory.of.client().mkdirs("/user", 0o755, true).await.unwrap();
        directory.of.client().set_permission("/user", 0o755).await.unwrap();
        directory.of.client().mkdirs(&home, 0o700, true).await.unwrap();
        directory.of.client().set_owner(&home, Some(USER), None).await.unwrap();
    });
    ["d/x", "y"].iter().for_each(|path| directory.write(path, path.as_bytes(), 5));
    directory.wait(directory.of.client().set_owner(&format!("{}/d", directory.path), Some(USER), None)).unwrap();
    let end = site.end.clone().into_trash(true);
    assert!(end.room().problem.is_none());
    let of = end.tour().unwrap().directory().clone();
    let mut remover = end.remover(&of).unwrap();
    for path in ["d/x", "d", "y"] {
        assert_eq!(remover.remove(path.as_bytes(), &|_| true).unwrap(), Removal::Removed, "{path}");
    }
    assert_eq!(directory.names(""), Vec::<String>::new());
    let current = format!("{home}/.Trash/Current{}", directory.path);
    for path in ["d/x", "y"] {
        let kept = directory.wait(directory.of.client().get_file_info(&format!("{current}/{path}"))).unwrap();
        assert_eq!(kept.length, path.len());
    }
}
