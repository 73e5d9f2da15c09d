//! A whole transfer of several machines at each end, of which some are killed, frozen, woken or taken back at counted moments. What the
//! control plane does about it this thread does: it lays out paths, starts again, retires, and tells the ends that all is over.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::time::{Duration, Instant};

use cpt_relay::control::{Control as _, Seat};
use cpt_relay::documents::command::Verify;
use cpt_relay::documents::membership::{Membership, Path, Retired, Share};
use cpt_relay::documents::seat::Role;
use cpt_relay::documents::text::{Address, PathId, SchemaVersion1};
use rustix::process::Signal;

use crate::PATIENCE;
use crate::ends::{Ended, Home, Running, text_of};
use crate::seats_drawn::{Fault, Seats, What};
use crate::seen::KEPT;
use crate::tally::Tally;

/// A machine is frozen for so long before somebody wakes it or gives it up: several looks of the ends at what they follow.
const FROZEN: Duration = Duration::from_millis(600);
/// A receiver that has ended while no sender tells that all has arrived is started again, as a silent one is.
const SILENT: Duration = Duration::from_secs(2);
/// Each stream that a killed machine had costs its chunk one.
const ATTEMPTS: &str = "100";

/// The machines of a transfer, and what they are told.
pub struct Site<'a> {
    home: &'a Home,
    seats: &'a Seats,
    verify: Verify,
    machines: BTreeMap<Seat, Running>,
    addresses: BTreeMap<Seat, SocketAddrV4>,
    /// Receivers that have ended by themselves, and when.
    ended: BTreeMap<Seat, Instant>,
    retired: Vec<Retired>,
    /// Until when, and what comes then.
    frozen: BTreeMap<Seat, (Instant, What)>,
    /// They wake once all is over.
    asleep: Vec<Running>,
    /// By number: whom a path joins, and how often that has changed.
    joints: BTreeMap<usize, (Seat, Seat, SocketAddrV4, u64)>,
    version: u64,
    pub tally: Tally,
}

impl<'a> Site<'a> {
    /// All machines run, and know of one another.
    pub fn begin(home: &'a Home, seats: &'a Seats, verify: Verify) -> Result<Self, String> {
        let (machines, addresses, ended, frozen, joints) = Default::default();
        let (retired, asleep, version, tally) = (Vec::new(), Vec::new(), 0, Tally::default());
        let mut site = Self { home, seats, verify, machines, addresses, ended, retired, frozen, asleep, joints, version, tally };
        for seat in site.all(Role::Receiver) {
            site.start(seat)?;
        }
        site.tell();
        for seat in site.all(Role::Sender) {
            site.start(seat)?;
        }
        Ok(site)
    }

