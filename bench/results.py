"""What every benchmark writes: `bench/out/NAME.json`, a table, and an exit code."""

import json
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table

OUT = Path("bench/out")


@dataclass(frozen=True)
class Result:
    """One case: `measured` in `unit` against `bar`; `better` says on which side of the bar it should lie."""

    case: str
    measured: float
    unit: str
    bar: float | None = None
    better: Literal["lower", "higher"] = "lower"
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether the bar holds; true where there is none."""
        if self.bar is None:
            return True
        return self.measured <= self.bar if self.better == "lower" else self.measured >= self.bar


def versions() -> dict[str, str]:
    """Kernel, Python and commit that the numbers belong to."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {"commit": commit, "kernel": platform.release(), "python": platform.python_version()}


def _verdict(result: Result) -> str:
    if result.bar is None:
        return "–"
    return "yes" if result.holds else "NO"


def say(text: str) -> None:
    """What is going on, for whoever waits."""
    print(text, file=sys.stderr, flush=True)


def measured(name: str, case: Callable[[], list[Result]], errors: tuple[type[Exception], ...]) -> list[Result]:
    """A case; one that cannot be measured is a bar that is missed, and the others go on."""
    say(f"{name}:")
    try:
        return case()
    except errors as error:
        say(f"  {name} failed: {error}")
        return [Result(name, 0, "measured", 1, "higher", f"failed: {error}")]


def publish(name: str, results: list[Result], command: str, tools: Mapping[str, str] | None = None) -> int:
    """Write and print the results, with versions of the tools; 0 if every bar holds, else 1."""
    OUT.mkdir(parents=True, exist_ok=True)
    used = {**versions(), **(tools or {})}
    rows = [{**asdict(result), "holds": result.holds, "command": command, "versions": used} for result in results]
    (OUT / f"{name}.json").write_text(json.dumps(rows, indent=2) + "\n")
    table = Table(title=f"{name} ({command})", title_justify="left")
    notes = any(result.note for result in results)
    for column in ("case", "measured", "bar", "holds", *(["note"] if notes else [])):
        table.add_column(column)
    for result in results:
        sign = "≤" if result.better == "lower" else "≥"
        bar = "–" if result.bar is None else f"{sign} {result.bar:g} {result.unit}"
        note = [result.note] if notes else []
        table.add_row(result.case, f"{result.measured:.3f} {result.unit}", bar, _verdict(result), *note)
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    print(", ".join(f"{tool} {version}" for tool, version in used.items()))
    return 0 if all(result.holds for result in results) else 1
