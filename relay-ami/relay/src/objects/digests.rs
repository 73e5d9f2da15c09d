//! The digests of an end's entries, for the other end's comparison.

use std::sync::Arc;

use serde::Deserialize;

use crate::control::{Control, ControlError, Seat};
use crate::defaults::PART_LINES;
use crate::digest::{Digest, TreeDigest};
use crate::documents::text::{HexDigest, PlanId};

/// The place of both ends' digests: below the plan's own id, so that those of another plan are never read.
pub struct Digests {
    control: Arc<dyn Control>,
    folder: String,
}

#[derive(Deserialize)]
struct Line {
    entry: u64,
    digest: HexDigest,
}

impl Digests {
    /// `prefix` of objects' keys ends with a slash or is empty.
    #[must_use]
    pub fn new(control: Arc<dyn Control>, prefix: &str, plan: &PlanId) -> Self {
        Self { control, folder: format!("{prefix}digests/{plan}") }
    }

    /// Ends without a slash.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Writes `digests/{plan}/{seat}/part-NNNNN.ndjson`, ascending. Returns how many they are, and the digest of them all.
    pub fn upload(&self, seat: Seat, digests: impl Iterator<Item = (u64, Digest)>) -> Result<(u64, Digest), ControlError> {
        let (mut lines, mut tree, mut part) = (digests.peekable(), TreeDigest::default(), 0);
        while lines.peek().is_some() {
            let mut text = Vec::new();
            for (entry, digest) in lines.by_ref().take(PART_LINES) {
                tree.add(entry, &digest);
                text.extend_from_slice(b"{\"entry\": ");
                text.extend_from_slice(entry.to_string().as_bytes());
                text.extend_from_slice(b", \"digest\": \"");
                text.extend_from_slice(blake3::Hash::from_bytes(digest).to_hex().as_bytes());
                text.extend_from_slice(b"\"}\n");
            }
            self.control.write_object(&self.key(seat, part), text)?;
            part += 1;
        }
        Ok(tree.finish())
    }

    /// Reads what a seat has uploaded, so many `entries`, an object at a time.
    pub fn uploaded(&self, seat: Seat, entries: u64) -> impl Iterator<Item = Result<(u64, Digest), ControlError>> + '_ {
        (0..entries.div_ceil(PART_LINES as u64)).flat_map(move |part| {
            let key = self.key(seat, usize::try_from(part).unwrap_or(usize::MAX));
            let read = self.control.read_object(&key, None).and_then(|text| lines_of(&key, &text));
            read.map_or_else(|error| vec![Err(error)], |lines| lines.into_iter().map(Ok).collect())
        })
    }

    fn key(&self, seat: Seat, part: usize) -> String {
        format!("{}/{seat}/part-{part:05}.ndjson", self.folder)
    }
}

fn lines_of(key: &str, text: &[u8]) -> Result<Vec<(u64, Digest)>, ControlError> {
    let malformed = |why: String| ControlError::Malformed { what: key.to_owned(), why };
    let lines = serde_json::Deserializer::from_slice(text).into_iter::<Line>();
    let parsed = lines.map(|line| {
        let line = line.map_err(|error| malformed(error.to_string()))?;
        let digest = blake3::Hash::from_hex(line.digest.as_str()).map_err(|error| malformed(error.to_string()))?;
        Ok((line.entry, digest.into()))
    });
    parsed.collect()
}
