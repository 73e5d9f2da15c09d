//! What a node starts, stops and says of its leases.

#![allow(clippy::unwrap_used)]

use super::*;
use cpt_control_aws::pool::Limit;
use std::fs;

/// A node whose script notes its action and transfer in a file.
fn server() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.sh");
    let notes = folder.path().join("notes");
    fs::write(
        &script,
        format!(
            "echo \"$1 $SSM_TransferId\" >>{}; [ \"$SSM_Command\" != bad ] || [ $1 = stop ] || {{ echo why >&2; exit 1; }}",
            notes.display()
        ),
    )
    .unwrap();
    let run = folder.path().join("run");
    (folder, Server { script, run, leases: HashMap::new(), steered: HashMap::new() })
}

fn lease(transfer: &str) -> Lease {
    let transfer = cpt_relay::documents::text::TransferId::new(transfer).unwrap();
    let (record, command) = (format!("lease#{}", transfer.as_str()), Some("e30".to_owned()));
    let limit = Limit { number: 1, mb_s: 100.0, until: 50.0 };
    Lease { record, transfer, epoch: 1, command, limit, guarantee: 0.0, until: 100.0, is_ended: false, is_stopped: false }
}

fn standing(leases: &[Lease]) -> Standing {
    Standing { leases: leases.to_vec(), ..Standing::default() }
}

/// Looks until there is something to say.
fn heard(server: &mut Server, leases: &[Lease], now: f64) -> Vec<(String, Word)> {
    let standing = standing(leases);
    loop {
        let told = server.look(&standing, now);
        if !told.is_empty() {
            return told;
        }
        std::thread::yield_now();
    }
}

fn notes(folder: &tempfile::TempDir) -> String {
    fs::read_to_string(folder.path().join("notes")).unwrap_or_default()
}

#[test]
fn a_lease_is_started_once_and_stopped_once_it_has_ended() {
    let (folder, mut server) = server();
    let mut one = lease("one");
    let told = heard(&mut server, std::slice::from_ref(&one), 1.0);
    assert_eq!(told, [("lease#one".to_owned(), Word::Listening)]);
    // What the table has not taken is said again.
    assert_eq!(heard(&mut server, std::slice::from_ref(&one), 1.0), told);
    server.was_told("lease#one", &Word::Listening);
    one.is_ended = true;
    assert_eq!(heard(&mut server, std::slice::from_ref(&one), 2.0), [("lease#one".to_owned(), Word::Stopped)]);
    server.was_told("lease#one", &Word::Stopped);
    assert_eq!(notes(&folder), "start one\nstop one\n");
    assert!(server.look(&Standing::default(), 3.0).is_empty() && server.leases.is_empty());
}

#[test]
fn another_run_of_a_transfer_has_a_lease_of_the_same_name() {
    let (folder, mut server) = server();
    let one = lease("one");
    for said in ["start one\nstop one\n", "start one\nstop one\nstart one\nstop one\n"] {
        heard(&mut server, std::slice::from_ref(&one), 1.0);
        server.was_told("lease#one", &Word::Listening);
        let ended = Lease { is_ended: true, ..one.clone() };
        assert_eq!(heard(&mut server, &[ended], 1.0), [("lease#one".to_owned(), Word::Stopped)]);
        server.was_told("lease#one", &Word::Stopped);
        assert_eq!(notes(&folder), said);
    }
}

#[test]
fn a_lease_that_nobody_renews_ends_by_itself() {
    let (folder, mut server) = server();
    let one = lease("one");
    heard(&mut server, std::slice::from_ref(&one), 1.0);
    server.was_told("lease#one", &Word::Listening);
    assert_eq!(heard(&mut server, &[one], 100.0), [("lease#one".to_owned(), Word::Stopped)]);
    assert_eq!(notes(&folder), "start one\nstop one\n");
}

#[test]
fn a_lease_waits_for_its_command_and_tells_why_it_failed() {
    let (folder, mut server) = server();
    let mut one = Lease { command: None, ..lease("one") };
    assert!(server.look(&standing(&[one.clone()]), 1.0).is_empty());
    assert!(server.is_busy(&standing(&[one.clone()]), 1.0) && !server.is_busy(&standing(&[one.clone()]), 100.0));
    assert_eq!(notes(&folder), "");
    one.command = Some("bad".to_owned());
    let told = heard(&mut server, std::slice::from_ref(&one), 1.0);
    assert!(!server.is_busy(&standing(&[one]), 1.0));
    assert!(matches!(&told[0].1, Word::Failed(why) if why.ends_with("why")), "{told:?}");
}

