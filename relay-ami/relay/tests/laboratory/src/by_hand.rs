//! Commands by hand: a directory that both ends see stands in for the control plane.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::options::Options;
use crate::unsynced::Unsynced;
use cpt_command_line::CliError;
use cpt_command_line::end_roles::{self, SendOptions, Sender};
use cpt_command_line::kinds;
use cpt_command_line::roles::{self, print_json, print_probe};
use cpt_command_line::store_ways::StoreWays;
use cpt_ends_posix::{PosixDestination, PosixSource, nameless};
use cpt_ends_s3::client::Bucket;
use cpt_ends_s3::source::BucketSource;
use cpt_laboratory::directory::Directory;
use cpt_laboratory::plan::{self, PLAN_KEY, RANGE_SIZE};
use cpt_relay::control::{Control, ControlError, Seat};
use cpt_relay::defaults::{PORT, THREADS_AT_ONCE};
use cpt_relay::documents::end::{ArchivedRule, DestinationBucket, SourceBucket};
use cpt_relay::documents::event::Failure;
use cpt_relay::documents::membership::{Hop, Membership, Path};
use cpt_relay::documents::percent;
use cpt_relay::documents::text::{Address, BucketName, KeyPrefix, PathId, Region, SchemaVersion1};
use cpt_relay::documents::written::ObjectTags;
use cpt_relay::ends::{Destination, Source};
use cpt_relay::machine::descriptors;
use cpt_relay::send::{Patience, sent_journal};
use cpt_relay::sockets::acceptor::Limits;
use cpt_relay::sockets::net;
use cpt_relay::stop::Stop;
use cpt_relay::survey::scan;
use cpt_relay::transport::peer;
use cpt_relay::transport::route::Router;
use cpt_relay::{probe, receive, relay};

/// A relay without work ends after so long unless told otherwise: an evening's experiment should not run for ever.
const IDLE_SECONDS: u64 = 600;
/// Where a plan's source paths lie in a control directory, percent-encoded; the sender reads nothing else.
const SOURCES_KEY: &str = "sources.json";
/// Attempts per chunk: the directory plays the retry policy.
const MAX_ATTEMPTS: u32 = 5;
/// The sender keeps relays alive so often; from the control plane its command says it.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(60);
/// Lanes of a path that goes on to a store, as the control plane has them.
const LANES_TO_STORE: u32 = 8;
/// Wait for the other side's key.
const KEY_WAIT: Duration = Duration::from_secs(60);

pub const USAGE: &str = "\
cpt-laboratory: cpt-relay, and its roles by hand, with a directory that both ends see in place of the control plane

  cpt-laboratory scan                  PATH...|s3://BUCKET/PREFIX/
  cpt-laboratory plan    --control-dir DIR [--transfer ID] [--chunk-mib N | --chunk-kib N] [--lanes N] [--preserve JSON]
                         [--select JSON] PATH...|s3://BUCKET/PREFIX/
  cpt-laboratory mirror  --control-dir DIR [--select JSON] [--delete] [--keep-replaced NAME] PATH... DESTINATION
  cpt-laboratory receive --control-dir DIR [--transfer ID] [--listen IP:PORT]... [--verify digest|readback|crc64] [--preserve JSON]
                         [--unsynced] [--placing-threads N] [--keep-replaced NAME] [--route-key FILE] DESTINATION|s3://BUCKET/PREFIX/
  cpt-laboratory send    --control-dir DIR [--transfer ID] [--lanes N [--fixed-lanes]] [--direct] [--via IP:PORT,IP:PORT]... [--to-store] [--rate-mbps N] [--attempts N]
                         [--patience SECONDS] [--route-key FILE]
  cpt-laboratory relay   --control-dir DIR [--transfer ID] [--listen IP:PORT]... [--idle-seconds N]
  cpt-laboratory probe   --listen IP:PORT... | --connect IP:PORT  [--seconds N]
  cpt-laboratory list-bucket even|skewed|groups KEYS LISTERS MILLISECONDS
                         times the listing of made-up keys, of which a page takes so long
  cpt-laboratory long-path JSON        passes packets between standard input and standard output, late and at a rate
  cpt-laboratory growth                the lanes that a sender wants for each look on standard input

