//! Of a file that changed, what the destination has already does not cross the network.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cpt_relay::documents::{command::Compare, membership};
use cpt_relay::wire::block::block_digest;
use cpt_relay::wire::frame::{Frame, SegmentHeader};
use cpt_relay::{receive, send};

use crate::destination::Siege;
use crate::harness::{Transfer, noise, path};
use crate::selection::Mounted;
use crate::speaker::{Answer, Entry, Speaker, digest};
use crate::users::is_root;

const CHUNK: u64 = 1 << 20;
const BLOCK: u64 = 64 << 10;
/// Of what a sender by hand says.
const PART: u64 = crate::destination::CHUNK;
const SIZE: usize = 20 << 20;

/// A transfer whose destination has what the source had before `change`, but for what `spoil` does to it.
fn changed(change: impl FnOnce(&Path), spoil: impl FnOnce(&Path)) -> Transfer {
    let mut transfer = Transfer::plan(CHUNK, Some(5), |root| {
        fs::write(root.join("log"), noise(1, SIZE)).unwrap();
        fs::write(root.join("other"), noise(2, SIZE)).unwrap();
    });
    let copied = std::process::Command::new("cp").arg("-a").args([transfer.source(), transfer.destination()]).status().unwrap();
    assert!(copied.success());
    change(&transfer.source());
    spoil(&transfer.destination());
    transfer.plan_compared(Compare::SizeTime, CHUNK);
    transfer
}

/// Moves all on one lane.
pub fn run(transfer: &mut Transfer) -> send::Totals {
    let receiver = transfer.receive();
    let sender = transfer.send(None);
    // With a second lane the last chunk may go twice on a busy machine, and the bytes are counted here.
    transfer.members(vec![membership::Path { lanes: 1, ..path("direct", &[], receiver.address) }]);
    let outcome = sender.join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    totals
}

/// Bytes that crossed the network.
pub fn wire(totals: &send::Totals) -> u64 {
    totals.sent_bytes - totals.saved_bytes
}

/// Needs root, who may mount, mkfs.xfs and loop devices.
#[test]
fn on_xfs_what_was_there_takes_no_room_twice() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut transfer = Transfer::plan(CHUNK, Some(5), |root| fs::write(root.join("log"), noise(1, SIZE)).unwrap());
    fs::create_dir(transfer.destination()).unwrap();
    let mounted = Mounted::image("xfs", &folder.path().join("image"), 400 << 20, transfer.destination());
    let Some(mounted) = mounted else { return };
    let log = transfer.destination().join("log");
    fs::copy(transfer.source().join("log"), &log).unwrap();
    OpenOptions::new().append(true).open(transfer.source().join("log")).unwrap().write_all(&noise(3, 300_000)).unwrap();
    transfer.plan_compared(Compare::SizeTime, CHUNK);
    // What was there stays.
    let kept = File::open(&log).unwrap();
    let before = free_bytes(&kept);
    let receiver = transfer.receive();
    let sender = transfer.send(None);
    transfer.members(vec![path("direct", &[], receiver.address)]);
    assert!(matches!(sender.join(), send::Outcome::Delivered(_)));
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    assert_eq!(fs::read(&log).unwrap(), fs::read(transfer.source().join("log")).unwrap());
    let taken = before - free_bytes(&kept);
    assert!(taken < SIZE as u64 / 4, "{taken}");
    drop(mounted);
}

fn free_bytes(file: &File) -> u64 {
    rustix::fs::syncfs(file).unwrap();
    let found = rustix::fs::fstatvfs(file).unwrap();
    found.f_bfree * found.f_frsize
}

fn later(file: &Path) {
    File::open(file).unwrap().set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
}

#[test]
fn of_a_log_that_grew_only_the_end_is_sent() {
    let grown = |root: &Path| OpenOptions::new().append(true).open(root.join("log")).unwrap().write_all(&noise(3, 300_000)).unwrap();
    let mut transfer = changed(grown, |_| {});
    assert_eq!(transfer.plan.bytes, SIZE as u64 + 300_000, "the other file is the same");
    let totals = run(&mut transfer);
    assert!((300_000..300_000 + BLOCK).contains(&wire(&totals)), "{totals:?}");
}

