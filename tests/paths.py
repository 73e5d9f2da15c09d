"""Where a checkout has what tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTRACTS = ROOT / "contracts"
