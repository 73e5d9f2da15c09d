//! Transfers of several machines at each end, one after the other, until enough has happened to their machines.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::random::Random;
use crate::seats_drawn::{KINDS, Seats};
use crate::steps::Step;
use crate::tally::Tally;
use crate::{play, report};

/// At a time: each has four processes and more.
const THREADS: usize = 3;

/// Plays until so many `faults` have come; `CPT_SEATS_FAULTS=1` and its seed repeat a transfer.
pub fn run(seed: u64, faults: u64) {
    // The destination of an even seed is a directory.
    let first = seed & !1;
    println!(
        "model: several machines from seed {first} on, until {faults} faults have come (CPT_MODEL_SEED={first} CPT_SEATS_FAULTS={faults})"
    );
    let (start, tally, next, failed) = (Instant::now(), Mutex::new(Tally::default()), AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS.min(usize::try_from(faults).unwrap_or(THREADS)) {
            scope.spawn(|| {
                while tally.lock().unwrap().faults() < faults && failed.lock().unwrap().is_empty() {
                    let seed = first.wrapping_add(2 * next.fetch_add(1, Ordering::Relaxed));
                    let steps = draw(seed);
                    if let Err(failure) = play(seed, &steps, &tally) {
                        failed.lock().unwrap().push((seed, steps, failure));
                    }
                }
            });
        }
    });
    let (tally, failed) = (tally.into_inner().unwrap(), failed.into_inner().unwrap());
    failed.iter().for_each(|(seed, steps, failure)| {
        println!("model: of several machines, with CPT_SEATS_FAULTS=1 in place of CPT_MODEL_SEQUENCES=1: {steps:?}");
        report(*seed, steps, failure, false);
    });
    let seconds = start.elapsed().as_secs_f64();
    println!("model: {} faults of several machines, {tally}; {} failed; {seconds:.1} s", tally.faults(), failed.len());
    assert!(failed.is_empty(), "{} transfers of several machines failed", failed.len());
    let rare = tally.rarer_of(&KINDS, faults / 50);
    assert!(rare.is_empty(), "hardly tested: {rare:?}");
}

/// One transfer after copies of its source, or into an empty directory.
fn draw(seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let copies = random.one_in(3).then(|| Step::Copies(random.next()));
    copies.into_iter().chain([Step::Seats(Seats::draw(&mut random))]).collect()
}
