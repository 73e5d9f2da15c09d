//! Takes over what has come to all receivers of one plan: parts of one upload that came to several of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::sync::Arc;

use cpt_ends::entry_table::EntryTable;
use cpt_ends::{Begun, Gathered, GoesOn, Placed};
use cpt_process::thread::{lock, map};
use cpt_wire::digest::Digest;
use cpt_wire::documents::seat::Seat;
use cpt_wire::frame::SegmentHeader;

use super::large::Large;
use super::lines::{self, Line};
use super::notes::Notes;
use super::opened::Opened;
use super::others::{Others, SharedUpload};
use super::resuming::refuse;
use super::under_way::Inner;
use crate::fault::{Fault, Meaning};
use crate::uploads::{StoredPart, Upload};

/// Entries that S3 is asked about at once, between two looks whether anybody waits.
const AT_ONCE: usize = 16;

/// What one receiver has noted of an entry.
type NotedBy = (Seat, lines::Begun);
type Parts = BTreeMap<u64, (StoredPart, Digest)>;

/// One entry of which parts may be there.
struct Merged {
    header: SegmentHeader,
    upload: Upload,
    parts: Parts,
    /// Whether S3 is to say what it has: where somebody may have sent a part again, or the notes alone do not decide.
    is_asked: bool,
    /// The gatherer's own notes know the upload.
    is_noted: bool,
}

impl Opened {
    /// Reads what every receiver has noted, and becomes the only one that counts.
    pub fn take_over(&self, others: &Others, in_doubt: &[Seat], goes_on: GoesOn<'_>) -> io::Result<Gathered> {
        let failed = |fault: Fault| refuse(fault, &self.folder);
        self.shared.flush()?;
        let mut gathered = Gathered::default();
        let mut noted = BTreeMap::<u64, Vec<NotedBy>>::new();
        for seat in self.receivers()? {
            let folder = format!("{}{seat}/", self.folder);
            let known = Notes::read(&self.shared.bucket, &folder, &self.of).map_err(failed)?;
            known.placed.iter().for_each(|(entry, placed)| note_placed(&gathered.placed, entry, placed));
            known.begun.into_iter().for_each(|(entry, begun)| noted.entry(entry).or_default().push((seat, begun)));
            go_on(goes_on)?;
        }
        noted.retain(|entry, _| !gathered.placed.contains(*entry));
        lock(&self.begun).clear();
        lock(&self.shared.large).clear();
        let mut entries = noted.into_iter();
        loop {
            let next: Vec<_> = entries.by_ref().take(AT_ONCE).collect();
            if next.is_empty() {
                break;
            }
            let merged = map(AT_ONCE, next, |(entry, noted)| self.merge(others, entry, noted, in_doubt));
            for merged in merged {
                let Some(merged) = merged.map_err(failed)? else { continue };
                gathered.begun.push(self.begin(merged)?);
            }
            go_on(goes_on)?;
        }
        // Parts that are to come are noted as those of uploads that the notes name.
        self.shared.flush()?;
        others.gathered();
        Ok(gathered)
    }

    /// The last notes, where anybody may read them.
    pub fn leave(&self) -> io::Result<()> {
        let Some(others) = &self.shared.others else { return self.shared.flush() };
        // Whoever has finished has removed all notes: none is to come after that.
        if !self.shared.notes.is_flushed() && !self.presence.are_notes_gone() {
            self.shared.flush()?;
        }
        let bucket = &self.shared.bucket;
        // One that began after the end has nothing to say.
        let is_empty = bucket.wait(self.shared.notes.withdraw()).map_err(|fault| refuse(fault, &self.folder))?;
        if is_empty && self.receivers()?.is_empty() {
            bucket.wait(others.withdraw()).map_err(|fault| refuse(fault, &self.folder))?;
        }
        Ok(())
    }

    /// Whoever has noted anything.
    fn receivers(&self) -> io::Result<BTreeSet<Seat>> {
        let bucket = &self.shared.bucket;
        let listed = bucket.wait(bucket.all(&self.folder)).map_err(|fault| refuse(fault, &self.folder))?;
        let names = listed.iter().filter_map(|object| object.key.strip_prefix(&self.folder)?.split_once('/'));
        Ok(names.filter_map(|(name, _)| Seat::new(name).ok()).collect())
    }

