import json

import pytest
from jsonschema import Draft202012Validator

from lambdas.core.chunks.progress import Progress
from lambdas.core.record import transfer_life
from lambdas.core.record.pause import Pause
from lambdas.core.record.transfer_record import Spawned
from lambdas.core.request.deletion import Deleted
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.seats.liveness import Seats
from lambdas.core.seats.retirement import with_seat
from lambdas.core.survey.survey import Unselected
from lambdas.core.tariff.prices import PriceBook
from lambdas.handlers.states.write_report import ReportInput, write_report
from tests.lambdas.builders import IRELAND, WEST, delivered, estimate, node, paths, plan, progress, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.finished import finished, run
from tests.lambdas.fleet import attempt
from tests.lambdas.many import begun, many
from tests.paths import CONTRACTS

SCHEMA, EVENTS, REQUESTS = (
    Draft202012Validator(json.loads((CONTRACTS / f"{name}.schema.json").read_text()))
    for name in ("report", "event", "transfer-request")
)


def test_ends_that_were_started_again_are_counted() -> None:
    cloud = finished()
    assert "restarts" not in run(cloud)
    cloud.transfers.change(
        transfer(),
        transfer_life.note(seats=Seats.begun(1, 1000.0, ["r0", "s0"], version=1).restarted("s0", 2, 1060.0)),
    )
    found = run(cloud)
    SCHEMA.validate(found)
    assert found["restarts"] == {"sender": 1, "receiver": 0}


@pytest.mark.parametrize("watched", [None, Seats.begun(1, 1000.0, ["r0", "s0"], version=1)])
def test_ends_that_came_back_since_they_were_watched_are_counted(watched: Seats | None) -> None:
    cloud = finished()
    if watched:
        cloud.transfers.change(transfer(), transfer_life.note(seats=watched))
    shared = transfer().partition
    again = progress().model_copy(update={"epoch": first_epoch(1) + 2})
    cloud.agents.progresses.update({(shared, "s0"): again, (shared, "r0"): progress()})
    assert run(cloud)["restarts"] == {"sender": 2, "receiver": 0}


def test_a_report_that_the_receivers_machine_spoiled_prevents_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = finished()
    told = cloud.agents.progress

    def spoilt(shared: str, side: str) -> Progress | None:
        return told(shared, side) if side == "s0" else Progress.from_document({"bytes": "many"})

    monkeypatch.setattr(cloud.agents, "progress", spoilt)
    assert run(cloud)["status"] == "SUCCEEDED"


def test_chunks_that_were_repaired_and_bytes_that_went_out_twice_are_counted() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    outcome = delivered(sent_bytes=100, hedged_bytes=30, repaired_chunks=2)
    cloud.transfers.change(transfer(), transfer_life.finish(outcome))
    found = run(cloud)
    SCHEMA.validate(found)
    assert (found["hedgedBytes"], found["repairedChunks"]) == (30, 2)


def test_pauses_are_told_from_when_to_when() -> None:
    cloud = finished()
    assert "pauses" not in run(cloud)
    cloud = finished()
    cloud.transfers.change(transfer(), transfer_life.note(pause=Pause().begun(100.0).ended(130.5).begun(200.0)))
    found = run(cloud)
    SCHEMA.validate(found)
    assert found["pauses"] == [{"since": 100.0, "until": 130.5}, {"since": 200.0}]


@pytest.mark.parametrize(
    ("by_receiver", "by_removal", "count"), [(2, None, 2), (2, 5, 5), (None, None, 0), (None, 3, 3)]
)
def test_where_what_was_replaced_is_kept_is_told_with_the_last_count(
    by_receiver: int | None, by_removal: int | None, count: int
) -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer(keepReplaced=".replaced"))
    cloud.transfers.change(transfer(), transfer_life.note(paths=paths(), plan=plan()))
    assert run(cloud)["kept"] == {"where": "/restore/.replaced/first"}, "it ended before they were counted"
    cloud.transfers.change(transfer(), transfer_life.finish(delivered(kept=by_receiver)))
    deleted = Deleted(entries=4, bytes=300, where="s3://b/extras/", kept=by_removal)
    cloud.transfers.change(transfer(), transfer_life.note(deleted=deleted))
    found = run(cloud)
    SCHEMA.validate(found)
    assert found["kept"] == {"entries": count, "where": "/restore/.replaced/first"}
    assert "kept" not in found["deleted"]
    page = cloud.objects.objects["transfers/first/report.html"].decode()
    assert "Kept of what was replaced or deleted: " in page
    assert "in /restore/.replaced/first." in page


