//! Streams to the receiver: opened through a path's relays, authenticated and greeted.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::handle::Handle;
use super::peer_keys::PeerKeys;
use crate::control::Seat;
use crate::deadline::Deadline;
use crate::defaults::{HANDSHAKE_TIMEOUT, SILENT_AFTER};
use crate::digest::Proof;
use crate::documents::command::Compress;
use crate::documents::membership::Path;
use crate::rate::{Bucket, RateRules};
use crate::secure::handshake;
use crate::secure::keys::Identity;
use crate::secure::outlet::Outlet;
use crate::secure::record::Sealer;
use crate::thread::lock;
use crate::transport::route::{RouteError, Router};
use crate::transport::stream::{FrameReader, StreamError};
use crate::wire::frame::{Frame, VERSION};

/// A stream could not be opened, or broke.
#[derive(Debug, thiserror::Error)]
pub enum LaneError {
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Every relay has passed the stream on, and the receiver has not answered it.
    #[error(transparent)]
    Unwelcome(StreamError),
    #[error("the receiver digests by {}", .0.as_str())]
    OtherProof(Proof),
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The receiver was heard on other paths meanwhile.
    #[error("silent for {} s", SILENT_AFTER.as_secs())]
    Silent,
}

/// State that every stream of this sender has in common.
pub struct Streams {
    pub seat: Seat,
    pub epoch: u64,
    pub proof: Proof,
    pub compress: Compress,
    pub router: Arc<Router>,
    pub identity: Identity,
    pub peer_keys: PeerKeys,
    pub rules: RateRules,
    /// The limit as the membership has it.
    pub limit: Arc<Bucket>,
}

impl Streams {
    /// A lane's stream, once the receiver has answered.
    pub fn open(&self, path: &Path, lane: u32, handle: &Handle) -> Result<(Sealer, FrameReader), LaneError> {
        let socket = self.router.open(path)?;
        let (sealer, reader, proof) = self.greet(socket, path, lane, handle).map_err(LaneError::Unwelcome)?;
        if proof == self.proof { Ok((sealer, reader)) } else { Err(LaneError::OtherProof(proof)) }
    }

    fn greet(&self, socket: TcpStream, path: &Path, lane: u32, handle: &Handle) -> Result<(Sealer, FrameReader, Proof), StreamError> {
        let outlet = Outlet::new(socket, &self.rules, Some(&self.limit));
        let socket = outlet.socket();
        *lock(&handle.socket) = Some(Arc::clone(&socket));
        let (check, deadline) = (self.peer_keys.of(path.to), Deadline::after(HANDSHAKE_TIMEOUT));
        let (mut sealer, opener) = handshake::connect(outlet, &self.identity, check, deadline)?;
        let mut reader = FrameReader::new(opener);
        let asked_at = Instant::now();
        let hello = Frame::Hello {
            version: VERSION,
            transfer: self.router.transfer.to_string(),
            seat: self.seat,
            epoch: self.epoch,
            path: path.path_id.to_string(),
            generation: path.generation,
            lane,
            proof: self.proof,
        };
        hello.encode(sealer.frames());
        sealer.flush()?;
        let proof = match reader.expect()? {
            Frame::Welcome { version: VERSION, proof, .. } => proof,
            other => return Err(StreamError::Protocol(format!("{other:?} where Welcome of version {VERSION} should be"))),
        };
        handle.round_trip.store(u64::try_from(asked_at.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        // From now on silence tells, and a write may wait for the receiver's disk.
        socket.set_read_timeout(None)?;
        socket.set_write_timeout(None)?;
        Ok((sealer, reader, proof))
    }
}
