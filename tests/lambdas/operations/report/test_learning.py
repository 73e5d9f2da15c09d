import json
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from jsonschema import Draft202012Validator

from lambdas.core.errors import Throttled, WriteConflict
from lambdas.core.estimate.profile import Known
from lambdas.core.learning.sample import Sample
from lambdas.core.record import transfer_life
from lambdas.core.record.transfer_record import Beside, Outcome, TransferRecord
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.handlers.states.write_report import ReportInput, write_report
from lambdas.operations.report import beside, learning
from tests.lambdas.builders import ARN, estimate, node, plan, transfer, with_machine
from tests.lambdas.cloud import Cloud
from tests.lambdas.finished import finished, run
from tests.lambdas.memory.stores import MemoryProfileStore
from tests.lambdas.traffic import Traffic
from tests.paths import CONTRACTS

SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "report.schema.json").read_text()))


def spawns(cloud: Cloud) -> Known | None:
    found = cloud.profiles.get("t3.small", "us-west-2>eu-west-1")
    return found.known("spawn") if found else None


def test_profiles_learn_what_the_transfer_measured() -> None:
    cloud = finished()
    traffic = Traffic({"direct": 20.0, "pair-1": 30.0}, {"direct": 0.0, "pair-1": 8.0}, size_mb=800)
    chunks = traffic.chunks()
    cloud.transfers.change(transfer(), transfer_life.note(plan=plan(chunks=len(chunks))))
    cloud.chunks.put_all(chunks)
    run(cloud)
    assert spawns(cloud) == Known(5.0, 0.0, 1, 1100.0, "measured", measurements=2, weight=1.0)
    relay = cloud.profiles.profiles["t3.small", "us-west-2>eu-west-1"].known("interRegion")
    hosts = cloud.profiles.profiles["i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2", "us-west-2>eu-west-1"].known("direct")
    assert relay is not None
    assert hosts is not None
    assert relay.value == pytest.approx(30.0, rel=0.05)
    assert hosts.value == pytest.approx(20.0, rel=0.05)


@pytest.mark.parametrize("said", [{"bytes": 2, "skipped": 1}, {"bytes": 60}])
def test_a_run_that_skipped_or_sent_a_few_bytes_does_not_change_what_is_thought_to_be_sent_twice(
    said: dict[str, int],
) -> None:
    cloud = finished(**said)
    run(cloud)
    hosts = cloud.profiles.get("i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2", "us-west-2>eu-west-1")
    assert hosts is None or "repeated" not in hosts.metrics


def test_a_run_that_failed_does_not_change_it_either() -> None:
    cloud = finished(bytes=10**9)
    run(cloud, failure={"Error": "VerificationFailed", "Cause": "a chunk is not delivered"})
    hosts = cloud.profiles.get("i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2", "us-west-2>eu-west-1")
    assert hosts is None or "repeated" not in hosts.metrics


def test_a_sample_of_another_link_is_learnt_there_and_all_others_on_the_transfers_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    through = "us-west-2>ap-southeast-1"
    taught = [
        Sample("t3.small", "interRegion", 40.0, 12.0, link=through),
        Sample("t3.small", "interRegion", 25.0, 12.0),
    ]
    monkeypatch.setattr(learning, "samples_of", lambda *_: taught)
    cloud = finished()
    run(cloud)
    assert cloud.profiles.profiles["t3.small", through].known("interRegion") == (
        Known(40.0, 0.0, 1, 1100.0, "measured", 12.0)
    )
    own = cloud.profiles.profiles["t3.small", "us-west-2>eu-west-1"].known("interRegion")
    assert own is not None
    assert own.value == 25.0


def test_what_follows_the_data_is_learnt_for_later_deadlines() -> None:
    cloud = finished()
    run(cloud)
    # The last chunk arrives at 1011.9, the report comes at 1100.
    known = cloud.profiles.profiles["transfers", "us-west-2>eu-west-1"].known("closing")
    assert known is not None
    assert known.value == pytest.approx(1100 - 1011.9)


def finished_on_the_direct_path(**said: int) -> Cloud:
    cloud = finished(bytes=198 * 10**7, **said)
    chunks = Traffic({"direct": 20.0}, {"direct": 0.0}, size_mb=800).chunks()
    cloud.transfers.change(transfer(), transfer_life.note(plan=plan(chunks=len(chunks))))
    cloud.chunks.put_all(chunks)
    return cloud


def test_where_data_waited_for_the_listing_no_rate_is_learnt() -> None:
    cloud = finished_on_the_direct_path()
    cloud.transfers.change(transfer(), transfer_life.note_stage("Extend Plan", {"enteredAt": 1000.0, "leftAt": 1020.0}))
    run(cloud)
    assert spawns(cloud) == Known(5.0, 0.0, 1, 1100.0, "measured", measurements=2, weight=1.0)
    hosts = cloud.profiles.profiles["i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2", "us-west-2>eu-west-1"]
    assert set(hosts.metrics) == {"repeated"}


