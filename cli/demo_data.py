"""Data for the demo: thousands of real small files, large ones that no compression helps, and every odd entry."""

import os
import random
from pathlib import Path

LARGE_FILES = 3
BLOCK_BYTES = 1 << 20
SEED = 20261121  # printed nowhere: the content only has to be incompressible, and the same on every machine


def make_tree(root: Path, total_bytes: int, small_files: Path) -> None:
    """Fill `root` with about `total_bytes`: `small_files` by hard link, odd entries, large files for the rest."""
    root.mkdir(parents=True)
    linked = _link_tree(small_files, root / "packages", total_bytes // 2)
    _odd_entries(root / "odd")
    randomness = random.Random(SEED)
    each = max(total_bytes - linked, 0) // LARGE_FILES
    for number in range(LARGE_FILES):
        _write_large(root / "large" / f"incompressible-{number}.bin", each, randomness)


def _link_tree(source: Path, target: Path, limit_bytes: int) -> int:
    """Hard-link (else copy) regular files of `source` until `limit_bytes`; returns the bytes linked."""
    linked = 0
    for folder, folders, files in os.walk(source):
        folders.sort()
        here = target / Path(folder).relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        for name in sorted(files):
            original = Path(folder) / name
            if original.is_symlink():
                (here / name).symlink_to(original.readlink())
                continue
            if linked > limit_bytes:
                return linked
            try:
                (here / name).hardlink_to(original)
            except OSError:
                (here / name).write_bytes(original.read_bytes())
            linked += original.stat().st_size
    return linked


def _odd_entries(folder: Path) -> None:
    (folder / "empty directory").mkdir(parents=True)
    (folder / "empty file").touch()
    (folder / "line\nbreak").write_text("a name may hold a line break\n")
    (folder / ("x" * 251 + ".txt")).write_text("255 bytes of name\n")
    (folder / "link").symlink_to("../odd/empty file")
    (folder / "dangling link").symlink_to("nowhere/at all")
    private = folder / "private"
    private.write_text("mode 0600 and an old date\n")
    private.chmod(0o600)
    os.utime(private, ns=(0, 1_000_000_000_123_456_789))
    with open(os.fsencode(folder) + b"/not utf-8 \xff\xfe", "wb") as stream:  # noqa: PTH123
        stream.write(b"any byte but NUL and slash\n")


def _write_large(path: Path, size: int, randomness: random.Random) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        while size > 0:
            block = min(size, BLOCK_BYTES)
            stream.write(randomness.randbytes(block))
            size -= block
