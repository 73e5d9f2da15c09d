//! Files with further names: those that are made where they arrive are names of what was listed, or they are left out by name.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cpt_relay::documents::command::Compare;
use rustix::fs::{FileType, Mode};

use crate::fidelity::left_out;
use crate::harness::{Transfer, noise};

const CHUNK: u64 = 1 << 20;

#[test]
fn the_names_of_a_file_that_is_left_out_are_left_out_by_name_and_an_older_file_gets_none_of_them() {
    let mut transfer = Transfer::plan_all(CHUNK, |root| {
        fs::write(root.join("first"), b"new bytes").unwrap();
        fs::hard_link(root.join("first"), root.join("second")).unwrap();
        fs::write(root.join("other"), b"other").unwrap();
    });
    // Of the same time and another size, in a place that nothing can be put into.
    let to = transfer.destination();
    fs::create_dir_all(to.join("first/inside")).unwrap();
    let [(first, _), (second, why)] = &*left_out(&mut transfer) else { panic!("{:?}", transfer.skipped()) };
    assert_eq!((&**first, &**second), ("first", "second"));
    assert!(why.contains("its first name"), "{why}");
    assert!(!to.join("second").exists());
    assert_eq!(fs::read(to.join("other")).unwrap(), b"other");
}

#[test]
fn a_file_whose_names_change_after_it_was_listed_is_left_out_with_all_of_them() {
    let mut transfer = Transfer::plan_all(CHUNK, |root| {
        for name in ["changed", "kept"] {
            fs::write(root.join(name), name).unwrap();
            fs::hard_link(root.join(name), root.join(format!("{name} too"))).unwrap();
        }
        rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    });
    fs::write(transfer.source().join("changed too"), b"other bytes").unwrap();
    fs::remove_file(transfer.source().join("pipe")).unwrap();
    fs::write(transfer.source().join("pipe"), b"no pipe any more").unwrap();
    let mut paths: Vec<String> = left_out(&mut transfer).into_iter().map(|(path, _)| path).collect();
    paths.sort();
    assert_eq!(paths, ["changed", "changed%20too", "pipe"]);
    let mut arrived: Vec<_> = fs::read_dir(transfer.destination()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    arrived.sort();
    assert_eq!(arrived, ["kept", "kept too"]);
    assert_eq!(fs::metadata(transfer.destination().join("kept")).unwrap().nlink(), 2);
}

/// As `cp -p` and `mv` replace it: the other name keeps the bytes that it had.
#[test]
fn a_file_that_was_exchanged_for_one_of_its_size_and_time_gives_its_bytes_to_no_other_name_of_the_one_that_was_listed() {
    let mut transfer = Transfer::plan_all(CHUNK, |root| {
        for name in ["alone", "first"] {
            fs::write(root.join(name), b"as listed").unwrap();
        }
        fs::hard_link(root.join("first"), root.join("second")).unwrap();
    });
    let (root, new) = (transfer.source(), transfer.source().with_file_name("new"));
    for name in ["alone", "first"] {
        fs::write(&new, b"exchanged").unwrap();
        File::open(&new).unwrap().set_modified(fs::metadata(root.join(name)).unwrap().modified().unwrap()).unwrap();
        fs::rename(&new, root.join(name)).unwrap();
    }
    let mut paths: Vec<String> = left_out(&mut transfer).into_iter().map(|(path, _)| path).collect();
    paths.sort();
    assert_eq!(paths, ["first", "second"]);
    assert_eq!(fs::read(transfer.destination().join("alone")).unwrap(), b"exchanged");
}

/// The same between the listing and the digests that a comparison goes by.
#[test]
fn a_file_that_was_exchanged_before_it_is_compared_is_not_equal_to_what_has_its_bytes_and_a_name_of_another() {
    let mut transfer = Transfer::plan_all(CHUNK, |root| {
        fs::write(root.join("first"), b"as listed").unwrap();
        fs::hard_link(root.join("first"), root.join("second")).unwrap();
    });
    let (root, to) = (transfer.source(), transfer.destination());
    fs::create_dir(&to).unwrap();
    fs::write(to.join("first"), b"exchanged").unwrap();
    fs::hard_link(to.join("first"), to.join("second")).unwrap();
    let as_old = |path: &Path| File::open(path).unwrap().set_modified(fs::metadata(root.join("second")).unwrap().modified().unwrap());
    as_old(&to.join("first")).unwrap();
    transfer.plan_compared_after(Compare::Digest, CHUNK, || {
        let new = root.with_file_name("new");
        fs::write(&new, b"exchanged").unwrap();
        as_old(&new).unwrap();
        fs::rename(&new, root.join("first")).unwrap();
    });
    let mut paths: Vec<String> = left_out(&mut transfer).into_iter().map(|(path, _)| path).collect();
    paths.sort();
    assert_eq!(paths, ["first", "second"]);
}

/// A copy whose times were not kept has every byte, and its names were files of their own.
#[test]
fn a_further_name_of_a_file_that_is_there_with_another_time_is_made() {
    for by in [Compare::Digest, Compare::SizeTime] {
        let mut transfer = Transfer::plan_all(CHUNK, |root| {
            for (name, bytes) in [("empty", &b""[..]), ("small", b"bytes"), ("large", &noise(1, 9000))] {
                fs::write(root.join(name), bytes).unwrap();
                fs::hard_link(root.join(name), root.join(format!("{name} too"))).unwrap();
            }
        });
        let (from, to) = (transfer.source(), transfer.destination());
        fs::create_dir(&to).unwrap();
        for name in ["empty", "small", "large", "large too"] {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
        transfer.plan_compared(by, CHUNK);
        assert_eq!(left_out(&mut transfer), [], "{by:?}");
        for name in ["empty", "small", "large"] {
            let [first, further] = [name.to_owned(), format!("{name} too")].map(|name| fs::metadata(to.join(name)).unwrap());
            assert_eq!((first.ino(), first.nlink()), (further.ino(), 2), "{name} {by:?}");
        }
    }
}
