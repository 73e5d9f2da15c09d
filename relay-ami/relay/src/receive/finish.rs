//! The last handshake: all that was listed is at the destination, and both ends have read or written the same bytes.

mod gathering;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::asked::{Asked, Claim};
use super::beside::{Beside, Here};
use super::files::Site;
use super::outcome::{End, Outcome};
use crate::control::{self, Control, ControlError, Seat};
use crate::defaults::{CONTROL_PAUSE, LOOK_NAMED, LOOK_TRIES};
use crate::digest::{Proof, to_hex};
use crate::documents::plan::{PlanListing, TransferPlan};
use crate::entry_table::EntryTable;
use crate::look::{Found, Look};
use crate::objects::digests::Digests;
use crate::transport::stream::StreamError;
use crate::under_way::UnderWay;
use crate::wire::frame::Frame;

/// Pause between two tries to read what the look needs.
const PAUSE: Duration = Duration::from_secs(1);

/// What the last handshake asks.
pub struct Finish {
    pub site: Arc<Site>,
    pub seat: Seat,
    pub control: Arc<dyn Control>,
    /// Calls of the control plane.
    pub asked: Arc<UnderWay>,
    pub digests: Digests,
    /// The plan as it was at the beginning.
    pub plan: TransferPlan,
    pub plan_key: String,
    pub prefix: String,
    pub proof: Proof,
    pub end: Arc<End>,
}

impl Finish {
    /// Looks, uploads this end's digests, answers. The process ends once the sender has confirmed that it heard.
    pub fn run(&self, asked: &Asked<'_>, claim: &Claim, is_comparable: bool) -> Result<Outcome, StreamError> {
        let (site, Asked { replies, beside, .. }) = (&*self.site, *asked);
        let _turn = beside.map(Beside::turn);
        if site.files.has_others() {
            // A process before this one has gathered, and what has come to this one since then waits.
            self.take_over(asked)?;
        }
        let call = site.disk.enter();
        site.destination.sync()?;
        drop(call);
        let disagreement = if claim.complete { self.disagreement(asked, claim)? } else { None };
        // The look is beneath the directory itself, wherever that is.
        if !self.end.check_there(site) {
            return Err(StreamError::Ended);
        }
        let digests = || site.files.placed().iter().map(|(entry, placed)| (entry, placed.digest));
        let uploaded = self.until_answered(asked, "digests", || self.digests.upload(self.seat, digests()));
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
        // Where this was given up meanwhile, another receiver works with what would be removed.
        if agreed && !self.is_left_to_this(asked) {
            return Err(StreamError::Ended);
        }
        // A comparison of everything proves that no partial file is needed any more. Where chunks were given up the transfer is
        // over too, and nothing resumes it. Partial files stay where it was stopped, or has ended without agreement.
        if agreed {
            let call = site.disk.enter();
            if let Err(error) = site.destination.finish(&|| call.goes_on()) {
                tracing::warn!(%error, "partial files");
            }
        }
        let received = if is_comparable { site.counters.moved.load(Ordering::Relaxed) } else { 0 };
        let call = site.disk.enter();
        let kept = site.destination.kept().inspect_err(|error| tracing::warn!(%error, "what is kept is not counted")).unwrap_or_default();
        drop(call);
        replies.send(&Frame::Finished { agreed, entries, received, kept, message: message.clone() })?;
        Ok(if agreed { Outcome::Agreed } else { Outcome::Disagreed(message) })
    }

    /// Returns whether somebody waits for the answer.
    fn is_wanted(&self, asked: &Asked<'_>) -> bool {
        !self.end.stop.is_requested() && !asked.here.is_some_and(Here::is_cut)
    }

    /// Asks anew: what this knows may be old.
    fn is_left_to_this(&self, asked: &Asked<'_>) -> bool {
        let Some(beside) = asked.beside else { return true };
        let found = self.until_answered(asked, "who finishes", || Ok((self.control.membership()?, self.control.finish()?)));
        found.is_some_and(|(membership, finish)| beside.finishes(membership.as_ref(), finish.as_ref()))
    }

