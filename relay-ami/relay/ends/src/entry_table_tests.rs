#![allow(clippy::unwrap_used)]

use super::*;

const ENTRIES: u64 = 40 * PAGE_RECORDS;
/// Three pages of digests.
const BYTES: usize = 3 * PAGE_RECORDS as usize * 32;

fn digest(number: u64) -> Digest {
    *blake3::hash(&number.to_be_bytes()).as_bytes()
}

fn spilling() -> EntryTable<Digest> {
    EntryTable::within(BYTES, Some(tempfile::tempfile().unwrap()))
}

fn in_memory<R>(table: &EntryTable<R>) -> usize {
    lock(&table.0).pages.values().filter(|page| page.records.is_some()).count()
}

#[test]
fn it_holds_what_a_map_holds_and_no_more_pages_than_it_may() {
    let (table, mut map) = (spilling(), BTreeMap::new());
    let mut number = 1_u64;
    for step in 0..60_000_u64 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Mostly ascending, as entries come; some from anywhere.
        let entry = if step % 9 == 0 { number % ENTRIES } else { step % ENTRIES };
        match number >> 60 {
            0 => assert_eq!(table.remove(entry), map.remove(&entry).is_some()),
            1 => assert_eq!(table.get(entry), map.get(&entry).copied()),
            _ => {
                table.insert(entry, &digest(step));
                map.insert(entry, digest(step));
            }
        }
        assert!(in_memory(&table) <= 3);
    }
    assert_eq!(table.len(), map.len());
    assert!(table.iter().eq(map.into_iter()));
    let edge = [0, u64::MAX];
    edge.iter().for_each(|entry| table.insert(*entry, &digest(7)));
    assert!(edge.iter().all(|entry| table.get(*entry) == Some(digest(7)) && table.contains(*entry)));
    assert_eq!(table.iter().last(), Some((u64::MAX, digest(7))));
}

#[test]
fn what_the_file_does_not_take_stays_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("full");
    std::fs::write(&path, "").unwrap();
    for file in [None, Some(File::open(path).unwrap())] {
        let table: EntryTable<Digest> = EntryTable::within(BYTES, file);
        (0..ENTRIES).for_each(|entry| table.insert(entry, &digest(entry)));
        assert!((0..ENTRIES).all(|entry| table.get(entry) == Some(digest(entry))));
    }
}

#[test]
fn what_the_file_loses_is_unknown_and_can_be_noted_again() {
    let table = spilling();
    (0..ENTRIES).for_each(|entry| table.insert(entry, &digest(entry)));
    lock(&table.0).file.as_ref().unwrap().set_len(0).unwrap();
    let left = table.iter().count();
    assert_eq!((left, table.len()), (3 * PAGE_RECORDS as usize, left));
    assert_eq!((table.get(5), table.contains(5)), (None, false));
    table.insert(5, &digest(5));
    assert_eq!((table.get(5), table.get(6), table.len()), (Some(digest(5)), None, left + 1));
}

#[test]
fn an_entry_in_its_place_is_known_with_and_without_its_identity() {
    for version in [None, Some(Version::of_numbers((7, -5))), Some(Version::of_numbers((u64::MAX, i64::MIN)))] {
        let placed = Placed { digest: digest(1), version };
        let table: EntryTable<Placed> = std::iter::once((3, placed)).collect();
        assert_eq!(table.get(3), Some(placed));
    }
}
