//! A transfer in one process: sender, receiver and relays as threads, a directory as the control plane.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan;
use cpt_relay::control::{Control, KeyRecord, Seat};
use cpt_relay::documents::attributes::{Owners, Preserve};
use cpt_relay::documents::command::{Compare, Compress, Verify};
use cpt_relay::documents::leases::BudgetLease;
use cpt_relay::documents::membership::{self, Hop};
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::documents::survey::Survey;
use cpt_relay::documents::text::{Address, LandingPath, PathId, TransferId};
use cpt_relay::ends::{Destination, Source};
use cpt_relay::rate::RateRules;
use cpt_relay::secure::keys::{Identity, kept_route_key, route_public};
use cpt_relay::send::{Patience, sent_journal};
use cpt_relay::sockets::{acceptor::Limits, net};
use cpt_relay::stop::Stop;
use cpt_relay::survey::compare::{Listing, Rule};
use cpt_relay::survey::scan;
use cpt_relay::transport::{peer, route::Router};
use cpt_relay::{receive, relay, send};

#[path = "members.rs"]
mod members;
#[path = "running.rs"]
mod running;
#[path = "seen.rs"]
mod seen;
#[path = "trees.rs"]
mod trees;

pub use running::Running;
pub use trees::{list, noise};

/// Longest wait for anything: a hang shall fail, a slow machine shall not.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Transfer {
    pub directory: tempfile::TempDir,
    pub id: TransferId,
    pub control: Arc<Directory>,
    pub plan: TransferPlan,
    pub router_key: [u8; 32],
    pub verify: Verify,
    pub preserve: Preserve,
    pub selection: cpt_relay::documents::selection::Selection,
    pub compress: Compress,
    pub keepalive: Duration,
    /// With a destination that takes nothing; short, since what a test makes full it also empties.
    pub patience: Patience,
    /// Of the ends that begin from now on.
    pub epoch: u64,
    /// Senders note what they have sent, and those after them read it.
    pub notes_sent: bool,
    /// Other ends than the directories `source` and `destination`.
    from: Option<Arc<dyn Source>>,
    to: Option<Box<dyn Fn() -> Box<dyn Destination>>>,
    /// Several receivers write there, each with its seat.
    pub shared: Option<Shared>,
    router: Arc<Router>,
    limit_mbps: Option<u64>,
    lease: Option<BudgetLease>,
}

/// A destination of several receivers.
pub struct Shared {
    to: Box<dyn Fn(Seat) -> Box<dyn Destination>>,
    pub assert_same: Box<dyn Fn(&Path)>,
}

/// All that a request can ask to be kept.
pub const EVERYTHING: Preserve =
    Preserve { hard_links: true, sparse: true, owners: Some(Owners::Numeric), xattrs: true, acls: true, special_files: true };

