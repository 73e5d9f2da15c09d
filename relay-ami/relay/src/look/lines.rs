//! Lines of the objects that a look reads.

use std::io::BufRead as _;
use std::ops::Range;

use crate::control::{Control, ControlError};
use crate::documents::entry::{with_basis, with_same};
use crate::documents::survey::part_key;

/// The lines of a folder's objects, one after the other.
pub struct Lines<'a> {
    control: &'a dyn Control,
    prefix: &'a str,
    folder: &'a str,
    parts: Range<u64>,
    text: Vec<u8>,
    at: usize,
}

impl<'a> Lines<'a> {
    pub fn new(control: &'a dyn Control, prefix: &'a str, folder: &'a str, parts: u64) -> Result<Self, ControlError> {
        let mut lines = Self { control, prefix, folder, parts: 0..parts, text: Vec::new(), at: 0 };
        lines.fill()?;
        Ok(lines)
    }

    fn fill(&mut self) -> Result<(), ControlError> {
        while self.at >= self.text.len() {
            let Some(part) = self.parts.next() else { return Ok(()) };
            self.text = self.control.read_object(&format!("{}{}", self.prefix, part_key(self.folder, part)), None)?;
            self.at = 0;
        }
        Ok(())
    }

    /// Returns whether `line` is the next one, which is taken then.
    pub fn is_next(&mut self, line: &[u8]) -> Result<bool, ControlError> {
        let rest = &self.text[self.at.min(self.text.len())..];
        let next = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_next = !next.is_empty() && (next == line || next == with_basis(line) || next == with_same(line));
        if is_next {
            self.at += next.len() + 1;
            self.fill()?;
        }
        Ok(is_next)
    }

    pub fn end(self) -> Result<(), ControlError> {
        if self.at >= self.text.len() {
            Ok(())
        } else {
            Err(malformed(self.folder, "holds lines that the listing does not have".to_owned()))
        }
    }
}

/// The places of a text's lines, without their ends and without empty ones.
pub fn lines_of(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let at = text.len() - rest.len();
        // A slice is read without errors; the newline is part of what is skipped.
        let skipped = rest.skip_until(b'\n').ok().filter(|count| *count > 0)?;
        let length = skipped - usize::from(text[at + skipped - 1] == b'\n');
        Some(at..at + length)
    })
    .filter(|line| !line.is_empty())
}

/// An object that is not what it should be.
pub fn malformed(what: &str, why: String) -> ControlError {
    ControlError::Malformed { what: what.to_owned(), why }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
