//! Chunks that one lane has sent, or is sending, and that the receiver has not answered yet.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::send::noted::Sent;
use crate::send::work::Work;
use crate::thread::lock;

/// Kept over a lane's streams: what one of them was not answered for goes out on the next.
#[derive(Default)]
pub struct Unacknowledged(Mutex<BTreeMap<u64, (Work, Option<Sent>)>>);

impl Unacknowledged {
    /// A chunk begins to go out.
    pub fn begin(&self, work: Work) {
        lock(&self.0).insert(work.chunk, (work, None));
    }

    /// Notes that a chunk has gone out whole but for its digest; `false` where the receiver has refused it meanwhile.
    pub fn sent(&self, chunk: u64, sent: Sent) -> bool {
        lock(&self.0).get_mut(&chunk).map(|(_, slot)| *slot = Some(sent)).is_some()
    }

    /// Returns whether the chunk is still to be answered.
    pub fn holds(&self, chunk: u64) -> bool {
        lock(&self.0).contains_key(&chunk)
    }

    /// The chunk that an answer is about; none for an attempt that nobody waits for any more.
    pub fn answered(&self, chunk: u64, attempt: u32) -> Option<(Work, Option<Sent>)> {
        let mut waiting = lock(&self.0);
        if waiting.get(&chunk).is_some_and(|(work, _)| work.attempt == attempt) { waiting.remove(&chunk) } else { None }
    }

    /// As [`answered`](Self::answered), but the chunk waits on.
    pub fn look(&self, chunk: u64, attempt: u32) -> Option<Work> {
        lock(&self.0).get(&chunk).map(|(work, _)| work).filter(|work| work.attempt == attempt).cloned()
    }

    /// Those that a new stream sends again, in their order. What another lane has brought over meanwhile is forgotten.
    pub fn again(&self) -> Vec<Work> {
        let mut waiting = lock(&self.0);
        waiting.retain(|_, (work, _)| !work.flight.is_settled());
        waiting.values().map(|(work, _)| work.clone()).collect()
    }

    /// Returns whether an answer is still wanted for any of them.
    pub fn is_wanted(&self) -> bool {
        lock(&self.0).values().any(|(work, _)| !work.flight.is_settled())
    }

    /// Takes all of them: nobody waits for them from now on.
    pub fn take_all(&self) -> Vec<(Work, Option<Sent>)> {
        std::mem::take(&mut *lock(&self.0)).into_values().collect()
    }

    pub fn len(&self) -> usize {
        lock(&self.0).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send::builders::work;

    fn whole() -> Sent {
        Sent::Whole(vec![(1, [1; 32])])
    }

    #[test]
    fn an_answer_counts_once_and_only_for_the_attempt_that_is_under_way() {
        let waiting = Unacknowledged::default();
        waiting.begin(Work { attempt: 2, ..work(5) });
        assert!(waiting.answered(5, 1).is_none() && waiting.look(5, 1).is_none(), "an earlier attempt");
        assert!(waiting.sent(5, whole()));
        let (work, sent) = waiting.answered(5, 2).unwrap();
        assert_eq!((work.chunk, sent.is_some()), (5, true));
        assert!(waiting.answered(5, 2).is_none() && waiting.len() == 0);
    }

    #[test]
    fn a_chunk_that_was_refused_before_its_end_is_not_sent_to_its_end() {
        let waiting = Unacknowledged::default();
        waiting.begin(work(5));
        assert!(waiting.holds(5));
        assert!(waiting.answered(5, 1).is_some_and(|(_, sent)| sent.is_none()));
        assert!(!waiting.holds(5) && !waiting.sent(5, whole()));
    }

    #[test]
    fn a_new_stream_sends_what_was_not_answered_and_its_digests_count_anew() {
        let waiting = Unacknowledged::default();
        waiting.begin(work(9));
        waiting.begin(work(4));
        waiting.sent(9, whole());
        assert_eq!(waiting.again().iter().map(|work| work.chunk).collect::<Vec<_>>(), [4, 9]);
        waiting.begin(work(9));
        let left: Vec<_> = waiting.take_all().iter().map(|(work, sent)| (work.chunk, sent.is_some())).collect();
        assert_eq!(left, [(4, false), (9, false)]);
        assert_eq!(waiting.len(), 0);
    }

    #[test]
    fn what_another_lane_has_brought_over_is_neither_waited_for_nor_sent_again() {
        let waiting = Unacknowledged::default();
        let (settled, open) = (work(4), work(9));
        waiting.begin(settled.clone());
        waiting.begin(open.clone());
        settled.flight.settle();
        assert!(waiting.is_wanted());
        assert_eq!(waiting.again().iter().map(|work| work.chunk).collect::<Vec<_>>(), [9]);
        open.flight.settle();
        assert!(!waiting.is_wanted());
    }
}
