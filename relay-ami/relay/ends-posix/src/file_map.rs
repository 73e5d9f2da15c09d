//! A map in a file without a name, for what would have no bound in memory. Keys and values have 16 bytes each.
//!
//! A key lies at the slot that its hash names or behind it. A table that is two thirds full is copied into one of twice its slots, behind it
//! in the file. A slot that comes back with other bytes than were written counts as taken by nobody: its key is unknown.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FallocateFlags, fallocate};

pub type Key = [u8; 16];
pub type Value = [u8; 16];

const SLOT_BYTES: usize = 48;
const CHECKED_BYTES: usize = 40;
const CHECK_BYTES: usize = SLOT_BYTES - CHECKED_BYTES;
/// Of an empty map.
const FIRST_SLOTS: u64 = 1 << 12;
/// Copied at a time.
const SLOTS_AT_ONCE: u64 = 1 << 10;

pub struct FileMap {
    file: File,
    /// What lies in the file ends here.
    end: u64,
    table: Table,
}

#[derive(Clone, Copy)]
struct Table {
    at: u64,
    /// A power of two.
    slots: u64,
    /// Those that were ever used.
    taken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Free,
    Used(Key, Value),
    /// It had a key, or has other bytes than were written.
    Left,
}

impl Slot {
    fn encode(self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        match self {
            Self::Free => return bytes,
            Self::Used(key, value) => {
                bytes[..16].copy_from_slice(&key);
                bytes[16..32].copy_from_slice(&value);
                bytes[32] = 1;
            }
            Self::Left => bytes[32] = 2,
        }
        let check = check(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&check);
        bytes
    }

    fn decode(bytes: &[u8; SLOT_BYTES]) -> Self {
        let (mut key, mut value) = ([0; 16], [0; 16]);
        key.copy_from_slice(&bytes[..16]);
        value.copy_from_slice(&bytes[16..32]);
        let used = Self::Used(key, value);
        match bytes {
            _ if bytes.iter().all(|byte| *byte == 0) => Self::Free,
            _ if used.encode() == *bytes => used,
            _ => Self::Left,
        }
    }
}

fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let mut check = [0; CHECK_BYTES];
    check.copy_from_slice(&blake3::hash(bytes).as_bytes()[..CHECK_BYTES]);
    check
}

impl FileMap {
    /// An empty one, in place of whatever the file holds.
    pub fn new(file: File) -> io::Result<Self> {
        file.set_len(0)?;
        let mut map = Self { file, end: 0, table: Table { at: 0, slots: 0, taken: 0 } };
        map.table = map.empty(FIRST_SLOTS)?;
        Ok(map)
    }

    /// A table without keys at the end of the file.
    fn empty(&mut self, slots: u64) -> io::Result<Table> {
        let table = Table { at: self.end, slots, taken: 0 };
        let end = self.end + slots * SLOT_BYTES as u64;
        self.file.set_len(end)?;
        self.end = end;
        Ok(table)
    }

    pub fn get(&self, key: &Key) -> io::Result<Option<Value>> {
        Ok(self.find(&self.table, key)?.1)
    }

    pub fn insert(&mut self, key: &Key, value: &Value) -> io::Result<()> {
        if (self.table.taken + 1) * 3 > self.table.slots * 2 {
            self.grow()?;
        }
        let mut table = self.table;
        self.put(&mut table, key, value)?;
        self.table = table;
        Ok(())
    }

    pub fn remove(&mut self, key: &Key) -> io::Result<()> {
        match self.find(&self.table, key)? {
            (slot, Some(_)) => self.write(&self.table, slot, Slot::Left),
            _ => Ok(()),
        }
    }

