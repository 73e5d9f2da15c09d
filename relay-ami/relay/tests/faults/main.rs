//! A thousand faults, counted and seeded: on the wire, on relays, inside the encryption, on the disks and clocks of both ends.
//! Each must take place; each must be detected; afterwards the tree is the same to the bit, or what failed is named and
//! nothing wrong stands under a final name. `CPT_FAULT_SEED` repeats a run, `CPT_FAULT_FACTOR` (1) multiplies the counts.

mod clock;
mod disk;
#[allow(dead_code)]
#[path = "../all/harness.rs"]
mod harness;
mod hop;
mod inside;
mod libc_calls;
mod relay;
#[allow(dead_code)]
#[path = "../all/speaker.rs"]
mod speaker;
mod syscalls;
mod tally;
mod wire;

use std::time::Instant;

use tally::Tally;

/// What the suite may come to need.
const OPEN_FILES: u64 = 4_000;

type Part = fn(&tally::Run<'_>);

fn main() {
    // Like names of tests: parts of the suite, all of them as "faults"; `cargo test NAME` means other tests.
    let names: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |part: &str| names.is_empty() || names.iter().any(|name| name == "faults" || name == part);
    if !["wire", "relay", "inside", "disk", "syscalls", "clock"].into_iter().any(is_wanted) {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name} is {text:?}")));
    let seed = number("CPT_FAULT_SEED").unwrap_or_else(|| u64::from_be_bytes(cpt_relay::secure::keys::random().unwrap()) >> 16);
    let factor = usize::try_from(number("CPT_FAULT_FACTOR").unwrap_or(1)).unwrap();
    println!("faults: seed {seed} (CPT_FAULT_SEED={seed} repeats it)");
    // Many transfers run side by side in this process: 1 391 open files were seen at a time.
    cpt_relay::machine::descriptors::raise();
    if let Err(error) = cpt_relay::machine::descriptors::check_total("the fault suite", OPEN_FILES) {
        panic!("{error}");
    }
    let log = tally::Log::start();
    let start = Instant::now();
    let tally = Tally::default();
    let run = tally::Run { seed, factor, tally: &tally, log: &log };
    // Mostly they wait: for a sync, a retry, the end of a pause.
    std::thread::scope(|scope| {
        let parts: [(&str, Part); 5] =
            [("wire", wire::run), ("relay", relay::run), ("inside", inside::run), ("disk", disk::run), ("syscalls", syscalls::run)];
        for (name, part) in parts.into_iter().filter(|(name, _)| is_wanted(name)) {
            let run = &run;
            scope.spawn(move || {
                part(run);
                println!("faults: {name} done after {:.1} s", start.elapsed().as_secs_f64());
            });
        }
    });
    // Last and by itself: there is one clock for the whole process.
    if is_wanted("clock") {
        clock::run(&run);
        println!("faults: clock done after {:.1} s", start.elapsed().as_secs_f64());
    }
    tally.print();
    println!("faults: {:.1} s in all", start.elapsed().as_secs_f64());
    let incomplete = tally.incomplete();
    assert!(incomplete.is_empty(), "a fault did not take place, was not detected, or was neither repaired nor reported: {incomplete:#?}");
}
