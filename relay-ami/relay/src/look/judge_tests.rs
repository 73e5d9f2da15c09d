#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use super::*;
use crate::ends::{Heard, Version};
use crate::under_way::UnderWay;

/// A destination whose server answers so many looks with an error.
struct Flaky(u32, Errno);

fn seen(version: i64) -> Seen {
    let version = Version::of_numbers((1, version));
    Seen { kind: Some(Kind::File), size: 1, mode: 0o644, mtime_ns: Some(1), version, target: None }
}

impl View for Flaky {
    fn see(&mut self, _path: &[u8]) -> io::Result<Seen> {
        if self.0 > 0 {
            self.0 -= 1;
            return Err(self.1.into());
        }
        Ok(seen(1))
    }

    fn digest(&mut self, _path: &[u8], _of: &Version, _heard: Heard<'_>) -> io::Result<Digest> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[test]
fn an_error_of_a_moment_is_looked_at_again_and_one_that_stays_is_told() {
    let mut flaky = Flaky(2, Errno::STALE);
    assert!(see(&mut flaky, b"f", &UnderWay::default().enter()).is_ok());
    let mut absent = Flaky(1, Errno::NOENT);
    assert!(see(&mut absent, b"f", &UnderWay::default().enter()).is_err(), "it is not there, and not asked for again");
}

/// What is at the destination, with the digest of its bytes; how often one was read is counted.
struct Files<'a>(BTreeMap<&'a [u8], (Seen, Digest)>, &'a AtomicU64);

impl View for Files<'_> {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen> {
        self.0.get(path).map(|(seen, _)| seen.clone()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn digest(&mut self, path: &[u8], _of: &Version, heard: Heard<'_>) -> io::Result<Digest> {
        heard(1);
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.get(path).map(|(_, digest)| *digest).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Keeps everything but what needs privileges.
const CAPABILITIES: Capabilities = Capabilities {
    parts: true,
    directories: true,
    modes: true,
    time_step_ns: Some(1),
    links: true,
    hard_links: true,
    special_files: true,
    attributes: false,
    holes: true,
};

/// A listed file `f` of one byte.
const FILE: &str = r#"{"path":"f","kind":"file","size":1,"mode":420,"mtimeNs":1}"#;
const LATER: &str = r#"{"path":"f","kind":"file","size":1,"mode":420,"mtimeNs":2}"#;
const DIRECTORY: &str = r#"{"path":"d","kind":"directory","size":0,"mode":493,"mtimeNs":1}"#;

/// What is known before the look.
struct Known {
    placed: Vec<(u64, Placed)>,
    /// The sender's digests.
    sent: Vec<(u64, Digest)>,
    proof: Proof,
    capabilities: Capabilities,
}

const NOTHING: Known = Known { placed: Vec::new(), sent: Vec::new(), proof: Proof::Blake3, capabilities: CAPABILITIES };

fn at(version: i64) -> Version {
    Version::of_numbers((1, version))
}

/// What a line comes to where `f` is there in this version with bytes of this digest; and how often those were read.
fn judged(known: &Known, (version, digest): (i64, u8), line: &str, evidence: Evidence) -> (Result<Verdict, String>, u64) {
    let (disk, reread, reads) = (UnderWay::default(), AtomicU64::default(), AtomicU64::default());
    let placed = known.placed.iter().copied().collect();
    let judging = Judging {
        capabilities: known.capabilities,
        placed: &placed,
        proof: known.proof,
        reading: Reading { disk: &disk, reread: &reread },
        ask: &|| Ok(known.sent.iter().copied().collect()),
        sent: OnceLock::new(),
    };
    let files = BTreeMap::from([(&b"f"[..], (seen(version), [digest; 32]))]);
    let verdict = Judge::new(&judging, Box::new(Files(files, &reads))).judge(line.as_bytes(), evidence);
    assert_eq!(reread.load(Ordering::Relaxed), reads.load(Ordering::Relaxed), "each read is told of");
    (verdict, reads.into_inner())
}

fn why(judged: (Result<Verdict, String>, u64)) -> String {
    judged.0.map(|_| ()).unwrap_err()
}

#[test]
fn a_planned_file_that_is_the_one_which_was_placed_is_not_read() {
    let known = Known { placed: vec![(0, Placed { digest: [7; 32], version: Some(at(1)) })], ..NOTHING };
    assert!(matches!(judged(&known, (1, 9), FILE, Evidence::Planned(0)), (Ok(Verdict::AsPlaced), 0)));
}

#[test]
fn a_planned_file_of_another_version_counts_if_its_bytes_are_those_that_were_sent() {
    let known = Known { placed: vec![(0, Placed { digest: [7; 32], version: Some(at(1)) })], ..NOTHING };
    let renewed = Placed { digest: [7; 32], version: Some(at(2)) };
    assert!(matches!(judged(&known, (2, 7), FILE, Evidence::Planned(0)), (Ok(Verdict::Renewed(placed)), 1) if placed == renewed));
    assert!(why(judged(&known, (2, 8), FILE, Evidence::Planned(0))).contains("other bytes than those that were sent"));
    // This process does not know it, and the sender does.
    let known = Known { sent: vec![(0, [7; 32])], ..NOTHING };
    assert!(matches!(judged(&known, (2, 7), FILE, Evidence::Planned(0)), (Ok(Verdict::Renewed(placed)), 1) if placed == renewed));
    assert_eq!(why(judged(&NOTHING, (2, 7), FILE, Evidence::Planned(0))), "did not come");
}

#[test]
fn where_digests_do_not_tell_content_a_file_of_another_version_is_lacking_unread() {
    let known = Known { placed: vec![(0, Placed { digest: [7; 32], version: Some(at(1)) })], proof: Proof::Crc64, ..NOTHING };
    let (verdict, reads) = judged(&known, (2, 7), FILE, Evidence::Planned(0));
    assert!(verdict.is_err_and(|why| why.contains("does not tell content")) && reads == 0);
}

#[test]
fn what_was_found_equal_by_its_content_is_read_again_only_where_its_version_is_another() {
    let equal = Evidence::Equal(at(1), Some([7; 32]));
    assert!(matches!(judged(&NOTHING, (1, 9), LATER, equal), (Ok(Verdict::AsPlaced), 0)), "its time did not count");
    assert!(matches!(judged(&NOTHING, (2, 7), LATER, equal), (Ok(Verdict::AsPlaced), 1)));
    assert!(why(judged(&NOTHING, (2, 8), LATER, equal)).contains("other bytes than those that were found equal"));
    assert!(matches!(judged(&NOTHING, (2, 9), FILE, Evidence::Equal(at(1), None)), (Ok(Verdict::AsPlaced), 0)), "equal by size and time");
    assert!(why(judged(&NOTHING, (1, 9), LATER, Evidence::Equal(at(1), None))).contains("modification time"));
}

#[test]
fn what_was_left_alone_may_be_anything_and_what_nobody_knows_is_lacking() {
    assert!(matches!(judged(&NOTHING, (1, 9), LATER, Evidence::LeftAlone), (Ok(Verdict::AsPlaced), 0)));
    assert!(why(judged(&NOTHING, (1, 9), FILE, Evidence::Neither)).contains("neither planned nor found equal"));
    assert!(judged(&NOTHING, (1, 9), DIRECTORY, Evidence::Planned(0)).0.is_err(), "it is not there");
}

#[test]
fn a_destination_without_directories_has_each_that_is_listed() {
    let known = Known { capabilities: Capabilities { directories: false, ..CAPABILITIES }, ..NOTHING };
    assert!(matches!(judged(&known, (1, 9), DIRECTORY, Evidence::Planned(0)), (Ok(Verdict::AsPlaced), 0)));
}
