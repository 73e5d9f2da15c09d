//! What came to all receivers becomes that of the one that finishes.

use std::time::Instant;

use super::Finish;
use crate::receive::asked::Asked;
use crate::receive::beside::Beside;
use crate::receive::commit::settled;
use crate::receive::files::Large;
use crate::thread::map;
use crate::transport::stream::StreamError;
use crate::wire::frame::Frame;

/// Files that are put into their places at once, where each takes its time.
const PLACED_AT_ONCE: usize = 16;

impl Finish {
    /// Takes over what has come to all receivers, and answers. What of it lacks parts comes again.
    pub fn gather(&self, asked: &Asked<'_>) -> Result<(), StreamError> {
        let Asked { replies, beside, .. } = *asked;
        let _turn = beside.map(Beside::turn);
        let (files, copied) = self.take_over(asked)?;
        replies.send(&Frame::Gathered { files, copied })
    }

    /// Returns how many files are complete by it, and how many bytes were copied.
    pub(super) fn take_over(&self, asked: &Asked<'_>) -> Result<(u64, u64), StreamError> {
        let (site, begun, Asked { beside, .. }) = (&*self.site, Instant::now(), *asked);
        // The sender may have read of one that was given up before this has.
        let membership = self.until_answered(asked, "membership", || self.control.membership()).ok_or(StreamError::Ended)?;
        beside.zip(membership).iter().for_each(|(beside, membership)| beside.heed(membership));
        let in_doubt = beside.map(Beside::in_doubt).unwrap_or_default();
        let call = site.disk.enter();
        let gathered = site.destination.gather(&in_doubt, &|_| {
            call.goes_on();
            self.is_wanted(asked)
        })?;
        drop(call);
        let copied = gathered.copied;
        let whole = site.files.take_over(gathered, site.part_bytes);
        let is_slow = whole.first().is_some_and(|file| file.is_placed_slowly());
        let (at_once, mut files) = (if is_slow { PLACED_AT_ONCE } else { 1 }, 0);
        for next in whole.chunks(at_once) {
            if !self.is_wanted(asked) {
                return Err(StreamError::Ended);
            }
            files += map(at_once, next.iter().collect(), |file| self.put_into_place(asked, file)).into_iter().sum::<u64>();
        }
        let call = site.disk.enter();
        site.destination.sync_notes()?;
        drop(call);
        tracing::info!(files, copied, seconds = begun.elapsed().as_secs_f64(), "gathered");
        Ok((files, copied))
    }

    /// How many files are complete by it, 0 or 1.
    fn put_into_place(&self, asked: &Asked<'_>, file: &Large) -> u64 {
        let site = &*self.site;
        let placed = file.check(&site.reading(), &|| self.is_wanted(asked)).and_then(|synced| match synced {
            Some(synced) => settled(&*site.destination, &site.files, file.entry(), synced),
            None => Ok(0),
        });
        // It is missing in the last look, and comes again, whole.
        placed.unwrap_or_else(|error| {
            tracing::warn!(entry = file.entry(), %error, "a file whose parts are all there is not in its place");
            0
        })
    }
}
