//! What receivers that write into one bucket have in common: one upload for each large object, and objects that none of them puts over
//! what another one has put.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lines::Line;
use super::under_way::Inner;
use crate::client::Bucket;
use crate::fault::{Fault, Meaning};
use crate::metadata::{self, Kept};
use crate::objects::{Head, Only, Payload};
use crate::uploads::Upload;
use cpt_wire::frame::SegmentHeader;
use cpt_wire::header_text::{decode, encode};

/// Clocks of S3 that write two objects of one bucket differ by less than that.
const CLOCKS: Duration = Duration::from_secs(60);
/// How often an object is put while others exchange it. Then it is left to the look at the end.
const TRIES: usize = 5;

/// The other receivers, as far as one meets them in the bucket.
pub struct Others {
    /// Of the notes, which have no class and no tags.
    bucket: Bucket,
    /// Beginning of the keys of notes of uploads: of one plan, and one way of writing.
    uploads: String,
    /// The object that the first receiver of the transfer has put, and when that was, nanoseconds since 1970 by the clock of S3.
    begun: String,
    begun_ns: i64,
    /// Nobody else counts any more.
    has_gathered: AtomicBool,
}

/// The upload of an object that all receivers send parts of.
#[derive(Serialize, Deserialize)]
struct Noted {
    key: String,
    id: String,
    header: String,
}

/// What was noted of an upload.
pub struct SharedUpload {
    pub upload: Upload,
    pub header: SegmentHeader,
}

impl Others {
    /// `folder`: of what the transfer keeps there; `of`: what its notes are of.
    pub async fn open(bucket: &Bucket, folder: &str, of: &str) -> Result<Self, Fault> {
        let bucket = bucket.writing(bucket.written().of_notes());
        let begun = format!("{folder}begun");
        match bucket.put_if(&begun, &Payload::new(Vec::new()), None, &Only::WhereNothingIs).await {
            Err(fault) if fault.meaning != Meaning::Condition => return Err(fault),
            _ => {}
        }
        let begun_ns = bucket.head(&begun).await?.modified_ns;
        let uploads = format!("{folder}uploads/{}/", &blake3::hash(of.as_bytes()).to_hex()[..16]);
        Ok(Self { bucket, uploads, begun, begun_ns, has_gathered: AtomicBool::default() })
    }

    /// Nobody has noted anything: what was begun is as if it was not.
    pub async fn withdraw(&self) -> Result<(), Fault> {
        self.bucket.delete(&self.begun).await
    }

    /// From now on no other receiver counts.
    pub fn gathered(&self) {
        self.has_gathered.store(true, Ordering::SeqCst);
    }

    fn has_gathered(&self) -> bool {
        self.has_gathered.load(Ordering::SeqCst)
    }

    /// The upload of an object: the one that is noted, or one of its own, which it notes. Receivers to come know it when this returns.
    pub async fn upload(&self, file: &Inner) -> Result<Upload, Fault> {
        let entry = file.header.entry;
        if !self.has_gathered()
            && let Some(noted) = self.noted(entry).await?
        {
            return self.join(file, noted.upload).await;
        }
        let own = file.of.bucket.begin_upload(file.key.clone(), metadata::of(&file.header)).await?;
        // Where all is over already, nobody would know of it.
        let own = match self.join(file, own.clone()).await {
            Ok(own) => own,
            Err(fault) => {
                file.of.bucket.abort(&own).await?;
                return Err(fault);
            }
        };
        let (key, id, header) = (own.key.clone(), own.id.clone(), encode(&file.header));
        let text = serde_json::to_vec(&Noted { key, id, header }).unwrap_or_default();
        // Whoever has gathered knows the upload before, which is over.
        let only = if self.has_gathered() { Only::Always } else { Only::WhereNothingIs };
        match self.bucket.put_if(&self.note(entry), &Payload::new(text), None, &only).await {
            Ok(_) => return Ok(own),
            Err(fault) if fault.meaning == Meaning::Condition => {}
            Err(fault) => return Err(fault),
        }
        match self.noted(entry).await? {
            // The answer to an earlier attempt was lost.
            Some(noted) if noted.upload == own => Ok(own),
            Some(noted) => {
                file.of.bucket.abort(&own).await?;
                self.join(file, noted.upload).await
            }
            None => {
                file.of.bucket.abort(&own).await?;
                Err(Fault::new(Meaning::Passing, "another receiver has given the file up"))
            }
        }
    }

    /// The upload that receivers share of an entry, where there is one.
    pub async fn noted(&self, entry: u64) -> Result<Option<SharedUpload>, Fault> {
        let note = self.note(entry);
        let text = match self.bucket.read_whole(&note).await {
            Ok(text) => text,
            Err(fault) if fault.meaning == Meaning::Gone => return Ok(None),
            // Whoever may list some keys only is refused what is missing. It may have come meanwhile.
            Err(_) if self.bucket.there(&note).await?.is_none() => return Ok(None),
            Err(_) => self.bucket.read_whole(&note).await?,
        };
        let read = || {
            let Noted { key, id, header } = serde_json::from_slice(&text).ok()?;
            Some(SharedUpload { upload: Upload { key, id }, header: decode(&header)? })
        };
        if let Some(noted) = read() {
            return Ok(Some(noted));
        }
        tracing::warn!(entry, "somebody has changed the note of an upload, which counts no more");
        self.forget(entry).await?;
        Ok(None)
    }

    /// The entry is given up: who begins it anew begins another upload.
    pub async fn forget(&self, entry: u64) -> Result<(), Fault> {
        self.bucket.delete(&self.note(entry)).await
    }

    async fn join(&self, file: &Inner, upload: Upload) -> Result<Upload, Fault> {
        file.of.notes.add(&Line::shared_upload(&file.header, &upload));
        file.of.notes.flush().await?;
        Ok(upload)
    }

    fn note(&self, entry: u64) -> String {
        format!("{}{entry}", self.uploads)
    }

    /// Puts an object where nothing is, or over what was there before the transfer; its entity tag. None where something else has come there
    /// since: whoever wakes up late must not put an old state over what another receiver has put meanwhile, and cannot know how late it
    /// is. The look at the end finds what is wrong there, and then it comes again to the one receiver that counts.
    pub async fn put(
        &self,
        bucket: &Bucket,
        key: &str,
        payload: &Payload,
        metadata: &HashMap<String, String>,
    ) -> Result<Option<String>, Fault> {
        let mut only = Only::WhereNothingIs;
        for _ in 0..TRIES {
            match bucket.put_if(key, payload, Some(metadata), &only).await {
                Err(fault) if matches!(fault.meaning, Meaning::Condition | Meaning::Gone) => {}
                put => return put.map(Some),
            }
            only = match bucket.there(key).await? {
                None => Only::WhereNothingIs,
                Some(head) if self.is_older(&head) => Only::Over(head.etag),
                Some(head) if is_meant(&head, payload, metadata) => return Ok(Some(head.etag)),
                Some(head) if self.has_gathered() => Only::Over(head.etag),
                Some(_) => return Ok(None),
            };
        }
        Ok(None)
    }

    /// Whether an object was there before the transfer.
    fn is_older(&self, head: &Head) -> bool {
        let margin = i64::try_from(CLOCKS.as_nanos()).unwrap_or(i64::MAX);
        head.modified_ns < self.begun_ns.saturating_sub(margin)
    }
}

/// Whether what is there is what was to be put.
fn is_meant(head: &Head, payload: &Payload, metadata: &HashMap<String, String>) -> bool {
    head.crc == Some(payload.crc()) && head.kept == Kept::read(Some(metadata))
}
