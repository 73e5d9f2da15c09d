//! One stream at the receiver.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;
use super::finish::{Claim, finish};
use super::incoming::{Incoming, Ticket};
use crate::acceptor::Unauthenticated;
use crate::deadline::Deadline;
use crate::net::tune;
use crate::secure::outlet::Outlet;
use crate::secure::record::{Opener, Sealer};
use crate::secure::{SecureError, handshake};
use crate::stream::{FrameReader, Replies, StreamError};
use crate::wire::frame::{Frame, VERSION};

/// Serves a connection until it ends.
pub fn serve(shared: &Arc<Shared>, unauthenticated: Unauthenticated, socket: TcpStream) {
    let peer = socket.peer_addr().map_or_else(|_| "gone".to_owned(), |peer| peer.to_string());
    let (socket, sealer, opener) = match authenticate(shared, unauthenticated.deadline(), socket) {
        Ok(stream) => stream,
        Err(error) => return unauthenticated.turn_away(&error),
    };
    drop(unauthenticated);
    match converse(shared, &socket, sealer, opener) {
        Ok(()) => tracing::info!(peer, "lane ends"),
        Err(error) => tracing::warn!(peer, %error, "lane ends"),
    }
}

/// Nothing but TLS goes out before the peer has proved that it is this transfer's sender.
fn authenticate(shared: &Shared, deadline: Deadline, socket: TcpStream) -> Result<(Arc<TcpStream>, Sealer, Opener), SecureError> {
    tune(&socket)?;
    let outlet = Outlet::new(socket, &shared.rules, None);
    let socket = outlet.socket();
    let (sealer, opener) = handshake::accept(outlet, &shared.identity, Arc::clone(&shared.peer_key), deadline)?;
    Ok((socket, sealer, opener))
}

fn converse(shared: &Arc<Shared>, socket: &TcpStream, sealer: Sealer, opener: Opener) -> Result<(), StreamError> {
    let mut reader = FrameReader::new(opener);
    let Frame::Hello { version, transfer, epoch, path, generation, lane, proof } = reader.expect()? else {
        return Err(StreamError::Protocol("the first frame is not Hello".to_owned()));
    };
    if version != VERSION || transfer != shared.transfer.as_str() {
        return Err(StreamError::Protocol(format!(
            "Hello has version {version} and transfer {transfer:?}; {VERSION} and {:?} are right",
            shared.transfer.as_str()
        )));
    }
    // A sender of an earlier epoch that still runs was replaced.
    if shared.sender_epoch.fetch_max(epoch, Ordering::SeqCst) > epoch {
        return Err(StreamError::Protocol(format!("a later sender than epoch {epoch} is known")));
    }
    let replies = Arc::new(Replies::new(sealer));
    replies.send(&Frame::Welcome { version: VERSION, epoch: shared.epoch, proof: shared.proof })?;
    if proof != shared.proof {
        let (theirs, ours) = (proof.as_str(), shared.proof.as_str());
        return Err(StreamError::Protocol(format!("the sender digests by {theirs}, verify here is for {ours}; both need the same")));
    }
    shared.listeners.add(&replies);
    socket.set_read_timeout(None)?;
    tracing::info!(path, generation, lane, "lane begins");
    let path: Arc<str> = path.into();
    let (mut sending, disk) = (shared.sending.lane(), shared.disk.caller());
    // What a finish came to; it holds once the sender has heard it, else it asks again on another stream.
    let mut answered = None;
    loop {
        match reader.frame()? {
            Some(Frame::Pause) => sending.set(false),
            Some(Frame::Chunk { chunk, attempt, segments, phase: _ }) => {
                sending.set(true);
                let mut incoming = Incoming::new(shared, &disk, Ticket { chunk, attempt, path: &path, lane, replies: &replies });
                if incoming.receive(&mut reader, segments)? {
                    incoming.settle();
                } else {
                    tracing::info!(chunk, attempt, "the sender gave the chunk up");
                }
            }
            Some(Frame::Finish { complete, skipped, entries, tree }) => {
                sending.set(false);
                answered = Some(finish(shared, &replies, &Claim { complete, skipped, entries, tree })?);
            }
            Some(Frame::Forget { entry, last }) => {
                answered = None;
                let call = disk.enter();
                shared.files.forget(&*shared.destination, entry)?;
                if last {
                    call.goes_on();
                    // On the disk before the first of them is begun anew.
                    shared.destination.sync_notes()?;
                    drop(call);
                    replies.send(&Frame::Forgotten)?;
                }
            }
            Some(Frame::Skip { entry, .. }) => {
                let _call = disk.enter();
                shared.files.skip(&*shared.destination, entry)?;
            }
            Some(Frame::Drain) => {
                answered.into_iter().for_each(|outcome| shared.finished(Ok(outcome)));
                return Ok(());
            }
            // Acknowledgements that are due still go out: they hold the stream open.
            None => return if answered.is_some() { Err(StreamError::Ended) } else { Ok(()) },
            Some(other) => return Err(StreamError::Protocol(format!("{other:?} is out of place"))),
        }
    }
}
