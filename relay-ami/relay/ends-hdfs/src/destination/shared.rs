//! What files under way to one directory have in common.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use hdfs_native::WriteOptions;
use hdfs_native::client::FileStatus;

use cpt_ends::entry_table::EntryTable;
use cpt_process::thread::lock;
use cpt_wire::documents::seat::Seat;

use super::Stored;
use super::lines::Known;
use super::notes::Notes;
use crate::checksum::{Crc, OfEntry};
use crate::cluster::Cluster;
use crate::fault::{Meaning, of_data, of_name_node};
use crate::path::{join, split};

/// What a folder of an earlier process is called once nothing of what that process still does can count: it writes by names that are gone.
const OVER: &str = ".over";
const NOTES: &str = "notes";
const TEMPORARY: &str = "temporary";
/// Modes of directories of a transfer's own.
const OPEN: u32 = 0o755;
const CLOSED: u32 = 0o700;

/// Below the destination all that a transfer keeps there lies in one folder, and in it in one for each plan:
///
/// - `parts/ENTRY/` has the parts of a large file that count, each a file whose name has its number and digest;
/// - `seats/SEAT/GENERATION/` is a receiver's own: what it is writing, and its notes.
pub struct Shared {
    pub cluster: Cluster,
    /// The destination itself.
    pub root: String,
    /// Of the transfer.
    pub folder: String,
    /// Of the plan.
    pub of_plan: String,
    pub seat: Seat,
    pub has_others: bool,
    pub part_size: u64,
    pub replication: Option<u32>,
    pub block_bytes: u64,
    /// This process's own; another one once it has taken over what others have.
    own: RwLock<String>,
    pub notes: Mutex<Notes>,
    next: AtomicU64,
    /// Large files that this process has put into their places.
    pub joined: Mutex<Joined>,
    /// CRC-32C of files that were put into their places, by this receiver and those before it.
    pub sums: EntryTable<OfEntry>,
    /// Bytes of small files that wait in memory.
    pub in_memory: AtomicU64,
}

impl Shared {
    /// Begins a generation of its own, and returns what the earlier ones of this receiver have noted.
    pub fn begin(
        (cluster, root, folder, of_plan): (Cluster, String, String, String),
        (seat, has_others): (Seat, bool),
        part_size: u64,
        stored: Stored,
    ) -> io::Result<(Self, Known)> {
        let mut shared = Self {
            notes: Mutex::new(Notes::nowhere(&cluster)),
            cluster,
            root,
            folder,
            of_plan,
            seat,
            has_others,
            part_size,
            replication: stored.replication,
            block_bytes: 0,
            own: RwLock::default(),
            next: AtomicU64::new(0),
            joined: Mutex::default(),
            sums: EntryTable::default(),
            in_memory: AtomicU64::new(0),
        };
        shared.block_bytes = shared.blocks(stored.block_bytes)?;
        shared.make_directory(&join(&shared.of_plan, "parts"), OPEN)?;
        let mut known = shared.fence(seat)?;
        shared.sums = std::mem::take(&mut known.sums);
        shared.renew()?;
        Ok((shared, known))
    }

    /// A part is a whole number of blocks: where it is smaller, or no multiple of what was asked, it is one block.
    fn blocks(&self, wanted: Option<u64>) -> io::Result<u64> {
        let usual = self.cluster.persist(|| self.cluster.client().defaults()).map_err(|error| of_name_node(&error, &self.root))?.0;
        Ok(blocks_of(self.part_size, wanted.unwrap_or(usual)))
    }

    /// A folder of this receiver's own, in which nothing lies yet.
    pub fn renew(&self) -> io::Result<()> {
        let seat = self.of_seat(self.seat);
        let last = self.entries(&seat)?.iter().filter_map(|found| number_of(split(&found.path).1)).max().unwrap_or(0);
        let own = join(&seat, &format!("{:08}", last + 1));
        self.make_directory(&join(&own, NOTES), OPEN)?;
        // What is made in it has its own mode from the beginning, and nobody else reads it there.
        self.make_directory(&join(&own, TEMPORARY), CLOSED)?;
        *lock(&self.notes) = Notes::in_folder(&self.cluster, join(&own, NOTES));
        *self.own.write().unwrap_or_else(PoisonError::into_inner) = own;
        Ok(())
    }

