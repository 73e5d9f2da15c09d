//! Between DynamoDB items and our documents.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Map, Number, Value};

use cpt_control::KeyRecord;
use cpt_wire::documents::chunk::Chunk;

pub type Item = HashMap<String, AttributeValue>;

/// An item as JSON: the contracts are flat, so strings, numbers and booleans are all there is.
fn to_json(item: &Item) -> Value {
    let value = |attribute: &AttributeValue| match attribute {
        AttributeValue::S(text) => Some(Value::String(text.clone())),
        // Numbers may come as 1, 1.0 or 1E+3; whole ones must stay whole for the typed reader.
        AttributeValue::N(text) => {
            text.parse::<i64>().map(Number::from).ok().or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64)).map(Value::Number)
        }
        AttributeValue::Bool(flag) => Some(Value::Bool(*flag)),
        _ => None,
    };
    Value::Object(item.iter().filter_map(|(name, attribute)| Some((name.clone(), value(attribute)?))).collect::<Map<_, _>>())
}

/// A chunk item; the refusal names the field.
pub fn chunk(item: &Item) -> Result<Chunk, String> {
    serde_json::from_value::<Chunk>(to_json(item)).map_err(|error| error.to_string())?.checked()
}

/// A `key#…` record.
pub fn key(item: &Item) -> Result<KeyRecord, String> {
    serde_json::from_value(to_json(item)).map_err(|error| error.to_string())
}

pub fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

pub fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub const fn flag(value: bool) -> AttributeValue {
    AttributeValue::Bool(value)
}

pub fn list(values: impl IntoIterator<Item = AttributeValue>) -> AttributeValue {
    AttributeValue::L(values.into_iter().collect())
}

/// Returns whether an attribute means yes.
pub fn is_set(attribute: Option<&AttributeValue>) -> bool {
    match attribute {
        Some(AttributeValue::Bool(flag)) => *flag,
        Some(AttributeValue::S(text)) => text == "yes",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpt_wire::documents::chunk::ChunkState;

    #[test]
    fn a_chunk_item_is_read_whatever_form_its_numbers_have() {
        let mut item: Item = [
            ("rangeKey", text("t#0000000")),
            ("itemKey", text("000000003")),
            ("state", text("PENDING")),
            ("planId", text("0".repeat(32))),
            ("manifestKey", text("manifest/0/part-00000.ndjson")),
            ("notBefore", number("1700000000.5")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (name, value) in
            [("chunk", 3), ("attempt", 2), ("phase", 0), ("manifestStart", 0), ("manifestEnd", 10), ("bytes", 5), ("files", 1)]
        {
            item.insert(name.to_owned(), number(value));
        }
        let chunk = chunk(&item).unwrap();
        assert_eq!((chunk.chunk, chunk.attempt, chunk.state, chunk.not_before), (3, 2, ChunkState::Pending, Some(1_700_000_000.5)));
    }

    #[test]
    fn only_a_set_fence_stops() {
        assert!(is_set(Some(&AttributeValue::Bool(true))) && is_set(Some(&text("yes"))));
        assert!(!is_set(Some(&AttributeValue::Bool(false))) && !is_set(None) && !is_set(Some(&text("no"))));
    }
}
