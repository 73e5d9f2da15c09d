//! The last handshake: all that was listed is at the destination, and both ends have read or written the same bytes.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::look::{Found, Look};
use super::{Outcome, Shared};
use crate::control::{Control, ControlError, Seat};
use crate::defaults::{LOOK_NAMED, LOOK_TRIES, PART_LINES};
use crate::digest::{Digest, TreeDigest, to_hex};
use crate::documents::plan::{PlanListing, TransferPlan};
use crate::documents::text::{HexDigest, PlanId};
use crate::entry_table::EntryTable;
use crate::epoch::same_start;
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
    let place = Digests { control: &*shared.control, prefix: &shared.prefix, plan: &shared.plan.plan_id };
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
    let place = Digests { control: &*shared.control, prefix: &shared.prefix, plan: &shared.plan.plan_id };
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

/// The place of both ends' digests: below the plan's own id, so that those of another plan are never read.
pub struct Digests<'a> {
    pub control: &'a dyn Control,
    /// Prefix of objects' keys; it ends with a slash or is empty.
    pub prefix: &'a str,
    pub plan: &'a PlanId,
}

#[derive(serde::Deserialize)]
struct Line {
    entry: u64,
    digest: HexDigest,
}

impl Digests<'_> {
    /// Writes `digests/{plan}/{seat}/part-NNNNN.ndjson`, ascending. Returns how many they are, and the digest of them all.
    pub fn upload(&self, seat: Seat, digests: impl Iterator<Item = (u64, Digest)>) -> Result<(u64, Digest), ControlError> {
        let (mut lines, mut tree, mut part) = (digests.peekable(), TreeDigest::default(), 0);
        while lines.peek().is_some() {
            let mut text = Vec::new();
            for (entry, digest) in lines.by_ref().take(PART_LINES) {
                tree.add(entry, &digest);
                text.extend_from_slice(b"{\"entry\": ");
                text.extend_from_slice(entry.to_string().as_bytes());
                text.extend_from_slice(b", \"digest\": \"");
                text.extend_from_slice(blake3::Hash::from_bytes(digest).to_hex().as_bytes());
                text.extend_from_slice(b"\"}\n");
            }
            self.control.write_object(&self.key(seat, part), text)?;
            part += 1;
        }
        Ok(tree.finish())
    }

    /// Reads what a seat has uploaded, so many `entries`, an object at a time.
    pub fn uploaded(&self, seat: Seat, entries: u64) -> impl Iterator<Item = Result<(u64, Digest), ControlError>> + '_ {
        (0..entries.div_ceil(PART_LINES as u64)).flat_map(move |part| {
            let key = self.key(seat, usize::try_from(part).unwrap_or(usize::MAX));
            let read = self.control.read_object(&key, None).and_then(|text| lines_of(&key, &text));
            read.map_or_else(|error| vec![Err(error)], |lines| lines.into_iter().map(Ok).collect())
        })
    }

    fn key(&self, seat: Seat, part: usize) -> String {
        format!("{}digests/{}/{}/part-{part:05}.ndjson", self.prefix, self.plan, seat)
    }
}

fn lines_of(key: &str, text: &[u8]) -> Result<Vec<(u64, Digest)>, ControlError> {
    let malformed = |why: String| ControlError::Malformed { what: key.to_owned(), why };
    let lines = serde_json::Deserializer::from_slice(text).into_iter::<Line>();
    let parsed = lines.map(|line| {
        let line = line.map_err(|error| malformed(error.to_string()))?;
        let digest = blake3::Hash::from_hex(line.digest.as_str()).map_err(|error| malformed(error.to_string()))?;
        Ok((line.entry, digest.into()))
    });
    parsed.collect()
}
