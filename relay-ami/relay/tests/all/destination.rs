//! The destination is a tree: a hostile sender and a hostile neighbour on the disk get nothing beyond it.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::PathBuf;

use cpt_relay::documents::event::FailureReason::{ChecksumMismatch, DestinationError, StreamLost};
use cpt_relay::receive;
use cpt_relay::secure::keys::Identity;
use cpt_relay::wire::frame::Frame;

use crate::harness::{Running, Transfer, noise};
use crate::speaker::{Answer, Entry, Speaker, digest, introduce};

pub const CHUNK: u64 = 64 << 10;
const SECRET: &[u8] = b"not to be touched";

/// A receiver, its hostile sender, and a folder beside the destination that nothing may change.
pub struct Siege {
    pub transfer: Transfer,
    pub receiver: Running<receive::Outcome>,
    pub identity: Identity,
}

impl Siege {
    pub fn begin(prepare: impl FnOnce(&Self)) -> (Self, Speaker) {
        let mut transfer = Transfer::plan(CHUNK, None, |_| {});
        transfer.plan.bytes = 1 << 20;
        let identity = introduce(&transfer);
        fs::create_dir(transfer.destination()).unwrap();
        fs::create_dir(transfer.directory.path().join("outside")).unwrap();
        fs::write(transfer.directory.path().join("outside/secret"), SECRET).unwrap();
        // The receiver sweeps its partial files when it starts; what is planted then must do no harm either.
        let receiver = transfer.receive();
        let siege = Self { transfer, receiver, identity };
        let speaker = Speaker::connect(&siege.transfer, &siege.identity, siege.receiver.address);
        prepare(&siege);
        (siege, speaker)
    }

    pub fn inside(&self, name: &str) -> PathBuf {
        self.transfer.destination().join(name)
    }

    fn partial(&self, name: &str) -> PathBuf {
        self.transfer.destination().join(".cpt-partial-t-1").join(name)
    }

    fn outside(&self) -> PathBuf {
        self.transfer.directory.path().join("outside")
    }

