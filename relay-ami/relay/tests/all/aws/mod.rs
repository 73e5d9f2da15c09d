//! The control plane in AWS, in trouble: everything is repeated, nothing waits for ever.

mod answers;
mod cloud;
mod credentials;
mod epochs;
mod expressions;
mod leases;
mod proxies;
mod stops;

use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::config::Credentials;
use cpt_control_aws::aws::Aws;
use cpt_control_aws::clients::{Setup, Times};
use cpt_ends_posix::{PosixDestination, PosixSource};
use cpt_relay::control::leases::Owner;
use cpt_relay::control::{Control, ControlError, Delivery, KeyRecord, Seat, Undelivered, until_answered};
use cpt_relay::documents::attributes::Preserve;
use cpt_relay::documents::chunk::{Chunk, ChunkState, range_key};
use cpt_relay::documents::command::{Compress, ControlPlace};
use cpt_relay::documents::event::Progress;
use cpt_relay::documents::membership::Membership;
use cpt_relay::documents::text::{HexDigest, SchemaVersion1};
use cpt_relay::rate::RateRules;
use cpt_relay::secure::keys::{Identity, kept_route_key};
use cpt_relay::sockets::acceptor::Limits;
use cpt_relay::stop::Stop;
use cpt_relay::transport::peer;
use cpt_relay::transport::route::Router;
use cpt_relay::{receive, send};
use serde_json::json;

use crate::harness::{Transfer, noise, path};
use cloud::{Cloud, Fault, QUICK};

const CHUNK: u64 = 64 << 10;
/// More than the SDK's own attempts of a call (8) and those of a report (3).
const BEYOND_RETRIES: usize = 10;

const PARTITION: &str = "arn:aws:ec2:us-west-2:000000000000:instance/i-0a+arn:aws:ec2:eu-west-1:000000000000:instance/i-0b+t-1";

fn place() -> ControlPlace {
    let name = str::to_owned;
    serde_json::from_value(json!({
        "region": "us-west-2", "bucket": name("bucket"), "prefix": "", "partition": PARTITION, "transfersTable": "transfers",
        "chunksTable": "chunks", "bus": "bus",
    }))
    .unwrap()
}

fn client(cloud: &Cloud, stop: &Stop, times: Times) -> Aws {
    let credentials = Credentials::new("key", "secret", None, None, "test");
    Aws::new(&place(), stop, &Setup::at(cloud.endpoint.clone(), credentials, times)).unwrap()
}

fn quick(cloud: &Cloud) -> Aws {
    client(cloud, &Stop::new().unwrap(), QUICK)
}

fn put_chunk(cloud: &Cloud, chunk: &Chunk) {
    let item = Chunk { range_key: range_key(PARTITION, 0), ..chunk.clone() };
    cloud.put_item("chunks", ["rangeKey", "itemKey"], &serde_json::to_value(item).unwrap());
}

/// A transfer that is planned into the cloud.
struct Account {
    transfer: Transfer,
    cloud: Cloud,
}

impl Account {
    fn plan(fill: impl FnOnce(&std::path::Path)) -> Self {
        let (transfer, cloud) = (Transfer::plan(CHUNK, Some(3), fill), Cloud::start());
        for key in ["plan.json", "manifest/part-00000.ndjson", "listing/part-00000.ndjson"] {
            cloud.put_object(key, transfer.object(key).into_bytes());
        }
        for chunk in transfer.chunks() {
            put_chunk(&cloud, &chunk);
        }
        Self { transfer, cloud }
    }

    fn control(&self, stop: &Stop) -> Arc<Aws> {
        Arc::new(client(&self.cloud, stop, QUICK).with_range_size(self.transfer.plan.range_size))
    }

    fn key(identity: &Identity, route: Option<[u8; 32]>) -> KeyRecord {
        let route_public_key = route.map(|key| peer::to_text(&key));
        KeyRecord { epoch: 1, tls_public_key: peer::to_text(identity.public()), route_public_key, address: None }
    }

