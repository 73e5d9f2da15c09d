//! What somebody who can reach a port, and has no key, can do there: next to nothing, and not for long.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use cpt_relay::send;
use cpt_relay::sockets::acceptor::Limits;
use cpt_relay::wire::route::MAX_HEADER_BYTES;

use crate::harness::{Running, Transfer, path, wait_for};

const TIME: Duration = Duration::from_millis(600);
const TIGHT: Limits = Limits { unauthenticated: 6, per_address: 4, time: TIME };
const PAUSE: Duration = Duration::from_millis(20);

fn transfer() -> Transfer {
    Transfer::plan(64 << 10, None, |root| std::fs::write(root.join("file"), b"content").unwrap())
}

fn relay(transfer: &Transfer, limits: Limits) -> Running<()> {
    transfer.relay_with(|config| config.limits = limits)
}

/// A connection from an address of the attacker's own.
fn come_from(last: u8, to: SocketAddrV4) -> TcpStream {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let fd = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&fd, &SocketAddrV4::new(Ipv4Addr::new(127, 66, 6, last), 0)).unwrap();
    connect(&fd, &to).unwrap();
    fd.into()
}

/// Sends a byte now and then until it is hung up on; how many went, and how long it took.
fn drip(mut socket: TcpStream) -> (usize, Duration) {
    let (start, mut sent) = (Instant::now(), 0);
    socket.set_read_timeout(Some(PAUSE)).unwrap();
    let hung_up = |mut socket: &TcpStream| match socket.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    };
    while !hung_up(&socket) && socket.write_all(b"\0").is_ok() {
        sent += 1;
    }
    (sent, start.elapsed())
}

/// What it is told before it is hung up on.
fn told(mut socket: &TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let _ = socket.read_to_end(&mut all);
    all
}

#[test]
fn a_route_header_that_drips_is_cut_at_the_deadline() {
    let transfer = transfer();
    let relay = relay(&transfer, TIGHT);
    let mut socket = TcpStream::connect(relay.address).unwrap();
    socket.read_exact(&mut [0; 32]).unwrap();
    socket.write_all(&(MAX_HEADER_BYTES as u16).to_be_bytes()).unwrap();
    let (sent, time) = drip(socket);
    // A whole header would have been refused for its signature.
    assert!(sent < MAX_HEADER_BYTES && time > TIME / 2, "{sent} bytes in {time:?}");
    relay.stop.request();
    relay.join();
}

#[test]
fn a_handshake_that_drips_is_cut_at_the_deadline() {
    let transfer = transfer();
    let receiver = transfer.receive_within(TIGHT);
    let mut socket = TcpStream::connect(receiver.address).unwrap();
    socket.write_all(&[22, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb]).unwrap();
    let (sent, time) = drip(socket);
    assert!(sent < 0x3fff - 4 && time > TIME / 2, "{sent} bytes in {time:?}");
    receiver.stop.request();
    receiver.join();
}

#[test]
fn nothing_but_a_tls_alert_comes_from_a_receiver_before_the_handshake() {
    let transfer = transfer();
    let receiver = transfer.receive_within(TIGHT);
    let silent = TcpStream::connect(receiver.address).unwrap();
    let mut loud = TcpStream::connect(receiver.address).unwrap();
    loud.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(told(&silent), b"");
    let answer = told(&loud);
    assert!(answer.is_empty() || (answer.len() == 7 && answer[0] == 21), "{answer:?}");
    receiver.stop.request();
    receiver.join();
}

/// Holds all places that unauthenticated connections may have; one more of either kind is refused.
fn crowd(at: SocketAddrV4) -> Vec<TcpStream> {
    let mut held: Vec<TcpStream> = (0..TIGHT.per_address).map(|_| come_from(1, at)).collect();
    assert_eq!(told(&come_from(1, at)), b"", "one more of the same address");
    held.extend((TIGHT.per_address..TIGHT.unauthenticated).map(|_| come_from(2, at)));
    assert_eq!(told(&come_from(3, at)), b"", "one more of all");
    held
}