@pytest.mark.parametrize(("saved", "learnt"), [(None, True), (3 * 10**7, True), (5 * 10**7, False)])
def test_a_rate_of_what_hardly_crossed_the_network_is_not_learnt(saved: int | None, learnt: bool) -> None:
    cloud = finished_on_the_direct_path(**({} if saved is None else {"saved_bytes": saved}))
    found = run(cloud)
    SCHEMA.validate(found)
    assert found.get("savedBytes") == saved
    hosts = cloud.profiles.profiles["i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2", "us-west-2>eu-west-1"]
    assert (set(hosts.metrics) != {"repeated"}) is learnt


OTHER_ARN = ARN.replace("first", "other")


def beside_another(source_id: str = "i-0aaaaaaaaaaaaaaa1") -> Cloud:
    """Another transfer that began before the data of the first one, and goes on after it."""
    cloud = finished_on_the_direct_path()
    other = with_machine(transfer("other", OTHER_ARN), "s0", instance_id=source_id)
    other = with_machine(other, "r0", instance_id="i-0ccccccccccccccc3")
    cloud.transfers.create(other)
    cloud.transfers.change(other, transfer_life.note_stage("Start Transfer", {"enteredAt": 1000.0}))
    cloud.clock.time = 1_000_100.0
    return cloud


def rates_of_hosts(cloud: Cloud) -> set[str]:
    hosts = cloud.profiles.get("i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2", "us-west-2>eu-west-1")
    return {str(metric) for metric in hosts.metrics if metric != "repeated"} if hosts else set()


def test_beside_another_transfer_of_the_same_source_no_rate_and_no_error_of_the_estimate_is_learnt() -> None:
    cloud = beside_another()
    run(cloud)
    assert rates_of_hosts(cloud) == set()
    assert "accuracy" not in cloud.profiles.profiles["transfers", "us-west-2>eu-west-1"].metrics
    alone = beside_another("i-0ddddddddddddddd4")
    run(alone)
    assert rates_of_hosts(alone) == {"direct"}
    assert "accuracy" in alone.profiles.profiles["transfers", "us-west-2>eu-west-1"].metrics


def test_a_transfer_that_ends_first_leaves_its_times_to_those_that_go_on() -> None:
    cloud = beside_another()
    run(cloud)
    other = cloud.transfers.get("other")
    assert other is not None
    (span,) = other.beside
    assert span.transfer_id == "first"
    assert span.until - span.since == pytest.approx(40.0, abs=1.0)
    # The one that goes on ends later, alone.
    (cloud := finished_on_the_direct_path()).transfers.change(
        transfer(), transfer_life.note(beside=[{"transferId": "gone", "since": 1e6, "until": 1e6 + 100}])
    )
    run(cloud)
    assert rates_of_hosts(cloud) == set()


@pytest.mark.parametrize("closes_first", [True, False])
def test_of_two_that_end_in_one_moment_both_know_of_the_other(
    monkeypatch: pytest.MonkeyPatch, closes_first: bool
) -> None:
    """The other one is closed while this one looks, or when this one is: either it has told this one, or it is seen."""
    cloud = beside_another()
    active, change = cloud.transfers.active, cloud.transfers.change
    other = next(one.transfer for one in active() if one.transfer.transfer_id == "other")

    def end_other() -> None:
        change(other, transfer_life.note(teardown={"terminated": 0}))
        assert change(other, transfer_life.close("SUCCEEDED"))

    def looked() -> list[TransferRecord]:
        told = [{"transferId": "other", "since": 1e6, "until": 1e6 + 100}]
        assert change(transfer(), transfer_life.note(beside=told)), "it is still active"
        end_other()
        return active()

    def changed(of: AcceptedTransfer, to: transfer_life.Change) -> TransferRecord | None:
        if of.transfer_id == "first" and to.name == "succeed":
            end_other()
        return change(of, to)

    if closes_first:
        monkeypatch.setattr(cloud.transfers, "active", looked)
    else:
        monkeypatch.setattr(cloud.transfers, "change", changed)
    run(cloud)
    assert rates_of_hosts(cloud) == set()


def test_of_two_that_tell_a_third_in_one_moment_both_are_in_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = beside_another()
    change, once = cloud.transfers.change, [transfer("other", OTHER_ARN)]
    faster = Beside(transfer_id="faster", since=1e6, until=1e6 + 50)

    def changed(of: AcceptedTransfer, to: transfer_life.Change) -> TransferRecord | None:
        """Another one that ends tells it after this one has read its record."""
        if "beside" in to.values and once:
            assert change(once.pop(), transfer_life.note_beside([], [faster]))
        return change(of, to)

    monkeypatch.setattr(cloud.transfers, "change", changed)
    run(cloud)
    other = cloud.transfers.get("other")
    assert other is not None
    assert [one.transfer_id for one in other.beside] == ["faster", "first"]


def test_many_short_transfers_do_not_fill_the_record_of_a_long_one() -> None:
    cloud = beside_another()
    other = cloud.transfers.get("other")
    assert other is not None
    many = [{"transferId": f"short-{at}", "since": 1000.0 + at, "until": 1000.5 + at} for at in range(beside.MOST)]
    cloud.transfers.change(other.transfer, transfer_life.note(beside=many))
    run(cloud)
    other = cloud.transfers.get("other")
    assert other is not None
    assert len(other.beside) == beside.MOST
    assert (other.beside[0].since, other.beside[0].until) == (1000.0, 1001.5), "the two oldest are one"
    assert other.beside[-1].transfer_id == "first"