receive, send and relay take --ready FILE too; receive and send --attempts N, and where there are several machines at an end
--seat s1|r1 --many-senders --many-receivers; plan, receive and send --range-size N.
";

pub fn run(arguments: Vec<OsString>) -> Result<ExitCode, CliError> {
    let options = &Options::parse(arguments).map_err(CliError::Usage)?;
    let span = tracing::info_span!("transfer", id = options.transfer().as_str());
    let _entered = span.enter();
    let stop = Stop::on_signals().map_err(|error| CliError::failed(Failure::Signals, error))?;
    match options.role.as_str() {
        "scan" => scan(options),
        "plan" => plan(options),
        "mirror" => crate::mirror::mirror(options),
        "receive" => receive(options, &stop),
        "send" => send(options, &stop),
        "relay" => relay(options, &stop),
        _ => probe(options, &stop),
    }
}

pub fn open(options: &Options) -> Result<Directory, CliError> {
    let missing = || CliError::Usage(format!("{} needs --command FILE or --control-dir DIR", options.role));
    let directory = options.control_dir.as_ref().ok_or_else(missing)?;
    let attempts = options.attempts.unwrap_or(MAX_ATTEMPTS);
    Directory::open(directory, options.range_size.unwrap_or(RANGE_SIZE), Some(attempts)).map_err(failed)
}

pub fn failed(error: ControlError) -> CliError {
    CliError::failed(Failure::ControlUnavailable, error)
}

fn scan(options: &Options) -> Result<ExitCode, CliError> {
    if options.paths.is_empty() {
        return Err(CliError::Usage("scan needs a path".to_owned()));
    }
    // Without a directory only the totals are wanted.
    let scratch = options.control_dir.clone().unwrap_or_else(|| std::env::temp_dir().join(format!("cpt-scan-{}", std::process::id())));
    let control = Directory::open(&scratch, RANGE_SIZE, None).map_err(failed)?;
    let survey = scan::source(&*source_of(options, &options.paths)?.0, &control, "", scan::Options::default()).map_err(failed);
    if options.control_dir.is_none() {
        let _ = std::fs::remove_dir_all(&scratch);
    }
    print_json(&survey?)
}

/// From where the command was called; a trailing slash keeps its meaning.
fn absolute(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    paths.iter().map(in_directory).collect()
}

pub fn in_directory(path: &PathBuf) -> Result<PathBuf, CliError> {
    let here = std::env::current_dir().map_err(|error| CliError::failed(Failure::WorkingDirectory, error))?;
    Ok(here.join(path))
}

fn plan(options: &Options) -> Result<ExitCode, CliError> {
    let control = open(options)?;
    control.clear().map_err(failed)?;
    let (source, _) = source_of(options, &options.paths)?;
    let survey = scan::source(&*source, &control, "", scan::Options::default()).map_err(failed)?;
    if let cpt_relay::documents::survey::Survey::Source { problems, problem_count, .. } = &survey
        && *problem_count > 0
    {
        let named: Vec<String> = problems.iter().map(|problem| format!("{}: {}", problem.path, problem.reason)).collect();
        return Err(CliError::failed(Failure::SurveyProblem, named.join("; ")));
    }
    let size = options.chunk_kib.map_or_else(|| options.chunk_mib.unwrap_or(8) << 20, |kib| kib << 10);
    if !size.is_power_of_two() {
        return Err(CliError::Usage(format!("a chunk is {size} bytes; it must be a power of two")));
    }
    let is_bucket = options.paths.first().is_some_and(|path| path.starts_with("s3:"));
    let paths = if is_bucket { options.paths.clone() } else { absolute(&options.paths)? };
    let sources: Vec<String> = paths.iter().map(|path| percent::encode(path.as_os_str().as_bytes())).collect();
    let sources = serde_json::to_vec(&sources).map_err(|error| CliError::failed(Failure::Output, error))?;
    control.write_object(SOURCES_KEY, sources).map_err(failed)?;
    print_json(&plan::make(&control, &options.transfer(), &survey, size, options.lanes.unwrap_or(1)).map_err(failed)?)
}

