//! What a machine exchanges with a bucket through relays, which dial the store in place of a receiver.

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cpt_command_line::store_ways::StoreWays;
use cpt_ends_s3::source::BucketSource;
use cpt_relay::control::{Control, Seat};
use cpt_relay::documents::membership::Path;
use cpt_relay::rate::RateRules;
use cpt_relay::transport::door::{Behind, Door, USER};
use cpt_relay::transport::route::Router;
use cpt_relay::{receive, send};

use crate::harness::{Running, Transfer, noise, path, wait_for};
use crate::nobody::nobody;
use crate::port::s3::S3;
use crate::port::site::Site as _;

const CHUNK: u64 = 64 << 10;
const SIZE: usize = 40 * CHUNK as usize + 100;

fn store(relay: SocketAddrV4, receiver: SocketAddrV4) -> Path {
    Path { store: true, ..path("route-0-1", &[relay], receiver) }
}

/// The ways of an end, which follow the membership until the stop of `running` is wanted.
fn follow(transfer: &Transfer, site: &S3, seat: Seat, running: &Running<impl Send>) {
    let control = Arc::clone(&transfer.control) as Arc<dyn Control>;
    let (router, bucket) = (Arc::clone(transfer.router()), site.bucket().clone());
    let ways = StoreWays { transfer: transfer.id.clone(), seat, epoch: 1, bucket, router, rules: RateRules::default(), control };
    ways.follow(&running.stop).unwrap();
    wait_for("the way", || (site.bucket().ways().count() == 1).then_some(()));
}

fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![("large", noise(1, SIZE)), ("small", noise(2, 5_000))]
}

fn assert_delivered(sender: Running<send::Outcome>, receiver: Running<receive::Outcome>) {
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
}

fn to_bucket(site: &S3) -> Transfer {
    let fill = |root: &std::path::Path| files().iter().for_each(|(name, bytes)| std::fs::write(root.join(name), bytes).unwrap());
    Transfer::plan(CHUNK, Some(5), fill).to(site.end.clone())
}

/// Everything goes to a bucket on one path to its store; `is_strict`: which S3 refuses to whoever comes by a relay.
fn put(is_strict: bool) -> S3 {
    let site = S3::new();
    site.service.state().is_strict = is_strict;
    deliver(&site, Seat::RECEIVER, &mut to_bucket(&site));
    files().iter().for_each(|(name, bytes)| assert_eq!(site.stored(name).as_ref(), Some(bytes), "{name}"));
    assert!(site.is_tidy(), "{:?}", site.keys());
    site
}

/// Everything comes from a bucket so.
fn read(is_strict: bool) -> S3 {
    let site = S3::new();
    files().iter().for_each(|(name, bytes)| site.put(name, bytes));
    site.service.state().is_strict = is_strict;
    let mut transfer = Transfer::of(CHUNK, Some(5), Arc::new(BucketSource::new(site.bucket().clone())));
    deliver(&site, Seat::SENDER, &mut transfer);
    files().iter().for_each(|(name, bytes)| assert_eq!(std::fs::read(transfer.destination().join(name)).unwrap(), *bytes, "{name}"));
    site
}

/// By one path, whose ways this end has.
fn deliver(site: &S3, beside: Seat, transfer: &mut Transfer) {
    let (relay, receiver) = (transfer.relay(), transfer.receive());
    transfer.members(vec![store(relay.address, receiver.address)]);
    follow(transfer, site, beside, &receiver);
    let sender = transfer.send(None);
    assert_delivered(sender, receiver);
    relay.stop.request();
    relay.join();
}

#[test]
fn what_comes_on_a_path_to_a_store_is_put_through_its_relay_and_the_rest_directly() {
    let (directly, through) = put(false).moved();
    assert!(through >= SIZE + 5_000, "{through} bytes through the relay");
    assert!(directly < SIZE / 10, "{directly} bytes of notes and listings");
}

#[test]
fn what_is_read_for_a_path_to_a_store_comes_through_its_relay() {
    let (_, through) = read(false).moved();
    assert!(through >= SIZE, "{through} bytes through the relay");
}

#[test]
fn what_s3_refuses_a_relay_alone_is_put_directly() {
    let (directly, _) = put(true).moved();
    assert!(directly >= SIZE, "{directly} bytes directly");
}

#[test]
fn what_s3_refuses_a_relay_alone_is_read_directly_and_no_file_is_left_out() {
    let (directly, _) = read(true).moved();
    assert!(directly >= SIZE, "{directly} bytes directly");
}

