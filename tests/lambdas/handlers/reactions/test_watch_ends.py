"""Heartbeats depend on the records of their own transfer, and on nothing else."""

from threading import Event
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from lambdas.core.chunks.progress import Progress
from lambdas.core.errors import Throttled
from lambdas.handlers.reactions.restart_end import restart_end
from lambdas.handlers.reactions.watch_ends import watch_ends
from lambdas.runtime.handler import BusEvent
from tests.lambdas.builders import ARN, SHARED, progress, shared, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.fleet import attempt, begin
from tests.lambdas.minute import minute, of_control

# Of a hung look, which ends only when the other has been made: so long nothing else may take on a busy machine.
PATIENCE = 10.0
BOTH = ("s0", "r0")


def two_moving() -> Cloud:
    cloud = Cloud()
    for name in ("first", "second"):
        accepted = transfer(name, ARN if name == "first" else f"{ARN}-{name}")
        begin(cloud, accepted)
        cloud.executions.statuses[accepted.execution_arn] = "RUNNING"
        cloud.tokens.put(name, f"token of {name}", attempt(cloud, accepted))
        for side in BOTH:
            cloud.agents.progresses[shared(name), side] = progress(1)
    return cloud


def beats(cloud: Cloud) -> set[str]:
    return {answer for kind, answer in cloud.executions.answers if kind == "heartbeat"}


def refuses(*_: object, **_named: object) -> Any:
    raise ConnectionError("this service answers nobody")


def test_no_answer_of_ec2_or_ssm_is_needed() -> None:
    cloud = two_moving()
    for region in cloud.compute:
        for name in ("describe", "of_transfer", "of_deployment", "terminate", "running"):
            setattr(cloud.compute[region], name, refuses)
        for name in ("send", "result", "online"):
            setattr(cloud.commands[region], name, refuses)
    watch_ends(BusEvent(), cloud.world)
    assert beats(cloud) == {"token of first", "token of second"}
    assert cloud.metrics.sums["EndsUnwatched"] == 0


def test_a_silent_end_is_told_of_and_gets_its_heartbeat_though_ec2_and_ssm_are_silent_too() -> None:
    cloud = two_moving()
    watch_ends(BusEvent(), cloud.world)
    cloud.clock.time += 60
    for region in cloud.compute:
        cloud.compute[region].describe = refuses  # type: ignore[method-assign]
    cloud.executions.answers.clear()
    found = watch_ends(BusEvent(), cloud.world)
    assert found["first"] == {"silent": "r0", "heartbeat": True}
    assert ("End Silent", {"transferId": "first", "seat": "r0", "start": 2}) in cloud.events.put_events
    assert beats(cloud) == {"token of first", "token of second"}


def test_a_look_that_hangs_delays_no_other() -> None:
    cloud = two_moving()
    other_was_seen, in_vain = Event(), list[str]()
    heartbeat, read = cloud.executions.heartbeat, cloud.agents.progress

    def hanging(of: str, side: str) -> Progress | None:
        if of == shared("first") and not other_was_seen.wait(PATIENCE):
            in_vain.append(side)
        return read(of, side)

    def beat(token: str) -> bool:
        if token == "token of second":
            other_was_seen.set()
        return heartbeat(token)

    cloud.agents.progress, cloud.executions.heartbeat = hanging, beat  # type: ignore[method-assign, assignment]
    watch_ends(BusEvent(), cloud.world)
    assert in_vain == []
    assert beats(cloud) == {"token of first", "token of second"}


@pytest.mark.parametrize(("failures", "unwatched"), [(1, 0), (2, 1)])
def test_a_look_that_fails_is_made_again_at_once_and_then_counted_and_costs_no_other(
    failures: int, unwatched: int
) -> None:
    cloud = two_moving()
    read, left = cloud.agents.progress, [failures]

    def failing(of: str, side: str) -> Progress | None:
        if of == shared("first") and left[0]:
            left[0] -= 1
            raise Throttled("the table")
        return read(of, side)

    cloud.agents.progress = failing  # type: ignore[method-assign, assignment]
    if unwatched:
        with pytest.raises(Throttled):
            watch_ends(BusEvent(), cloud.world)
    else:
        watch_ends(BusEvent(), cloud.world)
    assert beats(cloud) == {"token of second"} | (set() if unwatched else {"token of first"})
    assert cloud.metrics.sums["EndsUnwatched"] == unwatched


def test_a_record_that_cannot_be_read_costs_no_other_its_heartbeat() -> None:
    cloud = two_moving()
    cloud.transfers._items["first"]["attempt"] = "many"
    with pytest.raises(ValueError, match="attempt"):
        watch_ends(BusEvent(), cloud.world)
    assert beats(cloud) == {"token of second"}


def test_an_end_that_has_spoken_since_it_was_told_of_is_not_started_again_however_late_the_event_comes() -> None:
    cloud = two_moving()
    minute(cloud)
    told = of_control("End Silent", transferId="first", seat="s0", start=1)
    cloud.agents.progresses[SHARED, "s0"] = progress(2)
    cloud.clock.time += 3600
    assert restart_end(told, cloud.world) == {"first": {"ignored": "s0 has spoken since"}}
    assert restart_end(of_control("End Silent", transferId="first", seat="s0", start=2), cloud.world) == {
        "first": {"ignored": "start 2 of s0 is not the present one"}
    }
    assert all(not commands.sent for commands in cloud.commands.values())


def test_ends_judge_nobody_silent() -> None:
    cloud = two_moving()
    minute(cloud)
    told = of_control("End Silent", transferId="first", seat="s0", start=1)
    assert restart_end(told.model_copy(update={"source": "cpt.agent"}), cloud.world) == {}


def test_an_end_is_started_again_though_ec2_does_not_say_what_became_of_its_machine() -> None:
    cloud = two_moving()
    minute(cloud)
    cloud.clock.time += 60
    for region in cloud.compute:
        cloud.compute[region].describe = unanswered  # type: ignore[method-assign, assignment]
    found = watch_ends(BusEvent(), cloud.world)
    assert found["first"]["silent"] == "r0"
    told = next(detail for kind, detail in cloud.events.put_events if detail["transferId"] == "first")
    assert restart_end(of_control("End Silent", **told), cloud.world)["first"] == {"restarted": "r0"}


def unanswered(*_: object) -> Any:
    raise ReadTimeoutError(endpoint_url="https://ec2")