    /// Writes bytes beside the map. Returns where they are.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let at = self.end;
        self.file.write_all_at(bytes, at)?;
        self.file.write_all_at(&check(bytes), at + bytes.len() as u64)?;
        self.end = at + (bytes.len() + CHECK_BYTES) as u64;
        Ok(at)
    }

    /// Reads so many bytes that were written beside the map.
    pub fn read(&self, at: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length + CHECK_BYTES];
        self.file.read_exact_at(&mut bytes, at)?;
        let own = bytes.split_off(length);
        if check(&bytes) == *own { Ok(bytes) } else { Err(io::Error::new(io::ErrorKind::InvalidData, "other bytes than were written")) }
    }

    /// The slot of a key and its value; where it has none, the slot for it.
    fn find(&self, table: &Table, key: &Key) -> io::Result<(u64, Option<Value>)> {
        let hash = blake3::hash(key);
        let begin = hash.as_bytes()[..8].iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
        for distance in 0..table.slots {
            let slot = begin.wrapping_add(distance) & (table.slots - 1);
            let mut bytes = [0; SLOT_BYTES];
            self.file.read_exact_at(&mut bytes, table.at + slot * SLOT_BYTES as u64)?;
            match Slot::decode(&bytes) {
                Slot::Free => return Ok((slot, None)),
                Slot::Used(other, value) if other == *key => return Ok((slot, Some(value))),
                Slot::Used(..) | Slot::Left => {}
            }
        }
        Err(io::Error::other("no slot is free"))
    }

    fn put(&self, table: &mut Table, key: &Key, value: &Value) -> io::Result<()> {
        let (slot, known) = self.find(table, key)?;
        self.write(table, slot, Slot::Used(*key, *value))?;
        table.taken += u64::from(known.is_none());
        Ok(())
    }

    fn write(&self, table: &Table, slot: u64, what: Slot) -> io::Result<()> {
        self.file.write_all_at(&what.encode(), table.at + slot * SLOT_BYTES as u64)
    }

    fn grow(&mut self) -> io::Result<()> {
        let old = self.table;
        let mut grown = self.empty(2 * old.slots)?;
        let mut bytes = vec![0; (SLOTS_AT_ONCE as usize) * SLOT_BYTES];
        for first in (0..old.slots).step_by(SLOTS_AT_ONCE as usize) {
            self.file.read_exact_at(&mut bytes, old.at + first * SLOT_BYTES as u64)?;
            for slot in bytes.as_chunks().0 {
                if let Slot::Used(key, value) = Slot::decode(slot) {
                    self.put(&mut grown, &key, &value)?;
                }
            }
        }
        self.table = grown;
        // Its room is given back where the file system can.
        let _ = fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, old.at, old.slots * SLOT_BYTES as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::HashMap;

    use super::*;

    fn key(number: u64) -> Key {
        let mut key = [0; 16];
        key[8..].copy_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn it_holds_what_a_map_holds() {
        let (mut map, mut other) = (FileMap::new(tempfile::tempfile().unwrap()).unwrap(), HashMap::new());
        let mut number = 1_u64;
        for step in 0..40_000_u64 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let one = key((number >> 32) % 9_000);
            match number >> 61 {
                0 => {
                    map.remove(&one).unwrap();
                    other.remove(&one);
                }
                1 | 2 => assert_eq!(map.get(&one).unwrap(), other.get(&one).copied()),
                _ => {
                    map.insert(&one, &key(step)).unwrap();
                    other.insert(one, key(step));
                }
            }
        }
        assert!(map.table.slots > FIRST_SLOTS);
        for number in 0..9_000 {
            assert_eq!(map.get(&key(number)).unwrap(), other.get(&key(number)).copied());
        }
    }

    #[test]
    fn bytes_beside_it_stay_where_they_are_while_it_grows() {
        let mut map = FileMap::new(tempfile::tempfile().unwrap()).unwrap();
        let texts: Vec<(u64, Vec<u8>)> = (0..5_000_usize)
            .map(|number| {
                map.insert(&key(number as u64), &key(1)).unwrap();
                let text = vec![number.to_le_bytes()[0]; number % 300];
                (map.append(&text).unwrap(), text)
            })
            .collect();
        assert!(texts.iter().all(|(at, text)| map.read(*at, text.len()).unwrap() == *text));
    }

    #[test]
    fn what_the_disk_gives_back_otherwise_is_unknown_and_nothing_else() {
        let mut map = FileMap::new(tempfile::tempfile().unwrap()).unwrap();
        (0..200).for_each(|number| map.insert(&key(number), &key(number)).unwrap());
        let (slot, _) = map.find(&map.table, &key(7)).unwrap();
        map.file.write_all_at(&[0xff], slot * SLOT_BYTES as u64 + 20).unwrap();
        for number in 0..200 {
            assert_eq!(map.get(&key(number)).unwrap(), (number != 7).then(|| key(number)));
        }
        let at = map.append(b"a name").unwrap();
        map.file.write_all_at(b"A", at).unwrap();
        assert!(map.read(at, 6).is_err());
    }
}
