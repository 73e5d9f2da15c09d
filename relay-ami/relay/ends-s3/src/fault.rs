//! What S3 says when it does not do what it was asked, and what follows of it.

use std::error::Error;
use std::fmt;
use std::io;

use aws_sdk_s3::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use cpt_ends::problem::takes_nothing;

/// May be answered otherwise in a moment, or with other credentials.
const PASSING: [&str; 18] = [
    "BadDigest",
    "ConditionalRequestConflict",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteBody",
    "InternalError",
    "OperationAborted",
    "RequestTimeout",
    "RequestTimeTooSkewed",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TokenRefreshRequired",
    "TooManyRequests",
    "TooManyRequestsException",
    "XAmzContentChecksumMismatch",
    "XAmzContentSHA256Mismatch",
];
/// Of one object alone, whatever is tried.
const OF_THE_OBJECT: [&str; 6] =
    ["EntityTooLarge", "EntityTooSmall", "InvalidObjectState", "KeyTooLongError", "MetadataTooLarge", "ObjectLocked"];
const GONE: [&str; 3] = ["NoSuchKey", "NotFound", "NoSuchVersion"];

/// The decision that an answer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It may pass: the same call again, after a pause.
    Passing,
    /// The object is not there.
    Gone,
    /// The upload is not there: it was completed, or aborted.
    NoUpload,
    /// A part is not the one that was named.
    OtherPart,
    /// The bucket is not there.
    NoBucket,
    /// A condition of the call does not hold.
    Condition,
    /// The object cannot be had or written.
    Object,
    /// The bucket, its keys or the permissions stand against all calls like this.
    Bucket,
}

/// A call that was not done, or of which that is not known.
#[derive(Clone, Debug)]
pub struct Fault {
    pub meaning: Meaning,
    /// Of the answer, where there was one.
    pub status: Option<u16>,
    words: String,
}

impl Fault {
    pub fn new(meaning: Meaning, words: impl Into<String>) -> Self {
        Self { meaning, status: None, words: words.into() }
    }

    /// Of an answer that broke off.
    pub fn passing(why: &impl fmt::Display) -> Self {
        Self::new(Meaning::Passing, why.to_string())
    }

    /// Of what the SDK's client says.
    pub fn of<E: Error + ProvideErrorMetadata + 'static>(error: &SdkError<E, HttpResponse>) -> Self {
        let status = error.raw_response().map(|answer| answer.status().as_u16());
        Self::told(error.code(), error.message(), status, || DisplayErrorContext(error).to_string())
    }

    /// Of a refusal's code, words and status, as far as there are any; `otherwise`: its words where there are none.
    pub(crate) fn told(code: Option<&str>, message: Option<&str>, status: Option<u16>, otherwise: impl FnOnce() -> String) -> Self {
        let meaning = match (code, status) {
            (Some("NoSuchUpload"), _) => Meaning::NoUpload,
            (Some("NoSuchBucket"), _) => Meaning::NoBucket,
            (Some("InvalidPart" | "InvalidPartOrder"), _) => Meaning::OtherPart,
            (Some("PreconditionFailed"), _) | (_, Some(412)) => Meaning::Condition,
            (Some(code), _) if PASSING.contains(&code) => Meaning::Passing,
            (Some(code), _) if OF_THE_OBJECT.contains(&code) => Meaning::Object,
            (Some(code), _) if GONE.contains(&code) => Meaning::Gone,
            // A HEAD has no body that could say what is not there.
            (None, Some(404)) => Meaning::Gone,
            // Without an answer, or with one that is none.
            (_, None | Some(200 | 429 | 500..)) => Meaning::Passing,
            _ => Meaning::Bucket,
        };
        let words = match (code, message, status) {
            (Some(code), Some(message), _) => format!("{code}: {message}"),
            (Some(code), None, _) => code.to_owned(),
            (None, _, Some(status)) if !matches!(status, 200) => format!("HTTP status {status}"),
            _ => otherwise(),
        };
        Self { meaning, status, words }
    }

    /// The error that a port speaks of; `what` was asked for.
    pub fn into_error(self, what: impl fmt::Display) -> io::Error {
        let words = format!("{what}: {}", self.words);
        match self.meaning {
            Meaning::Gone => io::Error::new(io::ErrorKind::NotFound, words),
            Meaning::Object => io::Error::new(io::ErrorKind::InvalidInput, words),
            Meaning::Passing | Meaning::NoBucket | Meaning::Bucket => takes_nothing(words),
            Meaning::NoUpload | Meaning::OtherPart | Meaning::Condition => io::Error::other(words),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.words)
    }
}
