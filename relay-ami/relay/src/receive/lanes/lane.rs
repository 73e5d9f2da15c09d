//! One stream at the receiver.

use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use super::alive::Listeners;
use super::gate::{Gate, Greeted};
use super::incoming::{Incoming, Intake, Ticket};
use crate::control::Seat;
use crate::receive::asked::{Asked, Claim};
use crate::receive::beside::{Beside, Here};
use crate::receive::commit::Sending;
use crate::receive::finish::Finish;
use crate::secure::record::{Opener, Sealer};
use crate::sockets::acceptor::Unauthenticated;
use crate::transport::stream::{FrameReader, StreamError};
use crate::wire::frame::Frame;

/// What serves each of the sender's lanes.
pub struct Lanes {
    pub gate: Gate,
    pub intake: Intake,
    pub finish: Finish,
    pub sending: Arc<Sending>,
    pub listeners: Arc<Listeners>,
    /// None where the transfer has one sender and one receiver.
    pub beside: Option<Arc<Beside>>,
}

impl Lanes {
    /// Serves a connection until it ends.
    pub fn serve(&self, unauthenticated: Unauthenticated, socket: TcpStream) {
        let peer = socket.peer_addr().map_or_else(|_| "gone".to_owned(), |peer| peer.to_string());
        let (socket, sealer, opener) = match self.gate.authenticate(unauthenticated.deadline(), socket) {
            Ok(stream) => stream,
            Err(error) => return unauthenticated.turn_away(&error),
        };
        drop(unauthenticated);
        match self.converse(&socket, sealer, opener) {
            Ok(()) => tracing::info!(peer, "lane ends"),
            Err(error) => tracing::warn!(peer, %error, "lane ends"),
        }
    }

    fn converse(&self, socket: &TcpStream, sealer: Sealer, opener: Opener) -> Result<(), StreamError> {
        let mut reader = FrameReader::new(opener);
        let Greeted { replies, path, lane, seat, epoch } = self.gate.greet(&mut reader, sealer)?;
        let here = self.beside.as_deref().map(|beside| enter(beside, seat, epoch, socket)).transpose()?;
        self.listeners.add(&replies);
        socket.set_read_timeout(None)?;
        let site = &*self.intake.site;
        let (mut sending, disk) = (self.sending.lane(), site.disk.caller());
        let asked = Asked { replies: &replies, beside: self.beside.as_deref(), here: here.as_ref() };
        // What a finish came to; it holds once the sender has heard it, else it asks again on another stream.
        let mut answered = None;
        loop {
            match reader.frame()? {
                Some(Frame::Pause) => sending.set(false),
                Some(Frame::Chunk { chunk, attempt, segments, phase: _ }) => {
                    sending.set(true);
                    let mut incoming = Incoming::new(&self.intake, &disk, Ticket { chunk, attempt, path: &path, lane, replies: &replies });
                    if incoming.receive(&mut reader, segments)? {
                        incoming.settle();
                    } else {
                        tracing::info!(chunk, attempt, "the sender gave the chunk up");
                    }
                }
                Some(Frame::Finish { complete, skipped, entries, tree }) => {
                    sending.set(false);
                    let claim = Claim { complete, skipped, entries, tree };
                    answered = Some(self.finish.run(&asked, &claim, self.gate.is_of_same_start())?);
                }
                Some(Frame::Gather) => {
                    sending.set(false);
                    self.finish.gather(&asked)?;
                }
                Some(Frame::Forget { entry, last }) => {
                    answered = None;
                    let call = disk.enter();
                    site.files.forget(&*site.destination, entry)?;
                    if last {
                        call.goes_on();
                        // On the disk before the first of them is begun anew.
                        site.destination.sync_notes()?;
                        drop(call);
                        replies.send(&Frame::Forgotten)?;
                    }
                }
                Some(Frame::Skip { entry, .. }) => {
                    let _call = disk.enter();
                    site.files.skip(&*site.destination, entry)?;
                }
                Some(Frame::Drain) => {
                    answered.into_iter().for_each(|outcome| self.finish.end.finished(Ok(outcome)));
                    return Ok(());
                }
                // Acknowledgements that are due still go out: they hold the stream open.
                None => return if answered.is_some() { Err(StreamError::Ended) } else { Ok(()) },
                Some(other) => return Err(StreamError::Protocol(format!("{other:?} is out of place"))),
            }
        }
    }
}

/// The lane may write from now on, unless its sender was given up or another receiver finishes.
fn enter<'a>(beside: &'a Beside, seat: Seat, epoch: u64, socket: &TcpStream) -> Result<Here<'a>, StreamError> {
    let other = socket.try_clone()?;
    let here = beside.enter(seat, epoch, move || drop(other.shutdown(Shutdown::Both)));
    here.map_err(|why| StreamError::Protocol(why.to_string()))
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
