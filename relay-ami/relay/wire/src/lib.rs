//! Documents and frames that cross a border. All integers are big-endian; every length is bounded before anything is allocated.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod block;
mod codes;
pub mod digest;
pub mod documents;
pub mod frame;
pub mod header_text;
pub mod route;

/// Version that ready files and surveys carry: all crates of the daemon have the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A peer sent what the protocol does not allow.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WireError {
    #[error("{what} ends after {have} bytes, {need} are needed")]
    Short { what: &'static str, have: usize, need: usize },
    #[error("{what} has {left} bytes too many")]
    Long { what: &'static str, left: usize },
    #[error("{what} is {value}, which this version does not know")]
    Unknown { what: &'static str, value: u64 },
    #[error("{what} is not text: {why}")]
    NotText { what: &'static str, why: String },
    #[error("the other end speaks frames of version {theirs}, this one of version {ours}: both must be of one release")]
    Version { theirs: u16, ours: u16 },
    #[error("the route header's signature is not the sender's")]
    BadSignature,
}

/// Takes fields from the front of a buffer.
pub struct Fields<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    #[must_use]
    pub const fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, rest: bytes }
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (head, rest) =
            self.rest.split_at_checked(length).ok_or(WireError::Short { what: self.what, have: self.rest.len(), need: length })?;
        self.rest = rest;
        Ok(head)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16, WireError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    /// Bytes behind a 16-bit length.
    pub fn bytes16(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.u16()?;
        self.take(usize::from(length))
    }

    /// UTF-8 behind a 16-bit length.
    pub fn text16(&mut self) -> Result<String, WireError> {
        let what = self.what;
        String::from_utf8(self.bytes16()?.to_vec()).map_err(|error| WireError::NotText { what, why: error.to_string() })
    }

    pub fn end(self) -> Result<(), WireError> {
        if self.rest.is_empty() { Ok(()) } else { Err(WireError::Long { what: self.what, left: self.rest.len() }) }
    }
}

/// Writes bytes behind a 16-bit length; longer ones are cut, which no caller's input reaches (paths end at 4096).
fn put16(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&bytes[..usize::from(length)]);
}