impl Transfer {
    /// A thread of the daemon that panics ends the daemon, so it ends these tests too; whoever listens would only see that it hung up.
    fn no_daemon_panics() {
        static HOOK: std::sync::Once = std::sync::Once::new();
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                usual(panic);
                // Tests are named by their modules.
                if std::thread::current().name().is_some_and(|name| name != "main" && !name.contains("::")) {
                    std::process::abort();
                }
            }));
        });
    }

    /// Plans what `fill` makes in the source directory. `attempts`: the directory's retry policy, none to leave it to the test.
    pub fn plan(chunk_size: u64, attempts: Option<u32>, fill: impl FnOnce(&Path)) -> Self {
        let (directory, from) = filled(fill);
        Self::planned(directory, chunk_size, attempts, &from)
    }

    /// Plans what `fill` makes, with all that can be kept.
    pub fn plan_all(chunk_size: u64, fill: impl FnOnce(&Path)) -> Self {
        let (directory, from) = filled(fill);
        Self::all_of(directory, chunk_size, from)
    }

    /// Plans what a source has, with all that can be kept.
    pub fn plan_all_of(chunk_size: u64, from: PosixSource) -> Self {
        Self::all_of(tempfile::tempdir().unwrap(), chunk_size, from)
    }

    fn all_of(directory: tempfile::TempDir, chunk_size: u64, from: PosixSource) -> Self {
        let from: Arc<dyn Source> = Arc::new(from.preserving(EVERYTHING));
        Self { from: Some(Arc::clone(&from)), preserve: EVERYTHING, ..Self::planned(directory, chunk_size, None, &*from) }
    }

    /// Plans what a source of another kind has.
    pub fn of(chunk_size: u64, attempts: Option<u32>, from: Arc<dyn Source>) -> Self {
        let transfer = Self::planned(tempfile::tempdir().unwrap(), chunk_size, attempts, &*from);
        Self { from: Some(from), ..transfer }
    }

    /// It goes to a destination of another kind.
    pub fn to(self, to: impl Destination + Clone + 'static) -> Self {
        Self { to: Some(Box::new(move || Box::new(to.clone()))), ..self }
    }

    /// It goes to a destination of another kind, that several receivers write; `assert_same` compares it with the source.
    pub fn shared_by(self, to: impl Fn(Seat) -> Box<dyn Destination> + 'static, assert_same: impl Fn(&Path) + 'static) -> Self {
        Self { shared: Some(Shared { to: Box::new(to), assert_same: Box::new(assert_same) }), ..self }
    }

    /// To its directory, in which these lead to what arrives.
    pub fn making(self, above: Vec<LandingPath>) -> Self {
        let to = self.destination();
        Self { to: Some(Box::new(move || Box::new(PosixDestination::new(to.clone()).making(&above)))), ..self }
    }

    fn planned(directory: tempfile::TempDir, chunk_size: u64, attempts: Option<u32>, from: &dyn Source) -> Self {
        Self::no_daemon_panics();
        // The tests of one binary run side by side in one process.
        cpt_relay::machine::descriptors::raise();
        let id = TransferId::new("t-1").unwrap();
        let control = Arc::new(Directory::open(directory.path().join("control"), plan::RANGE_SIZE, attempts).unwrap());
        let survey = scan::source(from, &*control, "", scan::Options::default()).unwrap();
        let plan = plan::make(&control, &id, &survey, chunk_size, 2).unwrap();
        let router = kept_router(directory.path(), &id);
        Self {
            directory,
            id,
            control,
            plan,
            router_key: route_public(&router.key),
            router,
            verify: Verify::Digest,
            preserve: Preserve::default(),
            selection: Default::default(),
            compress: Compress::Never,
            keepalive: Duration::from_secs(60),
            patience: Patience { probe_interval: Duration::from_millis(50), limit: Duration::from_secs(60) },
            notes_sent: false,
            from: None,
            to: None,
            shared: None,
            limit_mbps: None,
            lease: None,
            epoch: 1,
        }
    }

    /// Plans the same source once more, under the same name.
    pub fn plan_again(&mut self, chunk_size: u64) {
        let (_, survey) = self.listed_again();
        self.plan = plan::make(&self.control, &self.id, &survey, chunk_size, 2).unwrap();
    }

    fn listed_again(&self) -> (Arc<dyn Source>, Survey) {
        self.control.clear().unwrap();
        let whole = || {
            let from = PosixSource::new(vec![self.source().join("")]);
            Arc::new(from.preserving(self.preserve).selecting(self.selection.clone())) as _
        };
        let from = self.from.clone().unwrap_or_else(whole);
        let survey = scan::source(&*from, &*self.control, "", scan::Options::default()).unwrap();
        (from, survey)
    }

    /// Plans what a comparison leaves to be sent.
    pub fn plan_compared(&mut self, rule: impl Into<Rule>, chunk_size: u64) {
        self.plan_compared_after(rule, chunk_size, || {});
    }

    /// The same; `meanwhile` happens between the listing and the comparison.
    pub fn plan_compared_after(&mut self, rule: impl Into<Rule>, chunk_size: u64, meanwhile: impl FnOnce()) {
        let rule = rule.into();
        let (from, survey) = self.listed_again();
        meanwhile();
        let listing = Listing { control: &*self.control, prefix: "", parts: 1 };
        if rule.by == Compare::Digest {
            listing.digests(&*from).unwrap();
        }
        let (changed, equal) = ("changed/1/", "equal/1/");
        let found = listing.with_destination(&PosixDestination::new(self.destination()), rule, changed, equal).unwrap();
        let comparison = Some((&found, changed, equal));
        self.plan = plan::make_of(&self.control, &self.id, &survey, comparison, chunk_size, 2).unwrap();
    }

    pub fn source(&self) -> PathBuf {
        self.directory.path().join("source")
    }

    pub fn destination(&self) -> PathBuf {
        self.directory.path().join("destination")
    }

    pub fn receive(&self) -> Running<receive::Outcome> {
        self.receive_within(Limits::RECEIVER)
    }

    pub fn receive_within(&self, limits: Limits) -> Running<receive::Outcome> {
        self.begin(receive::Config { limits, ..self.receiver(Seat::RECEIVER) })
    }

    /// A receiver in a seat, with others beside it.
    pub fn receive_beside(&self, seat: Seat, many_senders: bool, many_receivers: bool) -> Running<receive::Outcome> {
        let directory = || Box::new(PosixDestination::new(self.destination()).beside_others(many_receivers.then_some(seat))) as _;
        let destination = self.shared.as_ref().map_or_else(directory, |shared| (shared.to)(seat));
        self.begin(receive::Config { destination, many_senders, many_receivers, ..self.receiver(seat) })
    }

    /// Starts a receiver; its keys are published.
    fn begin(&self, config: receive::Config) -> Running<receive::Outcome> {
        let (listeners, address) = listen();
        let (identity, stop) = (Identity::generate().unwrap(), Stop::new().unwrap());
        let key = KeyRecord { epoch: self.epoch, tls_public_key: peer::to_text(identity.public()), route_public_key: None, address: None };
        self.control.publish_key(config.seat, &key).unwrap();
        let (control, stopped) = (Arc::clone(&self.control), stop.clone());
        let thread = std::thread::spawn(move || receive::run(config, control, identity, &listeners, &stopped).unwrap());
        Running { stop, address, thread }
    }

    fn receiver(&self, seat: Seat) -> receive::Config {
        receive::Config {
            seat,
            transfer: self.id.clone(),
            epoch: self.epoch,
            before: None,
            destination: self.to.as_ref().map_or_else(|| Box::new(PosixDestination::new(self.destination())) as _, |to| to()),
            plan: self.plan.clone(),
            plan_key: plan::PLAN_KEY.to_owned(),
            prefix: String::new(),
            rules: RateRules::default(),
            limits: Limits::RECEIVER,
            verify: self.verify,
            placing_threads: cpt_relay::defaults::THREADS_AT_ONCE,
            preserve: self.preserve,
            many_senders: false,
            many_receivers: false,
        }
    }

    pub fn relay(&self) -> Running<()> {
        self.relay_with(|_| {})
    }

    /// A relay whose settings `change` changes.
    pub fn relay_with(&self, change: impl FnOnce(&mut relay::Config)) -> Running<()> {
        let (listeners, address) = listen();
        let stop = Stop::new().unwrap();
        let (transfer, rules) = (self.id.clone(), RateRules::default());
        let (idle, limits, known_as) = (Duration::from_secs(600), Limits::RELAY, Vec::new());
        let (route_keys, lifetime, bandwidth, steering) = (vec![self.router_key], None, None, None);
        let mut config = relay::Config { transfer, route_keys, known_as, idle, lifetime, rules, bandwidth, steering, limits };
        change(&mut config);
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || relay::run(config, &listeners, &stopped).unwrap());
        Running { stop, address, thread }
    }

    /// Starts a sender, with the route key that the relays know; the limit is that of the membership, whenever that is written.
    pub fn send(&mut self, limit_mbps: Option<u64>) -> Running<send::Outcome> {
        self.limit(limit_mbps);
        let config = self.sender(Seat::SENDER);
        self.start(config)
    }

    /// What a sender in this seat is told; its keys are published.
    pub fn sender(&mut self, seat: Seat) -> send::Config {
        let identity = Identity::generate().unwrap();
        let key = KeyRecord {
            epoch: self.epoch,
            tls_public_key: peer::to_text(identity.public()),
            route_public_key: Some(peer::to_text(&self.router_key)),
            address: None,
        };
        self.control.publish_key(seat, &key).unwrap();
        send::Config {
            seat,
            epoch: self.epoch,
            has_fixed_lanes: false,
            many_senders: false,
            many_receivers: false,
            before: None,
            journal: self.notes_sent.then(|| sent_journal::open(&self.directory.path().join("send.sent")).unwrap()),
            overflow: None,
            plan: self.plan.clone(),
            plan_key: plan::PLAN_KEY.to_owned(),
            prefix: String::new(),
            source: self.from.clone().unwrap_or_else(|| Arc::new(PosixSource::new(vec![self.source().join("")]))),
            router: Arc::clone(&self.router),
            identity,
            rules: RateRules::default(),
            keepalive: self.keepalive,
            patience: self.patience,
            compress: self.compress,
            proof: self.verify.proof(),
        }
    }

    pub fn start(&self, config: send::Config) -> Running<send::Outcome> {
        let stop = Stop::new().unwrap();
        let (control, stopped) = (Arc::clone(&self.control), stop.clone());
        let thread = std::thread::spawn(move || send::run(config, control, &stopped).unwrap());
        Running { stop, address: SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0), thread }
    }

    pub fn router(&self) -> &Arc<Router> {
        &self.router
    }

    /// Sends what is planned by two new ends; files that were sent.
    pub fn deliver(&mut self) -> u64 {
        self.epoch += 1;
        let receiver = self.receive();
        self.members(vec![path("direct", &[], receiver.address)]);
        let outcome = self.send(None).join();
        let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
        assert_eq!(receiver.join(), receive::Outcome::Agreed);
        totals.files
    }
}

