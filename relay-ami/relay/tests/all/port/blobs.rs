//! A destination of keys and blobs: it has no directories, no inodes, no renames, no offsets and no absolute paths, and what it knows is in
//! the bucket alone.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use cpt_relay::digest::{ContentHasher, Digest, Proof};
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::{
    Capabilities, Destination, Heard, Hole, LargeFile, Left, OpenDestination, Placed, Room, Seen, SmallFile, Version, View,
};
use cpt_relay::wire::frame::SegmentHeader;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::bucket::Bucket;
use super::memory::{check, same};

/// Beneath it is what arrives; beside it what is on its way.
pub const DATA: &[u8] = b"data/";
pub const UPLOADS: &[u8] = b"uploads/";
pub const NOTES: &[u8] = b"notes";
/// Before a blob's bytes is its modification time.
const TIME_BYTES: usize = 8;

#[derive(Clone, Debug)]
pub struct BlobDestination {
    pub bucket: Bucket,
    pub is_full: Arc<AtomicBool>,
}

impl BlobDestination {
    pub fn at(folder: &Path) -> Self {
        Self { bucket: Bucket::at(folder), is_full: Arc::default() }
    }

    fn take(&self) -> io::Result<()> {
        if self.is_full.load(Ordering::SeqCst) { Err(Errno::NOSPC.into()) } else { Ok(()) }
    }
}

pub fn key(path: &[u8]) -> Vec<u8> {
    [DATA, path].concat()
}

pub fn blob(mtime_ns: i64, bytes: &[u8]) -> Vec<u8> {
    [&mtime_ns.to_be_bytes(), bytes].concat()
}

/// Time and bytes.
pub fn parts_of(blob: &[u8]) -> (i64, &[u8]) {
    let (time, bytes) = blob.split_first_chunk::<TIME_BYTES>().unwrap();
    (i64::from_be_bytes(*time), bytes)
}

/// As an entity tag is made of what is stored.
pub fn version(blob: &[u8]) -> Version {
    Version::new(*blake3::hash(blob).as_bytes().first_chunk().unwrap())
}

impl fmt::Display for BlobDestination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("bucket")
    }
}

impl Destination for BlobDestination {
    fn capabilities(&self) -> Capabilities {
        let none = Capabilities { parts: true, time_step_ns: Some(1), ..super::site::NOTHING };
        Capabilities { directories: false, ..none }
    }

    fn room(&self) -> Room {
        Room { occupied: !self.bucket.keys(DATA).is_empty(), ..Room::default() }
    }

    fn view(&self) -> io::Result<Box<dyn View + '_>> {
        Ok(Box::new(Sight(&self.bucket)))
    }

    fn open(&self, _: &TransferId, plan: &PlanId, part_size: u64, proof: Proof) -> io::Result<(Box<dyn OpenDestination>, Left)> {
        let of = format!("{plan} {}", proof.as_str());
        let known = self.bucket.get(NOTES).ok().and_then(|text| serde_json::from_slice::<Notes>(&text).ok());
        let notes = known.filter(|notes| notes.of == of).unwrap_or_else(|| Notes { of, ..Notes::default() });
        let placed = notes.placed.iter().map(|(entry, (digest, version))| {
            let version = version.map(Version::new);
            (*entry, Placed { digest: *digest, version })
        });
        let left = Left { placed: placed.collect(), begun: notes.uploads.keys().copied().collect() };
        let open = Open { to: self.clone(), part_size, notes: Mutex::new(notes) };
        Ok((Box::new(Opened(Arc::new(open))), left))
    }
}

/// What receivers to come are told.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes {
    of: String,
    placed: BTreeMap<u64, (Digest, Option<[u8; Version::BYTES]>)>,
    uploads: BTreeMap<u64, Upload>,
}

/// Parts of a file that are in the bucket.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Upload {
    id: String,
    size: u64,
    parts: BTreeMap<u64, Digest>,
}

