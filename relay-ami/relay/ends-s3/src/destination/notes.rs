//! What receivers to come are told, in small objects beside what arrives.
//!
//! Each receiver writes a generation of its own: objects with numbers, of which the last one is written again until it is large. It
//! begins with how much of which earlier generation counts, so whatever an earlier receiver, that was frozen and wakes, writes later
//! does not.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use cpt_process::thread::{lock, map};

use super::lines::{After, Known, Line};
use crate::client::Bucket;
use crate::fault::{Fault, Meaning};
use crate::objects::{Only, Payload};
use crate::uploads::Upload;

/// Bytes of an object after which the next one is begun: what is written again with each batch is not much more.
const LARGE: usize = 256 << 10;
/// Objects that are read at once.
const AT_ONCE: usize = 16;

/// What this receiver notes.
pub struct Notes {
    bucket: Bucket,
    folder: String,
    generation: u64,
    /// Another receiver may remove what is noted, once all has arrived: then nothing comes after it.
    is_beside_others: bool,
    writing: Mutex<Writing>,
    /// Held while an object is written.
    flushing: tokio::sync::Mutex<()>,
}

/// The object that is written.
struct Writing {
    number: u64,
    text: Vec<u8>,
    /// So much of it is in the bucket.
    written: usize,
    /// Under which entity tag, where it was begun beside other receivers.
    etag: Option<String>,
}

impl Notes {
    /// Begins a generation in a folder, whose key ends with a slash, and returns what counts of those before. What is of another plan
    /// does not, and is given in its stead: its uploads are nobody's.
    pub fn open(bucket: &Bucket, folder: String, of: String) -> Result<(Self, Known, Vec<Upload>), Fault> {
        let generations = Generations::list(bucket, &folder)?;
        let last = generations.0.last_key_value().map(|(generation, _)| *generation);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let generation = last.map_or(now, |last| now.max(last + 1));
        let (mut known, mut after, mut others) = (Known::default(), None, Vec::new());
        if let Some(last) = last {
            let (chain, counted) = generations.chain(bucket, &folder, last)?;
            let is_ours = matches!(chain.first(), Some(Line::Opened { of: theirs, .. }) if *theirs == of);
            chain.into_iter().for_each(|line| known.note(line));
            if is_ours {
                after = Some(counted);
            } else {
                others = std::mem::take(&mut known).begun.into_values().map(|begun| begun.upload).collect();
            }
        }
        let notes = Self {
            bucket: bucket.writing(bucket.written().of_notes()),
            folder,
            generation,
            is_beside_others: false,
            writing: Mutex::new(Writing { number: 0, text: Vec::new(), written: 0, etag: None }),
            flushing: tokio::sync::Mutex::default(),
        };
        notes.add(&Line::Opened { of, after });
        // Without anything else there is nothing to write.
        let mut writing = lock(&notes.writing);
        writing.written = writing.text.len();
        drop(writing);
        Ok((notes, known, others))
    }

    /// What counts of what the receivers of a folder have noted, where the newest one is of this plan; nothing else is touched.
    pub fn read(bucket: &Bucket, folder: &str, of: &str) -> Result<Known, Fault> {
        let (generations, mut known) = (Generations::list(bucket, folder)?, Known::default());
        let Some((last, _)) = generations.0.last_key_value() else { return Ok(known) };
        let (chain, _) = generations.chain(bucket, folder, *last)?;
        if matches!(chain.first(), Some(Line::Opened { of: theirs, .. }) if theirs == of) {
            chain.into_iter().for_each(|line| known.note(line));
        }
        Ok(known)
    }

    /// The same beside other receivers, who see that this one has begun.
    pub async fn beside_others(self) -> Result<Self, Fault> {
        lock(&self.writing).written = 0;
        let notes = Self { is_beside_others: true, ..self };
        notes.flush().await?;
        Ok(notes)
    }

    /// Removes what this receiver has written, where that is only that it has begun, after none before it. Returns whether it is so.
    pub async fn withdraw(&self) -> Result<bool, Fault> {
        let is_empty = {
            let writing = lock(&self.writing);
            let mut lines = writing.text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let opened = lines.next().and_then(|line| serde_json::from_slice(line).ok());
            writing.number == 0 && matches!(opened, Some(Line::Opened { after: None, .. })) && lines.next().is_none()
        };
        if is_empty {
            self.bucket.delete(&object(&self.folder, self.generation, 0)).await?;
        }
        Ok(is_empty)
    }

    /// Returns whether all lines are in the bucket.
    pub fn is_flushed(&self) -> bool {
        let writing = lock(&self.writing);
        writing.text.len() == writing.written
    }