    /// The parts of an entry that count, of the one upload that counts. Others are aborted. None where none does: it comes again.
    fn merge(&self, others: &Others, entry: u64, noted: Vec<NotedBy>, in_doubt: &[Seat]) -> Result<Option<Merged>, Fault> {
        let bucket = &self.shared.bucket;
        let Some(shared) = agreed(&noted).map_or_else(|| bucket.wait(others.noted(entry)), |shared| Ok(Some(shared)))? else {
            noted.iter().try_for_each(|(_, begun)| bucket.wait(bucket.abort(&begun.upload)))?;
            return Ok(None);
        };
        let SharedUpload { upload, header } = shared;
        let is_doubtful = noted.iter().any(|(seat, _)| in_doubt.contains(seat));
        let (ours, strays): (Vec<_>, Vec<_>) = noted.into_iter().partition(|(_, begun)| begun.upload == upload);
        // A receiver that died between its own upload and the one that was noted before it.
        strays.iter().try_for_each(|(_, begun)| bucket.wait(bucket.abort(&begun.upload)))?;
        let is_noted = ours.iter().any(|(seat, _)| *seat == self.seat);
        let (parts, differ) = union(ours.into_iter().filter(|(_, begun)| begun.size == header.size).map(|(_, begun)| begun.parts));
        let is_whole = parts.len() as u64 == header.size.div_ceil(self.shared.part_size.max(1));
        let mut merged = Merged { header, upload, parts, is_asked: is_doubtful || differ || !is_whole, is_noted };
        if merged.is_asked {
            self.ask(&mut merged, is_whole)?;
        }
        Ok(Some(merged))
    }

    /// Leaves what S3 has of the parts, under the entity tags that it has them.
    fn ask(&self, merged: &mut Merged, is_whole: bool) -> Result<(), Fault> {
        let bucket = &self.shared.bucket;
        match bucket.wait(bucket.parts(&merged.upload)) {
            Ok(there) => merged.parts.retain(|part, (stored, _)| {
                let found = there.get(part).filter(|found| found.crc == stored.crc);
                found.is_some_and(|found| {
                    stored.clone_from(found);
                    true
                })
            }),
            // An earlier receiver may have completed it: that is seen when it is completed again.
            Err(fault) if fault.meaning == Meaning::NoUpload && is_whole => {}
            Err(fault) if fault.meaning == Meaning::NoUpload => merged.parts.clear(),
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// The file as this receiver goes on with it.
    fn begin(&self, merged: Merged) -> io::Result<Begun> {
        let Merged { header, upload, parts, is_noted, .. } = merged;
        let key = upload.key.clone();
        let is_gone = parts.is_empty();
        if !is_noted && !is_gone {
            self.shared.notes.add(&Line::shared_upload(&header, &upload));
        }
        if is_gone {
            self.abort(&upload)?;
            self.shared.notes.add(&Line::UploadOver { entry: header.entry });
        }
        let stored = parts.iter().map(|(part, (stored, _))| (*part, stored.clone())).collect();
        let digests = parts.into_iter().map(|(part, (_, digest))| (part, digest)).collect();
        let begun = (!is_gone).then_some((upload, stored));
        let file = Arc::new(Inner::new(&self.shared, &header, key, begun));
        lock(&self.shared.large).insert(header.entry, Arc::clone(&file));
        Ok(Begun { header, file: Box::new(Large(file)), parts: digests })
    }
}

/// The upload that all receivers of an entry have noted, with one header; none where they do not agree, or did not note what it is to become.
fn agreed(noted: &[NotedBy]) -> Option<SharedUpload> {
    let (_, first) = noted.first()?;
    let header = first.header.clone()?;
    let agree = noted.iter().all(|(_, begun)| begun.upload == first.upload && begun.header.as_ref() == Some(&header));
    agree.then(|| SharedUpload { upload: first.upload.clone(), header })
}

/// The parts that receivers have, and whether S3 is to say under which entity tag one is there. One that two have with different
/// digests counts as not there.
fn union(all: impl Iterator<Item = Parts>) -> (Parts, bool) {
    let (mut found, mut differ, mut is_asked) = (Parts::new(), HashSet::new(), false);
    for (part, (stored, digest)) in all.flatten() {
        if let Some((known, other)) = found.get(&part) {
            if *other != digest || known.crc != stored.crc {
                differ.insert(part);
            }
            is_asked |= *known != stored;
        }
        found.insert(part, (stored, digest));
    }
    found.retain(|part, _| !differ.contains(part));
    (found, is_asked)
}

/// Which of two receivers was the last to place an entry nobody knows: it is read again at the end.
fn note_placed(known: &EntryTable<Placed>, entry: u64, placed: Placed) {
    let placed = match known.get(entry) {
        Some(other) if other != placed => Placed { version: None, ..placed },
        _ => placed,
    };
    known.insert(entry, &placed);
}

/// An error where nobody waits for what is gathered.
fn go_on(goes_on: GoesOn<'_>) -> io::Result<()> {
    if goes_on(0) { Ok(()) } else { Err(io::Error::new(io::ErrorKind::Interrupted, "nobody waits for it any more")) }
}
