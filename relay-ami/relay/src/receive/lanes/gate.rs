//! Who may bring chunks: this transfer's sender of the latest epoch, which digests as this end does.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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
    /// The latest that has come.
    pub sender_epoch: AtomicU64,
}

/// A stream of the sender's lane.
pub struct Greeted {
    pub replies: Arc<Replies>,
    pub path: Arc<str>,
    pub lane: u32,
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
        let Frame::Hello { version, transfer, epoch, path, generation, lane, proof } = reader.expect()? else {
            return Err(StreamError::Protocol("the first frame is not Hello".to_owned()));
        };
        if version != VERSION || transfer != self.transfer.as_str() {
            return Err(StreamError::Protocol(format!(
                "Hello has version {version} and transfer {transfer:?}; {VERSION} and {:?} are right",
                self.transfer.as_str()
            )));
        }
        // A sender of an earlier epoch that still runs was replaced.
        if self.sender_epoch.fetch_max(epoch, Ordering::SeqCst) > epoch {
            return Err(StreamError::Protocol(format!("a later sender than epoch {epoch} is known")));
        }
        let replies = Arc::new(Replies::new(sealer));
        replies.send(&Frame::Welcome { version: VERSION, epoch: self.epoch, proof: self.proof })?;
        if proof != self.proof {
            let (theirs, ours) = (proof.as_str(), self.proof.as_str());
            return Err(StreamError::Protocol(format!("the sender digests by {theirs}, verify here is for {ours}; both need the same")));
        }
        tracing::info!(path, generation, lane, "lane begins");
        Ok(Greeted { replies, path: path.into(), lane })
    }

    /// Returns whether what the two ends count began at the same time.
    pub fn is_of_same_start(&self) -> bool {
        same_start(self.epoch, self.sender_epoch.load(Ordering::SeqCst))
    }
}
