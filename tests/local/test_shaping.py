"""Whatever the caps, a VM's classes are sure of next to nothing, and share what its card moves."""

from hypothesis import given
from hypothesis import strategies as st

from local.caps import Caps
from local.instances import shaping

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


def check(commands: list[list[str]]) -> None:
    rates = {
        command[command.index("classid") + 1]: int(command[command.index("rate") + 1].removesuffix("bps"))
        for command in commands
        if command[0] == "class"
    }
    if rates:
        assert 0 < rates["1:10"] + rates["1:20"] <= 0.05 * rates["1:1"] + 1
        assert min(rates.values()) > 0
