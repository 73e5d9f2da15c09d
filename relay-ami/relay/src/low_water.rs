//! SO_RCVLOWAT: how much must have arrived before a reader is woken. The only unsafe code of the crate, since no crate that
//! we use has the option.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd as _;

/// Sets the mark in bytes; 1 is the kernel's default.
#[allow(unsafe_code)]
pub fn set(socket: &TcpStream, bytes: i32) -> io::Result<()> {
    let size = libc::socklen_t::try_from(size_of::<i32>()).map_err(io::Error::other)?;
    // SAFETY: the descriptor is open while `socket` is borrowed; the kernel reads `size` bytes from the pointer to `bytes`,
    // which lives until the call returns, and keeps nothing of it.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const bytes).cast(), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
