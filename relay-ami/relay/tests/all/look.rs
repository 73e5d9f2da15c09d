//! The last look, step by step.

use std::collections::{BTreeSet, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cpt_laboratory::directory::Directory;
use cpt_relay::control::{Control as _, ControlError};
use cpt_relay::documents::plan::PlanListing;
use cpt_relay::documents::survey::LISTING_FOLDER;
use cpt_relay::documents::text::{HexDigest, PlanId, TransferId};
use cpt_relay::ends::posix::PosixDestination;
use cpt_relay::ends::{Capabilities, Destination as _, Identity, OpenDestination, Placed};
use cpt_relay::entry_table::EntryTable;
use cpt_relay::receive::look::{EqualEntry, Found, Look};
use cpt_relay::under_way::UnderWay;

/// A destination with what was planned of it in its place, `kept` found equal, and the listing of both.
struct Site {
    folder: tempfile::TempDir,
    control: Directory,
    destination: Box<dyn OpenDestination>,
    capabilities: Capabilities,
    listing: PlanListing,
    placed: EntryTable<Placed>,
}

fn line(root: &Path, name: &str) -> String {
    let stat = root.join(name).symlink_metadata().unwrap();
    let (kind, size) = if stat.is_dir() { ("directory", 0) } else { ("file", stat.size()) };
    let (mode, mtime) = (stat.mode() & 0o7777, stat.mtime() * 1_000_000_000 + stat.mtime_nsec());
    format!(
        r#"{{"path":"{name}","source":"/s/{name}","kind":"{kind}","size":{size},"mode":{mode},"mtimeNs":{mtime},"inode":{}}}"#,
        stat.ino()
    )
}

fn identity(path: &Path) -> Identity {
    let stat = path.metadata().unwrap();
    Identity { inode: stat.ino(), changed_ns: stat.ctime() * 1_000_000_000 + stat.ctime_nsec() }
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("destination");
        let place = PosixDestination(root.clone());
        let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
        let (capabilities, (destination, _)) = (place.capabilities(), place.open(&transfer, &plan, 1024).unwrap());
        std::fs::create_dir(root.join("d")).unwrap();
        for name in ["d/planned", "kept", "planned"] {
            std::fs::write(root.join(name), name).unwrap();
        }
        let control = Directory::open(folder.path().join("control"), 128, None).unwrap();
        let lines = ["d", "d/planned", "kept", "planned"].map(|name| line(&root, name));
        let listing = lines.join("\n") + "\n";
        control.write_object("listing/part-00000.ndjson", listing.clone().into_bytes()).unwrap();
        let planned = [&lines[0], &lines[1], &lines[3]].map(String::as_str).join("\n") + "\n";
        control.write_object("changed/1/part-00000.ndjson", planned.into_bytes()).unwrap();
        let identity = |name: &str| identity(&root.join(name));
        let Identity { inode, changed_ns } = identity("kept");
        let equal = serde_json::to_vec(&EqualEntry { entry: 2, inode, changed_ns }).unwrap();
        control.write_object("equal/1/part-00000.ndjson", equal).unwrap();
        let placed = |name: &str| Placed { digest: *blake3::hash(name.as_bytes()).as_bytes(), identity: Some(identity(name)) };
        let directory = Placed { digest: *blake3::hash(b"").as_bytes(), identity: None };
        let listing = PlanListing {
            parts: 1,
            digest: HexDigest::new(blake3::hash(listing.as_bytes()).to_hex().to_string()).unwrap(),
            planned_folder: "changed/1/".to_owned(),
            planned_parts: 1,
            equal_folder: Some("equal/1/".to_owned()),
        };
        let placed = [(0, directory), (1, placed("d/planned")), (2, placed("planned"))].into_iter().collect();
        Self { folder, control, destination, capabilities, listing, placed }
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("destination")
    }

    fn look(&self) -> Result<Found, ControlError> {
        let Self { control, destination, capabilities, listing, placed, .. } = self;
        let (destination, capabilities) = (&**destination, *capabilities);
        let sent = || Ok(std::iter::once((2, *blake3::hash(b"planned").as_bytes())).collect());
        Look {
            control,
            prefix: "",
            listing,
            destination,
            capabilities,
            placed,
            skipped: &HashSet::new(),
            sent: &sent,
            disk: &UnderWay::default(),
        }
        .run()
    }
}

#[test]
fn what_is_as_it_was_placed_or_found_equal_is_there() {
    let found = Site::new().look().unwrap();
    assert_eq!((found.lacking.len(), found.lost, found.renewed.len()), (0, 0, 0), "{found:?}");
}

#[test]
fn what_was_found_equal_and_replaced_since_is_named() {
    let site = Site::new();
    let time = site.root().join("kept").metadata().unwrap().modified().unwrap();
    std::fs::write(site.root().join("other"), "KEPT").unwrap();
    std::fs::File::options().write(true).open(site.root().join("other")).unwrap().set_modified(time).unwrap();
    std::fs::rename(site.root().join("other"), site.root().join("kept")).unwrap();
    let found = site.look().unwrap();
    assert_eq!((found.lacking.len(), found.lost), (0, 1), "{found:?}");
    assert!(found.named[0].starts_with("kept: was replaced"), "{found:?}");
}

#[test]
fn a_directory_that_is_gone_takes_its_files_with_it() {
    let site = Site::new();
    std::fs::remove_dir_all(site.root().join("d")).unwrap();
    let found = site.look().unwrap();
    assert_eq!(found.lacking, BTreeSet::from([0, 1]), "{found:?}");
}

#[test]
fn a_file_of_which_nothing_is_known_counts_by_the_digest_that_the_sender_has() {
    let site = Site::new();
    site.placed.remove(2);
    let found = site.look().unwrap();
    assert_eq!((found.lacking.len(), found.renewed.len()), (0, 1), "{found:?}");
    site.placed.remove(1);
    assert_eq!(site.look().unwrap().lacking, BTreeSet::from([1]), "the sender has no digest of it either");
}

#[test]
fn a_listing_that_is_another_one_or_is_gone_is_no_success() {
    let site = Site::new();
    let text = site.control.read_object("listing/part-00000.ndjson", None).unwrap();
    let cut = text.iter().position(|byte| *byte == b'\n').unwrap();
    site.control.write_object("listing/part-00000.ndjson", text[cut + 1..].to_vec()).unwrap();
    assert!(site.look().unwrap_err().to_string().contains("not those that were planned"));
    std::fs::remove_file(site.folder.path().join("control/listing/part-00000.ndjson")).unwrap();
    assert!(site.look().is_err());
}

#[test]
fn what_was_planned_whole_needs_no_comparison() {
    let mut site = Site::new();
    site.listing.planned_folder = LISTING_FOLDER.to_owned();
    let identity = identity(&site.root().join("kept"));
    let kept = Placed { digest: *blake3::hash(b"kept").as_bytes(), identity: Some(identity) };
    let last = site.placed.get(2).unwrap();
    site.placed.insert(2, &kept);
    site.placed.insert(3, &last);
    let found = site.look().unwrap();
    assert_eq!((found.lacking.len(), found.lost, found.renewed.len()), (0, 0, 0), "{found:?}");
}
