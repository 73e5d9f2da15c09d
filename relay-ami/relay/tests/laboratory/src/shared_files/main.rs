//! `cpt-shared-files BACKING MOUNT LOCKS [THREADS]`: one client of a shared file system that breaks promises as such file systems do.
//!
//! The directory `BACKING` is the server; each process of this program is one machine's mount of it, with caches of its own. `LOCKS` is
//! `shared` where `flock` reaches the other clients, or `local`; `THREADS`: calls that it serves at once, 2 unless said. The first line that it prints says that it is mounted. Each line that it
//! reads is a switch, answered by one line; see `Switches::told`. It unmounts when there are no more lines, so that it ends with whoever
//! started it.

#![deny(unsafe_code)]

mod attributes;
mod client;
mod nodes;
mod serving;
mod switches;

use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use fuser::{Config, MountOption, SessionACL};
use rustix::mount::{UnmountFlags, unmount};

use serving::Client;
use switches::Switches;

/// 10 000 names come in 12 s at the least, where 16 threads ask and each call takes 20 ms.
const FORGET_PAUSE: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some([backing, mount, locks]), threads) = (arguments.first_chunk(), arguments.get(3)) else {
        eprintln!("usage: cpt-shared-files BACKING MOUNT shared|local [THREADS]");
        return ExitCode::from(2);
    };
    // One that hangs must not be the only one: what is awaited may be behind it.
    let threads = threads.and_then(|text| text.parse().ok()).unwrap_or(2);
    match serve(Path::new(backing), Path::new(mount), locks == "shared", threads) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{mount}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(backing: &Path, mount: &Path, shares_locks: bool, threads: usize) -> io::Result<()> {
    let switches = Arc::new(Switches::default());
    let client = Client::new(backing, Arc::clone(&switches), shares_locks)?;
    let (nodes, notifier) = (Arc::clone(&client.nodes), Arc::clone(&client.notifier));
    let mut config = Config::default();
    config.mount_options =
        vec![MountOption::FSName("cpt-shared-files".to_owned()), MountOption::DefaultPermissions, MountOption::Dev, MountOption::Suid];
    config.acl = SessionACL::All;
    config.n_threads = Some(threads);
    config.clone_fd = true;
    let session = fuser::spawn_mount(client, mount, &config)?;
    let _ = notifier.set(session.notifier());
    let (forgetting, forgets) = (Arc::clone(&nodes), session.notifier());
    // Not while a call is served: the kernel may hold the directory for it.
    std::thread::spawn(move || {
        loop {
            for (parent, name) in forgetting.too_many() {
                // It is gone, or is in use.
                let _ = forgets.inval_entry(parent, &name);
            }
            std::thread::sleep(FORGET_PAUSE);
        }
    });
    say("ready")?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let answer = if line == "stale-handles" {
            nodes.make_stale();
            Ok(String::new())
        } else {
            switches.told(&line)
        };
        match answer {
            Ok(answer) => say(format!("ok {answer}").trim_end())?,
            Err(why) => say(&format!("error {why}"))?,
        }
    }
    switches.release();
    // Whoever still has files open here has lost them.
    unmount(mount, UnmountFlags::DETACH)?;
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