def test_what_was_only_measured_is_told_paid_for_and_learnt() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer(profile="measure"))
    cloud.transfers.change(transfer(), transfer_life.note(estimate=estimate(1), plan=plan(chunks=0)))
    found = {"pathId": "pair-1", "interRegionMBps": 20.0, "intraRegionMBps": 150.0, "spawnSeconds": 5.0}
    measured = {"directMBps": 30.0, "pairs": [found], "sentBytes": 10**9}
    cloud.transfers.change(transfer(), transfer_life.finish(Outcome.from_document({"measured": measured})))
    cloud.transfers.change(transfer(), transfer_life.note(teardown={"terminated": 2}))
    report = run(cloud, verified={"verified": True, "files": 0})
    SCHEMA.validate(report)
    assert (report["status"], report["bytes"], report["measured"]) == ("SUCCEEDED", 0, measured)
    assert report["cost"]["egress"] == pytest.approx(0.02)
    hosts = cloud.profiles.profiles["i-0aaaaaaaaaaaaaaa1>i-0bbbbbbbbbbbbbbb2", "us-west-2>eu-west-1"]
    assert hosts.known("direct") == Known(30.0, 0.0, 1, 1000.0, "measured")


def test_links_that_were_measured_are_learnt_each_at_its_own_regions() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer(profile="measure"))
    cloud.transfers.change(transfer(), transfer_life.note(estimate=estimate(1), plan=plan(chunks=0)))
    links = [
        {"fromRegion": "us-west-2", "toRegion": "eu-central-1", "instanceType": "t3.small", "interRegionMBps": 60.0},
        {"fromRegion": "us-west-2", "toRegion": "eu-west-1", "instanceType": "t3.small", "interRegionMBps": 20.0},
        {"fromRegion": "eu-central-1", "toRegion": "eu-west-1", "interRegionMBps": 40.0},
    ]
    pair = {"pathId": "pair-1", "interRegionMBps": 20.0, "intraRegionMBps": 150.0, "spawnSeconds": 5.0}
    measured = {"directMBps": 30.0, "pairs": [pair], "links": links, "sentBytes": 10**9}
    cloud.transfers.change(transfer(), transfer_life.finish(Outcome.from_document({"measured": measured})))
    cloud.transfers.change(transfer(), transfer_life.note(teardown={"terminated": 3}))
    report = run(cloud, verified={"verified": True, "files": 0})
    SCHEMA.validate(report)
    assert report["measured"] == measured
    rates = {link: profile.known("interRegion") for (kind, link), profile in cloud.profiles.profiles.items()}
    # That of the ends is their relays' to tell, and of two types nobody knows which one limited.
    assert {link: known.value for link, known in rates.items() if known} == {"us-west-2>eu-central-1": 60.0}


def test_failed_transfer_still_tells_how_long_its_relays_took_to_start() -> None:
    cloud = finished()
    run(cloud, failure={"Error": "VerificationFailed", "Cause": "a chunk is not delivered"})
    assert spawns(cloud) == Known(5.0, 0.0, 1, 1100.0, "measured", measurements=2, weight=1.0)


def test_report_that_is_written_again_is_not_learnt_again() -> None:
    cloud = finished()
    run(cloud)
    run(cloud)
    assert spawns(cloud) == Known(5.0, 0.0, 1, 1100.0, "measured", measurements=2, weight=1.0)


def test_transfer_that_is_not_torn_down_is_learnt_with_its_last_report() -> None:
    cloud = Cloud()
    cloud.transfers.create(transfer())
    cloud.nodes.put(node(state="TERMINATED", joined_at=1005.0))
    run(cloud, failure={"Error": "TeardownIncomplete", "Cause": "still alive"})
    assert spawns(cloud) is None
    cloud.transfers.change(transfer(), transfer_life.note(teardown={"terminated": 1}))
    run(cloud, failure={"Error": "TeardownIncomplete", "Cause": "still alive"})
    assert spawns(cloud) == Known(5.0, 0.0, 1, 1000.0, "measured")


@pytest.mark.parametrize(
    "error",
    [
        Throttled("too many writes"),
        WriteConflict("the profile changed"),
        ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "no table"}}, "UpdateItem"),
        EndpointConnectionError(endpoint_url="https://dynamodb"),
    ],
)
def test_report_goes_out_though_profiles_cannot_be_written(error: Exception) -> None:
    class DeafProfiles(MemoryProfileStore):
        def integrate(self, *_: object) -> None:
            raise error

    cloud = finished()
    found = write_report(
        ReportInput.from_document({"executionArn": ARN, "transfer": transfer().to_document()}),
        replace(cloud.world, profiles=DeafProfiles()),
    )
    assert found["status"] == "SUCCEEDED"
    assert cloud.events.put_events[-1][0] == "Transfer Finished"
    assert cloud.transfers.active() == []
