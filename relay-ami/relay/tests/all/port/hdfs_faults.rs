//! What costs a transfer from or to HDFS seconds and no byte: nodes that die or halt and come back, a lease that is taken away, and safe mode.
//! With `make chaos`.

use std::time::Instant;

use cpt_ends_hdfs::cluster::Cluster;
use cpt_ends_hdfs::destination::{HdfsDestination, Stored};
use cpt_relay::digest::{Digest, Proof};
use cpt_relay::documents::entry::Kind;
use cpt_relay::documents::text::{PlanId, TransferId};
use cpt_relay::ends::problem::{Reach, reach};
use cpt_relay::ends::{Destination, LargeFile, Listed, OpenDestination};
use cpt_relay::wire::frame::SegmentHeader;

use super::apart::{Turn, turn};
use super::hadoop::{Directory, Hadoop, USER};
use super::hdfs::OfHdfs;
use super::source::{Field, segment};

/// Four blocks, as this cluster has them.
const PART: u64 = 4 << 20;
const SIZE: u64 = 2 * PART + 12_345;
/// How often a part comes again: a name node that is started anew is away for some seconds, and each try waits itself.
const TRIES: usize = 20;

pub fn content(size: u64) -> Vec<u8> {
    (0..size).map(|at| u8::try_from((at * 7 + at / 251) % 256).unwrap()).collect()
}

pub fn open(end: &dyn Destination) -> Box<dyn OpenDestination> {
    let plan = PlanId::new("1".repeat(32)).unwrap();
    end.open(&TransferId::new("t").unwrap(), &plan, PART, Proof::Blake3).unwrap().0
}

pub fn header(entry: u64, path: &str, size: u64) -> SegmentHeader {
    let (kind, mode, path) = (Kind::File, 0o640, path.as_bytes().to_vec());
    let mtime_ns = 1_700_000_000_123_000_000;
    SegmentHeader { entry, kind, mode, mtime_ns, size, offset: 0, length: size, path, target: Vec::new(), attributes: Vec::new() }
}

/// What comes again after a failure, as a chunk does, once the destination takes something again; such a failure is never the entry's own.
pub fn again<T>(of: &Hadoop, what: &str, attempt: impl Fn() -> std::io::Result<T>) -> T {
    let begun = Instant::now();
    for number in 1..=TRIES {
        match attempt() {
            Ok(done) => {
                eprintln!("{what}: attempt {number}, {:.1} s", begun.elapsed().as_secs_f64());
                return done;
            }
            Err(error) => {
                eprintln!("{what}: {error}");
                match reach(&error) {
                    Reach::Entry(_) => panic!("{error}"),
                    Reach::Destination => of.tell("whole"),
                    _ => {}
                }
            }
        }
    }
    panic!("{what}: {TRIES} attempts failed");
}

/// Brings a part; `amid` happens in the middle of its second block, in the first attempt.
pub fn part(of: &Hadoop, file: &dyn LargeFile, number: u64, amid: impl FnOnce()) {
    let range = number * PART..SIZE.min((number + 1) * PART);
    let bytes = &content(SIZE)[usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()];
    let amid = std::cell::Cell::new(Some(amid));
    again(of, &format!("part {number}"), || {
        file.begin_part(number, "direct")?;
        let (first, rest) = bytes.split_at(bytes.len() * 3 / 8);
        file.write(first, range.start)?;
        if let Some(amid) = amid.take() {
            amid();
        }
        // As bytes come.
        let mut at = range.start + first.len() as u64;
        for some in rest.chunks(64 << 10) {
            file.write(some, at)?;
            at += some.len() as u64;
        }
        file.prepare_sync(range.clone())?;
        file.keep(number, range.clone(), Proof::Blake3.part(range.start).update(bytes).digest())
    });
}

pub fn digest_of(end: &dyn Destination, path: &str) -> Digest {
    let mut view = end.view().unwrap();
    let version = view.see(path.as_bytes()).unwrap().version;
    view.digest(path.as_bytes(), &version, &|_| ()).unwrap()
}

/// Each block is to be on every data node: whichever fails has some of it.
fn destination(directory: &Directory) -> HdfsDestination {
    let stored = Stored { replication: Some(3), block_bytes: None };
    HdfsDestination::new(Cluster::of(&directory.of.configuration, USER, None).unwrap(), &directory.path).storing(stored)
}

/// A file of three parts comes, while something happens in the middle of one of them.
pub fn comes_whole(of: &'static Hadoop, amid: impl FnOnce(&Directory)) {
    let directory = Directory::of(of);
    let end = destination(&directory);
    let to = open(&end);
    let (file, _) = to.large(&header(3, "large", SIZE)).unwrap();
    part(of, &*file, 0, || amid(&directory));
    part(of, &*file, 1, || ());
    part(of, &*file, 2, || ());
    again(of, "its place", || file.place());
    assert_eq!(digest_of(&end, "large"), *blake3::hash(&content(SIZE)).as_bytes());
    to.finish(&|| ()).unwrap();
    assert_eq!(directory.names(""), ["large"]);
}

