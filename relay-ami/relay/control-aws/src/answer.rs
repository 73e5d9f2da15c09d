//! What a command that runs as a unit has answered: nobody waits at its machine for it, so it is a record of the transfer's.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::answers::{failed, malformed};
use super::aws_items::text;
use super::calls::Calls;
use super::clients::{Clients, Setup};
use cpt_control::defaults::CONTROL_START;
use cpt_control::{Result, until_answered};
use cpt_process::stop::Stop;
use cpt_wire::documents::text::{Partition, Region, SchemaVersion1};

/// The end of a command (contract `command-answer`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    pub schema_version: SchemaVersion1,
    /// As a shell has it: 128 and the signal for one that a signal ended.
    pub code: u8,
    /// Last line of its output.
    pub output: String,
    /// Beginning and end of what it said beside that.
    pub error: String,
}

/// The record: region, table, partition and id, with blanks between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerPlace {
    pub region: Region,
    pub table: String,
    pub partition: Partition,
    pub id: String,
}

impl FromStr for AnswerPlace {
    type Err = String;

    fn from_str(place: &str) -> std::result::Result<Self, String> {
        let [region, table, partition, id] = place.split(' ').collect::<Vec<_>>()[..] else {
            return Err(format!("{place:?} has not four parts: region, table, partition and id"));
        };
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(format!("id {id:?} has other characters than letters and digits, or none"));
        }
        Ok(Self { region: Region::new(region)?, table: table.to_owned(), partition: Partition::new(partition)?, id: id.to_owned() })
    }
}

/// The table of answers.
pub struct Answers {
    calls: Calls,
    client: aws_sdk_dynamodb::Client,
    place: AnswerPlace,
    stop: Stop,
}

impl Answers {
    /// Prepares the client; no call is made.
    pub fn new(place: AnswerPlace, stop: &Stop, setup: &Setup) -> Result<Self> {
        let calls = Calls::new(stop, setup.times.last_words)?;
        let client = Clients::new(calls.runtime(), &place.region.to_string(), setup)?.reports;
        Ok(Self { calls, client, place, stop: stop.clone() })
    }

    /// Writes it. A table that does not answer is asked again for as long as an end that starts asks.
    pub fn put(&self, answer: &Answer) -> Result<()> {
        let document = serde_json::to_string(answer).map_err(|error| malformed("answer", error.to_string()))?;
        let what = format!("write answer {}", self.place.id);
        let update = self.client.update_item().table_name(&self.place.table);
        let update = update
            .key("transferId", text(self.place.partition.as_str()))
            .key("record", text(format!("answer#{}", self.place.id)))
            .update_expression("SET #document = :document")
            .expression_attribute_names("#document", "document")
            .expression_attribute_values(":document", text(document));
        let call = || self.calls.tell(&what, async { update.clone().send().await.map_err(|error| failed(&what, &error)) });
        until_answered(&self.stop, CONTROL_START, call).map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const PARTITION: &str = "arn:aws-cn:ec2:us-west-2:000000000000:instance/i-0aaaaaaaaaaaaaaa1+arn:aws-cn:ec2:eu-west-1:000000000000:\
                             instance/i-0bbbbbbbbbbbbbbb2+first";

    #[test]
    fn a_place_has_four_parts() {
        let place: AnswerPlace = format!("us-west-2 cpt-transfers {PARTITION} 00ff").parse().unwrap();
        assert_eq!((place.table.as_str(), place.partition.as_str(), place.id.as_str()), ("cpt-transfers", PARTITION, "00ff"));
        for wrong in [
            format!("us-west-2 cpt-transfers {PARTITION}"),
            format!("us-west-2 cpt-transfers {PARTITION} ../x"),
            format!("us-west-2 cpt-transfers {PARTITION} "),
            "us-west-2 cpt-transfers first 00ff".to_owned(),
        ] {
            assert!(wrong.parse::<AnswerPlace>().is_err(), "{wrong}");
        }
    }
}