struct Open {
    to: BlobDestination,
    part_size: u64,
    notes: Mutex<Notes>,
}

impl Open {
    fn save(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&*self.notes.lock().unwrap())?;
        self.to.bucket.put(NOTES, &text)
    }

    fn remove(&self, key: &[u8]) -> io::Result<()> {
        self.to.bucket.keys(key).iter().try_for_each(|key| self.to.bucket.delete(key))
    }
}

struct Opened(Arc<Open>);

impl OpenDestination for Opened {
    fn capabilities(&self) -> Capabilities {
        self.0.to.capabilities()
    }

    fn small(&self, header: &SegmentHeader) -> io::Result<Box<dyn SmallFile>> {
        check(&header.path)?;
        self.0.to.take()?;
        Ok(Box::new(Small { to: self.0.to.clone(), blob: blob(header.mtime_ns, b"") }))
    }

    fn large(&self, header: &SegmentHeader) -> io::Result<(Box<dyn LargeFile>, BTreeMap<u64, Digest>)> {
        check(&header.path)?;
        let known = self.0.notes.lock().unwrap().uploads.get(&header.entry).cloned();
        let is_whole = |upload: &Upload| upload.parts.keys().all(|part| self.0.to.bucket.has(&part_key(header.entry, &upload.id, *part)));
        let known = known.filter(|upload| upload.size == header.size && is_whole(upload)).unwrap_or_else(|| {
            let id = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos().to_string();
            Upload { id, size: header.size, parts: BTreeMap::new() }
        });
        let (id, kept) = (known.id.clone(), known.parts.clone());
        self.0.notes.lock().unwrap().uploads.insert(header.entry, known);
        Ok((Box::new(Large { of: Arc::clone(&self.0), header: header.clone(), id, buffers: Mutex::default() }), kept))
    }

    fn directory(&self, header: &SegmentHeader) -> io::Result<()> {
        check(&header.path)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.to.take()
    }

    fn note(&self, entry: u64, placed: &Placed) -> io::Result<()> {
        self.0.notes.lock().unwrap().placed.insert(entry, (placed.digest, placed.version.map(Version::bytes)));
        Ok(())
    }

    fn forget(&self, entry: u64) -> io::Result<()> {
        let mut notes = self.0.notes.lock().unwrap();
        notes.placed.remove(&entry);
        notes.uploads.remove(&entry);
        Ok(())
    }

    fn sync_notes(&self) -> io::Result<()> {
        self.0.save()
    }

    fn abandon(&self, entry: u64) -> io::Result<()> {
        self.forget(entry)?;
        self.0.save()?;
        self.0.remove(format!("uploads/{entry}/").as_bytes())
    }

    fn view(&self) -> Box<dyn View + '_> {
        Box::new(Sight(&self.0.to.bucket))
    }

    fn check_there(&self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self, removed: &dyn Fn()) -> io::Result<()> {
        self.0.remove(UPLOADS)?;
        self.0.to.bucket.delete(NOTES)?;
        removed();
        Ok(())
    }

    fn close(&self) {}
}

struct Small {
    to: BlobDestination,
    blob: Vec<u8>,
}

impl SmallFile for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.blob.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn read_back(&self, mut hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        let bytes = parts_of(&self.blob).1;
        heard(bytes.len() as u64);
        same(&hasher.update(bytes).digest(), digest)
    }

    fn place(self: Box<Self>, path: &[u8]) -> io::Result<Option<Version>> {
        self.to.bucket.put(&key(path), &self.blob)?;
        Ok(Some(version(&self.blob)))
    }
}

fn part_key(entry: u64, id: &str, part: u64) -> Vec<u8> {
    format!("uploads/{entry}/{id}/{part}").into_bytes()
}

struct Large {
    of: Arc<Open>,
    header: SegmentHeader,
    id: String,
    /// Parts that somebody writes: a blob is put whole.
    buffers: Mutex<BTreeMap<u64, Vec<u8>>>,
}

