//! The clock is set under way, by an hour, by years, to the beginning of the epoch: nothing but times in records may follow it.

#![allow(unsafe_code)]

use std::ffi::c_long;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::{receive, send};

use crate::harness::{Transfer, noise, path, wait_for};
use crate::tally::{Count, Run};

const CHUNK: u64 = 64 << 10;
const PARTS: usize = 48;
const HOUR: i64 = 3600;
/// Seconds, one step after another, each as an eighth more of the chunks has arrived. None leads before 1970, where no time is
/// known to rustls.
const STEPS: [i64; 6] = [HOUR, -HOUR, -50 * 365 * 24 * HOUR, 10 * 365 * 24 * HOUR, 60, -60];
const REALTIME: i32 = 0;
#[cfg(target_arch = "x86_64")]
const CLOCK_GETTIME: c_long = 228;
#[cfg(target_arch = "aarch64")]
const CLOCK_GETTIME: c_long = 113;

/// Seconds that the clock on the wall is ahead in this process; the one that only counts goes on.
static AHEAD: AtomicI64 = AtomicI64::new(0);

#[repr(C)]
pub struct Time {
    seconds: i64,
    nanoseconds: i64,
}

/// Stands in for the C library's, as `libc_calls` does for others.
///
/// # Safety
/// As `clock_gettime(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: i32, time: *mut Time) -> i32 {
    unsafe extern "C" {
        fn syscall(number: c_long, clock: c_long, time: *mut Time) -> c_long;
    }
    // SAFETY: the caller's promise: a place for the time.
    unsafe {
        let code = syscall(CLOCK_GETTIME, c_long::from(clock), time);
        if clock == REALTIME && code == 0 {
            (*time).seconds += AHEAD.load(Ordering::Relaxed);
        }
        i32::try_from(code).unwrap_or(-1)
    }
}

pub fn run(run: &Run<'_>) {
    for round in 0..run.factor {
        let mut transfer = Transfer::plan(CHUNK, Some(3), |root| {
            std::fs::write(root.join("large"), noise(round as u64, PARTS * CHUNK as usize)).unwrap();
        });
        let receiver = transfer.receive();
        transfer.members(vec![path("direct", &[], receiver.address)]);
        let sender = transfer.send(Some(16));
        let arrived = || transfer.chunks().iter().filter(|item| item.state == ChunkState::Delivered).count();
        let mut injected = 0;
        for (number, step) in STEPS.iter().enumerate() {
            let due = (number + 1) * PARTS / 8;
            wait_for("chunks", || (arrived() >= due).then_some(()));
            let before = SystemTime::now();
            AHEAD.store(*step, Ordering::Relaxed);
            injected += usize::from(SystemTime::now().duration_since(before).map_or(true, |jump| jump > Duration::from_secs(30)));
        }
        assert!(matches!(sender.join(), send::Outcome::Delivered(_)));
        assert_eq!(receiver.join(), receive::Outcome::Agreed);
        AHEAD.store(0, Ordering::Relaxed);
        transfer.assert_same_trees();
        run.tally.add("clock set", Count { planned: STEPS.len(), injected, detected: injected, repaired: injected, reported: 0 });
    }
}
