//! What every kind of destination must do for a mirror.

use cpt_relay::digest::Proof;
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::extras::Stayed;
use cpt_relay::documents::text::{DirectoryId, PlanId, TransferId};
use cpt_relay::ends::{Found, Removal, Stop};
use cpt_relay::wire::frame::SegmentHeader;

use super::kinds;
use super::site::Site;

macro_rules! behaviours {
    ($($kind:ident: $make:expr),+ $(,)?) => {
        $(
            kinds! { $kind: $make =>
                a_walk_gives_all_there_is_in_order_and_does_not_go_where_it_is_not_sent,
                only_what_is_as_it_was_meant_is_removed_and_directories_when_they_are_empty,
            }
        )+
    };
}

behaviours! {
    posix: crate::port::site::Posix::new(),
    memory: crate::port::site::memory(true),
    bucket_of_s3: crate::port::s3::S3::new(),
}

kinds! { hdfs: if crate::port::hdfs::Hdfs::new() =>
    a_walk_gives_all_there_is_in_order_and_does_not_go_where_it_is_not_sent,
    only_what_is_as_it_was_meant_is_removed_and_directories_when_they_are_empty,
}

/// Directories `d` and `d/e`, and files in them.
fn fill(site: &dyn Site) {
    let plan = PlanId::new("1".repeat(32)).unwrap();
    let (to, _) = site.destination().open(&TransferId::new("t").unwrap(), &plan, 1, Proof::Blake3).unwrap();
    for path in ["d", "d/e"] {
        let (path, kind) = (path.as_bytes().to_vec(), Kind::Directory);
        let (target, attributes) = (Vec::new(), Vec::new());
        let header = SegmentHeader { entry: 0, kind, mode: 0o750, mtime_ns: 0, size: 0, offset: 0, length: 0, path, target, attributes };
        to.directory(&header).unwrap();
    }
    to.finish(&|| ()).unwrap();
    for path in ["d/e/x", "d/y", "d!", "a"] {
        site.put(path, b"12345");
    }
}

fn walked(site: &dyn Site, passed: &[u8]) -> Vec<(String, Found)> {
    let mut tour = site.destination().tour().unwrap();
    let mut given = Vec::new();
    while let Some(Stop::Entry(found)) = tour.step().unwrap() {
        given.push((String::from_utf8(tour.path().to_vec()).unwrap(), found));
        if tour.path() == passed {
            tour.pass();
        }
    }
    given
}

fn a_walk_gives_all_there_is_in_order_and_does_not_go_where_it_is_not_sent(site: &dyn Site) {
    fill(site);
    let all = walked(site, b"");
    assert_eq!(all.iter().map(|(path, _)| &**path).collect::<Vec<_>>(), ["a", "d", "d/e", "d/e/x", "d/y", "d!"]);
    assert_eq!((all[0].1.kind, all[0].1.size, all[1].1.kind, all[1].1.size), (Kind::File, 5, Kind::Directory, 0));
    assert_eq!(walked(site, b"d/e").len(), 5);
    assert_eq!(walked(site, b"d").len(), 3);
}

fn only_what_is_as_it_was_meant_is_removed_and_directories_when_they_are_empty(site: &dyn Site) {
    fill(site);
    let directory = site.destination().tour().unwrap().directory().clone();
    assert!(site.destination().remover(&DirectoryId::new("9:999999999").unwrap()).is_err());
    let mut remover = site.destination().remover(&directory).unwrap();
    remover.check_there().unwrap();
    let mut remove = |path: &str, meant: bool| remover.remove(path.as_bytes(), &|_| meant).unwrap();
    assert_eq!(remove("d/e/x", false), Removal::Stays(Stayed::Changed, None));
    assert_eq!(remove("d/e", true), Removal::Stays(Stayed::NotEmpty, None));
    for path in ["d/e/x", "d/e"] {
        // Where there are no directories, one goes with the last that it holds.
        let gone = path == "d/e" && !site.destination().capabilities().directories;
        assert_eq!(remove(path, true), if gone { Removal::Gone } else { Removal::Removed }, "{path}");
        assert_eq!(remove(path, true), Removal::Gone, "{path}");
    }
    remover.sync().unwrap();
    assert_eq!(walked(site, b"").iter().map(|(path, _)| &**path).collect::<Vec<_>>(), ["a", "d", "d/y", "d!"]);
}
