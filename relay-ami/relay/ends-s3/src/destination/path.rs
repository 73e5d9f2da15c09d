//! Which paths may be keys.

use std::io;

use super::PARTIAL;
use crate::client::Place;

/// Bytes of a key.
const LONGEST: usize = 1024;

/// Whether S3 can answer about an upload to this key: it repeats the key in XML, which some characters cannot be in.
pub fn may_have_parts(key: &str) -> bool {
    !key.chars().any(|one| matches!(one, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}'))
}

/// The key of a path; a sender's path may be anything.
pub fn key(place: &Place, path: &[u8]) -> io::Result<String> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why.to_owned()));
    let Ok(path) = std::str::from_utf8(path) else { return refused("a key of a bucket is UTF-8, and this name is not") };
    if path.split('/').any(|name| matches!(name, "" | "." | "..")) || path.contains('\0') {
        return refused("it is no path below the destination");
    }
    if path.starts_with(PARTIAL) {
        return refused("names that begin so are those of transfers under way");
    }
    let key = place.key(path);
    if key.len() > LONGEST { refused("a key of a bucket has at most 1024 bytes, and this one would have more") } else { Ok(key) }
}
