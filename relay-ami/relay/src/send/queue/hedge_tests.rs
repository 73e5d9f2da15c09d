#![allow(clippy::unwrap_used)]

use super::*;
use crate::documents::text::PathId;
use crate::send::builders::work;
use crate::send::streams::Pace;

const MB: u64 = 1_000_000;

fn lane() -> Arc<Handle> {
    Arc::new(Handle::new(PathId::new("pair-1").unwrap()))
}

fn data(chunk: u64) -> Work {
    Work { phase: 0, bytes: 8 * MB, ..work(chunk) }
}

/// A lane that has brought over and owes so many megabytes, ten seconds after it began.
fn paced(brought: u64, owed: u64, now: Instant) -> Arc<Handle> {
    let (lane, speed) = (lane(), Pace::default().begins(now - Duration::from_secs(10)));
    speed.takes((brought + owed) * MB);
    speed.brought(brought * MB);
    lane.begins(speed, now);
    lane
}

fn chunk(hedge: Option<Hedge>) -> Option<(u64, bool)> {
    hedge.map(|hedge| (hedge.work.chunk, hedge.is_late))
}

#[test]
fn the_oldest_chunk_of_a_lane_that_is_cut_off_goes_first_and_to_one_other_lane_only() {
    let (mut chunks, now) = (InFlight::default(), Instant::now());
    let (idle, third, gone) = (lane(), lane(), paced(100, 8, now));
    chunks.take(&data(5), &gone, now);
    chunks.take(&data(4), &gone, now + Duration::from_secs(1));
    assert_eq!(chunk(chunks.hedge(&idle, now, |_| None)), None, "it may still come");
    gone.ends();
    let later = now + Duration::from_secs(5);
    assert_eq!(chunk(chunks.hedge(&idle, later, |_| None)), Some((5, false)));
    assert_eq!(chunk(chunks.hedge(&gone, later, |_| None)), None, "its own");
    chunks.take(&data(5), &idle, later);
    assert_eq!(chunk(chunks.hedge(&third, later, |_| None)), Some((4, false)));
}

#[test]
fn a_late_chunk_is_sent_twice_where_that_is_twice_as_fast_and_only_while_it_is_on_its_way() {
    let (mut chunks, now) = (InFlight::default(), Instant::now());
    // 1 MB/s and 8 MB to bring over: 8 s.
    let (idle, slow) = (lane(), paced(10, 8, now));
    chunks.take(&data(1), &slow, now);
    let within = |seconds| move |_| Some(Duration::from_secs(seconds));
    assert_eq!(chunk(chunks.hedge(&idle, now, within(3))), Some((1, true)));
    assert_eq!(chunk(chunks.hedge(&idle, now, within(5))), None, "hardly faster");
    assert_eq!(chunk(chunks.hedge(&idle, now, |_| None)), None, "not allowed");
    chunks.chunks.values().for_each(|carried| carried.work.flight.goes_out());
    assert_eq!(chunk(chunks.hedge(&idle, now, within(3))), None, "it waits for the receiver");
}

#[test]
fn a_late_chunk_whose_way_goes_on_behind_the_receiver_is_sent_twice_though_it_has_gone_out() {
    let (mut chunks, now) = (InFlight::default(), Instant::now());
    let (lane, speed) =
        (Handle::new(PathId::new("route-0-1").unwrap()).going_on(true), Pace::default().begins(now - Duration::from_secs(10)));
    speed.takes(18 * MB);
    speed.brought(10 * MB);
    lane.begins(speed, now);
    chunks.take(&data(1), &Arc::new(lane), now);
    chunks.chunks.values().for_each(|carried| carried.work.flight.goes_out());
    assert_eq!(chunk(chunks.hedge(&self::lane(), now, |_| Some(Duration::from_secs(3)))), Some((1, true)));
}

#[test]
fn directories_are_sent_twice_where_their_lane_is_cut_off_and_not_where_it_is_late() {
    let (mut chunks, now) = (InFlight::default(), Instant::now());
    let (idle, slow) = (lane(), paced(10, 8, now));
    chunks.take(&Work { phase: 1, ..data(1) }, &slow, now);
    assert_eq!(chunk(chunks.hedge(&idle, now, |_| Some(Duration::from_secs(1)))), None, "they go one at a time");
    slow.ends();
    assert_eq!(chunk(chunks.hedge(&idle, now + Duration::from_secs(5), |_| None)), Some((1, false)));
}

#[test]
fn of_several_late_chunks_the_latest_is_sent_twice() {
    let (mut chunks, now) = (InFlight::default(), Instant::now());
    let (idle, slow, slower) = (lane(), paced(10, 8, now), paced(10, 16, now));
    chunks.take(&data(1), &slow, now);
    chunks.take(&data(2), &slower, now);
    assert_eq!(chunk(chunks.hedge(&idle, now, |_| Some(Duration::from_secs(1)))), Some((2, true)));
}

#[test]
fn the_lines_of_a_chunk_are_counted_once_however_many_lanes_have_it() {
    let (mut chunks, now) = (InFlight::default(), Instant::now());
    let (one, other) = (lane(), lane());
    let work = Work { manifest: Arc::from(&b"line"[..]), ..data(1) };
    chunks.take(&work, &one, now);
    chunks.take(&work, &other, now);
    assert_eq!(chunks.manifest_bytes(), 4);
    chunks.leave(1, &one);
    assert_eq!(chunks.manifest_bytes(), 4);
    chunks.leave(1, &other);
    assert_eq!(chunks.manifest_bytes(), 0);
}

#[test]
fn an_attempt_is_over_with_the_last_lane_that_has_it() {
    let (mut chunks, now) = (InFlight::default(), Instant::now());
    let (one, other) = (lane(), lane());
    chunks.take(&data(1), &one, now);
    chunks.take(&data(1), &other, now);
    assert!(!chunks.leave(1, &one) && chunks.len() == 1);
    assert!(chunks.leave(1, &other) && chunks.is_empty());
}

#[test]
fn the_first_acknowledgement_settles() {
    let copy = data(1);
    let other = copy.clone();
    assert!(copy.flight.settle() && !other.flight.settle() && other.flight.is_settled());
    assert!(!data(1).flight.is_settled(), "another attempt");
}

#[test]
fn what_a_frozen_receiver_has_another_one_takes_as_well_and_no_other_lane_to_the_same() {
    let (mut chunks, now) = (InFlight::default(), Instant::now());
    let towards = |receiver| Arc::new(Handle::towards(PathId::new("direct").unwrap(), crate::control::Seat::new(receiver).unwrap()));
    let (frozen, same, other) = (towards("r0"), towards("r0"), towards("r1"));
    frozen.begins(Pace::default().begins(now), now);
    chunks.take(&data(3), &frozen, now);
    assert_eq!(chunk(chunks.hedge(&other, now, |_| None)), None, "it has just spoken");
    let later = now + SILENT_AFTER;
    assert_eq!(chunk(chunks.hedge(&same, later, |_| None)), None, "that waits for it too");
    assert_eq!(chunk(chunks.hedge(&other, later, |_| None)), Some((3, false)));
}
