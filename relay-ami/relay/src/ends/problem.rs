//! The subject of a destination's error: one entry, the destination as a whole, or one chunk.

use std::io;

use rustix::io::Errno;

use crate::documents::event::SkipReason;

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
/// The file system does not take this name, this size, or a change of this file.
const REFUSALS: [Errno; 6] = [Errno::NAMETOOLONG, Errno::ACCESS, Errno::PERM, Errno::INVAL, Errno::ILSEQ, Errno::FBIG];
const DESTINATION: [Errno; 4] = [Errno::NOSPC, Errno::DQUOT, Errno::ROFS, Errno::IO];

pub fn reach(error: &io::Error) -> Reach {
    let Some(errno) = error.raw_os_error().map(Errno::from_raw_os_error) else {
        // A path that does not stay in the destination.
        return if error.kind() == io::ErrorKind::InvalidInput { Reach::Entry(SkipReason::DestinationRefused) } else { Reach::Chunk };
    };
    if CONFLICTS.contains(&errno) {
        Reach::Entry(SkipReason::DestinationConflict)
    } else if REFUSALS.contains(&errno) {
        Reach::Entry(SkipReason::DestinationRefused)
    } else if DESTINATION.contains(&errno) {
        Reach::Destination
    } else {
        Reach::Chunk
    }
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
        ] {
            assert_eq!(reach(&errno.into()), expected, "{errno}");
        }
        assert_eq!(reach(&io::Error::other("another stream took the part over")), Reach::Chunk);
    }
}
