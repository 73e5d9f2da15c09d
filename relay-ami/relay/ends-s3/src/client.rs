//! The client of one bucket: its place, its credentials, and the runtime on which its calls run.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::client::customize::CustomizableOperation;
use aws_sdk_s3::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Credentials, IdentityCache, Region, RequestChecksumCalculation, ResponseChecksumValidation, SharedCredentialsProvider,
    StalledStreamProtectionConfig,
};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use tokio::runtime::Runtime;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use super::calls::{Address, Calls, Limits};
use super::fault::Fault;
use super::persistence::persist;
use super::ways::{Way, Ways, is_of_the_object};
use super::written::Written;

/// Threads that run calls. A call mostly waits; encryption of what it carries is what costs.
const RUNTIME_THREADS: usize = 2;
/// Connections with their handshakes.
const CONNECT: Duration = Duration::from_secs(5);
/// Without a byte in either direction for so long an attempt is given up.
pub(crate) const STALLED: Duration = Duration::from_secs(20);
/// Bytes a second of the slowest link that still serves, and as many as no call waits for.
const SLOWEST: u64 = 100_000;
const LITTLE: u64 = 256 << 10;
/// S3 puts the parts of a large object together for minutes.
const COMPLETION: Duration = Duration::from_secs(600);
/// Attempts of one call by the SDK; its callers repeat it for longer, with their own patience.
const ATTEMPTS: u32 = 3;

/// What lies below a prefix of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub bucket: String,
    /// Empty, or ends with a slash.
    pub prefix: String,
    pub region: String,
    /// The account that must own the bucket, where that is known: calls to another one's bucket of this name are refused.
    pub owner: Option<String>,
}

impl Place {
    /// The key of a path.
    #[must_use]
    pub fn key(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "s3://{}/{}", self.bucket, self.prefix)
    }
}

/// How the service is reached, and by whom.
#[derive(Clone, Debug)]
pub struct Setup {
    /// None: where AWS has the region's.
    pub endpoint: Option<String>,
    /// Connections by the daemon's own resolver of names.
    pub http: SharedHttpClient,
    /// Asked before each call: whoever gives credentials keeps them, and renews them in time.
    pub credentials: SharedCredentialsProvider,
}

impl Setup {
    /// Keys that the environment has, for whoever runs a role by hand.
    #[must_use]
    pub fn credentials_of_environment() -> Option<SharedCredentialsProvider> {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (id, secret) = (read("AWS_ACCESS_KEY_ID")?, read("AWS_SECRET_ACCESS_KEY")?);
        Some(Self::keys(&id, &secret, read("AWS_SESSION_TOKEN")))
    }

    /// Keys that are known, and do not change.
    #[must_use]
    pub fn keys(id: &str, secret: &str, token: Option<String>) -> SharedCredentialsProvider {
        SharedCredentialsProvider::new(Credentials::new(id, secret, token, None, "fixed"))
    }

    /// The endpoint that the environment names, if any, as other clients of S3 read it.
    #[must_use]
    pub fn endpoint_of_environment() -> Option<String> {
        ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }
}

/// A bucket that is called from threads that block; by the way of a path, if one is named.
#[derive(Clone)]
pub struct Bucket(Arc<Inner>, Arc<Written>, Option<Arc<str>>);

struct Inner {
    place: Place,
    ways: Ways,
    /// `host:port` where it is called without TLS.
    plain: Option<String>,
    /// Gone only while this is dropped.
    runtime: Option<Runtime>,
}