    /// Adds a line, which is in the bucket after the next flush.
    pub fn add(&self, line: &Line) {
        let mut writing = lock(&self.writing);
        // Of such types nothing fails.
        let _ = serde_json::to_writer(&mut writing.text, line);
        writing.text.push(b'\n');
    }

    /// All lines that were added are in the bucket when this returns.
    pub async fn flush(&self) -> Result<(), Fault> {
        let _one_by_one = self.flushing.lock().await;
        let (number, text, etag) = {
            let writing = lock(&self.writing);
            if writing.text.len() == writing.written {
                return Ok(());
            }
            (writing.number, writing.text.clone(), writing.etag.clone())
        };
        let length = text.len();
        let etag = self.write(&object(&self.folder, self.generation, number), &Payload::new(text), etag).await?;
        let mut writing = lock(&self.writing);
        (writing.written, writing.etag) = (length, Some(etag).filter(|_| self.is_beside_others));
        if length > LARGE {
            writing.text.drain(..length);
            (writing.number, writing.written, writing.etag) = (number + 1, 0, None);
        }
        Ok(())
    }

    /// Writes an object over the one that this receiver has written, if any; its entity tag.
    async fn write(&self, key: &str, payload: &Payload, before: Option<String>) -> Result<String, Fault> {
        let only = before.map_or(Only::Always, Only::Over);
        match self.bucket.put_if(key, payload, None, &only).await {
            Err(fault) if matches!(fault.meaning, Meaning::Condition | Meaning::Gone) => {}
            written => return written,
        }
        // The answer to an earlier attempt may have been lost.
        let there = self.bucket.there(key).await?.filter(|head| head.crc == Some(payload.crc()));
        there.map(|head| head.etag).ok_or_else(|| Fault::new(Meaning::NoBucket, "somebody has removed the notes of this receiver"))
    }
}

fn object(folder: &str, generation: u64, number: u64) -> String {
    format!("{folder}{generation:020}-{number:08}")
}

/// The objects of each generation, and their sizes.
struct Generations(BTreeMap<u64, BTreeMap<u64, usize>>);

impl Generations {
    fn list(bucket: &Bucket, folder: &str) -> Result<Self, Fault> {
        let mut found = BTreeMap::<u64, BTreeMap<u64, usize>>::new();
        for listed in bucket.wait(bucket.all(folder))? {
            let named = listed.key.strip_prefix(folder).and_then(|name| name.split_once('-'));
            let numbers = named.and_then(|(generation, number)| Some((generation.parse().ok()?, number.parse().ok()?)));
            if let Some((generation, number)) = numbers {
                found.entry(generation).or_default().insert(number, usize::try_from(listed.size).unwrap_or(usize::MAX));
            }
        }
        // One that has not begun with its first object was never of use to anybody.
        found.retain(|_, objects| objects.contains_key(&0));
        Ok(Self(found))
    }

    /// All lines that count with this generation, those of the newest plan first, and how much of it that is.
    fn chain(&self, bucket: &Bucket, folder: &str, last: u64) -> Result<(Vec<Line>, After), Fault> {
        let objects = &self.0[&last];
        let whole = (0..).take_while(|number| objects.contains_key(number)).count() as u64;
        let bytes = whole.checked_sub(1).and_then(|number| objects.get(&number)).copied().unwrap_or(0);
        let counted = After { generation: last, objects: whole, bytes };
        let mut chain = Vec::new();
        let mut next = Some(counted);
        while let Some(after) = next {
            let lines = read(bucket, folder, after)?;
            next = match lines.first() {
                Some(Line::Opened { after, .. }) => *after,
                _ => None,
            };
            chain.push(lines);
        }
        // The newest one says of which plan all are; the oldest lines come first but for that.
        let first = chain.first_mut().and_then(|lines| if lines.is_empty() { None } else { Some(lines.remove(0)) });
        Ok((first.into_iter().chain(chain.into_iter().rev().flatten()).collect(), counted))
    }
}

/// The lines of a generation as far as they count. One that was cut off ends them.
fn read(bucket: &Bucket, folder: &str, after: After) -> Result<Vec<Line>, Fault> {
    let numbers: Vec<u64> = (0..after.objects).collect();
    let texts = map(AT_ONCE, numbers, |number| bucket.wait(bucket.read_whole(&object(folder, after.generation, number))));
    let mut lines = Vec::new();
    for (number, text) in texts.into_iter().enumerate() {
        let mut text = match text {
            Ok(text) => text,
            // Somebody has removed it: what came after it says nothing without it.
            Err(fault) if fault.meaning == Meaning::Gone => break,
            Err(fault) => return Err(fault),
        };
        if number as u64 + 1 == after.objects {
            text.truncate(after.bytes);
        }
        lines.extend(text.split(|byte| *byte == b'\n').map_while(|line| serde_json::from_slice::<Line>(line).ok()));
    }
    Ok(lines)
}
