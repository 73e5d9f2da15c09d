//! Random sequences of whole transfers and of what somebody does meanwhile, against a model of what success means: at the last
//! answer every entry of the listing is at the destination with its kind, size, mode, time, attributes and content, as far as that keeps
//! them, or it is named. `docs/testing.md` says what is drawn.
//!
//! `CPT_MODEL_SEQUENCES` (200) of them, the first with the seed `CPT_MODEL_SEED`, each next one with the next seed: a sequence is
//! repeated by its own seed and `CPT_MODEL_SEQUENCES=1`. `CPT_MODEL_KEEP` (numbers of steps) repeats a shortened one; `CPT_MODEL_LOG` shows what the ends say.

mod bucket;
mod budget;
mod copies;
mod ends;
mod followed;
mod interfere;
mod itself;
mod judging;
mod kept;
mod lives;
mod long_run;
#[path = "../all/port/memory.rs"]
#[allow(dead_code, reason = "the suite of the port asks for more")]
mod memory;
#[path = "../all/port/memory_mirrored.rs"]
mod memory_mirrored;
#[path = "../all/port/memory_state.rs"]
mod memory_state;
mod mirror;
mod moments;
mod mount_faults;
mod mounted;
mod place;
mod planned;
mod planning;
mod promised;
mod random;
mod rsync;
mod runs;
#[path = "../all/port/s3_faults.rs"]
mod s3_faults;
#[path = "../all/port/s3_requests.rs"]
mod s3_requests;
#[path = "../all/port/s3_service.rs"]
#[allow(dead_code, reason = "the suite of the port asks for more")]
mod s3_service;
mod seats;
mod seats_drawn;
mod seats_long;
mod seen;
mod selecting;
#[path = "../all/port/shared.rs"]
#[allow(dead_code, reason = "the suite of the port asks for more")]
mod shared;
mod steps;
mod tally;
mod trees;
mod watched;
mod wishes;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use long_run::Until;
use random::Random;
use steps::Step;
use tally::Tally;
use world::{World, Wrong};

/// Longest wait for a run: a hang shall fail, a slow machine shall not.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Sequences at a time: mostly they wait, for a sync or for a look at the table.
const THREADS: u64 = 8;
/// Failing sequences that are shortened, and how long each may take.
const SHORTENED: usize = 2;
const SHORTENING: Duration = Duration::from_secs(90);

/// Sequences of a usual run. It sees each kind of step more than 20 times, and fails where it has hardly seen one.
const USUAL: u64 = 200;
const LEAST: u64 = 10;
/// After them, where disks can be mounted and rsync judges.
const LIVES: u64 = 8;

/// What eight sequences may come to need; 200 were seen.
const OPEN_FILES: u64 = 1_000;

/// Polls until there is something; a hang fails with what was waited for.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "no {what} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// A sequence: the step after which something was wrong (none: at the end), and what.
type Failure = (Option<usize>, Wrong);

fn play(seed: u64, steps: &[Step], tally: &Mutex<Tally>) -> Result<(), Failure> {
    let directory = tempfile::Builder::new().prefix("cpt-model-").tempdir().unwrap();
    let mut world = World::new(directory.path(), seed);
    let result = catch_unwind(AssertUnwindSafe(|| {
        for (number, step) in steps.iter().enumerate() {
            let wrong = world.step(step);
            if !wrong.is_empty() {
                return Err((Some(number), wrong));
            }
        }
        let wrong = world.finish();
        if wrong.is_empty() { Ok(()) } else { Err((None, wrong)) }
    }));
    tally.lock().unwrap().add(&world.tally);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err((None, vec![format!("the test itself: {}", text.unwrap_or_default())]))
    })
}

