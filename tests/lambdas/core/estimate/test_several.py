"""Figures of ends with several machines."""

import pytest

from lambdas.core.estimate.data_time import limit_through, seconds_for
from lambdas.core.estimate.figures import Figures
from lambdas.core.estimate.profile import Profile
from lambdas.core.estimate.several import End, together, with_hosts
from lambdas.core.tariff.instance_types import TypeFacts
from tests.lambdas.builders import figure, figures

UNKNOWN: TypeFacts | None = None


def end(count: int, outward: float = 100.0) -> End:
    return End([UNKNOWN] * count, [outward] * count)


def of(senders: int, receivers: int, outward: float = 100.0, **changes: float) -> Figures:
    found = together(figures(**changes), end(senders, outward), end(receivers, outward), None)
    assert isinstance(found, Figures)
    return found


def test_each_side_moves_what_its_machines_do_together() -> None:
    found = of(2, 3)
    assert (found.source.value, found.destination.value) == (320.0, 480.0)
    assert found.machines == [2, 3]


@pytest.mark.parametrize(
    ("senders", "receivers", "outward", "direct"),
    [(2, 2, 100.0, 40.0), (1, 3, 100.0, 60.0), (3, 1, 100.0, 60.0), (1, 3, 25.0, 25.0), (3, 2, 25.0, 50.0)],
)
def test_there_are_as_many_direct_paths_as_the_larger_end_has_machines_and_the_smaller_one_bounds_them(
    senders: int, receivers: int, outward: float, direct: float
) -> None:
    assert of(senders, receivers, outward).direct.value == pytest.approx(direct)


def test_a_sum_of_unlike_machines_goes_by_what_each_is_said_to_move() -> None:
    both = End([facts(2, 1.0), facts(6, 3.0)], [125.0, 375.0])
    assert (both.network, both.processors) == (4.0, 4.0)


def facts(vcpus: int, gbps: float) -> TypeFacts:
    return TypeFacts(
        instance_type=f"a.{vcpus}",
        vcpus=vcpus,
        architecture="x86_64",
        baseline_gbps=gbps,
        peak_gbps=gbps,
        disk=0.0,
        peak_disk=0.0,
        burstable_processor=False,
        zones=frozenset(),
    )


def test_what_all_machines_have_shown_together_stays() -> None:
    shown = Profile(configured={"direct": 55.0})
    assert together(figures(), end(3), end(3), shown).direct.value == 20.0


def test_one_file_system_may_let_several_machines_read_no_more_than_one() -> None:
    known = figures().model_copy(update={"source_disk": figure(50.0), "source_processor": figure(10.0)})
    found = with_hosts(known, end(2), end(1))
    assert found.source_disk is not None
    assert found.source_processor is not None
    assert (found.source_disk.least, found.source_disk.value, found.source_processor.value) == (50.0, 100.0, 20.0)


def test_the_row_says_which_side_limits() -> None:
    slow = of(2, 1, direct=500.0, source=10.0)
    assert limit_through(10**9, seconds_for(10**9, 0, slow), [], slow) == "the 2 source machines send at most 20.0 MB/s"
    paths = of(2, 2, direct=10.0)
    assert limit_through(10**9, seconds_for(10**9, 0, paths), [], paths) == "the 2 direct paths carry 20.0 MB/s"
