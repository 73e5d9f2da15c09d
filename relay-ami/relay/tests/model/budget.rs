//! A run whose budget bears little at first, and twice as much after each look at the meter.

use std::time::{Duration, Instant};

use cpt_relay::control::{Control as _, Seat, unix_now};
use cpt_relay::documents::leases::BudgetLease;

use crate::steps::{Moment, Run};
use crate::world::{World, Wrong};

/// Between two looks at the meter: a sender that pauses sees what came of one within half a second.
const LOOK: Duration = Duration::from_millis(250);

/// The meter of one run.
pub struct Meter {
    next_look: Instant,
}

impl Meter {
    pub fn new() -> Self {
        Self { next_look: Instant::now() + LOOK }
    }

    /// Looks, if it is time to.
    pub fn look(&mut self, world: &World) {
        if Instant::now() < self.next_look {
            return;
        }
        self.next_look = Instant::now() + LOOK;
        let Ok(Some(mut membership)) = world.home.directory().membership() else { return };
        if let Some(lease) = &mut membership.budget_lease {
            lease.usd *= 2.0;
            world.home.directory().put_membership(&membership).unwrap();
        }
    }
}

/// What a run begins with, at a dollar per gigabyte. Its meter begins with it too, as that of a new start does.
pub fn first_lease(run: &Run, world: &World) -> Option<BudgetLease> {
    let usd = run.leased? as f64 / 1e9;
    for side in [Seat::SENDER, Seat::RECEIVER] {
        let _ = std::fs::remove_file(world.home.control().join(format!("records/progress-{}.json", side)));
    }
    Some(BudgetLease { start: 0, at: unix_now(), sent_bytes: 0, usd, usd_per_gb: 1.0, usd_per_hour: 0.0 })
}

/// What was granted by now.
pub fn present_lease(world: &World) -> Option<BudgetLease> {
    world.home.directory().membership().ok()??.budget_lease
}

/// A sender that has reported more than it was granted. What one that ends early sent after its last report is not granted to the next
/// one: the receiver tells of it at the end.
pub fn check(run: &Run, world: &World, wrong: &mut Wrong) {
    if run.moment.as_ref().is_some_and(Moment::ends_a_sender) {
        return;
    }
    let directory = world.home.directory();
    let (Ok(Some(sent)), Ok(Some(membership))) = (directory.progress(Seat::SENDER), directory.membership()) else { return };
    let bytes = sent.moved_bytes - sent.saved_bytes;
    if let Some(lease) = membership.budget_lease.filter(|lease| !lease.bears(bytes, 0.0)) {
        wrong.push(format!("{bytes} bytes were sent, and {} dollars granted at a dollar per gigabyte", lease.usd));
    }
}