/// The paths that were planned.
fn planned_sources(control: &Directory) -> Result<Vec<PathBuf>, CliError> {
    let text = control.read_object(SOURCES_KEY, None).map_err(failed)?;
    let wrong = |why: String| CliError::failed(Failure::PlanInvalid, format!("{SOURCES_KEY}: {why}"));
    let sources: Vec<String> = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    sources.iter().map(|source| Ok(OsString::from_vec(percent::decode(source).map_err(wrong)?).into())).collect()
}

/// The receiver's address goes into its record, so it must be one that others can dial; this machine's own is the default.
fn listen_addresses(options: &Options) -> Vec<SocketAddrV4> {
    if options.listen.is_empty() { vec![SocketAddrV4::new(Ipv4Addr::LOCALHOST, PORT)] } else { options.listen.clone() }
}

/// A bucket as other clients of S3 name it, with their variables for keys and region; none where this is a path.
fn bucket_of(options: &Options, named: &std::path::Path) -> Result<Option<DestinationBucket>, CliError> {
    let Some(place) = named.to_str().and_then(|text| text.strip_prefix("s3://")) else { return Ok(None) };
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let wrong = |why: String| CliError::Usage(format!("{}: {why}", named.display()));
    Ok(Some(DestinationBucket {
        bucket: BucketName::new(bucket).map_err(wrong)?,
        prefix: KeyPrefix::new(prefix).map_err(wrong)?,
        region: Region::new(std::env::var("AWS_REGION").unwrap_or_default()).map_err(wrong)?,
        owner: None,
        preserve: options.preserve,
        storage_class: None,
        tags: ObjectTags::default(),
        kms_key_id: None,
    }))
}

/// A directory, or a bucket.
fn destination_of(options: &Options, named: &PathBuf, stop: &Stop) -> Result<(Box<dyn Destination>, Option<Bucket>), CliError> {
    if let Some(end) = bucket_of(options, named)? {
        let asker = kinds::Asker { control: None, transfer: &options.transfer(), epoch: None, stop };
        let destination = kinds::bucket_destination(&end, options.keep_replaced.as_ref(), (Seat::RECEIVER, &asker))?;
        let bucket = destination.bucket().clone();
        return Ok((Box::new(destination), Some(bucket)));
    }
    // One that has others beside it keeps what is under way in a directory of its own.
    let beside = options.seat.filter(|_| options.many_receivers);
    let destination = PosixDestination::new(in_directory(named)?).beside_others(beside);
    let destination = destination.keeping(options.keep_replaced.as_ref(), &options.transfer());
    Ok((if options.unsynced { Box::new(Unsynced(destination)) } else { Box::new(destination) }, None))
}

/// Paths, or one bucket.
fn source_of(options: &Options, paths: &[PathBuf]) -> Result<(Arc<dyn Source>, Option<Bucket>), CliError> {
    if let [named] = paths
        && let Some(end) = bucket_of(options, named)?
    {
        let stop = Stop::new().map_err(|error| CliError::failed(Failure::SenderError, error))?;
        let transfer = options.transfer();
        let asker = kinds::Asker { control: None, transfer: &transfer, epoch: None, stop: &stop };
        let DestinationBucket { bucket, prefix, region, owner, preserve, .. } = end;
        let end = SourceBucket { bucket, prefix, region, owner, preserve, archived: ArchivedRule::default() };
        let bucket = kinds::source_bucket(&end, Seat::SENDER, &asker)?;
        let source = BucketSource::new(bucket.clone()).selecting(options.select.clone()).preserving(options.preserve);
        return Ok((Arc::new(source), Some(bucket)));
    }
    Ok((Arc::new(PosixSource::new(absolute(paths)?).preserving(options.preserve)), None))
}

