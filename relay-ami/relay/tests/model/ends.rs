//! The two ends of one run: threads of this process, or the program itself, which can be killed.

use std::ffi::OsString;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use cpt_ends_posix::PosixSource;
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan;
use cpt_relay::control::{Control, KeyRecord, Seat};
use cpt_relay::digest::Proof;
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::command::{Compress, Verify};
use cpt_relay::documents::event::Progress;
use cpt_relay::documents::percent;
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::ends::{Destination, Source};
use cpt_relay::rate::RateRules;
use cpt_relay::secure::keys::{Identity, kept_route_key, route_public};
use cpt_relay::send::sent_journal;
use cpt_relay::sockets::acceptor::Limits;
use cpt_relay::sockets::net;
use cpt_relay::stop::Stop;
use cpt_relay::transport::peer;
use cpt_relay::transport::route::Router;
use cpt_relay::{receive, send};
use rustix::process::{Pid, Signal, kill_process};

use crate::bucket::BucketPlace;
use crate::moments::Counted;
use crate::place::Place;
use crate::seen::KEPT;
use crate::watched::{Change, Watched};

/// How an end ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    Success,
    Stopped,
    /// A class, and words.
    Failed(String),
    Killed,
    /// What no end may do: a panic, a signal of its own, no class.
    Dishonest(String),
}

pub enum Running {
    Thread { stop: Stop, thread: Option<JoinHandle<Ended>> },
    Process { child: Child, log: PathBuf, killed: bool, stopped: bool },
}

/// Whether what the kernel tells of a process says that it catches SIGTERM, or does not run.
fn may_be_stopped(status: &str) -> bool {
    let of = |field: &str| status.lines().find_map(|line| line.strip_prefix(field)).map(str::trim).unwrap_or_default();
    let caught = u64::from_str_radix(of("SigCgt:"), 16).unwrap_or_default();
    caught & 1 << (Signal::TERM.as_raw() - 1) != 0 || of("State:").starts_with(['T', 'Z', 'X'])
}

impl Running {
    fn thread(stop: &Stop, run: impl FnOnce(&Stop) -> Ended + Send + 'static) -> Self {
        let stopped = stop.clone();
        Self::Thread { stop: stop.clone(), thread: Some(std::thread::spawn(move || run(&stopped))) }
    }

    pub fn process(home: &Path, name: &str, arguments: &[&str]) -> Self {
        Self::process_with(home, name, arguments, &[])
    }

