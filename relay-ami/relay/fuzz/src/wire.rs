//! What comes from sockets.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::LazyLock;

use crate::fixed_keys::{opener, sealer};
use cpt_relay::documents::text::TransferId;
use cpt_relay::secure::keys::{generate_route_key, route_public};
use cpt_relay::secure::record::DATA_BYTES;
use cpt_relay::transport::route::{Router, rate};
use cpt_relay::transport::stream::FrameReader;
use cpt_relay::wire::frame::{DATA, Frame, HEADER_BYTES, PACKED};
use cpt_relay::wire::route::{Action, MAX_HEADER_BYTES, RouteHeader, read_signed};

pub fn relay() -> SocketAddrV4 {
    SocketAddrV4::new([10, 1, 0, 9].into(), 4600)
}

/// A frame that is read is written the same again: one meaning has one form.
pub fn frame(data: &[u8]) {
    let Some((kind, payload)) = data.split_first() else { return };
    if let Ok(frame) = Frame::decode(*kind, payload) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        assert!(bytes[0] == *kind && bytes[HEADER_BYTES..] == *payload, "{frame:?}");
    }
}

/// Two ends of one connection. The buffers between them hold more than an input (`-max_len`), so that nobody waits.
fn pair() -> (TcpStream, TcpStream) {
    let (one, other) = UnixStream::pair().expect("a pair of sockets");
    (OwnedFd::from(one).into(), OwnedFd::from(other).into())
}

#[derive(Debug, PartialEq)]
enum Seen {
    Frame(Frame),
    Data(Vec<u8>),
}

/// Frames as the reader gives them, until the end or the first error.
fn read(socket: TcpStream) -> Vec<Seen> {
    let (mut reader, mut seen) = (FrameReader::new(opener(socket).expect("fixed keys")), Vec::new());
    while let Ok(Some(frame)) = reader.frame() {
        let Frame::Data(length) = frame else {
            seen.push(Seen::Frame(frame));
            continue;
        };
        let mut bytes = Vec::new();
        while bytes.len() < length {
            match reader.data(length - bytes.len()) {
                Ok([]) | Err(_) => return seen,
                Ok(more) => bytes.extend_from_slice(more),
            }
        }
        seen.push(Seen::Data(bytes));
    }
    seen
}

/// The same in ten lines, over plaintext that is all there.
fn expected(mut plain: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some((head, rest)) = plain.split_at_checked(HEADER_BYTES) {
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let Some((payload, rest)) = rest.split_at_checked(length) else { break };
        if head[0] == DATA {
            seen.push(Seen::Data(payload.to_vec()));
        } else if head[0] == PACKED {
            match zstd::bulk::decompress(payload, DATA_BYTES) {
                Ok(bytes) if !bytes.is_empty() => seen.push(Seen::Data(bytes)),
                _ => break,
            }
        } else if let Ok(frame) = Frame::decode(head[0], payload) {
            seen.push(Seen::Frame(frame));
        } else {
            break;
        }
        plain = rest;
    }
    seen
}

/// However the plaintext is cut into records (the first byte says how), the same frames come out.
pub fn stream(data: &[u8]) {
    let Some((cut, plain)) = data.split_first() else { return };
    let (here, there) = pair();
    let mut sealer = sealer(here).expect("fixed keys");
    // A socket's buffer holds about 250 small records.
    let size = usize::from(*cut).pow(2).max(1 + plain.len() / 100);
    for piece in plain.chunks(size) {
        sealer.frames().extend_from_slice(piece);
        sealer.flush().expect("room in the socket");
    }
    drop(sealer);
    assert_eq!(read(there), expected(plain));
}

/// Ciphertext that was changed, repeated, swapped or cut yields nothing that was not sealed in its place.
pub fn record(data: &[u8]) {
    let (mut here, there) = pair();
    here.write_all(data).expect("room in the socket");
    drop(here);
    let sealed: Vec<Seen> = crate::seeds::sealed_frames().into_iter().map(Seen::Frame).collect();
    let seen = read(there);
    assert!(sealed.starts_with(&seen), "{seen:?}");
}

static ROUTER: LazyLock<Router> =
    LazyLock::new(|| Router { transfer: TransferId::new("t-1").expect("an id"), key: generate_route_key().expect("a key") });

/// Unsigned bytes are refused whatever they say; signed ones have one form.
pub fn header(data: &[u8]) {
    let mut rest = data;
    if let Ok(signed) = read_signed(&mut rest) {
        assert!(signed.len() <= MAX_HEADER_BYTES && signed.len() + 2 + rest.len() == data.len());
        assert!(RouteHeader::verify(&signed, &[1; 32], &[route_public(&ROUTER.key)]).is_err(), "nobody signed this");
    }
    if let Ok(header) = RouteHeader::decode(data) {
        assert_eq!(&header.encode(), data);
        if header.transfer.len() <= 80 {
            let signed = header.sign(&[1; 32], &ROUTER.key);
            let signed = read_signed(&mut signed.as_slice()).expect("a header that fits");
            assert_eq!(RouteHeader::verify(&signed, &[1; 32], &[route_public(&ROUTER.key)]), Ok(header));
        }
    }
}

/// A relay that says anything at all.
struct Relay<'a>(&'a [u8], Vec<u8>);

impl Read for Relay<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Relay<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The sender answers a relay's challenge, and only that: one header for this relay.
pub fn exchange(data: &[u8]) {
    let mut stream = Relay(data, Vec::new());
    let status = ROUTER.exchange(&mut stream, relay(), Action::Sink { milliseconds: 1 });
    assert_eq!(status.ok(), data.get(32).copied());
    if let Some(challenge) = data.first_chunk::<32>() {
        let signed = read_signed(&mut stream.1.as_slice()).expect("a header");
        let header = RouteHeader::verify(&signed, challenge, &[route_public(&ROUTER.key)]).expect("signed over the challenge");
        assert_eq!((header.relay, header.action), (relay(), Action::Sink { milliseconds: 1 }));
    } else {
        assert!(stream.1.is_empty());
    }
    if let Some(result) = data.get(33..).and_then(|rest| rest.first_chunk()) {
        assert!(rate(result).is_ok_and(|rate| rate >= 0.0 && rate.is_finite()) || result[8..] == [0; 8]);
    }
}
