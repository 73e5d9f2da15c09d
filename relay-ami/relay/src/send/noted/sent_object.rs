//! What the chunks of one range stood for, as the sender that settled it writes it down for whoever finishes: the records of its journal.

use std::collections::HashMap;
use std::io;

use super::records::{LeftOut, Sent};
use super::sent_journal::{FORMAT, PLAN, Record, chunk_record, encode, fill, left_out_record, record};
use crate::digest::Proof;
use crate::documents::text::PlanId;

/// What is known of a range.
#[derive(Debug, Default)]
pub struct SentRange {
    pub chunks: HashMap<u64, Sent>,
    pub left_out: Vec<LeftOut>,
}

/// The object's key below the folder of digests.
pub fn key(folder: &str, range: u64) -> String {
    format!("{folder}/sent/{range:07}")
}

/// The object of a range.
pub fn write(plan: &PlanId, proof: Proof, sent: &[(u64, Sent)], left_out: &[LeftOut]) -> io::Result<Vec<u8>> {
    let mut bytes = head(plan, proof);
    for one in left_out {
        bytes.extend(left_out_record(one)?);
    }
    sent.iter().for_each(|(chunk, sent)| bytes.extend(chunk_record(*chunk, sent)));
    Ok(bytes)
}

/// Reads an object as far as its records are whole; nothing where it is of another plan, or of digests of another kind.
pub fn read(plan: &PlanId, proof: Proof, bytes: &[u8]) -> io::Result<SentRange> {
    let (mut reader, head, mut found) = (bytes, head(plan, proof), SentRange::default());
    let mut first = vec![0; head.len()];
    if !fill(&mut reader, &mut first)? || first != head {
        return Ok(found);
    }
    while let Some((record, _)) = record(&mut reader)? {
        match record {
            Record::Chunk(chunk, sent) => {
                found.chunks.insert(chunk, sent);
            }
            Record::LeftOut(left_out) => found.left_out.push(left_out),
        }
    }
    Ok(found)
}

fn head(plan: &PlanId, proof: Proof) -> Vec<u8> {
    encode(PLAN, &proof.of_journal(FORMAT, plan.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::event::SkipReason;
    use crate::ends::Version;
    use crate::send::builders::{plan, segment};

    #[test]
    fn an_object_says_what_each_chunk_stood_for_and_what_was_left_out() {
        let part = Sent::Part { entry: 7, size: 3000, offset: 1024, state: Version::of_numbers((5, -6)), digest: [7; 32] };
        let whole = Sent::Whole(vec![(1, [1; 32]), (2, [2; 32])]);
        let left_out = LeftOut::of(&segment(3, "a"), SkipReason::SourceChanged, "it grew");
        let bytes = write(&plan().plan_id, Proof::Blake3, &[(4, part), (9, whole)], std::slice::from_ref(&left_out)).unwrap();
        let found = read(&plan().plan_id, Proof::Blake3, &bytes).unwrap();
        assert_eq!(found.left_out, [left_out]);
        assert!(matches!(&found.chunks[&9], Sent::Whole(entries) if *entries == [(1, [1; 32]), (2, [2; 32])]));
        let Sent::Part { entry: 7, size: 3000, offset: 1024, state, digest } = &found.chunks[&4] else { panic!("{found:?}") };
        assert_eq!((*state, *digest), (Version::of_numbers((5, -6)), [7; 32]));
        assert!(read(&plan().plan_id, Proof::Crc64, &bytes).unwrap().chunks.is_empty(), "digests of another kind");
        let torn = read(&plan().plan_id, Proof::Blake3, &bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(torn.chunks.keys().collect::<Vec<_>>(), [&4]);
    }
}
