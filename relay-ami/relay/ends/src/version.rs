//! What tells one state of a file from another.

/// A state of a file. Its kind makes it and may read it; everybody else compares it, and keeps it where documents and journals have room
/// for two numbers. Of a POSIX tree: inode and change time, which the kernel alone sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Version([u8; Self::BYTES]);

impl Version {
    pub const BYTES: usize = 16;
    /// Of what has none.
    pub const NONE: Self = Self([0; Self::BYTES]);

    #[must_use]
    pub const fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub const fn bytes(self) -> [u8; Self::BYTES] {
        self.0
    }

    /// Of the numbers that a document has for it.
    #[must_use]
    pub const fn of_numbers((first, second): (u64, i64)) -> Self {
        Self(((first as u128) << 64 | second.cast_unsigned() as u128).to_be_bytes())
    }

    /// As a document has it.
    #[must_use]
    pub const fn numbers(self) -> (u64, i64) {
        let both = u128::from_be_bytes(self.0);
        ((both >> 64) as u64, (both as u64).cast_signed())
    }
}
