"""Whatever the caps, a VM's classes are sure of next to nothing, and share what its card moves."""

from hypothesis import given
from hypothesis import strategies as st

from local.caps import Caps
from local.instances import shaping
from local.instances.shaping import Link

RATES = st.none() | st.floats(0.1, 2_000)


@given(RATES, RATES)
def test_classes_are_sure_of_a_small_part_of_what_the_card_moves(inter: float | None, intra: float | None) -> None:
    """htb gives each class what it is sure of, its parent's rate notwithstanding."""
    check(shaping.link_commands(Caps.of(inter, intra), "device", "dst", ["10.0.0.0/16"]))


@given(st.floats(1, 500), st.floats(1, 500), st.floats(1.1, 20))
def test_with_credits_it_is_a_small_part_of_the_baseline(inter: float, intra: float, times: float) -> None:
    caps = Caps.model_validate(
        {"interRegionMBps": inter, "intraRegionMBps": intra, "burstMBps": intra * times, "creditMB": 5 * intra}
    )
    check(shaping.link_commands(caps, "device", "dst", ["10.0.0.0/16"]))


@given(RATES, RATES, st.lists(st.floats(0.1, 2_000), min_size=1, max_size=7))
def test_each_link_has_a_class_below_that_for_other_regions(
    inter: float | None, intra: float | None, caps: list[float]
) -> None:
    links = [Link(number, [f"10.{11 + number}.0.0/16"], cap) for number, cap in enumerate(caps)]
    commands = shaping.link_commands(Caps.of(inter, intra), "device", "src", ["10.10.0.0/16"], links)
    check(commands)
    classes = {option(command, "classid"): command for command in commands if command[0] == "class"}
    below = {name: command for name, command in classes.items() if option(command, "parent") == "1:20"}
    assert list(below) == [*(link.class_id for link in links), "1:2f"]
    limit = rate_of(classes["1:20"], "ceil")
    assert [rate_of(below[link.class_id], "ceil") for link in links] == [min(int(cap * 1e6), limit) for cap in caps]
    assert sum(rate_of(command, "rate") for command in below.values()) <= rate_of(classes["1:20"], "rate")
    filters = {option(command, "src"): option(command, "flowid") for command in commands if "src" in command}
    assert filters == {"10.10.0.0/16": "1:10"} | {link.ranges[0]: link.class_id for link in links}
    changes = shaping.change_commands(Caps.of(inter, intra), "device", links)
    assert {option(command, "classid") for command in changes} == set(classes) - {"1:3"}


def option(command: list[str], name: str) -> str:
    return command[command.index(name) + 1]


def rate_of(command: list[str], name: str) -> int:
    return int(option(command, name).removesuffix("bps"))


def check(commands: list[list[str]]) -> None:
    rates = {option(command, "classid"): rate_of(command, "rate") for command in commands if command[0] == "class"}
    if rates:
        assert 0 < rates["1:10"] + rates["1:20"] <= 0.05 * rates["1:1"] + 1
        assert min(rates.values()) > 0
