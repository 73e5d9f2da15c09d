//! A sender by hand: it speaks the protocol, and says what it is told to, lies included.

use std::net::{SocketAddrV4, TcpStream};
use std::sync::Arc;

use cpt_laboratory::directory::Directory;
use cpt_relay::control::{Control, KeyRecord, Seat};
use cpt_relay::deadline::Deadline;
use cpt_relay::digest::{Digest, Proof};
use cpt_relay::documents::chunk::{Chunk, item_key};
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::event::FailureReason;
use cpt_relay::rate::RateRules;
use cpt_relay::secure::handshake;
use cpt_relay::secure::keys::Identity;
use cpt_relay::secure::outlet::Outlet;
use cpt_relay::secure::record::Sealer;
use cpt_relay::transport::peer;
use cpt_relay::transport::stream::FrameReader;
use cpt_relay::wire::frame::{Frame, SegmentHeader, VERSION};
use serde_json::json;

use crate::harness::{PATIENCE, Transfer};

/// A segment with its bytes.
#[derive(Clone)]
pub struct Entry {
    pub header: SegmentHeader,
    pub bytes: Vec<u8>,
}

impl Entry {
    pub fn file(entry: u64, path: &[u8], bytes: &[u8]) -> Self {
        let size = bytes.len() as u64;
        Self { header: header(entry, Kind::File, path, size, 0, size), bytes: bytes.to_vec() }
    }

    /// A part of a file of `size` bytes.
    pub fn part(entry: u64, path: &[u8], size: u64, offset: u64, bytes: &[u8]) -> Self {
        Self { header: header(entry, Kind::File, path, size, offset, bytes.len() as u64), bytes: bytes.to_vec() }
    }

    pub fn link(entry: u64, path: &[u8], target: &[u8]) -> Self {
        Self { header: SegmentHeader { target: target.to_vec(), ..header(entry, Kind::Symlink, path, 0, 0, 0) }, bytes: Vec::new() }
    }

    pub fn directory(entry: u64, path: &[u8]) -> Self {
        Self { header: SegmentHeader { mode: 0o755, ..header(entry, Kind::Directory, path, 0, 0, 0) }, bytes: Vec::new() }
    }

    fn digest(&self, proof: Proof) -> Digest {
        let is_part = self.header.kind == Kind::File && self.header.length < self.header.size;
        if is_part {
            return proof.part(self.header.offset).update(&self.bytes).digest();
        }
        proof.whole().update(&self.bytes).update(&self.header.target).digest()
    }
}

fn pending(chunk: u64, attempt: u32) -> Chunk {
    let item = json!({
        "rangeKey": "t-1#0000000", "itemKey": item_key(chunk), "chunk": chunk, "state": "PENDING", "attempt": attempt, "phase": 0,
        "planId": "0".repeat(32),
        "manifestKey": "manifest/part-00000.ndjson", "manifestStart": 0, "manifestEnd": 1, "bytes": 1, "files": 1,
    });
    serde_json::from_value(item).unwrap()
}

fn header(entry: u64, kind: Kind, path: &[u8], size: u64, offset: u64, length: u64) -> SegmentHeader {
    SegmentHeader {
        entry,
        kind,
        mode: 0o644,
        mtime_ns: 1,
        size,
        offset,
        length,
        path: path.to_vec(),
        target: Vec::new(),
        attributes: Vec::new(),
    }
}

/// The digest that an honest sender of these entries gives.
pub fn digest(entries: &[Entry]) -> Digest {
    digest_by(Proof::default(), entries)
}

/// The same, where the transfer has this proof.
pub fn digest_by(proof: Proof, entries: &[Entry]) -> Digest {
    let mut all = blake3::Hasher::new();
    for entry in entries {
        let mut frame = Vec::new();
        Frame::Segment(entry.header.clone()).encode(&mut frame);
        all.update(&frame).update(&entry.digest(proof));
    }
    *all.finalize().as_bytes()
}

/// Makes itself the transfer's sender.
pub fn introduce(transfer: &Transfer) -> Identity {
    let identity = Identity::generate().unwrap();
    let key = KeyRecord { epoch: 1, tls_public_key: peer::to_text(identity.public()), route_public_key: None, address: None };
    transfer.control.publish_key(Seat::SENDER, &key).unwrap();
    identity
}

