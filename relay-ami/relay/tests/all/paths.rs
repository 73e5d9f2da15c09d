//! Membership: paths come, go, are replaced and measured while data flows.

use std::net::{SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::documents::membership::Probe;
use cpt_relay::{receive, send};

use crate::harness::{Transfer, noise, path, wait_for};
use crate::nobody::nobody;

const CHUNK: u64 = 64 << 10;

fn two_megabytes(root: &std::path::Path) {
    std::fs::write(root.join("large"), noise(7, 2_000_000)).unwrap();
}

fn wait_for_chunk_on(transfer: &Transfer, name: &str) {
    wait_for(&format!("chunk on {name}"), || {
        transfer.chunks().iter().any(|item| item.state == ChunkState::Delivered && item.path_id.as_deref() == Some(name)).then_some(())
    });
}

#[test]
fn paths_of_one_to_four_relays_join_and_the_direct_path_leaves_under_way() {
    let mut transfer = Transfer::plan(CHUNK, None, two_megabytes);
    let (receiver, relays) = (transfer.receive(), [(); 4].map(|()| transfer.relay().address));
    transfer.members(vec![path("direct", &[], receiver.address)]);
    let sender = transfer.send(Some(4));
    wait_for_chunk_on(&transfer, "direct");
    let names = ["through-one", "pair-0", "route-0", "via-us-east-1-and-eu-west-1"];
    transfer.members(names.iter().zip(1..).map(|(name, hops)| path(name, &relays[..hops], receiver.address)).collect());
    for name in names {
        wait_for_chunk_on(&transfer, name);
    }
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    assert_eq!(receiver.join(), receive::Outcome::Agreed);
    transfer.assert_same_trees();
    assert!(transfer.events().is_empty(), "draining a path is no failure: {:?}", transfer.events());
}

#[test]
fn a_dead_relay_is_reported_once_and_its_replacement_goes_on() {
    let mut transfer = Transfer::plan(CHUNK, Some(5), two_megabytes);
    let (receiver, near, far) = (transfer.receive(), transfer.relay(), transfer.relay());
    // Nobody listens there: the relay's instance is gone.
    let gone = nobody();
    transfer.members(vec![path("pair-0", &[near.address, gone], receiver.address)]);
    let sender = transfer.send(None);
    let lost = transfer.wait_for_event("Relay Lost");
    assert_eq!((lost["pathId"].as_str(), lost["nodeId"].as_str()), (Some("pair-0"), Some(&*format!("node-{}", gone.port()))));
    let mut replaced = path("pair-0", &[near.address, far.address], receiver.address);
    replaced.generation = 2;
    transfer.members(vec![replaced]);
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    transfer.assert_same_trees();
    assert_eq!(transfer.events().iter().filter(|event| event["type"] == "Relay Lost").count(), 1);
}

/// Accepts and hangs up: the receiver's machine is there, its daemon is not. Counts those who came.
fn gone_receiver() -> (SocketAddrV4, Arc<AtomicUsize>) {
    let (listener, seen) = (TcpListener::bind("127.0.0.1:0").unwrap(), Arc::new(AtomicUsize::new(0)));
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("not IPv4") };
    let count = Arc::clone(&seen);
    std::thread::spawn(move || {
        for _ in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    (address, seen)
}

#[test]
fn a_receiver_that_does_not_answer_costs_no_relay_its_place() {
    let mut transfer = Transfer::plan(CHUNK, Some(9), two_megabytes);
    let (near, far) = (transfer.relay(), transfer.relay());
    let (direct, through_relays) = (gone_receiver(), gone_receiver());
    let _key = transfer.receive();
    transfer.members(vec![path("direct", &[], direct.0), path("pair-0", &[near.address, far.address], through_relays.0)]);
    let sender = transfer.send(None);
    // Two lanes, three tries each and then the path is given up; the seventh comes a second after that.
    wait_for("a seventh try", || (through_relays.1.load(Ordering::SeqCst) >= 7).then_some(()));
    assert_eq!(transfer.events().iter().filter(|event| event["type"] == "Relay Lost").count(), 0, "{:?}", transfer.events());
    sender.stop.request();
    assert_eq!(sender.join(), send::Outcome::Stopped);
}

#[test]
fn a_pre_test_writes_both_rates_for_its_generation_while_data_flows() {
    let mut transfer = Transfer::plan(CHUNK, None, two_megabytes);
    let (receiver, near, far) = (transfer.receive(), transfer.relay(), transfer.relay());
    let (third, fourth) = (transfer.relay(), transfer.relay());
    let probes = [("pair-3", vec![near.address, far.address]), ("route-1", vec![near.address, far.address, third.address, fourth.address])]
        .map(|(name, hops)| Probe { path: path(name, &hops, receiver.address), seconds: 0.4, measure_from: 0 });
    transfer.members_with_probes(vec![], probes.to_vec());
    let sender = transfer.send(None);
    for (name, hops) in [("probe-pair-3", 1), ("probe-route-1", 3)] {
        let result = wait_for("probe result", || transfer.record(name));
        assert_eq!(result["generation"], 1);
        let rates: Vec<f64> = result["hopsMBps"].as_array().unwrap().iter().map(|rate| rate.as_f64().unwrap()).collect();
        assert_eq!(rates.len(), hops, "{result}");
        assert_eq!(rates.into_iter().reduce(f64::min), result["interRegionMBps"].as_f64(), "the slowest counts");
        assert!(result["interRegionMBps"].as_f64().unwrap() > 1.0 && result["intraRegionMBps"].as_f64().unwrap() > 1.0, "{result}");
        assert!(result.get("error").is_none());
    }
    transfer.members(vec![path("direct", &[], receiver.address)]);
    assert!(matches!(sender.join(), send::Outcome::Delivered(_)));
    receiver.join();
}

#[test]
fn one_probe_within_the_region_is_enough_and_goes_to_a_path_that_answered() {
    let mut transfer = Transfer::plan(CHUNK, None, two_megabytes);
    let relays: Vec<_> = (0..6).map(|_| transfer.relay()).collect();
    let there = nobody();
    let names = ["pair-1", "pair-2", "pair-3"];
    let mut probes: Vec<_> = names
        .iter()
        .zip(relays.chunks(2))
        .map(|(name, two)| Probe { path: path(name, &[two[0].address, two[1].address], there), seconds: 0.2, measure_from: 0 })
        .collect();
    probes.push(Probe { path: path("broken", &[relays[0].address, there], there), seconds: 0.2, measure_from: 0 });
    transfer.members_with_probes(vec![], probes);
    let sender = transfer.send(None);
    let results: Vec<_> = names.map(|name| wait_for("probe result", || transfer.record(&format!("probe-{name}")))).into();
    assert!(results.iter().all(|result| result["interRegionMBps"].as_f64().unwrap() > 1.0 && result.get("error").is_none()), "{results:?}");
    let inside: Vec<_> = results.iter().filter_map(|result| result.get("intraRegionMBps")).collect();
    assert!(matches!(inside.as_slice(), [rate] if rate.as_f64().unwrap() > 1.0), "{results:?}");
    let broken = wait_for("the last result", || transfer.record("probe-broken"));
    assert!(broken["error"].as_str().unwrap().contains("cannot reach"), "{broken}");
    sender.stop.request();
    sender.join();
    for relay in relays {
        relay.stop.request();
        relay.join();
    }
}

#[test]
fn a_probe_of_one_hop_measures_from_here_to_that_relay_and_needs_no_receiver() {
    let mut transfer = Transfer::plan(CHUNK, None, two_megabytes);
    let (near, far) = (transfer.relay(), transfer.relay());
    let there = nobody();
    let [direct, nowhere, pair] = [("direct", vec![far.address]), ("pair-9", vec![]), ("pair-1", vec![near.address, far.address])]
        .map(|(name, hops)| Probe { path: path(name, &hops, there), seconds: 0.2, measure_from: 0 });
    transfer.members_with_probes(vec![], vec![pair, direct, nowhere]);
    let sender = transfer.send(None);
    wait_for("the last result", || transfer.record("probe-pair-1"));
    let result = transfer.record("probe-direct").unwrap();
    assert!(result["interRegionMBps"].as_f64().unwrap() > 1.0, "{result}");
    assert_eq!((result.get("intraRegionMBps"), result.get("error")), (None, None), "{result}");
    let result = transfer.record("probe-pair-9").unwrap();
    assert!(result["error"].as_str().unwrap().contains("without relays"), "{result}");
    sender.stop.request();
    sender.join();
    for relay in [near, far] {
        relay.stop.request();
        relay.join();
    }
}

#[test]
fn a_probe_may_begin_at_a_later_relay_and_tells_what_it_measured_before_a_hop_failed() {
    let mut transfer = Transfer::plan(CHUNK, None, two_megabytes);
    let relays = [transfer.relay(), transfer.relay(), transfer.relay()];
    let there = nobody();
    let [first, second, third] = relays.each_ref().map(|relay| relay.address);
    let probe = |name, hops: &[_], measure_from| Probe { path: path(name, hops, there), seconds: 0.2, measure_from };
    let probes =
        vec![probe("later", &[first, second, third], 1), probe("broken", &[first, second, there], 0), probe("beyond", &[first, second], 1)];
    transfer.members_with_probes(vec![], probes);
    let sender = transfer.send(None);
    let result = |name| wait_for("probe result", || transfer.record(name));
    let later = result("probe-later");
    assert_eq!(later["hopsMBps"].as_array().map(Vec::len), Some(1), "{later}");
    assert_eq!((&later["hopsMBps"][0], later.get("intraRegionMBps")), (&later["interRegionMBps"], None), "{later}");
    let broken = result("probe-broken");
    assert_eq!((broken["hopsMBps"].as_array().map(Vec::len), broken.get("interRegionMBps")), (Some(1), None), "{broken}");
    assert!(broken["error"].as_str().unwrap().contains("cannot reach"), "{broken}");
    let beyond = result("probe-beyond");
    assert!(beyond["error"].as_str().unwrap().contains("no hop begins at relay 1"), "{beyond}");
    sender.stop.request();
    sender.join();
    for relay in relays {
        relay.stop.request();
        relay.join();
    }
}

#[test]
fn a_sender_without_a_path_advances_though_it_sends_nothing() {
    let mut transfer = Transfer::plan(CHUNK, None, |_| {});
    transfer.members(vec![]);
    let sender = transfer.send(None);
    let sequence = || transfer.record("progress-s0").and_then(|record| record["sequence"].as_u64());
    let first = wait_for("progress", sequence);
    wait_for("more progress", || sequence().filter(|now| *now > first));
    sender.stop.request();
    assert_eq!(sender.join(), send::Outcome::Stopped);
}

#[test]
fn a_pre_test_of_a_dead_relay_writes_why() {
    let mut transfer = Transfer::plan(CHUNK, None, two_megabytes);
    let receiver = transfer.receive();
    let gone = nobody();
    let pair = path("pair-0", &[gone, gone], receiver.address);
    transfer.members_with_probes(vec![], vec![Probe { path: pair, seconds: 0.4, measure_from: 0 }]);
    let sender = transfer.send(None);
    let result = wait_for("probe result", || transfer.record("probe-pair-0"));
    assert!(result["error"].as_str().unwrap().contains("refused"), "{result}");
    sender.stop.request();
    sender.join();
    receiver.stop.request();
    receiver.join();
}