impl Large {
    /// A part as it is stored; zeros where it is not.
    fn stored(&self, part: u64) -> Vec<u8> {
        let length = self.of.part_size.min(self.header.size - part * self.of.part_size);
        let stored = self.of.to.bucket.get(&part_key(self.header.entry, &self.id, part));
        stored.unwrap_or_else(|_| vec![0; usize::try_from(length).unwrap()])
    }
}

impl LargeFile for Large {
    fn write(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        let mut buffers = self.buffers.lock().unwrap();
        while !bytes.is_empty() {
            let (part, at) = (offset / self.of.part_size, usize::try_from(offset % self.of.part_size).unwrap());
            let buffer = buffers.entry(part).or_insert_with(|| self.stored(part));
            let count = bytes.len().min(buffer.len() - at);
            buffer[at..at + count].copy_from_slice(&bytes[..count]);
            (bytes, offset) = (&bytes[count..], offset + count as u64);
        }
        Ok(())
    }

    fn prepare_sync(&self, range: Range<u64>) -> io::Result<()> {
        let (buffers, part) = (self.buffers.lock().unwrap(), range.start / self.of.part_size);
        let put = |bytes: &Vec<u8>| self.of.to.bucket.put(&part_key(self.header.entry, &self.id, part), bytes);
        buffers.get(&part).map_or(Ok(()), put)
    }

    fn read_back(&self, range: Range<u64>, mut hasher: ContentHasher, digest: &Digest, heard: Heard<'_>) -> io::Result<()> {
        heard(range.end - range.start);
        same(&hasher.update(&self.stored(range.start / self.of.part_size)).digest(), digest)
    }

    fn next_hole(&self, _from: u64) -> io::Result<Option<Hole>> {
        Ok(None)
    }

    fn forget_kept(&self) -> io::Result<()> {
        if let Some(upload) = self.of.notes.lock().unwrap().uploads.get_mut(&self.header.entry) {
            upload.parts.clear();
        }
        self.of.save()
    }

    fn keep(&self, part: u64, _range: Range<u64>, digest: Digest) -> io::Result<()> {
        self.buffers.lock().unwrap().remove(&part);
        let mut notes = self.of.notes.lock().unwrap();
        let begun = || Upload { id: self.id.clone(), size: self.header.size, parts: BTreeMap::new() };
        notes.uploads.entry(self.header.entry).or_insert_with(begun).parts.insert(part, digest);
        Ok(())
    }

    fn place(&self) -> io::Result<Option<Version>> {
        let mut whole = blob(self.header.mtime_ns, b"");
        for part in 0..self.header.size.div_ceil(self.of.part_size) {
            let written = self.buffers.lock().unwrap().remove(&part);
            whole.extend(written.unwrap_or_else(|| self.stored(part)));
        }
        self.of.to.bucket.put(&key(&self.header.path), &whole)?;
        self.of.notes.lock().unwrap().uploads.remove(&self.header.entry);
        self.of.remove(format!("uploads/{}/", self.header.entry).as_bytes())?;
        Ok(Some(version(&whole)))
    }
}

struct Sight<'a>(&'a Bucket);

impl View for Sight<'_> {
    fn see(&mut self, path: &[u8]) -> io::Result<Seen> {
        check(path)?;
        let blob = self.0.get(&key(path))?;
        let (mtime_ns, bytes) = parts_of(&blob);
        let (kind, version) = (Some(Kind::File), version(&blob));
        Ok(Seen { kind, size: bytes.len() as u64, mode: 0, mtime_ns: Some(mtime_ns), version, target: None })
    }

    fn digest(&mut self, path: &[u8], of: &Version, heard: Heard<'_>) -> io::Result<Digest> {
        let blob = self.0.get(&key(path))?;
        let bytes = parts_of(&blob).1;
        heard(bytes.len() as u64);
        if version(&blob) == *of { Ok(*blake3::hash(bytes).as_bytes()) } else { Err(io::ErrorKind::NotFound.into()) }
    }
}