    /// Nothing outside has come, gone or changed.
    pub fn end(self) {
        let outside: Vec<_> = fs::read_dir(self.outside()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(outside, ["secret"]);
        assert_eq!(fs::read(self.outside().join("secret")).unwrap(), SECRET);
        self.receiver.stop.request();
        self.receiver.join();
    }
}

#[test]
fn no_path_of_a_frame_leaves_the_destination() {
    let (siege, mut speaker) = Siege::begin(|_| {});
    let absolute = siege.outside().join("x").into_os_string().into_encoded_bytes();
    let paths: [&[u8]; 10] =
        [&absolute, b"../outside/x", b"a/../../outside/x", b"..", b".", b"", b"a//x", b"a/", b"x\0y", b".cpt-partial-other/0"];
    for (number, path) in paths.into_iter().enumerate() {
        let number = number as u64;
        speaker.chunk(number, 1, &[Entry::file(number, path, b"x")]).is_left_out();
        speaker.chunk(number, 2, &[Entry::directory(number, path)]).is_left_out();
        speaker.chunk(number, 3, &[Entry::link(number, path, b"/")]).is_left_out();
        let part = Entry::part(100 + number, path, 2 * CHUNK, 0, &noise(1, CHUNK as usize));
        speaker.chunk(number, 4, &[part]).is_left_out();
    }
    speaker.chunk(99, 1, &[Entry::file(99, b"a/good", b"x")]).is_counted();
    siege.end();
}

#[test]
fn a_link_that_was_sent_is_no_way_out_for_what_is_sent_below_it() {
    let (siege, mut speaker) = Siege::begin(|_| {});
    let target = siege.outside().into_os_string().into_encoded_bytes();
    speaker.chunk(0, 1, &[Entry::link(0, b"way", &target)]).is_counted();
    speaker.chunk(1, 1, &[Entry::file(1, b"way/x", b"x")]).is_left_out();
    speaker.chunk(2, 1, &[Entry::directory(2, b"way/x")]).is_left_out();
    speaker.chunk(3, 1, &[Entry::directory(3, b"way")]).is_left_out();
    // In one chunk the link is placed just before.
    let both = [Entry::link(4, b"other", &target), Entry::file(5, b"other/x", b"x")];
    speaker.chunk(4, 1, &both).is_left_out();
    let size = 2 * CHUNK;
    let half = noise(2, CHUNK as usize);
    speaker.chunk(5, 1, &[Entry::part(6, b"way/large", size, 0, &half)]).is_left_out();
    speaker.chunk(6, 1, &[Entry::part(6, b"way/large", size, CHUNK, &half)]).is_counted();
    siege.end();
}

#[test]
fn a_link_in_the_place_of_a_file_is_replaced_and_not_written_through() {
    let (siege, mut speaker) = Siege::begin(|siege| symlink(siege.outside().join("secret"), siege.inside("file")).unwrap());
    speaker.chunk(0, 1, &[Entry::file(0, b"file", b"new")]).is_counted();
    assert!(siege.inside("file").symlink_metadata().unwrap().is_file());
    siege.end();
}

#[test]
fn a_directory_that_becomes_a_link_under_way_is_not_followed() {
    let (siege, mut speaker) = Siege::begin(|_| {});
    speaker.chunk(0, 1, &[Entry::file(0, b"sub/a", b"a")]).is_counted();
    fs::rename(siege.inside("sub"), siege.transfer.directory.path().join("moved")).unwrap();
    symlink(siege.outside(), siege.inside("sub")).unwrap();
    speaker.chunk(1, 1, &[Entry::file(1, b"sub/b", b"b")]).is_left_out();
    let moved: Vec<_> =
        fs::read_dir(siege.transfer.directory.path().join("moved")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(moved, ["a"], "a directory that was moved away got what came after");
    siege.end();
}

#[test]
fn a_root_that_becomes_a_link_under_way_is_not_followed() {
    let (siege, mut speaker) = Siege::begin(|_| {});
    speaker.begin(0, 1, 1);
    let entry = Entry::file(0, b"file", &noise(3, 50_000));
    speaker.say(&Frame::Segment(entry.header.clone()));
    speaker.data(&entry.bytes[..20_000]);
    fs::rename(siege.transfer.destination(), siege.transfer.directory.path().join("moved")).unwrap();
    symlink(siege.outside(), siege.transfer.destination()).unwrap();
    speaker.data(&entry.bytes[20_000..]);
    speaker.say(&Frame::Digest(digest(std::slice::from_ref(&entry))));
    speaker.answer().is_counted();
    assert_eq!(fs::read(siege.transfer.directory.path().join("moved/file")).unwrap(), entry.bytes);
    siege.end();
}

#[test]
fn a_partial_directory_that_becomes_a_link_under_way_is_not_followed() {
    let (siege, mut speaker) = Siege::begin(|siege| {
        fs::rename(siege.partial(""), siege.transfer.directory.path().join("moved")).unwrap();
        symlink(siege.outside(), siege.inside(".cpt-partial-t-1")).unwrap();
    });
    speaker.chunk(0, 1, &[Entry::file(0, b"file", b"content")]).is_counted();
    let half = noise(4, CHUNK as usize);
    for part in 0..2 {
        speaker.chunk(1 + part, 1, &[Entry::part(1, b"large", 2 * CHUNK, part * CHUNK, &half)]).is_counted();
    }
    assert_eq!(fs::read(siege.inside("large")).unwrap(), [&*half, &half].concat());
    siege.end();
}

#[test]
fn a_file_with_another_name_elsewhere_is_replaced_and_not_written_through() {
    let (siege, mut speaker) = Siege::begin(|siege| {
        for name in ["small", "large"] {
            fs::hard_link(siege.outside().join("secret"), siege.inside(name)).unwrap();
        }
    });
    speaker.chunk(0, 1, &[Entry::file(0, b"small", b"new")]).is_counted();
    let half = noise(5, CHUNK as usize);
    for part in 0..2 {
        speaker.chunk(1 + part, 1, &[Entry::part(1, b"large", 2 * CHUNK, part * CHUNK, &half)]).is_counted();
    }
    assert_eq!(fs::read(siege.inside("small")).unwrap(), b"new");
    assert_eq!(fs::metadata(siege.outside().join("secret")).unwrap().nlink(), 1);
    siege.end();
}

#[test]
fn a_chunk_that_comes_again_touches_nothing_that_is_in_its_place() {
    let (siege, mut speaker) = Siege::begin(|_| {});
    let chunk = [Entry::file(0, b"folder/file", b"bytes"), Entry::link(1, b"folder/link", b"file")];
    let seen = |name| {
        let found = fs::symlink_metadata(siege.inside(name)).unwrap();
        (found.ino(), found.mtime(), found.mtime_nsec())
    };
    speaker.chunk(0, 1, &chunk).is_counted();
    speaker.chunk(1, 1, &[Entry::directory(2, b"folder")]).is_counted();
    let before = ["folder", "folder/file", "folder/link"].map(seen);
    speaker.chunk(0, 1, &chunk).is_counted();
    assert_eq!(["folder", "folder/file", "folder/link"].map(seen), before);
    siege.end();
}

#[test]
fn what_is_planted_among_the_partial_files_is_not_written_through() {
    let (siege, mut speaker) = Siege::begin(|siege| {
        let secret = siege.outside().join("secret");
        // Entry 0 and 1 are large, 2 to 4 small: these get a serial number.
        fs::hard_link(&secret, siege.partial("0")).unwrap();
        symlink(&secret, siege.partial("1")).unwrap();
        fs::hard_link(&secret, siege.partial("2-0")).unwrap();
        symlink(&secret, siege.partial("3-1")).unwrap();
        fs::hard_link(&secret, siege.partial("4-2")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, siege.partial("5"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    });
    speaker.chunk(0, 1, &[Entry::file(2, b"two", b"2")]).is_counted();
    speaker.chunk(1, 1, &[Entry::file(3, b"three", b"3")]).is_counted();
    speaker.chunk(2, 1, &[Entry::link(4, b"four", b"two")]).is_counted();
    let half = noise(6, CHUNK as usize);
    for (number, (entry, name)) in [(0, "zero"), (1, "one"), (5, "five")].into_iter().enumerate() {
        for part in 0..2 {
            let chunk = 10 + 2 * number as u64 + part;
            speaker.chunk(chunk, 1, &[Entry::part(entry, name.as_bytes(), 2 * CHUNK, part * CHUNK, &half)]).is_counted();
        }
        assert_eq!(fs::read(siege.inside(name)).unwrap(), [&*half, &half].concat());
    }
    assert!(!siege.inside("five").symlink_metadata().unwrap().file_type().is_fifo());
    siege.end();
}

#[test]
fn a_frame_can_name_neither_a_device_nor_anything_else_that_is_no_file() {
    for kind in [3, 4, 0xff] {
        let (siege, mut speaker) = Siege::begin(|_| {});
        speaker.begin(0, 1, 1);
        let mut frame = Vec::new();
        Frame::Segment(Entry::file(0, b"device", b"").header).encode(&mut frame);
        // Behind the frame's header and the entry's number.
        frame[5 + 8] = kind;
        speaker.sealer.frames().extend_from_slice(&frame);
        speaker.sealer.flush().unwrap();
        speaker.answer().is_hung_up();
        assert!(!siege.inside("device").exists());
        siege.end();
    }
}

#[test]
fn a_frame_brings_nothing_that_nobody_asked_to_be_kept() {
    let attributes: [&[u8]; 6] = [
        br#"{"owner":{"uid":0,"gid":0}}"#,
        br#"{"xattrs":{"security.capability":"x"}}"#,
        br#"{"acls":{"system.posix_acl_access":"x"}}"#,
        br#"{"sparse":true}"#,
        br#"{"linked":true}"#,
        br#"{"node":{"type":"character","major":1,"minor":3}}"#,
    ];
    for attributes in attributes {
        let (siege, mut speaker) = Siege::begin(|_| {});
        speaker.begin(0, 1, 1);
        let mut entry = Entry::file(0, b"brought", b"");
        entry.header.mode = 0o6755;
        entry.header.attributes = attributes.to_vec();
        speaker.entry(&entry);
        speaker.answer().is_hung_up();
        assert!(!siege.inside("brought").exists());
        siege.end();
    }
}

#[test]
fn parts_that_disagree_about_their_file_are_refused() {
    let (siege, mut speaker) = Siege::begin(|_| {});
    let half = noise(7, CHUNK as usize);
    speaker.chunk(0, 1, &[Entry::part(0, b"large", 2 * CHUNK, 0, &half)]).is_counted();
    speaker.chunk(1, 1, &[Entry::part(0, b"elsewhere", 2 * CHUNK, CHUNK, &half)]).is_refused(DestinationError);
    speaker.chunk(2, 1, &[Entry::part(0, b"large", 3 * CHUNK, CHUNK, &half)]).is_refused(DestinationError);
    speaker.chunk(3, 1, &[Entry::part(0, b"large", 2 * CHUNK, CHUNK, &half[..1024])]).is_refused(DestinationError);
    assert!(!siege.inside("large").exists());
    speaker.chunk(1, 2, &[Entry::part(0, b"large", 2 * CHUNK, CHUNK, &half)]).is_counted();
    assert_eq!(fs::read(siege.inside("large")).unwrap(), [&*half, &half].concat());
    siege.end();
}

#[test]
fn a_large_file_whose_parts_came_on_two_streams_each_is_whole() {
    let (siege, mut late) = Siege::begin(|_| {});
    let mut other = Speaker::connect(&siege.transfer, &siege.identity, siege.receiver.address);
    let bytes = noise(9, 5 * CHUNK as usize);
    for (number, part) in bytes.chunks(CHUNK as usize).enumerate() {
        let chunk = number as u64;
        let entry = Entry::part(0, b"large", 5 * CHUNK, chunk * CHUNK, part);
        late.begin(chunk, 1, 1);
        late.say(&Frame::Segment(entry.header.clone()));
        late.data(&part[..1024]);
        // Its answer says that the part is this stream's now, unless the late one has not got so far yet.
        other.begin(chunk, 1, 1);
        other.entry(&entry);
        other.say(&Frame::Digest([0; 32]));
        other.answer().is_refused(ChecksumMismatch);
        late.data(&part[1024..]);
        late.say(&Frame::Digest(digest(std::slice::from_ref(&entry))));
        match late.answer() {
            Answer::Counted => {}
            answer => answer.is_refused(StreamLost),
        }
        other.chunk(chunk, 2, &[entry]).is_counted();
    }
    assert_eq!(fs::read(siege.inside("large")).unwrap(), bytes);
    siege.end();
}

#[test]
fn a_part_that_is_no_subtree_of_its_file_ends_the_stream() {
    let (siege, _) = Siege::begin(|_| {});
    let bytes = noise(8, CHUNK as usize);
    for (size, offset, length) in
        [(4 * CHUNK, 1, 1024), (4 * CHUNK, 1024, 2048), (4 * CHUNK, 0, 0), (4 * CHUNK, CHUNK, 0), (1 << 40, 0, 1024)]
    {
        let mut speaker = Speaker::connect(&siege.transfer, &siege.identity, siege.receiver.address);
        speaker.begin(0, 1, 1);
        speaker.entry(&Entry::part(0, b"large", size, offset, &bytes[..length]));
        speaker.answer().is_hung_up();
    }
    siege.end();
}
