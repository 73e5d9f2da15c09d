//! AWS's answers as errors that say whether asking again can help.

use std::error::Error as StdError;

use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;

use cpt_control::{ControlError, Result};

/// Answers to a call that repeating the call does not change.
const REFUSALS: [&str; 6] =
    ["AccessDenied", "AccessDeniedException", "NoSuchKey", "NoSuchBucket", "ResourceNotFoundException", "ValidationException"];

pub fn unavailable(what: &str, error: &dyn StdError) -> ControlError {
    ControlError::Unavailable { what: what.to_owned(), why: DisplayErrorContext(error).to_string() }
}

/// Returns what AWS answered, or that it did not.
pub fn failed(what: &str, error: &(impl StdError + ProvideErrorMetadata)) -> ControlError {
    match (error.code(), unavailable(what, error)) {
        (Some(code), ControlError::Unavailable { what, why }) if REFUSALS.contains(&code) => ControlError::Refused { what, why },
        (_, unavailable) => unavailable,
    }
}

pub fn malformed(what: impl Into<String>, why: String) -> ControlError {
    ControlError::Malformed { what: what.into(), why }
}

/// `true`: written; `false`: the item has moved on.
pub fn conditional<T>(
    what: &str,
    result: std::result::Result<T, SdkError<UpdateItemError, impl std::fmt::Debug + Send + Sync + 'static>>,
) -> Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(SdkError::ServiceError(error)) if matches!(error.err(), UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
        Err(error) => Err(failed(what, &error)),
    }
}
