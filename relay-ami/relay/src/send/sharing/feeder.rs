//! Feeds the lanes where others send too: leases the plan's ranges one by one, no sooner than the lanes need them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::finisher::Finisher;
use super::others::Others;
use super::own::Own;
use super::ranges::{Choice, Ranges};
use super::retirement::Retirements;
use super::settling::WrittenRange;
use super::state::Sharing;
use crate::control::Seat;
use crate::control::leases::Owner;
use crate::defaults::WATCH_INTERVAL;
use crate::documents::chunk::Chunk;
use crate::documents::membership::Retired;
use crate::documents::plan::TransferPlan;
use crate::send::error::SendError;
use crate::send::settled::Origin;

/// Free ranges whose leases are read at once before one of them is asked for.
const LOOK_AHEAD: usize = 32;
/// Leases that one request reads.
const LEASES_READ: usize = 100;
/// Others' leases are looked at so often, once nothing is free.
const LEASES_INTERVAL: Duration = Duration::from_secs(1);
/// The lanes' need is looked at so often, beside each change of the work queue.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The loop that reads the plan where this sender is not alone.
pub struct SharingFeeder {
    pub plan: TransferPlan,
    pub plan_key: String,
    pub owner: Owner,
    pub others: Arc<Others>,
    pub sharing: Arc<Sharing>,
    pub own: Arc<Own>,
    pub written: Receiver<WrittenRange>,
}

/// State of the loop.
struct Course {
    plan: TransferPlan,
    ranges: Ranges,
    retirements: Retirements,
    plan_read_at: Instant,
    asked_at: Option<Instant>,
    /// Ranges below it were looked at before they were asked for.
    looked_to: u64,
}

impl Course {
    fn begin(plan: &TransferPlan, seat: Seat) -> Self {
        let mut ranges = Ranges::new(seat, plan.first_range);
        ranges.planned_to(end_of_data(plan));
        let retirements = Retirements::default();
        Self { plan: plan.clone(), ranges, retirements, plan_read_at: Instant::now(), asked_at: None, looked_to: 0 }
    }
}

impl SharingFeeder {
    /// Runs until the transfer is over.
    pub fn run(&self) -> Result<(), SendError> {
        let mut course = Course::begin(&self.plan, self.owner.seat);
        while !self.others.is_over() {
            self.follow(&mut course);
            if !course.plan.open && course.ranges.are_settled() {
                let finisher = Finisher { plan: &course.plan, ranges: &course.ranges, sharing: &self.sharing, others: &self.others };
                return finisher.run(course.retirements);
            }
            match self.next(&mut course) {
                Some(Choice::Lease(range, retired)) => self.lease(&mut course, range, retired.as_ref())?,
                Some(Choice::Adopt(range)) => {
                    course.ranges.feeds(range);
                    let Some(sent) = self.others.sent(&course.plan, range)? else { return Ok(()) };
                    let Some(chunks) = self.data_of(&course.plan, range)? else { return Ok(()) };
                    self.others.items.chunks.sent_elsewhere(sent);
                    self.others.items.feed(&chunks, Origin::Here)?;
                }
                None => self.others.items.chunks.queue.wait(LOOK_INTERVAL),
            }
        }
        Ok(())
    }

    /// Looks at what has changed.
    fn follow(&self, course: &mut Course) {
        while let Ok(WrittenRange(range)) = self.written.try_recv() {
            course.ranges.is_settled(range);
        }
        if course.plan.open && course.plan_read_at.elapsed() >= WATCH_INTERVAL {
            course.plan_read_at = Instant::now();
            self.read_plan(course);
        }
        if let Some(members) = self.sharing.members() {
            course.retirements.follow(&members);
        }
        if course.asked_at.is_none_or(|at| at.elapsed() >= LEASES_INTERVAL) {
            course.asked_at = Some(Instant::now());
            course.retirements.ask(&*self.others.items.control);
            if course.ranges.are_taken() {
                if !course.plan.open {
                    let chunks = &self.others.items.chunks;
                    chunks.queue.has_its_part(chunks.counters.bytes.load(Ordering::Relaxed));
                }
                let held = course.ranges.held();
                self.read_leases(course, &held);
            }
        }
    }

    fn read_plan(&self, course: &mut Course) {
        let read = self.others.items.control.read_object(&self.plan_key, None).map_err(|error| error.to_string());
        match read.and_then(|text| TransferPlan::parse(&text)) {
            Ok(plan) if plan.plan_id != self.plan.plan_id => tracing::warn!(key = self.plan_key, "another plan"),
            Ok(plan) => {
                course.ranges.planned_to(end_of_data(&plan));
                course.plan = plan;
            }
            // Whoever takes the transfer down removes the plan first and fences this process next.
            Err(why) => tracing::warn!(key = self.plan_key, why, "plan"),
        }
    }

    fn read_leases(&self, course: &mut Course, ranges: &[u64]) {
        for some in ranges.chunks(LEASES_READ) {
            match self.others.items.control.leases(some) {
                Ok(leases) => some.iter().zip(leases).for_each(|(range, lease)| course.ranges.note(*range, lease)),
                Err(error) => tracing::warn!(%error, "leases"),
            }
        }
    }

    /// The range to take now; none while the lanes have enough, or all are taken.
    fn next(&self, course: &mut Course) -> Option<Choice> {
        let is_low = self.sharing.is_low(self.others.items.chunks.queue.ready());
        let choice = course.ranges.next(course.retirements.holding(), is_low);
        match choice {
            Some(Choice::Lease(range, None)) if range >= course.looked_to => {
                let ahead = course.ranges.free(LOOK_AHEAD);
                self.read_leases(course, &ahead);
                course.looked_to = ahead.last().map_or(range, |last| last + 1);
            }
            // It may have settled the range before it was given up.
            Some(Choice::Lease(range, Some(_))) => self.read_leases(course, &[range]),
            _ => return choice,
        }
        course.ranges.next(course.retirements.holding(), is_low)
    }

    fn lease(&self, course: &mut Course, range: u64, retired: Option<&Retired>) -> Result<(), SendError> {
        let items = &self.others.items;
        let lease = || Ok(items.control.lease(range, &self.owner, retired)?);
        let Some(is_own) = items.questions.until_answered("lease", lease)? else { return Ok(()) };
        if !is_own {
            self.read_leases(course, &[range]);
            return Ok(());
        }
        tracing::info!(range, from = ?retired.map(|retired| retired.seat_id), "range leased");
        course.ranges.feeds(range);
        let Some(chunks) = self.data_of(&course.plan, range)? else { return Ok(()) };
        self.own.begin(range, chunks.iter().map(|chunk| chunk.chunk));
        items.feed(&chunks, Origin::Here)?;
        Ok(())
    }

    /// The chunks of a range that carry data.
    fn data_of(&self, plan: &TransferPlan, range: u64) -> Result<Option<Vec<Chunk>>, SendError> {
        let begin = plan.first_range * plan.range_size;
        let mut chunks = self.others.items.read(plan, range, &(begin..begin + plan.chunks))?;
        if let Some(chunks) = &mut chunks {
            chunks.retain(|chunk| chunk.phase == 0);
        }
        Ok(chunks)
    }
}

/// The first range after those that are planned whole and hold data.
fn end_of_data(plan: &TransferPlan) -> u64 {
    let (data, size) = (plan.chunks - plan.last_phase_chunks, plan.range_size.max(1));
    plan.first_range + if plan.open { data / size } else { data.div_ceil(size) }
}

#[cfg(test)]
#[path = "feeder_tests.rs"]
mod tests;
