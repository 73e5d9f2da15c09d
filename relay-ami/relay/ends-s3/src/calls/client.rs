//! Calls over the connections that the SDK's client has: signed, sent, and sent again where that may help.

use std::io;
use std::time::{Duration, SystemTime};

use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_sdk_s3::error::DisplayErrorContext;
use aws_sigv4::http_request::SignableBody;
use aws_smithy_async::rt::sleep::default_async_sleep;
use aws_smithy_async::time::{SharedTimeSource, SystemTimeSource};
use aws_smithy_runtime::client::auth::no_auth::{NO_AUTH_SCHEME_ID, NoAuthScheme};
use aws_smithy_runtime::client::identity::IdentityCache;
use aws_smithy_runtime::client::identity::no_auth::NoAuthIdentityResolver;
use aws_smithy_runtime::client::orchestrator::endpoints::StaticUriEndpointResolver;
use aws_smithy_runtime::client::retries::strategy::NeverRetryStrategy;
use aws_smithy_runtime_api::client::auth::SharedAuthScheme;
use aws_smithy_runtime_api::client::auth::static_resolver::StaticAuthSchemeOptionResolver;
use aws_smithy_runtime_api::client::connection::CaptureSmithyConnection;
use aws_smithy_runtime_api::client::http::{HttpClient, HttpConnector, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector};
use aws_smithy_runtime_api::client::identity::SharedIdentityResolver;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use tokio::time::timeout;

use super::address::Address;
use super::answer::{Again, Failed, Told};
use super::budget::Budget;
use super::skew::Skew;
use super::{Limits, signature};
use crate::fault::{Fault, Meaning};
use crate::persistence::share;

const USER_AGENT: &str = concat!("cpt-relay/", env!("CARGO_PKG_VERSION"));
/// Before the second attempt, twice as long before the third: those of the SDK.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);

/// One way to the objects of a bucket.
pub struct Calls {
    connections: SharedHttpConnector,
    address: Address,
    owner: Option<String>,
    keys: SharedCredentialsProvider,
    limits: Limits,
    budget: Budget,
    skew: Skew,
    /// Nothing else protects what is sent.
    is_plain: bool,
}

/// What is asked.
pub struct Request<'a> {
    pub method: &'static str,
    pub key: &'a str,
    /// As an address has it.
    pub query: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
    /// The answer has to begin by then.
    pub patience: Duration,
}

impl Calls {
    /// # Errors
    ///
    /// If the SDK's client of HTTP cannot be asked for connections.
    pub fn new(
        http: &SharedHttpClient,
        address: Address,
        owner: Option<String>,
        keys: SharedCredentialsProvider,
        limits: Limits,
    ) -> io::Result<Self> {
        // How long an answer may take is another time for each call, and would be other connections for each such time.
        let settings = HttpConnectorSettings::builder().connect_timeout(limits.connect).build();
        let connections = http.http_connector(&settings, &components()?);
        let is_plain = address.is_plain();
        let (budget, skew) = (Budget::default(), Skew::default());
        Ok(Self { connections, address, owner, keys, limits, budget, skew, is_plain })
    }

    /// The same by other connections, whoever these lead through. A call is made once: what fails there comes again directly.
    pub fn by(&self, http: &SharedHttpClient, endpoint: Option<&str>) -> io::Result<Self> {
        let limits = Limits { attempts: 1, ..self.limits };
        Self::new(http, self.address.at(endpoint)?, self.owner.clone(), self.keys.clone(), limits)
    }

