//! The ways to a bucket: the direct one, and those through relays, each with connections of its own.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_sdk_s3::Client;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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
    fn new(path: Arc<str>, generation: u64, client: Client) -> Arc<Self> {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Arc::new(Self {
            path,
            generation,
            client,
            turns,
            state: Mutex::new(State { rests_until: None, pause: FIRST_PAUSE, heard_at: None }),
        })
    }

    pub const fn client(&self) -> &Client {
        &self.client
    }

    pub async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).acquire_owned().await.ok()
    }

    /// Passes on what a call has come to, and notes whether S3 was heard: any answer is one.
    pub fn heard<T>(&self, result: Result<T, Fault>) -> Result<T, Fault> {
        let (mut state, now) = (lock(&self.state), Instant::now());
        match &result {
            Err(fault) if fault.meaning == Meaning::Passing && fault.status.is_none() => {
                let pause = state.pause;
                tracing::warn!(path = &*self.path, %fault, ?pause, "nobody answers on this way");
                (state.rests_until, state.pause) = (Some(now + pause), (2 * pause).min(LONGEST_PAUSE));
            }
            _ => *state = State { rests_until: None, pause: FIRST_PAUSE, heard_at: Some(now) },
        }
        drop(state);
        result
    }

    fn serves(&self) -> bool {
        lock(&self.state).rests_until.is_none_or(|until| Instant::now() >= until)
    }
}

/// All of them.
pub struct Ways {
    direct: Arc<Way>,
    others: Mutex<Vec<Arc<Way>>>,
}

impl Ways {
    pub fn new(client: Client) -> Self {
        Self { direct: Way::new("direct".into(), 0, client), others: Mutex::default() }
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
            .map(|through| {
                let same = known.iter().find(|way| (&way.path, way.generation) == (&through.path, through.generation));
                same.cloned().unwrap_or_else(|| {
                    let mut config = self.direct().config().to_builder().http_client(through.http);
                    if through.endpoint.is_some() {
                        config.set_endpoint_url(through.endpoint);
                    }
                    Way::new(through.path, through.generation, Client::from_conf(config.build()))
                })
            })
            .collect();
    }
}
