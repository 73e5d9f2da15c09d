//! The record as a closure that the test holds up.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

const INTERVAL: Duration = Duration::from_millis(50);
/// A hang shall fail, a slow machine shall not.
const PATIENCE: Duration = Duration::from_secs(60);

fn record(key: &[u8]) -> KeyRecord {
    KeyRecord { epoch: 1, tls_public_key: to_text(key), route_public_key: None, address: None }
}

/// Each read is announced and held up until the test answers it.
fn held_up() -> (impl Fn() -> control::Result<Vec<KeyRecord>> + Send + Sync, Receiver<Sender<KeyRecord>>) {
    let (announce, announced) = channel::<Sender<KeyRecord>>();
    let announce = Mutex::new(announce);
    let read = move || {
        let (answer, answered) = channel();
        let _ = lock(&announce).send(answer);
        Ok(answered.recv().ok().into_iter().collect())
    };
    (read, announced)
}

fn asked<T: Send + 'static>(ask: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (tell, told) = channel();
    std::thread::spawn(move || tell.send(ask()));
    told
}

#[test]
fn a_known_peer_does_not_wait_for_the_read_that_a_stranger_caused() {
    let (read, reads) = held_up();
    let peer = Arc::new(Peer::new(read, INTERVAL, PATIENCE));
    let ask = |key: &'static [u8]| {
        let peer = Arc::clone(&peer);
        asked(move || peer.accepts(key))
    };
    let known = ask(b"known");
    reads.recv_timeout(PATIENCE).unwrap().send(record(b"known")).unwrap();
    assert_eq!(known.recv_timeout(PATIENCE), Ok(true));
    let stranger = ask(b"stranger");
    let read = reads.recv_timeout(PATIENCE).unwrap();
    assert_eq!(ask(b"known").recv_timeout(PATIENCE / 2), Ok(true), "while the control plane does not answer");
    assert!(stranger.try_recv().is_err(), "judged before the record was read");
    read.send(record(b"known")).unwrap();
    assert_eq!(stranger.recv_timeout(PATIENCE), Ok(false));
}

#[test]
fn who_comes_while_the_record_is_read_waits_for_the_next_read() {
    let (read, reads) = held_up();
    let peer = Arc::new(Peer::new(read, INTERVAL, PATIENCE));
    let ask = |key: &'static [u8]| {
        let peer = Arc::clone(&peer);
        asked(move || peer.accepts(key))
    };
    let first = ask(b"old");
    let began_before = reads.recv_timeout(PATIENCE).unwrap();
    // The peer starts anew and comes at once; what is being read may be its old record. Should its thread begin only after
    // that read has ended, the answers are the same.
    let anew = ask(b"new");
    began_before.send(record(b"old")).unwrap();
    assert_eq!(first.recv_timeout(PATIENCE), Ok(true));
    reads.recv_timeout(PATIENCE).unwrap().send(record(b"new")).unwrap();
    assert_eq!(anew.recv_timeout(PATIENCE), Ok(true));
    assert!(peer.accepts(b"new"), "without a further read");
}

#[test]
fn many_strangers_cause_one_read_an_interval() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let read = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(vec![record(b"known")])
    };
    let peer = Arc::new(Peer::new(read, INTERVAL, PATIENCE));
    let start = Instant::now();
    let unauthenticated: Vec<_> = (0..32)
        .map(|_| {
            let peer = Arc::clone(&peer);
            asked(move || (0..3).any(|_| peer.accepts(b"stranger")))
        })
        .collect();
    assert!(unauthenticated.iter().all(|unauthenticated| unauthenticated.recv_timeout(PATIENCE) == Ok(false)));
    let most = 1 + start.elapsed().as_millis() / INTERVAL.as_millis();
    assert!(count.load(Ordering::SeqCst) as u128 <= most, "{count:?} reads, at most {most} were due");
}

#[test]
fn who_waits_for_a_control_plane_that_is_silent_gives_up() {
    let (read, reads) = held_up();
    let peer = Arc::new(Peer::new(read, INTERVAL, INTERVAL));
    let reader = Arc::clone(&peer);
    let first = asked(move || reader.accepts(b"first"));
    let read = reads.recv_timeout(PATIENCE).unwrap();
    assert!(!peer.accepts(b"second"));
    drop(read);
    assert_eq!(first.recv_timeout(PATIENCE), Ok(false));
}

#[test]
fn a_read_that_panics_does_not_end_all_reading() {
    let count = AtomicUsize::new(0);
    let read = || {
        assert!(count.fetch_add(1, Ordering::SeqCst) > 0, "the first read");
        Ok(vec![record(b"known")])
    };
    let peer = Peer::new(read, INTERVAL, PATIENCE);
    assert!(!peer.accepts(b"known"));
    assert!(peer.accepts(b"known"));
}