    /// Takes from a receiver's earlier processes what they write by: all that they do from now on fails. Returns what they have noted.
    pub fn fence(&self, seat: Seat) -> io::Result<Known> {
        let mut known = Known::default();
        let mut found = self.entries(&self.of_seat(seat))?;
        found.sort_by_key(|found| number_of(split(&found.path).1));
        for generation in found {
            let over = if generation.path.ends_with(OVER) {
                generation.path
            } else {
                let over = format!("{}{OVER}", generation.path);
                self.rename(&generation.path, &over)?;
                self.remove(&join(&over, TEMPORARY))?;
                over
            };
            Notes::read(&self.cluster, &join(&over, NOTES), &mut known)?;
        }
        Ok(known)
    }

    /// Receivers that have been here.
    pub fn seats(&self) -> io::Result<Vec<Seat>> {
        let found = self.entries(&join(&self.of_plan, "seats"))?;
        Ok(found.iter().filter_map(|found| Seat::new(split(&found.path).1).ok()).collect())
    }

    fn of_seat(&self, seat: Seat) -> String {
        join(&self.of_plan, &format!("seats/{seat}"))
    }

    /// The folder of the parts of an entry that count.
    pub fn of_entry(&self, entry: u64) -> String {
        join(&self.of_plan, &format!("parts/{entry}"))
    }

    /// This process's own folder: without it nothing comes of what this process does.
    pub fn own(&self) -> String {
        self.own.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes this process's own folder, and those above it in which nothing else lies.
    pub fn withdraw(&self) -> io::Result<()> {
        self.remove(&self.own())?;
        let seat = self.of_seat(self.seat);
        for folder in [&*seat, &join(&self.of_plan, "seats"), &join(&self.of_plan, "parts"), &self.of_plan, &self.folder] {
            if self.cluster.wait(self.cluster.client().delete(folder, false)).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// A path that nothing has had yet, in this receiver's own folder.
    pub fn temporary(&self) -> String {
        join(&self.own(), &format!("{TEMPORARY}/{:012}", self.next.fetch_add(1, Ordering::Relaxed)))
    }

    /// How files that are begun are stored.
    pub fn options(&self, mode: u32) -> WriteOptions {
        // Without its folder, which somebody has taken over, no file is made.
        let options = WriteOptions::default().permission(mode).create_parent(false).overwrite(true);
        WriteOptions { replication: self.replication, block_size: Some(self.block_bytes), ..options }
    }

    fn make_directory(&self, path: &str, mode: u32) -> io::Result<()> {
        self.cluster.wait(self.cluster.client().mkdirs(path, mode, true)).map_err(|error| of_name_node(&error, path))
    }

    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.cluster.wait(self.cluster.client().rename(from, to, true)).map_err(|error| of_name_node(&error, to))
    }

    /// Removes all that lies there, if anything does.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        match self.cluster.wait(self.cluster.client().delete(path, true)) {
            Err(error) if Meaning::of(&error) != Meaning::Gone => Err(of_name_node(&error, path)),
            _ => Ok(()),
        }
    }

    /// What lies in a directory; nothing where there is none.
    pub fn entries(&self, directory: &str) -> io::Result<Vec<FileStatus>> {
        match self.cluster.persist(|| self.cluster.client().list_status(directory, false)) {
            Ok(found) => Ok(found),
            Err(error) if Meaning::of(&error) == Meaning::Gone => Ok(Vec::new()),
            Err(error) => Err(of_data(&error, directory)),
        }
    }

    /// Knows what the bytes of a file in its place add up to, from now on.
    pub fn sum(&self, entry: u64, crc: Option<Crc>) {
        self.sums.remove(entry);
        crc.iter().for_each(|crc| self.sums.insert(entry, &OfEntry(crc.value())));
    }

    pub fn flush(&self) -> io::Result<()> {
        lock(&self.notes).flush()
    }
}

/// Entries of which it is kept what they were joined of, until that is noted.
#[derive(Default)]
pub struct Joined {
    pub in_place: HashSet<u64>,
    pub noted: Vec<u64>,
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(OVER).unwrap_or(name).parse().ok()
}

const fn blocks_of(part: u64, wanted: u64) -> u64 {
    if wanted > 0 && part.is_multiple_of(wanted) { wanted } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_whole_number_of_blocks() {
        let mib = |count: u64| count << 20;
        assert_eq!(blocks_of(mib(256), mib(128)), mib(128));
        assert_eq!(blocks_of(mib(64), mib(128)), mib(64), "a part that is smaller is one block");
        assert_eq!(blocks_of(mib(128), 256_000_000), mib(128), "and one that is no multiple");
    }

    #[test]
    fn generations_are_numbers_also_once_they_are_over() {
        assert_eq!((number_of("00000007"), number_of("00000007.over"), number_of("x")), (Some(7), Some(7), None));
    }
}
