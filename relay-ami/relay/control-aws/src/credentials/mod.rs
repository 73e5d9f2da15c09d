//! Credentials of a bucket's seat: asked of the control plane, sealed to this process, renewed before they end.
//!
//! The key that unseals them never leaves the process' memory, and neither do they: what lies in the transfer's records is sealed.

mod issuing;
mod keeper;
mod sealing;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use tokio::sync::watch;

use super::aws::Aws;
use cpt_control::{ControlError, Result, Seat};
use cpt_process::stop::Stop;
use cpt_wire::documents::text::TransferId;
use keeper::{Keeper, Shown};
use sealing::SealingKey;

/// Who asks.
#[derive(Clone, Debug)]
pub struct Holder {
    pub transfer: TransferId,
    /// The bucket's.
    pub seat: Seat,
    /// The first epoch of the start that a daemon is of; none of a scan.
    pub epoch: Option<u64>,
}

/// Times of asking.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Between two looks whether they have come: the function takes a second, or some when it begins cold.
    pub look: Duration,
    /// After so long without an answer the event counts as lost, and comes again.
    pub again: Duration,
    /// After so long a caller is told that none came; they are waited for all the same.
    pub late: Duration,
    /// So long before their end others are asked for: a control plane that is away for some minutes stops nobody.
    pub renewal: Duration,
    /// After a refusal they are asked for again so much later: the settings may be mended while a transfer waits.
    pub refused: Duration,
}

impl Times {
    pub const USUAL: Self = Self {
        look: Duration::from_millis(500),
        again: Duration::from_secs(5),
        late: Duration::from_secs(60),
        renewal: Duration::from_secs(900),
        refused: Duration::from_secs(30),
    };
}

/// Why there are none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The deployment's settings or roles do not allow them: no repetition helps until somebody changes that.
    #[error("{0}")]
    Refused(String),
    /// They did not come in time.
    #[error("no credentials for the bucket came within {seconds} s: {why}")]
    Late { seconds: u64, why: String },
}

/// Gives an SDK's client the credentials of a seat, for as long as the process lives.
#[derive(Clone)]
pub struct SeatCredentials {
    shown: watch::Receiver<Shown>,
    control: Arc<Aws>,
}

impl SeatCredentials {
    /// Begins to ask for them, in a thread that ends with `stop` or with the last copy of what is returned.
    ///
    /// # Errors
    ///
    /// If the process can make neither key nor thread.
    pub fn ask(control: Arc<Aws>, holder: Holder, stop: &Stop, times: Times) -> Result<Self> {
        let unavailable = |why: String| ControlError::Unavailable { what: "ask for the bucket's credentials".to_owned(), why };
        let key = SealingKey::generate().map_err(unavailable)?;
        let (show, shown) = watch::channel(Shown::Waiting);
        let keeper = Keeper::new(Arc::clone(&control), holder, key, stop.clone(), times, show);
        cpt_process::thread::spawn("credentials", move || keeper.run()).map_err(|error| unavailable(error.to_string()))?;
        Ok(Self { shown, control })
    }

    /// The same for whoever keeps it with its client.
    #[must_use]
    pub fn shared(&self) -> SharedCredentialsProvider {
        SharedCredentialsProvider::new(self.clone())
    }

    /// Waits on a thread that may block until there are some, or it is known why there are none.
    pub fn wait(&self) -> std::result::Result<Credentials, Missing> {
        self.control.calls.runtime().block_on(self.now())
    }

    async fn now(&self) -> std::result::Result<Credentials, Missing> {
        let mut shown = self.shown.clone();
        let found = shown.wait_for(|shown| !matches!(shown, Shown::Waiting)).await;
        let stopped = || Missing::Late { seconds: 0, why: "the process was told to stop".to_owned() };
        match &*found.map_err(|_| stopped())? {
            Shown::Keys(keys) => Ok(keys.clone()),
            Shown::Missing(missing) => Err(missing.clone()),
            Shown::Waiting => Err(stopped()),
        }
    }
}

impl ProvideCredentials for SeatCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async { self.now().await.map_err(CredentialsError::provider_error) })
    }
}

impl fmt::Debug for SeatCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SeatCredentials")
    }
}
