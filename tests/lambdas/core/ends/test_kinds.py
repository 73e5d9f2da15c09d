"""Kinds of ends are told apart by `kind`; without it an end is a machine, unless it names a bucket."""

import pytest

from lambdas.core.ends.bucket import SourceBucket
from lambdas.core.ends.machine import SourceMachine
from lambdas.core.request.request import TransferRequest
from tests.lambdas.buckets import bucket
from tests.lambdas.builders import SOURCE_ID, WEST, request

MACHINE = {"instanceId": SOURCE_ID, "region": WEST, "paths": ["/data"]}


@pytest.mark.parametrize(
    ("source", "kind"),
    [(MACHINE, SourceMachine), ({**MACHINE, "kind": "machine"}, SourceMachine), (bucket("in/"), SourceBucket)],
)
def test_an_end_is_of_its_kind_and_stays_so_as_a_document(source: dict[str, object], kind: type) -> None:
    found = TransferRequest.from_document(request(source=source))
    assert type(found.source) is kind
    assert TransferRequest.from_document(found.to_document()) == found
    assert TransferRequest.model_validate(found.model_dump()).source == found.source
