"""What every benchmark writes: `bench/out/NAME.json`, a table, and an exit code."""

import json
import platform
import subprocess
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


def publish(name: str, results: list[Result], command: str) -> int:
    """Write and print the results; 0 if every bar holds, else 1."""
    OUT.mkdir(parents=True, exist_ok=True)
    rows = [{**asdict(result), "holds": result.holds, "command": command, "versions": versions()} for result in results]
    (OUT / f"{name}.json").write_text(json.dumps(rows, indent=2) + "\n")
    table = Table(title=f"{name} ({command})", title_justify="left")
    for column in ("case", "measured", "bar", "holds"):
        table.add_column(column)
    for result in results:
        sign = "≤" if result.better == "lower" else "≥"
        bar = "–" if result.bar is None else f"{sign} {result.bar:g} {result.unit}"
        table.add_row(result.case, f"{result.measured:.3f} {result.unit}", bar, "yes" if result.holds else "NO")
    Console().print(table)
    return 0 if all(result.holds for result in results) else 1
