//! Clients of the services of AWS: time limits, retries, and whose quota of retries is whose.

use std::net::SocketAddrV4;
use std::time::Duration;

use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::retry::RetryPartition;
use aws_sdk_dynamodb::config::{ProvideCredentials, SharedCredentialsProvider};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use tokio::runtime::Runtime;

use super::names::Names;
use super::proxy;
use cpt_control::ControlError;

/// Attempts of one call by the SDK, with pauses of 1, 2, 4, … 20 s at most between them; `Times::call` ends it before the last.
const CALL_ATTEMPTS: u32 = 8;
/// Attempts of a report: the next report takes its place in two seconds.
const REPORT_ATTEMPTS: u32 = 3;

/// Time limits of calls.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// A connection with its TLS handshake: a lost SYN comes again after 1 and 3 s, and a handshake over 300 ms takes 1 s.
    pub connect: Duration,
    /// One attempt, from the connection to the answer's end; for an object to the answer's head. Ten times what the slowest takes.
    pub attempt: Duration,
    /// The limit of one call with all attempts and pauses; then the caller decides.
    pub call: Duration,
    /// The same of a report, and of what is read to steer this end. Two attempts fit, and an end that reports every two seconds
    /// counts as silent after 30 s: of its two calls one after the other, both may time out.
    pub report_attempt: Duration,
    pub report_call: Duration,
    /// Before an object's body is asked for again: 1, 2, 4 times as long.
    pub pause: Duration,
    /// First pause of the SDK's own retries; it doubles.
    pub backoff: Duration,
    /// Bytes a second of the slowest link that still serves. Objects are 12 MB at most: 2 minutes.
    pub slowest: u64,
    /// Without a byte for so long a body's stream is given up before that.
    pub stalled: Duration,
    /// What an end says after it was told to stop may take so long in all, from the wish on: as long as it lets go of its work.
    pub last_words: Duration,
}

impl Times {
    pub const AWS: Self = Self {
        connect: Duration::from_secs(5),
        attempt: Duration::from_secs(10),
        call: Duration::from_secs(60),
        report_attempt: Duration::from_secs(5),
        report_call: Duration::from_secs(12),
        pause: Duration::from_secs(1),
        backoff: Duration::from_secs(1),
        slowest: 100_000,
        stalled: Duration::from_secs(10),
        last_words: cpt_process::STOP_TIMEOUT,
    };

    /// For a body of so many bytes.
    #[must_use]
    pub fn body(&self, bytes: u64) -> Duration {
        self.attempt + Duration::from_secs_f64(bytes as f64 / self.slowest as f64)
    }

    fn limits(&self, attempt: Duration, call: Duration) -> TimeoutConfig {
        TimeoutConfig::builder()
            .connect_timeout(self.connect)
            .read_timeout(attempt)
            .operation_attempt_timeout(attempt)
            .operation_timeout(call)
            .build()
    }

    /// Returns limits for an object that is written: its bytes are part of the attempt. Two attempts.
    #[must_use]
    pub fn writing(&self, bytes: u64) -> TimeoutConfig {
        let attempt = self.body(bytes);
        self.limits(attempt, self.call.max(2 * attempt))
    }
}

/// The services' places and limits.
#[derive(Clone, Debug)]
pub struct Setup {
    pub times: Times,
    /// None: where AWS has them, or where the environment says.
    pub endpoint: Option<String>,
    /// None: from the instance's metadata service, version 2.
    pub credentials: Option<SharedCredentialsProvider>,
    /// None: the one that the environment names, or the way straight there.
    pub proxy: Option<ProxyConfig>,
}

impl Setup {
    pub const AWS: Self = Self { times: Times::AWS, endpoint: None, credentials: None, proxy: None };

    /// Services at `endpoint`, for tests.
    #[must_use]
    pub fn at(endpoint: String, credentials: impl ProvideCredentials + 'static, times: Times) -> Self {
        Self { times, endpoint: Some(endpoint), credentials: Some(SharedCredentialsProvider::new(credentials)), proxy: None }
    }
}

