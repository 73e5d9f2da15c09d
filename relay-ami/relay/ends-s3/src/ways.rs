//! The ways to a bucket: the direct one, and those through relays, each with connections of its own.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::{RetryConfig, RetryPartition};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::calls::Calls;
use super::fault::{Fault, Meaning};
use cpt_process::thread::lock;

/// Large requests of one way at once: as many as a link of 10 Gbit/s needs at 85 MB/s for each.
const AT_ONCE: usize = 16;
/// A way by which nobody was heard is left alone for so long; twice as long each time, until somebody is heard there.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How the store is reached by the way of a path.
#[derive(Clone, Debug)]
pub struct Through {
    pub path: Arc<str>,
    /// Another one is another way, though the path is the same.
    pub generation: u64,
    pub http: SharedHttpClient,
    /// The way's own beginning, where the store is called without TLS; else the client finds it by itself.
    pub endpoint: Option<String>,
}

/// One way.
pub struct Way {
    path: Arc<str>,
    generation: u64,
    client: Client,
    calls: Calls,
    turns: Arc<Semaphore>,
    state: Mutex<State>,
}

struct State {
    rests_until: Option<Instant>,
    /// For how long the next time.
    pause: Duration,
    heard_at: Option<Instant>,
}

impl Way {
    fn new(path: Arc<str>, generation: u64, client: Client, calls: Calls) -> Arc<Self> {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Arc::new(Self {
            path,
            generation,
            client,
            calls,
            turns,
            state: Mutex::new(State { rests_until: None, pause: FIRST_PAUSE, heard_at: None }),
        })
    }

    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Calls about objects.
    pub(crate) const fn calls(&self) -> &Calls {
        &self.calls
    }

    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }

    /// Notes what a call has come to: whether S3 was heard by this way, and takes what comes from there.
    pub fn note(&self, fault: Option<&Fault>) {
        let (mut state, now) = (lock(&self.state), Instant::now());
        let Some(fault) = fault.filter(|fault| !is_of_the_object(fault)) else {
            *state = State { rests_until: None, pause: FIRST_PAUSE, heard_at: Some(now) };
            return;
        };
        if fault.status.is_some() {
            state.heard_at = Some(now);
        }
        // Those that fail at once are one failure.
        if state.rests_until.is_none_or(|until| now >= until) {
            let pause = state.pause;
            tracing::warn!(path = &*self.path, %fault, ?pause, "left alone");
            (state.rests_until, state.pause) = (Some(now + pause), (2 * pause).min(LONGEST_PAUSE));
        }
    }

    fn serves(&self) -> bool {
        lock(&self.state).rests_until.is_none_or(|until| Instant::now() >= until)
    }
}

/// Whether it would be the same by any way. A refusal need not be: policies of buckets, networks and endpoints know addresses.
pub(crate) const fn is_of_the_object(fault: &Fault) -> bool {
    matches!(fault.meaning, Meaning::Gone | Meaning::NoUpload | Meaning::OtherPart | Meaning::Condition | Meaning::Object)
}

/// All of them.
pub struct Ways {
    direct: Arc<Way>,
    others: Mutex<Vec<Arc<Way>>>,
}

impl Ways {
    pub(crate) fn new(client: Client, calls: Calls) -> Self {
        Self { direct: Way::new("direct".into(), 0, client, calls), others: Mutex::default() }
    }

    pub(crate) fn direct_way(&self) -> Arc<Way> {
        Arc::clone(&self.direct)
    }

    pub fn direct(&self) -> &Client {
        &self.direct.client
    }

    /// Whether S3 was heard on the direct way since.
    #[must_use]
    pub fn heard_directly_since(&self, time: Instant) -> bool {
        lock(&self.direct.state).heard_at.is_some_and(|heard| heard >= time)
    }

    /// How many there are besides the direct one.
    pub fn count(&self) -> usize {
        lock(&self.others).len()
    }

    /// The way of a path, while it serves; else the direct one.
    pub fn of(&self, path: Option<&str>) -> Arc<Way> {
        let others = lock(&self.others);
        let found = path.and_then(|path| others.iter().find(|way| &*way.path == path && way.serves()));
        Arc::clone(found.unwrap_or(&self.direct))
    }

    /// From now on these are the ways besides the direct one. What is under way by another one goes on.
    pub fn set(&self, all: Vec<Through>) {
        let mut others = lock(&self.others);
        let known = std::mem::take(&mut *others);
        *others = all
            .into_iter()
            .filter_map(|through| {
                let same = known.iter().find(|way| (&way.path, way.generation) == (&through.path, through.generation));
                let made =
                    || self.made(&through).inspect_err(|error| tracing::warn!(path = &*through.path, %error, "no way to the bucket"));
                same.cloned().or_else(|| made().ok())
            })
            .collect();
    }

    fn made(&self, through: &Through) -> io::Result<Arc<Way>> {
        // What fails comes again directly, and takes nothing of what the direct way has for trying again.
        let config = self.direct().config().to_builder().http_client(through.http.clone());
        let config = config.retry_config(RetryConfig::standard().with_max_attempts(1));
        let mut config = config.retry_partition(RetryPartition::custom("relays").build());
        if through.endpoint.is_some() {
            config.set_endpoint_url(through.endpoint.clone());
        }
        let calls = self.direct.calls.by(&through.http, through.endpoint.as_deref())?;
        Ok(Way::new(Arc::clone(&through.path), through.generation, Client::from_conf(config.build()), calls))
    }
}
