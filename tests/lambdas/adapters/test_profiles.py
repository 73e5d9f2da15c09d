"""One suite for the profiles in memory and in DynamoDB."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from lambdas.adapters.dynamodb import Table
from lambdas.adapters.dynamodb_profiles import DynamoProfileStore
from lambdas.adapters.stores import ProfileStore
from lambdas.core.errors import Throttled, WriteConflict
from lambdas.core.estimate.history import Event, integrate
from lambdas.core.estimate.profile import Known, Metric
from tests.lambdas.clock import FakeClock
from tests.lambdas.memory.stores import MemoryProfileStore

TYPE, PAIR = "t3.small", "us-west-2>eu-west-1"
KEYS = ("subject", "regionPair")


@pytest.fixture
def table() -> Iterator[Table]:
    with mock_aws():
        client: Any = boto3.client("dynamodb", region_name="us-west-2")
        client.create_table(
            TableName="profiles",
            KeySchema=[{"AttributeName": KEYS[0], "KeyType": "HASH"}, {"AttributeName": KEYS[1], "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in KEYS],
            BillingMode="PAY_PER_REQUEST",
        )
        yield Table(client, "profiles")


@pytest.fixture(params=["memory", "dynamodb"])
def profiles(request: pytest.FixtureRequest, table: Table) -> ProfileStore:
    return MemoryProfileStore() if request.param == "memory" else DynamoProfileStore(table)


def known(profiles: ProfileStore, metric: Metric) -> Known | None:
    found = profiles.get(TYPE, PAIR)
    assert found is not None
    return found.known(metric)


def test_what_nobody_has_met_has_no_profile(profiles: ProfileStore) -> None:
    profiles.integrate(TYPE, PAIR, "interRegion", 20.0, 1000.0)
    assert profiles.get(TYPE, "eu-west-1>us-west-2") is None
    assert profiles.get("t3.large", PAIR) is None


def test_samples_are_integrated_one_after_the_other(profiles: ProfileStore) -> None:
    history = None
    for at_seconds, sample in ((1000.0, 20.0), (5000.5, 22.5), (9000.25, 1e-7)):
        profiles.integrate(TYPE, PAIR, "interRegion", sample, at_seconds)
        history = integrate(history, sample, at_seconds)
    assert history is not None
    assert known(profiles, "interRegion") == Known(history.mean, history.sigma, 3, 9000.25, "measured")


def test_an_event_is_kept_with_its_weight_and_as_many_measurements_as_it_is_made_of(profiles: ProfileStore) -> None:
    history = None
    for event in (Event(10.0, 2.0, 4, 0.25, 8.0), Event(20.0, 0.0, 2, 1.0, 3.0)):
        profiles.integrate(TYPE, PAIR, "interRegion", event, 1000.0)
        history = integrate(history, event, 1000.0)
    assert history is not None
    assert known(profiles, "interRegion") == Known(18.0, history.sigma, 2, 1000.0, "measured", 8.0, 6, 1.25)


def test_metrics_and_subjects_are_kept_apart(profiles: ProfileStore) -> None:
    profiles.integrate(TYPE, PAIR, "interRegion", 20.0, 1000.0)
    profiles.integrate(TYPE, PAIR, "spawn", 35.0, 1000.0)
    profiles.integrate("i-1>i-2", PAIR, "direct", 18.0, 1000.0)
    assert known(profiles, "interRegion") == Known(20.0, 0.0, 1, 1000.0, "measured")
    assert known(profiles, "spawn") == Known(35.0, 0.0, 1, 1000.0, "measured")
    assert known(profiles, "direct") is None


def test_sample_that_is_no_rate_is_refused_and_leaves_no_trace(profiles: ProfileStore) -> None:
    with pytest.raises(ValueError, match=r"sample: -1\.0"):
        profiles.integrate(TYPE, PAIR, "interRegion", -1.0, 1000.0)
    assert profiles.get(TYPE, PAIR) is None


def test_configured_figures_stay_beside_what_is_measured(table: Table) -> None:
    profiles = DynamoProfileStore(table)
    table.put({"subject": TYPE, "regionPair": PAIR, "configured": {"interRegion": 20, "spawn": 5.5}})
    assert known(profiles, "spawn") == Known(5.5, 0.0, 0, None, "configured")
    profiles.integrate(TYPE, PAIR, "interRegion", 18.0, 1000.0)
    assert known(profiles, "interRegion") == Known(18.0, 0.0, 1, 1000.0, "measured")
    assert known(profiles, "spawn") == Known(5.5, 0.0, 0, None, "configured")


def test_many_are_read_at_once_and_those_that_nobody_has_met_are_left_out(profiles: ProfileStore) -> None:
    pairs = [f"us-west-2>eu-west-{number}" for number in range(130)]
    for pair in pairs[::2]:
        profiles.integrate(TYPE, pair, "interRegion", 20.0, 1000.0)
    found = profiles.get_all([*((TYPE, pair) for pair in pairs), ("t3.large", pairs[0]), (TYPE, pairs[0])])
    assert set(found) == {(TYPE, pair) for pair in pairs[::2]}
    assert found[TYPE, pairs[0]] == profiles.get(TYPE, pairs[0])
    assert profiles.get_all([]) == {}


class BusyTable(Table):
    """Answers as DynamoDB does where the table gives no more: with a part of the batch, or with an error."""

    def __init__(self, table: Table, *, most: int, refusals: int = 0) -> None:
        super().__init__(table._client, table.name)
        self._most, self._refusals = most, refusals
        self.asked: list[int] = []

    def get_batch(self, keys: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        self.asked.append(len(keys))
        if self._refusals:
            self._refusals -= 1
            raise ClientError({"Error": {"Code": "ProvisionedThroughputExceededException"}}, "BatchGetItem")
        items, _ = super().get_batch(keys[: self._most]) if self._most else ([], [])
        return items, keys[self._most :]


def learnt(table: Table, count: int) -> list[tuple[str, str]]:
    keys = [(TYPE, f"us-west-2>eu-west-{number}") for number in range(count)]
    for subject, pair in keys:
        DynamoProfileStore(table).integrate(subject, pair, "interRegion", 20.0, 1000.0)
    return keys


def test_keys_that_were_left_are_asked_for_again_after_a_pause(table: Table) -> None:
    keys, busy, clock = learnt(table, 5), BusyTable(table, most=2, refusals=1), FakeClock()
    assert set(DynamoProfileStore(busy, clock).get_all(keys)) == set(keys)
    assert busy.asked == [5, 5, 3, 1]
    assert clock.time == pytest.approx(1000.0 + 0.05 + 0.1 + 0.2)


def test_a_table_that_gives_nothing_is_throttled(table: Table) -> None:
    busy, clock = BusyTable(table, most=0), FakeClock()
    with pytest.raises(Throttled, match="2 profiles unread after 7 tries"):
        DynamoProfileStore(busy, clock).get_all(learnt(table, 2))
    assert clock.time == pytest.approx(1003.15)


def test_another_error_of_the_table_is_told_as_it_is(table: Table) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        DynamoProfileStore(Table(table._client, "absent")).get_all([(TYPE, PAIR)])


class ContestedTable(Table):
    """Another transfer writes between each of the first `times` reads and the write that follows."""

    def __init__(self, table: Table, times: int) -> None:
        super().__init__(table._client, table.name)
        self._other, self._times = DynamoProfileStore(table), times

    def get(self, **key: str) -> dict[str, Any] | None:
        found = super().get(**key)
        if self._times:
            self._times -= 1
            self._other.integrate(TYPE, PAIR, "interRegion", 10.0, 1000.0)
        return found


def test_no_sample_of_concurrent_transfers_is_lost(table: Table) -> None:
    DynamoProfileStore(ContestedTable(table, times=3)).integrate(TYPE, PAIR, "interRegion", 20.0, 1000.0)
    found = known(DynamoProfileStore(table), "interRegion")
    assert found is not None
    assert found.samples == 4
    assert found.value == pytest.approx(12.5)


def test_a_writer_that_is_always_second_gives_up_with_a_conflict(table: Table) -> None:
    profiles = DynamoProfileStore(ContestedTable(table, times=100))
    with pytest.raises(WriteConflict, match=r"the profile of t3\.small"):
        profiles.integrate(TYPE, PAIR, "interRegion", 20.0, 1000.0)