/// The ways of an end that is a bucket, once somebody names any.
fn follow(
    options: &Options,
    seat: Seat,
    bucket: Bucket,
    router: &Arc<Router>,
    control: &Arc<Directory>,
    stop: &Stop,
) -> Result<(), CliError> {
    let (transfer, router, control, rules) =
        (options.transfer(), Arc::clone(router), Arc::clone(control) as Arc<dyn Control>, roles::rules()?);
    let ways = StoreWays { transfer, seat, epoch: FIRST_EPOCH, bucket, router, rules, control };
    ways.follow(stop).map_err(|error| CliError::failed(Failure::Signals, error))
}

fn receive(options: &Options, stop: &Stop) -> Result<ExitCode, CliError> {
    let [destination] = options.paths.as_slice() else { return Err(CliError::Usage("receive needs one destination".to_owned())) };
    let (control, transfer) = (Arc::new(open(options)?), options.transfer());
    let plan = roles::read_plan(&*control, &transfer, PLAN_KEY)?;
    let ((destination, bucket), rules) = (destination_of(options, destination, stop)?, roles::rules()?);
    let seat = options.seat.unwrap_or(Seat::RECEIVER);
    // Relays by hand know one key, so both ends beside a bucket are given one file.
    let key = end_roles::route_key(options.route_key.as_deref())?;
    let router = Arc::new(Router { transfer: transfer.clone(), key });
    let is_beside = bucket.is_some();
    if let Some(bucket) = bucket {
        follow(options, seat, bucket, &router, &control, stop)?;
    }
    let config = receive::Config {
        seat,
        transfer,
        epoch: FIRST_EPOCH,
        before: None,
        destination,
        plan,
        plan_key: PLAN_KEY.to_owned(),
        prefix: String::new(),
        rules,
        limits: Limits::RECEIVER,
        verify: options.verify,
        placing_threads: options.placing_threads.unwrap_or(THREADS_AT_ONCE),
        preserve: options.preserve,
        many_senders: options.many_senders,
        many_receivers: options.many_receivers,
    };
    end_roles::run_receiver(
        config,
        control,
        (&listen_addresses(options), is_beside.then_some(&*router)),
        &roles::ready_file(options.ready.as_deref())?,
        stop,
    )
}

/// Whoever is started again goes on as the next process of one start.
const FIRST_EPOCH: u64 = 1;

fn send(options: &Options, stop: &Stop) -> Result<ExitCode, CliError> {
    let (control, transfer) = (Arc::new(open(options)?), options.transfer());
    let plan = roles::read_plan(&*control, &transfer, PLAN_KEY)?;
    let (source, bucket) = source_of(options, &planned_sources(&control)?)?;
    let by_options = options.direct || !options.via.is_empty();
    if options.rate_mbps.is_some() && !by_options {
        return Err(CliError::Usage("--rate-mbps needs --direct or --via; bandwidthLimitMbps of the membership is the rate".to_owned()));
    }
    let seat = options.seat.unwrap_or(Seat::SENDER);
    let sender = Sender::new(transfer, (seat, FIRST_EPOCH), end_roles::route_key(options.route_key.as_deref())?, roles::rules()?)?;
    let overflow = options.control_dir.as_ref().and_then(|directory| nameless(std::fs::File::open(directory).ok()?).ok());
    // As a daemon has both beside its command.
    let journal = options.route_key.as_ref().map(|key| sent_journal::open(&key.with_extension("sent")));
    let journal = journal.transpose().map_err(|error| CliError::failed(Failure::SenderError, error))?;
    let sender = sender.noting(journal, overflow).publish(&*control, stop)?;
    if let Some(bucket) = bucket {
        follow(options, seat, bucket, &sender.router(), &control, stop)?;
    }
    if by_options {
        let key = wait_for_key(&control, Seat::RECEIVER, stop)?;
        let receiver = key.address.as_deref().and_then(|address| address.parse().ok());
        let receiver = receiver.ok_or_else(|| CliError::failed(Failure::NoReceiver, "the receiver's record holds no address"))?;
        control.put_membership(&membership(options, receiver, options.lanes.unwrap_or(plan.lanes_per_path))?).map_err(failed)?;
    }
    roles::ready_file(options.ready.as_deref())?.write("send", &[], None).map_err(|error| CliError::failed(Failure::ReadyFile, error))?;
    let patience = options.patience.map(Duration::from_secs_f64).map_or_else(Patience::default, Patience::of);
    let send_options = SendOptions {
        keepalive: KEEPALIVE_INTERVAL,
        patience,
        compress: options.compress,
        proof: options.verify.proof(),
        has_fixed_lanes: options.has_fixed_lanes,
        many_senders: options.many_senders,
        many_receivers: options.many_receivers,
    };
    sender.run((plan, PLAN_KEY.to_owned()), String::new(), source, send_options, control, stop)
}

