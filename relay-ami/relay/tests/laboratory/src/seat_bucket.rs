//! The bucket of a command's end, as its seat reaches it: what the process gets credentials for, by the calls that it makes.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use cpt_command_line::roles::control_error;
use cpt_command_line::{CliError, seat_credentials};
use cpt_control_aws::aws::Aws;
use cpt_control_aws::clients::{self, http_client};
use cpt_control_aws::credentials::Holder;
use cpt_ends_s3::client::{Bucket, Place, Setup};
use cpt_relay::documents::command::{self, Command};
use cpt_relay::documents::end::DestinationEnd;
use cpt_relay::documents::event::Failure;
use cpt_relay::stop::Stop;

/// Puts and lists an object below the prefix of a receiver's command, and one beside it.
pub fn run(arguments: &[OsString]) -> Result<ExitCode, CliError> {
    let [file] = arguments else { return Err(CliError::Usage("seat-bucket needs one argument, the command of a receiver".to_owned())) };
    let failed = |error: std::io::Error| CliError::failed(Failure::Output, error);
    let text = std::fs::read(file).map_err(failed)?;
    let Command::Receive(command::Receive { control, transfer_id, seat, epoch, end: DestinationEnd::Bucket(end), .. }) =
        Command::parse(&text).map_err(CliError::Usage)?
    else {
        return Err(CliError::Usage("the command is that of no receiver of a bucket".to_owned()));
    };
    let stop = Stop::new().map_err(failed)?;
    let control = Arc::new(Aws::new(&control, &stop, &clients::Setup::AWS).map_err(control_error)?);
    let credentials = seat_credentials::of_seat(&control, Holder { transfer: transfer_id, seat, epoch: Some(epoch) }, &stop)?;
    let place = Place {
        bucket: end.bucket.as_str().to_owned(),
        prefix: end.prefix.as_str().to_owned(),
        region: end.region.as_str().to_owned(),
        owner: None,
    };
    let setup = Setup {
        endpoint: Setup::endpoint_of_environment(),
        http: http_client().map_err(control_error)?,
        credentials: credentials.shared(),
    };
    let bucket = Bucket::new(place, setup).map_err(failed)?;
    let (name, keys) = (&bucket.place().bucket, [bucket.place().key("by-the-daemon"), "beside/by-the-daemon".to_owned()]);
    let put = keys.map(|key| bucket.wait(bucket.s3().put_object().bucket(name).key(key).send()).is_ok());
    let listed = [&bucket.place().prefix, "beside/"]
        .map(|prefix| bucket.wait(bucket.s3().list_objects_v2().bucket(name).prefix(prefix).send()).is_ok());
    println!("{}", serde_json::json!({"put": put, "listed": listed}));
    Ok(ExitCode::SUCCESS)
}
