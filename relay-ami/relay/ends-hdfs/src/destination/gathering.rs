//! Takes over what has come to all receivers of one plan.

use std::io;
use std::sync::Arc;

use cpt_ends::{Begun, Gathered, GoesOn, Placed};
use cpt_process::thread::map;
use cpt_wire::documents::seat::Seat;
use cpt_wire::frame::SegmentHeader;
use cpt_wire::header_text::decode;

use super::joining::kept_parts;
use super::large::{HEAD, Large};
use super::opened::Opened;
use super::parts::digests;
use super::writing::read;
use crate::path::{below, join, split};

/// Files of which the name node is asked at once.
const AT_ONCE: usize = 16;

impl Opened {
    /// Takes from every receiver what it writes by, and becomes the only one that counts. What one that was given up, and wakes, still
    /// does comes to nothing, so nothing has to be copied.
    pub fn take_over(&self, _in_doubt: &[Seat], goes_on: GoesOn<'_>) -> io::Result<Gathered> {
        let shared = &self.shared;
        if let Err(error) = shared.flush() {
            // Another receiver that was to take over may have taken the folder: what is not noted comes again.
            tracing::warn!(%error, "the last notes");
        }
        let mut gathered = Gathered::default();
        for seat in shared.seats()? {
            let known = shared.fence(seat)?;
            known.placed.iter().for_each(|(entry, placed)| note(&gathered, entry, placed));
            known.sums.iter().for_each(|(entry, sum)| shared.sums.insert(entry, &sum));
            go_on(goes_on)?;
        }
        shared.renew()?;
        let folders = shared.entries(&join(&shared.of_plan, "parts"))?;
        let mut folders = folders.into_iter().map(|found| found.path);
        loop {
            let some: Vec<String> = folders.by_ref().take(AT_ONCE).collect();
            if some.is_empty() {
                return Ok(gathered);
            }
            for begun in map(AT_ONCE, some, |folder| self.taken(&gathered, &folder)) {
                gathered.begun.extend(begun?);
            }
            go_on(goes_on)?;
        }
    }

    /// What is there of a large file that is not in its place.
    fn taken(&self, gathered: &Gathered, folder: &str) -> io::Result<Option<Begun>> {
        let Ok(entry) = split(folder).1.parse() else { return Ok(None) };
        if gathered.placed.contains(entry) {
            return self.shared.remove(folder).map(|()| None);
        }
        match self.head(folder)? {
            Some(header) => self.begin(&header).map(Some),
            // Whoever began it did not live to say what it is.
            None => self.shared.remove(folder).map(|()| None),
        }
    }

    fn head(&self, folder: &str) -> io::Result<Option<SegmentHeader>> {
        let (mut text, head) = (Vec::new(), join(folder, HEAD));
        match read(&self.shared.cluster, &head, |bytes| text.extend_from_slice(bytes)) {
            Ok(()) => Ok(std::str::from_utf8(&text).ok().and_then(decode)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn begin(&self, header: &SegmentHeader) -> io::Result<Begun> {
        let path = below(&self.shared.root, &header.path)?;
        let parts = kept_parts(&self.shared, header, &path)?;
        let file = Box::new(Large::new(&Arc::clone(&self.shared), header, path, parts.clone()));
        Ok(Begun { header: header.clone(), file, parts: digests(parts) })
    }
}

/// Two receivers may have put the same entry into its place: one of them is not there any more, and nobody knows which.
fn note(gathered: &Gathered, entry: u64, placed: Placed) {
    let placed = match gathered.placed.get(entry) {
        Some(other) if other != placed => Placed { version: None, ..placed },
        _ => placed,
    };
    gathered.placed.insert(entry, &placed);
}

fn go_on(goes_on: GoesOn<'_>) -> io::Result<()> {
    if goes_on(0) { Ok(()) } else { Err(io::Error::new(io::ErrorKind::Interrupted, "nobody waits for it any more")) }
}
