"""Requests with a bucket: what the settings allow, where its seat works, and what its lock holds apart."""

from typing import Any

import pytest

from lambdas.core.ends.allowed_buckets import AllowedBucket
from lambdas.core.errors import DestinationBusy, InvalidRequest
from lambdas.core.intake.destination_lock import NO_PORT, Busy, Holding
from lambdas.core.seats.credentials import bucket_place
from lambdas.core.transfer.accepted import RECEIVER_PORTS, AcceptedTransfer
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.handlers.states.validate_request import ValidateInput, validate_request
from tests.lambdas.buckets import ALLOWED, BUCKET, bucket
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, request
from tests.lambdas.cloud import Cloud

LOCK = f"s3://{BUCKET}"


def run(cloud: Cloud, document: Any, name: str = "first") -> AcceptedTransfer:
    arn = f"arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:{name}"
    event = {"request": document, "executionArn": arn, "executionName": name, "startedAt": "1970-01-01T00:16:40.5Z"}
    return validate_request(ValidateInput.from_document(event), cloud.world)


def allowing() -> Cloud:
    return Cloud(buckets=ALLOWED)


def test_the_seat_of_a_bucket_works_on_the_machine_at_the_other_end() -> None:
    there = run(allowing(), request(destination=bucket()))
    assert [(s.seat_id, s.machine.instance_id) for s in there.seats] == [("r0", SOURCE_ID), ("s0", SOURCE_ID)]
    back = run(allowing(), request(source=bucket("in/")))
    assert [(s.seat_id, s.machine.instance_id) for s in back.seats] == [("r0", DESTINATION_ID), ("s0", DESTINATION_ID)]
    for found in (there, back):
        assert found.on_one_machine
        assert (found.request.relays.wanted, found.request.testing) == ("auto", False), "the estimate chooses"
        assert found.partition.count(found.at_source.instance_id) == 2


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (
            {"destination": bucket("in/")},
            r"\$\.destination\.bucket: 'my-data': .* may not write below s3://my-data/in/",
        ),
        ({"source": bucket("out/")}, r"\$\.source\.bucket: 'my-data': this deployment may not read below"),
        (
            {"destination": bucket("")},
            r"\$\.destination\.bucket: .*may not touch s3://my-data/; its setting `buckets` has",
        ),
        ({"destination": bucket("outer/")}, r"may not touch s3://my-data/outer/"),
        ({"destination": bucket("out/", "theirs")}, r"may not touch s3://theirs/out/"),
        ({"destination": bucket("out/", region="us-west-2")}, r"the bucket 'my-data' is in eu-west-1"),
        ({"destination": bucket(f"out/{'a' * 700}/")}, r"\$\.destination\.prefix: it takes 705 characters"),
        (
            {"destination": bucket(), "delete": True, "dryRun": True},
            r"may not write and delete below s3://my-data/out/",
        ),
    ],
)
def test_what_the_settings_do_not_allow_is_refused_before_anything_is_asked(ends: Any, words: str) -> None:
    cloud = allowing()
    with pytest.raises(InvalidRequest, match=words):
        run(cloud, request(**ends))
    assert all(not commands.sent for commands in cloud.commands.values())
    assert cloud.transfers.get("first") is None


def test_a_mirror_needs_the_right_to_delete() -> None:
    assert run(allowing(), request(destination=bucket("mirror/"), delete=True, dryRun=True)).request.delete


def test_a_deployment_that_names_no_bucket_touches_none() -> None:
    with pytest.raises(InvalidRequest, match="this deployment may touch no bucket; name it in its setting `buckets`"):
        run(Cloud(), request(destination=bucket()))


def test_prefixes_that_overlap_exclude_each_other_and_others_do_not() -> None:
    cloud = allowing()
    run(cloud, request(destination=bucket("out/a/")))
    for prefix in ("out/", "out/a/", "out/a/b/"):
        with pytest.raises(
            DestinationBusy, match=r"\$\.destination\.prefix: .*overlaps with what transfer 'first' writes"
        ):
            run(cloud, request(destination=bucket(prefix)), "second")
    # What it could not have it does not hold: neither the bucket nor a port of the machine.
    assert cloud.locks.acquire(SOURCE_ID, "/", "other", ports=[4602]) == Holding("/", 4602)
    cloud.locks.release(SOURCE_ID, "other")
    assert run(cloud, request(destination=bucket("out/ab/")), "third").receiver_port == RECEIVER_PORTS[1]


