//! Records by entry number, in memory that is bounded: ten million files have half a gigabyte of them.
//!
//! Records lie in pages. Above a bound, the page that was not touched for longest goes into a file without a name, where there is one.
//! A page that cannot be read from it any more is lost, as if its entries were unknown: whoever asks reads or sends them again. One that
//! cannot be written stays in memory, with all others from then on.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt as _;
use std::sync::Mutex;

use crate::defaults::ENTRY_TABLE_MEMORY;
use crate::{Placed, Version};
use cpt_process::thread::lock;
use cpt_wire::digest::Digest;

const PAGE_RECORDS: u64 = 1024;
const WORD: u64 = 64;

/// Something of a fixed size.
pub trait Record: Sized {
    const BYTES: usize;
    fn encode(&self, to: &mut [u8]);
    fn decode(from: &[u8]) -> Self;
}

impl Record for Digest {
    const BYTES: usize = 32;

    fn encode(&self, to: &mut [u8]) {
        to.copy_from_slice(self);
    }

    fn decode(from: &[u8]) -> Self {
        let mut digest = [0; Self::BYTES];
        digest.copy_from_slice(from);
        digest
    }
}

impl Record for Placed {
    const BYTES: usize = 48;

    fn encode(&self, to: &mut [u8]) {
        to[..32].copy_from_slice(&self.digest);
        to[32..].copy_from_slice(&self.version.unwrap_or(Version::NONE).bytes());
    }

    fn decode(from: &[u8]) -> Self {
        let mut version = [0; Version::BYTES];
        version.copy_from_slice(&from[32..]);
        let version = Some(Version::new(version)).filter(|version| *version != Version::NONE);
        Self { digest: Digest::decode(&from[..32]), version }
    }
}

/// The table; it is used by many threads.
pub struct EntryTable<R>(Mutex<Pages>, PhantomData<R>);

struct Pages {
    pages: BTreeMap<u64, Page>,
    /// Pages whose records are in memory.
    in_memory: usize,
    most_in_memory: usize,
    len: usize,
    touches: u64,
    file: Option<File>,
    slots: u64,
}

#[derive(Default)]
struct Page {
    /// A bit for each entry that is there.
    known: [u64; (PAGE_RECORDS / WORD) as usize],
    /// The records; none while they are in the file alone.
    records: Option<Vec<u8>>,
    /// The place in the file, once there is one.
    slot: Option<u64>,
    /// The digest of what is there, while that is what the page is.
    written: Option<blake3::Hash>,
    touched: u64,
}

impl Page {
    const fn has(&self, index: usize) -> bool {
        self.known[index / WORD as usize] >> (index % WORD as usize) & 1 == 1
    }

    fn flip(&mut self, index: usize) {
        self.known[index / WORD as usize] ^= 1 << (index % WORD as usize);
    }