    pub fn process_with(home: &Path, name: &str, arguments: &[&str], variables: &[(&str, String)]) -> Self {
        let log = home.join(format!("{name}.log"));
        // At run time: sh, which `rustc-static` runs in, drops variables with a '-' in their names.
        let mut command = Command::new(std::env::var_os("CARGO_BIN_EXE_cpt-laboratory").expect("cargo sets it"));
        command
            .current_dir(home)
            .args(arguments)
            .env_remove("CPT_RATE_LIMITS")
            .envs(variables.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let child = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
        Self::Process { child, log, killed: false, stopped: false }
    }

    /// A process that does not catch the signal yet has not begun: it would end by it, as any program does.
    pub fn stop(&mut self) {
        match self {
            Self::Thread { stop, .. } => stop.request(),
            Self::Process { child, stopped, .. } => {
                let status = format!("/proc/{}/status", child.id());
                crate::wait_for("a process that can be stopped", || {
                    std::fs::read_to_string(&status).map_or(Some(()), |status| may_be_stopped(&status).then_some(()))
                });
                *stopped = true;
                let _ = kill_process(Pid::from_child(child), Signal::TERM);
            }
        }
    }

    /// SIGSTOP, or SIGCONT; nothing to a thread.
    pub fn signal(&self, signal: Signal) {
        if let Self::Process { child, .. } = self {
            let _ = kill_process(Pid::from_child(child), signal);
        }
    }

    /// Stops a process; it stands still when this returns.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        let Self::Process { child, .. } = self else { return };
        let state = format!("/proc/{}/stat", child.id());
        // Behind its name, which may have any bytes, in brackets.
        let is_stopped = |stat: &str| stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with(['T', 'Z']));
        crate::wait_for("a process that stands still", || {
            std::fs::read_to_string(&state).map_or(Some(()), |stat| is_stopped(&stat).then_some(()))
        });
    }

    /// Whether a process has said this in its log.
    pub fn has_said(&self, text: &str) -> bool {
        matches!(self, Self::Process { log, .. } if std::fs::read_to_string(log).is_ok_and(|said| said.contains(text)))
    }

    /// With SIGKILL; a thread is told to stop.
    pub fn kill(&mut self) {
        match self {
            Self::Thread { .. } => self.stop(),
            Self::Process { child, killed, .. } => {
                *killed = true;
                let _ = child.kill();
            }
        }
    }

    /// None while it runs.
    pub fn ended(&mut self) -> Option<Ended> {
        match self {
            Self::Thread { thread, .. } => {
                let ended = thread.take_if(|thread| thread.is_finished())?;
                Some(ended.join().unwrap_or_else(|_| Ended::Dishonest("a panic".to_owned())))
            }
            Self::Process { child, log, killed, stopped } => {
                let status = child.try_wait().unwrap()?;
                let text = std::fs::read_to_string(log).unwrap_or_default();
                Some(match status.code() {
                    None if *killed => Ended::Killed,
                    None => Ended::Dishonest(format!("{status}")),
                    // Told to stop it exits with 0 as well.
                    Some(0) if *stopped && !text.contains("delivered totals=") && !text.contains("finish agreed=true") => Ended::Stopped,
                    Some(0) => Ended::Success,
                    Some(4) => Ended::Failed("FilesSkipped".to_owned()),
                    Some(code) => named(code, &text),
                })
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        if let Self::Process { child, .. } = self {
            let _ = child.wait();
        }
    }
}

/// A failure that its process has named.
fn named(code: i32, log: &str) -> Ended {
    let last = log.lines().rev().find_map(|line| line.strip_prefix("cpt-relay: ")).unwrap_or_default();
    let class = last.split(':').next().unwrap_or_default();
    let has_class = class == "fenced" || (!class.is_empty() && class.chars().all(|letter| letter.is_ascii_alphabetic()));
    if code != 0 && has_class && !log.contains("panicked") {
        return Ended::Failed(last.to_owned());
    }
    Ended::Dishonest(format!("exit {code}: {}", log.lines().last().unwrap_or_default()))
}

/// What both ends of a sequence have in common.
pub struct Home {
    pub path: PathBuf,
    pub attempts: u32,
    /// Chunks per range of the plan.
    pub range_size: u64,
    /// What is kept of trees beyond the default.
    pub preserve: Preserve,
    /// Where all of it arrives.
    pub place: Place,
}

impl Home {
    pub fn control(&self) -> PathBuf {
        self.path.join("control")
    }

    pub fn directory(&self) -> Directory {
        Directory::open(self.control(), self.range_size, Some(self.attempts)).unwrap()
    }

    fn next_epoch(&self, side: Seat) -> u64 {
        self.directory().key(side).ok().flatten().map_or(1, |key| key.epoch + 1)
    }

    /// The receiver and its address once it listens; how it ended where it did not come so far.
    pub fn receiver_process(&self, verify: Verify) -> Result<(Running, SocketAddrV4), Ended> {
        let ready = self.path.join("receiver.ready");
        let _ = std::fs::remove_file(&ready);
        let verify = text_of(verify);
        let preserve = serde_json::to_string(&self.preserve).unwrap();
        let destination = self.place.address().expect("a process writes into a directory or a bucket");
        let listen = ["--listen", "127.0.0.1:0", "--ready", "receiver.ready", "--verify", verify, "--preserve", &preserve, &destination];
        let keep = ["--keep-replaced", KEPT];
        let keep = if self.place.keeps() { &keep[..] } else { &[] };
        let arguments = [&["receive", "--control-dir", "control"][..], keep, &listen].concat();
        let variables = self.place.bucket().map(BucketPlace::variables);
        let mut running = Running::process_with(&self.path, "receiver", &arguments, variables.as_ref().map_or(&[], |all| &all[..]));
        let address = crate::wait_for("receiver", || match running.ended() {
            Some(ended) => Some(Err(ended)),
            None if std::fs::read(&ready).is_ok_and(|text| text.ends_with(b"\n")) => {
                self.directory().key(Seat::RECEIVER).unwrap().and_then(|key| key.address).map(|address| Ok(address.parse().unwrap()))
            }
            None => None,
        });
        address.map(|address| (running, address))
    }

    pub fn receiver_thread(
        &self,
        plan: &TransferPlan,
        verify: Verify,
        counted: &Counted,
        destination: Box<dyn Destination>,
    ) -> (Running, SocketAddrV4) {
        let stop = Stop::new().unwrap();
        let listeners = net::listen(&[SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)], &stop).unwrap();
        let SocketAddr::V4(address) = listeners[0].local_addr().unwrap() else { panic!("not IPv4") };
        let identity = Identity::generate().unwrap();
        let epoch = self.next_epoch(Seat::RECEIVER);
        let key = KeyRecord {
            epoch,
            tls_public_key: peer::to_text(identity.public()),
            route_public_key: None,
            address: Some(address.to_string()),
        };
        self.directory().publish_key(Seat::RECEIVER, &key).unwrap();
        let config = receive::Config {
            seat: Seat::RECEIVER,
            transfer: plan.transfer_id.clone(),
            epoch,
            before: self.last_report(Seat::RECEIVER),
            destination,
            plan: plan.clone(),
            plan_key: plan::PLAN_KEY.to_owned(),
            prefix: String::new(),
            rules: RateRules::default(),
            limits: Limits::RECEIVER,
            verify,
            placing_threads: cpt_relay::defaults::THREADS_AT_ONCE,
            preserve: self.preserve,
            many_senders: false,
            many_receivers: false,
        };
        let counted = counted.clone();
        let running = Running::thread(&stop, move |stop| {
            let result = receive::run(config, Arc::new(counted.clone()), identity, &listeners, stop);
            counted.over();
            match result {
                Ok(receive::Outcome::Agreed) => Ended::Success,
                Ok(receive::Outcome::Disagreed(why)) => Ended::Failed(format!("DigestMismatch: {why}")),
                Ok(receive::Outcome::Stopped | receive::Outcome::Fenced) => Ended::Stopped,
                Err(error) => Ended::Failed(error.to_string()),
            }
        });
        (running, address)
    }

    /// The paths that were planned; none where the control directory has lost them.
    fn sources(&self) -> Vec<PathBuf> {
        let text = self.directory().read_object("sources.json", None).unwrap_or_default();
        let sources: Vec<String> = serde_json::from_slice(&text).unwrap_or_default();
        sources.iter().map(|source| OsString::from_vec(percent::decode(source).unwrap()).into()).collect()
    }

    fn source(&self, living: Option<(PathBuf, Change)>) -> Arc<dyn Source> {
        let source = PosixSource::new(self.sources());
        match living {
            Some((root, change)) => Arc::new(Watched::new(source, root, change)),
            None => Arc::new(source),
        }
    }

    /// Of all senders, beside their key.
    pub fn sent_journal(&self) -> File {
        sent_journal::open(&self.path.join("route.sent")).unwrap()
    }

    pub fn sender_process(&self, verify: Verify) -> Running {
        let (attempts, verify) = (self.attempts.to_string(), text_of(verify));
        let options = ["--attempts", &attempts, "--route-key", "route.key", "--verify", verify];
        Running::process(&self.path, "sender", &[&["send", "--control-dir", "control"][..], &options].concat())
    }

    /// As a process does, a thread counts on from what the one before it has said.
    pub fn last_report(&self, side: Seat) -> Option<Progress> {
        self.directory().progress(side).ok().flatten()
    }

    /// With what somebody does to the source at `root` meanwhile.
    pub fn sender_thread(&self, plan: &TransferPlan, proof: Proof, living: Option<(PathBuf, Change)>) -> Running {
        let stop = Stop::new().unwrap();
        let (identity, epoch) = (Identity::generate().unwrap(), self.next_epoch(Seat::SENDER));
        let router = Arc::new(Router { transfer: plan.transfer_id.clone(), key: kept_route_key(&self.path.join("route.key")).unwrap() });
        let route_public_key = Some(peer::to_text(&route_public(&router.key)));
        let key = KeyRecord { epoch, tls_public_key: peer::to_text(identity.public()), route_public_key, address: None };
        self.directory().publish_key(Seat::SENDER, &key).unwrap();
        let config = send::Config {
            seat: Seat::SENDER,
            epoch,
            has_fixed_lanes: false,
            many_senders: false,
            many_receivers: false,
            before: self.last_report(Seat::SENDER),
            journal: Some(self.sent_journal()),
            overflow: None,
            plan: plan.clone(),
            plan_key: plan::PLAN_KEY.to_owned(),
            prefix: String::new(),
            source: self.source(living),
            router,
            identity,
            rules: RateRules::default(),
            keepalive: Duration::from_secs(60),
            patience: send::Patience::default(),
            // Those that are processes send as it is.
            compress: Compress::Auto,
            proof,
        };
        let (counted, _) = Counted::new(self.directory(), None);
        Running::thread(&stop, move |stop| {
            let result = send::run(config, Arc::new(counted.clone()), stop);
            counted.over();
            match result {
                Ok(send::Outcome::Delivered(totals)) if totals.skipped == 0 => Ended::Success,
                Ok(send::Outcome::Delivered(totals)) => Ended::Failed(format!("FilesSkipped: {}", totals.skipped)),
                Ok(send::Outcome::ChunksFailed(chunks)) => Ended::Failed(format!("ChunksFailed: {}", send::describe(&chunks))),
                Ok(send::Outcome::DigestMismatch(why)) => Ended::Failed(format!("DigestMismatch: {why}")),
                Ok(send::Outcome::Stopped | send::Outcome::LeftToAnother | send::Outcome::Fenced) => Ended::Stopped,
                Err(error) => Ended::Failed(error.to_string()),
            }
        })
    }
}

pub const fn text_of(verify: Verify) -> &'static str {
    match verify {
        Verify::Digest => "digest",
        Verify::Readback => "readback",
        Verify::Crc64 => "crc64",
    }
}
