//! The last handshake: all that was listed is at the destination, and both ends have read or written the same bytes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::look::{Found, Look};
use super::{Outcome, Shared};
use crate::control::{ControlError, Seat};
use crate::defaults::{LOOK_NAMED, LOOK_TRIES};
use crate::digest::{Digest, to_hex};
use crate::documents::plan::{PlanListing, TransferPlan};
use crate::entry_table::EntryTable;
use crate::epoch::same_start;
use crate::objects::digests::Digests;
use crate::stream::{Replies, StreamError};
use crate::wire::frame::Frame;

/// Pause between two tries to read what the look needs.
const PAUSE: Duration = Duration::from_secs(1);

/// The sender's statement about the whole.
pub(super) struct Claim {
    pub complete: bool,
    /// Entries that it has left out.
    pub skipped: u64,
    /// The number of digests that it has uploaded, and the digest of them all.
    pub entries: u64,
    pub tree: Digest,
}

/// Looks, uploads this end's digests, answers. The process ends once the sender has confirmed that it heard.
pub(super) fn finish(shared: &Shared, replies: &Replies, claim: &Claim) -> Result<Outcome, StreamError> {
    let call = shared.disk.enter();
    shared.destination.sync()?;
    drop(call);
    let disagreement = if claim.complete { disagreement(shared, claim)? } else { None };
    // The look is beneath the directory itself, wherever that is.
    if !shared.check_destination() {
        return Err(StreamError::Ended);
    }
    let place = Digests::new(Arc::clone(&shared.control), &shared.prefix, &shared.plan.plan_id);
    let digests = || shared.files.placed().iter().map(|(entry, placed)| (entry, placed.digest));
    let uploaded = shared.until_answered("digests", || place.upload(shared.seat, digests()));
    let (entries, own) = uploaded.ok_or(StreamError::Ended)?;
    let message = disagreement.unwrap_or_else(|| {
        if !claim.complete || (claim.entries == entries && claim.tree == own) {
            return String::new();
        }
        let (ours, theirs) = (to_hex(&own), to_hex(&claim.tree));
        format!("the receiver has {entries} entries with digest {ours}, the sender {} with {theirs}", claim.entries)
    });
    let agreed = message.is_empty();
    tracing::info!(agreed, complete = claim.complete, entries, message, "finish");
    // A comparison of everything proves that no partial file is needed any more. Where chunks were given up the transfer is
    // over too, and nothing resumes it. Partial files stay where it was stopped, or has ended without agreement.
    if agreed {
        let call = shared.disk.enter();
        if let Err(error) = shared.destination.finish(&|| call.goes_on()) {
            tracing::warn!(%error, "partial files");
        }
    }
    let is_comparable = same_start(shared.epoch, shared.sender_epoch.load(Ordering::SeqCst));
    let received = if is_comparable { shared.counters.moved.load(Ordering::Relaxed) } else { 0 };
    let call = shared.disk.enter();
    let kept = shared.destination.kept().inspect_err(|error| tracing::warn!(%error, "what is kept is not counted")).unwrap_or_default();
    drop(call);
    replies.send(&Frame::Finished { agreed, entries, received, kept, message: message.clone() })?;
    Ok(if agreed { Outcome::Agreed } else { Outcome::Disagreed(message) })
}

/// Returns what is not as it should be at the destination, in words.
fn disagreement(shared: &Shared, claim: &Claim) -> Result<Option<String>, StreamError> {
    let unfinished = shared.files.unfinished();
    if unfinished > 0 {
        return Ok(Some(format!("{unfinished} large files lack parts")));
    }
    let begun = Instant::now();
    let found = match patiently(shared, || look(shared, claim)) {
        Ok(found) => found,
        Err(error) => return Ok(Some(format!("the destination could not be compared with the listing: {error}"))),
    };
    let lacking = found.lacking.len() as u64;
    tracing::info!(seconds = begun.elapsed().as_secs_f64(), lacking, lost = found.lost, "looked at the destination");
    for (entry, placed) in found.renewed {
        shared.files.complete(entry, placed);
    }
    let call = shared.disk.enter();
    for entry in found.lacking {
        shared.files.forget(&*shared.destination, entry)?;
        call.goes_on();
    }
    // On the disk before the first of them is begun anew.
    shared.destination.sync_notes()?;
    drop(call);
    if lacking == 0 && found.lost == 0 {
        // The sender has named them all on this stream.
        let skipped = shared.files.skipped().len() as u64;
        let differs = || format!("the receiver has left {skipped} entries out, the sender {}", claim.skipped);
        return Ok((skipped != claim.skipped).then(differs));
    }
    let named = found.named.join("; ");
    let more = (lacking + found.lost).saturating_sub(LOOK_NAMED as u64);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Ok(Some(format!("{} of the listed entries are not at the destination as they should be: {named}{more}", lacking + found.lost)))
}

fn look(shared: &Shared, claim: &Claim) -> Result<Found, ControlError> {
    let Some(listing) = &listing(shared)? else { return Ok(Found::default()) };
    let place = Digests::new(Arc::clone(&shared.control), &shared.prefix, &shared.plan.plan_id);
    let sent = || {
        let table = EntryTable::new(shared.destination.nameless());
        place.uploaded(Seat::SENDER, claim.entries).try_for_each(|line| line.map(|(entry, digest)| table.insert(entry, &digest)))?;
        Ok(table)
    };
    let skipped = shared.files.skipped();
    Look {
        control: &*shared.control,
        prefix: &shared.prefix,
        listing,
        destination: &*shared.destination,
        capabilities: shared.capabilities,
        placed: shared.files.placed(),
        skipped: &skipped,
        sent: &sent,
        proof: shared.proof,
        reading: shared.reading(),
    }
    .run()
}

/// The listing of the plan; none where nothing is moved.
fn listing(shared: &Shared) -> Result<Option<PlanListing>, ControlError> {
    if !shared.plan.open {
        return Ok(shared.plan.listing.clone());
    }
    let malformed = |why: String| ControlError::Malformed { what: shared.plan_key.clone(), why };
    let plan = TransferPlan::parse(&shared.control.read_object(&shared.plan_key, None)?).map_err(malformed)?;
    if plan.open || plan.plan_id != shared.plan.plan_id {
        return Err(malformed("is not the whole of the plan that was begun".to_owned()));
    }
    Ok(plan.listing)
}

/// Tries again what may work later.
fn patiently<T>(shared: &Shared, call: impl Fn() -> Result<T, ControlError>) -> Result<T, ControlError> {
    let mut tries = 1;
    loop {
        match call() {
            Err(ControlError::Unavailable { what, why }) if tries < LOOK_TRIES => tracing::warn!(what, why, tries, "look"),
            other => return other,
        }
        tries += 1;
        if shared.stop.sleep(PAUSE) {
            return Err(ControlError::Unavailable { what: "look".to_owned(), why: "the process is stopped".to_owned() });
        }
    }
}
