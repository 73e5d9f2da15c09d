"""What follows from times of a grid, and how chunks are cut."""

from collections.abc import Callable
from math import inf

import pytest

from bench.lab.grid import BASIC, CPT, EQUATION, SEQUENTIAL, Grid, Seconds, speedup
from bench.lab.policies import cut
from bench.lab.thesis_models import CROSSOVERS, GRID
from bench.lab.thesis_speedup import GRID as MEDIUM
from bench.lab.tuning import Chunk, Setting


def small(sizes: tuple[float, ...] = (1, 2, 4)) -> Grid:
    return Grid(10, 100, 30, 65, 10**9, sizes, (2,), (EQUATION,))


def times(relays: Callable[[float], float]) -> Seconds:
    """A sequential transfer takes 10 s a GB."""
    straight = {(SEQUENTIAL, size, 0): 10.0 * size for size in small().sizes}
    return straight | {(EQUATION, size, 2): relays(size) for size in small().sizes}


def test_relays_win_from_where_the_lines_cross() -> None:
    assert small().wins_from(times(lambda size: 21 + 3 * size), EQUATION, 2) == pytest.approx(3)


@pytest.mark.parametrize(("factor", "gb"), [(2.0, inf), (0.5, 0.0)])
def test_relays_win_never_or_always(factor: float, gb: float) -> None:
    assert small().wins_from(times(lambda size: factor * 10 * size), EQUATION, 2) == gb


def test_crossovers_of_the_models_are_the_equations() -> None:
    modelled = GRID.modelled()
    for (way, pairs), gb in CROSSOVERS.items():
        assert GRID.wins_from(modelled, way, pairs) == pytest.approx(gb, abs=0.01)
    assert GRID.wins_from(modelled, BASIC, 2) == GRID.wins_from(modelled, BASIC, 4) == inf


@pytest.mark.parametrize(("size", "printed"), [(1, 0.461), (4, 0.967), (8, 1.184), (16, 1.334)])
def test_speedups_of_the_model_are_those_of_table_5_4(size: int, printed: float) -> None:
    assert speedup(MEDIUM.modelled(), EQUATION, size, 4) == pytest.approx(printed, abs=0.001)


def test_what_is_as_the_model_says_is_not_off() -> None:
    assert GRID.off(GRID.modelled(), CPT).measured == 0


def test_short_chunks_are_joined_and_a_long_one_is_cut() -> None:
    chunks = [Chunk((1, 1), Setting(9)), Chunk((2, 2), Setting(5)), Chunk((8,), Setting(1))]
    joined = list(cut(chunks, lambda: 3))
    assert [chunk.sizes for chunk in joined] == [(1, 1, 2, 2), (8,)]
    assert joined[0].setting == Setting(5)
    assert [chunk.sizes for chunk in cut([Chunk((3, 3, 3), Setting(2))], lambda: 5)] == [(3, 3), (3,)]
