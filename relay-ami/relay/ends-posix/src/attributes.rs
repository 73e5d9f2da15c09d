//! Attributes of a finished entry besides its bytes: mode and modification time.

use rustix::fs::{self, Mode, Timespec, Timestamps};

use cpt_ends::KEPT_MODE;

/// The bits of a mode that arrive.
pub fn kept(mode: u16) -> Mode {
    Mode::from_raw_mode(u32::from(mode) & KEPT_MODE)
}

pub fn times(mtime_ns: i64) -> Timestamps {
    const SECOND: i64 = 1_000_000_000;
    let time = Timespec { tv_sec: mtime_ns.div_euclid(SECOND), tv_nsec: mtime_ns.rem_euclid(SECOND) };
    Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW }, last_modification: time }
}
