//! The credentials of a bucket's seat, for the client of its bucket.

use std::sync::Arc;

use cpt_control_aws::aws::Aws;
use cpt_control_aws::credentials::{Holder, Missing, SeatCredentials, Times};
use cpt_relay::documents::event::Failure;
use cpt_relay::stop::Stop;

use super::CliError;
use super::roles::control_error;

/// Asks for them, and waits for the first: whoever may not touch the bucket learns it before anything else is done.
pub fn of_seat(control: &Arc<Aws>, holder: Holder, stop: &Stop) -> Result<SeatCredentials, CliError> {
    let credentials = SeatCredentials::ask(Arc::clone(control), holder, stop, Times::USUAL).map_err(control_error)?;
    match credentials.wait() {
        Ok(_) => Ok(credentials),
        Err(missing @ Missing::Refused(_)) => Err(CliError::failed(Failure::CredentialsRefused, missing)),
        Err(missing @ Missing::Late { .. }) => Err(CliError::failed(Failure::ControlUnavailable, missing)),
    }
}
