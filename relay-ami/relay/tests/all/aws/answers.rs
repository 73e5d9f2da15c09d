//! Answers of commands that run as units.

use cpt_control_aws::answer::{Answer, AnswerPlace, Answers};
use serde_json::Value;

use super::*;

fn answers(cloud: &Cloud, stop: &Stop) -> Answers {
    let place: AnswerPlace = format!("us-west-2 transfers {PARTITION} 0123456789abcdef").parse().unwrap();
    let credentials = Credentials::new("key", "secret", None, None, "test");
    Answers::new(place, stop, &Setup::at(cloud.endpoint.clone(), credentials, QUICK)).unwrap()
}

fn failed() -> Answer {
    Answer { schema_version: SchemaVersion1, code: 3, output: "{}".to_owned(), error: "no room".to_owned() }
}

/// The only attributes that the policy of ends lets them write.
#[test]
fn an_answer_is_the_document_of_a_record_of_its_transfer() {
    let cloud = Cloud::start();
    answers(&cloud, &Stop::new().unwrap()).put(&failed()).unwrap();
    let item = cloud.item("transfers", ["transferId", "record"], [PARTITION, "answer#0123456789abcdef"]).unwrap();
    assert_eq!(item.keys().collect::<Vec<_>>(), ["document", "record", "transferId"]);
    let document: Value = serde_json::from_str(item["document"]["S"].as_str().unwrap()).unwrap();
    assert_eq!(document, json!({"schemaVersion": 1, "code": 3, "output": "{}", "error": "no room"}));
}

#[test]
fn a_table_that_refuses_for_a_while_gets_the_answer_later() {
    let cloud = Cloud::start();
    cloud.spoil("UpdateItem", "answer#", BEYOND_RETRIES, Fault::Status(500, "InternalServerError"));
    answers(&cloud, &Stop::new().unwrap()).put(&failed()).unwrap();
    assert!(cloud.item("transfers", ["transferId", "record"], [PARTITION, "answer#0123456789abcdef"]).is_some());
}

#[test]
fn a_unit_that_was_told_to_stop_says_so_and_does_not_try_for_long() {
    let (cloud, stop) = (Cloud::start(), Stop::new().unwrap());
    stop.request();
    answers(&cloud, &stop).put(&failed()).unwrap();
    cloud.spoil("UpdateItem", "answer#", 1000, Fault::Silence);
    let began = Instant::now();
    assert!(answers(&cloud, &stop).put(&failed()).is_err());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
