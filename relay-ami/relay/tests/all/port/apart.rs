//! A Hadoop of three data nodes for tests that break it. They take turns: a fault of one would be another's.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::hadoop::Hadoop;

/// Entries that the name node tells at once: a short directory has many pages.
const LISTED_AT_ONCE: &str = "dfs.ls.limit=10";

pub struct Turn {
    pub of: &'static Hadoop,
    _turn: MutexGuard<'static, ()>,
}

/// The cluster, all of whose nodes live; none without `make chaos`, which has the time to start it, or without Java.
pub fn turn() -> Option<Turn> {
    static STARTED: OnceLock<Option<Hadoop>> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    if !is_full() {
        return None;
    }
    let taken = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let of = STARTED.get_or_init(start).as_ref()?;
    of.tell("whole");
    hdfs_native::suspects::forget();
    Some(Turn { of, _turn: taken })
}

/// Whether there is the time for all faults.
pub fn is_full() -> bool {
    std::env::var("CPT_CHAOS").is_ok_and(|extent| extent == "full")
}

fn start() -> Option<Hadoop> {
    let keys = std::env::temp_dir().join(format!("cpt-keys-{}.jceks", std::process::id()));
    let keys = format!("hadoop.security.key.provider.path=jceks://file{}", keys.display());
    let started = Hadoop::start(&["--data-nodes", "3", "--core", &keys, "--hdfs", LISTED_AT_ONCE]);
    if started.is_none() {
        cpt_skipped::skipped("there is no Java that Hadoop runs on: faults of HDFS are tested with one");
    }
    started
}
