"""What the plots are drawn from: `bench/out/pool-series.json`, by figure of the TaaS paper."""

import json
from typing import Any

from bench.results import OUT

SERIES = OUT / "pool-series.json"


def keep(figure: str, found: Any) -> None:
    """Put a figure's numbers in the place of those of an earlier run."""
    OUT.mkdir(parents=True, exist_ok=True)
    SERIES.write_text(json.dumps({**known(), figure: found}, indent=1) + "\n")


def known() -> dict[str, Any]:
    """All figures that were measured."""
    return dict(json.loads(SERIES.read_text())) if SERIES.exists() else {}
