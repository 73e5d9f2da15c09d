//! What a relay does, and what it refuses.

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::time::Duration;

use cpt_relay::secure::keys::generate_route_key;
use cpt_relay::transport::route::Router;
use cpt_relay::wire::route::{Action, RouteHeader, STATUS_UNREACHABLE};

use crate::harness::{Transfer, path};
use crate::nobody::nobody;

fn transfer() -> Transfer {
    Transfer::plan(64 << 10, None, |_| {})
}

/// Everything the relay says to `answer`, until it hangs up.
fn answered(relay: SocketAddrV4, answer: impl FnOnce(&[u8; 32]) -> Vec<u8>) -> Vec<u8> {
    let mut socket = TcpStream::connect(relay).unwrap();
    let mut challenge = [0; 32];
    socket.read_exact(&mut challenge).unwrap();
    socket.write_all(&answer(&challenge)).unwrap();
    let mut rest = Vec::new();
    // A reset is as good an end.
    let _ = socket.read_to_end(&mut rest);
    rest
}

#[test]
fn only_headers_signed_for_this_challenge_are_served() {
    let transfer = transfer();
    let relay = transfer.relay();
    let header = |name: &str| RouteHeader { transfer: name.to_owned(), relay: relay.address, action: Action::Sink { milliseconds: 100 } };
    let other = RouteHeader { relay: "127.0.0.1:9".parse().unwrap(), ..header("t-1") };
    let key = &transfer.router().key;
    let another = generate_route_key().unwrap();
    assert_eq!(answered(relay.address, |_| vec![0, 80].into_iter().chain([7; 80]).collect()), b"", "unsigned");
    assert_eq!(answered(relay.address, |challenge| header("t-1").sign(challenge, &another)), b"", "another sender");
    assert_eq!(answered(relay.address, |_| header("t-1").sign(&[0; 32], key)), b"", "another challenge");
    assert_eq!(answered(relay.address, |challenge| header("t-2").sign(challenge, key)), b"", "another transfer");
    assert_eq!(answered(relay.address, |challenge| other.sign(challenge, key)), b"", "another relay");
    let refused = nobody();
    let right = RouteHeader { action: Action::Forward(refused), ..header("t-1") };
    assert_eq!(answered(relay.address, |challenge| right.sign(challenge, key)), [STATUS_UNREACHABLE], "the right one");
    assert_eq!(answered(relay.address, |_| vec![0xff; 4096]), b"", "too long");
    relay.stop.request();
    relay.join();
}

#[test]
fn an_unreachable_next_hop_is_blamed() {
    let transfer = transfer();
    let relay = transfer.relay();
    let gone = nobody();
    let error = transfer.router().open(&path("pair-0", &[relay.address, gone], gone)).unwrap_err();
    assert_eq!(error.suspect, Some(format!("node-{}", gone.port())), "{error}");
    relay.stop.request();
    relay.join();
}

#[test]
fn a_relay_measures_the_way_to_the_next() {
    let transfer = transfer();
    let (near, far) = (transfer.relay(), transfer.relay());
    let hops = path("pair-0", &[near.address, far.address], far.address).hops;
    let router: &Router = transfer.router();
    let rate = router.measure_between(&[], &hops[0], &hops[1], 200).unwrap();
    assert!(rate > 1.0, "{rate} MB/s over loopback");
    for relay in [near, far] {
        relay.stop.request();
        relay.join();
    }
}

#[test]
fn an_idle_relay_ends_itself() {
    transfer().relay_with(|config| config.idle = Duration::from_millis(100)).join();
}
