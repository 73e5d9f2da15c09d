//! Blocks of a part that the destination has already, in the file that is to be replaced or in one beside it.

use std::convert::Infallible;
use std::io;

use super::large::Part;
use super::target::Target;
use crate::digest::ContentHasher;
use crate::ends::{Basis, Heard, OpenDestination, read, zeros};
use crate::transport::had::LEAST_BYTES;
use crate::transport::stream::StreamError;
use crate::under_way::Call;
use crate::wire::block::{BLOCK_DIGEST_BYTES, block_bytes, block_digest};
use crate::wire::frame::SegmentHeader;

/// Blocks by which a file is taken for an earlier version.
const SAMPLES: usize = 8;

/// A part's offer.
pub struct Offer<'a> {
    pub header: &'a SegmentHeader,
    pub block: u32,
    pub digests: &'a [u8],
    /// Hears how many bytes have been read.
    pub heard: Heard<'a>,
}

impl Offer<'_> {
    /// Fails where the sender breaks the protocol: each block of the part has one digest.
    pub fn check(&self) -> Result<(), StreamError> {
        let block = block_bytes(self.header.length);
        let blocks = self.header.length.div_ceil(block);
        let said = (self.digests.len() / BLOCK_DIGEST_BYTES) as u64;
        if self.digests.len().is_multiple_of(BLOCK_DIGEST_BYTES) && (u64::from(self.block), said) == (block, blocks) {
            return Ok(());
        }
        let (bytes, block, length) = (self.digests.len(), self.block, self.header.length);
        Err(StreamError::Protocol(format!("an offer of {bytes} bytes of digests, for blocks of {block} bytes in {length}")))
    }

    fn blocks(&self) -> impl Iterator<Item = (u64, u64, &[u8])> {
        let block = u64::from(self.block);
        (0..).zip(self.digests.chunks(BLOCK_DIGEST_BYTES)).map(move |(number, digest)| {
            let at = number * block;
            (self.header.offset + at, block.min(self.header.length - at), digest)
        })
    }

    /// Whether the file has a block in the same place. A short one counts only where the file ends as the new one does: whoever could
    /// choose where a block ends would learn what is there a byte at a time.
    fn is_there(&self, basis: &dyn Basis, (offset, length, digest): (u64, u64, &[u8])) -> bool {
        if length < u64::from(self.block) && (length < LEAST_BYTES || basis.size() != Some(self.header.size)) {
            return false;
        }
        is_there(basis, offset, length, digest, self.heard)
    }

    /// A bit for each block that the file has in the same place.
    fn has(&self, basis: &dyn Basis) -> Vec<u8> {
        let mut bits = vec![0; (self.digests.len() / BLOCK_DIGEST_BYTES).div_ceil(8)];
        for (number, block) in self.blocks().enumerate() {
            if self.is_there(basis, block) {
                bits[number / 8] |= 1 << (number % 8);
            }
        }
        bits
    }

    /// Whether some blocks, evenly chosen, are in the file.
    fn fits(&self, basis: &dyn Basis) -> bool {
        let count = self.digests.len() / BLOCK_DIGEST_BYTES;
        let mut chosen = self.blocks().step_by(count.div_ceil(SAMPLES).max(1));
        chosen.any(|block| self.is_there(basis, block))
    }

    /// What the receiver answers. A part that goes nowhere needs nothing; nor does one of which nothing is found.
    pub fn answer(&self, part: Option<&Part>, destination: &dyn OpenDestination) -> io::Result<Vec<u8>> {
        let Some(part) = part else { return Ok(Vec::new()) };
        let basis = part.file.basis(|| destination.basis(self.header, &mut |basis| self.fits(basis)))?;
        Ok(basis.map_or_else(Vec::new, |basis| self.has(&*basis)))
    }
}

/// A file that cannot be read has nothing.
fn is_there(basis: &dyn Basis, offset: u64, length: u64, digest: &[u8], heard: Heard<'_>) -> bool {
    let mut hasher = blake3::Hasher::new();
    let read = read(basis, offset, length, |bytes, _| {
        hasher.update(bytes);
        heard(bytes.len() as u64);
        Ok(())
    });
    read.is_ok() && block_digest(&hasher) == *digest
}

/// Takes bytes of the file that is in the place of a whole one. They are digested as they are read, so whoever changes it makes the chunk
/// fail; so much is digested in any case.
pub fn copy_whole(
    target: &mut Target,
    there: Option<&dyn Basis>,
    hasher: &mut ContentHasher,
    (offset, length): (u64, u64),
    call: &Call,
) -> io::Result<()> {
    let mut left = length;
    let taken = there.ok_or_else(|| io::Error::other("what was to be taken is not there any more")).and_then(|there| {
        read(there, offset, length, |bytes, at| {
            hasher.update(bytes);
            left = left.saturating_sub(bytes.len() as u64);
            target.write(at, bytes)?;
            call.goes_on();
            Ok(())
        })
    });
    let Ok(()) = zeros(left, |bytes, _| {
        hasher.update(bytes);
        Ok::<(), Infallible>(())
    });
    taken
}
