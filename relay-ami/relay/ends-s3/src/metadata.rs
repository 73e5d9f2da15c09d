//! What an object keeps of a file beside its bytes: under the names that AWS DataSync and Storage Gateway use.

use std::collections::HashMap;

use cpt_wire::documents::attributes::{Attributes, Owner};
use cpt_wire::frame::SegmentHeader;

const MODE: &str = "file-permissions";
const TIME: &str = "file-mtime";
const USER: &str = "file-owner";
const GROUP: &str = "file-group";
/// Where rclone keeps a time, in seconds; it is read, and not written.
const OTHER_TIME: &str = "mtime";

/// Of what is about to be written.
pub fn of(header: &SegmentHeader) -> HashMap<String, String> {
    let mut kept = HashMap::from([(MODE.to_owned(), format!("{:04o}", header.mode)), (TIME.to_owned(), format!("{}ns", header.mtime_ns))]);
    let owner = Attributes::parse(&header.attributes).ok().and_then(|attributes| attributes.owner);
    if let Some(Owner { uid, gid, .. }) = owner {
        kept.extend([(USER.to_owned(), uid.to_string()), (GROUP.to_owned(), gid.to_string())]);
    }
    kept
}

/// What is kept of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub mode: Option<u32>,
    pub mtime_ns: Option<i64>,
    pub owner: Option<(u32, u32)>,
}

impl Kept {
    /// Of an object's metadata; what cannot be read is not kept.
    #[must_use]
    pub fn read(metadata: Option<&HashMap<String, String>>) -> Self {
        let field = |name: &str| metadata.and_then(|metadata| metadata.get(name)).map(String::as_str);
        let number = |name: &str| field(name).and_then(|text| text.parse().ok());
        Self {
            // With the bits of the file's kind, or without.
            mode: field(MODE).and_then(|text| u32::from_str_radix(text, 8).ok()).map(|mode| mode & 0o7777),
            mtime_ns: field(TIME).and_then(with_unit).or_else(|| field(OTHER_TIME).and_then(seconds)),
            owner: number(USER).zip(number(GROUP)),
        }
    }
}

/// A number with its unit; without one, of as many digits as times of these decades have.
fn with_unit(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let value: i64 = digits.parse().ok()?;
    let factor = match &text[digits.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "" => match value.unsigned_abs() {
            0..100_000_000_000 => 1_000_000_000,
            100_000_000_000..100_000_000_000_000 => 1_000_000,
            100_000_000_000_000..100_000_000_000_000_000 => 1_000,
            _ => 1,
        },
        _ => return None,
    };
    value.checked_mul(factor)
}

/// Nanoseconds of a decimal number of seconds.
fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let below: i64 = format!("{fraction:0<9}").parse().ok()?;
    let whole_ns = whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?;
    whole_ns.checked_add(if whole.starts_with('-') { -below } else { below })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpt_wire::documents::entry::Kind;

    #[test]
    fn what_is_written_is_read_again() {
        let owner = Some(Owner { uid: 7, gid: 8, user: None, group: None });
        let attributes = Attributes { owner, ..Attributes::default() }.encode();
        let header = SegmentHeader {
            entry: 0,
            kind: Kind::File,
            mode: 0o4640,
            mtime_ns: -1,
            size: 0,
            offset: 0,
            length: 0,
            path: Vec::new(),
            target: Vec::new(),
            attributes,
        };
        let kept = of(&header);
        assert_eq!((kept[MODE].as_str(), kept[TIME].as_str()), ("4640", "-1ns"));
        assert_eq!(Kept::read(Some(&kept)), Kept { mode: Some(0o4640), mtime_ns: Some(-1), owner: Some((7, 8)) });
        assert_eq!(Kept::read(None), Kept::default());
    }

    #[test]
    fn modes_and_times_of_other_writers_are_read() {
        let read = |name: &str, text: &str| Kept::read(Some(&HashMap::from([(name.to_owned(), text.to_owned())])));
        assert_eq!(read(MODE, "0100640").mode, Some(0o640));
        for (text, expected) in [
            ("1595002920", Some(1_595_002_920_000_000_000)),
            ("1595002920123", Some(1_595_002_920_123_000_000)),
            ("1595002920123ms", Some(1_595_002_920_123_000_000)),
            ("-5s", Some(-5_000_000_000)),
            ("9223372036854775807s", None),
            ("5 h", None),
        ] {
            assert_eq!(read(TIME, text).mtime_ns, expected, "{text}");
        }
    }

    #[test]
    fn times_of_others_are_seconds() {
        for (text, expected) in [
            ("1700000000.000000001", Some(1_700_000_000_000_000_001)),
            ("1700000000", Some(1_700_000_000_000_000_000)),
            ("-1.5", Some(-1_500_000_000)),
            ("soon", None),
            ("1.2.3", None),
            ("99999999999999", None),
        ] {
            let metadata = HashMap::from([(OTHER_TIME.to_owned(), text.to_owned())]);
            assert_eq!(Kept::read(Some(&metadata)).mtime_ns, expected, "{text}");
        }
    }
}
