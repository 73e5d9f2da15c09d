//! What the mount of a destination in memory does wrong during a run, as clients of network file systems do.

use cpt_relay::ends::Destination;
use rustix::io::Errno;

use crate::memory::MemoryDestination;
use crate::place::Place;
use crate::random::Random;
use crate::s3_faults::Fault;
use crate::shared::{Call, Machine};
use crate::steps::{End, Run};
use crate::tally::Tally;
use crate::world::World;

/// Each first receiver of a run finds it so.
#[derive(Clone, Copy, Debug)]
pub enum MountFault {
    /// So many calls are done, and say this.
    Lost(Call, u64, Errno),
    /// So many looks see what was there when the run began.
    Old(u64),
}

impl MountFault {
    pub fn draw_old(random: &mut Random) -> Self {
        Self::Old(1 + random.below(3) as u64)
    }

    pub fn draw_lost(random: &mut Random) -> Self {
        let times = 1 + random.below(3) as u64;
        let call = random.pick(&[Call::Small, Call::Large, Call::Directory, Call::Note, Call::Sync]);
        Self::Lost(call, times, random.pick(&[Errno::IO, Errno::STALE, Errno::NOENT, Errno::TIMEDOUT]))
    }

    /// Which calls of a bucket's service go wrong, and how: it remembers nothing, so none where a mount would.
    fn of_service(self) -> Option<(&'static str, u64, Fault)> {
        let Self::Lost(call, times, says) = self else { return None };
        let operation = match call {
            Call::Small => "PutObject",
            Call::Large => "CompleteMultipartUpload",
            Call::Directory => "CreateMultipartUpload",
            Call::Note => "UploadPart",
            Call::Sync => "ListObjectsV2",
        };
        let fault = match says {
            Errno::IO => Fault::Lost,
            Errno::STALE => Fault::Refused(503, "SlowDown"),
            Errno::NOENT => Fault::Cut,
            _ => Fault::Halved,
        };
        Some((operation, times, fault))
    }

    /// The destination through such a mount.
    fn of(self, memory: &MemoryDestination, tally: &mut Tally) -> Box<dyn Destination> {
        let machine = Machine::of(memory);
        match self {
            Self::Lost(call, times, says) => {
                tally.count("mounts: answers that are lost");
                machine.lose(call, times, says);
            }
            Self::Old(looks) => {
                tally.count("mounts: looks at what was");
                machine.remember(looks);
            }
        }
        Box::new(machine)
    }
}

impl World {
    /// The service of a bucket as this run finds it.
    pub fn spoil_service(&mut self, run: &Run) {
        let Some(bucket) = self.home.place.bucket() else { return };
        bucket.next_receiver();
        if let Some((operation, times, fault)) = run.mount.and_then(MountFault::of_service) {
            bucket.meet(operation, times, fault);
        }
    }

    pub fn count_killed(&mut self, end: End) {
        if end == End::Receiver && self.home.place.bucket().is_some() {
            self.tally.count("buckets: receivers killed");
        }
    }

    /// What has come to a bucket in a run.
    pub fn count_bucket(&mut self, run: &Run) {
        let Some(bucket) = self.home.place.bucket() else { return };
        if bucket.is_well_again() {
            self.tally.count(match run.mount.and_then(MountFault::of_service) {
                Some((_, _, Fault::Refused(..) | Fault::Cut)) => "buckets: calls that are not taken",
                _ => "buckets: answers that are lost",
            });
        }
        let counted = [
            ("CompleteMultipartUpload", "buckets: objects that came in parts"),
            ("AbortMultipartUpload", "buckets: uploads that were aborted"),
        ];
        for (operation, what) in counted {
            if bucket.take_calls(operation) > 0 {
                self.tally.count(what);
            }
        }
    }

    /// The destination as the receiver of this run sees it.
    pub fn destination(&mut self, run: &Run) -> Box<dyn Destination> {
        match (&self.home.place, run.mount) {
            (Place::Memory(memory), Some(fault)) => {
                // What is not done after some tries is named.
                let lost = matches!(fault, MountFault::Lost(..));
                self.current.into_iter().for_each(|current| self.plans[current].lost_answers |= lost);
                fault.of(memory, &mut self.tally)
            }
            (place, _) => place.destination(),
        }
    }
}
