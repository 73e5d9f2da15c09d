#![allow(clippy::unwrap_used)]

use std::time::Duration;

use super::*;
use crate::send::streams::pace::Pace;

fn lane(hearing: &Hearing, path: &str, now: Instant) -> Arc<Handle> {
    let lane = Arc::new(Handle::new(PathId::new(path).unwrap()));
    lane.begins(Pace::default().begins(now), now);
    hearing.add(&lane);
    lane
}

fn silent(hearing: &Hearing, now: Instant) -> Vec<String> {
    hearing.silent(now).iter().map(|lane| lane.path.to_string()).collect()
}

#[test]
fn a_lane_is_silent_where_nothing_comes_on_it_and_something_on_another_path() {
    let (hearing, start) = (Hearing::default(), Instant::now());
    let (direct, pair) = (lane(&hearing, "direct", start), lane(&hearing, "pair-1", start));
    let at = |seconds| start + Duration::from_secs(seconds);
    hearing.heard(&direct, at(2));
    hearing.heard(&pair, at(2));
    assert!(silent(&hearing, at(4)).is_empty());
    assert!(silent(&hearing, at(20)).is_empty(), "nobody hears it: the receiver, or the own network");
    hearing.heard(&direct, at(20));
    assert_eq!(silent(&hearing, at(21)), ["pair-1"]);
    pair.ends();
    assert!(silent(&hearing, at(21)).is_empty(), "it is cut off already");
    drop(pair);
    assert!(silent(&hearing, at(21)).is_empty());
}

#[test]
fn the_receiver_is_at_work_while_it_says_so_and_no_longer_once_it_is_not_heard() {
    let (hearing, start) = (Hearing::default(), Instant::now());
    let at = |seconds| start + Duration::from_secs(seconds);
    let lane = lane(&hearing, "direct", start);
    hearing.says(lane.to, true);
    assert!(!hearing.is_at_work(at(1)), "it was never heard");
    hearing.heard(&lane, at(1));
    assert!(hearing.is_at_work(at(2)));
    assert!(!hearing.is_at_work(at(9)), "it may have died at its work");
    hearing.heard(&lane, at(9));
    hearing.says(lane.to, false);
    assert!(!hearing.is_at_work(at(9)));
}

#[test]
fn one_look_is_not_enough_to_cut_a_lane_off() {
    let (hearing, start, mut suspects) = (Hearing::default(), Instant::now(), Suspects::default());
    let (one, other) = (lane(&hearing, "pair-1", start), lane(&hearing, "pair-2", start));
    let confirmed = |lanes: Vec<Arc<Handle>>| lanes.iter().map(|lane| lane.path.to_string()).collect::<Vec<_>>();
    assert!(suspects.confirm(vec![Arc::clone(&one)]).is_empty());
    assert!(suspects.confirm(vec![Arc::clone(&other)]).is_empty());
    assert_eq!(confirmed(suspects.confirm(vec![one, other])), ["pair-2"]);
}

#[test]
fn another_lane_of_the_same_path_is_no_evidence_against_it() {
    let (hearing, start) = (Hearing::default(), Instant::now());
    let (one, _other) = (lane(&hearing, "pair-1", start), lane(&hearing, "pair-1", start));
    hearing.heard(&one, start + Duration::from_secs(5));
    assert!(silent(&hearing, start + Duration::from_secs(5)).is_empty());
}
