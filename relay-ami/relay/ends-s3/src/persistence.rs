//! A call that is repeated as long as what S3 says may pass.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::fault::{Fault, Meaning};

/// So long one call is repeated. Then its caller decides: a chunk comes again, or waits until the bucket takes something.
const PATIENCE: Duration = Duration::from_secs(60);
/// Before the second attempt; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The answer of the first attempt that has one which does not pass.
pub async fn persist<T, F: Future<Output = Result<T, Fault>>>(attempt: impl Fn() -> F) -> Result<T, Fault> {
    let mut pauses = Pauses::default();
    loop {
        let fault = match attempt().await {
            Err(fault) if fault.meaning == Meaning::Passing => fault,
            other => return other,
        };
        let Some(pause) = pauses.next() else { return Err(fault) };
        tracing::warn!(%fault, "asked again");
        tokio::time::sleep(pause).await;
    }
}

/// Pauses between attempts, as long as patience lasts.
pub struct Pauses {
    begun: Instant,
    pause: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { begun: Instant::now(), pause: FIRST_PAUSE }
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.pause;
        self.pause = (2 * pause).min(LONGEST_PAUSE);
        (self.begun.elapsed() + pause < PATIENCE).then(|| pause.mul_f64(share()))
    }
}

/// From a half to a whole: many that were throttled together do not come back together.
pub fn share() -> f64 {
    let nanoseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    0.5 + f64::from(nanoseconds % 1000) / 2000.0
}
