//! A hop on the way that does harm: it passes TLS records on, and one of them not as it came.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::harness::PATIENCE;
use crate::tally::Random;

const HEADER: usize = 5;
const APPLICATION: u8 = 23;
static HOPS: AtomicU16 = AtomicU16::new(1);
/// What a recorded stream must hold before it is played again: handshake and chunks.
const RECORDED: usize = 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Forth,
    Back,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    Flip,
    Truncate,
    Reset,
    Duplicate,
    /// Two ranges change places.
    Reorder,
    /// A range is left out.
    Omit,
    /// Another connection's bytes come instead.
    Replay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub harm: Harm,
    pub direction: Direction,
    /// Which encrypted record of the stream, from 0.
    pub record: usize,
    /// Where in the record, as a share of it in 1/65536.
    pub place: u16,
}

impl Fault {
    /// Records that every stream is sure to have: of the handshake, the greeting, and forth those of a chunk.
    pub fn draw(harm: Harm, direction: Direction, random: &mut Random) -> Self {
        let (direction, record) = match (harm, direction) {
            // Data must follow: who waits for what was left out would wait for its deadline.
            (Harm::Omit, _) => (Direction::Forth, 4 + random.index(3)),
            (_, Direction::Forth) => (direction, random.index(7)),
            (_, Direction::Back) => (direction, random.index(2)),
        };
        Self { harm, direction, record, place: u16::try_from(random.below(1 << 16)).unwrap() }
    }
}

/// What was done to one connection.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub fault: Fault,
    /// How the next hop knows the connection.
    pub peer: SocketAddr,
}

/// A connection whose bytes are kept to be played again.
#[derive(Default)]
pub struct Recording {
    streams: Mutex<[Vec<u8>; 2]>,
    grown: Condvar,
}

impl Recording {
    fn keep(&self, direction: Direction, bytes: &[u8]) {
        self.streams.lock().unwrap()[direction as usize].extend_from_slice(bytes);
        self.grown.notify_all();
    }

    fn play(&self, direction: Direction) -> Vec<u8> {
        let streams = self.streams.lock().unwrap();
        let enough = |streams: &mut [Vec<u8>; 2]| streams[0].len() < RECORDED || streams[1].len() < 600;
        let (streams, late) = self.grown.wait_timeout_while(streams, PATIENCE, enough).unwrap();
        assert!(!late.timed_out(), "nothing was recorded");
        streams[direction as usize].clone()
    }
}

/// What a hop does with recordings.
#[derive(Clone)]
pub enum Tape {
    None,
    /// Keeps its connections, of which there is one as long as nothing is done to it.
    Record(Arc<Recording>),
    Play(Arc<Recording>),
}

/// One path's harmful hop, with what is to be done to its connections, one fault each.
pub struct Hop {
    pub address: SocketAddrV4,
    pub done: Arc<Mutex<Vec<Done>>>,
}

impl Hop {
    pub fn start(next: SocketAddrV4, faults: Vec<Fault>, tape: Tape) -> Self {
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("not IPv4") };
        let done = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&done);
        let number = HOPS.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let own = Ipv4Addr::new(127, 99, number[0], number[1]);
        std::thread::spawn(move || {
            let faults = Arc::new(Mutex::new(VecDeque::from(faults)));
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, connect_from(own, next)) else { continue };
                let (fault, left) = (faults.lock().unwrap().pop_front(), Arc::clone(&faults));
                // On a busy machine a connection may end before its fault: the next one has it.
                pass(&client, &server, fault, &tape, &noted, move |unmet| left.lock().unwrap().push_front(unmet));
            }
        });
        Self { address, done }
    }
}

/// An address of its own for each hop: ports are used again within seconds, and would name two connections in the log.
fn connect_from(own: Ipv4Addr, next: SocketAddrV4) -> io::Result<TcpStream> {
    use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddrV4::new(own, 0))?;
    connect(&socket, &next)?;
    Ok(socket.into())
}