#[test]
fn a_relay_full_of_strangers_serves_the_sender_once_their_time_is_up() {
    let transfer = transfer();
    let relay = relay(&transfer, TIGHT);
    let hop = path("pair-0", &[relay.address], relay.address).hops.remove(0);
    let send = |mut socket: TcpStream| {
        socket.write_all(b"some")?;
        std::thread::sleep(PAUSE);
        socket.write_all(b"more")?;
        socket.shutdown(Shutdown::Write)
    };
    let measure = || transfer.router().measure_to(&hop, 1000, send);
    let held = crowd(relay.address);
    measure().expect_err("served though all places are taken");
    wait_for("a place", || measure().ok());
    assert!(held.iter().all(|socket| told(socket).len() == 32), "an unauthenticated peer was told more than the challenge");
    relay.stop.request();
    relay.join();
}

#[test]
fn a_receiver_full_of_strangers_serves_the_sender_once_their_time_is_up() {
    let mut transfer = transfer();
    let receiver = transfer.receive_within(TIGHT);
    let held = crowd(receiver.address);
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    transfer.assert_same_trees();
    assert!(held.iter().all(|socket| told(socket).is_empty()), "an unauthenticated peer was told something");
}

#[test]
fn one_address_full_of_strangers_does_not_keep_others_out() {
    let mut transfer = transfer();
    let patient = Limits { unauthenticated: 2 * TIGHT.unauthenticated, time: Duration::from_secs(600), ..TIGHT };
    let (receiver, relay) = (transfer.receive_within(patient), relay(&transfer, patient));
    let crowd = |at| (0..patient.unauthenticated).map(move |_| come_from(1, at));
    let held: Vec<TcpStream> = crowd(receiver.address).chain(crowd(relay.address)).collect();
    transfer.members(vec![path("pair-0", &[relay.address], receiver.address)]);
    let outcome = transfer.send(None).join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    drop(held);
    relay.stop.request();
    relay.join();
}

/// Holds an address that the sender dials and passes all on to a relay: NAT, or somebody in the middle.
struct Middle(TcpListener);

impl Middle {
    fn new() -> Self {
        Self(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
    }

    fn address(&self) -> SocketAddrV4 {
        let SocketAddr::V4(address) = self.0.local_addr().unwrap() else { panic!("not IPv4") };
        address
    }

    fn pass_on_to(self, relay: SocketAddrV4) {
        std::thread::spawn(move || {
            let (client, server) = (self.0.accept().unwrap().0, TcpStream::connect(relay).unwrap());
            let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = (std::io::copy(&mut from, &mut to), to.shutdown(Shutdown::Both));
            });
            let _ = (std::io::copy(&mut &client, &mut &server), server.shutdown(Shutdown::Both));
        });
    }
}

#[test]
fn a_challenge_that_is_passed_on_from_another_relay_opens_no_stream() {
    let transfer = transfer();
    let (relay, middle, next) = (transfer.relay(), Middle::new(), Middle::new());
    let route = path("pair-0", &[middle.address()], next.address());
    middle.pass_on_to(relay.address);
    let error = transfer.router().open(&route).unwrap_err();
    assert_eq!(error.suspect, Some(route.hops[0].node_id.clone()), "{error}");
    next.0.set_nonblocking(true).unwrap();
    assert!(next.0.accept().is_err(), "the relay dialled on");
    relay.stop.request();
    relay.join();
}

#[test]
fn a_relay_behind_nat_serves_headers_for_the_address_that_it_was_told() {
    let transfer = transfer();
    let (nat, next) = (Middle::new(), Middle::new());
    let route = path("pair-0", &[nat.address()], next.address());
    let relay = transfer.relay_with(|config| config.known_as = vec![nat.address()]);
    nat.pass_on_to(relay.address);
    let stream = transfer.router().open(&route).unwrap();
    next.0.accept().unwrap();
    drop(stream);
    relay.stop.request();
    relay.join();
}
