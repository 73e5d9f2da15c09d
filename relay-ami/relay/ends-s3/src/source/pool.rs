//! Threads that ask for pages.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope};

use super::keys::{Keys, Page};
use cpt_process::thread::lock;

/// What is asked for, and who hears of it.
pub struct Job {
    pub prefix: String,
    pub after: String,
    /// Whoever asked knows by it what came.
    pub range: u64,
    pub to: Sender<(u64, Result<Page, String>)>,
}

/// Those who ask. Without threads, whoever wants a page asks for it.
#[derive(Clone)]
pub struct Pool<'a> {
    keys: &'a dyn Keys,
    jobs: Option<Sender<Job>>,
    pub threads: usize,
}

impl<'a> Pool<'a> {
    pub const fn none(keys: &'a dyn Keys) -> Self {
        Self { keys, jobs: None, threads: 1 }
    }

    /// As many threads, or as the system has. They end with it.
    pub fn begin<'scope, 'env>(keys: &'a dyn Keys, scope: &'scope Scope<'scope, 'env>, threads: usize) -> Self
    where
        'a: 'scope,
    {
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let begun = (0..threads).take_while(|_| {
            let queue = Arc::clone(&queue);
            Builder::new().name("lister".to_owned()).spawn_scoped(scope, move || work(keys, &queue)).is_ok()
        });
        let begun = begun.count();
        if begun == 0 { Self::none(keys) } else { Self { keys, jobs: Some(jobs), threads: begun } }
    }

    pub fn page(&self, prefix: &str, after: &str) -> Result<Page, String> {
        self.keys.page(prefix, after)
    }

    pub fn ask(&self, job: Job) {
        match &self.jobs {
            Some(jobs) => drop(jobs.send(job)),
            None => answer(self.keys, &job),
        }
    }
}

fn work(keys: &dyn Keys, queue: &Mutex<Receiver<Job>>) {
    loop {
        let Ok(job) = lock(queue).recv() else { return };
        answer(keys, &job);
    }
}

/// Whoever asked may want it no more.
fn answer(keys: &dyn Keys, job: &Job) {
    let _ = job.to.send((job.range, keys.page(&job.prefix, &job.after)));
}