fn membership(options: &Options, receiver: SocketAddrV4, lanes: u32) -> Result<Membership, CliError> {
    let path = |name: String, hops: Vec<Hop>| {
        let path_id = PathId::new(name).map_err(CliError::Usage)?;
        Ok(Path { path_id, generation: 0, hops, receiver: Address(receiver), lanes, store: false, from: Seat::SENDER, to: Seat::RECEIVER })
    };
    let mut paths = Vec::new();
    if options.direct {
        paths.push(path("direct".to_owned(), Vec::new())?);
    }
    for (slot, hops) in options.via.iter().enumerate() {
        let hops = hops.iter().map(|address| Hop { node_id: address.to_string(), address: Address(*address) }).collect();
        paths.push(Path { store: options.to_store, lanes: lanes.min(LANES_TO_STORE), ..path(format!("pair-{slot}"), hops)? });
    }
    Ok(Membership {
        schema_version: SchemaVersion1,
        version: 0,
        paths,
        probes: Vec::new(),
        bandwidth_limit_mbps: options.rate_mbps,
        budget_lease: None,
        limit_lease: None,
        paused: false,
        retired: Vec::new(),
        shares: Vec::new(),
    })
}

fn wait_for_key(control: &Directory, side: Seat, stop: &Stop) -> Result<cpt_relay::control::KeyRecord, CliError> {
    let deadline = std::time::Instant::now() + KEY_WAIT;
    loop {
        if let Some(key) = control.key(side).map_err(failed)? {
            return Ok(key);
        }
        if std::time::Instant::now() >= deadline || stop.sleep(Duration::from_millis(50)) {
            return Err(CliError::failed(Failure::NoKey, format!("no key of the {} after {} s", side.role.as_str(), KEY_WAIT.as_secs())));
        }
    }
}

fn relay(options: &Options, stop: &Stop) -> Result<ExitCode, CliError> {
    roles::open_files(descriptors::Role::Relay)?;
    let control = open(options)?;
    let addresses = listen_addresses(options);
    // Before the key is there: whoever dials early waits instead of being refused.
    let listeners = roles::listen(&addresses, stop)?;
    let key = wait_for_key(&control, Seat::SENDER, stop)?;
    let route_key = key.route_public_key.as_deref().and_then(peer::route_key_from_text);
    let route_key = route_key.ok_or_else(|| CliError::failed(Failure::NoKey, "the sender's record holds no route key"))?;
    let idle = Duration::from_secs(options.idle_seconds.unwrap_or(IDLE_SECONDS));
    let rules = roles::rules()?;
    // A machine that somebody works at is not powered off.
    let config = relay::Config {
        transfer: options.transfer(),
        route_keys: vec![route_key],
        known_as: addresses,
        idle,
        lifetime: None,
        rules,
        bandwidth: None,
        steering: None,
        limits: Limits::RELAY,
    };
    roles::run_relay(config, &listeners, None, &roles::ready_file(options.ready.as_deref())?, stop)
}

fn probe(options: &Options, stop: &Stop) -> Result<ExitCode, CliError> {
    let time = Duration::from_secs_f64(options.seconds.unwrap_or(10.0));
    let report = match options.connect {
        Some(address) => probe::connect(address, time, time, stop),
        None => match net::listen(&listen_addresses(options), stop) {
            Ok(listeners) => probe::listen(&listeners, time, stop),
            Err(error) => probe::Report::refused(&error),
        },
    };
    print_probe(&report)
}
