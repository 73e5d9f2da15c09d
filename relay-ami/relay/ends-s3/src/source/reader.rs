//! An object as it was when it was opened: the bodies of its ranges, passed on as they come.

use std::sync::Mutex;
use std::time::Duration;

use aws_sdk_s3::error::DisplayErrorContext;
use aws_sdk_s3::primitives::ByteStream;
use bytes::Bytes;
use tokio::time::timeout;

use crate::calls::{Get, Got};
use crate::client::Bucket;
use crate::fault::{Fault, Meaning};
use crate::persistence::Pauses;
use cpt_process::thread::lock;

/// Without a byte for so long, a body is asked for anew from there.
const SILENT: Duration = Duration::from_secs(20);

pub struct Reader<'a> {
    bucket: &'a Bucket,
    key: String,
    pub size: u64,
    /// Requests after the first are for this object alone.
    pub entity_tag: String,
    pub version_id: Option<String>,
    pub modified_seconds: i64,
    body: Mutex<Body>,
}

/// What is on its way.
#[derive(Default)]
struct Body {
    stream: Option<ByteStream>,
    /// Offset of the next byte.
    at: u64,
    /// Up to here it was asked for.
    end: u64,
    /// Bytes that have come.
    ready: Bytes,
}

impl<'a> Reader<'a> {
    /// Asks for a range; for all where there is none.
    pub fn open(bucket: &'a Bucket, key: String, range: Option<(u64, u64)>) -> Result<Self, Fault> {
        let answer = bucket.wait(get(bucket, &key, range, None))?;
        let length = answer.length;
        let (at, size) = range_of(&answer)?.unwrap_or((0, length));
        Ok(Self {
            bucket,
            key,
            size,
            entity_tag: answer.etag,
            version_id: answer.version_id.filter(|id| id != "null"),
            modified_seconds: answer.modified_seconds,
            body: Mutex::new(Body { stream: Some(answer.body), at, end: at + length, ready: Bytes::new() }),
        })
    }

    /// Reads at an offset, never less than one byte. Where that is not on its way, all up to `end` is asked for.
    pub fn read(&self, buffer: &mut [u8], offset: u64, end: u64) -> Result<usize, Fault> {
        let mut body = lock(&self.body);
        if body.at != offset || body.at >= body.end {
            *body = Body { at: offset, end, ..Body::default() };
            self.ask(&mut body)?;
        }
        let mut pauses = Pauses::default();
        while body.ready.is_empty() {
            let Err(why) = self.next(&mut body) else { continue };
            let Some(pause) = pauses.next() else { return Err(Fault::passing(&why)) };
            tracing::warn!(key = self.key, at = body.at, why, "asked for again from here");
            std::thread::sleep(pause);
            self.ask(&mut body)?;
        }
        let count = body.ready.len().min(buffer.len());
        buffer[..count].copy_from_slice(&body.ready.split_to(count));
        body.at += count as u64;
        Ok(count)
    }

    /// Asks for the same object from the next byte on.
    fn ask(&self, body: &mut Body) -> Result<(), Fault> {
        let (at, end) = (body.at, body.end);
        let answer = self.bucket.wait(get(self.bucket, &self.key, Some((at, end)), Some(self)))?;
        let (from, length) = (range_of(&answer)?.map_or(0, |(from, _)| from), answer.length);
        if (from, length) != (at, end - at) {
            return Err(Fault::new(Meaning::Object, format!("S3 has sent {length} bytes from {from} on for {} from {at} on", end - at)));
        }
        body.stream = Some(answer.body);
        Ok(())
    }

    /// Waits for bytes; fails where the body has ended too early, with the reason.
    fn next(&self, body: &mut Body) -> Result<(), String> {
        let Some(stream) = &mut body.stream else { return Err("nothing is on its way".to_owned()) };
        let ended = match self.bucket.wait(async { timeout(SILENT, stream.next()).await }) {
            Ok(Some(Ok(bytes))) => {
                let most = usize::try_from(body.end - body.at).unwrap_or(usize::MAX);
                body.ready = bytes.slice(..bytes.len().min(most));
                return Ok(());
            }
            Ok(Some(Err(error))) => DisplayErrorContext(error).to_string(),
            Ok(None) => "the body has ended".to_owned(),
            Err(_) => format!("no byte came for {} s", SILENT.as_secs()),
        };
        body.stream = None;
        Err(ended)
    }
}

/// Asks for a range of an object; of the one that is open, where there is one.
async fn get(bucket: &Bucket, key: &str, range: Option<(u64, u64)>, open: Option<&Reader<'_>>) -> Result<Got, Fault> {
    let (range, etag) = (range.map(|(at, end)| at..end), open.map(|open| &*open.entity_tag));
    let (range, version_id) = (&range, open.and_then(|open| open.version_id.as_deref()));
    bucket.ask(|way| async move { way.calls().get(Get { key, range: range.clone(), etag, version_id }).await }).await
}

/// First byte, and size of the object; none of an answer that has all of it.
fn range_of(answer: &Got) -> Result<Option<(u64, u64)>, Fault> {
    let Some(text) = answer.content_range.as_deref() else { return Ok(None) };
    range(text).map(Some).ok_or_else(|| Fault::new(Meaning::Object, format!("S3 has sent the range {text:?}")))
}

fn range(text: &str) -> Option<(u64, u64)> {
    let (range, size) = text.strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, size.parse().ok()?))
}
