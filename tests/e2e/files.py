"""Files to move, and eyes to compare trees."""

import os
import random
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

BLOCK = 1 << 20


def make_files(root: Path, *, small: int = 40, large_bytes: int = 6_000_000, seed: int = 7) -> Path:
    """A tree with small files, one large file, and every odd entry."""
    randomness = random.Random(seed)
    (root / "deep" / "er" / "still").mkdir(parents=True)
    for number in range(small):
        (root / "deep" / f"small {number}.txt").write_bytes(randomness.randbytes(randomness.randrange(1, 20_000)))
    # Nothing can compress it; five times as fast as `random`.
    key_stream = Cipher(AES(randomness.randbytes(16)), CTR(bytes(16))).encryptor()
    with (root / "large.bin").open("wb") as stream:
        for offset in range(0, large_bytes, BLOCK):
            stream.write(key_stream.update(bytes(min(BLOCK, large_bytes - offset))))
    (root / "empty").touch()
    (root / "empty directory").mkdir(mode=0o711)
    (root / "line\nbreak").write_text("x")
    (root / ("n" * 255)).write_text("255")
    (root / "link").symlink_to("deep/er")
    (root / "dangling").symlink_to("/nowhere")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe")).write_bytes(b"not UTF-8")
    (root / "large.bin").chmod(0o640)
    os.utime(root / "large.bin", ns=(0, 1_111_111_111_222_333_444))
    os.utime(root / "empty directory", ns=(0, 999_999_999_000_000_001))
    return root


def tree(root: Path) -> dict[bytes, tuple[Any, ...]]:
    """Everything about a tree that must arrive: kind, mode, mtime, content or target, by relative path."""
    found: dict[bytes, tuple[Any, ...]] = {}
    base = os.fsencode(root)
    for folder, folders, files in os.walk(base):
        for name in folders + files:
            path = os.path.join(folder, name)
            stat = os.lstat(path)
            relative = os.path.relpath(path, base)
            if os.path.islink(path):
                found[relative] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                found[relative] = ("directory", stat.st_mode, stat.st_mtime_ns)
            else:
                found[relative] = ("file", stat.st_mode, stat.st_mtime_ns, Path(os.fsdecode(path)).read_bytes())
    return found
