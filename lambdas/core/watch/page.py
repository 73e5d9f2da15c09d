"""The live page: HTML for a custom widget of CloudWatch, without scripts; every name is data."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from jinja2 import Environment

from lambdas.core.pool.month_report import TenantUse
from lambdas.core.templates import environment
from lambdas.core.visible import visible
from lambdas.core.watch.overview import Execution, Running
from lambdas.core.watch.standing_limit import limit_words
from lambdas.core.watch.transfer_state import TransferState
from lambdas.core.waves.waves import Waves

Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Acts:
    """ARNs of the functions that a person's clicks call; each is its own right. `start`: None where none is shown."""

    show: str
    start: str | None
    decide: str
    limit: str
    pause: str
    unpause: str
    cancel: str


@dataclass(frozen=True)
class PathRate:
    """One path; MB/s, and its share of the fastest one's rate."""

    path_id: str
    rate: float
    share: float
    lanes: int


def overview_page(
    running: Running,
    ended: Sequence[Execution],
    at: float,
    acts: Acts,
    theme: Theme,
    waves: Sequence[Waves] = (),
    *,
    token: str = "",
    use: TenantUse | None = None,
) -> str:
    """All transfers, those that run first, waves by their label, and a form for a new one; `at`: Unix seconds.

    `token` is this page's alone: by it and by the request's text two clicks are known to be one start. `use`: what
    the tenant whose page it is has used of the pool this month.
    """
    page = _environment().get_template("overview.html")
    return page.render(
        running=running, ended=ended, at=at, acts=acts, theme=theme, style=_style(), waves=waves, token=token, use=use
    )


def waves_page(waves: Waves, acts: Acts, theme: Theme) -> str:
    """All steps under a label, and what there is to do now."""
    page = _environment().get_template("waves.html")
    return page.render(waves=waves, acts=acts, theme=theme, style=_style())


def transfer_page(state: TransferState, acts: Acts, theme: Theme, waves: Waves | None = None) -> str:
    """One transfer, with what can be done to it, and the way to the waves of its label."""
    return (
        _environment()
        .get_template("transfer.html")
        .render(
            state=state,
            waves=waves,
            runs=state.status == "ACTIVE",
            paths=path_rates(state),
            limit=limit_words(state.bandwidth_limit_mbps, state.timetable),
            acts=acts,
            theme=theme,
            style=_style(),
        )
    )


def message(said: str, theme: Theme, *, error: bool = False) -> str:
    """What an act has done, or why not."""
    return _environment().get_template("message.html").render(words=said, theme=theme, error=error, style=_style())


def path_rates(state: TransferState) -> list[PathRate]:
    """The paths in the order of their names."""
    lanes: dict[str, list[float]] = {path: [] for path in state.paths}
    for lane in state.lanes:
        lanes.setdefault(lane.path_id, []).append(lane.megabytes_per_second)
    widest = max((sum(rates) for rates in lanes.values()), default=0.0) or 1.0
    return [PathRate(path, sum(rates), sum(rates) / widest, len(rates)) for path, rates in sorted(lanes.items())]


def _seen(text: str) -> str:
    """Control characters are shown, and a line stays one."""
    return visible(text).replace("\n", "\\n")


@cache
def _environment() -> Environment:
    return environment("lambdas.core.watch", seen=_seen)


@cache
def _style() -> str:
    return _environment().get_template("live.css").render().strip()