def with_skips() -> Cloud:
    cloud = finished(skipped=2)
    line = b'{"entry": 5, "kind": "file", "path": "logs/f150", "reason": "source-changed"}\n'
    cloud.objects.put("transfers/first/skipped/part-00000.ndjson", line)
    return cloud


def test_transfer_that_left_files_out_with_consent_succeeds_and_is_never_called_verified() -> None:
    cloud = with_skips()
    found = run(cloud, verified={"verified": False, "files": 2, "skipped": 2}, failure=None)
    SCHEMA.validate(found)
    assert (found["status"], found["verified"], found["skipped"]["count"]) == ("SUCCEEDED_WITH_SKIPS", False, 2)
    assert found["skipped"]["first"][0]["path"] == "logs/f150"
    assert found["skipped"]["where"].endswith("transfers/first/skipped/")
    kind, news = cloud.events.put_events[-1]
    EVENTS.validate({"schemaVersion": 1, "type": kind, **news})
    assert (news["status"], news["skipped"]) == ("SUCCEEDED_WITH_SKIPS", 2)
    page = cloud.objects.objects["transfers/first/report.html"].decode()
    assert "logs/f150: source-changed" in page
    assert "Succeeded without 2 entries" in page
    record = cloud.transfers.get("first")
    assert record is not None
    assert (record.ended, record.unfulfilled) == (True, None), "a later run compares anew"


def test_what_could_not_be_looked_at_was_left_out_too() -> None:
    cloud = finished()
    unselected = Unselected(counts={"unreadable": 1, "excluded": 4}, where="s3://bucket/unselected/")
    cloud.transfers.change(transfer(), transfer_life.note(unselected=unselected))
    found = run(cloud)
    SCHEMA.validate(found)
    assert (found["status"], found["verified"]) == ("SUCCEEDED_WITH_SKIPS", False)
    kind, news = cloud.events.put_events[-1]
    EVENTS.validate({"schemaVersion": 1, "type": kind, **news})
    assert "Succeeded without 1 entry" in cloud.objects.objects["transfers/first/report.html"].decode()


def test_source_without_a_file_is_said_in_report_page_and_event() -> None:
    cloud = finished()
    assert "emptySource" not in run(cloud)
    assert "emptySource" not in cloud.events.put_events[-1][1]
    cloud.transfers.change(transfer(), transfer_life.note(empty_source="'/data/set' holds no file"))
    found = run(cloud)
    SCHEMA.validate(found)
    assert found["emptySource"] == "'/data/set' holds no file"
    kind, news = cloud.events.put_events[-1]
    EVENTS.validate({"schemaVersion": 1, "type": kind, **news})
    assert news["emptySource"] == found["emptySource"]
    assert "&#39;/data/set&#39; holds no file." in cloud.objects.objects["transfers/first/report.html"].decode()


def test_transfer_that_may_leave_nothing_out_fails_with_what_it_left_out() -> None:
    found = run(with_skips(), failure={"Error": "FilesSkipped", "Cause": '{"errorMessage": "2 entries were left out"}'})
    SCHEMA.validate(found)
    assert (found["status"], found["error"], found["skipped"]["count"]) == ("FAILED", "FilesSkipped", 2)


