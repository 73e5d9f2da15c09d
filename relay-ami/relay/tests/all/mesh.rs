//! Relays that several paths share: any at the source feeds any at the destination.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;

use cpt_relay::documents::chunk::ChunkState;
use cpt_relay::send;

use crate::harness::{Transfer, noise, path, wait_for};
use crate::nobody::nobody;

#[test]
fn two_relays_feed_three_over_all_six_paths() {
    let mut transfer = Transfer::plan(32 << 10, None, |root| std::fs::write(root.join("large"), noise(7, 6_000_000)).unwrap());
    let receiver = transfer.receive();
    let sources = [(); 2].map(|()| transfer.relay());
    let destinations = [(); 3].map(|()| transfer.relay());
    let paths: Vec<_> = sources
        .iter()
        .enumerate()
        .flat_map(|(s, source)| destinations.iter().enumerate().map(move |(d, destination)| (s, source, d, destination)))
        .map(|(s, source, d, destination)| path(&format!("pair-{s}-{d}"), &[source.address, destination.address], receiver.address))
        .collect();
    let names: BTreeSet<String> = paths.iter().map(|path| path.path_id.to_string()).collect();
    transfer.members(paths.clone());
    let sender = transfer.send(Some(40));
    let used = || -> BTreeSet<String> {
        transfer.chunks().into_iter().filter(|chunk| chunk.state == ChunkState::Delivered).filter_map(|chunk| chunk.path_id).collect()
    };
    wait_for("chunks over all paths", || (used() == names).then_some(()));
    // One relay leaves with the three paths it is on; the other goes on with its own.
    transfer.members(paths.into_iter().filter(|path| path.path_id.as_str().starts_with("pair-1-")).collect());
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    transfer.assert_same_trees();
    assert!(transfer.events().is_empty(), "{:?}", transfer.events());
    for relay in sources.into_iter().chain(destinations) {
        relay.stop.request();
        relay.join();
    }
}

#[test]
fn a_shared_relay_that_is_gone_is_reported_for_each_of_its_paths_while_the_others_carry_all() {
    let mut transfer = Transfer::plan(32 << 10, None, |root| std::fs::write(root.join("large"), noise(8, 3_000_000)).unwrap());
    let (receiver, first, second, far) = (transfer.receive(), transfer.relay(), transfer.relay(), transfer.relay());
    let gone = nobody();
    let pair = |name: &str, hops: [SocketAddrV4; 2]| path(name, &hops, receiver.address);
    transfer.members(vec![
        pair("pair-0-0", [first.address, gone]),
        pair("pair-1-0", [second.address, gone]),
        pair("pair-0-1", [first.address, far.address]),
        pair("pair-1-1", [second.address, far.address]),
    ]);
    // So slow that it does not end before.
    let sender = transfer.send(Some(1));
    let reported = |transfer: &Transfer| -> Vec<(String, String)> {
        let text = |event: &serde_json::Value, key: &str| event[key].as_str().unwrap().to_owned();
        transfer.events().iter().map(|event| (text(event, "pathId"), text(event, "nodeId"))).collect()
    };
    wait_for("both reports", || (reported(&transfer).len() == 2).then_some(()));
    transfer.limit(None);
    let outcome = sender.join();
    assert!(matches!(outcome, send::Outcome::Delivered(_)), "{outcome:?}");
    receiver.join();
    transfer.assert_same_trees();
    let mut reported = reported(&transfer);
    reported.sort();
    assert_eq!(reported, ["pair-0-0", "pair-1-0"].map(|name| (name.to_owned(), format!("node-{}", gone.port()))));
    for relay in [first, second, far] {
        relay.stop.request();
        relay.join();
    }
}
