//! Both ends' daemons from their keys to their last words, whoever has ordered them.

use std::fs::File;
use std::net::SocketAddrV4;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::Ed25519KeyPair;

use super::last_words::{announce_failure, delivered, put_surely};
use super::roles::{control_error, listen, open_files};
use super::{CliError, Failure, LEFT_OUT};
use cpt_relay::control::{Control, ControlError, KeyRecord, Seat, until_answered};
use cpt_relay::defaults::CONTROL_START;
use cpt_relay::digest::Proof;
use cpt_relay::documents::command::Compress;
use cpt_relay::documents::event::Progress;
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::documents::text::TransferId;
use cpt_relay::ends::Source;
use cpt_relay::epoch;
use cpt_relay::machine::ready::ReadyFile;
use cpt_relay::machine::{descriptors, memory};
use cpt_relay::rate::RateRules;
use cpt_relay::receive::{self, ReceiveError};
use cpt_relay::secure::keys::{Identity, generate_route_key, kept_route_key, route_public};
use cpt_relay::send::{self, Patience, SendError};
use cpt_relay::stop::Stop;
use cpt_relay::transport::peer;
use cpt_relay::transport::route::Router;

/// Listens, makes itself known, receives, tells how it ended. The configuration's epoch is the first of its start; `router`: of one that
/// reaches its destination through relays.
pub fn run_receiver(
    mut config: receive::Config,
    control: Arc<dyn Control>,
    (addresses, router): (&[SocketAddrV4], Option<&Router>),
    ready: &ReadyFile,
    stop: &Stop,
) -> Result<ExitCode, CliError> {
    let (transfer, seat, mut epoch) = (config.transfer.clone(), config.seat, config.epoch);
    let mut begin = || -> Result<_, CliError> {
        memory::check(memory::Role::Receiver).map_err(|error| CliError::failed(Failure::NotEnoughMemory, error))?;
        open_files(descriptors::Role::Receiver)?;
        let listeners = listen(addresses, stop)?;
        let identity = Identity::generate().map_err(|error| CliError::failed(Failure::NoKey, error))?;
        let address = listeners.first().and_then(|listener| listener.local_addr().ok()).map(|address| address.to_string());
        let tls_public_key = peer::to_text(identity.public());
        let route_public_key = router.map(|router| peer::to_text(&route_public(&router.key)));
        let keys = |epoch| KeyRecord {
            epoch,
            tls_public_key: tls_public_key.clone(),
            route_public_key: route_public_key.clone(),
            address: address.clone(),
        };
        (config.epoch, config.before) = claim(&*control, stop, seat, config.epoch, keys)?;
        epoch = config.epoch;
        ready.write("receive", &listeners, None).map_err(|error| CliError::failed(Failure::ReadyFile, error))?;
        Ok((listeners, identity))
    };
    let begun = begin();
    let result = begun.and_then(|(listeners, identity)| {
        match receive::run(config, Arc::clone(&control), identity, &listeners, stop) {
            // A stop is the control plane's or the user's own wish.
            Ok(receive::Outcome::Agreed | receive::Outcome::Stopped) => Ok(ExitCode::SUCCESS),
            Ok(receive::Outcome::Disagreed(why)) => Err(CliError::failed(Failure::DigestMismatch, why)),
            Ok(receive::Outcome::Fenced) => Err(CliError::Fenced),
            Err(error @ ReceiveError::Destination { .. }) => Err(CliError::failed(Failure::DestinationError, error)),
            Err(error @ ReceiveError::Io(_)) => Err(CliError::failed(Failure::ReceiverError, error)),
            Err(ReceiveError::Control(error)) => Err(control_error(error)),
        }
    });
    // The sender announces a mismatch itself.
    if let Err(CliError::Failed { class, cause }) = &result
        && *class != Failure::DigestMismatch
    {
        announce_failure(&*control, stop, transfer, seat, epoch, *class, cause);
    }
    result
}

/// An epoch of the start that begins with `first`, and the last report of an earlier process.
fn claim(
    control: &dyn Control,
    stop: &Stop,
    seat: Seat,
    first: u64,
    keys: impl Fn(u64) -> KeyRecord,
) -> Result<(u64, Option<Progress>), CliError> {
    let claimed = until_answered(stop, CONTROL_START, || epoch::claim(control, seat, first, &keys)).map_err(control_error)?;
    let epoch = claimed.ok_or(CliError::Fenced)?;
    let before = until_answered(stop, CONTROL_START, || control.progress(seat)).map_err(control_error)?;
    Ok((epoch, before))
}

/// The key by which relays know the sender; `file` keeps it for one that is started again.
pub fn route_key(file: Option<&Path>) -> Result<Ed25519KeyPair, CliError> {
    file.map_or_else(generate_route_key, kept_route_key).map_err(|error| CliError::failed(Failure::NoKey, error))
}

/// What a sender is told besides its plan.
pub struct SendOptions {
    /// Pause between two keepalives to a relay.
    pub keepalive: Duration,
    /// With a destination that takes nothing.
    pub patience: Patience,
    pub compress: Compress,
    /// As the receiver's.
    pub proof: Proof,
    /// Paths keep the lanes that the membership gives them: for measurements beside what the sender chooses.
    pub has_fixed_lanes: bool,
    /// Other senders send chunks of the plan too.
    pub many_senders: bool,
    /// Other receivers write into the destination too.
    pub many_receivers: bool,
}