def test_successful_transfer() -> None:
    cloud = finished()
    found = run(cloud, verified={"verified": True, "files": 3}, failure=None)
    SCHEMA.validate(found)
    assert (found["status"], found["verified"], found["pairs"], found["retries"]) == ("SUCCEEDED", True, 1, 6)
    assert (found["bytes"], found["chunks"], found["files"]) == (300, 3, 3)
    assert found["failedChunks"] == [{"chunk": 3, "attempt": 5, "reason": "stream-lost after 5 attempts"}]
    assert found["seconds"]["transfer"] == pytest.approx(1.9)
    assert found["seconds"]["firstByte"] == pytest.approx(10.0)
    assert found["seconds"]["total"] == pytest.approx(100.0)
    assert (found["seconds"]["directEstimate"], found["seconds"]["estimate"]) == (50.0, 25.0)
    assert found["retryCauses"] == [{"cause": "stream-lost", "retries": 4}, {"cause": "unknown", "retries": 2}]
    assert (found["startedAt"], found["source"]["region"], found["destination"]["region"]) == (1000.0, WEST, IRELAND)
    assert [path["pathId"] for path in found["course"]["paths"]] == ["direct", "pair-1"]
    assert [(lane["pathId"], len(lane["bars"])) for lane in found["course"]["lanes"]] == [("direct", 1), ("pair-1", 2)]
    stages = [("Validate Request", 0.25), ("Survey Ends", 1.5)]
    assert [(stage["stage"], stage["seconds"]) for stage in found["stages"]] == stages


def test_report_holds_the_request_as_it_was_accepted_and_an_output_that_it_fits() -> None:
    rules = [f"{i:04d}" * 250 for i in range(1_000)]
    cloud = Cloud()
    asked = transfer(select={"exclude": rules})
    cloud.transfers.create(asked)
    found = run(cloud, transfer=asked.to_document())
    assert "request" not in found, "1 MB would not pass as a state's output"
    stored = json.loads(cloud.objects.objects["transfers/first/report.json"])
    SCHEMA.validate(stored)
    REQUESTS.validate(stored["request"])
    assert stored["request"]["select"]["exclude"] == rules
    page = cloud.objects.objects["transfers/first/report.html"]
    assert len(page) < 100_000
    assert b"From /data/set on i-0aaaaaaaaaaaaaaa1" in page
    assert "request" in run(finished())


def test_report_says_where_every_entry_is_listed_if_there_is_a_list() -> None:
    cloud = finished()
    cloud.objects.put("transfers/first/entries/2/part-00000.ndjson", b"of another run")
    assert "entries" not in run(cloud)
    cloud.objects.put("transfers/first/entries/1/part-00000.ndjson", b'{"end":true,"entries":0,"complete":true}')
    found = run(cloud)
    SCHEMA.validate(found)
    assert found["entries"] == f"s3://{cloud.world.env.control_bucket}/transfers/first/entries/1/"


def test_label_and_tags_reach_report_page_and_event() -> None:
    cloud = Cloud()
    asked = transfer(label="Moves of <May>", tags={"team": "storage"})
    cloud.transfers.create(asked)
    found = run(cloud, transfer=asked.to_document())
    SCHEMA.validate(found)
    assert (found["request"]["label"], found["request"]["tags"]) == ("Moves of <May>", {"team": "storage"})
    page = cloud.objects.objects["transfers/first/report.html"].decode()
    assert "<bdi>Moves of &lt;May&gt;</bdi>" in page
    assert "<bdi>team</bdi>: <bdi>storage</bdi>" in page
    kind, news = cloud.events.put_events[-1]
    EVENTS.validate({"schemaVersion": 1, "type": kind, **news})
    assert (news["label"], news["tags"]) == ("Moves of <May>", {"team": "storage"})


def test_cost_counts_relays_at_the_estimates_price_and_what_was_sent() -> None:
    found = run(finished())["cost"]
    assert found["relays"] == pytest.approx(2 * 90 * 0.1 / 3600)
    assert found["egress"] == pytest.approx(2 * 0.02)
    assert found["total"] == pytest.approx(found["relays"] + found["egress"] + found["controlPlane"])


