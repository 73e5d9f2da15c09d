//! Strings that carry a promise: checked once at the border, trusted afterwards.

use std::fmt;
use std::net::SocketAddrV4;

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// Makes a string type whose values satisfy `$check`; the refusal says the value and what would be right.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $check:expr, $right:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Refuses text that breaks the rule, in words.
            pub fn new(text: impl Into<String>) -> Result<Self, String> {
                let text = text.into();
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok(Self(text)) } else { Err(format!("{text:?} is not {}", $right)) }
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

checked_text!(
    /// A transfer's id.
    TransferId,
    is_transfer_id,
    "a transfer id: a letter or digit, then at most 79 letters, digits, '_' or '-'"
);
checked_text!(
    /// The name of a snapshot of HDFS.
    SnapshotName,
    |text| (1..=255).contains(&text.chars().count()) && !text.starts_with('.') && !text.contains(['/', ':', '\0']),
    "a snapshot's name: 1 to 255 characters, none of them '/' or ':', and the first one no '.'"
);
checked_text!(
    /// The key under which the seats of a transfer share records, chunks and objects. Only the control plane knows how it is made.
    Partition,
    // A table's key holds 2 048 bytes; '#' and a number of seven digits follow for chunks, and an answer's place has blanks. No transfer's id
    // has a '+': under an id alone lies what no daemon writes.
    |text| (1..=2_000).contains(&text.len()) && text.contains('+') && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'),
    "at most 2000 printable characters of ASCII with a '+' among them, of which none is a blank or '#'"
);
checked_text!(
    /// Opaque; safe in keys and names of files.
    PathId,
    |text| {
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        text.len() <= 64 && text.split('-').all(is_part)
    },
    "a path id: at most 64 lower-case letters and digits, in parts that '-' joins"
);
checked_text!(
    /// An AWS region.
    Region,
    is_region,
    "an AWS region such as eu-central-1"
);
checked_text!(
    /// An absolute path as the request gives it.
    AbsolutePath,
    |text| text.starts_with('/') && !text.contains('\0') && text.chars().count() <= 4096,
    "an absolute path of at most 4096 characters without NUL"
);
checked_text!(
    /// A path below a destination, under which something arrives.
    LandingPath,
    |text| text.chars().count() <= 4096 && !text.contains('\0') && text.split('/').all(|name| !matches!(name, "" | "." | "..")),
    "a path below the destination of at most 4096 characters: names joined by '/', none of them empty, '.' or '..', without NUL"
);
checked_text!(
    /// Name of a general purpose bucket.
    BucketName,
    |text| {
        let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let ends = text.bytes().next().is_some_and(is_end) && text.bytes().last().is_some_and(is_end);
        let is_plain = text.bytes().all(|byte| is_end(byte) || b".-".contains(&byte));
        (3..=63).contains(&text.len()) && ends && is_plain && !text.ends_with("--x-s3")
    },
    "a bucket: 3 to 63 lower-case letters, digits, '.' and '-'; directory buckets, whose names end with --x-s3, are none"
);
checked_text!(
    /// What the keys of an end in a bucket begin with.
    KeyPrefix,
    |text| {
        let is_name = |name: &str| !matches!(name, "" | "." | "..");
        let names = text.strip_suffix('/').map(|names| names.split('/').all(is_name));
        text.len() <= 900 && !text.contains('\0') && names.unwrap_or(text.is_empty())
    },
    "empty, or names of at most 900 bytes together that each end with '/', such as backup/2026/; none of them empty, '.' or '..'"
);
checked_text!(
    /// An account of AWS.
    AccountId,
    |text| text.len() == 12 && is_digits(text),
    "an account: 12 digits"
);
checked_text!(
    /// A customer's key of KMS.
    KeyArn,
    super::written::is_key_arn,
    "the ARN of a key of KMS, which ends with key/ and an id, such as :key/1234abcd-12ab-34cd-56ef-1234567890ab"
);
checked_text!(
    /// Name of the directory at the top of a destination in which what is replaced is kept.
    KeepName,
    |text| {
        let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let name = text.strip_prefix('.').unwrap_or(text);
        let is_plain = name.bytes().all(|byte| is_first(byte) || b".-".contains(&byte));
        name.len() < 64 && is_plain && name.bytes().next().is_some_and(is_first) && !text.starts_with(".cpt-")
    },
    "a name of letters, digits, '.', '_' and '-', at most 63 behind a '.', such as .replaced; those that begin with .cpt- are taken"
);
checked_text!(
    /// What tells a mark from everything else: nobody guesses it.
    MarkName,
    |text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)),
    "32 lower-case hexadecimal digits"
);
checked_text!(
    /// Tells a destination from another one that its path may lead to: two numbers of its kind's, of a directory its device and inode.
    DirectoryId,
    |text| text.split_once(':').is_some_and(|(device, inode)| is_digits(device) && is_digits(inode)),
    "the device and inode of a directory, such as 66305:131"
);
checked_text!(
    /// A user of the machine: a name, or a number.
    UserText,
    |text| {
        let name = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        // The largest number means "no user" to the kernel.
        text.len() <= 32 && (name || text.parse::<u32>().is_ok_and(|number| number != u32::MAX && number.to_string() == text))
    },
    "a user name of at most 32 characters, or a number from 0 to 4294967294"
);
checked_text!(
    /// A user of HDFS.
    HdfsUser,
    |text| {
        let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        text.len() <= 64 && text.bytes().next().is_some_and(is_first) && text.bytes().all(|byte| is_first(byte) || b".@-".contains(&byte))
    },
    "a user of HDFS: a letter, digit or '_', then at most 63 letters, digits, '.', '_', '@' and '-'"
);
checked_text!(
    /// Key of the object that says how far a listing is, below the transfer's prefix.
    AnnouncementKey,
    |text| {
        let name = text.strip_prefix("announced/").and_then(|text| text.strip_suffix(".json")).unwrap_or_default();
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    },
    "a key such as announced/nightly.json"
);
checked_text!(
    /// 128 bits in lower-case hexadecimal: no two plans have the same.
    PlanId,
    |text| text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
    "a plan id: 32 digits of lower-case hexadecimal"
);
checked_text!(
    /// 32 bytes, base64url without padding.
    RouteKeyText,
    |text| text.len() == 43 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'),
    "a 32-byte key in base64url without padding"
);
checked_text!(
    /// 32 bytes in lower-case hexadecimal.
    HexDigest,
    |text| text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
    "a 32-byte digest in lower-case hexadecimal"
);

