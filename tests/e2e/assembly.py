"""Templates of a deployment with other settings than those of cdk.json."""

import fcntl
import json
import os
import subprocess
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from cli.settings import configuration
from local.nursery import VARIABLE

# The CDK's rules for templates are half of a synthesis, of which tests/infra has one for each of these settings.
UNJUDGED = {"CDK_VALIDATION": "false"}


def synthesized(folder: Path, regions: Iterable[str], **more: Any) -> Path:
    """The templates for `regions` and these settings; nobody writes into their folder, which is returned.

    A synthesis takes 20 s of a core. Where all tests of a run share a place, those with the same settings share one;
    otherwise it goes into `folder`.
    """
    settings = json.dumps({**configuration(), "regions": {region: {} for region in regions}, **more}, sort_keys=True)
    shared = os.environ.get(VARIABLE)
    if shared is None:
        return _synthesize(folder, settings)
    place = Path(shared).parent / "assemblies" / sha256(settings.encode()).hexdigest()[:16]
    place.parent.mkdir(exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # The manifest is written last.
        return place if (place / "manifest.json").exists() else _synthesize(place, settings)


def _synthesize(folder: Path, settings: str) -> Path:
    command = ["npx", "--no-install", "cdk", "synth", "--quiet", "-c", f"cpt={settings}", "--output", str(folder)]
    subprocess.run(command, env={**os.environ, **UNJUDGED}, check=True, capture_output=True, timeout=240)
    return folder
