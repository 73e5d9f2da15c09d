//! Signatures of requests, by Signature Version 4 as S3 wants it.

use std::borrow::Cow;
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4::SigningParams;
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

use crate::fault::{Fault, Meaning};

/// Adds to a request what says who sends it, and when.
///
/// # Errors
///
/// If it has a header that cannot be signed.
pub fn add(request: &mut HttpRequest, body: SignableBody<'_>, keys: Credentials, region: &str, at: SystemTime) -> Result<(), Fault> {
    let wrong = |error: &dyn std::fmt::Display| Fault::new(Meaning::Object, format!("a request that cannot be signed: {error}"));
    let mut settings = SigningSettings::default();
    // A key is encoded once, and its slashes and dots are part of it.
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    let identity = keys.into();
    let params = SigningParams::builder().identity(&identity).region(region).name("s3").time(at).settings(settings).build();
    let params = params.map_err(|error| wrong(&error))?.into();
    let (instructions, _) = {
        let signable = SignableRequest::new(request.method(), Cow::Borrowed(request.uri()), request.headers().iter(), body);
        let signed = sign(signable.map_err(|error| wrong(&error))?, &params);
        signed.map_err(|error| wrong(&error))?.into_parts()
    };
    for header in instructions.into_parts().0 {
        let value = header.value().to_owned();
        request.headers_mut().try_insert(header.name(), value).map_err(|error| wrong(&error))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
