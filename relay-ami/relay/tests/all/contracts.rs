//! The golden examples of `contracts/`: good ones are read, bad ones refused.

use std::path::{Path, PathBuf};

use cpt_control_aws::answer::Answer;
use cpt_relay::control::ProbeResult;
use cpt_relay::documents::chunk::Chunk;
use cpt_relay::documents::command::Command;
use cpt_relay::documents::entry::{ListingEntry, Segment};
use cpt_relay::documents::extras::{Extra, Remaining};
use cpt_relay::documents::key_entry::KeyEntry;
use cpt_relay::documents::membership::Membership;
use cpt_relay::documents::plan::TransferPlan;
use cpt_relay::look::EqualEntry;

type Judge = fn(&[u8]) -> Result<(), String>;

const JUDGES: [(&str, Judge); 12] = [
    ("relay-command", |text| Command::parse(text).map(drop)),
    ("membership", |text| Membership::parse(text).map(drop)),
    ("transfer-plan", |text| TransferPlan::parse(text).map(drop)),
    ("segment", |text| Segment::parse(text).map(drop)),
    ("listing-entry", |text| ListingEntry::parse(text).map(drop)),
    ("chunk", |text| Chunk::parse(text).map(drop)),
    ("extra-entry", |text| Extra::parse(text).map(drop)),
    ("key-entry", |text| KeyEntry::parse(text).map(drop)),
    ("probe-result", |text| serde_json::from_slice::<ProbeResult>(text).map(drop).map_err(|error| error.to_string())),
    ("command-answer", |text| serde_json::from_slice::<Answer>(text).map(drop).map_err(|error| error.to_string())),
    ("remaining-entry", |text| serde_json::from_slice::<Remaining>(text).map(drop).map_err(|error| error.to_string())),
    ("equal-entry", |text| serde_json::from_slice::<EqualEntry>(text).map(drop).map_err(|error| error.to_string())),
];

fn examples(verdict: &str, contract: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../contracts/examples").join(verdict).join(contract);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn good_examples_are_read() {
    for (contract, judge) in JUDGES {
        let files = examples("good", contract);
        assert!(!files.is_empty(), "no good example of {contract}");
        for file in files {
            judge(&std::fs::read(&file).unwrap()).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
        }
    }
}

#[test]
fn bad_examples_are_refused() {
    for (contract, judge) in JUDGES {
        let files = examples("bad", contract);
        assert!(!files.is_empty(), "no bad example of {contract}");
        for file in files {
            assert!(judge(&std::fs::read(&file).unwrap()).is_err(), "{} was read", file.display());
        }
    }
}

/// Found by the fuzzer: without its feature `float_roundtrip`, the JSON parser reads one bit too many or too few.
#[test]
fn a_time_is_written_as_it_was_read() {
    let text = std::fs::read_to_string(&examples("good", "chunk")[2]).unwrap();
    let mut example: serde_json::Value = serde_json::from_str(&text).unwrap();
    let long: serde_json::Value = serde_json::from_str(&format!("{}1795254005.0", "5".repeat(112))).unwrap();
    example["notBefore"] = long;
    let chunk = Chunk::parse(example.to_string().as_bytes()).unwrap();
    assert_eq!(Chunk::parse(&serde_json::to_vec(&chunk).unwrap()), Ok(chunk));
}

#[test]
fn a_refusal_names_the_field_and_the_value() {
    let refusal = |text: &str| Command::parse(text.as_bytes()).unwrap_err();
    let look = |version: u8, end: &str| {
        refusal(&format!(r#"{{"schemaVersion":{version},"role":"scan","side":"destination","transferId":"t","end":{end}}}"#))
    };
    assert!(look(2, r#"{"kind":"machine","path":"/x"}"#).contains("schemaVersion is 2"));
    let of_another_kind = look(1, r#"{"kind":"tape","path":"/x"}"#);
    assert!(of_another_kind.contains("`tape`") && of_another_kind.contains("`machine`"), "{of_another_kind}");
    assert!(refusal(r#"{"schemaVersion":1,"role":"fly"}"#).contains("fly"));
    let probe = r#"{"schemaVersion":1,"role":"probe","mode":"connect","transferId":"t","address":"here:1","seconds":1}"#;
    assert!(refusal(probe).contains("here:1"), "{}", refusal(probe));
    assert!(look(1, r#"{"kind":"machine","path":"x/y"}"#).contains("absolute"));
}
