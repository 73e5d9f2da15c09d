//! Memory that whatever reads back what is stored may read into.

use crate::defaults::READBACK_BYTES;

/// What direct reads need their memory and offsets to be a multiple of; no disk has larger sectors.
const ALIGNMENT: usize = 4096;

/// Memory for direct reads of `READBACK_BYTES`.
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

impl Buffer {
    #[must_use]
    pub fn new() -> Self {
        let bytes = vec![0; READBACK_BYTES + ALIGNMENT];
        // Not asked of a pointer that cannot tell: then reads are not direct, as EINVAL shows.
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { bytes, start }
    }

    pub fn aligned(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + READBACK_BYTES]
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}
