//! Token buckets on egress: the user's bandwidth limit, and the VM's caps in the local cloud.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;

/// Burst of a token bucket as time at its rate: long enough for the scheduler's hiccups, short enough not to show in a rate over 1 s.
const BUCKET_BURST: Duration = Duration::from_millis(20);
/// How often whoever waits for a bucket looks whether its rate has changed: a stream's 64 KiB take half a second at 1 Mbit/s.
const RATE_LOOK: Duration = Duration::from_millis(250);

/// Names the file of rules.
pub const RULES_VARIABLE: &str = "CPT_RATE_LIMITS";

/// A rate that many streams share, first come, first served; it may change while they wait.
#[derive(Debug)]
pub struct Bucket {
    /// Bits of an `f64`, infinite where nothing is limited.
    bytes_per_second: AtomicU64,
    /// Time at which the tokens that were handed out so far are all earned.
    earned: Mutex<Instant>,
}

impl Bucket {
    /// `bytes_per_second` is positive.
    #[must_use]
    pub fn new(bytes_per_second: f64) -> Arc<Self> {
        Arc::new(Self { bytes_per_second: AtomicU64::new(bytes_per_second.to_bits()), earned: Mutex::new(Instant::now()) })
    }

    /// `mbps`: Mbit/s.
    #[must_use]
    pub fn of_megabits(mbps: u64) -> Arc<Self> {
        Self::new(bytes_of_megabits(mbps as f64))
    }

    /// Limits nothing until it is told to.
    #[must_use]
    pub fn unlimited() -> Arc<Self> {
        Self::new(f64::INFINITY)
    }

    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.bytes_per_second().is_infinite()
    }

    /// From now on `mbps` Mbit/s, or no limit; whoever waits under another rate goes on.
    pub fn set_megabits(&self, mbps: Option<f64>) {
        let bits = mbps.map_or(f64::INFINITY, bytes_of_megabits).to_bits();
        let mut earned = self.earned.lock().unwrap_or_else(PoisonError::into_inner);
        if self.bytes_per_second.swap(bits, Ordering::Relaxed) != bits {
            *earned = Instant::now();
        }
    }

    /// Waits until `bytes` may go.
    pub fn take(&self, bytes: usize) {
        if self.is_unlimited() {
            return;
        }
        let rate = self.bytes_per_second.load(Ordering::Relaxed);
        let now = Instant::now();
        let until = now + self.reserve(bytes, now);
        while self.bytes_per_second.load(Ordering::Relaxed) == rate {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(RATE_LOOK));
        }
    }

    /// Returns whether somebody waits for it now.
    #[must_use]
    pub fn holds_back(&self) -> bool {
        !self.is_unlimited() && *self.earned.lock().unwrap_or_else(PoisonError::into_inner) > Instant::now()
    }

    /// Infinite where nothing is limited.
    #[must_use]
    pub fn bytes_per_second(&self) -> f64 {
        f64::from_bits(self.bytes_per_second.load(Ordering::Relaxed))
    }

    fn reserve(&self, bytes: usize, now: Instant) -> Duration {
        let mut earned = self.earned.lock().unwrap_or_else(PoisonError::into_inner);
        let start = (*earned).max(now.checked_sub(BUCKET_BURST).unwrap_or(now));
        *earned = start + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second());
        earned.saturating_duration_since(now)
    }
}

fn bytes_of_megabits(mbps: f64) -> f64 {
    mbps * 1e6 / 8.0
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RuleText {
    cidr: String,
    megabytes_per_second: f64,
}

#[derive(Clone, Debug)]
struct Rule {
    network: u32,
    mask: u32,
    bucket: Arc<Bucket>,
}

/// Caps by destination; the first match wins. One bucket per rule and process.
#[derive(Clone, Debug, Default)]
pub struct RateRules(Vec<Rule>);

impl RateRules {
    /// Reads the file that `CPT_RATE_LIMITS` names; no variable, no caps.
    pub fn from_environment() -> Result<Self, String> {
        let Some(file) = std::env::var_os(RULES_VARIABLE) else { return Ok(Self::default()) };
        let refuse = |why: String| format!("{RULES_VARIABLE} names {}: {why}", file.display());
        let text = std::fs::read(&file).map_err(|error| refuse(error.to_string()))?;
        Self::parse(&text).map_err(refuse)
    }

    /// Reads `[{"cidr": "127.20.0.0/16", "megabytesPerSecond": 20}]`.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let rules: Vec<RuleText> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        rules.iter().map(rule).collect::<Result<_, _>>().map(Self)
    }

    /// The cap towards `destination`.
    #[must_use]
    pub fn bucket(&self, destination: Ipv4Addr) -> Option<Arc<Bucket>> {
        let address = u32::from(destination);
        self.0.iter().find(|rule| address & rule.mask == rule.network).map(|rule| Arc::clone(&rule.bucket))
    }
}