    /// Both ends to their end.
    fn run(&self) -> (send::Outcome, receive::Outcome) {
        let (transfer, plan) = (self.transfer.id.clone(), self.transfer.plan.clone());
        let (to_receive, to_send) = (Stop::new().unwrap(), Stop::new().unwrap());
        let listeners = cpt_relay::sockets::net::listen(&["127.0.0.1:0".parse().unwrap()], &to_receive).unwrap();
        let std::net::SocketAddr::V4(address) = listeners[0].local_addr().unwrap() else { panic!("not IPv4") };
        let (control, identity) = (self.control(&to_receive), Identity::generate().unwrap());
        control.publish_key(Seat::RECEIVER, &Self::key(&identity, None)).unwrap();
        let config = receive::Config {
            seat: Seat::RECEIVER,
            transfer: transfer.clone(),
            epoch: 1,
            before: None,
            destination: Box::new(PosixDestination::new(self.transfer.destination())),
            plan: plan.clone(),
            plan_key: "plan.json".to_owned(),
            prefix: String::new(),
            rules: RateRules::default(),
            limits: Limits::RECEIVER,
            verify: self.transfer.verify,
            placing_threads: cpt_relay::defaults::THREADS_AT_ONCE,
            preserve: Preserve::default(),
            many_senders: false,
            many_receivers: false,
        };
        let receiver = std::thread::spawn(move || receive::run(config, control, identity, &listeners, &to_receive).unwrap());
        let membership = Membership {
            schema_version: SchemaVersion1,
            version: 0,
            paths: vec![path("direct", &[], address)],
            probes: Vec::new(),
            bandwidth_limit_mbps: None,
            budget_lease: None,
            limit_lease: None,
            paused: false,
            retired: Vec::new(),
            shares: Vec::new(),
        };
        let document = serde_json::to_string(&membership).unwrap();
        let item = json!({"transferId": PARTITION, "record": "membership", "membership": document});
        self.cloud.put_item("transfers", ["transferId", "record"], &item);
        let (control, identity) = (self.control(&to_send), Identity::generate().unwrap());
        control.publish_key(Seat::SENDER, &Self::key(&identity, Some(self.transfer.router_key))).unwrap();
        let key = kept_route_key(&self.transfer.directory.path().join("route.key")).unwrap();
        let config = send::Config {
            seat: Seat::SENDER,
            epoch: 1,
            has_fixed_lanes: false,
            many_senders: false,
            many_receivers: false,
            before: None,
            journal: None,
            overflow: None,
            plan,
            plan_key: "plan.json".to_owned(),
            prefix: String::new(),
            source: Arc::new(PosixSource::new(vec![self.transfer.source().join("")])),
            router: Arc::new(Router { transfer, key }),
            identity,
            rules: RateRules::default(),
            keepalive: Duration::from_secs(60),
            patience: send::Patience::default(),
            compress: Compress::Never,
            proof: self.transfer.verify.proof(),
        };
        let sent = send::run(config, control, &to_send).unwrap();
        (sent, receiver.join().unwrap())
    }

    fn chunk(&self, number: u64) -> Chunk {
        self.control(&Stop::new().unwrap()).chunks(&[number]).unwrap().remove(0)
    }
}

fn some_files(root: &std::path::Path) {
    std::fs::create_dir(root.join("below")).unwrap();
    std::fs::write(root.join("large"), noise(5, 10 * CHUNK as usize)).unwrap();
    for number in 0..20 {
        std::fs::write(root.join(format!("below/small-{number}")), noise(number, 5_000)).unwrap();
    }
}

#[test]
fn trouble_with_every_call_that_outlasts_the_retries_costs_no_transfer() {
    let unavailable = Fault::Status(503, "ServiceUnavailable");
    let faults = [
        ("GetObject", "manifest/", Fault::Cut),
        ("GetObject", "manifest/", unavailable),
        ("UpdateItem", "lease", Fault::Status(500, "InternalServerError")),
        ("Query", "", Fault::Status(400, "ProvisionedThroughputExceededException")),
        ("UpdateItem", ":digest", Fault::Status(400, "ProvisionedThroughputExceededException")),
        ("PutObject", "/s0/", unavailable),
        ("PutObject", "/r0/", unavailable),
        ("GetItem", "membership", unavailable),
        ("GetItem", "membership", Fault::Silence),
    ];
    let account = Account::plan(some_files);
    for (operation, part, fault) in faults {
        let times = if matches!(fault, Fault::Silence) { 2 } else { BEYOND_RETRIES };
        account.cloud.spoil(operation, part, times, fault);
    }
    let (sent, received) = account.run();
    assert!(matches!(sent, send::Outcome::Delivered(_)), "{sent:?}");
    assert_eq!((received, account.cloud.left()), (receive::Outcome::Agreed, 0));
    account.transfer.assert_same_trees();
}

#[test]
fn an_object_whose_body_breaks_off_is_read_again_as_a_whole() {
    let cloud = Cloud::start();
    cloud.put_object("listing", noise(1, 100_000));
    for range in [None, Some(10..90_000), Some(50_000..200_000)] {
        cloud.spoil("GetObject", "listing", 3, Fault::Cut);
        let wanted = range.clone().unwrap_or(0..100_000);
        let read = quick(&cloud).read_object("listing", range).unwrap();
        assert_eq!(read, noise(1, 100_000)[wanted.start as usize..100_000.min(wanted.end as usize)]);
        assert_eq!(cloud.left(), 0);
    }
}

