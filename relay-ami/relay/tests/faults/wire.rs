//! On the wire, between sender and receiver.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cpt_relay::documents::membership;
use cpt_relay::{receive, send};

use crate::harness::{Transfer, noise, path};
use crate::hop::{Direction, Done, Fault, Harm, Hop, Recording, Tape};
use crate::tally::{Count, Log, Random, Run};

pub const CHUNK: u64 = 64 << 10;
/// A path's connections that are spoiled: three fail at once, the fourth after a pause of 1 s; after the next pause, of 2 s, all is well.
const PER_PATH: usize = 4;
const PATHS: usize = 12;
/// Failures of a lane fail all chunks that it had under way: a chunk may be unlucky on several paths.
const ATTEMPTS: u32 = 60;

const HARMS: [Harm; 7] = [Harm::Flip, Harm::Truncate, Harm::Reset, Harm::Duplicate, Harm::Reorder, Harm::Omit, Harm::Replay];

/// In Mbit/s, until all faults have been met.
pub const SLOW: u64 = 6;
/// The tree lasts longer at `SLOW`. An idle machine has met all faults after ten seconds.
const LONGEST: Duration = Duration::from_secs(90);

/// A tree that keeps many lanes busy.
pub fn tree(root: &std::path::Path) {
    std::fs::write(root.join("large"), noise(1, 400 * CHUNK as usize)).unwrap();
    std::fs::create_dir(root.join("small")).unwrap();
    for number in 0..300u64 {
        std::fs::write(root.join(format!("small/{number}")), noise(number, 4000)).unwrap();
    }
}

pub fn run(run: &Run<'_>) {
    for wave in 0..run.factor {
        std::thread::scope(|scope| {
            for number in 0..9 {
                scope.spawn(move || one(run, 9 * wave + number));
            }
        });
    }
}

/// One transfer over many paths, each with its own harm, and one that nobody touches.
fn one(run: &Run<'_>, number: usize) {
    let mut random = Random::new(run.seed, "wire", number);
    let mut transfer = Transfer::plan(CHUNK, Some(ATTEMPTS), tree);
    transfer.verify = run.verify(number);
    let receiver = transfer.receive();
    let recording = Arc::new(Recording::default());
    let mut hops: Vec<Hop> = vec![Hop::start(receiver.address, Vec::new(), Tape::Record(Arc::clone(&recording)))];
    for _ in 0..PATHS {
        let faults = (0..PER_PATH).map(|_| {
            let direction = if random.below(2) == 0 { Direction::Forth } else { Direction::Back };
            Fault::draw(HARMS[random.index(HARMS.len())], direction, &mut random)
        });
        hops.push(Hop::start(receiver.address, faults.collect(), Tape::Play(Arc::clone(&recording))));
    }
    let name = |at: usize| format!("pair-{}", 1000 * number + at);
    let paths = hops.iter().enumerate().map(|(at, hop)| membership::Path { lanes: 1, ..path(&name(at), &[], hop.address) });
    transfer.members(paths.collect());
    // The last lane still finds work when its pause is over.
    let sender = transfer.send(Some(SLOW));
    let has_met = |at: usize, hop: &Hop| hop.done.lock().unwrap().len() >= PER_PATH && broken(run.log, &name(at)).len() >= PER_PATH;
    until(|| hops.iter().enumerate().skip(1).all(|(at, hop)| has_met(at, hop)));
    transfer.limit(None);
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    for (at, hop) in hops.iter().enumerate().skip(1) {
        count(run, &name(at), hop);
    }
}

/// Waits for what a transfer at full speed would outrun; what has not come by then is missing in the table.
pub fn until(all_met: impl Fn() -> bool) {
    let deadline = Instant::now() + LONGEST;
    while !all_met() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn count(run: &Run<'_>, path: &str, hop: &Hop) {
    let done = hop.done.lock().unwrap().clone();
    // Each spoiled connection broke, one after another: the n-th broken lane of the path is the n-th that was spoiled.
    let broken = broken(run.log, path);
    for at in 0..PER_PATH {
        let kind = done
            .get(at)
            .map_or("wire: never took place".to_owned(), |done| format!("wire: {:?} {:?}", done.fault.harm, done.fault.direction));
        let injected = usize::from(done.len() > at);
        let noticed = done.get(at).is_some_and(|done| noticed_by_the_receiver(run.log, done));
        let detected = usize::from(broken.len() > at && noticed);
        if injected > detected {
            println!("{path}: {:?} was not detected\n{}", done[at], told(run.log, &done[at]).join("\n"));
        }
        run.tally.add(&kind, Count { planned: 1, injected, detected, repaired: injected, reported: 0 });
    }
    if broken.len() != PER_PATH {
        println!("{path}: {} broken lanes for {:?}\n{}", broken.len(), done, broken.join("\n"));
    }
}

/// Bytes that are not the sender's never make a lane that ends well, if they make a lane at all; a stream that is only cut may, and so
/// may one whose last record lacks bytes: where nothing follows, that is a cut.
fn noticed_by_the_receiver(log: &Log, done: &Done) -> bool {
    let only_ends = matches!(done.fault.harm, Harm::Truncate | Harm::Reset | Harm::Omit);
    let ended_well = told(log, done).iter().any(|line| line.contains("INFO") && line.contains("lane ends"));
    only_ends || done.fault.direction == Direction::Back || !ended_well
}

/// What the receiver says of the connection.
fn told(log: &Log, done: &Done) -> Vec<String> {
    log.lines(&[&format!("peer=\"{}\"", done.peer)])
}

pub fn broken(log: &Log, path: &str) -> Vec<String> {
    log.lines(&["lane broken", &format!("path={path} ")])
}