/// One client for each purpose.
pub struct Clients {
    /// Chunks and leases, of which there are hundreds a second. Not adaptive: its limiter takes the rate of the calls before the
    /// throttling for what the table bears, so that after a quiet minute it lets one call pass every two seconds.
    pub chunks: aws_sdk_dynamodb::Client,
    /// The few calls by which an end is heard and steered: progress, fence, membership, keys. Throttled chunks take neither its
    /// retries nor its rate.
    pub reports: aws_sdk_dynamodb::Client,
    pub s3: aws_sdk_s3::Client,
    pub events: aws_sdk_eventbridge::Client,
}

impl Clients {
    /// # Errors
    ///
    /// If the environment names a proxy that cannot be one.
    pub fn new(runtime: &Runtime, region: &str, setup: &Setup) -> Result<Self, ControlError> {
        let times = &setup.times;
        let retries = RetryConfig::standard().with_max_attempts(CALL_ATTEMPTS).with_initial_backoff(times.backoff);
        let stalled = aws_sdk_s3::config::StalledStreamProtectionConfig::enabled().grace_period(times.stalled).build();
        let http = match &setup.proxy {
            Some(proxy) => http_through(Some(proxy.clone())),
            None => http_client()?,
        };
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http.clone())
            .region(Region::new(region.to_owned()))
            .timeout_config(times.limits(times.attempt, times.call))
            .stalled_stream_protection(stalled)
            .retry_config(retries.clone());
        loader = match &setup.credentials {
            Some(credentials) => loader.credentials_provider(credentials.clone()),
            None => {
                let provider = ProviderConfig::without_region().with_http_client(http);
                loader.credentials_provider(ImdsCredentialsProvider::builder().configure(&provider).build())
            }
        };
        if let Some(endpoint) = &setup.endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        let config: SdkConfig = runtime.block_on(loader.load());
        // A quota of retries for each, and for this process' transfer alone.
        let quota = |name: &'static str| RetryPartition::custom(name).build();
        // An emulator has no host name per bucket.
        let s3 = aws_sdk_s3::config::Builder::from(&config)
            .force_path_style(config.endpoint_url().is_some())
            .retry_partition(quota("objects"))
            .build();
        let chunks = aws_sdk_dynamodb::config::Builder::from(&config).retry_partition(quota("chunks")).build();
        let events = aws_sdk_eventbridge::config::Builder::from(&config).retry_partition(quota("events")).build();
        let reports = aws_sdk_dynamodb::config::Builder::from(&config)
            .retry_config(retries.with_max_attempts(REPORT_ATTEMPTS))
            .retry_partition(quota("reports"))
            .timeout_config(times.limits(times.report_attempt, times.report_call))
            .build();
        Ok(Self {
            chunks: aws_sdk_dynamodb::Client::from_conf(chunks),
            reports: aws_sdk_dynamodb::Client::from_conf(reports),
            s3: aws_sdk_s3::Client::from_conf(s3),
            events: aws_sdk_eventbridge::Client::from_conf(events),
        })
    }
}

/// Connections by our own resolver, and through the proxy that the environment names, if any.
///
/// # Errors
///
/// If that cannot be a proxy.
pub fn http_client() -> Result<SharedHttpClient, ControlError> {
    Ok(http_through(proxy::from_environment()?))
}

/// Connections by a proxy at this address, of whom nobody else has the secret.
///
/// # Errors
///
/// Never for an address of this kind.
pub fn http_client_by(proxy: SocketAddrV4, user: &str, secret: &str) -> Result<SharedHttpClient, ControlError> {
    let config = ProxyConfig::https(format!("http://{proxy}").as_str());
    let config = config.map_err(|error| ControlError::Malformed { what: "proxy".to_owned(), why: error.to_string() })?;
    Ok(http_through(Some(config.with_basic_auth(user, secret))))
}

fn http_through(proxy: Option<ProxyConfig>) -> SharedHttpClient {
    let tls = Provider::Rustls(CryptoMode::AwsLc);
    let Some(proxy) = proxy else { return Builder::new().tls_provider(tls).build_with_resolver(Names::default()) };
    let names = Names::default();
    // The SDK's builder of clients has no setting for a proxy, its builder of connectors has.
    Builder::new().build_with_connector_fn(move |settings, components| {
        let mut connector = Connector::builder().proxy_config(proxy.clone());
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(|found| found.sleep_impl()));
        connector.tls_provider(tls.clone()).build_with_resolver(names.clone())
    })
}
