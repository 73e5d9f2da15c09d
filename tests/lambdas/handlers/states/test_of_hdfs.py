"""Transfers with HDFS at an end: workers are its seats, and all else is as of machines."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lambdas.core.ends.clusters import Cluster
from lambdas.core.errors import DestinationBusy, InvalidRequest
from lambdas.core.record import transfer_life
from lambdas.core.survey.survey import Survey
from lambdas.core.tariff.instance_types import TypeFacts
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.estimate_transfer import EstimateInput, estimate_transfer
from lambdas.handlers.states.spawn_relays import SpawnInput, spawn_relays
from lambdas.handlers.states.start_transfer import StartInput, start_transfer
from lambdas.handlers.states.tear_down import TearDownInput, tear_down
from lambdas.handlers.states.validate_request import ValidateInput, validate_request
from tests.lambdas.buckets import ALLOWED, bucket
from tests.lambdas.builders import DESTINATION_ID, IRELAND, SOURCE_ID, WEST, request, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import begin
from tests.lambdas.hdfs import (
    CLUSTER,
    between_clusters,
    from_bucket_to_hdfs,
    from_hdfs_to_bucket,
    hdfs_destination,
    hdfs_source,
    instances,
    of_cluster,
)
from tests.lambdas.many import begun, machine_ids, many, with_machines
from tests.paths import CONTRACTS

SURVEY = Draft202012Validator(json.loads((CONTRACTS / "survey.schema.json").read_text()))


def run(cloud: Cloud, document: Any, name: str = "first") -> AcceptedTransfer:
    arn = f"arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:{name}"
    event = {"request": document, "executionArn": arn, "executionName": name, "startedAt": "1970-01-01T00:16:40.5Z"}
    return validate_request(ValidateInput.from_document(event), cloud.world)


def asked(senders: int = 2, receivers: int = 2, **keys: Any) -> dict[str, Any]:
    return {"source": hdfs_source(senders), "destination": hdfs_destination(receivers), **keys}


def with_workers(senders: int = 2, receivers: int = 2, **settings: Any) -> Cloud:
    return with_machines(many(senders, receivers), Cloud(**settings))


def seated(accepted: AcceptedTransfer) -> list[tuple[str, str]]:
    return [(seat.seat_id, seat.machine.instance_id) for seat in (*accepted.senders, *accepted.receivers)]


def test_each_worker_has_a_seat_in_the_requests_order() -> None:
    found = run(with_workers(), asked())
    senders, receivers = machine_ids(SOURCE_ID, 2), machine_ids(DESTINATION_ID, 2)
    assert seated(found) == [*zip(("s0", "s1"), senders, strict=True), *zip(("r0", "r1"), receivers, strict=True)]
    assert (found.region_pair, found.relay_regions) == (f"{WEST}>{IRELAND}", [WEST, IRELAND])
    assert AcceptedTransfer.from_document(found.to_document()) == found


@pytest.mark.parametrize("side", ["source", "destination"])
def test_beside_a_bucket_each_worker_sends_and_receives(side: str) -> None:
    ends: dict[str, Any] = {
        "source": {"source": hdfs_source(2), "destination": bucket()},
        "destination": {"source": bucket("in/"), "destination": hdfs_destination(2)},
    }
    workers = machine_ids(SOURCE_ID if side == "source" else DESTINATION_ID, 2)
    found = run(with_workers(buckets=ALLOWED), ends[side])
    assert seated(found) == [*zip(("s0", "s1"), workers, strict=True), *zip(("r0", "r1"), workers, strict=True)]
    assert found.on_one_machine
    assert found.relay_regions == [WEST if side == "source" else IRELAND]


def test_a_worker_that_is_not_there_is_named_by_its_place() -> None:
    cloud = with_workers(1, 2)
    with pytest.raises(InvalidRequest) as refused:
        run(cloud, asked())
    (problem,) = refused.value.problems
    assert problem.startswith(f"$.source.workers[1]: '{machine_ids(SOURCE_ID, 2)[1]}' is not in {WEST}")


def test_resumed_a_cluster_serves_by_the_workers_that_it_has_now_and_nothing_of_the_earlier_ones_is_reused() -> None:
    cloud = with_workers(3, 1)
    ids = machine_ids(SOURCE_ID, 3)
    cloud.clusters[WEST].known[CLUSTER] = Cluster("WAITING", instances(ids[:2]))
    document = {"name": "first", "source": of_cluster(hdfs_source()), "destination": hdfs_destination(1)}
    began = run(cloud, document)
    tear_down(TearDownInput(execution_arn=began.execution_arn, transfer=began), cloud.world)
    cloud.transfers.change(began, transfer_life.close("FAILED"))
    cloud.clusters[WEST].known[CLUSTER] = Cluster("WAITING", instances(ids[1:]))
    found = run(cloud, {**document, "resume": True}, "first-attempt2")
    assert (found.transfer_id, found.run) == ("first", 2)
    assert [[seat.machine.instance_id for seat in one.senders] for one in (began, found)] == [ids[:2], ids[1:]]
    assert began.partition != found.partition
    assert AcceptedTransfer.from_document(found.to_document()) == found


def test_two_transfers_into_one_path_of_hdfs_exclude_each_other() -> None:
    cloud = with_workers()
    run(cloud, asked())
    words = rf"\$\.destination\.path: 'hdfs:/backup' by {DESTINATION_ID} overlaps with what transfer 'first' writes"
    with pytest.raises(DestinationBusy, match=words):
        run(cloud, request(destination=hdfs_destination(1)), "second")
    run(cloud, request(destination=hdfs_destination(1, path="/other")), "third")


def test_relays_stand_beside_both_clusters() -> None:
    accepted = between_clusters(2, 2, relays={"pairs": 1, "instanceTypes": ["t3.small"]})
    cloud = with_machines(accepted)
    wanted = estimate_transfer(EstimateInput(transfer=accepted, survey=survey(size=10**12)), cloud.world)
    assert wanted.chosen_pairs == 1
    begin(cloud, accepted, wanted)
    spawn_relays(SpawnInput(transfer=accepted, estimate=wanted), cloud.world)
    assert [len(cloud.compute[region].launches) for region in (WEST, IRELAND)] == [1, 1]


def test_workers_are_started_each_in_its_seat_and_told_of_hdfs() -> None:
    accepted = between_clusters(2, 2, source={"runAs": "hadoop"}, destination={"replication": 2})
    cloud = begun(accepted)
    assert start_transfer(StartInput(transfer=accepted, task_token="token-a"), cloud.world)["started"]
    sent = [
        (command["seat"], instance_ids, command["end"])
        for region in (IRELAND, WEST)
        for _, instance_ids, command in cloud.commands[region].sent
        if command
    ]
    machines = [*machine_ids(DESTINATION_ID, 2), *machine_ids(SOURCE_ID, 2)]
    assert [(seat, ids) for seat, ids, _ in sorted(sent)] == list(zip(("r0", "r1", "s0", "s1"), machines, strict=True))
    there = {"kind": "hdfs", "user": "etl", "path": "/backup", "replication": 2}
    here = {"kind": "hdfs", "user": "etl", "paths": ["/warehouse/sales"], "runAs": "hadoop"}
    assert [end for _, _, end in sorted(sent)] == [there, there, here, here]


def test_workers_move_what_as_many_machines_do() -> None:
    rows = {}
    for kind, accepted in (
        ("hdfs", between_clusters(2, 2, relays={"pairs": 0})),
        ("machine", many(2, 2, relays={"pairs": 0})),
    ):
        found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey()), begun(accepted).world)
        rows[kind] = found.rows[0]
    assert rows["hdfs"] == rows["machine"]
    assert rows["hdfs"].limit.startswith("the 2 source machines send")


@pytest.mark.parametrize("accepted", [from_hdfs_to_bucket(), from_bucket_to_hdfs()])
def test_beside_a_bucket_s3s_requests_are_counted(accepted: AcceptedTransfer) -> None:
    found = estimate_transfer(EstimateInput(transfer=accepted, survey=survey()), with_machines(accepted).world)
    assert found.figures.store is not None
    assert found.figures.requests is not None


def test_what_the_survey_saw_of_hdfs_is_no_volume_of_the_worker() -> None:
    facts = TypeFacts("m5.large", 2, "x86_64", 10.0, 10.0, 81.25, 593.75, False, frozenset())
    seen: Survey = survey()
    seen = seen.model_copy(update={"source": seen.source.model_copy(update={"read_mb_s": 300.0})})
    seen = seen.model_copy(update={"destination": seen.destination.model_copy(update={"write_mb_s": 200.0})})
    origins = {}
    for kind, accepted in (("hdfs", between_clusters()), ("machine", transfer())):
        cloud = Cloud()
        for types in cloud.instance_types.values():
            types.known["m5.large"] = facts
        figures = estimate_transfer(EstimateInput(transfer=accepted, survey=seen), cloud.world).figures
        assert figures.source_disk is not None
        assert figures.destination_disk is not None
        origins[kind] = (figures.source_disk.origin, figures.destination_disk.origin)
    assert origins == {"hdfs": ("measured", "measured"), "machine": ("published", "published")}


@pytest.mark.parametrize("name", ["source-in-hdfs", "destination-in-hdfs"])
def test_what_a_daemon_tells_of_hdfs_can_be_read(name: str) -> None:
    told = json.loads((CONTRACTS / f"examples/good/survey/{name}.json").read_text())
    side = told["side"]
    found = getattr(survey(), side).from_document(told)
    way = found.places[0].ways[0] if side == "source" else found.ways[0]
    assert way.cluster == "hdfs%3A//warehouse"
    assert found.to_document() == told
    SURVEY.validate(told)
