//! The lines of the manifest that chunks stand for.

use std::sync::Arc;

use super::error::SendError;
use super::work::Work;
use crate::control::Control;
use crate::defaults::MANIFEST_READ_BYTES;
use crate::documents::chunk::Chunk;

/// The manifest's objects.
#[derive(Clone)]
pub struct Manifests {
    pub control: Arc<dyn Control>,
    /// Of objects' keys; it ends with a slash or is empty.
    pub prefix: String,
}

impl Manifests {
    /// The work that adjacent chunks are.
    pub fn read<'a>(&self, run: &[&'a Chunk]) -> Result<Vec<(&'a Chunk, Work)>, SendError> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(Vec::new()) };
        let bytes =
            self.control.read_object(&format!("{}{}", self.prefix, first.manifest_key), Some(first.manifest_start..last.manifest_end))?;
        let at = |offset: u64| usize::try_from(offset - first.manifest_start).unwrap_or(usize::MAX);
        let work = |chunk: &'a Chunk| -> Result<(&'a Chunk, Work), SendError> {
            let lines = bytes.get(at(chunk.manifest_start)..at(chunk.manifest_end));
            let lines =
                lines.ok_or_else(|| SendError::Plan(format!("chunk {} lies beyond the end of {}", chunk.chunk, chunk.manifest_key)))?;
            let Chunk { attempt, phase, bytes, files, .. } = *chunk;
            Ok((
                chunk,
                Work { chunk: chunk.chunk, attempt, phase, bytes, files, manifest: Arc::from(lines), again: false, flight: Arc::default() },
            ))
        };
        run.iter().map(|chunk| work(chunk)).collect()
    }
}

/// Runs of chunks whose lines follow each other in one object, as far as one read goes.
pub fn adjacent<'a>(chunks: impl Iterator<Item = &'a Chunk>) -> Vec<Vec<&'a Chunk>> {
    let mut runs: Vec<Vec<&Chunk>> = Vec::new();
    for chunk in chunks {
        let follows = runs.last().and_then(|run| run.first().zip(run.last())).is_some_and(|(first, last)| {
            last.manifest_key == chunk.manifest_key
                && last.manifest_end == chunk.manifest_start
                && chunk.manifest_end - first.manifest_start <= MANIFEST_READ_BYTES
        });
        match runs.last_mut() {
            Some(run) if follows => run.push(chunk),
            _ => runs.push(vec![chunk]),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(number: u64, key: &str, start: u64, end: u64) -> Chunk {
        let text = include_str!("../../../../contracts/examples/good/chunk/pending.json");
        let chunk = Chunk::parse(text.as_bytes()).unwrap();
        Chunk { chunk: number, manifest_key: key.to_owned(), manifest_start: start, manifest_end: end, ..chunk }
    }

    #[test]
    fn chunks_are_read_together_where_their_lines_follow_each_other_in_one_object() {
        let full = MANIFEST_READ_BYTES;
        let chunks = [
            chunk(0, "a", 0, 10),
            chunk(1, "a", 10, 20),
            chunk(2, "a", 30, 40),               // one between them is settled
            chunk(3, "b", 40, 50),               // another object
            chunk(4, "b", 50, 40 + full),        // as much as one read takes
            chunk(5, "b", 40 + full, 41 + full), // more than that
        ];
        let runs: Vec<Vec<u64>> = adjacent(chunks.iter()).iter().map(|run| run.iter().map(|chunk| chunk.chunk).collect()).collect();
        assert_eq!(runs, [vec![0, 1], vec![2], vec![3, 4], vec![5]]);
        assert!(adjacent(std::iter::empty()).is_empty());
    }
}
