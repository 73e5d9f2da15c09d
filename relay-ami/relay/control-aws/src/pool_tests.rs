#![allow(clippy::unwrap_used)]

use super::*;
use aws_sdk_dynamodb::types::AttributeValue;

#[test]
fn a_place_has_three_parts() {
    let place: NodePlace = "us-west-2 cpt-pool arn:aws-cn:ec2:us-west-2:000000000000:instance/i-1".parse().unwrap();
    assert_eq!((place.table.as_str(), place.machine.ends_with("/i-1")), ("cpt-pool", true));
    assert!("us-west-2 cpt-pool".parse::<NodePlace>().is_err());
    assert!("us-west-2 cpt-pool i-1".parse::<NodePlace>().unwrap_err().contains("no ARN"));
}

const RECORD: &str = "lease#first#source-1-0";

fn place() -> NodePlace {
    "us-west-2 cpt-pool arn:aws:ec2:us-west-2:000000000000:instance/i-1".parse().unwrap()
}

fn map<const N: usize>(entries: [(&str, AttributeValue); N]) -> Item {
    entries.map(|(name, value)| (name.to_owned(), value)).into()
}

fn limit_of(mb_s: &str) -> AttributeValue {
    AttributeValue::M(map([("number", number(3)), ("MBps", number(mb_s)), ("until", number(100))]))
}

fn written() -> Item {
    map([
        ("transferId", text("first")),
        ("relayId", text("source-1-0")),
        ("nodeId", text("i-1")),
        ("epoch", number(7)),
        ("until", number("1700000000.5")),
        ("limit", limit_of("12.5")),
    ])
}

#[test]
fn a_lease_is_read_from_its_item() {
    let mut item = written();
    let read = lease(&place(), RECORD, &item).unwrap();
    assert_eq!((read.until, read.epoch, &read.command), (1_700_000_000.5, 7, &None));
    assert_eq!((read.is_ended, read.is_stopped), (false, false));
    assert_eq!((read.may_send(99.0), read.may_send(100.0)), (12.5, 0.0));
    for (name, value) in [("guaranteeMBps", number(2)), ("endedAt", number(5)), ("command", text("e30"))] {
        item.insert(name.to_owned(), value);
    }
    let read = lease(&place(), RECORD, &item).unwrap();
    assert_eq!((read.may_send(99.0), read.may_send(100.0)), (12.5, 2.0));
    assert_eq!((read.command.as_deref(), read.is_ended), (Some("e30"), true));
}

#[test]
fn a_table_that_lies_starts_nothing() {
    for name in ["transferId", "relayId", "nodeId", "epoch", "until", "limit"] {
        let mut item = written();
        item.remove(name);
        assert!(lease(&place(), RECORD, &item).unwrap_err().to_string().contains(name), "{name}");
    }
    let lies = [
        ("transferId", text("other")),
        ("relayId", text("source-2-0")),
        ("nodeId", text("i-2")),
        ("nodeId", text("")),
        ("epoch", number(-1)),
        ("until", text("never")),
        ("until", number("NaN")),
        ("until", number("1e999")),
        ("limit", text("none")),
        ("limit", limit_of("-1")),
        ("limit", limit_of("1e999")),
        ("limit", AttributeValue::M(map([("number", number(3)), ("MBps", number(1))]))),
    ];
    for (name, value) in lies {
        let mut item = written();
        item.insert(name.to_owned(), value.clone());
        assert!(lease(&place(), RECORD, &item).is_err(), "{name} is {value:?}");
    }
    // A folder of its own is named after it.
    let mut item = written();
    item.insert("transferId".to_owned(), text("../first"));
    assert!(lease(&place(), "lease#../first#source-1-0", &item).is_err());
    let mut item = written();
    item.insert("guaranteeMBps".to_owned(), number(-1));
    assert!(lease(&place(), RECORD, &item).unwrap().may_send(100.0) == 0.0);
}

#[test]
fn the_end_of_a_reason_is_kept() {
    let why = format!("{}é", "x".repeat(2 * REASON_BYTES));
    assert!(shortened(&why).len() <= REASON_BYTES && shortened(&why).ends_with('é'));
    assert_eq!(shortened("short"), "short");
}
