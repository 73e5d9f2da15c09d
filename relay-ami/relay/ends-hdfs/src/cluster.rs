//! The client of one cluster: whom it speaks as, and the runtime on which its calls run.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use hdfs_native::client::{FileStatus, ListStatusIterator};
pub use hdfs_native::names::{Lookup, resolve_by};
use hdfs_native::token::DelegationToken;
use hdfs_native::{Client, ClientBuilder, HdfsError};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

use cpt_process::thread::lock;

use crate::configuration::Configuration;
use crate::fault::{is_unanswered, of_name_node, words};
use crate::token::Token;

/// Threads that run calls. Each block that is read or written has its bytes summed up by one of them, 1 to 2 GB/s a core.
const RUNTIME_THREADS: usize = 2;
/// Without a byte from a data node for so long another one is asked. The client's own bound is none.
const SILENT_MS: &str = "20000";
/// How often a call goes to the next name node, or to the same again, before it has failed: the client waits 500 ms, then twice as long each
/// time. Who asked knows better for how long the answer matters.
const ATTEMPTS: &str = "4";

/// So long a look is repeated: a name node that is started again is away for that long. Then its caller decides.
const PATIENCE: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A cluster that is called from threads that block.
#[derive(Clone)]
pub struct Cluster(Arc<Inner>);

struct Inner {
    client: Client,
    user: String,
    /// `hdfs://` and the name service, or host and port of the name node.
    name: String,
    runtime: Handle,
}

/// The token by which a process speaks now: another one may come in its place. Clones are the same one.
#[derive(Clone)]
pub struct HeldToken {
    client: DelegationToken,
    token: Arc<Mutex<Token>>,
}

impl HeldToken {
    #[must_use]
    pub fn new(token: Token) -> Self {
        let client = DelegationToken::new(token.identifier.clone(), token.password.clone());
        Self { client, token: Arc::new(Mutex::new(token)) }
    }

    /// Connections that are made from now on are made by another token.
    pub fn replace(&self, token: Token) {
        self.client.replace(token.identifier.clone(), token.password.clone());
        *lock(&self.token) = token;
    }

    #[must_use]
    pub fn now(&self) -> Token {
        lock(&self.token).clone()
    }
}

/// One for all clusters of the process: connections to data nodes are kept for whoever needs one next.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = tokio::runtime::Builder::new_multi_thread().worker_threads(RUNTIME_THREADS).thread_name("hdfs").enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

impl Cluster {
    /// The cluster that this machine belongs to, by a token of the user's where it has Kerberos.
    ///
    /// # Errors
    ///
    /// If the machine has no configuration of Hadoop, or one of a cluster that this daemon does not speak to; if there is no token where
    /// there has to be one, or a token where nobody asks for it, or one of another user.
    pub fn of_machine(user: &str, token: Option<&HeldToken>) -> io::Result<Self> {
        Self::new(&Configuration::of_machine()?, user, token)
    }

    /// The cluster that a directory of configuration names.
    ///
    /// # Errors
    ///
    /// As [`Cluster::of_machine`].
    pub fn of(directory: &Path, user: &str, token: Option<&HeldToken>) -> io::Result<Self> {
        Self::new(&Configuration::read(directory.to_owned())?, user, token)
    }

    fn new(configuration: &Configuration, user: &str, token: Option<&HeldToken>) -> io::Result<Self> {
        let name = configuration.file_system()?.to_owned();
        configuration.check()?;
        let refused = |why: String| io::Error::new(io::ErrorKind::PermissionDenied, format!("{name}: {why}"));
        match token {
            None if configuration.has_kerberos() => {
                return Err(refused("is a cluster with Kerberos, and there is no delegation token to speak to it by".to_owned()));
            }
            Some(_) if !configuration.has_kerberos() => {
                return Err(refused("there is a delegation token, and hadoop.security.authentication is simple here".to_owned()));
            }
            Some(token) => token.now().check_owner(user).map_err(refused)?,
            None => {}
        }
        let runtime = runtime()?.handle().clone();
        let builder = ClientBuilder::new();
        let client = match token {
            Some(token) => builder.with_token(token.client.clone()),
            None => builder,
        };
        let client = client
            .with_url(name.clone())
            .with_config_dir(configuration.directory.display().to_string())
            .with_config([("dfs.client.socket-timeout", SILENT_MS), ("dfs.client.failover.max.attempts", ATTEMPTS)])
            .with_user(user)
            .with_io_runtime(runtime.clone())
            .build()
            .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        Ok(Self(Arc::new(Inner { client, user: user.to_owned(), name, runtime })))
    }

    /// Ends a token of this client's user: the name node takes it from nobody any more.
    ///
    /// # Errors
    ///
    /// What the name node said; one that it does not know any more is no error.
    pub fn cancel(&self, token: &Token) -> io::Result<()> {
        match self.wait(self.0.client.cancel_delegation_token(token.identifier.clone())) {
            Err(HdfsError::RPCError(class, _) | HdfsError::FatalRPCError(class, _)) if class.ends_with("InvalidToken") => Ok(()),
            answered => answered.map_err(|error| of_name_node(&error, "a delegation token")),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    /// The HDFS user that calls are made as.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.0.user
    }

    /// `hdfs://` and the name service, or host and port of the name node.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Runs a call on this thread until it is answered.
    pub(crate) fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        self.0.runtime.block_on(call)
    }

    /// The answer of a call that only looks, asked again while there is no name node that answers, or none that may.
    pub(crate) fn persist<T, F: Future<Output = hdfs_native::Result<T>>>(&self, call: impl Fn() -> F) -> hdfs_native::Result<T> {
        let (begun, mut pause) = (Instant::now(), FIRST_PAUSE);
        loop {
            let error = match self.wait(call()) {
                Err(error) if is_unanswered(&error) && begun.elapsed() + pause < PATIENCE => error,
                answered => return answered,
            };
            tracing::warn!(error = words(&error), "asked again");
            std::thread::sleep(pause);
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
    }

    /// The next entry of a listing, which waits as [`Cluster::persist`] does and goes on where it was.
    pub(crate) fn next(&self, entries: &ListStatusIterator) -> Option<hdfs_native::Result<FileStatus>> {
        self.persist(|| async { entries.next().await.transpose() }).transpose()
    }

    /// Runs a call beside this thread.
    pub(crate) fn spawn<T: Send + 'static>(&self, call: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.0.runtime.spawn(call)
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
