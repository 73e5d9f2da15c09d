//! The bytes of records, sealed with fixed keys (checked once against another implementation of ChaCha20-Poly1305).

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use cpt_relay::deadline::Deadline;
use cpt_relay::rate::RateRules;
use cpt_relay::secure::keys::Identity;
use cpt_relay::secure::outlet::Outlet;
use cpt_relay::secure::{SecureError, handshake};
use cpt_relay::transport::stream::{FrameReader, StreamError};
use cpt_relay::wire::frame::Frame;

use crate::fixed_keys::{opener, sealer};

/// Two ends of one connection, without ports.
fn pair() -> (TcpStream, TcpStream) {
    let (one, other) = UnixStream::pair().unwrap();
    (OwnedFd::from(one).into(), OwnedFd::from(other).into())
}

fn frames() -> [Frame; 2] {
    [Frame::Ack { chunk: 1, attempt: 2 }, Frame::Alive { is_busy: true }]
}

/// Two records and the end of the stream.
fn sealed() -> Vec<u8> {
    let (here, mut there) = pair();
    let mut sealer = sealer(here).unwrap();
    for frame in frames() {
        frame.encode(sealer.frames());
        sealer.flush().unwrap();
    }
    sealer.close().unwrap();
    drop(sealer);
    let mut bytes = Vec::new();
    there.read_to_end(&mut bytes).unwrap();
    bytes
}

/// The frames that are read from these bytes, and how it ends.
fn opened(bytes: &[u8]) -> (Vec<Frame>, Result<(), StreamError>) {
    let (mut here, there) = pair();
    here.write_all(bytes).unwrap();
    drop(here);
    let (mut reader, mut read) = (FrameReader::new(opener(there).unwrap()), Vec::new());
    loop {
        match reader.frame() {
            Ok(Some(frame)) => read.push(frame),
            Ok(None) => return (read, Ok(())),
            Err(error) => return (read, Err(error)),
        }
    }
}

const GOLDEN: [&str; 3] = [
    "17030300227e79fbd7e80e85a5dd680e38c1e7a4d17c19969230882df6c3a858317fbde827a14b",
    "170303001744befbd8000072da60f12649ada907d511686df0896f59",
    "170303001321add015868380aa6e7997c8a36f0f7d52cbb4",
];

#[test]
fn golden_records_both_ways() {
    let text: String = sealed().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(text, GOLDEN.concat());
    let (read, end) = opened(&sealed());
    assert_eq!(read, frames());
    assert!(end.is_ok(), "{end:?}");
}

#[test]
fn a_record_that_is_bent_repeated_swapped_or_cut_ends_the_stream() {
    let bytes = sealed();
    let (first, second) = (GOLDEN[0].len() / 2, (GOLDEN[0].len() + GOLDEN[1].len()) / 2);
    for at in 0..bytes.len() {
        let mut bent = bytes.clone();
        bent[at] ^= 0x40;
        let (read, end) = opened(&bent);
        assert!(end.is_err() && frames().starts_with(&read), "byte {at}: {read:?}, {end:?}");
    }
    let (one, two, three) = (&bytes[..first], &bytes[first..second], &bytes[second..]);
    for (what, bytes) in
        [("repeated", [one, one, two, three].concat()), ("swapped", [two, one, three].concat()), ("left out", [two, three].concat())]
    {
        let (read, end) = opened(&bytes);
        assert!(matches!(end, Err(StreamError::Secure(SecureError::Forged))) && read.len() < 2, "{what}: {read:?}, {end:?}");
    }
    let (_, end) = opened(&bytes[..first + 3]);
    assert!(matches!(end, Err(StreamError::Secure(SecureError::Truncated))), "{end:?}");
}

#[test]
fn an_ordinary_tls_1_3_server_reads_and_answers_our_records() {
    let (here, there) = pair();
    let (sender, receiver) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let (sender_key, receiver_key) = (sender.public().to_vec(), receiver.public().to_vec());
    let config = handshake::server_config(&receiver, Arc::new(move |key: &[u8]| key == sender_key)).unwrap();
    let bytes: Vec<u8> = (0..40_000u32).map(|number| number as u8).collect();
    let server = std::thread::spawn({
        let mut bytes = vec![0; bytes.len()];
        move || {
            // rustls seals and opens these records itself.
            let mut stream = StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), there);
            stream.read_exact(&mut bytes).unwrap();
            let mut answer = Vec::new();
            frames().iter().for_each(|frame| frame.encode(&mut answer));
            stream.write_all(&answer).unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
            // Our close is understood as the end of the stream.
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
            bytes
        }
    });
    let (outlet, deadline) = (Outlet::new(here, &RateRules::default(), None), Deadline::after(Duration::from_secs(60)));
    let (mut sealer, opener) = handshake::connect(outlet, &sender, Arc::new(move |key: &[u8]| key == receiver_key), deadline).unwrap();
    sealer.write(&bytes).unwrap();
    sealer.flush().unwrap();
    let mut reader = FrameReader::new(opener);
    assert_eq!(frames().map(|_| reader.expect().unwrap()), frames());
    assert!(matches!(reader.frame(), Ok(None)), "its close is understood too");
    sealer.close().unwrap();
    assert_eq!(server.join().unwrap(), bytes);
}