def test_what_became_of_the_wish_for_relays_and_what_their_zone_cost() -> None:
    cloud = finished()
    cloud.transfers.change(
        transfer(),
        transfer_life.note(spawned=Spawned(wanted=2, launched=1, notes=["the quota allowed 1 of 2 relays"])),
    )
    cloud.nodes.put(node("source", 1, 1, "LOST", market="spot", availability_zone="us-west-2b", running_at=1002.0))
    found = run(cloud)
    SCHEMA.validate(found)
    fleet = found["fleet"]
    late = "in us-west-2 source-1-1 carried nothing: its SSM agent did not answer"
    assert (fleet["wanted"], fleet["launched"], fleet["notes"]) == (2, 1, ["the quota allowed 1 of 2 relays", late])
    assert (fleet["onDemand"], fleet["spot"], fleet["otherZones"]) == (2, 1, 1)
    assert {"nodeId": "source-1-1", "launch": 2.0} in fleet["starts"]
    assert found["cost"]["crossZone"] == pytest.approx(
        2 * 0.02 * 200 / 300
    )  # pair-1 had 200 of 300 bytes, sent 2 GB for


def test_relay_of_another_market_counts_at_the_price_of_its_own() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer(relays={"market": "spot"}))
    cloud.transfers.change(transfer(), transfer_life.note(estimate=estimate(1)))
    cloud.nodes.put(node("source", state="TERMINATED", ended_at=1100.0))
    beside = PriceBook().beside_instance_hour("t3.small", "us-west-2", public=True)
    assert run(cloud)["cost"]["relays"] == pytest.approx(100 * (0.0208 + beside) / 3600)


def test_report_is_written_announced_and_the_transfer_closed() -> None:
    cloud = finished()
    found = run(cloud)
    assert json.loads(cloud.objects.objects["transfers/first/report.json"]) == found
    assert cloud.transfers.active() == []
    kind, detail = cloud.events.put_events[-1]
    assert (kind, detail["status"], detail["reportKey"]) == (
        "Transfer Finished",
        "SUCCEEDED",
        "transfers/first/report.json",
    )


@pytest.mark.parametrize("failure", [None, {"error": "ChunksFailed", "cause": "x" * 5000}])
def test_what_people_are_told_and_what_is_counted(failure: dict[str, str] | None) -> None:
    cloud = finished()
    run(cloud, failure=failure)
    kind, detail = cloud.events.put_events[-1]
    EVENTS.validate({"schemaVersion": 1, "type": kind, **detail})
    assert (detail["bytes"], detail["files"], detail["seconds"]) == (300, 3, 100.0)
    counted = cloud.metrics.sums
    assert counted["DollarsSpent"] == pytest.approx(detail["costUsd"])
    assert counted["BytesSent"] == 2 * 10**9
    if failure is None:
        assert (counted["TransfersSucceeded"], counted["TransferSeconds"]) == (1, 100.0)
        assert counted["TransferRate"] == pytest.approx(300e-6 / 1.9)
    else:
        assert (detail["error"], len(detail["cause"]), counted["TransfersFailed"]) == ("ChunksFailed", 1000, 1)


def test_report_that_is_written_again_is_counted_once() -> None:
    cloud = finished()
    run(cloud)
    run(cloud)
    assert cloud.metrics.sums["TransfersSucceeded"] == 1


def test_page_is_written_beside_the_report_with_the_files_that_were_verified() -> None:
    cloud = finished()
    line = {"path": "set/%3Cscript%3E", "bytes": 3, "digest": "ab" * 32}
    cloud.objects.put("transfers/first/files/part-00000.ndjson", json.dumps(line).encode() + b"\n")
    run(cloud, verified={"verified": True, "files": 3})
    page = cloud.objects.objects["transfers/first/report.html"].decode()
    assert "set/&lt;script&gt;" in page
    assert "The first 1 of 3 files" in page
    cloud = finished()
    cloud.objects.put("transfers/first/files/part-00000.ndjson", json.dumps(line).encode() + b"\n")
    run(cloud, failure={"Error": "VerificationFailed", "Cause": "a digest differs"})
    assert "ab" * 32 not in cloud.objects.objects["transfers/first/report.html"].decode()