    /// Until a sender says that all has arrived, and all that are awake have ended.
    pub fn run(&mut self, delivered: impl Fn() -> u64) -> Result<(), String> {
        let (mut deadline, mut faults) = (Instant::now() + PATIENCE, self.seats.faults.iter().peekable());
        loop {
            if let Some(fault) = faults.next_if(|fault| delivered() >= fault.after) {
                self.act(fault)?;
                deadline = Instant::now() + PATIENCE;
            }
            self.end_frosts()?;
            if self.look()? {
                return self.end();
            }
            if Instant::now() > deadline {
                let still: Vec<String> = self.machines.keys().map(ToString::to_string).collect();
                return Err(format!(
                    "after {PATIENCE:?} nobody has told that all has arrived; {still:?} run, {:?} are retired",
                    self.retired
                ));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Those that were given up while they were frozen wake, find that, and end.
    pub fn wake(&mut self) -> Result<(), String> {
        for mut running in std::mem::take(&mut self.asleep) {
            self.tally.count("seats: woken after success");
            running.signal(Signal::CONT);
            let ended = crate::wait_for("the end of a machine that was given up", || running.ended());
            if let Ended::Dishonest(how) = ended {
                return Err(format!("a machine that woke after success ended with {how}"));
            }
        }
        Ok(())
    }

    fn all(&self, role: Role) -> Vec<Seat> {
        let (letter, count) = if role == Role::Sender { ('s', self.seats.senders) } else { ('r', self.seats.receivers) };
        (0..count).map(|number| Seat::new(&format!("{letter}{number}")).unwrap()).collect()
    }

    fn living(&self, role: Role) -> Vec<Seat> {
        self.all(role).into_iter().filter(|seat| self.retired.iter().all(|retired| retired.seat_id != *seat)).collect()
    }

    /// A process in a seat, the first or a later one.
    fn start(&mut self, seat: Seat) -> Result<(), String> {
        let (name, ready) = (seat.to_string(), format!("{seat}.ready"));
        let _ = std::fs::remove_file(self.home.path.join(&ready));
        let (size, key, verify) = (self.home.range_size.to_string(), format!("{seat}.key"), text_of(self.verify));
        let preserve = serde_json::to_string(&self.home.preserve).unwrap();
        let common = ["--control-dir", "control", "--attempts", ATTEMPTS, "--range-size", &size, "--ready", &ready, "--seat", &name];
        let many = ["--many-senders", "--many-receivers", "--verify", verify];
        let arguments = if seat.role == Role::Sender {
            [&["send", "--route-key", &key][..], &common, &many].concat()
        } else {
            let kept = ["--keep-replaced", KEPT];
            let kept = if self.home.place.keeps() { &kept[..] } else { &[] };
            let destination = self.home.place.directory().and_then(|path| path.to_str()).expect("several write into a directory");
            [&["receive", "--listen", "127.0.0.1:0", "--preserve", &preserve][..], &common, &many, kept, &[destination]].concat()
        };
        let mut running = Running::process(&self.home.path, &name, &arguments);
        let path = self.home.path.join(&ready);
        let early = crate::wait_for("machine", || match running.ended() {
            Some(ended) => Some(Some(ended)),
            None => std::fs::read(&path).is_ok_and(|text| text.ends_with(b"\n")).then_some(None),
        });
        // One that comes back once all is over has nothing to do.
        match early {
            Some(Ended::Dishonest(how)) => return Err(format!("{seat} did not start: {how}")),
            Some(_) => return Ok(()),
            None => {}
        }
        if seat.role == Role::Receiver {
            let key = self.home.directory().key(seat).unwrap().and_then(|key| key.address).expect("a receiver has an address");
            self.addresses.insert(seat, key.parse().unwrap());
        }
        self.ended.remove(&seat);
        self.machines.insert(seat, running);
        Ok(())
    }

    /// The membership, as the control plane lays it out: path k joins the living sender k mod N and the living receiver k mod R.
    fn tell(&mut self) {
        let (senders, receivers) = (self.living(Role::Sender), self.living(Role::Receiver));
        let mut paths = Vec::new();
        for number in 0..senders.len().max(receivers.len()) {
            let (from, to) = (senders[number % senders.len()], receivers[number % receivers.len()]);
            let address = self.addresses[&to];
            let known = self.joints.get(&number).copied();
            let generation = match known {
                Some((before, after, at, generation)) if (before, after, at) == (from, to, address) => generation,
                known => known.map_or(0, |(.., generation)| generation + 1),
            };
            self.joints.insert(number, (from, to, address, generation));
            let path_id = PathId::new(if number == 0 { "direct".to_owned() } else { format!("direct-{number}") }).unwrap();
            let (hops, receiver, lanes) = (Vec::new(), Address(address), self.seats.lanes);
            paths.push(Path { path_id, generation, hops, receiver, lanes, store: false, from, to });
        }
        let part = self.seats.rate_mbps as f64 / senders.len() as f64;
        let share = |seat_id: &Seat| Share { seat_id: *seat_id, bandwidth_limit_mbps: Some(part), budget_lease: None, limit_lease: None };
        self.version += 1;
        let membership = Membership {
            schema_version: SchemaVersion1,
            version: self.version,
            paths,
            probes: Vec::new(),
            bandwidth_limit_mbps: Some(self.seats.rate_mbps),
            budget_lease: None,
            limit_lease: None,
            paused: false,
            retired: self.retired.clone(),
            shares: senders.iter().map(share).collect(),
        };
        self.home.directory().put_membership(&membership).unwrap();
    }

    fn retire(&mut self, seat_id: Seat, is_gone: bool) {
        self.tally.count("seats: retired");
        let epoch = self.home.directory().key(seat_id).unwrap().map_or(1, |key| key.epoch);
        self.retired.push(Retired { seat_id, epoch, is_gone });
        self.tell();
    }

    fn act(&mut self, fault: &Fault) -> Result<(), String> {
        let living = self.living(fault.role);
        let awake: Vec<Seat> =
            living.iter().copied().filter(|seat| self.machines.contains_key(seat) && !self.frozen.contains_key(seat)).collect();
        let Some(seat) = awake.get(fault.which % awake.len().max(1)).copied() else { return Ok(()) };
        // The last machine of a side is never given up.
        let what = if living.len() > 1 { fault.what } else { fault.what.of_the_last() };
        self.tally.count(what.counted(fault.role));
        match what {
            What::Kill | What::Lose => {
                let mut running = self.machines.remove(&seat).expect("it runs");
                running.kill();
                crate::wait_for("the end of a killed machine", || running.ended());
                if what == What::Lose {
                    self.retire(seat, true);
                    return Ok(());
                }
                self.start(seat)?;
                self.tell();
            }
            What::Freeze | What::GiveUp | What::Oversleep => {
                let running = &self.machines[&seat];
                self.home.directory().while_nobody_writes(|| running.freeze()).map_err(|error| error.to_string())?;
                self.frozen.insert(seat, (Instant::now() + FROZEN, what));
            }
            What::Drain => {
                self.retire(seat, false);
                let mut running = self.machines.remove(&seat).expect("it runs");
                let ended = crate::wait_for("the end of a drained machine", || running.ended());
                let told = self.home.directory().progress(seat).unwrap();
                match ended {
                    Ended::Failed(why) if why.starts_with("fenced") => {
                        if told.is_none_or(|told| !told.has_ended) {
                            return Err(format!("{seat} was drained, and does not say that it writes nothing any more"));
                        }
                        self.retired.iter_mut().filter(|retired| retired.seat_id == seat).for_each(|retired| retired.is_gone = true);
                        self.tell();
                    }
                    // All had arrived before.
                    Ended::Success | Ended::Stopped => drop(self.machines.insert(seat, running)),
                    ended => return Err(format!("{seat} was drained, and ended as {ended:?}")),
                }
            }
        }
        Ok(())
    }

    /// Wakes whoever was frozen long enough, or gives it up.
    fn end_frosts(&mut self) -> Result<(), String> {
        let due: Vec<(Seat, What)> =
            self.frozen.iter().filter(|(_, (until, _))| Instant::now() >= *until).map(|(seat, (_, what))| (*seat, *what)).collect();
        for (seat, what) in due {
            self.frozen.remove(&seat);
            if what != What::Freeze && self.living(seat.role).len() > 1 {
                self.retire(seat, false);
                let running = self.machines.remove(&seat).expect("it is frozen");
                if what == What::Oversleep {
                    self.asleep.push(running);
                    continue;
                }
                running.signal(Signal::CONT);
                let mut running = running;
                if let Ended::Dishonest(how) = crate::wait_for("the end of a machine that was given up", || running.ended()) {
                    return Err(format!("{seat} was given up, woke, and ended with {how}"));
                }
                continue;
            }
            self.machines[&seat].signal(Signal::CONT);
        }
        Ok(())
    }

    /// Returns whether a sender has told that all has arrived.
    fn look(&mut self) -> Result<bool, String> {
        let seats: Vec<Seat> = self.machines.keys().copied().collect();
        for seat in seats {
            let running = self.machines.get_mut(&seat).expect("it is there");
            let Some(ended) = running.ended() else { continue };
            let has_delivered = running.has_said("delivered totals=");
            self.machines.remove(&seat);
            match (seat.role, ended) {
                (Role::Sender, Ended::Success | Ended::Failed(_)) if has_delivered => return Ok(true),
                (Role::Receiver, Ended::Success | Ended::Stopped) => drop(self.ended.insert(seat, Instant::now())),
                (_, ended) => return Err(format!("{seat} ended as {ended:?}")),
            }
        }
        let silent: Vec<Seat> = self.ended.iter().filter(|(_, at)| at.elapsed() > SILENT).map(|(seat, _)| *seat).collect();
        for seat in silent {
            self.tally.count("seats: receivers that are needed once more");
            self.ended.remove(&seat);
            self.start(seat)?;
            self.tell();
        }
        Ok(false)
    }

    /// The control plane has heard how it ended: whoever still runs ends.
    fn end(&mut self) -> Result<(), String> {
        for (seat, (_, what)) in std::mem::take(&mut self.frozen) {
            let Some(running) = self.machines.remove(&seat) else { continue };
            // It has not been heard of when all is over.
            if what == What::Oversleep {
                self.asleep.push(running);
            } else {
                running.signal(Signal::CONT);
                self.machines.insert(seat, running);
            }
        }
        std::fs::write(self.home.control().join("records/transfer.json"), br#"{"fenced": true}"#).unwrap();
        for (seat, mut running) in std::mem::take(&mut self.machines) {
            let ended = crate::wait_for("the end of all", || running.ended());
            if let Ended::Dishonest(how) = ended {
                return Err(format!("{seat} ended with {how} once all was over"));
            }
        }
        Ok(())
    }
}