#[test]
fn of_an_edit_in_place_only_its_blocks_are_sent() {
    let edited = |root: &Path| {
        let file = OpenOptions::new().write(true).open(root.join("log")).unwrap();
        for at in [5, 7_000_000, SIZE as u64 - 10] {
            file.write_all_at(b"edited", at).unwrap();
        }
        later(&root.join("log"));
    };
    let totals = run(&mut changed(edited, |_| {}));
    assert_eq!(wire(&totals), 3 * BLOCK, "{totals:?}");
}

#[test]
fn a_log_that_was_rotated_is_found_under_its_earlier_name() {
    let rotated = |root: &Path| {
        fs::rename(root.join("other"), root.join("log.2")).unwrap();
        fs::rename(root.join("log"), root.join("log.1")).unwrap();
        fs::write(root.join("log"), noise(4, 3000)).unwrap();
    };
    let before = |root: &Path| {
        fs::rename(root.join("other"), root.join("log.1")).unwrap();
        // Something of that name is there, else nothing is an earlier version of it.
        fs::write(root.join("log.2"), noise(9, SIZE)).unwrap();
    };
    let totals = run(&mut changed(rotated, before));
    assert_eq!(totals.bytes, 2 * SIZE as u64 + 3000);
    assert!(wire(&totals) <= 3000 + CHUNK, "{totals:?}");
}

#[test]
fn a_file_of_which_nothing_is_left_is_sent_whole() {
    let totals = run(&mut changed(|root| fs::write(root.join("log"), noise(5, SIZE)).unwrap(), |_| {}));
    assert_eq!((wire(&totals), totals.sent_bytes), (SIZE as u64, SIZE as u64));
}

#[test]
fn a_shorter_version_arrives_shorter() {
    let cut = |root: &Path| {
        OpenOptions::new().write(true).open(root.join("log")).unwrap().set_len(SIZE as u64 - 3_000_001).unwrap();
        later(&root.join("log"));
    };
    let totals = run(&mut changed(cut, |_| {}));
    assert!(wire(&totals) < BLOCK, "{totals:?}");
}

/// A digest for each block of these bytes, as a sender offers them.
fn digests(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(PART as usize).flat_map(|block| block_digest(blake3::Hasher::new().update(block))).collect()
}

/// Asks for what is there of a part, and hears the bits.
fn ask(speaker: &mut Speaker, header: SegmentHeader, bytes: &[u8]) -> Vec<u8> {
    speaker.say(&Frame::Segment(header));
    speaker.say(&Frame::Offer { block: BLOCK as u32, digests: digests(bytes) });
    loop {
        match speaker.reader.expect().unwrap() {
            Frame::Has { blocks, .. } => return blocks,
            // On a busy machine the answer takes longer than a receiver is silent.
            Frame::Alive { .. } => {}
            other => panic!("{other:?} is no answer"),
        }
    }
}

