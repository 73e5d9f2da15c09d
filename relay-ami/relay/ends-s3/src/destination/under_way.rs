//! An upload of which parts are sent, and what they become.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cpt_process::thread::{lock, map};
use cpt_wire::digest::{ContentHasher, Digest};
use cpt_wire::frame::SegmentHeader;

use super::lines::Line;
use super::opened::Shared;
use super::part::Transit;
use super::small::same;
use crate::checksum::Crc;
use crate::fault::{Fault, Meaning};
use crate::metadata::{self, Kept};
use crate::objects::Payload;
use crate::uploads::{StoredPart, Upload};

/// How long a completion is tried that nobody answers.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_secs(1);
/// Parts that are read back at once.
const READ_AT_ONCE: usize = 8;

/// A file whose parts are sent to the bucket as they come, for those that send them.
pub struct Inner {
    pub of: Arc<Shared>,
    pub header: SegmentHeader,
    pub key: String,
    pub phase: tokio::sync::Mutex<Phase>,
    pub parts: Mutex<BTreeMap<u64, Part>>,
    /// Parts that are to be read again once they can be: not before the object is there.
    pub read_back: Mutex<BTreeMap<u64, (ContentHasher, Digest)>>,
}

/// What there is of its upload.
#[derive(Clone)]
pub enum Phase {
    Nothing,
    Begun(Upload),
    /// It was completed or given up.
    Over,
}

/// One part, from its first byte on.
#[derive(Default)]
pub struct Part {
    /// On which it comes.
    pub path: Option<Arc<str>>,
    /// What comes of it.
    pub buffer: Option<Vec<u8>>,
    pub transit: Option<Transit>,
    /// What counts of it, once it was kept.
    pub stored: Option<StoredPart>,
}

impl Inner {
    /// `begun`: of an earlier receiver, and the parts of it that count.
    pub fn new(of: &Arc<Shared>, header: &SegmentHeader, key: String, begun: Option<(Upload, BTreeMap<u64, StoredPart>)>) -> Self {
        let (phase, stored) = begun.map_or((Phase::Nothing, BTreeMap::new()), |(upload, stored)| (Phase::Begun(upload), stored));
        let parts = stored.into_iter().map(|(part, stored)| (part, Part { stored: Some(stored), ..Part::default() }));
        Self {
            of: Arc::clone(of),
            // Where a part lies says nothing of the file.
            header: SegmentHeader { offset: 0, length: header.size, ..header.clone() },
            key,
            phase: tokio::sync::Mutex::new(phase),
            parts: Mutex::new(parts.collect()),
            read_back: Mutex::default(),
        }
    }

    /// Its upload, which is begun with the first part; receivers to come know it before that is sent.
    async fn upload(&self) -> Result<Upload, Fault> {
        let mut phase = self.phase.lock().await;
        match &*phase {
            Phase::Begun(upload) => return Ok(upload.clone()),
            Phase::Over => return Err(Fault::new(Meaning::NoUpload, "the upload is over")),
            Phase::Nothing => {}
        }
        if let Some(others) = &self.of.others {
            let upload = others.upload(self).await?;
            *phase = Phase::Begun(upload.clone());
            return Ok(upload);
        }
        let upload = self.of.bucket.begin_upload(self.key.clone(), metadata::of(&self.header)).await?;
        let (key, id) = (upload.key.clone(), upload.id.clone());
        *phase = Phase::Begun(upload.clone());
        self.of.notes.add(&Line::Upload { entry: self.header.entry, key, size: self.header.size, id, header: None });
        self.of.notes.flush().await?;
        Ok(upload)
    }

    async fn send(self: Arc<Self>, part: u64, payload: Payload, path: Option<Arc<str>>) -> Result<StoredPart, Fault> {
        let upload = self.upload().await?;
        let bucket = self.of.bucket.by(path);
        let _one_of_some = bucket.turn().await;
        bucket.put_part(&upload, part, &payload).await
    }

    /// Gives it up.
    pub async fn abort(&self) -> Result<(), Fault> {
        let upload = {
            let mut phase = self.phase.lock().await;
            if let Phase::Begun(upload) = &*phase {
                self.of.bucket.abort(upload).await?;
            }
            std::mem::replace(&mut *phase, Phase::Over)
        };
        let Phase::Begun(upload) = upload else { return Ok(()) };
        // A part that was on its way meanwhile may have come after all, and would be kept, and paid for, by an upload that is no more.
        let transits: Vec<_> = lock(&self.parts).values().filter_map(|part| part.transit.clone()).collect();
        let mut has_come = false;
        for transit in transits {
            has_come |= transit.settle().await;
        }
        if has_come {
            self.of.bucket.abort(&upload).await?;
        }
        self.of.notes.add(&Line::UploadOver { entry: self.header.entry });
        Ok(())
    }