/// Leaves out steps as long as something stays wrong: first halves, quarters and so on, then single ones.
fn shorten(seed: u64, steps: &[Step], mut kept: Vec<usize>) -> (Vec<usize>, Wrong) {
    let (tally, deadline) = (Mutex::default(), Instant::now() + SHORTENING);
    let mut last = Wrong::new();
    let mut size = (kept.len() / 2).max(1);
    loop {
        let mut at = 0;
        while at < kept.len() && Instant::now() < deadline {
            let fewer: Vec<usize> = kept[..at].iter().chain(kept.iter().skip(at + size)).copied().collect();
            let some: Vec<Step> = fewer.iter().map(|number| steps[*number].clone()).collect();
            match play(seed, &some, &tally) {
                Err((_, wrong)) => (kept, last) = (fewer, wrong),
                Ok(()) => at += size,
            }
        }
        if size == 1 || Instant::now() >= deadline {
            return (kept, last);
        }
        size /= 2;
    }
}

fn report(seed: u64, steps: &[Step], (at, wrong): &Failure, is_shortened: bool) {
    println!(
        "\nmodel: CPT_MODEL_SEED={seed} CPT_MODEL_SEQUENCES=1 repeats this; wrong {}:",
        at.map_or("at the end".to_owned(), |at| format!("after step {at}"))
    );
    wrong.iter().take(8).for_each(|line| println!("  {line}"));
    if !is_shortened {
        return;
    }
    let (kept, last) = shorten(seed, steps, (0..at.map_or(steps.len(), |at| at + 1)).collect());
    let numbers: Vec<String> = kept.iter().map(ToString::to_string).collect();
    println!("  with CPT_MODEL_KEEP={} too (then: {}):", numbers.join(","), last.first().unwrap_or(&"as above".to_owned()));
    kept.iter().for_each(|number| println!("    {number}: {:?}", steps[*number]));
}

fn main() {
    // Like a name of a test: `cargo test NAME` may mean other tests.
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if !names.is_empty() && !names.iter().any(|name| name == "model") {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name} is {text:?}")));
    let count = number("CPT_MODEL_SEQUENCES").unwrap_or(USUAL);
    let seed = number("CPT_MODEL_SEED").unwrap_or_else(|| u64::from_be_bytes(cpt_relay::secure::keys::random().unwrap()) >> 16);
    let kept: Option<Vec<usize>> =
        std::env::var("CPT_MODEL_KEEP").ok().map(|text| text.split(',').filter_map(|number| number.parse().ok()).collect());
    if std::env::var_os("CPT_MODEL_LOG").is_some() {
        tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    }
    cpt_relay::machine::descriptors::raise();
    if let Err(error) = cpt_relay::machine::descriptors::check_total("the model test", OPEN_FILES) {
        panic!("{error}");
    }
    if let Some(seconds) = number("CPT_LONG_RUN_SECONDS") {
        return long_run::run(seed, Until::Seconds(seconds));
    }
    if let Some(faults) = number("CPT_SEATS_FAULTS") {
        seats_long::run(seed, faults);
    }
    println!("model: {count} sequences from seed {seed} on (CPT_MODEL_SEED={seed} repeats them)");
    let (start, tally, next, failures) = (Instant::now(), Mutex::default(), AtomicU64::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let seed = seed.wrapping_add(index);
                    let mut steps = steps::draw(&mut Random::new(seed));
                    if let Some(kept) = &kept {
                        steps = kept.iter().filter_map(|number| steps.get(*number).cloned()).collect();
                    }
                    if let Err(failure) = play(seed, &steps, &tally) {
                        failures.lock().unwrap().push((seed, steps, failure));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    for (number, (seed, steps, failure)) in failures.iter().enumerate() {
        report(*seed, steps, failure, number < SHORTENED && kept.is_none());
    }
    let tally = tally.into_inner().unwrap();
    println!("model: {count} sequences, {tally}; {} failed; {:.1} s", failures.len(), start.elapsed().as_secs_f64());
    let rare = tally.rarer_than(LEAST);
    assert!(failures.is_empty(), "{} of {count} sequences failed", failures.len());
    assert!(count < USUAL || rare.is_empty(), "hardly tested, fewer than {LEAST} times: {rare:?}");
    let lives = number("CPT_LIVES").unwrap_or(if count < USUAL { 0 } else { LIVES });
    long_run::run(seed, Until::Lives(lives));
}
