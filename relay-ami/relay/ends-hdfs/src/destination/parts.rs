//! One part of a large file: a file of its own, until all are joined.

use std::collections::BTreeMap;
use std::io;

use cpt_wire::digest::Digest;

use super::shared::Shared;
use super::writing::Writing;

/// Mode of what is not in its place: nobody else reads it.
const UNSEEN: u32 = 0o600;

/// A part on its way. Its bytes go to the data nodes as they come, so nothing of it is in memory but what came before its turn.
#[derive(Default)]
pub struct Part {
    writing: Option<Writing>,
    /// Bytes that were written.
    count: u64,
    /// What came before what is ahead of it, by where in the part it belongs.
    early: BTreeMap<u64, Vec<u8>>,
    /// The file of it, whose bytes are all there and none is to change.
    pub path: Option<String>,
    /// Somebody has written over some of it, and not over all.
    pub is_spoiled: bool,
}

impl Part {
    /// What has come counts no more: another stream brings it from its beginning on.
    pub fn begin(&mut self) {
        // What was written of it lies in a folder that is removed at the end.
        *self = Self { path: self.path.take(), ..Self::default() };
    }

    pub fn write(&mut self, of: &Shared, bytes: &[u8], at: u64) -> io::Result<()> {
        if at == 0 && self.count > 0 {
            self.begin();
        }
        if at > self.count {
            self.early.insert(at, bytes.to_vec());
            return Ok(());
        }
        if at < self.count {
            return Err(io::Error::other("bytes of a part came a second time"));
        }
        self.append(of, bytes)?;
        while let Some(next) = self.early.remove(&self.count) {
            self.append(of, &next)?;
        }
        Ok(())
    }

    fn append(&mut self, of: &Shared, bytes: &[u8]) -> io::Result<()> {
        let writing = match &mut self.writing {
            Some(writing) => writing,
            none => none.insert(Writing::begin(of, of.temporary(), UNSEEN)?),
        };
        writing.write(bytes)?;
        self.count += bytes.len() as u64;
        Ok(())
    }

    /// Ends the file of a part of which `length` bytes have come; nothing where that was done before.
    pub fn end(&mut self, length: u64) -> io::Result<()> {
        let Some(writing) = self.writing.take() else {
            return if self.path.is_some() { Ok(()) } else { Err(io::Error::other("nothing of the part has come")) };
        };
        // Of what is not whole nothing can be kept, and whoever reads it again is told.
        self.is_spoiled = self.count != length;
        if self.is_spoiled {
            self.path = None;
            return Ok(());
        }
        self.path = Some(writing.end()?);
        Ok(())
    }
}

/// The name of a part that counts.
pub fn name(part: u64, digest: &Digest) -> String {
    format!("{part:08}-{}", cpt_wire::digest::to_hex(digest))
}

/// What a name says.
pub fn parse(name: &str) -> Option<(u64, Digest)> {
    let (part, hex) = name.split_once('-')?;
    Some((part.parse().ok()?, from_hex(hex)?))
}

/// A digest as hexadecimal digits have it.
pub fn from_hex(hex: &str) -> Option<Digest> {
    let mut digest = [0; 32];
    if hex.len() != 2 * digest.len() || !hex.is_ascii() {
        return None;
    }
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_part_says_its_number_and_digest() {
        let digest = *blake3::hash(b"part").as_bytes();
        assert_eq!(parse(&name(7, &digest)), Some((7, digest)));
        for other in ["head", "digests", "00000001-", "x-00", &name(1, &digest)[..40]] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
