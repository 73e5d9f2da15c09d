//! What a node starts, stops and says of its leases.

#![allow(clippy::unwrap_used)]

use super::*;
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
    Lease { record, transfer, command, limit: None, guarantee: 0.0, until: 100.0, is_ended: false, is_stopped: false }
}

/// Looks until there is something to say.
fn heard(server: &mut Server, leases: &[Lease], now: f64) -> Vec<(String, Word)> {
    let standing = Standing { leases: leases.to_vec(), wanted_until: 0.0 };
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
    assert!(server.look(&Standing { leases: vec![one.clone()], wanted_until: 0.0 }, 1.0).is_empty());
    assert_eq!(notes(&folder), "");
    one.command = Some("bad".to_owned());
    let told = heard(&mut server, &[one], 1.0);
    assert!(matches!(&told[0].1, Word::Failed(why) if why.ends_with("why")), "{told:?}");
}

#[test]
fn what_a_process_before_it_has_started_is_stopped_too() {
    let (folder, mut server) = server();
    let one = Lease { is_ended: true, ..lease("one") };
    assert_eq!(heard(&mut server, std::slice::from_ref(&one), 1.0), [("lease#one".to_owned(), Word::Stopped)]);
    let stopped = Lease { is_ended: true, is_stopped: true, ..lease("two") };
    server.was_told("lease#one", &Word::Stopped);
    assert!(server.look(&Standing { leases: vec![one, stopped], wanted_until: 0.0 }, 1.0).is_empty());
    assert_eq!(notes(&folder), "stop one\n");
}

#[test]
fn a_daemon_is_told_its_limit_and_what_it_applies_is_said() {
    let (folder, mut server) = server();
    let limit = |number, mb_s| Some(cpt_control_aws::pool::Limit { number, mb_s, until: 50.0 });
    let mut one = Lease { limit: limit(1, 2.5), ..lease("one") };
    heard(&mut server, std::slice::from_ref(&one), 1.0);
    server.was_told("lease#one", &Word::Listening);
    let run = folder.path().join("run/one");
    let told = || fs::read_to_string(run.join(steering::LIMIT_FILE)).unwrap().trim_end().to_owned();
    assert_eq!(told(), "20");
    let standing = |lease: &Lease| Standing { leases: vec![lease.clone()], wanted_until: 0.0 };
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
