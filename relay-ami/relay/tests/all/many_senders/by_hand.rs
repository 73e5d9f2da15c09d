//! Receivers by hand: they take whatever comes, say that it is delivered, and keep what they have heard.

use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cpt_laboratory::directory::Directory;
use cpt_relay::control::{Control, Delivery, KeyRecord, Seat};
use cpt_relay::deadline::Deadline;
use cpt_relay::digest::Proof;
use cpt_relay::documents::text::HexDigest;
use cpt_relay::rate::RateRules;
use cpt_relay::secure::handshake;
use cpt_relay::secure::keys::Identity;
use cpt_relay::secure::outlet::Outlet;
use cpt_relay::transport::peer;
use cpt_relay::transport::stream::{FrameReader, Replies};
use cpt_relay::wire::frame::{Frame, VERSION};

use crate::harness::{PATIENCE, Transfer};

/// What a receiver has heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Chunk { phase: u8 },
    Gather,
    Finish,
}

/// What all receivers have heard, in its order.
pub type Words = Arc<Mutex<Vec<(Seat, Heard)>>>;

/// A receiver in a seat.
pub struct ByHand {
    pub seat: Seat,
    pub address: SocketAddrV4,
    /// It does not answer that everything has been sent.
    pub hangs: Arc<AtomicBool>,
}

impl ByHand {
    /// Listens until the process ends.
    pub fn listen(transfer: &Transfer, seat: Seat, words: &Words) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("not IPv4") };
        let identity = Identity::generate().unwrap();
        let key = KeyRecord { epoch: 1, tls_public_key: peer::to_text(identity.public()), route_public_key: None, address: None };
        transfer.control.publish_key(seat, &key).unwrap();
        let hangs = Arc::new(AtomicBool::new(false));
        let lane = Lane { seat, control: Arc::clone(&transfer.control), words: Arc::clone(words), hangs: Arc::clone(&hangs) };
        let (lane, identity) = (Arc::new(lane), Arc::new(identity));
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let (lane, identity) = (Arc::clone(&lane), Arc::clone(&identity));
                // It ends as its stream does.
                std::thread::spawn(move || lane.serve(socket.unwrap(), &identity));
            }
        });
        Self { seat, address, hangs }
    }
}

struct Lane {
    seat: Seat,
    control: Arc<Directory>,
    words: Words,
    hangs: Arc<AtomicBool>,
}

impl Lane {
    fn hears(&self, heard: Heard) {
        self.words.lock().unwrap().push((self.seat, heard));
    }

    /// None once the stream has ended.
    fn serve(&self, socket: TcpStream, identity: &Identity) -> Option<()> {
        let outlet = Outlet::new(socket, &RateRules::default(), None);
        let (sealer, opener) = handshake::accept(outlet, identity, Arc::new(|_| true), Deadline::after(PATIENCE)).ok()?;
        let (mut reader, replies) = (FrameReader::new(opener), Arc::new(Replies::new(sealer)));
        let Frame::Hello { path, lane, .. } = reader.expect().ok()? else { panic!("no greeting") };
        replies.send(&Frame::Welcome { version: VERSION, epoch: 1, proof: Proof::default() }).ok()?;
        let alive = Arc::clone(&replies);
        std::thread::spawn(move || {
            while alive.send(&Frame::Alive { is_busy: false }).is_ok() {
                std::thread::park_timeout(Duration::from_secs(1));
            }
        });
        let mut under_way = (0, 0);
        loop {
            match reader.frame().ok()?? {
                Frame::Chunk { chunk, attempt, phase, .. } => {
                    self.hears(Heard::Chunk { phase });
                    under_way = (chunk, attempt);
                }
                Frame::Data(length) => drop(reader.data(length).ok()?),
                Frame::Digest(digest) => {
                    let (chunk, attempt) = under_way;
                    let digest = HexDigest::new(blake3::Hash::from_bytes(digest).to_hex().as_str()).unwrap();
                    let path_id = path.clone();
                    let delivery = Delivery { chunk, attempt, digest, path_id, lane, started_at: 0.0, delivered_at: 1.0 };
                    self.control.deliver(&[delivery]).unwrap();
                    replies.send(&Frame::Ack { chunk, attempt }).ok()?;
                }
                Frame::Gather => {
                    self.hears(Heard::Gather);
                    replies.send(&Frame::Gathered { files: 1, copied: 0 }).ok()?;
                }
                Frame::Finish { entries, .. } => {
                    self.hears(Heard::Finish);
                    if !self.hangs.load(Ordering::SeqCst) {
                        replies.send(&Frame::Finished { agreed: true, entries, received: 0, kept: 0, message: String::new() }).ok()?;
                    }
                }
                _ => {}
            }
        }
    }
}
