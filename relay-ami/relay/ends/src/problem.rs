//! The subject of a destination's error: one entry, the destination as a whole, or one chunk.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use rustix::io::Errno;

use cpt_wire::documents::event::SkipReason;

/// The reach of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The entry cannot be placed, now or later; others can.
    Entry(SkipReason),
    /// Nothing can be written: no room, no quota, a file system that fails.
    Destination,
    /// It may be the chunk's alone; the retry policy decides.
    Chunk,
}

/// Something of another kind is in the entry's place or above it: a directory for a file, a file or a link for a directory, a mount.
const CONFLICTS: [Errno; 7] = [Errno::ISDIR, Errno::NOTDIR, Errno::NOTEMPTY, Errno::EXIST, Errno::LOOP, Errno::BUSY, Errno::XDEV];
const DESTINATION: [Errno; 4] = [Errno::NOSPC, Errno::DQUOT, Errno::ROFS, Errno::IO];
/// What may pass, or is this process's trouble, or that of a server: no memory, no descriptors, a file that was removed from among the
/// partial ones.
const PASSING: [Errno; 12] = [
    Errno::NOENT,
    Errno::STALE,
    Errno::NOMEM,
    Errno::MFILE,
    Errno::NFILE,
    Errno::INTR,
    Errno::AGAIN,
    Errno::BADF,
    Errno::NODEV,
    Errno::NOTCONN,
    Errno::TIMEDOUT,
    Errno::HOSTDOWN,
];

/// Returns what an error is about. All that is not known to reach further is the entry's: its name, its size, its kind, one of its attributes,
/// which another file system may not take for reasons that nobody could list.
pub fn reach(error: &io::Error) -> Reach {
    if error.get_ref().is_some_and(|error| error.is::<TakesNothing>()) {
        return Reach::Destination;
    }
    let Some(errno) = error.raw_os_error().map(Errno::from_raw_os_error) else {
        // A path that does not stay in the destination.
        return if error.kind() == io::ErrorKind::InvalidInput { Reach::Entry(SkipReason::DestinationRefused) } else { Reach::Chunk };
    };
    if CONFLICTS.contains(&errno) {
        Reach::Entry(SkipReason::DestinationConflict)
    } else if DESTINATION.contains(&errno) {
        Reach::Destination
    } else if PASSING.contains(&errno) {
        Reach::Chunk
    } else {
        Reach::Entry(SkipReason::DestinationRefused)
    }
}

/// Returns the error in words, of what is in an entry's way by what it is.
pub fn in_words(error: &io::Error) -> String {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    let in_the_way = [
        (Errno::ISDIR, "a directory is in its place"),
        (Errno::NOTDIR, "something that is no directory is in its place or above it"),
        (Errno::LOOP, "a symbolic link is in its place or above it"),
        (Errno::NOTEMPTY, "a directory that is not empty is in its place"),
        (Errno::BUSY, "a file system is mounted in its place"),
    ];
    let found = in_the_way.into_iter().find(|(errno, _)| is(*errno));
    found.map_or_else(|| error.to_string(), |(_, words)| words.to_owned())
}

/// Why another name of a file cannot be made: it never came to its first name, or somebody has removed or replaced it there.
#[derive(Debug, thiserror::Error)]
#[error("its first name {0:?} was left out")]
struct FirstIsMissing(OsString);

/// The error of another name of a file that is not in its place at `first`.
pub fn first_is_missing(first: &[u8]) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, FirstIsMissing(OsStr::from_bytes(first).to_owned()))
}

/// Returns whether an error is of another name of a file that is not in its place.
pub fn is_first_missing(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<FirstIsMissing>())
}

/// Why a destination that has no error numbers takes nothing.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct TakesNothing(String);

/// The error of a destination to which nothing can be written for now; in words.
pub fn takes_nothing(why: String) -> io::Error {
    io::Error::other(TakesNothing(why))
}

/// Why what a stream has brought does not count: another stream of ours has, or will.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Superseded(&'static str);

/// The error of a stream whose part or file is another one's by now.
pub fn superseded(by: &'static str) -> io::Error {
    io::Error::other(Superseded(by))
}

/// Returns whether an error says nothing of the entry, of the destination or of what was sent.
pub fn is_superseded(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Superseded>())
}

/// Returns whether a file system may answer otherwise in a moment, as a server that is started again does.
pub fn may_pass(error: &io::Error) -> bool {
    let passing = [Errno::STALE, Errno::IO, Errno::INTR, Errno::TIMEDOUT, Errno::NOMEM];
    passing.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Returns the error of a name that is ours: the entry is not to blame, unless it is too large.
pub fn not_by_name(error: io::Error) -> io::Error {
    match reach(&error) {
        Reach::Entry(_) if error.raw_os_error() != Some(Errno::FBIG.raw_os_error()) => io::Error::other(error.to_string()),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_of_the_entry_and_a_full_disk_of_the_destination() {
        for (errno, expected) in [
            (Errno::ISDIR, Reach::Entry(SkipReason::DestinationConflict)),
            (Errno::NOTDIR, Reach::Entry(SkipReason::DestinationConflict)),
            (Errno::NAMETOOLONG, Reach::Entry(SkipReason::DestinationRefused)),
            (Errno::PERM, Reach::Entry(SkipReason::DestinationRefused)),
            (Errno::NOSPC, Reach::Destination),
            (Errno::DQUOT, Reach::Destination),
            (Errno::ROFS, Reach::Destination),
            (Errno::IO, Reach::Destination),
            (Errno::NOMEM, Reach::Chunk),
            (Errno::NOENT, Reach::Chunk),
            (Errno::NOTSUP, Reach::Entry(SkipReason::DestinationRefused)),
            (Errno::NOSYS, Reach::Entry(SkipReason::DestinationRefused)),
            (Errno::MLINK, Reach::Entry(SkipReason::DestinationRefused)),
            (Errno::OVERFLOW, Reach::Entry(SkipReason::DestinationRefused)),
        ] {
            assert_eq!(reach(&errno.into()), expected, "{errno}");
        }
        assert_eq!(reach(&superseded("another stream took the part over")), Reach::Chunk);
        assert_eq!(reach(&takes_nothing("AccessDenied".to_owned())), Reach::Destination);
    }
}