fn rule(text: &RuleText) -> Result<Rule, String> {
    let wrong = || format!("cidr is {:?}; it must be like 10.1.0.0/16", text.cidr);
    let (network, length) = text.cidr.split_once('/').ok_or_else(wrong)?;
    let network: Ipv4Addr = network.parse().map_err(|_| wrong())?;
    let length: u32 = length.parse().ok().filter(|length| *length <= 32).ok_or_else(wrong)?;
    // Less than a byte a second is no cap, and its waits would be longer than a clock can hold.
    if !(text.megabytes_per_second >= 1e-6 && text.megabytes_per_second.is_finite()) {
        return Err(format!("megabytesPerSecond is {} for {}; it must be positive", text.megabytes_per_second, text.cidr));
    }
    let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
    Ok(Rule { network: u32::from(network) & mask, mask, bucket: Bucket::new(text.megabytes_per_second * 1e6) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_takers_together_get_the_rate() {
        let bucket = Bucket::new(1e6);
        let now = Instant::now();
        let waits: Vec<Duration> = (0..100).map(|_| bucket.reserve(10_000, now)).collect();
        let last = waits[99].as_secs_f64();
        assert!((last - 1.0).abs() < 0.001, "1 MB at 1 MB/s, a new bucket being empty: {last}");
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn an_idle_bucket_saves_no_more_than_the_burst() {
        let bucket = Bucket::new(1e6);
        let later = Instant::now() + Duration::from_secs(60);
        assert_eq!(bucket.reserve(20_000, later), Duration::ZERO);
        assert!(bucket.reserve(20_000, later) >= Duration::from_millis(19));
    }

    #[test]
    fn a_rate_that_changes_frees_whoever_waits_under_the_old_one() {
        let bucket = Bucket::of_megabits(1);
        let waiting = {
            let bucket = Arc::clone(&bucket);
            // At 1 Mbit/s these take more than two hours.
            std::thread::spawn(move || bucket.take(1 << 30))
        };
        let owing = || *bucket.earned.lock().unwrap() > Instant::now() + Duration::from_secs(3600);
        while !owing() {
            std::thread::yield_now();
        }
        bucket.set_megabits(None);
        waiting.join().unwrap();
        assert!(bucket.is_unlimited());
        bucket.set_megabits(Some(8.0));
        let now = Instant::now();
        assert!(bucket.reserve(1_000_000, now) >= Duration::from_millis(900), "what was owed before is forgotten, what comes is not");
        assert!(bucket.reserve(0, now) <= Duration::from_secs(1));
    }

    #[test]
    fn the_first_matching_rule_wins() {
        let rules = br#"[{"cidr":"127.10.0.0/16","megabytesPerSecond":160},{"cidr":"0.0.0.0/0","megabytesPerSecond":20}]"#;
        let rules = RateRules::parse(rules).unwrap();
        let rate = |text: &str| rules.bucket(text.parse().unwrap()).unwrap().bytes_per_second();
        assert_eq!((rate("127.10.3.4"), rate("127.11.3.4")), (160e6, 20e6));
        assert!(RateRules::default().bucket(Ipv4Addr::LOCALHOST).is_none());
    }

    #[test]
    fn a_wrong_rule_is_named() {
        assert!(RateRules::parse(br#"[{"cidr":"10.0.0.0","megabytesPerSecond":1}]"#).unwrap_err().contains("10.0.0.0"));
        assert!(RateRules::parse(br#"[{"cidr":"10.0.0.0/8","megabytesPerSecond":0}]"#).unwrap_err().contains("positive"));
        assert!(RateRules::parse(br#"[{"cidr":"10.0.0.0/8","megabytesPerSecond":1e-300}]"#).unwrap_err().contains("positive"));
    }
}
