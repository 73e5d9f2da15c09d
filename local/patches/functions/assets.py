"""Unpacked assets of functions by digest, and their bytecode: one copy for all local clouds of a checkout and a user.

Unpacking and compiling an asset takes five seconds of a core, as long as all else that a local cloud does to start.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
import zipfile
from contextlib import suppress
from io import BytesIO
from pathlib import Path

# Benchmarks run as root in the checkout of somebody who could not use what root has made.
FOLDER = Path(__file__).parents[3] / ".cache" / f"functions-{os.getuid()}"
BYTECODE = FOLDER / "bytecode"
RUNTIME_PACKAGES = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six.py")
KEPT_SECONDS = 7 * 24 * 3600
"""An asset that no process was started from for so long is removed when another one is unpacked."""

_lock = threading.Lock()


def unpacked(code_zip: bytes, folder: Path = FOLDER) -> Path:
    """The asset's directory, shared by all functions that use it."""
    target = folder / hashlib.sha256(code_zip).hexdigest()[:24]
    with _lock:
        if not target.exists():
            _remove_unused(folder)
            partial = folder / f"{target.name}.{os.getpid()}.new"
            with zipfile.ZipFile(BytesIO(code_zip)) as archive:
                archive.extractall(partial)
            try:
                partial.rename(target)
            except OSError:  # another local cloud was faster
                shutil.rmtree(partial)
        os.utime(target)
    return target


def runtime_packages(site: Path, folder: Path = FOLDER) -> Path:
    """A directory with the packages that the real runtime brings along, and nothing else; `site` has all."""
    target = folder / f"runtime-{hashlib.sha256(str(site).encode()).hexdigest()[:8]}"
    target.mkdir(parents=True, exist_ok=True)
    for name in RUNTIME_PACKAGES:
        with suppress(FileExistsError):
            (target / name).symlink_to(site / name)
    os.utime(target)
    return target


def _remove_unused(folder: Path) -> None:
    bytecode = folder / BYTECODE.name
    for other in set(folder.glob("*")) - {bytecode}:
        with suppress(FileNotFoundError):  # another local cloud removes it too
            if other.stat().st_mtime < time.time() - KEPT_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
                shutil.rmtree(bytecode / other.relative_to(other.anchor), ignore_errors=True)
