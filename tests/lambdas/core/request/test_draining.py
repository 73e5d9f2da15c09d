"""What a person asks for who takes a machine back: the contract's examples."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from lambdas.core.request.draining import DrainRequest
from tests.paths import CONTRACTS

EXAMPLES = CONTRACTS / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("good/drain-request/*.json")), ids=lambda path: path.stem)
def test_good_examples_are_taken(path: Path) -> None:
    document = json.loads(path.read_text())
    assert {**DrainRequest.from_document(document).to_document(), **document} == DrainRequest.from_document(
        document
    ).to_document()


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("bad/drain-request/*.json")), ids=lambda path: path.stem)
def test_bad_examples_are_refused(path: Path) -> None:
    with pytest.raises(ValidationError):
        DrainRequest.from_document(json.loads(path.read_text()))
