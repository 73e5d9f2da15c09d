//! Whether what was read of a file is of one state of it; what may be of another one is read again.

use std::time::Duration;

use super::chunk_error::ChunkError;
use super::segments::is_part;
use super::sink::Caller;
use crate::defaults::SECOND_LOOKS;
use crate::digest::{Digest, Proof};
use crate::documents::entry::Segment;
use crate::documents::event::SkipReason;
use crate::ends::{SourceFailure, SourceFile, Version};
use crate::send::noted::{Joins, States};

/// Pause of a lane whose file another one looks at.
const PAUSE: Duration = Duration::from_millis(50);

/// A segment that has been read to its end.
pub struct SecondLook<'a> {
    pub file: &'a dyn SourceFile,
    pub segment: &'a Segment,
    pub states: &'a States,
    pub proof: Proof,
    pub caller: &'a dyn Caller,
    pub buffer: &'a mut [u8],
}

impl SecondLook<'_> {
    /// Returns of which state the segment is, with all parts of its file that have gone out. `digest` is of its bytes, and `before` is what
    /// the file was when the first of them was read.
    pub fn settle(&mut self, digest: &Digest, before: Version) -> Result<Version, ChunkError> {
        let mut state = before;
        let mut looks = 0;
        loop {
            let now = self.file.check().map_err(ChunkError::Source)?;
            let behind = if now == state {
                if !is_part(self.segment) {
                    return Ok(state);
                }
                match self.states.join(self.segment, digest, state) {
                    Joins::Yes => return Ok(state),
                    Joins::After(others) => others,
                    Joins::Later if self.caller.goes_on() => {
                        std::thread::sleep(PAUSE);
                        continue;
                    }
                    Joins::Later => return Err(ChunkError::Answered),
                }
            } else {
                Vec::new()
            };
            looks += 1;
            if looks > SECOND_LOOKS {
                self.states.looked_at(self.segment.entry, None);
                return Err(self.changed(format!("changes again and again while it is read, {looks} times so far")));
            }
            if behind.is_empty() {
                self.is_still(self.segment.offset, digest)?;
                state = now;
                continue;
            }
            tracing::info!(entry = self.segment.entry, parts = behind.len(), "another change time: read again");
            // One that comes again has been read of this state just now.
            let looked_at: Vec<_> = behind.iter().copied().chain([(self.segment.offset, *digest)]).collect();
            let same = behind.iter().try_for_each(|(offset, digest)| self.is_still(*offset, digest)).and_then(|()| {
                let after = self.file.check().map_err(ChunkError::Source)?;
                Ok((after == state).then_some((state, &*looked_at)))
            });
            match same {
                Ok(same) => self.states.looked_at(self.segment.entry, same),
                Err(error) => {
                    self.states.looked_at(self.segment.entry, None);
                    return Err(error);
                }
            }
        }
    }

    /// Fails where the bytes of the segment, or of the part at another offset, are not those of this digest any more.
    fn is_still(&mut self, offset: u64, digest: &Digest) -> Result<(), ChunkError> {
        let of_part = is_part(self.segment);
        let mut hasher = if of_part { self.proof.part(offset) } else { self.proof.whole() };
        let length = if of_part { self.states.part_length(offset, self.segment.size) } else { self.segment.length };
        let (mut at, end) = (offset, offset + length);
        while at < end {
            if !self.caller.goes_on() {
                return Err(ChunkError::Answered);
            }
            let want = usize::try_from(end - at).unwrap_or(usize::MAX).min(self.buffer.len());
            let count = self.file.read(&mut self.buffer[..want], at).map_err(ChunkError::Source)?;
            hasher.update(&self.buffer[..count]);
            self.caller.reread(count as u64);
            at += count as u64;
        }
        if hasher.digest() == *digest {
            return Ok(());
        }
        Err(self.changed(format!("its bytes from {offset} on are not those any more that were read of it before")))
    }

    fn changed(&self, what: String) -> ChunkError {
        let message = format!("{}: {what}", self.segment.source);
        ChunkError::Source(SourceFailure { reason: SkipReason::SourceChanged, message, transient: false })
    }
}
