//! Commands from the control plane.

use std::net::{SocketAddrV4, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::Ed25519KeyPair;

use super::end_roles::{self, SendOptions, Sender, run_receiver};
use super::kept_files::KeptFiles;
use super::kinds::{self, Asker};
use super::last_words::announce_failure;
use super::mark_roles;
use super::mirror_roles;
use super::options::Options;
use super::store_ways::StoreWays;
use super::{CliError, Failure, beginning};
use cpt_control_aws::aws::Aws;
use cpt_control_aws::clients::Setup;
use cpt_ends_posix as posix;
use cpt_relay::control::{Control, ControlError};
use cpt_relay::defaults::{CONTROL_START, ORDER_KEPT, PROBE_REFUSED};
use cpt_relay::documents::command::{self, Command};
use cpt_relay::documents::end::DestinationEnd;
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::documents::seat::Seat;
use cpt_relay::documents::text::{AnnouncementKey, TransferId};
use cpt_relay::machine::ready::ReadyFile;
use cpt_relay::machine::{descriptors, ready, watchdog};
use cpt_relay::rate::{Bucket, RateRules};
use cpt_relay::receive;
use cpt_relay::send::Patience;
use cpt_relay::sockets::acceptor::Limits;
use cpt_relay::sockets::net;
use cpt_relay::stop::Stop;
use cpt_relay::survey::{compare, scan};
use cpt_relay::transport::peer;
use cpt_relay::transport::route::Router;
use cpt_relay::{probe, relay};

/// Waits for a ready file and prints it.
pub(super) fn await_ready(options: &Options) -> Result<ExitCode, CliError> {
    let [file] = options.paths.as_slice() else { return Err(CliError::Usage("await-ready needs one file".to_owned())) };
    let seconds = options.seconds.unwrap_or(20.0);
    match ready::wait(file, Duration::from_secs_f64(seconds)) {
        Some(line) => {
            println!("{line}");
            Ok(ExitCode::SUCCESS)
        }
        None => Err(CliError::failed(Failure::NotReady, format!("{} did not appear within {seconds} s", file.display()))),
    }
}

/// The ready file, open and empty.
pub fn ready_file(path: Option<&Path>) -> Result<ReadyFile, CliError> {
    ReadyFile::open(path).map_err(|error| CliError::failed(Failure::ReadyFile, error))
}

fn read_command(options: &Options) -> Result<(PathBuf, Command), CliError> {
    let missing = || CliError::Usage(format!("{} needs --command FILE", options.role));
    let file = options.command.clone().ok_or_else(missing)?;
    let wrong = |why: String| CliError::Usage(format!("--command {}: {why}", file.display()));
    let text = std::fs::read(&file).map_err(|error| wrong(error.to_string()))?;
    let command = Command::parse(&text).map_err(wrong)?;
    let age = file.metadata().ok().and_then(|metadata| metadata.modified().ok()?.elapsed().ok()).unwrap_or_default();
    if age > ORDER_KEPT {
        return Err(wrong(format!("is {} days old; an order holds for {}", age.as_secs() / 86_400, ORDER_KEPT.as_secs() / 86_400)));
    }
    Ok((file, command))
}

/// Makes the destination of the receiver's command, as the user who will write there, and prints it as a value of systemd's:
/// the unit of the receiver may write nowhere else.
pub(super) fn make_destination(options: &Options) -> Result<ExitCode, CliError> {
    let (file, command) = read_command(options)?;
    let Command::Receive(receive) = &command else {
        return Err(CliError::Usage(format!("--command {}: make-destination needs the command of a receiver", file.display())));
    };
    beginning::begin(&command).map_err(|why| CliError::failed(Failure::RunAs, why))?;
    let DestinationEnd::Machine(end) = &receive.end else {
        // Nothing of it is on this machine, and an empty value would take from the unit what it may write to without it.
        println!("{}", posix::quoted(file.parent().unwrap_or(Path::new("/"))));
        return Ok(ExitCode::SUCCESS);
    };
    let made = posix::make(end.path.as_str().as_bytes());
    let path = made.map_err(|error| CliError::failed(Failure::DestinationError, format!("{}: {error}", end.path)))?;
    println!("{}", posix::quoted(&path));
    Ok(ExitCode::SUCCESS)
}

/// Runs the command that the file holds.
pub(super) fn by_command(options: &Options) -> Result<ExitCode, CliError> {
    let (file, command) = read_command(options)?;
    let wrong = |why: String| CliError::Usage(format!("--command {}: {why}", file.display()));
    let role = match &command {
        Command::ScanSource(_)
        | Command::ScanDestination(_)
        | Command::ScanDigests(_)
        | Command::ScanComparison(_)
        | Command::ScanExtras(_)
        | Command::ScanMark(_)
        | Command::ScanMarked(_) => "scan",
        Command::Delete(_) => "delete",
        Command::Receive(_) => "receive",
        Command::Send(_) => "send",
        Command::Relay(_) => "relay",
        Command::ProbeListen(_) | Command::ProbeConnect(_) => "probe",
    };
    if role != options.role {
        return Err(wrong(format!("role is {role:?}, but the command line says {:?}", options.role)));
    }
    // What lies in root's own directory is opened before the process becomes another user, and that before it has threads.
    let ready = ready_file(options.ready.as_deref())?;
    // Beside the command: what stops the transfer's units removes both.
    let kept = KeptFiles::beside(&file, &command);
    let rules = rules()?;
    let begun = posix::check_kernel().and_then(|()| beginning::begin_with_token(&file, &command));
    let token = match begun {
        Ok(token) => token,
        Err(why) => return beginning::refused(command, why),
    };
    // Neither leaves anything behind that it would have to tidy up: the signal itself ends it, whatever it hangs in.
    let stop = if matches!(role, "scan" | "delete") { Stop::new() } else { Stop::on_signals() };
    let stop = stop.map_err(|error| CliError::failed(Failure::Signals, error))?;
    watchdog::start().map_err(|error| CliError::failed(Failure::Signals, error))?;
    if let Some(token) = token {
        token.follow().map_err(|error| CliError::failed(Failure::Signals, error))?;
    }
    match obey(command, options, &ready, kept, rules, &stop) {
        // It was told to stop before it had begun.
        Err(CliError::Failed { class: Failure::ControlUnavailable, .. }) if stop.is_requested() => Ok(ExitCode::SUCCESS),
        result => result,
    }
}

fn obey(
    command: Command,
    options: &Options,
    ready: &ReadyFile,
    kept: KeptFiles,
    rules: RateRules,
    stop: &Stop,
) -> Result<ExitCode, CliError> {
    let alone = |place| -> Result<Arc<Aws>, CliError> {
        Ok(Arc::new(Aws::new(place, stop, &Setup::AWS).map_err(control_error)?.with_patience(CONTROL_START)))
    };
    match command {
        Command::ScanSource(scan) => {
            let control = alone(&scan.control)?;
            let options = scan::Options { announce: scan.announce.as_ref().map(AnnouncementKey::as_str), compress: scan.compress };
            let source = kinds::listed_source(&scan, kept.overflow, &asker(Some(&control), &scan.transfer_id, stop))?;
            print_json(&scan::source(&*source, &*control, &scan.control.prefix, options).map_err(control_error)?)
        }
        Command::ScanDestination(scan) => {
            if let DestinationEnd::Machine(end) = &scan.end
                && let Some(why) = posix::cannot_keep(end.path.as_str().as_ref(), &end.preserve)
            {
                return print_json(&posix::refused(end.path.as_str().as_ref(), why).survey());
            }
            let control = scan.control.as_ref().map(alone).transpose()?;
            let asker = asker(control.as_ref(), &scan.transfer_id, stop);
            print_json(&kinds::surveyed_destination(&scan, &asker)?.room().survey())
        }
        Command::ScanDigests(scan) => {
            let control = alone(&scan.control)?;
            let listing = compare::Listing { control: &*control, prefix: &scan.control.prefix, parts: scan.parts };
            let source = kinds::source(&scan.end, Seat::SENDER, &asker(Some(&control), &scan.transfer_id, stop))?;
            print_json(&listing.digests(&*source).map_err(control_error)?)
        }
        Command::ScanComparison(scan) => {
            let control = alone(&scan.control)?;
            let listing = compare::Listing { control: &*control, prefix: &scan.control.prefix, parts: scan.parts };
            let rule = compare::Rule { by: scan.compare, overwrite: scan.overwrite, resend_all: scan.resend_all };
            let destination = kinds::destination(&scan.end, None, &asker(Some(&control), &scan.transfer_id, stop))?;
            let found = listing.with_destination(&*destination, rule, &scan.folder, &scan.equal_folder);
            print_json(&found.map_err(control_error)?)
        }
        Command::ScanExtras(scan) => {
            let control = alone(&scan.control)?;
            let asker = asker(Some(&control), &scan.transfer_id, stop);
            let destination = kinds::destination(&scan.end, scan.keep_replaced.as_ref(), &asker)?;
            mirror_roles::scan_extras(&scan, &*destination, &*control)
        }
        Command::ScanMark(scan) => mark_roles::mark(&scan),
        Command::ScanMarked(scan) => mark_roles::marked(&scan),
        Command::Delete(delete) => {
            let control = alone(&delete.control)?;
            let asker = asker(Some(&control), &delete.transfer_id, stop);
            let destination = kinds::destination(&delete.end, delete.keep_replaced.as_ref(), &asker)?;
            mirror_roles::delete(&delete, &*destination, &*control)
        }
        Command::Receive(command) => receive(ready, rules, command, kept.route_key, stop),
        Command::Send(command) => {
            let (id, seat) = (command.transfer_id.clone(), (command.seat, command.epoch));
            let KeptFiles { route_key, journal, overflow } = kept;
            let key = route_key.unwrap_or_else(|| end_roles::route_key(None));
            let made = key.and_then(|key| Ok(Sender::new(id, seat, key, rules)?.noting(journal, overflow)));
            send(ready, made, command, stop)
        }
        Command::Relay(command) => relay(ready, rules, &command, options, stop),
        Command::ProbeListen(probe) => {
            let addresses: Vec<_> = probe.listen.iter().map(|address| address.0).collect();
            print_probe(&match net::listen(&addresses, stop) {
                Ok(listeners) => probe::listen(&listeners, Duration::from_secs_f64(probe.seconds), stop),
                Err(error) => probe::Report::refused(&error),
            })
        }
        Command::ProbeConnect(probe) => {
            print_probe(&probe::connect(probe.address.0, Duration::from_secs_f64(probe.seconds), PROBE_REFUSED, stop))
        }
    }
}

/// A process that answers and ends.
const fn asker<'a>(control: Option<&'a Arc<Aws>>, transfer: &'a TransferId, stop: &'a Stop) -> Asker<'a> {
    Asker { control, transfer, epoch: None, stop }
}

