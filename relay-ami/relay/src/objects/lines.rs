//! Lists that are written line by line, into objects of at most so many lines.

use serde::Serialize;

use crate::control::{Control, ControlError};
use crate::defaults::PART_LINES;
use crate::documents::survey::part_key;

/// The list of one folder, in objects `{folder}part-NNNNN.ndjson`; a folder without lines has none.
pub struct LineObjects<'a> {
    control: &'a dyn Control,
    folder: String,
    lines: Vec<u8>,
    count: usize,
    parts: u64,
    digest: blake3::Hasher,
}

impl<'a> LineObjects<'a> {
    pub fn new(control: &'a dyn Control, folder: String) -> Self {
        Self { control, folder, lines: Vec::new(), count: 0, parts: 0, digest: blake3::Hasher::new() }
    }

    /// Adds a document.
    pub fn add(&mut self, document: &impl Serialize) -> Result<(), ControlError> {
        let malformed = |error: serde_json::Error| ControlError::Malformed { what: self.folder.clone(), why: error.to_string() };
        serde_json::to_writer(&mut self.lines, document).map_err(malformed)?;
        self.end_line()
    }

    /// Adds a line as it is, without its end.
    pub fn add_line(&mut self, line: &[u8]) -> Result<(), ControlError> {
        self.lines.extend_from_slice(line);
        self.end_line()
    }

    /// Writes what is left; returns how many objects there are, and the digest of them, one after the other.
    pub fn finish(&mut self) -> Result<(u64, blake3::Hash), ControlError> {
        self.write()?;
        Ok((self.parts, self.digest.finalize()))
    }

    fn end_line(&mut self) -> Result<(), ControlError> {
        self.lines.push(b'\n');
        self.count += 1;
        if self.count < PART_LINES { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> Result<(), ControlError> {
        if self.count == 0 {
            return Ok(());
        }
        let key = part_key(&self.folder, self.parts);
        self.parts += 1;
        self.count = 0;
        self.digest.update(&self.lines);
        self.control.write_object(&key, std::mem::take(&mut self.lines))
    }
}
