//! The destination, with all that has come to it.

use std::io;

use super::large::{Files, Part};
use super::refusal::Refusal;
use super::target::Target;
use crate::documents::entry::Kind;
use crate::documents::event::SkipReason;
use crate::ends::problem::in_words;
use crate::ends::{Capabilities, OpenDestination};
use crate::look::Reading;
use crate::progress::Counters;
use crate::transport::stream::Replies;
use crate::under_way::UnderWay;
use crate::wire::frame::{Frame, SegmentHeader};

/// The destination, what is known of its files, and who hears of the work on it.
pub struct Site {
    pub destination: Box<dyn OpenDestination>,
    /// The destination's name.
    pub name: String,
    pub capabilities: Capabilities,
    pub files: Files,
    pub part_bytes: u64,
    /// Calls of the file system.
    pub disk: UnderWay,
    pub counters: Counters,
}

impl Site {
    /// Begins an entry that comes on this path. Fails where the destination does not take it.
    pub fn target(&self, header: &SegmentHeader, is_part: bool, path: &str) -> io::Result<Target> {
        let Self { destination, capabilities, .. } = self;
        let cannot = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the destination does not take {what}")));
        match header.kind {
            Kind::File if is_part && !capabilities.parts => cannot("files in parts"),
            Kind::Symlink if !capabilities.links => cannot("symbolic links"),
            Kind::Hardlink if !capabilities.hard_links => cannot("hard links"),
            Kind::Special if !capabilities.special_files => cannot("special files"),
            Kind::File if is_part => Ok(self.part(header, path)?.map_or(Target::Nowhere, Target::Part)),
            Kind::File | Kind::Symlink | Kind::Hardlink | Kind::Special => Ok(Target::Whole(destination.small_by(header, path)?)),
            Kind::Directory => Ok(Target::Directory),
        }
    }

    fn part(&self, header: &SegmentHeader, path: &str) -> io::Result<Option<Part>> {
        self.files.part(&*self.destination, header, self.part_bytes, path)
    }

    /// A chunk does not count.
    pub fn refuse(&self, replies: &Replies, chunk: u64, attempt: u32, refusal: Refusal) {
        self.counters.failed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let _ = replies.send(&match refusal {
            Refusal::Failed { reason, message } => {
                tracing::warn!(chunk, attempt, reason = reason.as_str(), message, "chunk refused");
                Frame::Nack { chunk, attempt, reason, message }
            }
            Refusal::Full(message) => {
                tracing::warn!(chunk, attempt, reason = "destination-full", message, "chunk refused");
                Frame::Full { chunk, attempt, message }
            }
        });
    }

    /// One entry of a chunk cannot be placed; the others can. Fails where that cannot be noted.
    pub fn leave_out(
        &self,
        replies: &Replies,
        (chunk, attempt): (u64, u32),
        entry: u64,
        reason: SkipReason,
        why: &io::Error,
    ) -> io::Result<()> {
        tracing::warn!(chunk, entry, reason = reason.as_str(), %why, "entry refused");
        let call = self.disk.enter();
        self.files.skip(&*self.destination, entry)?;
        drop(call);
        // Where it is not heard the files of the two ends differ in the end, and it is said again.
        let _ = replies.send(&Frame::Refused { chunk, attempt, entry, reason, message: in_words(why) });
        Ok(())
    }

    /// Whoever reads again what is at the destination tells of it so.
    pub const fn reading(&self) -> Reading<'_> {
        Reading { disk: &self.disk, reread: &self.counters.reread }
    }
}
