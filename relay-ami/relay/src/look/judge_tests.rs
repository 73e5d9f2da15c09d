#![allow(clippy::unwrap_used)]

use rustix::io::Errno;

use super::*;
use crate::ends::{Heard, Version};
use crate::under_way::UnderWay;

/// A destination whose server answers so many looks with an error.
struct Flaky(u32, Errno);

impl View for Flaky {
    fn see(&mut self, _path: &[u8]) -> io::Result<Seen> {
        if self.0 > 0 {
            self.0 -= 1;
            return Err(self.1.into());
        }
        Ok(Seen { kind: Some(Kind::File), size: 1, mode: 0o644, mtime_ns: Some(1), version: Version::NONE, target: None })
    }

    fn digest(&mut self, _path: &[u8], _of: &Version, _heard: Heard<'_>) -> io::Result<Digest> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[test]
fn an_error_of_a_moment_is_looked_at_again_and_one_that_stays_is_told() {
    let mut flaky = Flaky(2, Errno::STALE);
    assert!(see(&mut flaky, b"f", &UnderWay::default().enter()).is_ok());
    let mut absent = Flaky(1, Errno::NOENT);
    assert!(see(&mut absent, b"f", &UnderWay::default().enter()).is_err(), "it is not there, and not asked for again");
}
