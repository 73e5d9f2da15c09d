"""Templates of a deployment with other regions than the two of cdk.json."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

from cli.aws import configuration


def synthesized(folder: Path, regions: Iterable[str]) -> Path:
    """The templates for `regions`, written into `folder`, which is returned."""
    settings = {**configuration(), "regions": {region: {} for region in regions}}
    context = ["-c", f"cpt={json.dumps(settings)}", "--output", str(folder)]
    command = ["npx", "--no-install", "cdk", "synth", "--quiet", *context]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    return folder
