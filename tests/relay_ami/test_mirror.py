"""Over generated trees the extras are those that rsync and rclone would remove, and nothing else goes."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "relay-ami" / "relay" / "target" / "release" / "cpt-laboratory"
OLD = 1_000_000_000
# Mean the same to git, rsync and rclone; the first leaves files out, the second a directory with all that it holds.
EXCLUDED = ["*.o", "/cache/"]
NAMES = [b"a", b"b.o", b"cache", b"a b", b"a!", b"\xc3\xa9", b"line\nbreak", b"\xff\xfe"]
ALIKE = [name for name in NAMES if name.decode(errors="ignore").encode() == name and b"\n" not in name]
SETTINGS = settings(max_examples=40, derandomize=True)


class Place(NamedTuple):
    """One path of both trees; what has it at both has the same there."""

    path: tuple[bytes, ...]
    kind: str
    at_source: bool
    at_destination: bool


def places(names: list[bytes], kinds: list[str]) -> st.SearchStrategy[list[Place]]:
    path = st.lists(st.sampled_from(names), min_size=1, max_size=3).map(tuple)
    place = st.builds(Place, path, st.sampled_from(kinds), st.booleans(), st.booleans())
    return st.lists(place, max_size=14, unique_by=lambda one: one.path)


ANY = places(NAMES, ["file", "directory", "link"])
# rclone knows no links of a tree, and takes names for text.
PLAIN = places(ALIKE, ["file", "directory"])


class Trees:
    """A source and a destination with these places, until it is left."""

    def __init__(self, of: Iterable[Place]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.here = Path(self._folder.name)
        of = list(of)
        # What something lies in is a directory at both ends.
        above = {one.path[:depth] for one in of for depth in range(1, len(one.path))}
        for end, wanted in (("from", lambda one: one.at_source), ("to", lambda one: one.at_destination)):
            root = os.fsencode(self.here / end)
            os.mkdir(root)
            for one in filter(wanted, of):
                kind = "directory" if one.path in above else one.kind
                self._make(os.path.join(root, *one.path), kind)

    def __enter__(self) -> "Trees":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    @staticmethod
    def _make(path: bytes, kind: str) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if kind == "directory":
            os.makedirs(path, exist_ok=True)
        elif kind == "link":
            os.symlink(b"target", path)
        else:
            Path(os.fsdecode(path)).write_bytes(b"content")
            os.utime(path, (OLD, OLD))

    def source(self, *, whole: bool) -> str:
        """With a slash its contents are mirrored, without one it is itself."""
        return f"{self.here}/from{'/' if whole else ''}"

    def extras(self, *options: str, whole: bool = True) -> set[bytes]:
        """Ours; with `--delete` they are gone then."""
        control = self.here / "control"
        shutil.rmtree(control, ignore_errors=True)
        command = [str(PROGRAM), "mirror", "--control-dir", str(control), *options]
        subprocess.run([*command, self.source(whole=whole), f"{self.here}/to"], check=True, capture_output=True)
        parts = sorted(control.glob("extras/1/*.ndjson"))
        lines = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
        return {unquote_to_bytes(line["path"]) for line in lines}

    def rsync(self, *options: str, whole: bool = True) -> set[bytes]:
        """What rsync would remove; names below the destination."""
        command = ["rsync", "-a", "--delete", "-n", "-i", *options, self.source(whole=whole), f"{self.here}/to"]
        told = subprocess.run(command, check=True, capture_output=True).stdout.splitlines()
        names = (line.split(maxsplit=1)[1].rstrip(b"/") for line in told if line.startswith(b"*deleting"))
        return {re.sub(rb"\\#(\d{3})", lambda octal: bytes([int(octal[1], 8)]), name) for name in names}

    def rsynced(self, *options: str) -> set[bytes]:
        """What rsync removes from a copy: its list also has directories that hold what a rule protects."""
        copy = self.here / "copy"
        subprocess.run(["cp", "-a", self.here / "to", copy], check=True)
        command = ["rsync", "-a", "--delete", *options, self.source(whole=True), f"{copy}/"]
        subprocess.run(command, check=True, capture_output=True)
        return below(self.here / "to") - below(copy)

    def rclone(self, *options: str) -> set[bytes]:
        """What rclone would remove."""
        command = ["rclone", "sync", "--dry-run", "--create-empty-src-dirs", "--use-json-log", *options]
        told = subprocess.run(
            [*command, self.here / "from", self.here / "to"], check=True, capture_output=True, env=dict(os.environ)
        ).stderr.splitlines()
        lines = map(json.loads, told)
        removed = ("Skipped delete as", "Skipped remove directory as")
        return {os.fsencode(line["object"]) for line in lines if line["msg"].startswith(removed)}


def below(folder: Path) -> set[bytes]:
    """All paths in it."""
    root = os.fsencode(folder)
    return {
        os.path.relpath(os.path.join(above, name), root)
        for above, folders, files in os.walk(root)
        for name in folders + files
    }


rsync_is_here = pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is the judge")
rclone_is_here = pytest.mark.skipif(shutil.which("rclone") is None, reason="rclone is the judge")


@rsync_is_here
@given(ANY, st.booleans())
@SETTINGS
def test_extras_are_those_that_rsync_would_delete(found: list[Place], whole: bool) -> None:
    with Trees(found) as trees:
        assert trees.extras(whole=whole) == trees.rsync(whole=whole)


@rsync_is_here
@given(ANY)
@SETTINGS
def test_what_rules_protect_is_what_rsync_protects(found: list[Place]) -> None:
    with Trees(found) as trees:
        ours = trees.extras("--select", json.dumps({"exclude": EXCLUDED}))
        assert ours == trees.rsynced(*(f"--exclude={rule}" for rule in EXCLUDED))


@rclone_is_here
@given(PLAIN)
@settings(SETTINGS, max_examples=20)
def test_extras_are_those_that_rclone_would_delete(found: list[Place]) -> None:
    with Trees(found) as trees:
        assert trees.extras() == trees.rclone()


@given(ANY)
@SETTINGS
def test_exactly_the_extras_are_gone_afterwards(found: list[Place]) -> None:
    with Trees(found) as trees:
        before = below(trees.here / "to")
        extras = trees.extras("--delete")
        assert below(trees.here / "to") == before - extras
        assert trees.extras() == set()
