//! Measuring between relays along the path that data will take.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::deadline::Deadline;
use crate::defaults::HANDSHAKE_TIMEOUT;
use crate::secure::keys::random;
use crate::secure::outlet::Outlet;
use crate::secure::record::DATA_BYTES;
use crate::wire::route::{Challenge, RESULT_BYTES, STATUS_OK, read_signed};

/// Reads for so long from the first byte on, then answers bytes and nanoseconds.
pub fn sink(socket: &TcpStream, milliseconds: u32) -> io::Result<()> {
    let time = Duration::from_millis(milliseconds.into());
    // The source asks its next hop, and begins, after this end has said OK; what is under way at the end is one buffer.
    let mut timed = Deadline::after(2 * HANDSHAKE_TIMEOUT + time).on(socket);
    let mut buffer = vec![0; DATA_BYTES];
    let mut bytes = timed.read(&mut buffer)? as u64;
    let start = Instant::now();
    let mut last = start;
    while bytes > 0 && start.elapsed() < time {
        match timed.read(&mut buffer)? {
            0 => break,
            count => bytes += count as u64,
        }
        last = Instant::now();
    }
    let nanoseconds = u64::try_from((last - start).as_nanos()).unwrap_or(u64::MAX);
    timed.write_all(&[bytes.to_be_bytes(), nanoseconds.to_be_bytes()].concat())?;
    // What is still under way is read and dropped: closing on it would reset the connection and lose the answer.
    while timed.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Hands the next hop's challenge back and the answer on, sends filler for so long, hands the result back.
pub fn source(socket: &TcpStream, mut onward: Outlet, milliseconds: u32) -> io::Result<()> {
    let next = onward.socket();
    let deadline = Deadline::after(HANDSHAKE_TIMEOUT);
    let (mut here, mut there) = (deadline.on(socket), deadline.on(&next));
    let mut challenge: Challenge = [0; 32];
    there.read_exact(&mut challenge)?;
    here.write_all(&challenge)?;
    let signed = read_signed(&mut here)?;
    there.write_all(&[&(signed.len() as u16).to_be_bytes()[..], &signed].concat())?;
    let mut status = [0];
    there.read_exact(&mut status)?;
    here.write_all(&status)?;
    if status[0] == STATUS_OK {
        send_filler(&mut onward, milliseconds)?;
        let mut result = [0; RESULT_BYTES];
        Deadline::after(HANDSHAKE_TIMEOUT).on(&next).read_exact(&mut result)?;
        Deadline::after(HANDSHAKE_TIMEOUT).on(socket).write_all(&result)?;
    }
    Ok(())
}

/// Sends bytes that do not compress for so long, then ends its side.
pub fn send_filler(outlet: &mut Outlet, milliseconds: u32) -> io::Result<()> {
    let filler: Vec<u8> = random::<4096>().map_err(io::Error::other)?.repeat(DATA_BYTES / 4096);
    let end = Instant::now() + Duration::from_millis(milliseconds.into());
    let socket = outlet.socket();
    // A peer that stops reading must not hold us longer than it should take.
    socket.set_write_timeout(Some(HANDSHAKE_TIMEOUT))?;
    while Instant::now() < end {
        outlet.write_paced(&filler)?;
    }
    socket.shutdown(Shutdown::Write)
}