#[test]
fn a_call_that_nobody_answers_is_given_up_and_repeated() {
    let (account, start) = (Account::plan(some_files), Instant::now());
    for (operation, times) in [("GetItem", 1), ("Query", 2), ("GetObject", 1), ("PutObject", 1), ("UpdateItem", 1)] {
        account.cloud.spoil(operation, "", times, Fault::Silence);
    }
    let control = account.control(&Stop::new().unwrap());
    assert!(!control.fenced().unwrap());
    assert_eq!(control.range_chunks(0).unwrap().len() as u64, account.transfer.plan.chunks);
    assert!(!control.read_object("plan.json", None).unwrap().is_empty());
    assert!(control.lease(0, &owner(Seat::SENDER, 1), None).unwrap());
    // Two attempts: of a body of no size, one second each.
    control.write_object("digests", vec![1; 10]).unwrap();
    assert_eq!(account.cloud.left(), 0);
    account.cloud.spoil("Query", "", usize::MAX, Fault::Silence);
    let given_up = control.range_chunks(0);
    assert!(matches!(given_up, Err(ControlError::Unavailable { .. })), "{given_up:?}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn deliveries_that_are_throttled_do_not_slow_reports() {
    let account = Account::plan(|root| {
        for number in 0..64 {
            std::fs::write(root.join(format!("file-{number:02}")), noise(number, CHUNK as usize)).unwrap();
        }
    });
    account.cloud.spoil("UpdateItem", ":digest", 3000, Fault::Status(400, "ProvisionedThroughputExceededException"));
    let control = account.control(&Stop::new().unwrap());
    let deliveries: Vec<Delivery> = account.transfer.chunks().iter().map(|chunk| delivery(chunk, 'a')).collect();
    let deliverer = Arc::clone(&control);
    let delivering = std::thread::spawn(move || while deliverer.deliver(&deliveries).is_err() {});
    let report = |sequence| {
        let before = Instant::now();
        // On a machine that has no time for it a call may be given up, as a slow one is.
        while control.write_progress(Seat::RECEIVER, &progress(sequence)).is_err() {}
        let fenced = std::iter::repeat_with(|| control.fenced()).find_map(Result::ok);
        assert_eq!(fenced, Some(false));
        let took = before.elapsed();
        std::thread::sleep(Duration::from_millis(20));
        took
    };
    let (mut throttled, mut alone) = (Vec::new(), Vec::new());
    while !delivering.is_finished() {
        throttled.push(report(throttled.len() as u64 + 1));
    }
    delivering.join().unwrap();
    // The same number of them, on the same machine and right after it.
    while alone.len() < throttled.len() {
        alone.push(report((throttled.len() + alone.len()) as u64 + 1));
    }
    throttled.sort();
    alone.sort();
    // Of many, since one may be held up by the machine. Behind what is throttled, each would wait for seconds.
    let (median, other) = (throttled[throttled.len() / 2], alone[alone.len() / 2]);
    println!("{} reports took {median:?} each beside deliveries, {other:?} without", throttled.len());
    assert!(throttled.len() > 5 && median < 3 * other, "{throttled:?} {alone:?}");
}

pub fn owner(seat: Seat, epoch: u64) -> Owner {
    Owner { seat, epoch, process: format!("{seat}-{epoch}") }
}

fn progress(sequence: u64) -> Progress {
    Progress {
        schema_version: SchemaVersion1,
        epoch: 1,
        sequence,
        bytes: 0,
        moved_bytes: 0,
        saved_bytes: 0,
        chunks: 0,
        files: 0,
        failed_chunks: 0,
        rate_mb_s: 0.0,
        at: 0.0,
        first_byte_at: None,
        in_file_system_seconds: None,
        membership_version: None,
        closed_for: None,
        has_ended: false,
        lanes: Vec::new(),
    }
}

#[test]
fn a_clock_that_is_an_hour_off_is_made_up_for() {
    for seconds in [3600, -3600] {
        let account = Account::plan(some_files);
        account.cloud.ahead(seconds);
        let control = account.control(&Stop::new().unwrap());
        assert!(!control.fenced().unwrap());
        assert!(control.lease(0, &owner(Seat::SENDER, 1), None).unwrap());
        assert!(!control.read_object("plan.json", None).unwrap().is_empty());
        control.write_object("digests", vec![1; 10]).unwrap();
    }
}

#[test]
fn what_may_pass_is_told_from_what_is_refused() {
    let cloud = Cloud::start();
    let control = quick(&cloud);
    assert!(matches!(control.read_object("nothing", None), Err(ControlError::Refused { .. })));
    cloud.spoil("GetItem", "", 1, Fault::Status(400, "AccessDeniedException"));
    assert!(matches!(control.fenced(), Err(ControlError::Refused { .. })));
    // A name server that fails: asked again by the next call.
    let mut nowhere = cloud.clone();
    "http://name.invalid:1".clone_into(&mut nowhere.endpoint);
    let error = quick(&nowhere).fenced().unwrap_err();
    assert!(matches!(error, ControlError::Unavailable { .. }) && error.may_pass(), "{error}");
}

#[test]
fn an_end_that_starts_asks_again_while_nobody_answers_and_not_when_it_is_refused() {
    let (cloud, stop) = (Cloud::start(), Stop::new().unwrap());
    let control = quick(&cloud);
    cloud.spoil("GetItem", "", BEYOND_RETRIES, Fault::Status(503, "ServiceUnavailable"));
    assert!(!until_answered(&stop, Duration::from_secs(30), || control.fenced()).unwrap());
    cloud.put_object("plan.json", vec![1; 100]);
    cloud.spoil("GetObject", "", BEYOND_RETRIES, Fault::Status(503, "SlowDown"));
    assert_eq!(quick(&cloud).with_patience(Duration::from_secs(30)).read_object("plan.json", None).unwrap().len(), 100);
    cloud.spoil("GetItem", "", 2, Fault::Status(400, "AccessDeniedException"));
    assert!(until_answered(&stop, Duration::from_secs(30), || control.fenced()).is_err());
    assert_eq!(cloud.left(), 1);
}

fn delivery(chunk: &Chunk, digit: char) -> Delivery {
    let digest = HexDigest::new(digit.to_string().repeat(64)).unwrap();
    let (chunk, attempt, path_id) = (chunk.chunk, chunk.attempt, "direct".to_owned());
    Delivery { chunk, attempt, digest, path_id, lane: 0, started_at: 1.0, delivered_at: 2.0 }
}

#[test]
fn a_delivery_that_the_table_does_not_take_counts_only_if_the_chunk_is_delivered() {
    let account = Account::plan(some_files);
    let (aws, directory) = (account.control(&Stop::new().unwrap()), Arc::clone(&account.transfer.control));
    let chunks = account.transfer.chunks();
    let put: [&dyn Fn(&Chunk); 2] = [&|chunk| put_chunk(&account.cloud, chunk), &|chunk| directory.put_chunk(chunk).unwrap()];
    let controls: [&dyn Control; 2] = [&*aws, &*directory];
    for (control, put) in controls.into_iter().zip(put) {
        let ours: Vec<Delivery> = chunks.iter().take(5).map(|chunk| delivery(chunk, 'a')).collect();
        put(&Chunk { attempt: 2, ..chunks[1].clone() });
        put(&Chunk { state: ChunkState::Failed, ..chunks[2].clone() });
        let digest = Some(HexDigest::new("b".repeat(64)).unwrap());
        // It came once more without a file that has gone since.
        put(&Chunk { state: ChunkState::Delivered, digest, ..chunks[3].clone() });
        // The answer to the first write was lost.
        put(&Chunk { state: ChunkState::Delivered, digest: Some(ours[4].digest.clone()), ..chunks[4].clone() });
        let refused = |found: Vec<Undelivered>| found.into_iter().map(|other| (other.chunk, other.why)).collect::<Vec<_>>();
        let found = refused(control.deliver(&ours).unwrap());
        let of = |chunk: u64| found.iter().find(|(number, _)| *number == chunk).map(|(_, why)| why.as_str()).unwrap_or_default();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(of(1).contains("PENDING in attempt 2") && of(2).contains("FAILED"), "{found:?}");
        assert_eq!(control.chunks(&[0]).unwrap()[0].state, ChunkState::Delivered);
        assert_eq!(refused(control.deliver(&ours[..1]).unwrap()), [], "a repeated delivery");
        let gone = Delivery { chunk: 99, ..ours[0].clone() };
        assert!(control.deliver(&[gone]).unwrap()[0].why.contains("not have it"));
    }
    // The first write's answer is lost: the repeated one finds its own.
    account.cloud.spoil("UpdateItem", ":digest", 1, Fault::Cut);
    assert_eq!(aws.deliver(&[delivery(&chunks[5], 'c')]).unwrap(), []);
    assert_eq!(account.chunk(5).state, ChunkState::Delivered);
}
