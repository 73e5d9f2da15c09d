//! Where mutation begins: golden bytes and the good and bad examples of the contracts.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::fixed_keys::sealer;
use cpt_relay::control::Seat;
use cpt_relay::digest::Proof;
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::event::{FailureReason, SkipReason};
use cpt_relay::wire::frame::{Frame, HEADER_BYTES, SegmentHeader};
use cpt_relay::wire::route::{Action, RouteHeader};

/// Puts the seeds of a target into its corpus.
pub fn write(target: &str, corpus: &Path) {
    for (number, seed) in of(target).into_iter().enumerate() {
        std::fs::write(corpus.join(format!("seed-{number}")), seed).expect("a corpus that can be written");
    }
}

fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "frame" => frames().iter().map(encode).map(|bytes| [&bytes[..1], &bytes[HEADER_BYTES..]].concat()).collect(),
        "stream" => {
            let all: Vec<u8> = frames().iter().flat_map(encode).collect();
            let data = [encode(&Frame::Data(3)), b"abc".to_vec()].concat();
            [0, 1, 2, 20].map(|cut| [&[cut], &data[..], &all].concat()).to_vec()
        }
        "record" => vec![sealed()],
        "header" => headers().iter().flat_map(|header| [header.encode(), signed(header)]).collect(),
        "exchange" => vec![[&[3; 32][..], &[0], &[0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0]].concat()],
        "command" => examples(&["relay-command"]),
        "membership" => examples(&["membership"]),
        "plan" => examples(&["transfer-plan"]),
        "chunk" => examples(&["chunk"]),
        "entry" => examples(&["listing-entry", "segment", "extra-entry"]),
        _ => [r#"[{"cidr":"10.1.0.0/16","megabytesPerSecond":160},{"cidr":"0.0.0.0/0","megabytesPerSecond":2.5e-1}]"#, "a%20b%0A/%C3%BC"]
            .map(|text| text.as_bytes().to_vec())
            .into_iter()
            .chain([vec![b'A'; 43], (0..=255).collect()])
            .collect(),
    }
}

fn encode(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    bytes
}

fn frames() -> Vec<Frame> {
    let (path, target) = (b"a/\xff".to_vec(), b"..".to_vec());
    let (reason, skip, message) = (FailureReason::SourceChanged, SkipReason::SourceChanged, "no".to_owned());
    vec![
        Frame::Hello {
            version: 1,
            transfer: "t".into(),
            seat: Seat::SENDER,
            epoch: 2,
            path: "direct".into(),
            generation: 3,
            lane: 4,
            proof: Proof::Crc64,
        },
        Frame::Chunk { chunk: 258, attempt: 1, segments: 2, phase: 1 },
        Frame::Segment(SegmentHeader {
            entry: 5,
            kind: Kind::Symlink,
            mode: 0o777,
            mtime_ns: -1,
            size: 16,
            offset: 8,
            length: 4,
            path,
            target,
            attributes: b"{}".to_vec(),
        }),
        Frame::Digest([0xab; 32]),
        Frame::Abort { reason, message: message.clone() },
        Frame::Hole(258),
        Frame::Drain,
        Frame::Gather,
        Frame::Gathered { files: 1, copied: 2 },
        Frame::Pause,
        Frame::Finish { complete: true, skipped: 2, entries: 7, tree: [1; 32] },
        Frame::Forget { entry: 5, last: true },
        Frame::Welcome { version: 1, epoch: 2, proof: Proof::Blake3 },
        Frame::Ack { chunk: 1, attempt: 2 },
        Frame::Nack { chunk: 1, attempt: 2, reason, message: message.clone() },
        Frame::Skip { entry: 5, reason: skip, message: message.clone() },
        Frame::Refused { chunk: 1, attempt: 2, entry: 5, reason: skip, message: message.clone() },
        Frame::Full { chunk: 1, attempt: 2, message: message.clone() },
        Frame::Finished { agreed: false, entries: 3, received: 7, kept: 9, message },
    ]
}

/// What the golden records hold.
pub fn sealed_frames() -> Vec<Frame> {
    vec![Frame::Ack { chunk: 1, attempt: 2 }, Frame::Welcome { version: 1, epoch: 3, proof: Proof::Blake3 }]
}

fn sealed() -> Vec<u8> {
    let (here, mut there) = UnixStream::pair().expect("a pair of sockets");
    let mut sealer = sealer(OwnedFd::from(here).into()).expect("fixed keys");
    for frame in sealed_frames() {
        frame.encode(sealer.frames());
        sealer.flush().expect("room in the socket");
    }
    sealer.close().expect("room in the socket");
    drop(sealer);
    let mut bytes = Vec::new();
    there.read_to_end(&mut bytes).expect("the records");
    bytes
}

fn headers() -> [RouteHeader; 5] {
    let next = "10.1.2.3:4600".parse().expect("an address");
    [
        Action::Forward(next),
        Action::Sink { milliseconds: 1500 },
        Action::Source { next, milliseconds: 1500 },
        Action::Keepalive,
        Action::PowerOff,
    ]
    .map(|action| RouteHeader { transfer: "t-1".to_owned(), relay: crate::wire::relay(), action })
}

/// With a signature of nobody.
fn signed(header: &RouteHeader) -> Vec<u8> {
    let signed = [header.encode(), vec![0; 64]].concat();
    [&u16::try_from(signed.len()).expect("a header is short").to_be_bytes()[..], &signed].concat()
}

fn examples(contracts: &[&str]) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../contracts/examples");
    let folders = contracts.iter().flat_map(|contract| ["good", "bad"].map(|verdict| root.join(verdict).join(contract)));
    let files = folders.flat_map(|folder| std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())));
    files.map(|file| std::fs::read(file.expect("an entry").path()).expect("an example")).collect()
}
