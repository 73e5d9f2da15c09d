//! A relay beside others on one machine: whoever has started it says in a file what it may send, and reads in another what it applies and
//! has moved.
//!
//! Files, because both processes may be started anew at any time, and the relay has no right that would let it ask.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::rate::Bucket;

/// What the relay may send, Mbit/s; absent: no limit.
pub const LIMIT_FILE: &str = "limit";
/// The limit that it applies, as it was written, and the bytes that it has moved both ways, with a blank between them.
pub const APPLIED_FILE: &str = "applied";
/// In place of a limit where there is none.
pub const UNLIMITED: &str = "none";
/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// Mbit/s in place of nothing at all: a bucket without a rate would let nobody wait for a known time.
const LEAST_MBPS: f64 = 0.001;

/// The two files, and when they were last looked at.
#[derive(Debug)]
pub struct Steering {
    folder: PathBuf,
    looked_at: Option<Instant>,
    applied: String,
    written: String,
}

impl Steering {
    #[must_use]
    pub const fn new(folder: PathBuf) -> Self {
        Self { folder, looked_at: None, applied: String::new(), written: String::new() }
    }

    /// Reads the limit into `bandwidth`, and writes what it applies and has moved, where that is due.
    pub fn look(&mut self, bandwidth: &Bucket, moved: u64) {
        if self.looked_at.is_some_and(|at| at.elapsed() < LOOK) {
            return;
        }
        self.looked_at = Some(Instant::now());
        match limit(&self.folder) {
            Ok((text, mbps)) => {
                bandwidth.set_megabits(mbps);
                self.applied = text;
            }
            // What held before holds on.
            Err(error) => tracing::warn!(%error, "the limit cannot be read"),
        }
        let text = format!("{} {moved}", self.applied);
        if self.written != text {
            match write(&self.folder, APPLIED_FILE, &text) {
                Ok(()) => self.written = text,
                Err(error) => tracing::warn!(%error, "what was moved cannot be written"),
            }
        }
    }
}

/// The limit as it is written, and in Mbit/s.
fn limit(folder: &Path) -> io::Result<(String, Option<f64>)> {
    let text = match fs::read_to_string(folder.join(LIMIT_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((UNLIMITED.to_owned(), None)),
        text => whole(&text?).ok_or_else(|| io::Error::other(format!("{LIMIT_FILE} is being written")))?.to_owned(),
    };
    let mbps = text.parse::<f64>().ok().filter(|mbps| *mbps >= 0.0);
    let mbps = mbps.ok_or_else(|| io::Error::other(format!("{LIMIT_FILE} is {text:?}; it must be Mbit/s, 0 or more")))?;
    Ok((text, Some(mbps.max(LEAST_MBPS))))
}

/// What a relay has written of itself: the limit that it applies, and bytes; None where there is nothing yet.
#[must_use]
pub fn applied(folder: &Path) -> Option<(String, u64)> {
    let text = fs::read_to_string(folder.join(APPLIED_FILE)).ok()?;
    let (limit, moved) = whole(&text)?.split_once(' ')?;
    Some((limit.to_owned(), moved.parse().ok()?))
}

/// Writes a line; whoever reads less than that reads again.
pub fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    fs::write(folder.join(name), format!("{text}\n"))
}

/// The line of a file that is not being written.
fn whole(text: &str) -> Option<&str> {
    text.strip_suffix('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_holds_as_it_is_written_and_what_was_moved_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let bandwidth = Bucket::unlimited();
        let look = |moved| Steering::new(folder.path().to_owned()).look(&bandwidth, moved);
        assert_eq!(applied(folder.path()), None);
        look(5);
        assert!(bandwidth.is_unlimited());
        assert_eq!(applied(folder.path()), Some((UNLIMITED.to_owned(), 5)));
        for (text, bytes_per_second) in [("8", 1e6), ("0", 125.0), ("4.5", 562_500.0)] {
            write(folder.path(), LIMIT_FILE, text).unwrap();
            look(5);
            assert!((bandwidth.bytes_per_second() - bytes_per_second).abs() < 1e-6, "{text}");
            assert_eq!(applied(folder.path()), Some((text.to_owned(), 5)));
        }
        // The last one is half of a longer one.
        for wrong in ["\n", "-1\n", "fast\n", "NaN\n", "4"] {
            fs::write(folder.path().join(LIMIT_FILE), wrong).unwrap();
            look(6);
            assert!((bandwidth.bytes_per_second() - 562_500.0).abs() < 1e-6, "{wrong}");
        }
        fs::remove_file(folder.path().join(LIMIT_FILE)).unwrap();
        look(7);
        assert!(bandwidth.is_unlimited());
    }
}
