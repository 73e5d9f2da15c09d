//! How well the data of a source packs, by a sample of it: pieces at even distances in all that is listed.

use std::io;
use std::time::{Duration, Instant};

use crate::documents::percent;
use crate::ends::Source;
use crate::secure::record::DATA_BYTES;
use crate::transport::packing::Packer;

/// Pieces that are read at most. With 64 the share is right to about a tenth, if half of the data packs well and half not at all.
const MOST: usize = 64;
/// Time for reading and packing them: 64 seeks of 10 ms, and as much again.
const WITHIN: Duration = Duration::from_secs(2);

/// A piece of a file, by the file's name in the listing and an offset.
type Place = (String, u64);

/// Chooses the pieces while the source is listed.
#[derive(Debug)]
pub struct Sample {
    places: Vec<Place>,
    /// Bytes from one piece to the next.
    distance: u64,
    /// Bytes that were listed.
    listed: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self { places: Vec::new(), distance: DATA_BYTES as u64, listed: 0 }
    }
}

impl Sample {
    /// A file follows in the listing.
    pub fn take(&mut self, source: &str, size: u64) {
        while self.next() < self.listed + size {
            let offset = self.next() - self.listed;
            self.places.push((source.to_owned(), offset - offset % DATA_BYTES as u64));
            if self.places.len() == MOST {
                // Every other one goes, so that those that stay have twice the distance.
                let mut number = 0;
                self.places.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.distance *= 2;
            }
        }
        self.listed += size;
    }

    /// Where the next piece is, in all that is listed.
    fn next(&self) -> u64 {
        self.distance * self.places.len() as u64
    }

    /// Bytes on the wire for a byte of the source, at the fastest level; none where nothing could be read.
    pub fn packed_share(&self, source: &dyn Source) -> Option<f64> {
        let began = Instant::now();
        let mut packer = Packer::new().ok()?;
        let mut buffer = vec![0; DATA_BYTES];
        let (mut plain, mut wire) = (0, 0);
        // Even ones first: what time is left for is spread over all of the source too.
        let order = self.places.iter().step_by(2).chain(self.places.iter().skip(1).step_by(2));
        for (name, offset) in order {
            if began.elapsed() >= WITHIN {
                break;
            }
            // Whoever removed or locked a file is told so when it is sent.
            let Ok((read, packed)) = one(source, name, *offset, &mut buffer, &mut packer) else { continue };
            plain += read;
            wire += packed;
        }
        (plain > 0).then(|| wire as f64 / plain as f64)
    }
}

fn one(source: &dyn Source, name: &str, offset: u64, buffer: &mut [u8], packer: &mut Packer) -> io::Result<(usize, usize)> {
    let count = source.sample(&percent::decode(name).map_err(io::Error::other)?, offset, buffer)?;
    Ok((count, packer.trial(&buffer[..count])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(sizes: &[u64]) -> Sample {
        let mut sample = Sample::default();
        for (number, size) in sizes.iter().enumerate() {
            sample.take(&number.to_string(), *size);
        }
        sample
    }

    #[test]
    fn pieces_lie_at_even_distances_whatever_the_files_are() {
        for sizes in [vec![1 << 40], vec![10_000; 100_000], (0..1000).map(|number| number * number * 50).collect(), vec![1, 2, 3]] {
            let (sample, all) = (places(&sizes), sizes.iter().sum::<u64>());
            let count = sample.places.len() as u64;
            assert!(count >= (MOST as u64 / 2).min(1) && count < MOST as u64, "{count} pieces of {all} bytes");
            let mut starts = vec![0];
            sizes.iter().for_each(|size| starts.push(starts.last().unwrap() + size));
            for (number, (name, offset)) in sample.places.iter().enumerate() {
                let file: usize = name.parse().unwrap();
                assert!(*offset < sizes[file] && offset.is_multiple_of(DATA_BYTES as u64));
                let at = starts[file] + offset;
                assert!(at.abs_diff(number as u64 * sample.distance) < DATA_BYTES as u64, "piece {number} at {at}");
            }
            assert!(count * sample.distance + sample.distance > all, "the last piece is near the end");
        }
    }

    #[test]
    fn nothing_is_chosen_of_nothing() {
        assert!(places(&[]).places.is_empty());
        assert!(places(&[0, 0]).places.is_empty());
    }
}
