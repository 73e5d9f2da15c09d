//! On a relay: one that speaks the route protocol and then does harm.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use cpt_relay::documents::membership;
use cpt_relay::wire::route::{Action, RouteHeader, STATUS_OK};
use cpt_relay::{receive, send};

use crate::harness::{Transfer, path};
use crate::hop::{Direction, Done, Fault, Harm, Tape, pass};
use crate::tally::{Count, Random, Run};
use crate::wire::{SLOW, broken, tree, until};

const PAIRS: usize = 10;
const PER_PAIR: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Evil {
    /// A record is spoiled, as on the wire.
    Bends(Fault),
    /// Its stream and that of another lane change places under way.
    Swaps,
    /// It ends the stream instead of serving it.
    Drops,
    /// It answers what the protocol does not know.
    Lies,
}

pub fn run(run: &Run<'_>) {
    for wave in 0..run.factor {
        std::thread::scope(|scope| {
            for number in 3 * wave..3 * (wave + 1) {
                scope.spawn(move || {
                    one(run, number);
                    headers(run, number);
                });
            }
        });
    }
}

/// One transfer over pairs whose first relay is evil for some connections; the second is an honest one.
fn one(run: &Run<'_>, number: usize) {
    let mut random = Random::new(run.seed, "relay", number);
    let mut transfer = Transfer::plan(crate::wire::CHUNK, Some(60), tree);
    transfer.verify = run.verify(number);
    let (receiver, far) = (transfer.receive(), transfer.relay());
    let mut done = Vec::new();
    let mut paths = vec![membership::Path { lanes: 1, ..path("direct", &[], receiver.address) }];
    let swap = Arc::new(Swap::default());
    for pair in 0..PAIRS {
        let evils = (0..PER_PAIR).map(|at| match (at, random.below(4)) {
            // Two lanes at a time: the first connections of a pair of pairs.
            (0, _) => Evil::Swaps,
            (_, 0) => Evil::Drops,
            (_, 1) => Evil::Lies,
            _ => {
                let harm = [Harm::Flip, Harm::Omit, Harm::Duplicate][random.index(3)];
                Evil::Bends(Fault::draw(harm, if random.below(2) == 0 { Direction::Forth } else { Direction::Back }, &mut random))
            }
        });
        let (address, noted) = evil_relay(far.address, evils.collect(), Arc::clone(&swap));
        done.push(noted);
        paths.push(membership::Path { lanes: 1, ..path(&name(number, pair), &[address, far.address], receiver.address) });
    }
    transfer.members(paths);
    let sender = transfer.send(Some(SLOW));
    let has_met = |pair: usize| done[pair].lock().unwrap().len() >= PER_PAIR && broken(run.log, &name(number, pair)).len() >= PER_PAIR;
    until(|| (0..PAIRS).all(has_met));
    transfer.limit(None);
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    far.stop.request();
    far.join();
    for (pair, done) in done.iter().enumerate() {
        let done = done.lock().unwrap().clone();
        let broken = broken(run.log, &name(number, pair));
        for at in 0..PER_PAIR {
            let kind = match done.get(at) {
                None => "relay: never took place".to_owned(),
                Some(Evil::Bends(fault)) => format!("relay: bends, {:?} {:?}", fault.harm, fault.direction),
                Some(evil) => format!("relay: {evil:?}"),
            };
            let injected = usize::from(done.len() > at);
            let detected = usize::from(broken.len() > at && injected == 1);
            run.tally.add(&kind, Count { planned: 1, injected, detected, repaired: injected, reported: 0 });
        }
        if broken.len() != PER_PAIR {
            println!("{}: {} broken lanes for {done:?}\n{}", name(number, pair), broken.len(), broken.join("\n"));
        }
    }
}

fn name(number: usize, pair: usize) -> String {
    format!("pair-{}", 100_000 + 1000 * number + pair)
}

/// Serves one connection after the other as told, all later ones honestly.
fn evil_relay(next: SocketAddrV4, evils: Vec<Evil>, swap: Arc<Swap>) -> (SocketAddrV4, Arc<Mutex<Vec<Evil>>>) {
    let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("not IPv4") };
    let done: Arc<Mutex<Vec<Evil>>> = Arc::default();
    let noted = Arc::clone(&done);
    std::thread::spawn(move || {
        let evils = Arc::new(Mutex::new(VecDeque::from(evils)));
        for client in listener.incoming() {
            let Ok(client) = client else { continue };
            let (evil, left) = (evils.lock().unwrap().pop_front(), Arc::clone(&evils));
            // On a busy machine a connection may end before it was served: the next one has its evil.
            let unmet = move || evil.into_iter().for_each(|evil| left.lock().unwrap().push_front(evil));
            serve(client, next, evil, &swap, &noted, unmet);
        }
    });
    (address, done)
}

/// One that ended before it was served is told to `unmet`.
fn serve(
    mut client: TcpStream,
    next: SocketAddrV4,
    evil: Option<Evil>,
    swap: &Swap,
    done: &Arc<Mutex<Vec<Evil>>>,
    unmet: impl FnOnce() + Send + 'static,
) {
    let note = || done.lock().unwrap().extend(evil);
    if evil == Some(Evil::Drops) {
        note();
        return;
    }
    // The sender's header is of no interest: it names the far relay.
    let mut length = [0; 2];
    if client.write_all(&[0; 32]).is_err() || client.read_exact(&mut length).is_err() {
        return unmet();
    }
    let mut header = vec![0; usize::from(u16::from_be_bytes(length))];
    let lies = evil == Some(Evil::Lies);
    if client.read_exact(&mut header).is_err() || client.write_all(&[if lies { 7 } else { STATUS_OK }]).is_err() {
        return unmet();
    }
    if lies {
        note();
        return;
    }
    // The honest one has ended with its transfer.
    let Ok(server) = TcpStream::connect(next) else { return unmet() };
    match evil {
        Some(Evil::Swaps) => swap.join(Swapped { client, server, done: Arc::clone(done), unmet: Box::new(unmet) }),
        Some(Evil::Bends(fault)) => {
            let (happened, done) = (Arc::<Mutex<Vec<Done>>>::default(), Arc::clone(done));
            // What the far relay says in clear comes first and holds no records.
            std::thread::spawn(move || {
                if preface(&client, &server).is_ok() {
                    done.lock().unwrap().push(Evil::Bends(fault));
                    pass(&client, &server, Some(fault), &Tape::None, &happened, |_| {});
                } else {
                    unmet();
                }
            });
        }
        _ => pass(&client, &server, None, &Tape::None, &Arc::default(), |_| {}),
    }
}

