//! Lives until their time is up, what they have seen, and what was wrong.
//!
//! `CPT_LONG_RUN_SECONDS` of them in place of sequences; `CPT_LIVES` (20) in a usual run, after its sequences. The first one has the seed
//! `CPT_MODEL_SEED`: a life is repeated by its own seed, `CPT_MODEL_SEQUENCES=0` and `CPT_LIVES=1`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::lives::{Life, ROUNDS, lacks};
use crate::tally::Tally;
use crate::world::Wrong;

/// At a time: mostly they wait, for a sync or for a process.
const THREADS: u64 = 4;
/// Of each kind in an hour; a shorter run sees each at least once.
const LEAST_IN_AN_HOUR: u64 = 20;
const HOUR: u64 = 3_600;

#[derive(Clone, Copy)]
pub enum Until {
    Lives(u64),
    Seconds(u64),
}

impl Until {
    fn is_over(self, lives: u64, start: Instant) -> bool {
        match self {
            Self::Lives(most) => lives >= most,
            Self::Seconds(seconds) => start.elapsed() >= Duration::from_secs(seconds),
        }
    }

    /// How often each kind is to be seen at least; a few lives are to repeat something.
    const fn least(self) -> u64 {
        match self {
            Self::Lives(lives) => (lives >= 20) as u64,
            Self::Seconds(seconds) if seconds * LEAST_IN_AN_HOUR < HOUR => 1,
            Self::Seconds(seconds) => seconds * LEAST_IN_AN_HOUR / HOUR,
        }
    }
}

fn live(seed: u64, tally: &Mutex<Tally>) -> Option<(Vec<String>, Wrong)> {
    let directory = tempfile::Builder::new().prefix("cpt-model-").tempdir().unwrap();
    let mut life = Life::new(directory.path(), seed);
    let rounds = AssertUnwindSafe(|| (0..ROUNDS).map(|_| life.round()).find(|wrong| !wrong.is_empty()));
    let wrong = catch_unwind(rounds).unwrap_or_else(|_| Some(vec!["the test itself".to_owned()]));
    tally.lock().unwrap().add(life.tally());
    wrong.map(|wrong| (life.past().to_vec(), wrong))
}

/// Fails where something was wrong, or hardly anything was seen.
pub fn run(seed: u64, until: Until) {
    if let Some(lacks) = lacks() {
        cpt_skipped::skipped(lacks);
        return;
    }
    println!("lives: from seed {seed} on (CPT_MODEL_SEED={seed} repeats them)");
    let (start, tally, next, failures) = (Instant::now(), Mutex::default(), AtomicU64::new(0), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if until.is_over(index, start) {
                        return;
                    }
                    let seed = seed.wrapping_add(index);
                    if let Some((past, wrong)) = live(seed, &tally) {
                        *failures.lock().unwrap() += 1;
                        println!("\nlives: CPT_MODEL_SEED={seed} CPT_MODEL_SEQUENCES=0 CPT_LIVES=1 repeats this:");
                        past.iter().for_each(|line| println!("    {line}"));
                        wrong.iter().take(8).for_each(|line| println!("  {line}"));
                    }
                }
            });
        }
    });
    let (tally, failures) = (tally.into_inner().unwrap(), failures.into_inner().unwrap());
    println!("lives: {tally}; {failures} failed; {:.1} s", start.elapsed().as_secs_f64());
    assert!(failures == 0, "{failures} lives failed");
    let rare = tally.rarer_of(&crate::lives::KINDS, until.least());
    assert!(rare.is_empty(), "hardly tested, fewer than {} times: {rare:?}", until.least());
}