#[test]
fn what_a_process_before_it_has_started_is_stopped_too() {
    let (folder, mut server) = server();
    let one = Lease { is_ended: true, ..lease("one") };
    assert_eq!(heard(&mut server, std::slice::from_ref(&one), 1.0), [("lease#one".to_owned(), Word::Stopped)]);
    let stopped = Lease { is_ended: true, is_stopped: true, ..lease("two") };
    server.was_told("lease#one", &Word::Stopped);
    assert!(server.look(&standing(&[one, stopped]), 1.0).is_empty());
    assert_eq!(notes(&folder), "stop one\n");
}

#[test]
fn a_daemon_is_told_its_limit_and_what_it_applies_is_said() {
    let (folder, mut server) = server();
    let limit = |number, mb_s| Limit { number, mb_s, until: 50.0 };
    let mut one = Lease { limit: limit(1, 2.5), ..lease("one") };
    heard(&mut server, std::slice::from_ref(&one), 1.0);
    server.was_told("lease#one", &Word::Listening);
    let run = folder.path().join("run/one");
    let told = || fs::read_to_string(run.join(steering::LIMIT_FILE)).unwrap().trim_end().to_owned();
    assert_eq!(told(), "20");
    let standing = |lease: &Lease| standing(std::slice::from_ref(lease));
    assert!(server.counted(&standing(&one)).is_empty(), "it has said nothing yet");
    steering::write(&run, steering::APPLIED_FILE, "20 7").unwrap();
    assert_eq!(server.counted(&standing(&one)), [("lease#one".to_owned(), 1, 7)]);
    server.was_counted("lease#one", 1, 7);
    assert!(server.counted(&standing(&one)).is_empty());
    one.limit = limit(2, 1.0);
    server.look(&standing(&one), 2.0);
    assert_eq!(told(), "8");
    assert!(server.counted(&standing(&one)).is_empty(), "it applies the one before");
    steering::write(&run, steering::APPLIED_FILE, "8 9").unwrap();
    assert_eq!(server.counted(&standing(&one)), [("lease#one".to_owned(), 2, 9)]);
    server.look(&standing(&one), 50.0);
    assert_eq!(told(), "0", "a limit that nobody renews ends, and there is no guarantee");
}

#[test]
fn an_item_that_has_gone_stops_its_unit() {
    let (folder, mut server) = server();
    heard(&mut server, &[lease("one")], 1.0);
    server.was_told("lease#one", &Word::Listening);
    while !server.leases.is_empty() {
        assert!(server.look(&Standing::default(), 1.0).is_empty());
    }
    assert_eq!(notes(&folder), "start one\nstop one\n");
}

/// A later lease of the same transfer.
fn later(one: &Lease) -> Lease {
    Lease { record: format!("{}-again", one.record), epoch: one.epoch + 1, ..one.clone() }
}

#[test]
fn of_two_leases_of_one_transfer_the_later_one_is_served() {
    let (folder, mut server) = server();
    let both = [lease("one"), later(&lease("one"))];
    let (mut failed, mut listening) = (None, None);
    while failed.is_none() || listening.is_none() {
        for (record, said) in heard(&mut server, &both, 1.0) {
            server.was_told(&record, &said);
            match said {
                Word::Failed(why) => failed = Some((record, why)),
                Word::Listening => listening = Some(record),
                Word::Stopped => panic!("{record} is stopped"),
            }
        }
    }
    let (record, why) = failed.unwrap();
    assert_eq!((record, listening.unwrap()), (both[0].record.clone(), both[1].record.clone()));
    assert!(why.starts_with(&both[1].record), "{why}");
    // The end of the earlier one is no end of the daemon, which is the later one's.
    let ended = Lease { is_ended: true, ..both[0].clone() };
    server.look(&standing(&[ended, both[1].clone()]), 1.0);
    assert_eq!(notes(&folder), "start one\n");
}

#[test]
fn a_lease_that_runs_stops_before_a_later_one_of_its_transfer_starts() {
    let (folder, mut server) = server();
    let one = lease("one");
    heard(&mut server, std::slice::from_ref(&one), 1.0);
    server.was_told(&one.record, &Word::Listening);
    let both = [later(&one), one];
    assert_eq!(heard(&mut server, &both, 1.0), [(both[1].record.clone(), Word::Stopped)]);
    server.was_told(&both[1].record, &Word::Stopped);
    assert_eq!(heard(&mut server, &both, 1.0), [(both[0].record.clone(), Word::Listening)]);
    assert_eq!(notes(&folder), "start one\nstop one\nstart one\n");
}

#[test]
fn an_ended_lease_stops_nothing_of_a_later_one_that_this_process_has_started() {
    let (folder, mut server) = server();
    let one = lease("one");
    let again = later(&one);
    heard(&mut server, std::slice::from_ref(&again), 1.0);
    server.was_told(&again.record, &Word::Listening);
    let ended = Lease { is_ended: true, ..one };
    assert_eq!(heard(&mut server, &[ended.clone(), again], 1.0), [(ended.record, Word::Stopped)]);
    assert_eq!(notes(&folder), "start one\n");
}
