//! The client of one cluster: whom it speaks as, and the runtime on which its calls run.

use std::fmt;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use hdfs_native::names::{Lookup, resolve_by};
use hdfs_native::{Client, ClientBuilder};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

use crate::configuration::Configuration;
use crate::fault::{is_unanswered, words};

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
    /// The cluster that this machine belongs to.
    ///
    /// # Errors
    ///
    /// If the machine has no configuration of Hadoop, or one of a cluster that this daemon does not speak to.
    pub fn of_machine(user: &str) -> io::Result<Self> {
        Self::new(&Configuration::of_machine()?, user)
    }

    /// The cluster that a directory of configuration names.
    ///
    /// # Errors
    ///
    /// As [`Cluster::of_machine`].
    pub fn of(directory: &Path, user: &str) -> io::Result<Self> {
        Self::new(&Configuration::read(directory.to_owned())?, user)
    }

    fn new(configuration: &Configuration, user: &str) -> io::Result<Self> {
        let name = configuration.file_system()?.to_owned();
        if configuration.has_kerberos() {
            let why = "is a cluster with Kerberos, to which this daemon does not speak yet: copy with DistCp";
            return Err(io::Error::new(io::ErrorKind::Unsupported, format!("{name} {why}")));
        }
        let runtime = runtime()?.handle().clone();
        let client = ClientBuilder::new()
            .with_url(name.clone())
            .with_config_dir(configuration.directory.display().to_string())
            .with_config([("dfs.client.socket-timeout", SILENT_MS), ("dfs.client.failover.max.attempts", ATTEMPTS)])
            .with_user(user)
            .with_io_runtime(runtime.clone())
            .build()
            .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        Ok(Self(Arc::new(Inner { client, user: user.to_owned(), name, runtime })))
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