/// A file is read while something happens.
pub fn is_read_whole(of: &'static Hadoop, amid: impl FnOnce()) {
    let field = OfHdfs::of(Directory::of(of));
    let whole = content(24 << 20);
    field.write("file", &whole);
    let segment = segment(&field, "file", None);
    let file = field.source().open(&segment).unwrap().unwrap();
    let (mut read, mut buffer, mut amid) = (Vec::new(), vec![0; 256 << 10], Some(amid));
    let begun = Instant::now();
    while (read.len() as u64) < segment.length {
        if read.len() > 1 << 20
            && let Some(amid) = amid.take()
        {
            amid();
        }
        let count = file.read(&mut buffer, read.len() as u64).unwrap();
        read.extend_from_slice(&buffer[..count]);
    }
    eprintln!("read in {:.1} s", begun.elapsed().as_secs_f64());
    assert!(read == whole);
    file.check().unwrap();
}

#[test]
fn data_nodes_that_die_while_a_file_is_read_cost_no_byte() {
    let Some(turn) = turn() else { return };
    is_read_whole(turn.of, || turn.of.tell("kill data-0"));
}

#[test]
fn data_nodes_that_halt_while_a_file_is_read_cost_no_byte() {
    let Some(turn) = turn() else { return };
    is_read_whole(turn.of, || turn.of.tell("halt data-1"));
}

#[test]
fn data_nodes_that_die_while_a_part_is_written_cost_no_byte() {
    let Some(turn) = turn() else { return };
    comes_whole(turn.of, |_| ["kill data-0", "kill data-1"].iter().for_each(|line| turn.of.tell(line)));
}

#[test]
fn a_data_node_that_halts_while_a_part_is_written_costs_no_byte() {
    let Some(turn) = turn() else { return };
    comes_whole(turn.of, |_| ["halt data-0", "halt data-2"].iter().for_each(|line| turn.of.tell(line)));
}

/// A cluster whose packets this user may drop.
fn turn_to_drop() -> Option<Turn> {
    let turn = turn()?;
    if !rustix::process::geteuid().is_root() {
        cpt_skipped::skipped("no root: packets of a data node are dropped by the kernel's firewall");
        return None;
    }
    Some(turn)
}

#[test]
fn a_data_node_whose_packets_are_lost_while_a_file_is_read_costs_no_byte() {
    let Some(turn) = turn_to_drop() else { return };
    is_read_whole(turn.of, || turn.of.tell("drop data-1"));
}

#[test]
fn data_nodes_whose_packets_are_lost_while_a_part_is_written_cost_no_byte() {
    let Some(turn) = turn_to_drop() else { return };
    comes_whole(turn.of, |_| turn.of.tell("drop data-1"));
    comes_whole(turn.of, |_| turn.of.tell("drop data-2"));
}

#[test]
fn a_name_node_that_is_killed_and_comes_back_costs_no_byte() {
    let Some(turn) = turn() else { return };
    comes_whole(turn.of, |_| ["kill name", "start name"].iter().for_each(|line| turn.of.tell(line)));
    is_read_whole(turn.of, || ["kill name", "start name"].iter().for_each(|line| turn.of.tell(line)));
}

#[test]
fn a_listing_waits_for_a_name_node_that_is_away_and_goes_on_where_it_was() {
    let Some(turn) = turn() else { return };
    let field = OfHdfs::of(Directory::of(turn.of));
    let names: Vec<String> = (0..35).map(|number| format!("{number:03}")).collect();
    names.iter().for_each(|name| field.write(name, b""));
    let mut found = Vec::new();
    field
        .source()
        .list(&mut |listed| {
            let Listed::Entry(entry) = listed else { panic!("nothing else is there") };
            found.push(entry.path);
            if found.len() == 5 {
                ["kill name", "start name"].iter().for_each(|line| turn.of.tell(line));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(found, names);
}

#[test]
fn a_part_whose_lease_is_taken_away_comes_again() {
    let Some(turn) = turn() else { return };
    comes_whole(turn.of, |directory| {
        let found = turn.of.wait(turn.of.client().list_status(&directory.path, true)).unwrap();
        let under_way = found.iter().find(|found| !found.isdir && found.path.contains("/temporary/")).unwrap();
        // As the name node does itself once it has not heard of the writer for twenty minutes.
        while !turn.of.wait(turn.of.client().recover_lease(&under_way.path)).unwrap() {}
    });
}

#[test]
fn safe_mode_in_the_middle_costs_the_time_that_it_lasts() {
    let Some(turn) = turn() else { return };
    let directory = Directory::of(turn.of);
    let end = destination(&directory);
    let to = open(&end);
    let (file, _) = to.large(&header(3, "large", SIZE)).unwrap();
    part(turn.of, &*file, 0, || ());
    turn.of.hdfs(&["dfsadmin", "-safemode", "enter"]);
    file.begin_part(1, "direct").unwrap();
    let refused = file.write(&content(SIZE)[4 << 20..5 << 20], PART).unwrap_err();
    assert_eq!(reach(&refused), Reach::Destination, "{refused}");
    turn.of.hdfs(&["dfsadmin", "-safemode", "leave"]);
    part(turn.of, &*file, 1, || ());
    part(turn.of, &*file, 2, || ());
    file.place().unwrap();
    assert_eq!(digest_of(&end, "large"), *blake3::hash(&content(SIZE)).as_bytes());
}