/// A sender with its keys.
pub struct Sender {
    identity: Identity,
    router: Arc<Router>,
    seat: Seat,
    epoch: u64,
    before: Option<Progress>,
    rules: RateRules,
    journal: Option<File>,
    overflow: Option<File>,
}

impl Sender {
    /// `epoch`: the first of its start.
    pub fn new(transfer: TransferId, (seat, epoch): (Seat, u64), key: Ed25519KeyPair, rules: RateRules) -> Result<Self, CliError> {
        memory::check(memory::Role::Sender).map_err(|error| CliError::failed(Failure::NotEnoughMemory, error))?;
        open_files(descriptors::Role::Sender)?;
        let no_key = |error| CliError::failed(Failure::NoKey, error);
        let router = Arc::new(Router { transfer, key });
        Ok(Self {
            identity: Identity::generate().map_err(no_key)?,
            router,
            seat,
            epoch,
            before: None,
            rules,
            journal: None,
            overflow: None,
        })
    }

    /// The same, which notes in a file what it has sent, and has another one for digests.
    #[must_use]
    pub fn noting(self, journal: Option<File>, overflow: Option<File>) -> Self {
        Self { journal, overflow, ..self }
    }

    /// What relays know it by.
    #[must_use]
    pub fn router(&self) -> Arc<Router> {
        Arc::clone(&self.router)
    }

    /// Caps of its streams; their file was read while the process might read it.
    #[must_use]
    pub fn rules(&self) -> RateRules {
        self.rules.clone()
    }

    /// Makes itself known, in an epoch of its own.
    pub fn publish(self, control: &dyn Control, stop: &Stop) -> Result<Self, CliError> {
        let keys = |epoch| KeyRecord {
            epoch,
            tls_public_key: peer::to_text(self.identity.public()),
            route_public_key: Some(peer::to_text(&route_public(&self.router.key))),
            address: None,
        };
        let (epoch, before) = claim(control, stop, self.seat, self.epoch, keys)?;
        Ok(Self { epoch, before, ..self })
    }

    /// Sends what the plan of this key has, tells how it ended.
    pub fn run(
        self,
        (plan, plan_key): (TransferPlan, String),
        prefix: String,
        source: Arc<dyn Source>,
        options: SendOptions,
        control: Arc<dyn Control>,
        stop: &Stop,
    ) -> Result<ExitCode, CliError> {
        let (transfer, seat, epoch) = (self.router.transfer.clone(), self.seat, self.epoch);
        let Self { identity, router, rules, before, journal, overflow, .. } = self;
        let SendOptions { keepalive, patience, compress, proof, has_fixed_lanes, many_senders, many_receivers } = options;
        let config = send::Config {
            seat,
            epoch,
            before,
            journal,
            plan,
            plan_key,
            prefix,
            source,
            router,
            identity,
            rules,
            keepalive,
            patience,
            compress,
            proof,
            has_fixed_lanes,
            many_senders,
            many_receivers,
            overflow,
        };
        let result = match send::run(config, Arc::clone(&control), stop) {
            Ok(send::Outcome::Delivered(totals)) => {
                tracing::info!(?totals, "delivered");
                let skipped = totals.skipped;
                put_surely(&*control, stop, &delivered(transfer.clone(), (seat, epoch), totals), epoch);
                if skipped == 0 {
                    return Ok(ExitCode::SUCCESS);
                }
                let entries = if skipped == 1 { "1 entry was".to_owned() } else { format!("{skipped} entries were") };
                tracing::warn!("{entries} left out, everything else is delivered");
                Ok(ExitCode::from(LEFT_OUT))
            }
            Ok(send::Outcome::ChunksFailed(chunks)) => Err(CliError::failed(Failure::ChunksFailed, send::describe(&chunks))),
            Ok(send::Outcome::DigestMismatch(why)) => Err(CliError::failed(Failure::DigestMismatch, why)),
            // Whoever finishes tells how the transfer has ended.
            Ok(send::Outcome::Stopped | send::Outcome::LeftToAnother) => Ok(ExitCode::SUCCESS),
            Ok(send::Outcome::Fenced) => Err(CliError::Fenced),
            Err(SendError::Plan(why)) => Err(CliError::failed(Failure::PlanInvalid, why)),
            Err(error @ (SendError::Io(_) | SendError::OtherProof { .. } | SendError::Unread)) => {
                Err(CliError::failed(Failure::SenderError, error))
            }
            Err(SendError::DestinationFull(why)) => Err(CliError::failed(Failure::DestinationFull, why)),
            // The newer sender goes on; this one has nothing to announce.
            Err(SendError::Control(error @ ControlError::LeaseLost { .. })) => {
                tracing::warn!(%error, "superseded");
                return Err(CliError::Fenced);
            }
            Err(SendError::Control(error)) => Err(control_error(error)),
        };
        if let Err(CliError::Failed { class, cause }) = &result {
            announce_failure(&*control, stop, transfer, seat, epoch, *class, cause);
        }
        result
    }
}