impl Bucket {
    /// # Errors
    ///
    /// If the system has no threads for it.
    pub fn new(place: Place, setup: Setup) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).thread_name("s3").enable_all().build()?;
        let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT).read_timeout(STALLED).build();
        let stalled = StalledStreamProtectionConfig::enabled().grace_period(STALLED).build();
        let config = aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(place.region.clone()))
            .credentials_provider(setup.credentials.clone())
            .identity_cache(IdentityCache::no_cache())
            .http_client(setup.http.clone())
            .timeout_config(timeouts)
            .stalled_stream_protection(stalled)
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS))
            .retry_partition(RetryPartition::custom("bucket").build())
            // Each call that has a checksum has ours.
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            // Where somebody else serves S3, there is no host name per bucket.
            .force_path_style(setup.endpoint.is_some());
        let plain = setup.endpoint.as_deref().and_then(|endpoint| endpoint.strip_prefix("http://"));
        let plain = plain.map(|rest| rest.split('/').next().unwrap_or(rest).to_owned());
        let plain = plain.map(|host| if host.contains(':') { host } else { format!("{host}:80") });
        let (keys, http) = (setup.credentials, setup.http);
        let address = Address::of(&place.bucket, &place.region, setup.endpoint.as_deref())?;
        let config = match setup.endpoint {
            Some(endpoint) => config.endpoint_url(endpoint),
            None => config,
        };
        let s3 = runtime.block_on(async { Client::from_conf(config.build()) });
        let limits = Limits { connect: CONNECT, attempts: ATTEMPTS };
        let calls = Calls::new(&http, address, place.owner.clone(), keys, limits)?;
        Ok(Self(Arc::new(Inner { place, ways: Ways::new(s3, calls), plain, runtime: Some(runtime) }), Arc::default(), None))
    }

    /// The same, to which objects are written so.
    #[must_use]
    pub fn writing(&self, written: Written) -> Self {
        Self(Arc::clone(&self.0), Arc::new(written), self.2.clone())
    }

    /// The same, called by the way of this path while there is such a way, and it serves.
    #[must_use]
    pub fn by(&self, path: Option<Arc<str>>) -> Self {
        Self(Arc::clone(&self.0), Arc::clone(&self.1), path)
    }

    /// All ways to it but the direct one.
    #[must_use]
    pub fn ways(&self) -> &Ways {
        &self.0.ways
    }

    /// Waits until one more large request may be under way; it may until what this returns is dropped.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        self.0.ways.of(self.2.as_deref()).turn().await
    }

    /// The answer of a call, by the way of its path if there is one that serves. What fails there comes again directly, for as long as it
    /// may pass: what a relay is refused, the machine itself may be granted.
    pub(crate) async fn ask<T, F: Future<Output = Result<T, Fault>>>(&self, call: impl Fn(Arc<Way>) -> F) -> Result<T, Fault> {
        let (way, direct) = (self.0.ways.of(self.2.as_deref()), self.0.ways.direct_way());
        if !Arc::ptr_eq(&way, &direct) {
            let answer = call(Arc::clone(&way)).await;
            way.note(answer.as_ref().err());
            if answer.as_ref().err().is_none_or(is_of_the_object) {
                return answer;
            }
        }
        persist(|| async {
            let answer = call(Arc::clone(&direct)).await;
            direct.note(answer.as_ref().err());
            answer
        })
        .await
    }

    #[must_use]
    pub fn written(&self) -> &Written {
        &self.1
    }

    #[must_use]
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// Without relays.
    #[must_use]
    pub fn s3(&self) -> &Client {
        self.0.ways.direct()
    }

    /// Whether it is called without TLS: else what is sent is protected, and needs no signature of its own.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.plain.is_some()
    }

    /// `host:port` of the store, where it is called without TLS.
    #[must_use]
    pub fn plain_host(&self) -> Option<&str> {
        self.0.plain.as_deref()
    }

    /// A call that sends so many bytes takes its time.
    pub(crate) fn sending<T, E, B>(&self, call: CustomizableOperation<T, E, B>, bytes: u64) -> CustomizableOperation<T, E, B> {
        if bytes < LITTLE { call } else { call.config_override(within(patience(bytes))) }
    }

    /// A call that may take minutes before its answer begins.
    pub(crate) fn completing<T, E, B>(&self, call: CustomizableOperation<T, E, B>) -> CustomizableOperation<T, E, B> {
        call.config_override(within(COMPLETION))
    }

    /// Runs a call beside this thread.
    pub fn spawn<T: Send + 'static>(&self, call: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.runtime().spawn(call)
    }

    /// Runs a call on this thread until it is answered.
    pub fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime().block_on(call)
    }

    /// # Panics
    /// Never: the runtime is there until this is dropped.
    #[allow(clippy::expect_used, reason = "an Option only so that dropping can take it")]
    fn runtime(&self) -> &Runtime {
        self.0.runtime.as_ref().expect("until it is dropped")
    }
}

/// How long a call may take that sends so many bytes.
pub(crate) fn patience(bytes: u64) -> Duration {
    if bytes < LITTLE { STALLED } else { STALLED + Duration::from_secs(bytes / SLOWEST) }
}

/// Limits of one call; the others stay.
fn within(time: Duration) -> aws_sdk_s3::config::Builder {
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT).read_timeout(time).build();
    aws_sdk_s3::Config::builder().timeout_config(timeouts)
}

impl fmt::Display for Bucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place().fmt(formatter)
    }
}

impl Drop for Inner {
    /// Does not wait: a name server that does not answer holds a thread for half a minute.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