#[test]
fn offers_and_copies_that_lie_end_the_stream() {
    let (siege, mut speaker) = Siege::begin(|siege| fs::write(siege.inside("old"), noise(1, PART as usize)).unwrap());
    let bytes = noise(1, PART as usize);
    let part = |entry, name: &[u8], bytes: &[u8]| Entry::part(entry, name, 2 * PART, 0, bytes);
    // Honest: the file is beside the new one, whose name begins alike.
    speaker.begin(0, 1, 1);
    assert_eq!(ask(&mut speaker, part(1, b"older", &bytes).header, &bytes), [1]);
    speaker.say(&Frame::Copy(PART));
    speaker.say(&Frame::Digest(digest(&[part(1, b"older", &bytes)])));
    speaker.answer().is_counted();
    let again = || Speaker::connect(&siege.transfer, &siege.identity, siege.receiver.address);
    // A copy of what was never offered, of what is not there, of more than is, and a second offer.
    let copy = |length| Frame::Copy(length);
    let offer = |block, digests: &[u8]| Frame::Offer { block, digests: digests.to_vec() };
    let other = noise(2, PART as usize);
    for (offered, then) in [
        (None, copy(1)),
        (None, copy(PART)),
        (Some(&other), copy(1)),
        (Some(&bytes), copy(PART + 1)),
        (Some(&bytes), offer(BLOCK as u32, &digests(&bytes))),
    ] {
        let mut speaker = again();
        speaker.begin(1, 1, 1);
        let header = part(2, b"older2", offered.unwrap_or(&bytes)).header;
        match offered {
            Some(offered) => drop(ask(&mut speaker, header, offered)),
            None => speaker.say(&Frame::Segment(header)),
        }
        speaker.say(&then);
        speaker.answer().is_hung_up();
    }
    // Digests that are not one for each block, and blocks of another size: of a byte each they would tell what is there.
    let (all, block) = (digests(&bytes), BLOCK as u32);
    for (block, digests) in [
        (0, &all[..]),
        (1, &all[..]),
        (block, &all[..12]),
        (block / 2, &[all.clone(), all.clone()].concat()[..]),
        (block, &[]),
        (u32::MAX, &all[..]),
    ] {
        let mut speaker = again();
        speaker.begin(2, 1, 1);
        speaker.say(&Frame::Segment(part(3, b"lie", &bytes).header));
        speaker.say(&offer(block, digests));
        speaker.answer().is_hung_up();
    }
    // Amid the data, and of a whole file.
    let mut speaker = again();
    speaker.begin(2, 1, 1);
    speaker.say(&Frame::Segment(part(3, b"late", &bytes).header));
    speaker.data(&bytes[..100]);
    speaker.say(&offer(block, &all));
    speaker.answer().is_hung_up();
    let mut speaker = again();
    speaker.begin(2, 1, 1);
    speaker.say(&Frame::Segment(Entry::file(4, b"whole", &bytes).header));
    speaker.say(&offer(block, &all));
    speaker.answer().is_hung_up();
    siege.end();
}

/// All of a file is taken from what is in its place, or nothing of it: whoever could send a part of it, or name a short one, or one beside
/// it, would learn by the answers what is there.
#[test]
fn a_copy_of_a_whole_file_tells_only_whoever_knows_all_of_it() {
    let bytes = noise(1, 8192);
    let (siege, mut speaker) = Siege::begin(|siege| {
        fs::write(siege.inside("old"), noise(1, 8192)).unwrap();
        fs::write(siege.inside("short"), b"1234").unwrap();
    });
    let entry = || Entry::file(1, b"old", &bytes);
    speaker.begin(0, 1, 1);
    speaker.say(&Frame::Segment(entry().header));
    speaker.say(&Frame::Copy(8192));
    speaker.say(&Frame::Digest(digest(&[entry()])));
    speaker.answer().is_counted();
    let again = || Speaker::connect(&siege.transfer, &siege.identity, siege.receiver.address);
    // Bytes before it, bytes or a hole after it, more than there is, and of a file that can be guessed.
    let hangs_up = |entry: Entry, say: &dyn Fn(&mut Speaker)| {
        let mut speaker = again();
        speaker.begin(1, 1, 1);
        speaker.say(&Frame::Segment(entry.header));
        say(&mut speaker);
        speaker.answer().is_hung_up();
    };
    let known = &bytes[..8191];
    hangs_up(entry(), &|speaker| {
        speaker.data(known);
        speaker.say(&Frame::Copy(1));
    });
    hangs_up(entry(), &|speaker| {
        speaker.say(&Frame::Copy(1));
        speaker.data(known);
    });
    hangs_up(entry(), &|speaker| {
        speaker.say(&Frame::Copy(1));
        speaker.say(&Frame::Hole(8191));
    });
    hangs_up(entry(), &|speaker| speaker.say(&Frame::Copy(8193)));
    hangs_up(Entry::file(2, b"short", b"1234"), &|speaker| speaker.say(&Frame::Copy(4)));
    // Another file beside it has these bytes.
    let mut speaker = again();
    speaker.begin(2, 1, 1);
    let beside = || Entry::file(3, b"older", &bytes);
    speaker.say(&Frame::Segment(beside().header));
    speaker.say(&Frame::Copy(8192));
    speaker.say(&Frame::Digest(digest(&[beside()])));
    assert!(matches!(speaker.answer(), Answer::Refused(..)));
    siege.end();
}