@pytest.mark.parametrize(
    "failure",
    [
        {"Error": "SurveyProblem", "Cause": json.dumps({"errorMessage": "no such path", "errorType": "SurveyProblem"})},
        {"error": "SurveyProblem", "cause": "no such path"},
    ],
)
def test_failure_is_told_in_its_own_words(failure: dict[str, str]) -> None:
    found = run(finished(), failure=failure)
    SCHEMA.validate(found)
    assert (found["status"], found["error"], found["cause"]) == ("FAILED", "SurveyProblem", "no such path")


def test_refused_request_has_a_report_too() -> None:
    failure = {"Error": "InvalidRequest", "Cause": json.dumps({"errorMessage": "$.x: is missing"})}
    found = run(Cloud(), transfer=None, failure=failure)
    SCHEMA.validate(found)
    assert (found["transferId"], found["status"], found["cause"]) == ("first", "FAILED", "$.x: is missing")


def test_course_stays_out_of_an_output_that_would_be_too_large() -> None:
    cloud = finished()
    for slot in range(1, 201):
        for role in ("source", "destination"):
            reason = "the instance is shutting-down " * 20
            cloud.nodes.put(node(role, slot, generation=1, state="LOST", ended_at=1090.0, reason=reason))
    assert "course" not in run(cloud)
    assert "course" in json.loads(cloud.objects.objects["transfers/first/report.json"])


def test_transfer_that_is_not_torn_down_stays_active_for_the_reconciler() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    assert run(cloud, failure={"Error": "TeardownIncomplete", "Cause": "still alive"})["status"] == "FAILED"
    assert [record.transfer.transfer_id for record in cloud.transfers.active()] == ["first"]


def test_energy_is_told_with_its_assumption() -> None:
    found = run(finished())["energy"]
    # Both ends from 1010 to 1011.9, two relays from their request to 1090.
    relays = sum(1090.0 - node("source").requested_at for _ in range(2))
    assert found["wattHours"] == pytest.approx(202.5 * (2 * 1.9 + relays) / 3600, abs=0.001)
    assert found["assumption"].startswith("202.5 W a machine")


def test_one_and_one_has_no_list_of_machines() -> None:
    assert "seats" not in run(finished())


def test_of_several_machines_each_has_its_part_and_who_was_given_up_has_when_and_why() -> None:
    accepted = many(2, 2)
    cloud = begun(accepted)
    attempt(cloud, accepted)
    record = cloud.transfers.get("first")
    assert record is not None
    retired = with_seat([], accepted.seat("r1"), record.attempt, 1060.0, "EndGone: terminated", is_gone=True)
    cloud.transfers.change(accepted, transfer_life.note_retired(record, retired))
    for seat_id, moved in (("s0", 300), ("s1", 100), ("r0", 400)):
        cloud.agents.progresses[accepted.partition, seat_id] = progress(sent=moved)
    cloud.transfers.change(accepted, transfer_life.finish(delivered()))
    event = ReportInput(transfer=accepted, execution_arn=accepted.execution_arn, started_at="1970-01-01T00:16:40Z")
    write_report(event, cloud.world)
    found = json.loads(cloud.objects.objects["transfers/first/report.json"])
    SCHEMA.validate(found)
    told = {one["seatId"]: one for one in found["seats"]}
    assert list(told) == ["s0", "s1", "r0", "r1"]
    assert {seat_id: (one["bytes"], one["share"]) for seat_id, one in told.items()} == {
        "s0": (300, 0.75),
        "s1": (100, 0.25),
        "r0": (400, 1.0),
        "r1": (0, 0.0),
    }
    assert (told["r1"]["retiredAt"], told["r1"]["retiredBecause"]) == (1060.0, "EndGone: terminated")
    assert "retiredAt" not in told["r0"]
