//! What HDFS says when it does not do what it was asked, and what follows of it.

use std::fmt::Display;
use std::io;

use hdfs_native::HdfsError;
use rustix::io::Errno;

use cpt_ends::problem::takes_nothing;

/// The decision that an answer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It is not there.
    Gone,
    /// Something of another kind is in its place or above it.
    InTheWay,
    /// It is of a name, a size or an owner that HDFS does not take.
    Refused,
    /// Nothing can be written for now: safe mode, a quota, no data nodes, no name node.
    TakesNothing,
    /// It may be this attempt's alone: data that did not get through.
    Passing,
}

/// Names of exceptions, without their packages.
const GONE: [&str; 1] = ["FileNotFoundException"];
const IN_THE_WAY: [&str; 4] =
    ["FileAlreadyExistsException", "ParentNotDirectoryException", "PathIsNotDirectoryException", "PathIsNotEmptyDirectoryException"];
const REFUSED: [&str; 7] = [
    "HadoopIllegalArgumentException",
    "AccessControlException",
    "InvalidPathException",
    "PathComponentTooLongException",
    "MaxDirectoryItemsExceededException",
    "FSLimitException",
    "SnapshotAccessControlException",
];
const TAKES_NOTHING: [&str; 8] = [
    "SafeModeException",
    "NSQuotaExceededException",
    "DSQuotaExceededException",
    "QuotaByStorageTypeExceededException",
    "QuotaExceededException",
    "RetriableException",
    "StandbyException",
    "InvalidToken",
];
/// What it says of one name or place: exceptions of no class of their own.
const REFUSED_IN_WORDS: [&str; 2] = ["Pathname too long", "an encryption zone"];
/// What the name node says where too few data nodes take a block: an exception of no class of its own.
const TOO_FEW_NODES: [&str; 2] = ["could only be written to", "could only be replicated to"];

impl Meaning {
    pub fn of(error: &HdfsError) -> Self {
        match error {
            HdfsError::FileNotFound(_) => Self::Gone,
            HdfsError::AlreadyExists(_) | HdfsError::IsADirectoryError(_) => Self::InTheWay,
            HdfsError::InvalidPath(_) | HdfsError::InvalidArgument(_) | HdfsError::UnsupportedFeature(_) => Self::Refused,
            HdfsError::UnsupportedErasureCodingPolicy(_) | HdfsError::ErasureCodingError(_) => Self::Refused,
            HdfsError::RPCError(class, words) => Self::of_exception(class, words),
            // Who asks is not whom it takes, nor will be if it is asked again.
            HdfsError::SASLError(_) | HdfsError::NoSASLMechanism => Self::Refused,
            HdfsError::FatalRPCError(class, words) => match Self::of_exception(class, words) {
                Self::Refused => Self::Refused,
                _ => Self::TakesNothing,
            },
            _ => Self::Passing,
        }
    }

    fn of_exception(class: &str, words: &str) -> Self {
        let name = class.rsplit(['.', '$']).next().unwrap_or(class);
        let says = |some: &[&str]| some.iter().any(|part| words.contains(part));
        if GONE.contains(&name) {
            Self::Gone
        } else if IN_THE_WAY.contains(&name) {
            Self::InTheWay
        } else if REFUSED.contains(&name) || says(&REFUSED_IN_WORDS) {
            Self::Refused
        } else if TAKES_NOTHING.contains(&name) || says(&TOO_FEW_NODES) {
            Self::TakesNothing
        } else {
            Self::Passing
        }
    }
}

/// Whether nobody answered, or one who may not for now.
pub fn is_unanswered(error: &HdfsError) -> bool {
    matches!(error, HdfsError::IOError(_) | HdfsError::InvalidRPCResponse(_)) || Meaning::of(error) == Meaning::TakesNothing
}

/// What it says, without where in the name node's program that was said.
pub fn words(error: &HdfsError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn error_of(meaning: Meaning, words: String) -> io::Error {
    match meaning {
        Meaning::Gone => io::Error::new(io::ErrorKind::NotFound, words),
        Meaning::InTheWay => in_the_way(),
        Meaning::Refused => io::Error::new(io::ErrorKind::InvalidInput, words),
        Meaning::TakesNothing => takes_nothing(words),
        Meaning::Passing => io::Error::other(words),
    }
}

/// The error of a call to the name node that changes something; `what` was asked for. One that it did not answer may be answered in a while,
/// and an exception that nobody knows is of what was asked for alone.
pub fn of_name_node(error: &HdfsError, what: impl Display) -> io::Error {
    let meaning = if is_unanswered(error) { Meaning::TakesNothing } else { Meaning::of(error) };
    error_of(meaning, format!("{what}: {}", words(error)))
}

/// The error of something else than a file in a file's place.
pub fn in_the_way() -> io::Error {
    io::Error::from_raw_os_error(Errno::ISDIR.raw_os_error())
}

/// The error of data that is read or written, or of a look.
pub fn of_data(error: &HdfsError, what: impl Display) -> io::Error {
    error_of(Meaning::of(error), format!("{what}: {}", words(error)))
}

#[cfg(test)]
mod tests {
    use cpt_ends::problem::{Reach, reach};
    use cpt_wire::documents::event::SkipReason;

    use super::*;

    fn rpc(class: &str, words: &str) -> HdfsError {
        HdfsError::RPCError(class.to_owned(), words.to_owned())
    }

    #[test]
    fn words_are_those_of_the_exception_and_not_of_its_stack() {
        let said = of_name_node(&rpc("java.io.IOException", "No room\n\tat org.apache.hadoop.X.y(X.java:1)\n"), "/a").to_string();
        assert_eq!(said, "/a: RPC error: java.io.IOException No room");
    }

    #[test]
    fn what_may_pass_concerns_the_destination_and_what_may_not_its_entry() {
        let conflict = Reach::Entry(SkipReason::DestinationConflict);
        let refused = Reach::Entry(SkipReason::DestinationRefused);
        for (error, expected) in [
            (rpc("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Cannot create file"), Reach::Destination),
            (rpc("org.apache.hadoop.hdfs.protocol.NSQuotaExceededException", "quota"), Reach::Destination),
            (rpc("java.io.IOException", "File /a could only be written to 0 of the 1 minReplication nodes"), Reach::Destination),
            (rpc("org.apache.hadoop.fs.FileAlreadyExistsException", "/a already exists as a directory"), conflict),
            (rpc("org.apache.hadoop.fs.ParentNotDirectoryException", "/a is not a directory"), conflict),
            (rpc("org.apache.hadoop.security.AccessControlException", "Permission denied: user=etl"), refused),
            (rpc("org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException", "too long"), refused),
        ] {
            assert_eq!(reach(&of_name_node(&error, "/a")), expected, "{error}");
        }
        let unknown = rpc("org.apache.hadoop.SomethingNew", "no");
        assert_eq!(reach(&of_name_node(&unknown, "/a")), Reach::Chunk, "nobody else pays for it");
        let lost = HdfsError::DataTransferError("a block was not acknowledged".to_owned());
        assert_eq!(reach(&of_data(&lost, "/a")), Reach::Chunk, "another attempt goes to other nodes");
        assert_eq!(reach(&of_name_node(&HdfsError::from(io::Error::other("refused")), "/a")), Reach::Destination, "no name node");
        assert_eq!(of_data(&rpc("java.io.FileNotFoundException", "/a"), "/a").kind(), io::ErrorKind::NotFound);
    }
}
