//! Whether what a receiver keeps in HDFS is still there.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cpt_ends::problem::takes_nothing;
use cpt_process::thread::lock;

use crate::cluster::Cluster;
use crate::fault::Meaning;

/// How old an answer may be.
const ASKED_AGAIN: Duration = Duration::from_secs(2);

/// Asks beside those who want to know: they have no time to wait, and a name node that does not answer has not taken anything away.
pub struct Presence {
    cluster: Cluster,
    folder: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_over: bool,
    is_asked: bool,
    answered: Option<Instant>,
    is_gone: bool,
}

impl Presence {
    pub fn new(cluster: &Cluster, folder: &str) -> Self {
        Self { cluster: cluster.clone(), folder: folder.to_owned(), state: Arc::default() }
    }

    /// This receiver itself removes it.
    pub fn is_over(&self) {
        lock(&self.state).is_over = true;
    }

    /// Fails where the last answer was that it is gone.
    pub fn check(&self) -> io::Result<()> {
        let mut state = lock(&self.state);
        if state.is_over {
            return Ok(());
        }
        if !state.is_asked && state.answered.is_none_or(|answered| answered.elapsed() >= ASKED_AGAIN) {
            state.is_asked = true;
            let (cluster, folder, told) = (self.cluster.clone(), self.folder.clone(), Arc::clone(&self.state));
            drop(self.cluster.spawn(async move {
                let found = cluster.client().get_file_info(&folder).await;
                let mut state = lock(&told);
                state.is_asked = false;
                state.answered = Some(Instant::now());
                state.is_gone = matches!(found, Err(error) if Meaning::of(&error) == Meaning::Gone);
            }));
        }
        if state.is_gone { Err(takes_nothing(format!("{}: somebody has removed it", self.folder))) } else { Ok(()) }
    }
}