    fn count(&self) -> usize {
        self.known.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// Page and place in it.
fn place(entry: u64) -> (u64, usize) {
    (entry / PAGE_RECORDS, (entry % PAGE_RECORDS) as usize)
}

impl<R: Record> EntryTable<R> {
    const PAGE_BYTES: usize = PAGE_RECORDS as usize * R::BYTES;

    /// An empty table; without a file all of it stays in memory.
    #[must_use]
    pub fn new(file: Option<File>) -> Self {
        Self::within(ENTRY_TABLE_MEMORY, file)
    }

    fn within(bytes: usize, file: Option<File>) -> Self {
        let (pages, most_in_memory) = (BTreeMap::new(), (bytes / Self::PAGE_BYTES).max(1));
        let state = Pages { pages, in_memory: 0, most_in_memory, len: 0, touches: 0, file, slots: 0 };
        Self(Mutex::new(state), PhantomData)
    }

    pub fn insert(&self, entry: u64, record: &R) {
        let (number, index) = place(entry);
        let mut state = lock(&self.0);
        state.load(number, Self::PAGE_BYTES, true);
        let Some(page) = state.pages.get_mut(&number) else { return };
        let is_new = !page.has(index);
        if is_new {
            page.flip(index);
        }
        page.written = None;
        if let Some(records) = &mut page.records {
            record.encode(&mut records[index * R::BYTES..][..R::BYTES]);
        }
        state.len += usize::from(is_new);
    }

    pub fn get(&self, entry: u64) -> Option<R> {
        let (number, index) = place(entry);
        let mut state = lock(&self.0);
        if !state.pages.get(&number)?.has(index) {
            return None;
        }
        state.load(number, Self::PAGE_BYTES, false);
        let records = state.pages.get(&number)?.records.as_ref()?;
        Some(R::decode(&records[index * R::BYTES..][..R::BYTES]))
    }

    pub fn contains(&self, entry: u64) -> bool {
        let (number, index) = place(entry);
        lock(&self.0).pages.get(&number).is_some_and(|page| page.has(index))
    }

    /// Returns whether it was there.
    pub fn remove(&self, entry: u64) -> bool {
        let (number, index) = place(entry);
        let mut state = lock(&self.0);
        let Some(page) = state.pages.get_mut(&number).filter(|page| page.has(index)) else { return false };
        page.flip(index);
        state.len -= 1;
        true
    }

    pub fn len(&self) -> usize {
        lock(&self.0).len
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All records, ascending, as they are when each page is reached.
    pub fn iter(&self) -> impl Iterator<Item = (u64, R)> + '_ {
        let mut next = Some(0);
        let pages = std::iter::from_fn(move || {
            let (number, records) = self.page(next?)?;
            next = number.checked_add(1);
            Some(records)
        });
        pages.flatten()
    }

    /// Records of the first page from this number on.
    fn page(&self, from: u64) -> Option<(u64, Vec<(u64, R)>)> {
        let mut state = lock(&self.0);
        let number = *state.pages.range(from..).next()?.0;
        state.load(number, Self::PAGE_BYTES, false);
        let Some(page) = state.pages.get(&number) else { return Some((number, Vec::new())) };
        let records = page.records.as_deref().unwrap_or_default().chunks_exact(R::BYTES).enumerate();
        let known = records.filter(|(index, _)| page.has(*index));
        Some((number, known.map(|(index, bytes)| (number * PAGE_RECORDS + index as u64, R::decode(bytes))).collect()))
    }
}

impl Pages {
    /// Brings a page's records into memory; where there is no such page it is made if asked for. A page that is lost is gone.
    fn load(&mut self, number: u64, bytes: usize, make: bool) {
        self.touches += 1;
        let touched = self.touches;
        if let Some(page) = self.pages.get_mut(&number).filter(|page| page.records.is_some()) {
            page.touched = touched;
            return;
        }
        if self.in_memory >= self.most_in_memory {
            self.put_one_away(bytes);
        }
        let mut records = vec![0; bytes];
        if let Some(page) = self.pages.get_mut(&number) {
            let read = read(self.file.as_ref(), page, &mut records);
            if let Err(error) = read {
                tracing::error!(%error, page = number, "records of entries are lost");
                self.len -= page.count();
                *page = Page::default();
                if !make {
                    self.pages.remove(&number);
                    return;
                }
                records.fill(0);
            }
        } else if !make {
            return;
        }
        let page = self.pages.entry(number).or_default();
        (page.records, page.touched) = (Some(records), touched);
        self.in_memory += 1;
    }

    /// Leaves the page that was not touched for longest to the file.
    fn put_one_away(&mut self, bytes: usize) {
        let Some(file) = &self.file else { return };
        let oldest = self.pages.values_mut().filter(|page| page.records.is_some()).min_by_key(|page| page.touched);
        let Some(page) = oldest else { return };
        if page.written.is_none() {
            let records = page.records.as_deref().unwrap_or_default();
            let slot = *page.slot.get_or_insert_with(|| {
                self.slots += 1;
                self.slots - 1
            });
            if let Err(error) = file.write_all_at(records, slot * bytes as u64) {
                tracing::warn!(%error, "records of entries stay in memory");
                self.most_in_memory = usize::MAX;
                return;
            }
            page.written = Some(blake3::hash(records));
        }
        page.records = None;
        self.in_memory -= 1;
    }
}

/// Reads what was written of a page. Fails where it is not that any more.
fn read(file: Option<&File>, page: &Page, records: &mut [u8]) -> io::Result<()> {
    let (Some(file), Some(slot), Some(written)) = (file, page.slot, page.written) else { return Err(io::ErrorKind::NotFound.into()) };
    file.read_exact_at(records, slot * records.len() as u64)?;
    if blake3::hash(records) == written { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidData, "other bytes than were written")) }
}

impl<R: Record> Default for EntryTable<R> {
    fn default() -> Self {
        Self::new(None)
    }
}

impl<R: Record> FromIterator<(u64, R)> for EntryTable<R> {
    fn from_iter<I: IntoIterator<Item = (u64, R)>>(records: I) -> Self {
        let table = Self::default();
        records.into_iter().for_each(|(entry, record)| table.insert(entry, &record));
        table
    }
}

impl<R: Record> fmt::Debug for EntryTable<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} entries", self.len())
    }
}

#[cfg(test)]
#[path = "entry_table_tests.rs"]
mod tests;
