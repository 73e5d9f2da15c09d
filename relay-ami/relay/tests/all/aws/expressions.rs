//! DynamoDB's expressions, as far as the ends write them: terms under AND, those under OR; plain assignments.

use serde_json::{Map, Value};

type Item = Map<String, Value>;

/// Whether a condition holds for an item.
pub fn holds(condition: &str, item: &Item, request: &Value) -> bool {
    condition.split(" OR ").any(|terms| {
        let terms = if terms.starts_with('(') { &terms[1..terms.len() - 1] } else { terms };
        terms.split(" AND ").all(|term| term_holds(term, item, request))
    })
}

fn term_holds(term: &str, item: &Item, request: &Value) -> bool {
    if let Some(name) = term.strip_prefix("attribute_not_exists(") {
        return !item.contains_key(named(name.trim_end_matches(')'), request));
    }
    let words: Vec<&str> = term.split(' ').collect();
    let [name, operator, value] = words[..] else { panic!("{term:?} is not a term that is known here") };
    let (Some(own), other) = (item.get(named(name, request)), &request["ExpressionAttributeValues"][value]) else { return false };
    let order = match (own["N"].as_str(), other["N"].as_str()) {
        (Some(own), Some(other)) => own.parse::<f64>().unwrap().total_cmp(&other.parse::<f64>().unwrap()),
        _ => own["S"].as_str().cmp(&other["S"].as_str()),
    };
    match operator {
        "=" => order.is_eq(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        _ => panic!("{operator:?} is not known here"),
    }
}

/// Carries out `SET a = :a, #b = :b`.
pub fn set(item: &mut Item, request: &Value) {
    let assignments = request["UpdateExpression"].as_str().unwrap().strip_prefix("SET ").unwrap();
    for assignment in assignments.split(", ") {
        let (name, value) = assignment.split_once(" = ").unwrap();
        item.insert(named(name, request).to_owned(), request["ExpressionAttributeValues"][value].clone());
    }
}

fn named<'a>(name: &'a str, request: &'a Value) -> &'a str {
    if name.starts_with('#') { request["ExpressionAttributeNames"][name].as_str().unwrap() } else { name }
}