    pub fn range(&self, part: u64) -> Range<u64> {
        let at = part.saturating_mul(self.of.part_size);
        at..self.header.size.min(at.saturating_add(self.of.part_size))
    }

    pub fn count(&self) -> u64 {
        self.header.size.div_ceil(self.of.part_size.max(1))
    }

    /// Sends what has come of a part, if anything has.
    pub fn let_go(self: &Arc<Self>, number: u64) {
        let mut parts = lock(&self.parts);
        let part = parts.entry(number).or_default();
        let Some(buffer) = part.buffer.take() else { return };
        let payload = Payload::new(buffer);
        let send = Arc::clone(self).send(number, payload.clone(), part.path.clone());
        let transit = Transit::begin(&self.of.bucket, payload, part.transit.take(), send);
        part.transit = Some(transit);
    }

    /// The part as it is in the bucket; none where its upload was taken away.
    pub fn arrived(&self, number: u64) -> Result<Option<StoredPart>, Fault> {
        let transit = lock(&self.parts).get(&number).and_then(|part| part.transit.clone());
        match transit.map(|transit| self.of.bucket.wait(transit.end())) {
            Some(Ok(stored)) => Ok(Some(stored)),
            Some(Err(fault)) if fault.meaning == Meaning::NoUpload => Ok(None),
            Some(Err(fault)) => Err(fault),
            None => Ok(lock(&self.parts).get(&number).and_then(|part| part.stored.clone())),
        }
    }

    /// The entity tag of the object that the parts have become.
    pub async fn complete(&self, upload: &Upload, mut parts: BTreeMap<u64, StoredPart>) -> Result<String, Fault> {
        let (begun, mut is_corrected) = (Instant::now(), false);
        loop {
            match self.of.bucket.complete(upload, &parts).await {
                Err(fault) if fault.meaning == Meaning::Passing && begun.elapsed() < PATIENCE => {
                    tracing::warn!(key = self.key, %fault, "completed again");
                    tokio::time::sleep(PAUSE).await;
                }
                // It may have been done by a try whose answer was lost, or by an earlier receiver.
                Err(fault) if matches!(fault.meaning, Meaning::NoUpload | Meaning::Passing) => {
                    let made = self.made_of(&parts).await?.ok_or_else(|| fault.clone())?;
                    // An equal object may have been there before, and its upload may not have ended.
                    self.of.bucket.abort(upload).await?;
                    return Ok(made);
                }
                // One that was sent twice may have come last the first time: its bytes are those that count. Copies that are late may come
                // between any two tries, and KMS gives each a tag of its own.
                Err(fault) if fault.meaning == Meaning::OtherPart && begun.elapsed() < PATIENCE => {
                    if std::mem::replace(&mut is_corrected, true) {
                        tokio::time::sleep(PAUSE).await;
                    }
                    let there = self.of.bucket.parts(upload).await?;
                    if !parts.iter().all(|(part, stored)| there.get(part).is_some_and(|there| there.crc == stored.crc)) {
                        return Err(fault);
                    }
                    parts = there.into_iter().filter(|(part, _)| parts.contains_key(part)).collect();
                }
                other => return other,
            }
        }
    }

    /// The entity tag of the object in its place, where that is the one which these parts make, with its metadata.
    pub async fn made_of(&self, parts: &BTreeMap<u64, StoredPart>) -> Result<Option<String>, Fault> {
        let whole = parts.values().fold(Crc::of(b""), |whole, part| whole.and(part.crc));
        let meant = Kept::read(Some(&metadata::of(&self.header)));
        // Whoever may list some keys only is not told that one is missing when he asks about it.
        let listed = self.of.bucket.page(&self.key, None, 1).await?;
        if listed.objects.first().is_none_or(|first| first.key != self.key) {
            return Ok(None);
        }
        match self.of.bucket.head(&self.key).await {
            Ok(head) => Ok((head.crc == Some(whole) && head.kept == meant).then_some(head.etag)),
            Err(fault) if fault.meaning == Meaning::Gone => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    pub fn error(&self, fault: Fault) -> io::Error {
        match fault.meaning {
            // Its parts are gone: it comes again, whole.
            Meaning::NoUpload | Meaning::OtherPart => io::Error::new(io::ErrorKind::InvalidData, fault.to_string()),
            _ => fault.into_error(&self.key),
        }
    }

    /// Reads the parts of the object that are to be read again.
    pub fn check(&self, etag: &str) -> io::Result<()> {
        let asked: Vec<_> = std::mem::take(&mut *lock(&self.read_back)).into_iter().collect();
        let read = map(READ_AT_ONCE, asked, |(part, (hasher, digest))| {
            let bytes = self.of.bucket.wait(self.of.bucket.read(&self.key, etag, &self.range(part)));
            bytes.map_err(|fault| self.error(fault)).and_then(|bytes| same(hasher, &bytes, &digest))
        });
        read.into_iter().collect()
    }
}