/// `ip:port`, IPv4 in dotted decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub SocketAddrV4);

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| D::Error::custom(format!("{text:?} is not ip:port, such as 10.0.0.7:4600")))
    }
}

/// The only contract version this daemon reads: a skew between writer and reader is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SchemaVersion1;

impl Serialize for SchemaVersion1 {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(1)
    }
}

impl<'de> Deserialize<'de> for SchemaVersion1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            1 => Ok(Self),
            other => Err(D::Error::custom(format!("schemaVersion is {other}; this daemon reads 1: use the same release on both sides"))),
        }
    }
}

pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_transfer_id(text: &str) -> bool {
    (1..=80).contains(&text.len())
        && text.as_bytes()[0].is_ascii_alphanumeric()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn is_region(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let Some(((last, first), middle)) =
        parts.split_last().and_then(|(last, rest)| rest.split_first().map(|(first, middle)| ((last, first), middle)))
    else {
        return false;
    };
    let lower = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
    first.len() == 2 && lower(first) && !middle.is_empty() && middle.iter().all(|part| lower(part)) && last.len() == 1 && is_digits(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_stays_below_the_destination() {
        let longest = "a".repeat(4096);
        for right in ["set", "2026/run-17", "...", ".x/..x", "a\nb/\u{e4}", &longest] {
            assert_eq!(LandingPath::new(right).unwrap().as_str(), right);
        }
        let longer = "a".repeat(4097);
        for wrong in ["", "/", "/set", "set/", "a//b", ".", "..", "a/./b", "a/..", "../a", "a\0b", &longer] {
            assert!(LandingPath::new(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_path_has_any_name_that_is_safe_in_keys_and_names_of_files() {
        let longest = "a".repeat(64);
        for right in ["direct", "pair-0", "pair-10-11", "route-1-2-3", "via-us-east-1", &longest] {
            assert_eq!(PathId::new(right).unwrap().as_str(), right);
        }
        let longer = "a".repeat(65);
        for wrong in ["", "-", "pair-", "-1", "pair--1", "Pair-1", "pair 1", "pair/1", "..", "pair_1", "pair-1\n", "pär", &longer] {
            assert!(PathId::new(wrong).is_err(), "{wrong:?}");
        }
    }
}