/// The far relay's challenge, the header for it and its status.
fn preface(mut client: &TcpStream, mut server: &TcpStream) -> std::io::Result<()> {
    let mut challenge = [0; 32];
    server.read_exact(&mut challenge)?;
    client.write_all(&challenge)?;
    let mut length = [0; 2];
    client.read_exact(&mut length)?;
    let mut header = vec![0; usize::from(u16::from_be_bytes(length))];
    client.read_exact(&mut header)?;
    server.write_all(&[&length[..], &header].concat())?;
    let mut status = [0];
    server.read_exact(&mut status)?;
    client.write_all(&status)
}

struct Swapped {
    client: TcpStream,
    server: TcpStream,
    done: Arc<Mutex<Vec<Evil>>>,
    unmet: Box<dyn FnOnce() + Send>,
}

/// Two lanes at a time are connected crosswise, once both have greeted their receiver.
#[derive(Default)]
struct Swap(Mutex<Option<Swapped>>);

impl Swap {
    fn join(&self, one: Swapped) {
        let Some(other) = self.0.lock().unwrap().take() else {
            *self.0.lock().unwrap() = Some(one);
            return;
        };
        std::thread::spawn(move || {
            let has_begun = |one: &Swapped| preface(&one.client, &one.server).is_ok();
            if !has_begun(&one) || !has_begun(&other) {
                (one.unmet)();
                (other.unmet)();
                return;
            }
            for done in [one.done, other.done] {
                done.lock().unwrap().push(Evil::Swaps);
            }
            let (client, server, other_client, other_server) = (one.client, one.server, other.client, other.server);
            // The first record of each goes where it should, all that follows to the other's receiver.
            for (from, right, wrong) in [(&client, &server, &other_server), (&other_client, &other_server, &server)] {
                let (from, right, wrong) = (from.try_clone().unwrap(), right.try_clone().unwrap(), wrong.try_clone().unwrap());
                std::thread::spawn(move || cross(from, right, wrong));
            }
            for (from, to) in [(server, client), (other_server, other_client)] {
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut &from, &mut &to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        });
    }
}

fn cross(mut from: TcpStream, mut right: TcpStream, mut wrong: TcpStream) {
    let mut header = [0; 5];
    let copied = from.read_exact(&mut header).and_then(|()| {
        let mut record = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
        from.read_exact(&mut record)?;
        right.write_all(&[&header[..], &record].concat())?;
        std::io::copy(&mut from, &mut wrong)
    });
    drop(copied);
    let _ = wrong.shutdown(Shutdown::Both);
}

/// The header of an earlier stream on another challenge, and one that is not signed by the sender.
fn headers(run: &Run<'_>, number: usize) {
    let transfer = Transfer::plan(1024, None, |_| {});
    let relay = transfer.relay();
    let mut random = Random::new(run.seed, "headers", number);
    let header = |next: u16| RouteHeader {
        transfer: transfer.id.to_string(),
        relay: relay.address,
        action: Action::Forward(SocketAddrV4::new(Ipv4Addr::LOCALHOST, next)),
    };
    let key = &transfer.router().key;
    let ask = |answer: &dyn Fn(&[u8; 32]) -> Vec<u8>| {
        let mut socket = TcpStream::connect(relay.address).unwrap();
        let mut challenge = [0; 32];
        socket.read_exact(&mut challenge).unwrap();
        socket.write_all(&answer(&challenge)).unwrap();
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
        (challenge, rest)
    };
    let mut earlier = Vec::new();
    let honest = ask(&|challenge| header(1).sign(challenge, key));
    assert_eq!(honest.1.len(), 1, "a good header is answered");
    earlier.push((honest.0, header(1).sign(&honest.0, key)));
    for at in 0..30 {
        let (kind, said) = match at % 3 {
            0 => ("relay: header of an earlier stream", ask(&|_| earlier[0].1.clone())),
            1 => {
                let bit = random.index(8 * (earlier[0].1.len() - 2));
                (
                    "relay: header with a flipped bit",
                    ask(&|challenge| {
                        let mut signed = header(1).sign(challenge, key);
                        signed[2 + bit / 8] ^= 1 << (bit % 8);
                        signed
                    }),
                )
            }
            _ => {
                // Another hop's name under a right signature.
                let port = u16::try_from(2 + random.below(60_000)).unwrap();
                (
                    "relay: header for another hop",
                    ask(&|challenge| {
                        let (mut signed, other) = (header(1).sign(challenge, key), header(port).sign(challenge, key));
                        let body = signed.len() - 64;
                        signed[..body].copy_from_slice(&other[..body]);
                        signed
                    }),
                )
            }
        };
        let refused = usize::from(said.1.is_empty());
        run.tally.add(kind, Count { planned: 1, injected: 1, detected: refused, repaired: 0, reported: refused });
    }
    relay.stop.request();
    relay.join();
}
