//! A list of paths that lies in objects, in step with a walk over another tree.

use std::cmp::Ordering;
use std::ops::Range;

use crate::above::order;
use crate::control::{Control, ControlError};
use crate::documents::survey::part_key;
use crate::documents::text::HexDigest;

/// What a line says of its path; none where the path is not one of those that are walked.
pub type Read<T> = fn(&[u8]) -> Result<Option<(Vec<u8>, T)>, String>;

/// The objects of a folder, whose lines have paths in the order of a walk: one object is in memory at a time.
pub struct Paths<'a, T> {
    control: &'a dyn Control,
    folder: String,
    parts: Range<u64>,
    digest: blake3::Hasher,
    read: Read<T>,
    text: Vec<u8>,
    at: usize,
    next: Option<(Vec<u8>, T)>,
    /// What the list does not have and is given with it, the last one first.
    besides: Vec<(Vec<u8>, T)>,
    /// Path of what was given last.
    last: Vec<u8>,
}

impl<'a, T> Paths<'a, T> {
    pub fn new(control: &'a dyn Control, folder: String, parts: u64, read: Read<T>) -> Result<Self, ControlError> {
        let digest = blake3::Hasher::new();
        let (text, at, next, besides, last) = (Vec::new(), 0, None, Vec::new(), Vec::new());
        let mut paths = Self { control, folder, parts: 0..parts, digest, read, text, at, next, besides, last };
        paths.advance()?;
        Ok(paths)
    }

    /// Gives these, too, in their places. Where the list has one of these paths, what it says counts.
    pub fn beside(self, mut others: Vec<(Vec<u8>, T)>) -> Self {
        others.sort_by(|(one, _), (other, _)| order(other, one));
        Self { besides: others, ..self }
    }

    /// Path of the next line, or of what comes before it.
    fn next(&self) -> Option<&[u8]> {
        let (line, other) = (self.next.as_ref().map(|(path, _)| &**path), self.besides.last().map(|(path, _)| &**path));
        match (line, other) {
            (Some(line), Some(other)) => Some(if order(other, line) == Ordering::Less { other } else { line }),
            (line, other) => line.or(other),
        }
    }

    /// What the list says of `path`, once all that comes before it was passed.
    pub fn take(&mut self, path: &[u8]) -> Result<Option<T>, ControlError> {
        if self.next() == Some(path) { Ok(self.give()?.map(|(_, said)| said)) } else { Ok(None) }
    }

    /// The next line whose path comes before this one; without one, the next of all that are left.
    pub fn pass(&mut self, path: Option<&[u8]>) -> Result<Option<(Vec<u8>, T)>, ControlError> {
        let comes_before = |next: &[u8]| path.is_none_or(|path| order(next, path) == Ordering::Less);
        if self.next().is_some_and(comes_before) { self.give() } else { Ok(None) }
    }

    fn give(&mut self) -> Result<Option<(Vec<u8>, T)>, ControlError> {
        let line = self.next.as_ref().map(|(path, _)| &**path);
        if let Some(other) = self.besides.pop_if(|(other, _)| line.is_none_or(|line| order(other, line) == Ordering::Less)) {
            return Ok(Some(other));
        }
        if let Some(line) = line {
            self.besides.pop_if(|(other, _)| other == line);
        }
        let given = self.next.take();
        if let Some((path, _)) = &given {
            path.clone_into(&mut self.last);
        }
        self.advance()?;
        Ok(given)
    }

    /// Reads the rest. Fails where the objects are not those with this digest: whatever was found in them is then worth nothing.
    pub fn end(mut self, digest: Option<&HexDigest>) -> Result<(), ControlError> {
        while self.give()?.is_some() {}
        match digest {
            Some(digest) if self.digest.finalize().to_hex().as_str() != digest.as_str() => {
                Err(self.malformed("its objects are not those that the source's scan has written".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn advance(&mut self) -> Result<(), ControlError> {
        while let Some(line) = self.line()? {
            let text = &self.text[line];
            let Some(next) = (self.read)(text).map_err(|why| self.malformed(why))? else { continue };
            // What is not in order would be looked for in the wrong place, and be taken for missing.
            if order(&next.0, &self.last) == Ordering::Less {
                return Err(self.malformed("its lines are not in order".to_owned()));
            }
            self.next = Some(next);
            return Ok(());
        }
        Ok(())
    }

    /// The next line that is not empty, as a range of `text`.
    fn line(&mut self) -> Result<Option<Range<usize>>, ControlError> {
        loop {
            if self.at >= self.text.len() {
                let Some(part) = self.parts.next() else { return Ok(None) };
                self.text = self.control.read_object(&part_key(&self.folder, part), None)?;
                self.digest.update(&self.text);
                self.at = 0;
                continue;
            }
            let rest = &self.text[self.at..];
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let line = self.at..self.at + length;
            self.at = line.end + 1;
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
    }

    fn malformed(&self, why: String) -> ControlError {
        ControlError::Malformed { what: self.folder.clone(), why }
    }
}