/// A directory with a source, which `fill` makes.
fn filled(fill: impl FnOnce(&Path)) -> (tempfile::TempDir, PosixSource) {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    std::fs::create_dir(&source).unwrap();
    fill(&source);
    (directory, PosixSource::new(vec![source.join("")]))
}

fn kept_router(directory: &Path, id: &TransferId) -> Arc<Router> {
    Arc::new(Router { transfer: id.clone(), key: kept_route_key(&directory.join("route.key")).unwrap() })
}

fn listen() -> (Vec<TcpListener>, SocketAddrV4) {
    let listeners = net::listen(&[SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)], &Stop::new().unwrap()).unwrap();
    let SocketAddr::V4(address) = listeners[0].local_addr().unwrap() else { panic!("not IPv4") };
    (listeners, address)
}

/// `s0`, `r1` …
pub fn seat(text: &str) -> Seat {
    Seat::new(text).unwrap()
}

/// Bytes that went out, but for the copies that an idle lane sent of what another lane was late with: how many those are is up to the machine.
pub fn sent_once(totals: &send::Totals) -> u64 {
    totals.sent_bytes.saturating_sub(totals.hedged_bytes)
}

pub fn path(name: &str, hops: &[SocketAddrV4], receiver: SocketAddrV4) -> membership::Path {
    let hops = hops.iter().map(|address| Hop { node_id: format!("node-{}", address.port()), address: Address(*address) }).collect();
    membership::Path {
        path_id: PathId::new(name).unwrap(),
        generation: 1,
        hops,
        receiver: Address(receiver),
        lanes: 2,
        store: false,
        from: Seat::SENDER,
        to: Seat::RECEIVER,
    }
}

/// Polls until there is something; a hang fails with what was waited for.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "no {what} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