    /// The answer, if it is a success: to the first attempt that has one.
    pub async fn call(&self, request: &Request<'_>) -> Result<HttpResponse, Fault> {
        let (mut attempt, mut spent) = (1, 0);
        loop {
            let Failed { fault, again } = match self.attempt(request).await {
                Ok(answer) => {
                    self.budget.answered(spent);
                    return Ok(answer);
                }
                Err(failed) => failed,
            };
            let Some(Again { cost, after, .. }) = again.filter(|_| attempt < self.limits.attempts) else { return Err(fault) };
            if !self.budget.take(cost) {
                return Err(fault);
            }
            spent = cost;
            let pause = after.unwrap_or_else(|| (FIRST_PAUSE * (1 << (attempt - 1))).mul_f64(share()));
            tracing::debug!(key = request.key, %fault, ?pause, "asked again");
            tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, asked: &Request<'_>) -> Result<HttpResponse, Failed> {
        let keys = self.keys.provide_credentials().await;
        let keys = keys.map_err(|error| Failed::for_good(Fault::passing(&DisplayErrorContext(&error))))?;
        let mut request = self.request(asked).map_err(Failed::for_good)?;
        let body = if self.is_plain { SignableBody::Bytes(&asked.body) } else { SignableBody::UnsignedPayload };
        let (now, connection) = (SystemTime::now(), CaptureSmithyConnection::new());
        signature::add(&mut request, body, keys, &self.address.region, self.skew.apply(now)).map_err(Failed::for_good)?;
        request.add_extension(connection.clone());
        let answered = self.answered(asked, request, now).await;
        if let Err(Failed { again: Some(Again { is_anew: true, .. }), .. }) = &answered
            && let Some(connection) = connection.get()
        {
            connection.poison();
        }
        answered
    }

    async fn answered(&self, asked: &Request<'_>, request: HttpRequest, sent: SystemTime) -> Result<HttpResponse, Failed> {
        let answer = timeout(asked.patience, self.connections.call(request)).await;
        let answer = answer.map_err(|_| Failed::silent(asked.patience))?;
        let mut answer = answer.map_err(|error| Failed::of_connection(&error))?;
        let status = answer.status().as_u16();
        if answer.status().is_success() && !(asked.method == "PUT" && has_words(&answer)) {
            return Ok(answer);
        }
        let told = Told::of(&mut answer).await;
        if answer.status().is_success() && told.code.is_none() {
            return Ok(answer);
        }
        let headers = answer.headers();
        let is_refused_for_time = (400..500).contains(&status)
            && (asked.method == "HEAD" || told.code.is_some())
            && self.skew.learn(told.code.as_deref(), headers.get("date"), sent);
        let failed = Failed::of_answer(status, told, headers.get("x-amz-retry-after"));
        Err(if is_refused_for_time { Failed { again: Some(Again::REFUSED), ..failed } } else { failed })
    }

    /// The request without its signature.
    fn request(&self, asked: &Request<'_>) -> Result<HttpRequest, Fault> {
        let wrong = |error: &dyn std::fmt::Display| Fault::new(Meaning::Object, format!("{}: {error}", asked.key));
        let mut request = HttpRequest::new(SdkBody::from(asked.body.clone()));
        request.set_method(asked.method).map_err(|error| wrong(&error))?;
        request.set_uri(self.address.object(asked.key, &asked.query)).map_err(|error| wrong(&error))?;
        let headers = request.headers_mut();
        headers.insert("user-agent", USER_AGENT);
        if let Some(owner) = &self.owner {
            headers.try_insert("x-amz-expected-bucket-owner", owner.clone()).map_err(|error| wrong(&error))?;
        }
        for (name, value) in &asked.headers {
            // Others would be signed in another form than S3 reads them in.
            if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                return Err(wrong(&format!("the header {name} cannot be {value:?}: it is to be printable ASCII")));
            }
            let inserted = headers.try_insert(name.clone(), value.clone());
            inserted.map_err(|error| wrong(&format!("the header {name} cannot be {value:?}: {error}")))?;
        }
        Ok(request)
    }
}

/// S3 answers a write with no word where it was done.
fn has_words(answer: &HttpResponse) -> bool {
    answer.headers().get("content-length").is_none_or(|length| length != "0")
}

/// What the SDK's client of HTTP takes of its surroundings: a clock. It wants to be told of all else, and does not use it.
fn components() -> io::Result<RuntimeComponents> {
    let components = RuntimeComponents::builder("objects")
        .with_auth_scheme_option_resolver(Some(StaticAuthSchemeOptionResolver::new(vec![NO_AUTH_SCHEME_ID])))
        .with_auth_scheme(SharedAuthScheme::new(NoAuthScheme::new()))
        .with_identity_resolver(NO_AUTH_SCHEME_ID, SharedIdentityResolver::new(NoAuthIdentityResolver::new()))
        .with_endpoint_resolver(Some(StaticUriEndpointResolver::http_localhost(0)))
        .with_identity_cache(Some(IdentityCache::no_cache()))
        .with_retry_strategy(Some(NeverRetryStrategy::new()))
        .with_time_source(Some(SharedTimeSource::new(SystemTimeSource::new())))
        .with_sleep_impl(default_async_sleep());
    components.build().map_err(io::Error::other)
}
