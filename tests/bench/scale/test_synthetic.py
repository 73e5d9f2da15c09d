import json

from jsonschema import Draft202012Validator

from bench.scale.synthetic import PART_LINES, Source, delivered
from bench.scale.work import plan, verify
from lambdas.adapters.codec import decode_item
from lambdas.core.chunks.chunk import Chunk
from tests.contracts.test_contracts import SCHEMAS
from tests.lambdas import builders


def test_a_synthetic_listing_is_one_and_in_the_order_of_a_walk() -> None:
    source = Source("some", directories=600, files_each=100, file_bytes=10)
    lines = [json.loads(line) for part in range(source.parts) for line in source.listing(part).splitlines()]
    assert len(lines) == source.entries == 60_600
    assert source.parts == -(-60_600 // PART_LINES)
    validator = Draft202012Validator(SCHEMAS["listing-entry"])
    assert all(validator.is_valid(line) for line in lines[::1000])
    made = set()
    for line in lines:
        made.add(line["path"])
        assert line["kind"] == "directory" or line["path"].rpartition("/")[0] in made


def test_a_source_is_planned_whole_through_the_clients_that_answer_in_this_process() -> None:
    found = plan(Source("some", directories=1, files_each=3, file_bytes=1 << 30))
    assert found["chunks"] == 1 + 3 * (1 << 30) // (2 << 20)


def test_a_source_is_verified_by_the_digests_of_its_plan() -> None:
    assert verify(Source("some", directories=700, files_each=100, file_bytes=1 << 20))["chunks"] > 0


def test_a_synthetic_item_is_a_delivered_chunk() -> None:
    found = Chunk.from_document(decode_item(json.loads(delivered(1000, 7, 64 << 20, 1000.0))))
    assert (found.chunk, found.state, found.attempt) == (1000, "DELIVERED", 2)
    assert found.range_key == f"{builders.shared('scale')}#0000007"
