//! What an answer says that is no success, and whether the call may be made again at once.

use std::time::Duration;

use aws_runtime::retries::classifiers::{THROTTLING_ERRORS, TRANSIENT_ERRORS};
use aws_sdk_s3::error::DisplayErrorContext;
use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind;
use aws_smithy_xml::decode::{Document, try_data};
use tokio::time::timeout;

use super::budget::{REFUSED, UNANSWERED};
use crate::client::STALLED;
use crate::fault::Fault;

/// Of the body of a refusal; S3's have some hundred bytes.
const MOST_TOLD: usize = 64 << 10;
/// Answers of a service that is not well, whatever they say.
const UNWELL: [u16; 4] = [500, 502, 503, 504];

/// An attempt that has come to nothing.
pub struct Failed {
    pub fault: Fault,
    pub again: Option<Again>,
}

/// What another attempt needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Again {
    /// Of the budget.
    pub cost: u32,
    /// As long as the service asks for.
    pub after: Option<Duration>,
    /// The connection may be the reason.
    pub is_anew: bool,
}

impl Again {
    const TRANSIENT: Self = Self { cost: UNANSWERED, after: None, is_anew: true };
    pub const REFUSED: Self = Self { cost: REFUSED, after: None, is_anew: false };
}

impl Failed {
    pub const fn for_good(fault: Fault) -> Self {
        Self { fault, again: None }
    }

    /// Nobody has answered in time.
    pub fn silent(after: Duration) -> Self {
        let fault = Fault::passing(&format!("no answer came for {} s", after.as_secs()));
        Self { fault, again: Some(Again::TRANSIENT) }
    }

    /// There is no connection, or none any more.
    pub fn of_connection(error: &ConnectorError) -> Self {
        let again = match error.as_other() {
            _ if error.is_timeout() || error.is_io() => Some(Again::TRANSIENT),
            Some(ErrorKind::TransientError) => Some(Again::TRANSIENT),
            Some(_) => Some(Again::REFUSED),
            None => None,
        };
        Self { fault: Fault::passing(&DisplayErrorContext(error)), again }
    }

    /// The service has answered with a status, and perhaps a code.
    pub fn of_answer(status: u16, told: Told, after: Option<&str>) -> Self {
        let Told { code, message } = told;
        let after = after.and_then(|text| text.parse().ok()).map(Duration::from_millis);
        let is = |codes: &[&str]| code.as_deref().is_some_and(|code| codes.contains(&code));
        let again = if is(THROTTLING_ERRORS) {
            Some(Again { after, ..Again::REFUSED })
        } else if is(TRANSIENT_ERRORS) || is(&["InternalError"]) || UNWELL.contains(&status) {
            Some(Again { after, ..Again::TRANSIENT })
        } else {
            None
        };
        Self { fault: Fault::told(code.as_deref(), message.as_deref(), Some(status), || "an answer without a word".to_owned()), again }
    }
}

/// The words of a refusal.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub code: Option<String>,
    pub message: Option<String>,
}

impl Told {
    /// Of a body, if it is one; a HEAD's refusal has none, and one that breaks off says nothing.
    pub async fn of(answer: &mut HttpResponse) -> Self {
        let mut body = ByteStream::new(std::mem::replace(answer.body_mut(), SdkBody::taken()));
        let mut bytes = Vec::new();
        while bytes.len() < MOST_TOLD
            && let Ok(Some(Ok(more))) = timeout(STALLED, body.next()).await
        {
            bytes.extend_from_slice(&more);
        }
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Self {
        let mut told = Self::default();
        let Ok(mut document) = Document::try_from(bytes) else { return told };
        let Ok(mut root) = document.root_element() else { return told };
        if root.start_el().local() != "Error" {
            return told;
        }
        while let Some(mut tag) = root.next_tag() {
            let field = match tag.start_el().local() {
                "Code" => &mut told.code,
                "Message" => &mut told.message,
                _ => continue,
            };
            *field = try_data(&mut tag).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Meaning;

    fn told(code: &str) -> Told {
        Told { code: Some(code.to_owned()), message: Some("so it is".to_owned()) }
    }

    #[test]
    fn refusals_are_read_and_anything_else_says_nothing() {
        let text = "<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>a &lt;b&gt; &amp; c</Message><Key>k</Key></Error>";
        let expected = Told { code: Some("SlowDown".to_owned()), message: Some("a <b> & c".to_owned()) };
        assert_eq!(Told::parse(text.as_bytes()), expected);
        for text in ["", "no XML", "<html><Code>x</Code></html>", "<Error>", "<Error><Code></Code></Error>", "\u{fffd}<"] {
            assert_eq!(Told::parse(text.as_bytes()), Told::default(), "{text}");
        }
        assert_eq!(Told::parse(b"\xff\xfe"), Told::default());
    }

    #[test]
    fn what_passes_is_tried_again_at_its_cost_and_nothing_else_is() {
        let transient = Some(Again::TRANSIENT);
        for (status, code, again, meaning) in [
            (503, "SlowDown", Some(Again::REFUSED), Meaning::Passing),
            (503, "ServiceUnavailable", transient, Meaning::Passing),
            (500, "InternalError", transient, Meaning::Passing),
            (200, "InternalError", transient, Meaning::Passing),
            (400, "RequestTimeout", transient, Meaning::Passing),
            (400, "ExpiredToken", None, Meaning::Passing),
            (409, "OperationAborted", None, Meaning::Passing),
            (409, "ConditionalRequestConflict", None, Meaning::Passing),
            (412, "PreconditionFailed", None, Meaning::Condition),
            (404, "NoSuchKey", None, Meaning::Gone),
            (404, "NoSuchBucket", None, Meaning::NoBucket),
            (403, "AccessDenied", None, Meaning::Bucket),
            (301, "PermanentRedirect", None, Meaning::Bucket),
            (400, "AuthorizationHeaderMalformed", None, Meaning::Bucket),
        ] {
            let found = Failed::of_answer(status, told(code), None);
            assert_eq!((found.again, found.fault.meaning), (again, meaning), "{code}");
            assert_eq!(found.fault.to_string(), format!("{code}: so it is"));
        }
        let asked = Failed::of_answer(503, told("SlowDown"), Some("2500"));
        assert_eq!(asked.again.and_then(|again| again.after), Some(Duration::from_millis(2500)));
        let mute = Failed::of_answer(502, Told::default(), Some("later"));
        assert_eq!((mute.again, &*mute.fault.to_string()), (transient, "HTTP status 502"));
    }
}