    /// Returns what is not as it should be at the destination, in words.
    fn disagreement(&self, asked: &Asked<'_>, claim: &Claim) -> Result<Option<String>, StreamError> {
        let site = &*self.site;
        let unfinished = site.files.unfinished();
        if unfinished > 0 {
            return Ok(Some(format!("{unfinished} large files lack parts")));
        }
        let begun = Instant::now();
        let found = match self.patiently(asked, || self.look(asked, claim)) {
            Ok(found) => found,
            Err(error) => return Ok(Some(format!("the destination could not be compared with the listing: {error}"))),
        };
        let lacking = found.lacking.len() as u64;
        tracing::info!(seconds = begun.elapsed().as_secs_f64(), lacking, lost = found.lost, "looked at the destination");
        for (entry, placed) in found.renewed {
            site.files.complete(entry, placed);
        }
        let call = site.disk.enter();
        for entry in found.lacking {
            site.files.forget(&*site.destination, entry)?;
            call.goes_on();
        }
        // On the disk before the first of them is begun anew.
        site.destination.sync_notes()?;
        drop(call);
        if lacking == 0 && found.lost == 0 {
            // The sender has named them all on this stream.
            let skipped = site.files.skipped().len() as u64;
            let differs = || format!("the receiver has left {skipped} entries out, the sender {}", claim.skipped);
            return Ok((skipped != claim.skipped).then(differs));
        }
        let named = found.named.join("; ");
        let more = (lacking + found.lost).saturating_sub(LOOK_NAMED as u64);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        Ok(Some(format!("{} of the listed entries are not at the destination as they should be: {named}{more}", lacking + found.lost)))
    }

    fn look(&self, asked: &Asked<'_>, claim: &Claim) -> Result<Found, ControlError> {
        let site = &*self.site;
        let Some(listing) = &self.listing()? else { return Ok(Found::default()) };
        let sent = || {
            let table = EntryTable::new(site.destination.nameless());
            self.digests
                .uploaded(Seat::SENDER, claim.entries)
                .try_for_each(|line| line.map(|(entry, digest)| table.insert(entry, &digest)))?;
            Ok(table)
        };
        let skipped = site.files.skipped();
        Look {
            control: &*self.control,
            prefix: &self.prefix,
            listing,
            destination: &*site.destination,
            capabilities: site.capabilities,
            placed: site.files.placed(),
            skipped: &skipped,
            sent: &sent,
            proof: self.proof,
            reading: site.reading(),
            is_wanted: &|| self.is_wanted(asked),
        }
        .run()
    }

    /// The listing of the plan; none where nothing is moved.
    fn listing(&self) -> Result<Option<PlanListing>, ControlError> {
        if !self.plan.open {
            return Ok(self.plan.listing.clone());
        }
        let malformed = |why: String| ControlError::Malformed { what: self.plan_key.clone(), why };
        let plan = TransferPlan::parse(&self.control.read_object(&self.plan_key, None)?).map_err(malformed)?;
        if plan.open || plan.plan_id != self.plan.plan_id {
            return Err(malformed("is not the whole of the plan that was begun".to_owned()));
        }
        Ok(plan.listing)
    }

    /// Tries again what may work later.
    fn patiently<T>(&self, asked: &Asked<'_>, call: impl Fn() -> Result<T, ControlError>) -> Result<T, ControlError> {
        let mut tries = 1;
        loop {
            match call() {
                Err(ControlError::Unavailable { what, why }) if tries < LOOK_TRIES && self.is_wanted(asked) => {
                    tracing::warn!(what, why, tries, "look")
                }
                other => return other,
            }
            tries += 1;
            if self.end.stop.sleep(PAUSE) {
                return Err(ControlError::Unavailable { what: "look".to_owned(), why: "the process is stopped".to_owned() });
            }
        }
    }

    /// Repeats what the control plane did not do as long as somebody waits for the answer.
    fn until_answered<T>(&self, asked: &Asked<'_>, what: &str, call: impl Fn() -> control::Result<T>) -> Option<T> {
        let _call = self.asked.enter();
        loop {
            let answer = call();
            if !self.is_wanted(asked) {
                return None;
            }
            match answer {
                Ok(found) => return Some(found),
                Err(error) => tracing::warn!(what, %error, "asked for again"),
            }
            if self.end.stop.sleep(CONTROL_PAUSE) {
                return None;
            }
        }
    }
}
