//! What comes from the control plane.

use std::fmt::Debug;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use cpt_relay::documents::chunk::Chunk;
use cpt_relay::documents::command::Command;
use cpt_relay::documents::entry::{ListingEntry, Segment};
use cpt_relay::documents::extras::Extra;
use cpt_relay::documents::membership::Membership;
use cpt_relay::documents::percent;
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::rate::RateRules;
use cpt_relay::transport::peer::{route_key_from_text, to_text};
use serde::Serialize;

/// What is read is written as something that reads the same.
fn same_again<T: Serialize + PartialEq + Debug>(parse: impl Fn(&[u8]) -> Result<T, String>, data: &[u8]) -> Option<T> {
    let document = parse(data).ok()?;
    let text = serde_json::to_vec(&document).expect("a document is written");
    assert_eq!(parse(&text).as_ref(), Ok(&document));
    Some(document)
}

pub fn command(data: &[u8]) {
    match Command::parse(data) {
        Ok(Command::ProbeListen(probe)) => waits(probe.seconds),
        Ok(Command::ProbeConnect(probe)) => waits(probe.seconds),
        _ => {}
    }
}

/// A time that a clock can hold.
fn waits(seconds: f64) {
    let time = Duration::try_from_secs_f64(seconds).expect("a time");
    assert!(Instant::now().checked_add(time).is_some(), "{seconds} s");
}

pub fn membership(data: &[u8]) {
    same_again(Membership::parse, data);
}

pub fn plan(data: &[u8]) {
    if let Some(plan) = same_again(TransferPlan::parse, data) {
        assert!(plan.chunks <= (plan.ranges().end - plan.first_range).saturating_mul(plan.range_size));
    }
}

pub fn chunk(data: &[u8]) {
    same_again(Chunk::parse, data);
}

/// Lines of manifests, listings and lists of extras.
pub fn entry(data: &[u8]) {
    same_again(ListingEntry::parse, data);
    same_again(Extra::parse, data);
    if let Some(segment) = same_again(Segment::parse, data) {
        assert!(segment.offset + segment.length <= segment.size);
        assert!(percent::decode(&segment.path).is_ok_and(|path| !path.is_empty()));
    }
}

pub fn text(data: &[u8]) {
    assert_eq!(percent::decode(&percent::encode(data)).as_deref(), Ok(data));
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(bytes) = percent::decode(text) {
            assert_eq!(percent::decode(&percent::encode(&bytes)), Ok(bytes));
        }
        if let Some(key) = route_key_from_text(text) {
            assert_eq!(to_text(&key), text);
        }
    }
    if let Ok(rules) = RateRules::parse(data)
        && let Some(bucket) = rules.bucket(Ipv4Addr::new(10, 1, 2, 3))
    {
        // Nothing is not waited for, whatever the rate is.
        bucket.take(0);
    }
}
