//! Paths that fall silent while others do not: nobody waits for them, and nothing fails because of them.

use std::io::{Read, Write};
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::park;

use cpt_relay::send;
use serde_json::Value;

use crate::harness::{Running, Transfer, noise, path, sent_once};

const CHUNK: u64 = 64 << 10;

fn two_megabytes(root: &std::path::Path) {
    std::fs::write(root.join("large"), noise(11, 2_000_000)).unwrap();
}

/// A relay that freezes once so many bytes have come from the sender: it still accepts connections, as a kernel does for a process
/// that was halted, and passes nothing on any more, in either direction.
fn freezing_relay(transfer: &Transfer, after: usize) -> (SocketAddrV4, Running<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("not IPv4") };
    let relay = transfer.relay_with(|config| config.known_as = vec![address]);
    let (next, seen) = (relay.address, Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(next).unwrap());
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (forth, back) = (Arc::clone(&seen), Arc::clone(&seen));
            std::thread::spawn(move || pass(&from, &to, after, |count| forth.fetch_add(count, Ordering::SeqCst)));
            std::thread::spawn(move || pass(&server, &client, after, |_| back.load(Ordering::SeqCst)));
        }
    });
    (address, relay)
}

fn pass(mut from: &TcpStream, mut to: &TcpStream, after: usize, seen: impl Fn(usize) -> usize) {
    let mut buffer = vec![0; 8192];
    while let Ok(count) = from.read(&mut buffer) {
        while seen(count) >= after {
            park();
        }
        if count == 0 || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
}

fn of_kind(transfer: &Transfer, kind: &str) -> Vec<Value> {
    transfer.events().into_iter().filter(|event| event["type"] == kind).collect()
}

/// Runs of which a disk that is busy for ten seconds may spoil one: the relay is lost before what was sent in time is synced, and what the
/// relay had then is sent because of that.
const TRIES: usize = 3;

/// A transfer of which a relay freezes at the end: bytes that were sent again for another reason than that nobody waits for a lane.
fn resent_by_the_loss_of_a_frozen_relay() -> u64 {
    let mut transfer = Transfer::plan(CHUNK, None, two_megabytes);
    let receiver = transfer.receive();
    let (frozen, _relay) = freezing_relay(&transfer, 200_000);
    transfer.members(vec![path("direct", &[], receiver.address), path("pair-0", &[frozen], receiver.address)]);
    // 2 s at this rate, so that both paths carry something.
    let outcome = transfer.send(Some(8)).join();
    let send::Outcome::Delivered(totals) = outcome else { panic!("{outcome:?}") };
    receiver.join();
    transfer.assert_same_trees();
    assert_eq!(of_kind(&transfer, "Chunk Failed"), Vec::<Value>::new());
    assert!(transfer.chunks().iter().all(|chunk| chunk.attempt == 1));
    assert!(totals.hedged_bytes > 0, "something was under way on the frozen path, and went out by another one");
    sent_once(&totals).saturating_sub(totals.bytes)
}

#[test]
fn what_a_frozen_relay_has_at_the_end_is_sent_by_another_path_and_not_because_the_relay_is_lost() {
    let is_on_time = (0..TRIES).any(|_| resent_by_the_loss_of_a_frozen_relay() == 0);
    assert!(is_on_time, "bytes were sent again each time because the relay was lost: somebody waits for that");
}

#[test]
fn a_frozen_relay_is_named_while_data_moves_on_other_paths_and_costs_no_chunk_an_attempt() {
    let mut transfer = Transfer::plan(CHUNK, Some(5), two_megabytes);
    let receiver = transfer.receive();
    let (frozen, _relay) = freezing_relay(&transfer, 200_000);
    transfer.members(vec![path("direct", &[], receiver.address), path("pair-0", &[frozen], receiver.address)]);
    // 16 s at this rate, of which the relay takes ten to be lost.
    let sender = transfer.send(Some(1));
    let lost = transfer.wait_for_event("Relay Lost");
    assert_eq!((lost["pathId"].as_str(), lost["nodeId"].as_str()), (Some("pair-0"), Some(&*format!("node-{}", frozen.port()))));
    transfer.limit(None);
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    transfer.assert_same_trees();
    assert_eq!(of_kind(&transfer, "Chunk Failed"), Vec::<Value>::new());
    assert!(transfer.chunks().iter().all(|chunk| chunk.attempt == 1));
}
