#![allow(clippy::unwrap_used)]

use super::*;
use crate::builders::control::InMemory;

fn control(parts: &[&str]) -> InMemory {
    let control = InMemory::default();
    for (part, text) in (0..).zip(parts) {
        control.write_object(&format!("p/{}", part_key("folder/", part)), text.as_bytes().to_vec()).unwrap();
    }
    control
}

fn lines<'a>(control: &'a InMemory, parts: u64) -> Result<Lines<'a>, ControlError> {
    Lines::new(control, "p/", "folder/", parts)
}

#[test]
fn each_line_is_taken_in_its_turn_over_all_objects_even_empty_ones() {
    let control = control(&["{\"a\":1}\n{\"b\":2}\n", "", "{\"c\":3}\n"]);
    let mut lines = lines(&control, 3).unwrap();
    let listed = ["{\"a\":1}", "{\"not-planned\":0}", "{\"b\":2}", "{\"c\":3}", "{\"d\":4}"];
    let taken = listed.map(|line| lines.is_next(line.as_bytes()).unwrap());
    assert_eq!(taken, [true, false, true, true, false]);
    assert!(lines.end().is_ok());
}

#[test]
fn a_planned_line_is_the_listings_whatever_the_comparison_has_added_to_it() {
    let plain = b"{\"a\":1}";
    for planned in [plain.to_vec(), with_basis(plain), with_same(plain)] {
        let control = control(&[&String::from_utf8(planned).unwrap()]);
        assert!(lines(&control, 1).unwrap().is_next(plain).unwrap());
    }
}

#[test]
fn lines_that_the_listing_does_not_have_and_objects_that_are_not_there_are_errors() {
    let control = control(&["{\"a\":1}\n"]);
    assert!(matches!(lines(&control, 1).unwrap().end(), Err(ControlError::Malformed { .. })));
    let mut both = lines(&control, 2).unwrap();
    assert!(both.is_next(b"{\"a\":1}").is_err());
}

#[test]
fn empty_lines_and_line_ends_are_none_of_a_text() {
    let text = b"one\n\ntwo\nthree";
    let found: Vec<&[u8]> = lines_of(text).map(|line| &text[line]).collect();
    assert_eq!(found, [&b"one"[..], b"two", b"three"]);
}
