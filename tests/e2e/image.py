"""An image as `relayImage` bakes it: it has the deployed daemon, so no machine fetches it."""

import hashlib
import platform
import shutil
from pathlib import Path

from tests.paths import ROOT

DAEMON = ROOT / "relay-ami/dist" / {"aarch64": "arm64"}.get(platform.machine(), platform.machine()) / "cpt-relay"


def with_daemon(folder: Path) -> Path:
    """Lay the files of the image into `folder`, which is returned; those that are there stay."""
    sha256 = hashlib.sha256(DAEMON.read_bytes()).hexdigest()
    target = folder / "cpt/bin" / f"cpt-relay-{sha256}"
    if not target.exists():
        target.parent.mkdir(parents=True)
        shutil.copy(DAEMON, target)
    return folder
