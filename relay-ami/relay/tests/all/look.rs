//! The last look, step by step.

use std::collections::{BTreeSet, HashSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use cpt_ends_posix::PosixDestination;
use cpt_laboratory::directory::Directory;
use cpt_relay::control::{Control as _, ControlError};
use cpt_relay::digest::Proof;
use cpt_relay::documents::plan::PlanListing;
use cpt_relay::documents::survey::LISTING_FOLDER;
use cpt_relay::documents::text::{HexDigest, PlanId, TransferId};
use cpt_relay::ends::{Capabilities, Destination as _, OpenDestination, Placed, Version};
use cpt_relay::entry_table::EntryTable;
use cpt_relay::look::{EqualEntry, Found, Look, Reading};
use cpt_relay::under_way::UnderWay;

const EQUAL: &str = "equal/1/part-00000.ndjson";

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

fn version(path: &Path) -> Version {
    let stat = path.metadata().unwrap();
    Version::of_numbers((stat.ino(), stat.ctime() * 1_000_000_000 + stat.ctime_nsec()))
}

impl Site {
    fn new() -> Self {
        Self::with(|_| "")
    }

    /// With more keys in the line of each name.
    fn with(more: impl Fn(&str) -> &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("destination");
        let place = PosixDestination::new(root.clone());
        let (transfer, plan) = (TransferId::new("t").unwrap(), PlanId::new("0".repeat(32)).unwrap());
        let (capabilities, (destination, _)) = (place.capabilities(), place.open(&transfer, &plan, 1024, Proof::Blake3).unwrap());
        std::fs::create_dir(root.join("d")).unwrap();
        for name in ["d/planned", "kept", "planned"] {
            std::fs::write(root.join(name), name).unwrap();
        }
        let control = Directory::open(folder.path().join("control"), 128, None).unwrap();
        let lines = ["d", "d/planned", "kept", "planned"].map(|name| line(&root, name).replace('}', &format!("{}}}", more(name))));
        let listing = lines.join("\n") + "\n";
        control.write_object("listing/part-00000.ndjson", listing.clone().into_bytes()).unwrap();
        let planned = [&lines[0], &lines[1], &lines[3]].map(String::as_str).join("\n") + "\n";
        control.write_object("changed/1/part-00000.ndjson", planned.into_bytes()).unwrap();
        let version = |name: &str| version(&root.join(name));
        let equal = serde_json::to_vec(&EqualEntry::new(2, version("kept"), None, false)).unwrap();
        control.write_object(EQUAL, equal).unwrap();
        let placed = |name: &str| Placed { digest: *blake3::hash(name.as_bytes()).as_bytes(), version: Some(version(name)) };
        let directory = Placed { digest: *blake3::hash(b"").as_bytes(), version: None };
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

    /// What was found equal was found so by its content.
    fn by_content(self) -> Self {
        let digest = Some(HexDigest::new(blake3::hash(b"kept").to_hex().to_string()).unwrap());
        let equal = serde_json::to_vec(&EqualEntry::new(2, version(&self.root().join("kept")), digest, false)).unwrap();
        self.control.write_object(EQUAL, equal).unwrap();
        self
    }

    /// Puts another file into the place of what was found equal, under the time of that and `later`.
    fn replace_kept(&self, content: &str, later: Duration) {
        let [kept, other] = ["kept", "other"].map(|name| self.root().join(name));
        let time = kept.metadata().unwrap().modified().unwrap() + later;
        std::fs::write(&other, content).unwrap();
        std::fs::File::options().write(true).open(&other).unwrap().set_modified(time).unwrap();
        std::fs::rename(other, kept).unwrap();
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
            proof: Proof::Blake3,
            reading: Reading { disk: &UnderWay::default(), reread: &AtomicU64::default() },
            is_wanted: &|| true,
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
    let second = Duration::from_secs(1);
    for (by_content, content, later, why) in [
        (false, "kept", second, "has another size or modification time"),
        (false, "longer", Duration::ZERO, "has another size or modification time"),
        (true, "KEPT", Duration::ZERO, "has other bytes than those that were found equal"),
        (true, "longer", Duration::ZERO, "has another size or modification time"),
    ] {
        let site = if by_content { Site::new().by_content() } else { Site::new() };
        site.replace_kept(content, later);
        let found = site.look().unwrap();
        assert_eq!((found.lacking.len(), found.lost), (0, 1), "{found:?}");
        assert_eq!(found.named, [format!("kept: {why}")]);
    }
}

/// By the rule of its comparison: a name that is made or removed elsewhere moves a change time, a copy has another inode.
#[test]
fn what_was_found_equal_and_still_is_counts_whatever_its_identity() {
    for by_content in [false, true] {
        let site = || if by_content { Site::new().by_content() } else { Site::new() };
        let linked = site();
        std::fs::hard_link(linked.root().join("kept"), linked.folder.path().join("snapshot")).unwrap();
        let copied = site();
        // Of what is compared by content the time may be any.
        copied.replace_kept("kept", if by_content { Duration::from_secs(9) } else { Duration::ZERO });
        for site in [linked, copied] {
            let found = site.look().unwrap();
            assert_eq!((found.lacking.len(), found.lost, found.renewed.len()), (0, 0, 0), "{found:?}");
        }
    }
}

/// Its further names are made of the file that has the listed time.
#[test]
fn a_file_with_further_names_counts_by_its_time_too_however_it_was_compared() {
    let site = Site::with(|name| if name == "kept" { r#","attributes":{"linked":true}"# } else { "" }).by_content();
    assert_eq!(site.look().unwrap().lost, 0);
    site.replace_kept("kept", Duration::from_secs(9));
    let found = site.look().unwrap();
    assert_eq!(found.named, ["kept: has another size or modification time"], "{found:?}");
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
    let version = version(&site.root().join("kept"));
    let kept = Placed { digest: *blake3::hash(b"kept").as_bytes(), version: Some(version) };
    let last = site.placed.get(2).unwrap();
    site.placed.insert(2, &kept);
    site.placed.insert(3, &last);
    let found = site.look().unwrap();
    assert_eq!((found.lacking.len(), found.lost, found.renewed.len()), (0, 0, 0), "{found:?}");
}
