"""A bucket as an end: what commands, locks and people are told of it."""

from lambdas.core.ends.bucket import MOST_PART_BYTES, MOST_PARTS, DestinationBucket, SourceBucket
from lambdas.core.seats import commands
from lambdas.core.transfer.accepted import AcceptedTransfer
from tests.lambdas.buckets import from_bucket, to_bucket
from tests.lambdas.builders import WEST
from tests.lambdas.core.seats.test_commands import CONTROL, SCHEMA

OWNER = "000000000000"


def test_it_has_no_machine_and_its_seat_another_ends() -> None:
    there, back = to_bucket(), from_bucket()
    for end in (there.request.destination, back.request.source):
        assert (end.machine_ids, end.machines, end.regions, end.share) == ((), (), (), (None, None))
    assert there.at_source == there.at_destination
    assert back.at_source == back.at_destination
    assert not there.between_machines
    assert there.between_regions


def test_prefixes_are_paths_to_the_lock_and_addresses_to_people() -> None:
    end = DestinationBucket(kind="bucket", bucket="my-data", prefix="a/b/", region=WEST)
    assert (end.lock_ids, end.lock_path, end.where) == (("s3://my-data",), "/a/b/", "s3://my-data/a/b/")
    whole = SourceBucket(kind="bucket", bucket="my-data", region=WEST)
    assert (whole.where, whole.plain_paths, whole.tops, whole.apart) == ("s3://my-data/", ["s3://my-data/"], None, [])


def test_each_command_names_the_bucket_its_owner_and_where_credentials_come_from() -> None:
    there, back = to_bucket(preserve={"owners": "numeric"}), from_bucket()

    def told(accepted: AcceptedTransfer, prefix: str) -> dict[str, object]:
        place = {"kind": "bucket", "bucket": "my-data", "prefix": prefix, "region": "eu-west-1"}
        end: dict[str, object] = {**place, "owner": OWNER}
        preserve = accepted.request.preserve.to_document()
        return {**end, "preserve": preserve} if accepted is there else end

    for command in (
        commands.scan_destination(there, CONTROL),
        commands.scan_comparison(there, CONTROL, 1),
        commands.receive(there, CONTROL, "r0", 1, "plan.json"),
    ):
        SCHEMA.validate(command)
        assert command["end"] == told(there, "out/")
        assert command["control"] == CONTROL.to_document()
    for command in (
        commands.scan_source(back, CONTROL),
        commands.scan_digests(back, CONTROL, 1),
        commands.send(back, CONTROL, "s0", 1, "plan.json", 900),
    ):
        SCHEMA.validate(command)
        assert command["end"] == told(back, "in/")
    assert "control" not in commands.scan_destination(back, CONTROL), "a directory's scan needs no credentials"


def test_an_object_has_at_most_what_s3_says() -> None:
    assert MOST_PARTS * MOST_PART_BYTES == 10_000 * 5 * 1024**3