def test_a_bucket_takes_any_number_of_transfers_and_a_machine_as_many_as_it_has_ports() -> None:
    cloud = allowing()
    for number in range(40):
        cloud.locks.acquire(LOCK, f"/out/{number}/", f"t{number}", ports=[NO_PORT])
    assert run(cloud, request(destination=bucket("out/x/"))).receiver_port == RECEIVER_PORTS[0]
    for port in RECEIVER_PORTS[1:]:
        cloud.locks.acquire(SOURCE_ID, f"/{port}", f"p{port}")
    with pytest.raises(DestinationBusy, match=rf"\$\.source\.instanceId: '{SOURCE_ID}' receives 15 transfers"):
        run(cloud, request(destination=bucket("out/y/")), "second")
    assert isinstance(cloud.locks.acquire(LOCK, "/out/y/", "other", ports=[NO_PORT]), Holding)


def test_what_a_machine_writes_for_others_does_not_meet_what_it_writes_into_a_bucket() -> None:
    cloud = allowing()
    cloud.locks.acquire(SOURCE_ID, "/", "all-of-it")
    assert run(cloud, request(destination=bucket())).receiver_port == RECEIVER_PORTS[1]
    assert cloud.locks.acquire(SOURCE_ID, "/elsewhere", "late") == Busy("all-of-it")


def test_the_teardown_gives_back_the_bucket_and_the_port() -> None:
    cloud = allowing()
    accepted = run(cloud, request(destination=bucket()))
    tear_down(TearDownInput(transfer=accepted, execution_arn=accepted.execution_arn), cloud.world)
    assert cloud.locks.acquire(LOCK, "/out/", "next", ports=[NO_PORT]) == Holding("/out/", NO_PORT)
    assert cloud.locks.acquire(SOURCE_ID, "/x", "next") == Holding("/x", RECEIVER_PORTS[0])


def test_a_transfer_from_a_bucket_holds_its_destination_as_any_other() -> None:
    cloud = allowing()
    run(cloud, request(source=bucket("in/")))
    with pytest.raises(DestinationBusy, match=rf"\$\.destination\.path: '/restore' on {DESTINATION_ID} overlaps"):
        run(cloud, request(source=bucket("near/", "near", "us-west-2")), "second")


def test_a_bucket_in_the_region_of_its_machine() -> None:
    found = run(allowing(), request(source=bucket("", "near", "us-west-2")))
    assert (found.source_region, found.destination_region, found.region_pair) == (
        "us-west-2",
        IRELAND,
        "s3:us-west-2>eu-west-1",
    )


KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd"
OTHER_KEY = KEY.replace("1234abcd", "5678")
OWNED = (
    AllowedBucket.parse(f"rw {IRELAND} {BUCKET}/ key=123456789012/1234abcd owner=111122223333"),
    AllowedBucket.parse(f"rw {IRELAND} plain/"),
)


def test_the_settings_say_whose_a_bucket_is_and_a_request_where_they_do_not() -> None:
    cloud = Cloud(buckets=OWNED)
    accepted = run(cloud, request(destination=bucket()))
    assert bucket_place(accepted, accepted.request.destination).owner == "111122223333"  # type: ignore[arg-type]
    theirs = {**bucket("", "plain"), "expectedBucketOwner": "444455556666"}
    accepted = run(cloud, request(destination=theirs), "second")
    assert bucket_place(accepted, accepted.request.destination).owner == "444455556666"  # type: ignore[arg-type]
    accepted = run(cloud, request(source=bucket("", "plain")), "third")
    assert bucket_place(accepted, accepted.request.source).owner == "000000000000"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (
            {**bucket(), "expectedBucketOwner": "444455556666"},
            r"\$\.destination\.expectedBucketOwner: '444455556666': the deployment's setting `buckets` says that "
            r"account 111122223333 owns 'my-data'; write that, or leave it out",
        ),
        (
            {**bucket(), "kmsKeyId": OTHER_KEY},
            rf"\$\.destination\.kmsKeyId: '{OTHER_KEY}': the role of buckets may not use this key below "
            rf"'s3://my-data/out/'; name one of {KEY}, or add it as kmsKey",
        ),
        ({**bucket("", "plain"), "kmsKeyId": KEY}, r"below 's3://plain/'; add it as kmsKey"),
    ],
)
def test_an_owner_or_a_key_that_the_settings_do_not_name_is_refused(end: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        run(Cloud(buckets=OWNED), request(destination=end))


def test_a_key_that_the_settings_name_is_taken() -> None:
    accepted = run(Cloud(buckets=OWNED), request(destination={**bucket(), "kmsKeyId": KEY}))
    assert accepted.request.destination.command({})["kmsKeyId"] == KEY