/// One stream to the receiver.
pub struct Speaker {
    control: Arc<Directory>,
    pub proof: Proof,
    pub sealer: Sealer,
    pub reader: FrameReader,
}

impl Speaker {
    pub fn connect(transfer: &Transfer, identity: &Identity, receiver: SocketAddrV4) -> Self {
        let socket = TcpStream::connect(receiver).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        // As the real one's: each word goes out at once.
        socket.set_nodelay(true).unwrap();
        let outlet = Outlet::new(socket, &RateRules::default(), None);
        let (sealer, opener) = handshake::connect(outlet, identity, Arc::new(|_| true), Deadline::after(PATIENCE)).unwrap();
        let mut speaker =
            Self { control: Arc::clone(&transfer.control), proof: transfer.verify.proof(), sealer, reader: FrameReader::new(opener) };
        let (path, transfer) = ("direct".to_owned(), transfer.id.to_string());
        let proof = speaker.proof;
        speaker.say(&Frame::Hello { version: VERSION, transfer, seat: Seat::SENDER, epoch: 1, path, generation: 1, lane: 0, proof });
        assert!(matches!(speaker.reader.expect().unwrap(), Frame::Welcome { .. }));
        speaker
    }

    /// Writes a frame; that the receiver has hung up shows when its answer is read.
    pub fn say(&mut self, frame: &Frame) {
        frame.encode(self.sealer.frames());
        let _ = self.sealer.flush();
    }

    /// The table waits for the chunk in this attempt, as it does for an honest sender's.
    pub fn begin(&mut self, chunk: u64, attempt: u32, segments: usize) {
        if self.control.chunks(&[chunk]).unwrap().first().is_none_or(|item| item.attempt < attempt) {
            self.control.put_chunk(&pending(chunk, attempt)).unwrap();
        }
        self.say(&Frame::Chunk { chunk, attempt, segments: u32::try_from(segments).unwrap(), phase: 0 });
    }

    pub fn entry(&mut self, entry: &Entry) {
        self.say(&Frame::Segment(entry.header.clone()));
        self.data(&entry.bytes);
    }

    pub fn data(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(cpt_relay::secure::record::DATA_BYTES) {
            Frame::Data(piece.len()).encode(self.sealer.frames());
            let _ = self.sealer.write(piece).and_then(|()| self.sealer.flush());
        }
    }

    /// Sends a chunk as an honest sender does, and waits for the answer.
    pub fn chunk(&mut self, chunk: u64, attempt: u32, entries: &[Entry]) -> Answer {
        self.begin(chunk, attempt, entries.len());
        for entry in entries {
            self.entry(entry);
        }
        self.say(&Frame::Digest(digest(entries)));
        self.answer()
    }

    pub fn answer(&mut self) -> Answer {
        match self.reader.expect() {
            Ok(Frame::Ack { .. }) => Answer::Counted,
            Ok(Frame::Nack { reason, message, .. }) => Answer::Refused(reason, message),
            Ok(Frame::Refused { message, .. }) => match self.answer() {
                Answer::Counted => Answer::LeftOut(message),
                other => other,
            },
            Ok(Frame::Alive { .. }) => self.answer(),
            Ok(other) => panic!("{other:?} is no answer to a chunk"),
            Err(_) => Answer::HungUp,
        }
    }
}

/// What the receiver says to a chunk.
#[derive(Debug)]
pub enum Answer {
    Counted,
    Refused(FailureReason, String),
    /// It counts without one of its entries.
    LeftOut(String),
    HungUp,
}

impl Answer {
    #[track_caller]
    pub fn is_counted(&self) {
        assert!(matches!(self, Self::Counted), "{self:?}");
    }

    #[track_caller]
    pub fn is_refused(&self, because: FailureReason) {
        assert!(matches!(self, Self::Refused(reason, why) if *reason == because && !why.is_empty()), "{self:?}");
    }

    #[track_caller]
    pub fn is_left_out(&self) {
        assert!(matches!(self, Self::LeftOut(why) if !why.is_empty()), "{self:?}");
    }

    #[track_caller]
    pub fn is_hung_up(&self) {
        assert!(matches!(self, Self::HungUp), "{self:?}");
    }
}
