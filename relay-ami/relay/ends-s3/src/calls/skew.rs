//! How far the clock of this machine is from that of S3: a signature counts for a quarter of an hour.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use aws_sdk_s3::primitives::{DateTime, DateTimeFormat};

/// Less than that does not explain why a signature was refused.
const LEAST_MS: u64 = 4 * 60 * 1000;
/// Refusals that another clock may be the reason of; the SDK's list.
const CODES: [&str; 5] =
    ["InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure", "RequestTimeTooSkewed", "AccessDeniedException"];

/// Milliseconds by which the service's clock is ahead, as far as it is known.
#[derive(Default)]
pub struct Skew(AtomicI64);

impl Skew {
    /// The time by the service's clock.
    pub fn apply(&self, now: SystemTime) -> SystemTime {
        let ahead = self.0.load(Ordering::Relaxed);
        let by = Duration::from_millis(ahead.unsigned_abs());
        if ahead >= 0 { now.checked_add(by) } else { now.checked_sub(by) }.unwrap_or(now)
    }

    /// Learns from an answer that is no success. Returns whether the same call, signed by the time that is known now, may be granted.
    ///
    /// `code`: of the refusal; a HEAD's has none. `date`: of the answer. `asked`: by this machine's clock, when it was signed.
    pub fn learn(&self, code: Option<&str>, date: Option<&str>, asked: SystemTime) -> bool {
        if !code.is_none_or(|code| CODES.contains(&code)) {
            return false;
        }
        let date = date.and_then(|text| DateTime::from_str(text, DateTimeFormat::HttpDate).ok());
        let Some(theirs) = date.and_then(|date| SystemTime::try_from(date).ok()) else { return false };
        let now = SystemTime::now();
        let middle = asked + now.duration_since(asked).unwrap_or_default() / 2;
        let ahead = match theirs.duration_since(middle) {
            Ok(ahead) => milliseconds(ahead),
            Err(behind) => -milliseconds(behind.duration()),
        };
        if ahead.abs_diff(self.0.load(Ordering::Relaxed)) <= LEAST_MS {
            return false;
        }
        tracing::warn!(ahead_ms = ahead, "the clock of S3 is another one: signed by that");
        self.0.store(ahead, Ordering::Relaxed);
        true
    }
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(seconds_from_now: i64) -> String {
        let now = DateTime::from(SystemTime::now()).secs();
        DateTime::from_secs(now + seconds_from_now).fmt(DateTimeFormat::HttpDate).unwrap()
    }

    fn known(skew: &Skew) -> i64 {
        let now = SystemTime::now();
        let by = skew.apply(now);
        by.duration_since(now).map_or_else(|behind| -(behind.duration().as_secs() as i64), |ahead| ahead.as_secs() as i64)
    }

    #[test]
    fn a_refusal_for_the_clocks_is_tried_again_by_the_other_clock_once() {
        for off in [3600, -3600] {
            let skew = Skew::default();
            assert!(skew.learn(Some("RequestTimeTooSkewed"), Some(&date(off)), SystemTime::now()));
            assert!((known(&skew) - off).abs() <= 3);
            assert!(!skew.learn(Some("RequestTimeTooSkewed"), Some(&date(off)), SystemTime::now()), "it was something else");
            // Somebody has set the clock right.
            assert!(skew.learn(Some("RequestTimeTooSkewed"), Some(&date(0)), SystemTime::now()));
            assert!(known(&skew).abs() <= 3);
        }
    }

    #[test]
    fn other_refusals_and_small_differences_teach_nothing() {
        let skew = Skew::default();
        assert!(!skew.learn(Some("AccessDenied"), Some(&date(3600)), SystemTime::now()));
        assert!(!skew.learn(Some("SignatureDoesNotMatch"), Some(&date(100)), SystemTime::now()));
        assert!(!skew.learn(Some("RequestTimeTooSkewed"), None, SystemTime::now()));
        assert!(!skew.learn(Some("RequestTimeTooSkewed"), Some("soon"), SystemTime::now()));
        assert_eq!(known(&skew), 0);
    }
}
