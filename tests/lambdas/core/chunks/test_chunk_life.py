"""The machine of a chunk's life is the one in the contract, and the one in the documentation."""

import json
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.chunks import chunk_life
from lambdas.core.chunks.chunk import ChunkState
from lambdas.core.chunks.chunk_life import RULES, Change, ChangeName
from tests.lambdas.builders import chunk
from tests.paths import ROOT

GOLDEN = json.loads((ROOT / "contracts" / "chunk-changes.json").read_text())
VALUES = {
    "digest": "0" * 64,
    "pathId": "direct",
    "lane": 1,
    "startedAt": 1.0,
    "deliveredAt": 2.0,
    "failedAttempt": 1,
    "reason": "stream-lost",
    "notBefore": 3.0,
}


def change(name: ChangeName, attempt: int = 1) -> Change:
    return Change(name, attempt, {key: VALUES[key] for key in RULES[name].sets})


def test_the_rules_are_those_of_the_contract() -> None:
    assert set(RULES) == set(GOLDEN["changes"]) == set(get_args(ChangeName))
    for name, rule in RULES.items():
        golden = GOLDEN["changes"][name]
        assert (golden["writer"], golden["from"], golden["to"]) == (rule.writer, "PENDING", rule.target)


def test_the_diagram_in_the_documentation_has_the_same_arrows() -> None:
    page = (ROOT / "docs" / "design" / "009-chunk-life.md").read_text()
    arrows = set(re.findall(r"^ +(\w+) --> (\w+): ([\w-]+) \((.+)\)$", page, re.MULTILINE))
    assert arrows == {("PENDING", rule.target, name, rule.writer) for name, rule in RULES.items()}


@pytest.mark.parametrize("name", get_args(ChangeName))
def test_a_pending_chunk_in_that_attempt_changes_as_the_rule_says(name: ChangeName) -> None:
    found = chunk_life.after(chunk(0), change(name))
    assert found is not None
    assert (found.state, found.attempt) == (RULES[name].target, 1 + RULES[name].attempts_on)
    assert found.to_document().items() >= {key: VALUES[key] for key in RULES[name].sets}.items()


@given(
    st.sampled_from(get_args(ChangeName)), st.sampled_from(get_args(ChunkState)), st.integers(1, 5), st.integers(1, 5)
)
def test_whatever_comes_late_or_early_or_after_the_end_changes_nothing(
    name: ChangeName, state: ChunkState, attempt: int, of_attempt: int
) -> None:
    found = chunk_life.after(chunk(0, state=state, attempt=attempt), change(name, of_attempt))
    assert (found is not None) == (state == "PENDING" and attempt == of_attempt)


def test_a_change_sets_what_its_rule_says_and_nothing_else() -> None:
    with pytest.raises(ValueError, match="give-up sets"):
        Change("give-up", 1, {"reason": "poison", "lane": 1})
