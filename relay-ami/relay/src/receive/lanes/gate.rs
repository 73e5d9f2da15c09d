//! Who may bring chunks: this transfer's sender of the latest epoch, which digests as this end does.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use crate::control::Seat;
use crate::deadline::Deadline;
use crate::digest::Proof;
use crate::documents::text::TransferId;
use crate::epoch::same_start;
use crate::rate::RateRules;
use crate::secure::handshake::KeyCheck;
use crate::secure::keys::Identity;
use crate::secure::outlet::Outlet;
use crate::secure::record::{Opener, Sealer};
use crate::secure::{SecureError, handshake};
use crate::sockets::net::tune;
use crate::thread::lock;
use crate::transport::stream::{FrameReader, Replies, StreamError};
use crate::wire::frame::{Frame, VERSION};

/// What this end is, and whom it knows.
pub struct Gate {
    pub transfer: TransferId,
    pub epoch: u64,
    pub proof: Proof,
    pub rules: RateRules,
    pub identity: Identity,
    pub peer_key: Arc<KeyCheck>,
    /// The latest epoch of each sender that has come.
    pub sender_epochs: Mutex<BTreeMap<Seat, u64>>,
}

/// A stream of the sender's lane.
pub struct Greeted {
    pub replies: Arc<Replies>,
    pub path: Arc<str>,
    pub lane: u32,
    pub seat: Seat,
    pub epoch: u64,
}

impl Gate {
    /// Nothing but TLS goes out before the peer has proved that it is this transfer's sender.
    pub fn authenticate(&self, deadline: Deadline, socket: TcpStream) -> Result<(Arc<TcpStream>, Sealer, Opener), SecureError> {
        tune(&socket)?;
        let outlet = Outlet::new(socket, &self.rules, None);
        let socket = outlet.socket();
        let (sealer, opener) = handshake::accept(outlet, &self.identity, Arc::clone(&self.peer_key), deadline)?;
        Ok((socket, sealer, opener))
    }

    /// Hears the sender's greeting, and answers it.
    pub fn greet(&self, reader: &mut FrameReader, sealer: Sealer) -> Result<Greeted, StreamError> {
        let Frame::Hello { version, transfer, seat, epoch, path, generation, lane, proof } = reader.expect()? else {
            return Err(StreamError::Protocol("the first frame is not Hello".to_owned()));
        };
        if version != VERSION || transfer != self.transfer.as_str() {
            return Err(StreamError::Protocol(format!(
                "Hello has version {version} and transfer {transfer:?}; {VERSION} and {:?} are right",
                self.transfer.as_str()
            )));
        }
        // A sender of an earlier epoch that still runs was replaced.
        if self.latest(seat, epoch) > epoch {
            return Err(StreamError::Protocol(format!("a later process of {seat} than epoch {epoch} is known")));
        }
        let replies = Arc::new(Replies::new(sealer));
        replies.send(&Frame::Welcome { version: VERSION, epoch: self.epoch, proof: self.proof })?;
        if proof != self.proof {
            let (theirs, ours) = (proof.as_str(), self.proof.as_str());
            return Err(StreamError::Protocol(format!("the sender digests by {theirs}, verify here is for {ours}; both need the same")));
        }
        tracing::info!(%seat, path, generation, lane, "lane begins");
        Ok(Greeted { replies, path: path.into(), lane, seat, epoch })
    }

    /// The latest epoch of a sender, now that one of `epoch` is there.
    fn latest(&self, seat: Seat, epoch: u64) -> u64 {
        let mut known = lock(&self.sender_epochs);
        let latest = known.entry(seat).or_default();
        *latest = epoch.max(*latest);
        *latest
    }

    /// Returns whether what the two ends count began at the same time: of the one sender that there is.
    pub fn is_of_same_start(&self) -> bool {
        let known = lock(&self.sender_epochs);
        known.len() == 1 && known.values().all(|epoch| same_start(self.epoch, *epoch))
    }
}
