//! Where the bytes of one segment go.

use std::fs::File;
use std::io::{self, Write as _};

use super::large::Part;

pub enum Target {
    Part(Part),
    Whole(File, String),
    Link(String),
    Directory,
    Nowhere,
}

impl Target {
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Part(part) => part.file.write(part.index, part.token, offset, bytes),
            Self::Whole(file, _) => file.write_all(bytes),
            Self::Link(_) | Self::Directory | Self::Nowhere => Ok(()),
        }
    }
}
