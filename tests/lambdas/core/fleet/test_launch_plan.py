from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.fleet.launch_decision import LaunchDecision, decide_launch
from lambdas.core.fleet.launch_plan import Attempt, LaunchPlan, Subnet, plan, usable

A, B = Subnet("subnet-a", "us-west-2a"), Subnet("subnet-b", "us-west-2b")
TYPES = ["c6in.large", "t3.small"]
Answer = int | str
Ec2 = Callable[[Attempt], Answer]


def run(start: LaunchPlan, ec2: Ec2) -> tuple[LaunchPlan, list[str]]:
    """The plan carried out against `ec2`, which answers a number launched or an error code; what was asked for."""
    asked = []
    while attempt := start.attempt:
        asked.append(f"{attempt.count} {attempt.step} {attempt.step.subnet.zone[-1]}")
        assert len(asked) < 200
        match ec2(attempt):
            case str(code):
                start = start.after_refusal(attempt, decide_launch(code), code)
            case count:
                start = start.after_launch(attempt, count)
    return start, asked


def refusing(code: str, **where: str) -> Ec2:
    """EC2 that refuses what is of this `market`, `kind` or `zone`, and launches the rest."""

    def ec2(attempt: Attempt) -> Answer:
        step = attempt.step
        aim = {"market": step.market, "kind": step.instance_type, "zone": step.subnet.zone}
        return code if where.items() <= aim.items() else attempt.count

    return ec2


def test_all_are_asked_for_at_once_beside_the_end() -> None:
    done, asked = run(plan(4, TYPES, [A, B], A.zone, spot=False), lambda attempt: attempt.count)
    assert (asked, done.launched, done.notes("us-west-2")) == (["4 c6in.large a"], 4, [])


def test_types_in_the_own_zone_come_before_other_zones() -> None:
    done, asked = run(plan(2, TYPES, [B, A], A.zone, spot=False), lambda _: "InsufficientInstanceCapacity")
    assert asked == ["2 c6in.large a", "2 t3.small a", "2 c6in.large b", "2 t3.small b"]
    assert done.launched == 0
    assert done.notes("us-west-2") == [
        "EC2 has too little capacity in us-west-2a for c6in.large, t3.small",
        "EC2 has too little capacity in us-west-2b for c6in.large, t3.small",
    ]


def test_what_the_budget_does_not_bear_is_not_asked_for_anywhere() -> None:
    start = plan(2, TYPES, [A, B], A.zone, spot=False)
    left = start.left_out(start.steps[0])
    done, asked = run(left, lambda _: "InsufficientInstanceCapacity")
    assert asked == ["2 t3.small a", "2 t3.small b"]
    assert done.notes("us-west-2")[0] == ("$.objective.maxCostUsd does not bear more relays in us-west-2 as c6in.large")


def test_spot_falls_back_to_on_demand_in_the_own_zone_first() -> None:
    _, asked = run(plan(1, ["c6in.large"], [A, B], A.zone, spot=True), lambda _: "InsufficientInstanceCapacity")
    assert asked == ["1 spot c6in.large a", "1 c6in.large a", "1 spot c6in.large b", "1 c6in.large b"]


def test_what_is_missing_after_partial_capacity_comes_from_the_next_step() -> None:
    done, asked = run(plan(3, TYPES, [A], A.zone, spot=False), lambda attempt: min(attempt.count, 2))
    assert (asked, done.launched) == (["3 c6in.large a", "1 t3.small a"], 3)
    assert done.notes("us-west-2") == ["EC2 has too little capacity in us-west-2a for c6in.large"]


def test_type_that_a_zone_does_not_offer_is_not_tried_there_on_demand_either() -> None:
    start = plan(1, TYPES, [A], A.zone, spot=True)
    done, asked = run(start, refusing("Unsupported", kind="c6in.large"))
    assert asked == ["1 spot c6in.large a", "1 spot t3.small a"]
    assert done.notes("us-west-2") == ["us-west-2a does not offer spot c6in.large"]


