//! What goes wrong, and how it is found and repaired.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cpt_relay::deadline::Deadline;
use cpt_relay::documents::chunk::{Chunk, ChunkState};
use cpt_relay::rate::RateRules;
use cpt_relay::secure::handshake;
use cpt_relay::secure::keys::Identity;
use cpt_relay::secure::outlet::Outlet;
use cpt_relay::secure::record::PLAIN_BYTES;
use cpt_relay::{receive, send};

use crate::harness::{Transfer, noise, path, wait_for};

const CHUNK: u64 = 64 << 10;

fn one_large_file(root: &std::path::Path) {
    std::fs::write(root.join("large"), noise(5, 10 * CHUNK as usize)).unwrap();
}

/// Passes streams on to `next`; in those that begin while `bends` it flips one bit of what the sender sends,
/// 5 000 bytes on: behind the handshake, in the first chunk, so that a bent stream never gets an acknowledgement.
pub fn bending_hop(next: SocketAddrV4, bends: &Arc<AtomicBool>) -> SocketAddrV4 {
    let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("not IPv4") };
    let bends = Arc::clone(bends);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(next).unwrap());
            let bent = bends.load(Ordering::SeqCst);
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || pass(&from, &to, bent.then_some(5_000)));
            std::thread::spawn(move || pass(&server, &client, None));
        }
    });
    address
}

fn pass(mut from: &TcpStream, mut to: &TcpStream, flip_at: Option<usize>) {
    let (mut buffer, mut seen) = (vec![0; 8192], 0);
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 {
            break;
        }
        if let Some(at) = flip_at.and_then(|at| at.checked_sub(seen)).filter(|at| *at < count) {
            buffer[at] ^= 0x10;
        }
        seen += count;
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = (to.shutdown(Shutdown::Write), from.shutdown(Shutdown::Read));
}

#[test]
fn a_flipped_bit_breaks_the_stream_and_the_chunk_is_sent_again() {
    let mut transfer = Transfer::plan(CHUNK, Some(3), one_large_file);
    let receiver = transfer.receive();
    let bends = Arc::new(AtomicBool::new(true));
    transfer.members(vec![path("direct", &[], bending_hop(receiver.address, &bends))]);
    let sender = transfer.send(None);
    // What comes again within seconds is part of the same attempt.
    wait_for("a chunk that failed", || (!transfer.events().is_empty()).then_some(()));
    bends.store(false, Ordering::SeqCst);
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    transfer.assert_same_trees();
    let failed = transfer.events().into_iter().find(|event| event["type"] == "Chunk Failed").expect("an event");
    assert_eq!(failed["reason"], "stream-lost");
    let item = transfer.chunks().into_iter().find(|item| item.chunk == failed["chunk"]).unwrap();
    assert!(item.attempt >= 2 && item.state == ChunkState::Delivered, "{item:?}");
}

#[test]
fn a_failed_chunk_comes_back_only_through_the_table() {
    let mut transfer = Transfer::plan(CHUNK, None, one_large_file);
    let receiver = transfer.receive();
    let bends = Arc::new(AtomicBool::new(true));
    transfer.members(vec![path("direct", &[], bending_hop(receiver.address, &bends))]);
    let sender = transfer.send(None);
    // Nobody decides, so the first attempts stay noted in the table until the test plays the retry policy.
    let undecided = || -> Vec<Chunk> {
        let failed = |item: &Chunk| item.state == ChunkState::Pending && item.failed_attempt == Some(item.attempt);
        transfer.chunks().into_iter().filter(failed).collect()
    };
    wait_for("failed chunk", || (!undecided().is_empty()).then_some(()));
    bends.store(false, Ordering::SeqCst);
    wait_for("end of the others", || {
        let settled = |item: &Chunk| item.state == ChunkState::Delivered || item.failed_attempt == Some(item.attempt);
        transfer.chunks().iter().all(settled).then_some(())
    });
    let failed = undecided();
    assert!(!failed.is_empty(), "a chunk came back by itself");
    let told = || {
        let of = |event: &serde_json::Value| event["chunk"] == failed[0].chunk && event["attempt"] == failed[0].attempt;
        transfer.events().iter().filter(|event| of(event)).count()
    };
    wait_for("event that is put again", || (told() >= 2).then_some(()));
    // A stream that is still to be bent may break a second attempt too.
    wait_for("end", || {
        for item in undecided() {
            transfer.control.put_chunk(&Chunk { attempt: item.attempt + 1, reason: None, ..item }).unwrap();
        }
        sender.is_finished().then_some(())
    });
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    transfer.assert_same_trees();
    for item in failed {
        assert!(transfer.chunks()[item.chunk as usize].attempt >= 2);
    }
}

#[test]
fn a_stranger_gets_no_stream_from_the_receiver() {
    let transfer = Transfer::plan(CHUNK, None, one_large_file);
    let receiver = transfer.receive();
    let socket = TcpStream::connect(receiver.address).unwrap();
    let unauthenticated = Identity::generate().unwrap();
    let outlet = Outlet::new(socket, &RateRules::default(), None);
    let stream = handshake::connect(outlet, &unauthenticated, Arc::new(|_| true), Deadline::after(Duration::from_secs(10)));
    // The client is done before the server has judged its key; the refusal comes with the first read.
    if let Ok((_sealer, mut opener)) = stream {
        assert_eq!(opener.read(&mut vec![0; PLAIN_BYTES]).unwrap_or(0), 0, "an unauthenticated peer was served");
    }
    receiver.stop.request();
    assert_eq!(receiver.join(), receive::Outcome::Stopped);
}

#[test]
fn a_stopped_sender_leaves_the_rest_pending() {
    let mut transfer = Transfer::plan(CHUNK, None, one_large_file);
    let receiver = transfer.receive();
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(Some(1));
    wait_for("first chunk", || transfer.chunks().iter().any(|item| item.state == ChunkState::Delivered).then_some(()));
    sender.stop.request();
    assert_eq!(sender.join(), send::Outcome::Stopped);
    assert!(transfer.chunks().iter().any(|item| item.state == ChunkState::Pending));
    assert!(!transfer.destination().join("large").exists());
    receiver.stop.request();
    receiver.join();
}
