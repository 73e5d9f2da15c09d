//! Ranges that this process has not fed, for the sender that finishes: it takes them as if an earlier process of its own had delivered
//! them.

use crate::control::ControlError;
use crate::defaults::CONTROL_PAUSE;
use crate::digest::Proof;
use crate::documents::chunk::Chunk;
use crate::documents::plan::TransferPlan;
use crate::send::error::SendError;
use crate::send::noted::sent_object::{self, SentRange};
use crate::send::range_items::RangeItems;
use crate::send::settled::Origin;
use crate::stop::Stop;
use crate::thread;

/// Ranges that are read at once: each takes two or three requests.
const AT_ONCE: usize = 8;

/// Entries of which it is known at once what was sent: 5 MB, beside those of which the source is read.
const ENTRIES_AT_ONCE: u64 = 64_000;

/// Times that an object is asked for before the source is read again in its place.
const TRIES: u32 = 3;

/// Reads what others have settled.
pub struct Others {
    pub items: RangeItems,
    pub proof: Proof,
    /// Of digests, without a slash at its end.
    pub folder: String,
    pub stop: Stop,
}

impl Others {
    /// Nothing is fed any more.
    pub fn is_over(&self) -> bool {
        self.stop.is_requested() || self.items.chunks.queue.is_over()
    }

    /// What is noted of a settled range; nothing where it cannot be had: then the source is read again.
    pub fn sent(&self, plan: &TransferPlan, range: u64) -> Result<Option<SentRange>, SendError> {
        let key = sent_object::key(&self.folder, range);
        for _ in 0..TRIES {
            match self.items.control.read_object(&key, None) {
                Ok(bytes) => return Ok(Some(sent_object::read(&plan.plan_id, self.proof, &bytes).unwrap_or_default())),
                Err(error @ ControlError::Unavailable { .. }) => tracing::warn!(range, %error, "what was sent of it: asked for again"),
                Err(error) => {
                    tracing::warn!(range, %error, "what was sent of it is not known");
                    break;
                }
            }
            if self.stop.sleep(CONTROL_PAUSE) || self.items.chunks.queue.is_over() {
                return Ok(None);
            }
        }
        Ok(Some(SentRange::default()))
    }

    /// Feeds all that is left of the plan: the last phases, and of the ranges that this process has not fed everything; `false` once
    /// the work queue is closed.
    pub fn feed(&self, plan: &TransferPlan, is_fed: impl Fn(u64) -> bool + Sync) -> Result<bool, SendError> {
        let (ranges, begin) = (plan.ranges().collect::<Vec<_>>(), plan.first_range * plan.range_size);
        for some in ranges.chunks(AT_ONCE) {
            let items = |range| Ok((range, self.items.read(plan, range, &(begin..begin + plan.chunks))?));
            let read: Result<Vec<_>, SendError> = thread::map(AT_ONCE, some.to_vec(), items).into_iter().collect();
            for group in together(read?.into_iter().filter_map(|(range, chunks)| Some((range, chunks?)))) {
                let known = thread::map(AT_ONCE, group, |(range, chunks)| {
                    // A range without data is nobody's.
                    let is_settled = !is_fed(range) && chunks.iter().any(|chunk| chunk.phase == 0);
                    let sent = if is_settled { self.sent(plan, range)? } else { Some(SentRange::default()) };
                    Ok::<_, SendError>((range, chunks, sent))
                });
                for one in known {
                    let (range, mut chunks, sent) = one?;
                    let Some(sent) = sent else { return Ok(false) };
                    let origin = if is_fed(range) { Origin::Here } else { Origin::Elsewhere };
                    chunks.retain(|chunk| origin == Origin::Elsewhere || chunk.phase > 0);
                    self.items.chunks.sent_elsewhere(sent);
                    if !self.items.feed(&chunks, origin)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }
}

/// Ranges whose objects memory bears at once; one that holds more is alone.
fn together(ranges: impl Iterator<Item = (u64, Vec<Chunk>)>) -> Vec<Vec<(u64, Vec<Chunk>)>> {
    let (mut groups, mut left): (Vec<Vec<_>>, _) = (Vec::new(), 0);
    for (range, chunks) in ranges {
        let entries = chunks.iter().map(|chunk| chunk.files.max(1)).sum::<u64>();
        match groups.last_mut() {
            Some(group) if entries <= left => group.push((range, chunks)),
            _ => {
                left = ENTRIES_AT_ONCE;
                groups.push(vec![(range, chunks)]);
            }
        }
        left = left.saturating_sub(entries);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::chunk::ChunkState;
    use crate::send::builders::item;

    #[test]
    fn objects_are_read_together_as_far_as_memory_bears_what_they_say() {
        let range = |number: u64, files| (number, vec![Chunk { files, ..item(number, ChunkState::Delivered, 1, None) }]);
        let half = ENTRIES_AT_ONCE / 2;
        let groups = together([range(0, half), range(1, half), range(2, 1), range(3, 3 * half), range(4, 0), range(5, 1)].into_iter());
        let numbers: Vec<Vec<u64>> = groups.iter().map(|group| group.iter().map(|(number, _)| *number).collect()).collect();
        assert_eq!(numbers, [vec![0, 1], vec![2], vec![3], vec![4, 5]]);
    }
}