#[test]
fn where_a_file_ends_is_not_for_the_sender_to_choose() {
    let content = noise(1, PART as usize + 10_000);
    let (siege, mut speaker) = Siege::begin(|siege| fs::write(siege.inside("old"), noise(1, PART as usize + 10_000)).unwrap());
    for (number, (length, expected)) in [(1, 0), (4095, 0), (9_999, 0), (10_000, 1)].into_iter().enumerate() {
        let (number, tail) = (number as u64, &content[PART as usize..][..length]);
        let entry = || Entry::part(number, b"old", PART + length as u64, PART, tail);
        speaker.begin(number, 1, 1);
        let blocks = ask(&mut speaker, entry().header, tail);
        assert_eq!(blocks.iter().copied().sum::<u8>(), expected, "{length} bytes");
        speaker.data(tail);
        speaker.say(&Frame::Digest(digest(&[entry()])));
        speaker.answer().is_counted();
    }
    siege.end();
}

#[test]
fn an_earlier_version_that_changes_after_the_answer_fails_the_part_and_not_the_file() {
    let (siege, mut speaker) = Siege::begin(|siege| fs::write(siege.inside("old"), noise(1, PART as usize)).unwrap());
    let bytes = noise(1, PART as usize);
    let old = OpenOptions::new().write(true).open(siege.inside("old")).unwrap();
    let spoils: [&dyn Fn(); 3] =
        [&|| old.write_all_at(b"other", 9).unwrap(), &|| old.set_len(PART - 1).unwrap(), &|| old.set_len(0).unwrap()];
    let entry = || Entry::part(1, b"older", 2 * PART, 0, &bytes);
    for (attempt, spoil) in (1..).zip(spoils) {
        old.set_len(PART).unwrap();
        old.write_all_at(&bytes, 0).unwrap();
        speaker.begin(0, attempt, 1);
        assert_eq!(ask(&mut speaker, entry().header, &bytes), [1]);
        spoil();
        speaker.say(&Frame::Copy(PART));
        speaker.say(&Frame::Digest(digest(&[entry()])));
        let answer = speaker.answer();
        assert!(matches!(answer, Answer::Refused(..)), "attempt {attempt}: {answer:?}");
    }
    // Whole, it counts.
    speaker.begin(0, 4, 1);
    speaker.say(&Frame::Segment(entry().header));
    speaker.data(&bytes);
    speaker.say(&Frame::Digest(digest(&[entry()])));
    speaker.answer().is_counted();
    siege.end();
}

#[test]
fn an_offer_finds_no_file_outside_of_the_destination() {
    let secret = noise(8, PART as usize);
    let (siege, mut speaker) = Siege::begin(|siege| {
        fs::write(siege.transfer.directory.path().join("outside/guess"), &secret).unwrap();
        std::os::unix::fs::symlink("../outside/guess", siege.inside("guess")).unwrap();
        std::os::unix::fs::symlink("../outside", siege.inside("way")).unwrap();
    });
    for (chunk, name) in [&b"guess2"[..], b"guess", b"sub/guess"].into_iter().enumerate() {
        speaker.begin(chunk as u64, 1, 1);
        let entry = Entry::part(chunk as u64, name, 2 * PART, 0, &secret);
        let blocks = ask(&mut speaker, entry.header.clone(), &secret);
        assert!(blocks.iter().all(|byte| *byte == 0), "{blocks:?}");
        speaker.data(&secret);
        speaker.say(&Frame::Digest(digest(&[entry])));
        speaker.answer().is_counted();
    }
    fs::remove_file(siege.transfer.directory.path().join("outside/guess")).unwrap();
    siege.end();
}
