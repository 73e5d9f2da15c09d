//! Uploads that earlier receivers have begun.

use std::collections::BTreeMap;
use std::io;

use cpt_ends::problem::takes_nothing;
use cpt_wire::digest::Digest;
use cpt_wire::frame::SegmentHeader;

use super::lines::{Begun, Line};
use super::opened::Opened;
use super::under_way::Inner;
use crate::fault::{Fault, Meaning};

impl Opened {
    /// Goes on with what an earlier receiver has begun, as far as that is there.
    pub fn resumed(&self, header: &SegmentHeader, key: &str, begun: Begun) -> io::Result<(Inner, BTreeMap<u64, Digest>)> {
        let bucket = &self.shared.bucket;
        if let Some(others) = &self.shared.others
            && bucket.wait(others.noted(header.entry)).map_err(|fault| refuse(fault, key))?.is_none_or(|noted| noted.upload != begun.upload)
        {
            // Of this receiver alone: it died before it noted it for the others, or somebody has given the file up.
            self.abort(&begun.upload)?;
            self.shared.notes.add(&Line::UploadOver { entry: header.entry });
            return Ok((Inner::new(&self.shared, header, key.to_owned(), None), BTreeMap::new()));
        }
        let anew = || (Inner::new(&self.shared, header, key.to_owned(), None), BTreeMap::new());
        if begun.size != header.size || begun.upload.key != key {
            self.abort(&begun.upload)?;
            self.shared.notes.add(&Line::UploadOver { entry: header.entry });
            return Ok(anew());
        }
        let Begun { upload, mut parts, .. } = begun;
        match bucket.wait(bucket.parts(&upload)) {
            Ok(there) => parts.retain(|part, (stored, _)| there.get(part) == Some(stored)),
            Err(fault) if fault.meaning == Meaning::NoUpload => {
                let stored = parts.iter().map(|(part, (stored, _))| (*part, stored.clone())).collect();
                let (file, _) = anew();
                // Completed, and the receiver did not live to note it: the object is there.
                let is_whole = parts.len() as u64 == header.size.div_ceil(self.shared.part_size.max(1));
                if !is_whole || bucket.wait(file.made_of(&stored)).map_err(|fault| refuse(fault, key))?.is_none() {
                    self.shared.notes.add(&Line::UploadOver { entry: header.entry });
                    return Ok((file, BTreeMap::new()));
                }
            }
            Err(fault) => return Err(refuse(fault, key)),
        }
        let stored = parts.iter().map(|(part, (stored, _))| (*part, stored.clone())).collect();
        let digests = parts.iter().map(|(part, (_, digest))| (*part, *digest)).collect();
        Ok((Inner::new(&self.shared, header, key.to_owned(), Some((upload, stored))), digests))
    }
}

/// Where a bucket is asked on behalf of a file, and says that it takes nothing.
pub fn refuse(fault: Fault, what: &str) -> io::Error {
    match fault.meaning {
        Meaning::Gone | Meaning::NoUpload | Meaning::OtherPart | Meaning::Condition | Meaning::Object => {
            takes_nothing(format!("{what}: {fault}"))
        }
        Meaning::Passing | Meaning::NoBucket | Meaning::Bucket => fault.into_error(what),
    }
}