pub fn control_error(error: ControlError) -> CliError {
    CliError::failed(Failure::ControlUnavailable, error)
}

pub fn print_json(document: &impl serde::Serialize) -> Result<ExitCode, CliError> {
    println!("{}", serde_json::to_string(document).map_err(|error| CliError::failed(Failure::Output, error))?);
    Ok(ExitCode::SUCCESS)
}

pub fn print_probe(report: &probe::Report) -> Result<ExitCode, CliError> {
    print_json(report)?;
    Ok(if report.reachable { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub fn rules() -> Result<RateRules, CliError> {
    RateRules::from_environment().map_err(|why| CliError::failed(Failure::RateRules, why))
}

/// The clients with the plan that they are for.
fn with_plan(place: &command::ControlPlace, transfer: &TransferId, key: &str, stop: &Stop) -> Result<(Arc<Aws>, TransferPlan), CliError> {
    let control = Aws::new(place, stop, &Setup::AWS).map_err(control_error)?.with_patience(CONTROL_START);
    let plan = read_plan(&control, transfer, key)?;
    // From now on whoever asks decides how long.
    Ok((Arc::new(control.with_patience(Duration::ZERO).with_range_size(plan.range_size)), plan))
}

pub fn read_plan(control: &dyn Control, transfer: &TransferId, key: &str) -> Result<TransferPlan, CliError> {
    let text = control.read_object(key, None).map_err(control_error)?;
    let plan = TransferPlan::parse(&text).map_err(|why| CliError::failed(Failure::PlanInvalid, format!("{key}: {why}")))?;
    if plan.transfer_id != *transfer {
        return Err(CliError::failed(
            Failure::PlanInvalid,
            format!("{key}: transferId is {}; the command's is {transfer}", plan.transfer_id),
        ));
    }
    Ok(plan)
}

/// `route_key`: of a receiver that may reach its destination through relays.
fn receive(
    ready: &ReadyFile,
    rules: RateRules,
    command: command::Receive,
    route_key: Option<Result<Ed25519KeyPair, CliError>>,
    stop: &Stop,
) -> Result<ExitCode, CliError> {
    let (control, plan) = with_plan(&command.control, &command.transfer_id, &command.plan, stop)?;
    let addresses: Vec<_> = command.listen.iter().map(|address| address.0).collect();
    let asker = Asker { control: Some(&control), transfer: &command.transfer_id, epoch: Some(command.epoch), stop };
    let (destination, bucket) = kinds::receiving_destination(&command, &asker)?;
    let router = bucket.is_some().then(|| route_key.unwrap_or_else(|| end_roles::route_key(None))).transpose()?;
    let router = router.map(|key| Arc::new(Router { transfer: command.transfer_id.clone(), key }));
    if let Some((bucket, router)) = bucket.zip(router.as_ref()) {
        let (transfer, control, rules) = (command.transfer_id.clone(), Arc::clone(&control) as Arc<dyn Control>, rules.clone());
        let (seat, epoch, router) = (command.seat, command.epoch, Arc::clone(router));
        follow(StoreWays { transfer, seat, epoch, bucket, router, rules, control }, stop)?;
    }
    let config = receive::Config {
        transfer: command.transfer_id,
        seat: command.seat,
        epoch: command.epoch,
        before: None,
        destination,
        plan,
        plan_key: command.plan,
        prefix: command.control.prefix,
        rules,
        limits: Limits::RECEIVER,
        verify: command.verify,
        placing_threads: kinds::placing_threads(&command.end),
        preserve: command.end.preserve(),
        many_senders: command.many_senders,
        many_receivers: command.many_receivers,
    };
    run_receiver(config, control, (&addresses, router.as_deref()), ready, stop)
}

fn follow(ways: StoreWays, stop: &Stop) -> Result<(), CliError> {
    ways.follow(stop).map_err(|error| CliError::failed(Failure::Signals, error))
}

/// `made`: the sender, or why this machine can have none, which is told as any other end.
fn send(ready: &ReadyFile, made: Result<Sender, CliError>, command: command::Send, stop: &Stop) -> Result<ExitCode, CliError> {
    let (control, plan) = with_plan(&command.control, &command.transfer_id, &command.plan, stop)?;
    let begun = made.and_then(|sender| sender.publish(&*control, stop)).and_then(|sender| {
        ready.write("send", &[], None).map_err(|error| CliError::failed(Failure::ReadyFile, error))?;
        Ok(sender)
    });
    if let Err(CliError::Failed { class, cause }) = &begun {
        announce_failure(&*control, stop, command.transfer_id.clone(), command.seat, command.epoch, *class, cause);
    }
    let sender = begun?;
    let keepalive = Duration::from_secs(command.keepalive_seconds);
    let options = SendOptions {
        keepalive,
        patience: Patience::default(),
        compress: command.compress,
        proof: command.verify.proof(),
        has_fixed_lanes: false,
        many_senders: command.many_senders,
        many_receivers: command.many_receivers,
    };
    let asker = Asker { control: Some(&control), transfer: &command.transfer_id, epoch: Some(command.epoch), stop };
    let (source, bucket) = kinds::sending_source(&command.end, command.seat, &asker)?;
    if let Some(bucket) = bucket {
        let (transfer, control) = (command.transfer_id.clone(), Arc::clone(&control) as Arc<dyn Control>);
        let (seat, epoch, router, rules) = (command.seat, command.epoch, sender.router(), sender.rules());
        follow(StoreWays { transfer, seat, epoch, bucket, router, rules, control }, stop)?;
    }
    sender.run((plan, command.plan), command.control.prefix, source.into(), options, control, stop)
}

fn relay(ready: &ReadyFile, rules: RateRules, command: &command::Relay, options: &Options, stop: &Stop) -> Result<ExitCode, CliError> {
    let id =
        options.machine.as_deref().ok_or_else(|| CliError::Usage("relay needs --machine, the instance id of this machine".to_owned()))?;
    let told = command.machines.get(id).ok_or_else(|| CliError::Usage(format!("--machine {id}: the command is for others")))?;
    let route_keys: Option<Vec<_>> = command.sender_route_keys.iter().map(|key| peer::route_key_from_text(key.as_str())).collect();
    let route_keys = route_keys.ok_or_else(|| CliError::Usage("senderRouteKeys has one that is no key of 32 bytes".to_owned()))?;
    let addresses: Vec<_> = told.listen.iter().map(|address| address.0).collect();
    let idle = Duration::from_secs(command.idle_seconds);
    let (transfer, known_as) = (command.transfer_id.clone(), addresses.clone());
    let lifetime = told.time_to_live_seconds.map(|seconds| relay::Lifetime::new(Duration::from_secs(seconds)));
    let steering = options.steer.clone().map(relay::Steering::new);
    let bandwidth = told.bandwidth_limit_mbps.map(Bucket::of_megabits).or_else(|| steering.as_ref().map(|_| Bucket::unlimited()));
    let config = relay::Config { transfer, route_keys, known_as, idle, lifetime, rules, bandwidth, steering, limits: Limits::RELAY };
    open_files(descriptors::Role::Relay)?;
    run_relay(config, &listen(&addresses, stop)?, Some(&told.node_id), ready, stop)
}

/// Returns whether the process may open the files that the role may need.
pub fn open_files(role: descriptors::Role) -> Result<(), CliError> {
    descriptors::check(role).map_err(|error| CliError::failed(Failure::TooFewOpenFiles, error))
}

pub fn listen(addresses: &[SocketAddrV4], stop: &Stop) -> Result<Vec<TcpListener>, CliError> {
    net::listen(addresses, stop).map_err(|error| CliError::failed(Failure::ListenFailed, error))
}

pub fn run_relay(
    config: relay::Config,
    listeners: &[TcpListener],
    node_id: Option<&str>,
    ready: &ReadyFile,
    stop: &Stop,
) -> Result<ExitCode, CliError> {
    ready.write("relay", listeners, node_id).map_err(|error| CliError::failed(Failure::ReadyFile, error))?;
    relay::run(config, listeners, stop).map_err(|error| CliError::failed(Failure::RelayError, error))?;
    Ok(ExitCode::SUCCESS)
}
