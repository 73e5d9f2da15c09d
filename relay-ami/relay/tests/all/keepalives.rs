//! A relay stays as long as this transfer's sender says so, and nothing else that it hears puts its end off.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cpt_relay::documents::membership::Probe;
use cpt_relay::relay::Lifetime;
use cpt_relay::wire::route::{Action, STATUS_FAILED};
use cpt_relay::{receive, send};

use crate::harness::{Running, Transfer, noise, path, wait_for};

/// Arms nothing: each call becomes a line of the file.
fn noting(file: &Path) -> Lifetime {
    let power_off = ["sh", "-c", "echo \"$@\" >>\"$0\""].map(Into::into).into_iter().chain([file.into(), "-P".into()]).collect();
    Lifetime { time_to_live: Duration::from_secs(900), power_off }
}

fn relay(transfer: &Transfer, name: &str) -> (Running<()>, PathBuf) {
    let file = transfer.directory.path().join(name);
    let lifetime = noting(&file);
    (transfer.relay_with(|config| config.lifetime = Some(lifetime)), file)
}

fn calls(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn end(relays: impl IntoIterator<Item = Running<()>>) {
    for relay in relays {
        relay.stop.request();
        relay.join();
    }
}

#[test]
fn a_keepalive_puts_the_power_off_off_and_no_other_stream_does() {
    let transfer = Transfer::plan(64 << 10, None, |_| {});
    let ((near, near_calls), (far, far_calls)) = (relay(&transfer, "near"), relay(&transfer, "far"));
    let hops = path("pair-0", &[near.address, far.address], far.address).hops;
    let router = transfer.router();
    router.measure_between(&[], &hops[0], &hops[1], 100).unwrap();
    assert_eq!((calls(&near_calls), calls(&far_calls)), (vec![], vec![]), "a probe");
    router.keep_alive(&hops).unwrap();
    assert_eq!((calls(&near_calls), calls(&far_calls)), (vec![], vec!["-P +15".to_owned()]), "passed on, not meant for the first");
    router.keep_alive(&hops[..1]).unwrap();
    assert_eq!(calls(&near_calls), ["-P +15"]);
    end([near, far]);
}

#[test]
fn a_relay_that_the_budget_does_not_bear_any_more_is_powered_off_at_once() {
    let transfer = Transfer::plan(64 << 10, None, |_| {});
    let ((near, near_calls), (far, far_calls)) = (relay(&transfer, "near"), relay(&transfer, "far"));
    let hops = path("pair-0", &[near.address, far.address], far.address).hops;
    transfer.router().power_off(&hops).unwrap();
    assert_eq!((calls(&near_calls), calls(&far_calls)), (vec![], vec!["-P +0".to_owned()]));
    transfer.router().power_off(&hops[..1]).unwrap();
    assert_eq!(calls(&near_calls), ["-P +0"]);
    end([near, far]);
}

#[test]
fn a_power_off_that_cannot_be_put_off_is_told_to_the_sender() {
    let transfer = Transfer::plan(64 << 10, None, |_| {});
    for power_off in [vec!["false".into()], vec!["/nowhere/shutdown".into()], vec![]] {
        let lifetime = Lifetime { time_to_live: Duration::from_secs(60), power_off };
        let relay = transfer.relay_with(|config| config.lifetime = Some(lifetime));
        let hops = path("pair-0", &[relay.address], relay.address).hops;
        let error = transfer.router().keep_alive(&hops).unwrap_err();
        assert!(error.to_string().contains(&format!("status {STATUS_FAILED}")), "{error}");
        end([relay]);
    }
}

#[test]
fn a_relay_that_is_never_powered_off_is_kept_alive_all_the_same() {
    let transfer = Transfer::plan(64 << 10, None, |_| {});
    let relay = transfer.relay();
    let mut socket = std::net::TcpStream::connect(relay.address).unwrap();
    assert_eq!(transfer.router().exchange(&mut socket, relay.address, Action::Keepalive).unwrap(), 0);
    end([relay]);
}

#[test]
fn keepalives_alone_do_not_keep_an_idle_daemon() {
    let transfer = Transfer::plan(64 << 10, None, |_| {});
    let relay = transfer.relay_with(|config| config.idle = Duration::from_secs(1));
    let hops = path("pair-0", &[relay.address], relay.address).hops;
    // It is refused once the daemon has ended.
    wait_for("the end of an idle relay", || transfer.router().keep_alive(&hops).err());
    relay.join();
}

#[test]
fn a_sender_keeps_alive_whom_it_sends_through_or_tests_until_the_membership_forgets_them() {
    let mut transfer = Transfer::plan(64 << 10, None, |root| std::fs::write(root.join("large"), noise(7, 2_000_000)).unwrap());
    transfer.keepalive = Duration::from_millis(50);
    let receiver = transfer.receive();
    let relays: Vec<_> = ["near", "far", "tested"].map(|name| relay(&transfer, name)).into();
    let often = |at: usize| wait_for("keepalives", || (calls(&relays[at].1).len() > 1).then_some(()));
    let (near, far, tested) = (relays[0].0.address, relays[1].0.address, relays[2].0.address);
    transfer.members_with_probes(
        vec![],
        vec![Probe { path: path("pair-1", &[near, tested], receiver.address), seconds: 0.2, measure_from: 0 }],
    );
    let sender = transfer.send(Some(1));
    often(2);
    transfer.members(vec![path("pair-0", &[near, far], receiver.address)]);
    often(1);
    let forgotten = calls(&relays[2].1).len();
    let before = calls(&relays[0].1).len();
    wait_for("more keepalives", || (calls(&relays[0].1).len() > before + 1).then_some(()));
    // One may have been under way.
    assert!(calls(&relays[2].1).len() <= forgotten + 1);
    sender.stop.request();
    assert_eq!(sender.join(), send::Outcome::Stopped);
    receiver.stop.request();
    assert_eq!(receiver.join(), receive::Outcome::Stopped);
    end(relays.into_iter().map(|(relay, _)| relay));
}
