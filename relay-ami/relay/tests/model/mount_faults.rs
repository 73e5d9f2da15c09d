//! What the mount of a destination in memory does wrong during a run, as clients of network file systems do.

use cpt_relay::ends::Destination;
use rustix::io::Errno;

use crate::memory::MemoryDestination;
use crate::place::Place;
use crate::random::Random;
use crate::shared::{Call, Machine};
use crate::steps::Run;
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
