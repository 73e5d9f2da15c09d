//! Bytes from one socket to another inside the kernel.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionread};
use rustix::pipe::{SpliceFlags, fcntl_setpipe_size, pipe, splice};

use crate::defaults::{GATHER_BYTES, GATHER_TIME, PIPE_BYTES, STACK_BYTES};
use crate::secure::outlet::Outlet;
use crate::sockets::socket_options::set_low_water;

/// Passes bytes on in both directions, until both have ended.
pub fn both_ways(here: &Outlet, there: &Outlet, moved: &AtomicU64) -> io::Result<()> {
    std::thread::scope(|scope| {
        let back = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || pump(&there.socket(), here, moved))?;
        let forth = pump(&here.socket(), there, moved);
        let back = back.join().unwrap_or_else(|_| Err(io::Error::other("the stream's way back panicked")));
        forth.and(back)
    })
}

/// Moves bytes until `from` ends, then passes the end on. Counts them in `moved`. Back-pressure is the pipe's and the
/// sockets' own: nothing is read that the next hop does not take.
pub fn pump(from: &TcpStream, to: &Outlet, moved: &AtomicU64) -> io::Result<()> {
    let result = run(from, to, moved);
    let socket = to.socket();
    match &result {
        Ok(()) => {
            let _ = socket.shutdown(Shutdown::Write);
        }
        // The other direction cannot go on either: both ends shall notice at once.
        Err(_) => {
            let _ = socket.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        }
    }
    result
}

fn run(from: &TcpStream, to: &Outlet, moved: &AtomicU64) -> io::Result<()> {
    let (reader, writer) = pipe()?;
    // A smaller pipe (the user's quota of pipe pages is used up) works too.
    let _ = fcntl_setpipe_size(&writer, PIPE_BYTES);
    let socket = to.socket();
    set_low_water(from, GATHER_BYTES)?;
    loop {
        gather(from)?;
        let count = retry(|| splice(from, None, &writer, None, PIPE_BYTES, SpliceFlags::MOVE))?;
        if count == 0 {
            return Ok(());
        }
        let mut left = count;
        while left > 0 {
            let mut piece = to.pace(left);
            left -= piece;
            while piece > 0 {
                piece -= retry(|| splice(&reader, None, &*socket, None, piece, SpliceFlags::MOVE))?;
            }
        }
        moved.fetch_add(count as u64, Ordering::Relaxed);
    }
}

/// Waits until much has come, or something has and `GATHER_TIME` is over, or the end has.
fn gather(from: &TcpStream) -> io::Result<()> {
    let ready = retry(|| poll(&mut [PollFd::new(from, PollFlags::IN | PollFlags::RDHUP)], Some(&GATHER_TIME)))?;
    if ready == 0 && ioctl_fionread(from)? == 0 {
        // An idle stream: no timer runs until something comes.
        set_low_water(from, 1)?;
        retry(|| poll(&mut [PollFd::new(from, PollFlags::IN | PollFlags::RDHUP)], None))?;
        set_low_water(from, GATHER_BYTES)?;
    }
    Ok(())
}

fn retry(mut call: impl FnMut() -> rustix::io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other.map_err(io::Error::from),
        }
    }
}