def test_full_subnet_is_left_for_another_of_the_same_zone() -> None:
    second = Subnet("subnet-a2", A.zone)

    def full(attempt: Attempt) -> Answer:
        return "InsufficientFreeAddressesInSubnet" if attempt.step.subnet == A else attempt.count

    done, _ = run(plan(1, TYPES, [A, second], A.zone, spot=False), full)
    assert [launch.step.subnet for launch in done.launches] == [second]
    assert done.notes("us-west-2") == ["no address is left in subnet-a"]


@pytest.mark.parametrize(("quota", "calls"), [(1, 4), (2, 5), (3, 4), (4, 5), (6, 1)])
def test_quota_is_found_by_halving_and_used_whole(quota: int, calls: int) -> None:
    running = 0

    def ec2(attempt: Attempt) -> Answer:
        nonlocal running
        if running + attempt.count > quota:
            return "VcpuLimitExceeded"
        running += attempt.count
        return attempt.count

    done, asked = run(plan(6, TYPES, [A, B], A.zone, spot=False), ec2)
    assert done.launched == quota
    assert len(asked) == calls
    words = [f"the quota of vCPUs in eu-west-1 allowed {quota} of 6 relays"] if quota < 6 else []
    assert done.notes("eu-west-1") == words


def test_quota_of_spot_leaves_that_of_on_demand_whole() -> None:
    done, asked = run(plan(4, TYPES, [A], A.zone, spot=True), refusing("MaxSpotInstanceCountExceeded", market="spot"))
    assert asked == ["4 spot c6in.large a", "2 spot c6in.large a", "1 spot c6in.large a", "4 c6in.large a"]
    assert done.notes("us-west-2") == ["the quota of spot vCPUs in us-west-2 allowed 0 of 4 relays"]


def test_an_account_without_the_role_for_spot_gets_on_demand_in_its_own_zone() -> None:
    refusal = refusing("AuthFailure.ServiceLinkedRoleCreationNotPermitted", market="spot")
    done, asked = run(plan(2, TYPES, [A, B], A.zone, spot=True), refusal)
    assert asked == ["2 spot c6in.large a", "2 c6in.large a"]
    (note,) = done.notes("us-west-2")
    assert note.startswith("the account has no service-linked role for spot")


def test_other_limits_are_named_by_their_code() -> None:
    done, _ = run(plan(1, TYPES, [A], A.zone, spot=False), lambda _: "VolumeLimitExceeded")
    assert done.notes("us-west-2") == ["a limit (VolumeLimitExceeded) in us-west-2 allowed 0 of 1 relays"]


@given(
    st.lists(
        st.one_of(st.integers(1, 8), st.sampled_from(["InsufficientInstanceCapacity", "VcpuLimitExceeded"])),
        max_size=60,
    ),
    st.integers(1, 64),
    st.booleans(),
)
def test_any_plan_ends_and_never_launches_more_than_wanted(answers: list[Answer], wanted: int, spot: bool) -> None:
    left = iter(answers)

    def ec2(attempt: Attempt) -> Answer:
        answer = next(left, "InsufficientInstanceCapacity")
        return min(answer, attempt.count) if isinstance(answer, int) else answer

    done, _ = run(plan(wanted, TYPES, [A, B], A.zone, spot=spot), ec2)
    assert done.launched <= wanted
    assert done.launched == wanted or not done.steps


def test_relays_reached_over_the_internet_need_a_route_to_it() -> None:
    inner = Subnet("subnet-c", "us-west-2c", public=False)
    assert usable([inner, B, A], "subnet-b", public=True) == [B, A]
    assert usable([inner, B, A], "subnet-c", public=False) == [inner, A, B]


def test_every_decision_that_leaves_something_to_try_shortens_the_plan() -> None:
    start = plan(1, TYPES, [A, B], A.zone, spot=True)
    going_on = (
        LaunchDecision.ELSEWHERE,
        LaunchDecision.OTHER_TYPE,
        LaunchDecision.OTHER_SUBNET,
        LaunchDecision.FEWER,
    )
    attempt = start.attempt
    assert attempt is not None
    for decision in going_on:
        assert len(start.after_refusal(attempt, decision, "x").steps) < len(start.steps)
