//! Reads chunks ahead of the lanes: leases a range, reads its items and their manifest lines.

use super::error::SendError;
use super::range_items::RangeItems;
use super::settled::Origin;
use crate::control::leases::Owner;
use crate::defaults::WATCH_INTERVAL;
use crate::documents::plan::TransferPlan;
use crate::stop::Stop;

/// The loop that reads the plan.
pub struct Feeder {
    /// As it was at the beginning.
    pub plan: TransferPlan,
    pub plan_key: String,
    pub owner: Owner,
    pub items: RangeItems,
    pub stop: Stop,
}

impl Feeder {
    /// Feeds the work queue with all chunks in order, as far as they are planned; follows the plan until it is whole.
    pub fn run(&self) -> Result<(), SendError> {
        let mut plan = self.plan.clone();
        let mut fed = 0;
        loop {
            if !self.feed(&plan, fed)? {
                return Ok(());
            }
            fed = plan.chunks;
            if !plan.open {
                return Ok(());
            }
            plan = match self.next(fed) {
                Some(plan) => plan,
                None => return Ok(()),
            };
            if !plan.open {
                self.items.chunks.planned(&plan);
            }
        }
    }

    /// The plan once it has more than `fed` chunks or is whole; none when the process ends.
    fn next(&self, fed: u64) -> Option<TransferPlan> {
        while !self.stop.sleep(WATCH_INTERVAL) && !self.items.chunks.queue.is_over() {
            let read = self.items.control.read_object(&self.plan_key, None).map_err(|error| error.to_string());
            match read.and_then(|text| TransferPlan::parse(&text)) {
                Ok(plan) if plan.plan_id != self.plan.plan_id => tracing::warn!(key = self.plan_key, "another plan"),
                Ok(plan) if plan.chunks > fed || !plan.open => return Some(plan),
                Ok(_) => {}
                // Whoever takes the transfer down removes the plan first and fences this process next.
                Err(why) => tracing::warn!(key = self.plan_key, why, "plan"),
            }
        }
        None
    }

    /// Feeds what `plan` has beyond its first `fed` chunks; `false` once the work queue is closed.
    fn feed(&self, plan: &TransferPlan, fed: u64) -> Result<bool, SendError> {
        let begin = plan.first_range * plan.range_size;
        let (first, end) = (begin + fed, begin + plan.chunks);
        let partly_fed = |range: &u64| fed < plan.chunks && (range + 1) * plan.range_size > first;
        for range in plan.ranges().filter(partly_fed) {
            let lease = || Ok(self.items.control.lease(range, &self.owner, None)?);
            let Some(is_own) = self.items.questions.until_answered("lease", lease)? else { return Ok(false) };
            if !is_own {
                return Err(SendError::Plan(format!("range {range} is leased by another seat; this sender is alone")));
            }
            let Some(chunks) = self.items.read(plan, range, &(first..end))? else { return Ok(false) };
            if !self.items.feed(&chunks, Origin::Here)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
#[path = "feeder_tests.rs"]
mod tests;
