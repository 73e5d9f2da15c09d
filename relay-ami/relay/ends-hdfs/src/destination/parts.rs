//! One part of a large file: a file of its own, until all are joined.

use std::collections::BTreeMap;
use std::io;

use cpt_wire::digest::Digest;

use super::shared::Shared;
use super::writing::{Ended, Writing};
use crate::checksum::Crc;

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
    pub ended: Option<Ended>,
    /// Somebody has written over some of it, and not over all.
    pub is_spoiled: bool,
}

impl Part {
    /// What has come counts no more: another stream brings it from its beginning on.
    pub fn begin(&mut self) {
        // What was written of it lies in a folder that is removed at the end.
        *self = Self { ended: self.ended.take(), ..Self::default() };
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
            return if self.ended.is_some() { Ok(()) } else { Err(io::Error::other("nothing of the part has come")) };
        };
        // Of what is not whole nothing can be kept, and whoever reads it again is told.
        self.is_spoiled = self.count != length;
        if self.is_spoiled {
            self.ended = None;
            return Ok(());
        }
        self.ended = Some(writing.end()?);
        Ok(())
    }
}

/// A part that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub digest: Digest,
    /// CRC-32C of its bytes, where that was noted.
    pub crc: Option<u32>,
}

impl Kept {
    /// As names and notes have it.
    pub fn text(&self) -> String {
        let digest = cpt_wire::digest::to_hex(&self.digest);
        self.crc.map_or_else(|| digest.clone(), |crc| format!("{digest}-{crc:08x}"))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (digest, crc) = text.split_once('-').map_or((text, None), |(digest, crc)| (digest, Some(crc)));
        let crc = crc.map(|crc| u32::from_str_radix(crc, 16)).transpose().ok()?;
        Some(Self { digest: from_hex(digest)?, crc })
    }
}

/// The digests of parts that count.
pub fn digests(parts: BTreeMap<u64, Kept>) -> BTreeMap<u64, Digest> {
    parts.into_iter().map(|(part, kept)| (part, kept.digest)).collect()
}

/// The name of a part that counts.
pub fn name(part: u64, kept: &Kept) -> String {
    format!("{part:08}-{}", kept.text())
}

/// What a name says.
pub fn parse(name: &str) -> Option<(u64, Kept)> {
    let (part, text) = name.split_once('-')?;
    Some((part.parse().ok()?, Kept::parse(text)?))
}

/// CRC-32C of a file from those of its parts, in their order, with their lengths; none where that of one is not known.
pub fn crc_of(parts: impl IntoIterator<Item = (Option<u32>, u64)>) -> Option<Crc> {
    parts.into_iter().try_fold(Crc::NONE, |sum, (crc, length)| Some(sum.and(Crc::new(crc?, length))))
}

/// A digest as hexadecimal digits have it.
fn from_hex(hex: &str) -> Option<Digest> {
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
    fn the_name_of_a_part_says_its_number_digest_and_checksum() {
        for crc in [None, Some(0), Some(0xe306_9283)] {
            let kept = Kept { digest: *blake3::hash(b"part").as_bytes(), crc };
            assert_eq!(parse(&name(7, &kept)), Some((7, kept)));
        }
        let kept = Kept { digest: *blake3::hash(b"part").as_bytes(), crc: Some(1) };
        for other in ["head", "digests", "00000001-", "x-00", &name(1, &kept)[..40], &format!("{}-x", name(1, &kept))] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_has_a_checksum_where_each_of_its_parts_has_one() {
        assert_eq!(crc_of([(Some(0xe306_9283), 9), (Some(0), 0)]), Some(Crc::new(0xe306_9283, 9)));
        assert_eq!(crc_of([(Some(1), 9), (None, 9)]), None);
    }
}
