"""Waves for people: a line for each step, and what there is to do now."""

from shlex import quote

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from cli.console import Text
from lambdas.core.waves.waves import Step, Waves
from lambdas.core.words import dollars, duration, many, size

_STYLES = {"CUT_OVER_NOW": "bold green", "CUT_OVER": "green", "NOT_YET": "yellow", "FAILED": "red", "STOPPED": "red"}


def waves_view(waves: Waves, and_local: str) -> Group:
    """All steps under the label, and the next command; `and_local`: what it ends with."""
    shown = Table(box=SIMPLE_HEAD)
    shown.add_column("step", overflow="fold")
    shown.add_column("status", no_wrap=True)
    for heading in ("left or moved", "forecast", "took", "cost"):
        shown.add_column(heading, justify="right")
    for step in waves.steps:
        shown.add_row(*_row(step))
    lines = [
        Text(waves.said, style=_STYLES.get(waves.status, "")),
        Text(f"{dollars(waves.spent_usd)} in all", style="dim"),
    ]
    return Group(shown, *lines, *[Text(line) for line in _next(waves, and_local)])


def _row(step: Step) -> tuple[str, ...]:
    amount = "" if step.files is None else f"{many(step.files, 'file')}, {size(step.bytes or 0)}"
    return (
        step.name,
        step.status.lower().replace("_", " "),
        f"{amount} left" if amount and step.kind == "look" else amount,
        duration(step.forecast.seconds) if step.forecast else "",
        duration(step.seconds) if step.seconds is not None else "",
        dollars(step.usd) if step.usd is not None else "",
    )


def _next(waves: Waves, and_local: str) -> list[str]:
    """How to cut over, where that is what there is to do."""
    if waves.status not in ("CUT_OVER_NOW", "NOT_YET"):
        return []
    base = f"cpt waves REQUEST --label {quote(waves.label)}"
    if waves.confirm is None:
        return ["stop what writes to the source, then:", f"  {base} --cut-over --watch{and_local}"]
    return [
        "stop what writes to the source, look at what is deleted then, and confirm it:",
        f"  {base} --most 0 --watch{and_local}",
        f"  {base} --cut-over --confirm-delete DIGEST --watch{and_local}",
    ]
