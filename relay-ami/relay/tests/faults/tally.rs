//! What was injected and what came of it, and the log that tells.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use cpt_relay::documents::command::Verify;
use tracing_subscriber::fmt::MakeWriter;

use crate::harness::noise;

/// Of one kind of fault.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub planned: usize,
    pub injected: usize,
    pub detected: usize,
    pub repaired: usize,
    pub reported: usize,
}

#[derive(Default)]
pub struct Tally(Mutex<BTreeMap<String, Count>>);

impl Tally {
    pub fn add(&self, kind: &str, count: Count) {
        let mut kinds = self.0.lock().unwrap();
        let sum = kinds.entry(kind.to_owned()).or_default();
        sum.planned += count.planned;
        sum.injected += count.injected;
        sum.detected += count.detected;
        sum.repaired += count.repaired;
        sum.reported += count.reported;
    }

    pub fn print(&self) {
        println!("{:50} {:>8} {:>8} {:>8} {:>8}", "fault", "injected", "detected", "repaired", "reported");
        let mut sum = Count::default();
        for (kind, count) in &*self.0.lock().unwrap() {
            let Count { planned, injected, detected, repaired, reported } = *count;
            let remark = if is_complete(count) { String::new() } else { format!("  <- of {planned} planned") };
            println!("{kind:50} {injected:>8} {detected:>8} {repaired:>8} {reported:>8}{remark}");
            sum = Count {
                planned: sum.planned + planned,
                injected: sum.injected + injected,
                detected: sum.detected + detected,
                repaired: sum.repaired + repaired,
                reported: sum.reported + reported,
            };
        }
        println!("{:50} {:>8} {:>8} {:>8} {:>8}", "all", sum.injected, sum.detected, sum.repaired, sum.reported);
    }

    /// Kinds of which a fault did not take place, was not detected, or was neither repaired nor reported.
    pub fn incomplete(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().filter(|(_, count)| !is_complete(count)).map(|(kind, count)| format!("{kind}: {count:?}")).collect()
    }
}

fn is_complete(count: &Count) -> bool {
    count.injected == count.planned && count.detected == count.planned && count.repaired + count.reported == count.planned
}

/// What a part of the suite is given.
pub struct Run<'a> {
    pub seed: u64,
    pub factor: usize,
    pub tally: &'a Tally,
    pub log: &'a Log,
}

impl Run<'_> {
    /// One of three transfers is proved by a checksum: it finds whatever a digest finds of what nobody has made to fit.
    pub const fn verify(&self, number: usize) -> Verify {
        if self.seed.wrapping_add(number as u64).is_multiple_of(3) { Verify::Crc64 } else { Verify::Digest }
    }
}

/// Numbers that a seed and a name determine.
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    pub fn new(seed: u64, name: &str, index: usize) -> Self {
        let hash = blake3::hash(format!("{seed} {name} {index}").as_bytes());
        Self { seed: u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap()), drawn: 0 }
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.drawn += 1;
        let bytes = noise(self.seed.wrapping_add(self.drawn), 8);
        u64::from_le_bytes(bytes.try_into().unwrap()) % bound
    }

    pub fn index(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap()
    }
}

/// The library's log, kept instead of printed.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn start() -> Self {
        let log = Self::default();
        tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).with_target(false).init();
        log
    }

    /// Lines that hold all of the words.
    pub fn lines(&self, words: &[&str]) -> Vec<String> {
        let text = self.0.lock().unwrap();
        let text = String::from_utf8_lossy(&text);
        text.lines().filter(|line| words.iter().all(|word| line.contains(word))).map(str::to_owned).collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
