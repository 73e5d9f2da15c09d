//! What a destination itself has stored of files in their places, where it tells.

use std::ops::Range;

use super::found::{Evidence, Found, Verdict};
use super::judge::Judging;
use crate::documents::entry::{Kind, ListedLine};
use crate::documents::percent;
use crate::ends::{InPlace, OpenDestination};

/// Judges files that a look has taken for those that were placed by what is stored of them now. The entries of lines that are not files
/// are as they were judged.
pub fn judge(destination: &dyn OpenDestination, judging: &Judging<'_>, text: &[u8], lines: &[(Range<usize>, u64)], found: &mut Found) {
    let mut files = Vec::with_capacity(lines.len());
    for (line, entry) in lines {
        // The look has parsed each of them.
        let Ok(listed) = ListedLine::parse(&text[line.clone()]) else { continue };
        let Some((placed, path)) = judging.placed.get(*entry).zip(percent::decode(&listed.path).ok()) else { continue };
        if listed.kind == Kind::File && listed.size > 0 {
            files.push((line, *entry, path, placed.digest));
        }
    }
    let in_place: Vec<InPlace<'_>> =
        files.iter().map(|(_, entry, path, digest)| InPlace { entry: *entry, path, digest: *digest }).collect();
    let compared = judging.reading.during(|heard| destination.compare_stored(&in_place, judging.proof, heard));
    for ((line, entry, ..), result) in files.iter().zip(compared) {
        if let Err(why) = result {
            found.note(&text[(*line).clone()], Evidence::Planned(*entry), Verdict::Lacking(why));
        }
    }
}
