//! What data nodes have stored of files in their places, compared with what was sent.

use std::io::Write as _;

use cpt_relay::digest::{Digest, Proof};
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::{Destination, InPlace, OpenDestination, Placed};
use cpt_relay::wire::frame::SegmentHeader;

use cpt_relay::send;

use super::hdfs::Hdfs;
use super::whole::{PART as WHOLE_PART, moved, source};
use crate::harness::Transfer;

const PART: u64 = 4096;
const SIZE: u64 = 2 * PART + 700;
const SMALL: usize = 1500;

fn open(end: &dyn Destination) -> Box<dyn OpenDestination> {
    let plan = PlanId::new("1".repeat(32)).unwrap();
    end.open(&TransferId::new("t").unwrap(), &plan, PART, Proof::Blake3).unwrap().0
}

fn header(entry: u64, path: &str, size: u64, mode: u16) -> SegmentHeader {
    let (kind, path, target, attributes) = (Kind::File, path.as_bytes().to_vec(), Vec::new(), Vec::new());
    SegmentHeader { entry, kind, mode, mtime_ns: 5_000_000, size, offset: 0, length: size, path, target, attributes }
}

/// Bytes that no other file or part has, so each entry of these tests has a number of its own: blocks are found by what they hold.
fn content(of: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    blake3::Hasher::new().update(&of.to_be_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

fn arrive(to: &dyn OpenDestination, entry: u64, path: &str) -> Digest {
    let bytes = content(entry, SMALL);
    let mut file = to.small(&header(entry, path, SMALL as u64, 0o444)).unwrap();
    file.write(&bytes).unwrap();
    file.finish().unwrap();
    let placed = Placed { digest: *blake3::hash(&bytes).as_bytes(), version: file.place(path.as_bytes()).unwrap() };
    to.note(entry, &placed).unwrap();
    placed.digest
}

fn arrive_in_parts(to: &dyn OpenDestination, entry: u64, path: &str) -> Digest {
    let bytes = content(entry, usize::try_from(SIZE).unwrap());
    let (file, _) = to.large(&header(entry, path, SIZE, 0o644)).unwrap();
    for (part, bytes) in (0..).zip(bytes.chunks(usize::try_from(PART).unwrap())) {
        let at = part * PART;
        let range = at..at + bytes.len() as u64;
        file.begin_part(part, "direct").unwrap();
        file.write(bytes, at).unwrap();
        file.prepare_sync(range.clone()).unwrap();
        file.keep(part, range, Proof::Blake3.part(at).update(bytes).digest()).unwrap();
    }
    let placed = Placed { digest: *blake3::hash(&bytes).as_bytes(), version: file.place().unwrap() };
    to.note(entry, &placed).unwrap();
    placed.digest
}

fn compared(to: &dyn OpenDestination, files: &[(u64, &str, Digest)]) -> Vec<Result<(), String>> {
    let files: Vec<InPlace<'_>> =
        files.iter().map(|(entry, path, digest)| InPlace { entry: *entry, path: path.as_bytes(), digest: *digest }).collect();
    assert!(to.tells_stored());
    to.compare_stored(&files, Proof::Blake3, &|_| ())
}

#[test]
fn bytes_that_change_where_they_lie_are_found_though_the_checksums_beside_them_fit() {
    let Some(site) = Hdfs::new() else { return };
    let to = open(&site.end);
    let files =
        [(3, "large", arrive_in_parts(&*to, 3, "large")), (4, "d/small", arrive(&*to, 4, "d/small")), (5, "e", arrive(&*to, 5, "e"))];
    assert_eq!(compared(&*to, &files), [Ok(()), Ok(()), Ok(())]);
    // The second of the three blocks of one, and all of the other.
    let second = &content(3, usize::try_from(SIZE).unwrap())[usize::try_from(PART).unwrap()..][..usize::try_from(PART).unwrap()];
    assert_eq!(site.directory.of.spoil(second, true), 2, "each data node has one");
    assert_eq!(site.directory.of.spoil(&content(4, SMALL), true), 2);
    let is_named = |result: &Result<(), String>| result.as_ref().is_err_and(|why| why.contains("bytes stored whose CRC-32C is"));
    let found = compared(&*to, &files);
    assert!(is_named(&found[0]) && is_named(&found[1]) && found[2].is_ok(), "{found:?}");
    // So does one that comes after, by what was noted.
    to.sync_notes().unwrap();
    drop(to);
    let to = open(&site.end);
    let found = compared(&*to, &files);
    assert!(is_named(&found[0]) && is_named(&found[1]) && found[2].is_ok(), "{found:?}");
    to.finish(&|| ()).unwrap();
}

#[test]
fn what_its_owner_may_not_write_has_its_mode_and_time_all_the_same() {
    let Some(site) = Hdfs::new() else { return };
    let to = open(&site.end);
    arrive(&*to, 21, "d/small");
    let directory = SegmentHeader { kind: Kind::Directory, size: 0, length: 0, ..header(22, "d", 0, 0o555) };
    // A second time it is there, and closed.
    [(); 2].iter().for_each(|()| to.directory(&directory).unwrap());
    let seen = [&b"d"[..], b"d/small"].map(|path| to.view().see(path).unwrap()).map(|seen| (seen.mode, seen.mtime_ns));
    assert_eq!(seen, [(0o555, Some(5_000_000)), (0o444, Some(5_000_000))]);
    to.finish(&|| ()).unwrap();
}

#[test]
fn a_file_of_which_no_checksum_is_known_is_read_back() {
    let Some(site) = Hdfs::new() else { return };
    let to = open(&site.end);
    let files = [(14, "same", arrive(&*to, 14, "same")), (15, "other", arrive(&*to, 15, "other")), (16, "torn", arrive(&*to, 16, "torn"))];
    // As if an earlier version of this program had noted them.
    files.iter().for_each(|(entry, ..)| to.forget(*entry).unwrap());
    site.directory.of.spoil(&content(15, SMALL), true);
    site.directory.of.spoil(&content(16, SMALL), false);
    let found = compared(&*to, &files);
    assert_eq!(found[..2], [Ok(()), Err("is stored with other bytes than those that were sent".to_owned())]);
    assert!(found[2].is_err(), "no data node gives bytes that its own checksums do not fit");
    to.finish(&|| ()).unwrap();
}

#[test]
fn a_file_with_checksums_of_another_kind_is_read_back() {
    let Some(site) = Hdfs::new() else { return };
    let to = open(&site.end);
    let mut local = tempfile::NamedTempFile::new().unwrap();
    local.write_all(&content(17, SMALL)).unwrap();
    let files = ["CRC32", "NULL"].map(|kind| {
        let digest = arrive(&*to, 17, kind);
        let path = format!("{}/{kind}", site.directory.path);
        let kind = format!("-Ddfs.checksum.type={kind}");
        site.directory.of.hdfs(&["dfs", &kind, "-put", "-f", local.path().to_str().unwrap(), &path]);
        digest
    });
    let files = [(17, "CRC32", files[0]), (17, "NULL", files[1])];
    assert_eq!(compared(&*to, &files), [Ok(()), Ok(())]);
    let other = files.map(|(entry, path, _)| (entry, path, [9; 32]));
    assert!(compared(&*to, &other).iter().all(Result::is_err), "they were read");
    to.finish(&|| ()).unwrap();
}

#[test]
fn a_whole_transfer_into_hdfs_succeeds_once_what_is_stored_was_compared() {
    let Some(site) = Hdfs::new() else { return };
    let from = source();
    from.remove("link");
    let mut transfer = Transfer::of(WHOLE_PART, Some(1), from).to(site.end.clone());
    let (outcome, skipped) = moved(&mut transfer);
    assert!(matches!(&outcome, send::Outcome::Delivered(totals) if totals.repaired_chunks == 0) && skipped == 0, "{outcome:?}");
    assert_eq!(site.directory.names(""), ["d", "small"], "nothing else is left");
}