/// A path whose relay is gone: nothing is lost, and that is told once.
#[test]
fn without_its_relay_a_path_to_a_store_goes_on_directly_and_the_relay_is_told_of() {
    let site = S3::new();
    let mut transfer = to_bucket(&site);
    let receiver = transfer.receive();
    let gone = nobody();
    transfer.members(vec![path("direct", &[], receiver.address), store(gone, receiver.address)]);
    follow(&transfer, &site, Seat::RECEIVER, &receiver);
    let sender = transfer.send(Some(1));
    let events = transfer.source().with_file_name("control").join("events.ndjson");
    // A line that has not been written whole is none.
    let told = wait_for("the relay's loss", || std::fs::read_to_string(&events).ok().filter(|told| told.ends_with('\n')));
    transfer.limit(None);
    assert_delivered(sender, receiver);
    files().iter().for_each(|(name, bytes)| assert_eq!(site.stored(name).as_ref(), Some(bytes), "{name}"));
    assert!(site.is_tidy(), "{:?}", site.keys());
    let lost = format!("node-{}", gone.port());
    assert!(told.lines().count() == 1 && told.contains("Relay Lost") && told.contains(&lost), "{told}");
}

/// Answers what it is told, once.
fn echo() -> SocketAddrV4 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string().parse().unwrap();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut word = [0; 4];
            let _ = socket.read_exact(&mut word).and_then(|()| socket.write_all(&word));
        }
    });
    address
}

fn door(router: &Arc<Router>, relay: SocketAddrV4, told: &Arc<Mutex<Vec<Option<String>>>>) -> Door {
    let (hops, told) = (store(relay, relay).hops, Arc::clone(told));
    let told = Box::new(move |opened: Result<(), &_>| {
        let lost = opened.err().map(|error: &cpt_relay::transport::route::RouteError| error.suspect.clone().unwrap_or_default());
        told.lock().unwrap().push(lost);
    });
    Door::open(Behind { router: Arc::clone(router), hops, rules: RateRules::default(), only: None, told }).unwrap()
}

/// What the door answers to a request, and the stream behind it.
fn ask(door: &Door, request: &str) -> (String, TcpStream) {
    let mut socket = TcpStream::connect(door.address).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    (String::from_utf8(head).unwrap().lines().next().unwrap_or_default().to_owned(), socket)
}

#[test]
fn a_door_leads_through_a_relay_for_whoever_has_its_secret() {
    let transfer = Transfer::plan(CHUNK, None, |_| {});
    let (relay, there, told) = (transfer.relay(), echo(), Arc::default());
    let door = door(transfer.router(), relay.address, &told);
    let secret = STANDARD.encode(format!("{USER}:{}", door.secret));
    let other = STANDARD.encode(format!("{USER}:{}", "0".repeat(door.secret.len())));
    let connect = |to: SocketAddrV4, words: &str| format!("CONNECT {to} HTTP/1.1\r\nhost: {to}\r\n{words}\r\n");
    let (answer, mut stream) = ask(&door, &connect(there, &format!("Proxy-Authorization: Basic {secret}\r\n")));
    assert_eq!(answer, "HTTP/1.1 200 OK");
    stream.write_all(b"word").unwrap();
    let mut word = [0; 4];
    stream.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"word");
    for words in [String::new(), format!("proxy-authorization: Basic {other}\r\n"), format!("proxy-authorization: {secret}\r\n")] {
        assert_eq!(ask(&door, &connect(there, &words)).0, "HTTP/1.1 407 Proxy Authentication Required", "{words}");
    }
    assert_eq!(ask(&door, "GET / HTTP/1.1\r\n\r\n").0, "", "it is a proxy for nothing else");
    assert_eq!(ask(&door, &"x".repeat(5_000)).0, "");
    let gone = nobody();
    let allowed = format!("proxy-authorization: Basic {secret}\r\n");
    assert_eq!(ask(&door, &connect(gone, &allowed)).0, "HTTP/1.1 502 Bad Gateway");
    assert_eq!(*told.lock().unwrap(), [None, Some(String::new())], "the relay did its part");
    let lost = format!("node-{}", relay.address.port());
    relay.stop.request();
    relay.join();
    assert_eq!(ask(&door, &connect(there, &allowed)).0, "HTTP/1.1 502 Bad Gateway");
    assert_eq!(told.lock().unwrap().last(), Some(&Some(lost)));
}
