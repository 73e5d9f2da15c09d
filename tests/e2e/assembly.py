"""Templates of a deployment with other settings than those of cdk.json."""

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cli.settings import configuration

# The CDK's rules for templates are half of a synthesis, of which tests/infra has one for each of these settings.
UNJUDGED = {"CDK_VALIDATION": "false"}


def synthesized(folder: Path, regions: Iterable[str], **more: Any) -> Path:
    """The templates for `regions` and these settings, written into `folder`, which is returned."""
    settings = {**configuration(), "regions": {region: {} for region in regions}, **more}
    context = ["-c", f"cpt={json.dumps(settings)}", "--output", str(folder)]
    command = ["npx", "--no-install", "cdk", "synth", "--quiet", *context]
    subprocess.run(command, env={**os.environ, **UNJUDGED}, check=True, capture_output=True, timeout=240)
    return folder