/// Passes a connection on in both directions. A fault that it ended before is told to `unmet`.
pub fn pass(
    client: &TcpStream,
    server: &TcpStream,
    fault: Option<Fault>,
    tape: &Tape,
    done: &Arc<Mutex<Vec<Done>>>,
    unmet: impl Fn(Fault) + Clone + Send + 'static,
) {
    let peer = server.local_addr().unwrap();
    for direction in [Direction::Forth, Direction::Back] {
        let (from, to) = match direction {
            Direction::Forth => (client.try_clone().unwrap(), server.try_clone().unwrap()),
            Direction::Back => (server.try_clone().unwrap(), client.try_clone().unwrap()),
        };
        let fault = fault.filter(|fault| fault.direction == direction);
        let (tape, done, unmet) = (tape.clone(), Arc::clone(done), unmet.clone());
        std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(move || {
                let is_met = Cell::new(false);
                let note = |fault| {
                    is_met.set(true);
                    done.lock().unwrap().push(Done { fault, peer });
                };
                let _ = pump(&from, &to, direction, fault, &tape, &note);
                let _ = to.shutdown(Shutdown::Write);
                fault.filter(|_| !is_met.get()).into_iter().for_each(unmet);
            })
            .unwrap();
    }
}

fn pump(
    mut from: &TcpStream,
    mut to: &TcpStream,
    direction: Direction,
    fault: Option<Fault>,
    tape: &Tape,
    done: &dyn Fn(Fault),
) -> io::Result<()> {
    if let Some(fault) = fault.filter(|fault| fault.harm == Harm::Replay) {
        let Tape::Play(recording) = tape else { return Err(io::ErrorKind::NotFound.into()) };
        let played = recording.play(direction);
        done(fault);
        to.write_all(&played)?;
        // What really comes is dropped.
        return io::copy(&mut from, &mut io::sink()).map(drop);
    }
    let mut buffer = vec![0; 64 << 10];
    let (mut pending, mut seen, mut waits) = (Vec::new(), 0, fault);
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return to.write_all(&pending);
        }
        let Some(fault) = waits else {
            if let Tape::Record(recording) = tape {
                recording.keep(direction, &buffer[..count]);
            }
            to.write_all(&buffer[..count])?;
            continue;
        };
        pending.extend_from_slice(&buffer[..count]);
        while let Some(record) = take_record(&mut pending) {
            if record[0] == APPLICATION {
                seen += 1;
            }
            if record[0] != APPLICATION || seen <= fault.record {
                to.write_all(&record)?;
                continue;
            }
            done(fault);
            harm(from, to, &fault, record)?;
            waits = None;
            to.write_all(&std::mem::take(&mut pending))?;
            break;
        }
    }
}

fn take_record(pending: &mut Vec<u8>) -> Option<Vec<u8>> {
    let header = pending.first_chunk::<HEADER>()?;
    let length = HEADER + usize::from(u16::from_be_bytes([header[3], header[4]]));
    (pending.len() >= length).then(|| pending.drain(..length).collect())
}

fn harm(from: &TcpStream, mut to: &TcpStream, fault: &Fault, mut record: Vec<u8>) -> io::Result<()> {
    let body = record.len() - HEADER;
    // In the ciphertext: a header's version is not looked at by all who read it.
    let at = HEADER + body * usize::from(fault.place) / (1 << 16);
    let middle = HEADER + body / 2;
    match fault.harm {
        Harm::Flip => record[at] ^= 1 << (fault.place % 8),
        Harm::Truncate => {
            to.write_all(&record[..at])?;
            for socket in [to, from] {
                let _ = socket.shutdown(Shutdown::Both);
            }
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Harm::Reset => {
            to.write_all(&record[..at])?;
            for socket in [to, from] {
                rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO))?;
                let _ = socket.shutdown(Shutdown::Both);
            }
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // Of what comes back there is too little to show at once that a few bytes came twice.
        Harm::Duplicate if fault.direction == Direction::Back => record.extend_from_within(..),
        Harm::Duplicate => record.extend_from_within(at.min(record.len() - 8)..),
        Harm::Reorder => record[HEADER..].rotate_left(middle - HEADER),
        Harm::Omit => {
            let start = at.min(record.len() - 1);
            record.drain(start..record.len().min(start + 16));
        }
        Harm::Replay => {}
    }
    to.write_all(&record)
}
