"""Labels and tags as a request may have them, and as relays and events do."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from lambdas.core.request.labels import Label, Tags, of_event, relay_tags


def refused(kind: Any, value: object) -> str:
    with pytest.raises(ValidationError) as error:
        TypeAdapter(kind).validate_python(value)
    return str(error.value.errors()[0]["msg"])


@pytest.mark.parametrize("label", ["Moves of May", "Umzug nach Zürich, 3. Teil (neu)", "x" * 200])
def test_label_is_any_line_of_printable_characters(label: str) -> None:
    assert TypeAdapter(Label).validate_python(label) == label


@pytest.mark.parametrize("label", ["", "   ", "two\nlines", "\x1b[2J", "\u202edetrever", "x" * 201])
def test_label_that_a_terminal_would_act_on_or_that_is_too_long_is_refused(label: str) -> None:
    assert refused(Label, label)


def test_tags_have_the_characters_that_ec2_documents() -> None:
    tags = {"cost centre": "R&D".replace("&", "+"), "team/owner": "ünï@example.com", "empty": ""}
    assert TypeAdapter(Tags).validate_python(tags) == tags
    assert "letters, digits" in refused(Tags, {"a": "b;c"})
    assert "letters, digits" in refused(Tags, {"a\n": "b"})


@pytest.mark.parametrize("key", ["aws:x", "AWS:x", "cpt:end", "Cpt:deployment", "Name"])
def test_keys_that_are_aws_or_ours_are_refused(key: str) -> None:
    assert "choose another" in refused(Tags, {key: "x"})


@pytest.mark.parametrize("tags", [{"": "x"}, {"k" * 129: "x"}, {"k": "v" * 257}, {f"k{i}": "" for i in range(21)}])
def test_tags_are_bounded(tags: dict[str, str]) -> None:
    assert refused(Tags, tags)


def test_relays_carry_them_and_the_label_as_far_as_a_tag_can_hold_it() -> None:
    assert relay_tags(None, {}) == {}
    assert relay_tags("May (2nd) – ünï", {"team": "a"}) == {"team": "a", "cpt:label": "May _2nd_ _ ünï"}


def test_events_have_what_the_request_has() -> None:
    assert of_event(None, {}) == {}
    assert of_event("May", {"team": "a"}) == {"label": "May", "tags": {"team": "a"}}
