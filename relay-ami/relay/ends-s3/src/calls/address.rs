//! Where a bucket is called, by the SDK's own rules.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use aws_sdk_s3::config::endpoint::{DefaultResolver, Params, ResolveEndpoint};
use aws_smithy_http::label::{EncodingStrategy, fmt_string};
use aws_smithy_types::Document;

/// The beginning of the addresses of a bucket's objects, and for which region requests are signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    base: String,
    bucket: String,
    pub region: String,
}

impl Address {
    /// At an endpoint, if one is named: there is no host name per bucket then.
    ///
    /// # Errors
    ///
    /// If the SDK has no such address, or requests to it are not signed by `SigV4`.
    pub fn of(bucket: &str, region: &str, endpoint: Option<&str>) -> io::Result<Self> {
        let params = Params::builder().bucket(bucket).region(region).set_endpoint(endpoint.map(str::to_owned));
        let params = params.force_path_style(endpoint.is_some()).build().map_err(io::Error::other)?;
        let resolver = DefaultResolver::new();
        // It is computed, not asked for.
        let found = pin!(resolver.resolve_endpoint(&params)).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(found) = found else { return Err(io::Error::other(format!("the address of s3://{bucket} is not known yet"))) };
        let found = found.map_err(io::Error::other)?;
        let Some(scheme) = found.auth_schemes().iter().find(|scheme| scheme.name() == "sigv4") else {
            return Err(io::Error::other(format!("requests to s3://{bucket} are not signed by SigV4")));
        };
        let region = scheme.get("signingRegion").and_then(Document::as_string).unwrap_or(region).to_owned();
        Ok(Self { base: found.url().trim_end_matches('/').to_owned(), bucket: bucket.to_owned(), region })
    }

    /// The same bucket at another endpoint, if one is named.
    ///
    /// # Errors
    ///
    /// If the SDK has no such address.
    pub fn at(&self, endpoint: Option<&str>) -> io::Result<Self> {
        endpoint.map_or_else(|| Ok(self.clone()), |endpoint| Self::of(&self.bucket, &self.region, Some(endpoint)))
    }

    /// Whether it is called without TLS.
    pub fn is_plain(&self) -> bool {
        self.base.starts_with("http://")
    }

    /// Of an object; slashes of a key stay what they are.
    pub fn object(&self, key: &str, query: &str) -> String {
        let (base, key) = (&self.base, fmt_string(key, EncodingStrategy::Greedy));
        if query.is_empty() { format!("{base}/{key}") } else { format!("{base}/{key}?{query}") }
    }
}

/// As a value of a query has it.
pub fn encoded(text: &str) -> String {
    fmt_string(text, EncodingStrategy::Default)
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
