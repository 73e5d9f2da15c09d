//! Stands in for the C library's calls that `std::fs` reads and writes with, in this process: passes them on to the
//! kernel, or not, at a byte of a file that the suite has named. The linker takes these before the library's own.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Error(Errno),
    /// Fewer bytes than asked for.
    Short,
    /// One bit of what is stored or given back.
    Flip,
}

/// One fault, which takes place once.
#[derive(Debug)]
pub struct Trap {
    /// A file; with a '-' at its end, files whose path begins so.
    pub path: String,
    pub call: Call,
    pub effect: Effect,
    /// The byte of the file that the call must touch.
    pub at: u64,
    pub state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub fired: bool,
    /// After a short call, where the rest begins.
    rest: Option<u64>,
    /// The rest was asked for.
    pub continued: bool,
}

impl Trap {
    pub fn new(path: String, call: Call, effect: Effect, at: u64) -> Arc<Self> {
        Arc::new(Self { path, call, effect, at, state: Mutex::default() })
    }

    pub fn state(&self) -> State {
        *self.state.lock().unwrap()
    }

    fn is_for(&self, path: &str, call: Call) -> bool {
        self.call == call && (path == self.path || self.path.ends_with('-') && path.starts_with(&self.path))
    }
}

static TRAPS: Mutex<Vec<Arc<Trap>>> = Mutex::new(Vec::new());

/// Sets traps for as long as the guard lives.
pub fn set(traps: &[Arc<Trap>]) -> Guard {
    TRAPS.lock().unwrap().extend(traps.iter().cloned());
    Guard(traps.to_vec())
}

pub struct Guard(Vec<Arc<Trap>>);

impl Drop for Guard {
    fn drop(&mut self) {
        TRAPS.lock().unwrap().retain(|trap| !self.0.iter().any(|own| Arc::ptr_eq(own, trap)));
    }
}

/// What becomes of a call on `count` bytes from `offset` on: the effect and the byte of the call that it concerns.
fn spring(fd: BorrowedFd<'_>, call: Call, offset: u64, count: usize) -> Option<(Effect, usize)> {
    let traps = TRAPS.lock().unwrap();
    if traps.is_empty() {
        return None;
    }
    let path = rustix::fs::readlink(Path::new(&format!("/proc/self/fd/{}", fd.as_raw_fd())), Vec::new()).ok()?.into_string().ok()?;
    for trap in traps.iter().filter(|trap| trap.is_for(&path, call)) {
        let mut state = trap.state.lock().unwrap();
        state.continued |= state.rest == Some(offset);
        if !state.fired && (offset..offset + count as u64).contains(&trap.at) {
            state.fired = true;
            let within = usize::try_from(trap.at - offset).unwrap();
            if trap.effect == Effect::Short {
                state.rest = Some(offset + within.max(1) as u64);
            }
            return Some((trap.effect, within));
        }
    }
    None
}

fn answer(result: Result<usize, Errno>) -> isize {
    unsafe extern "C" {
        fn __errno_location() -> *mut i32;
    }
    match result {
        Ok(count) => count.cast_signed(),
        Err(error) => {
            // SAFETY: the C library gives each thread its own, valid as long as the thread lives.
            unsafe { *__errno_location() = error.raw_os_error() };
            -1
        }
    }
}

fn written(fd: BorrowedFd<'_>, bytes: &[u8], offset: u64, write: impl Fn(&[u8]) -> Result<usize, Errno>) -> isize {
    answer(match spring(fd, Call::Write, offset, bytes.len()) {
        None => write(bytes),
        Some((Effect::Error(error), _)) => Err(error),
        Some((Effect::Short, at)) => write(&bytes[..at.max(1)]),
        Some((Effect::Flip, at)) => {
            let mut other = bytes.to_vec();
            other[at] ^= 1 << (offset % 8);
            write(&other)
        }
    })
}

/// # Safety
/// As `pwrite64(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(fd: i32, buffer: *const c_void, count: usize, offset: i64) -> isize {
    // SAFETY: the caller's promise: an open descriptor, and `count` readable bytes.
    let (fd, bytes) = unsafe { (BorrowedFd::borrow_raw(fd), std::slice::from_raw_parts(buffer.cast::<u8>(), count)) };
    written(fd, bytes, offset.cast_unsigned(), |bytes| rustix::io::pwrite(fd, bytes, offset.cast_unsigned()))
}

/// # Safety
/// As `write(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: i32, buffer: *const c_void, count: usize) -> isize {
    // SAFETY: the caller's promise: an open descriptor, and `count` readable bytes.
    let (fd, bytes) = unsafe { (BorrowedFd::borrow_raw(fd), std::slice::from_raw_parts(buffer.cast::<u8>(), count)) };
    let offset = rustix::fs::tell(fd).unwrap_or(0);
    written(fd, bytes, offset, |bytes| rustix::io::write(fd, bytes))
}

/// # Safety
/// As `pread64(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(fd: i32, buffer: *mut c_void, count: usize, offset: i64) -> isize {
    // SAFETY: the caller's promise: an open descriptor, and `count` writable bytes that are its own.
    let (fd, bytes) = unsafe { (BorrowedFd::borrow_raw(fd), std::slice::from_raw_parts_mut(buffer.cast::<u8>(), count)) };
    let start = offset.cast_unsigned();
    answer(match spring(fd, Call::Read, start, count) {
        None => rustix::io::pread(fd, bytes, start),
        Some((Effect::Error(error), _)) => Err(error),
        Some((Effect::Short, at)) => rustix::io::pread(fd, &mut bytes[..at.max(1)], start),
        Some((Effect::Flip, at)) => rustix::io::pread(fd, &mut *bytes, start).inspect(|_| bytes[at] ^= 1),
    })
}
