//! The last handshake: both ends have the same files.

use std::collections::BTreeMap;

use super::journal::Known;
use super::{Outcome, Shared};
use crate::control::{Control, ControlError, Side};
use crate::defaults::PART_LINES;
use crate::digest::{Digest, to_hex, tree_digest};
use crate::documents::text::HexDigest;
use crate::stream::{Replies, StreamError};
use crate::wire::frame::Frame;

/// What the sender says about the whole.
pub(super) struct Claim {
    pub complete: bool,
    pub compare: bool,
    pub files: u64,
    pub tree: Digest,
}

/// Compares, uploads this end's digests, answers. The process ends once the sender has confirmed that it heard.
pub(super) fn finish(shared: &Shared, replies: &Replies, claim: &Claim) -> Result<Outcome, StreamError> {
    let Claim { complete, compare, files, tree } = *claim;
    let digests = shared.files.digests();
    let own = tree_digest(digests.iter());
    let unfinished = if complete { shared.files.unfinished() } else { 0 };
    let agreed = unfinished == 0 && (!compare || (files == digests.len() as u64 && own == tree));
    let message = if agreed {
        String::new()
    } else if unfinished > 0 {
        format!("{unfinished} large files lack parts")
    } else {
        format!("the receiver has {} files with digest {}, the sender {files} with {}", digests.len(), to_hex(&own), to_hex(&tree))
    };
    tracing::info!(agreed, complete, files = digests.len(), "finish");
    let upload = || upload_digests(&*shared.control, &shared.prefix, Side::Receiver, &digests);
    shared.until_answered("digests", upload).ok_or(StreamError::Ended)?;
    let _call = shared.disk.enter();
    shared.tree.sync()?;
    // A comparison of everything proves that no partial file is needed any more. Where chunks were given up the transfer is
    // over too, and nothing resumes it. Partial files stay where it was stopped, or has ended without agreement.
    if agreed && let Err(error) = shared.tree.remove_partial() {
        tracing::warn!(%error, "partial files");
    }
    replies.send(&Frame::Finished { agreed, message: message.clone() })?;
    Ok(if agreed { Outcome::Agreed } else { Outcome::Disagreed(message) })
}

/// Writes `digests/{side}/part-NNNNN.ndjson`.
pub fn upload_digests(control: &dyn Control, prefix: &str, side: Side, digests: &BTreeMap<u64, Digest>) -> Result<(), ControlError> {
    let mut lines = digests.iter().peekable();
    let mut part = 0;
    while lines.peek().is_some() {
        let text: String = lines
            .by_ref()
            .take(PART_LINES)
            .map(|(entry, digest)| format!("{{\"entry\": {entry}, \"digest\": \"{}\"}}\n", to_hex(digest)))
            .collect();
        control.write_object(&part_key(prefix, side, part), text.into_bytes())?;
        part += 1;
    }
    Ok(())
}

/// What a receiver before this one uploaded when it finished: then its partial files are gone, and its journal with them.
pub fn uploaded(control: &dyn Control, prefix: &str) -> Known {
    #[derive(serde::Deserialize)]
    struct Line {
        entry: u64,
        digest: HexDigest,
    }
    let mut known = Known::default();
    for part in 0.. {
        let Ok(text) = control.read_object(&part_key(prefix, Side::Receiver, part), None) else { break };
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Line>(line).ok());
        known.whole.extend(lines.filter_map(|line| Some((line.entry, blake3::Hash::from_hex(line.digest.as_str()).ok()?.into()))));
    }
    known
}

fn part_key(prefix: &str, side: Side, part: usize) -> String {
    format!("{prefix}digests/{}/part-{part:05}.ndjson", side.as_str())
}
