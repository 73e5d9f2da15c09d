"""A tree with every oddity arrives as it was, where the request asks for it: rsync and blocks in use are the judges."""

import os
import shutil
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from tests.e2e.account import Account
from tests.e2e.files import make_files

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away and makes devices")

EVERYTHING = {
    "hardLinks": True,
    "sparse": True,
    "owners": "numeric",
    "xattrs": True,
    "acls": True,
    "specialFiles": True,
}
MIB = 1 << 20
OWNER, GROUP = 4_242, 4_243
# CAP_NET_BIND_SERVICE, effective and permitted, in the kernel's form (version 2).
CAPABILITY = bytes([1, 0, 0, 2, 0, 4]) + bytes(14)


def acl(user: int) -> bytes:
    """An access control list in the kernel's form (version 2): tag, permissions and id of each entry."""
    none = 0xFFFF_FFFF
    entries = [(0x01, 6, none), (0x02, 4, user), (0x04, 4, none), (0x10, 6, none), (0x20, 0, none)]
    fields = (field.to_bytes(size, "little") for entry in entries for field, size in zip(entry, (2, 2, 4), strict=True))
    return b"\2\0\0\0" + b"".join(fields)


def sparse(path: Path, size: int, offsets: list[int]) -> None:
    """A file with data at `offsets`, and holes around it."""
    with path.open("wb") as file:
        for offset in offsets:
            file.seek(offset)
            file.write(os.urandom(5000))
        file.truncate(size)


def oddities(root: Path) -> Path:
    """Whatever people have, and all that a request can ask to be kept."""
    make_files(root)
    (root / "names").mkdir()
    os.link(root / "large.bin", root / "names" / "of the large file")
    os.link(root / "large.bin", root / "0 comes first")
    for number in range(30):
        os.link(root / "deep" / f"small {number}.txt", root / "names" / f"{number}")
    sparse(root / "image", 200 * MIB, [0, 9 * MIB + 4096, 10 * MIB, 150 * MIB])
    sparse(root / "only a hole", 30 * MIB, [])
    sparse(root / "small hole", 300_000, [131_072])
    for name in ("empty", "large.bin", "names", "image"):
        os.setxattr(root / name, "user.colour", b"dark\0red " * 20)
    os.setxattr(root / "deep" / "small 31.txt", "security.capability", CAPABILITY)
    os.setxattr(root / "deep" / "small 32.txt", "system.posix_acl_access", acl(OWNER))
    os.setxattr(root / "names", "system.posix_acl_default", acl(77_777))  # nobody's number here
    os.mkfifo(root / "pipe", 0o620)
    with socket.socket(socket.AF_UNIX) as listener:
        directory = os.open(root, os.O_PATH)
        listener.bind(f"/proc/self/fd/{directory}/socket")
        os.close(directory)
    os.mknod(root / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod(root / "disk", stat.S_IFBLK | 0o600, os.makedev(7, 200))
    for name in ("deep", "link", "image", "pipe", "null", "names/3"):
        os.lchown(root / name, OWNER, GROUP)
    (root / "set-user").write_bytes(b"#!/bin/true\n")
    os.chown(root / "set-user", OWNER, GROUP)
    (root / "set-user").chmod(0o6755)
    for number, name in enumerate(("names", "deep", "link", "pipe", "null", "set-user", "only a hole")):
        os.utime(root / name, ns=(0, 1_000_000_000_000_000_001 + number), follow_symlinks=False)
    return root


def open_way(path: Path) -> None:
    """Everybody may go to `path`."""
    for directory in (path, *path.parents):
        if directory.stat().st_uid == os.geteuid() and directory != Path("/"):
            directory.chmod(directory.stat().st_mode | 0o055)


def differences(source: Path, copy: Path) -> list[str]:
    """What rsync would have to do for the copy to be as the source is."""
    command = ["rsync", "-aHAXSni", "--specials", "--devices", "--checksum", "--delete", f"{source}/", f"{copy}/"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def holes(path: Path) -> list[int]:
    """Where data begins and ends in a file, by turns."""
    edges, at, size = [], 0, path.stat().st_size
    with path.open("rb") as file:
        while at < size:
            try:
                start = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # ENXIO: only a hole follows
                break
            at = os.lseek(file.fileno(), start, os.SEEK_HOLE)
            edges += [start, at]
    return edges


def room(root: Path) -> dict[str, tuple[int, list[int]]]:
    """Number of names and places of data of each file."""
    files = [path for path in root.rglob("*") if stat.S_ISREG(path.lstat().st_mode)]
    return {str(path.relative_to(root)): (path.lstat().st_nlink, holes(path)) for path in files}


def more_blocks(copy: Path, source: Path) -> dict[str, int]:
    """Blocks of 512 bytes that a file uses beyond its source's, where that is more than chance.

    ext4 counts 8 more for a file in more than four pieces, and into how many it is put depends on what else is written.
    """
    files = [path.relative_to(source) for path in source.rglob("*") if stat.S_ISREG(path.lstat().st_mode)]
    more = {str(path): (copy / path).lstat().st_blocks - (source / path).lstat().st_blocks for path in files}
    return {path: blocks for path, blocks in more.items() if abs(blocks) > 8}


@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is the judge")
def test_every_oddity_arrives_as_it_was_and_a_second_run_sends_nothing(account: Account, tmp_path: Path) -> None:
    source = oddities(tmp_path / "set")
    out = tmp_path / "out"
    request = account.request(source, out, preserve=EVERYTHING)
    run = account.run(request, "oddities")
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert differences(source, out / "set") == []
    assert room(out / "set") == room(source)
    assert more_blocks(out / "set", source) == {}

    again = account.run(request, "oddities-again")
    assert (again.status, again.report["bytes"], again.report["chunks"]) == ("SUCCEEDED", 0, 0)
    assert differences(source, out / "set") == []

    # Each change of one kind is seen, and only what it concerns is sent.
    os.setxattr(out / "set" / "empty", "user.colour", b"light")
    os.chown(out / "set" / "image", OWNER + 1, GROUP)
    (out / "set" / "names" / "7").unlink()
    (out / "set" / "names" / "7").write_bytes((source / "names" / "7").read_bytes())
    mended = account.run(request, "oddities-mended")
    assert mended.status == "SUCCEEDED", mended.cause
    assert mended.report["bytes"] == (source / "image").stat().st_size
    assert differences(source, out / "set") == []


def test_what_the_destination_does_not_take_is_that_files_problem(account: Account, tmp_path: Path) -> None:
    source, out = tmp_path / "set", tmp_path / "home"
    source.mkdir()
    for name in ("plain", "capable"):
        (source / name).write_text(name)
    os.setxattr(source / "capable", "security.capability", CAPABILITY)
    os.mknod(source / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    out.mkdir()
    os.chown(out, OWNER, GROUP)
    open_way(tmp_path)
    more = {"preserve": {"xattrs": True, "specialFiles": True}, "onProblem": "skip", "relays": {"pairs": 0}}
    run = account.run(account.request(f"{source}/", out, **more), "not-root")
    assert run.status == "SUCCEEDED", run.cause
    assert run.report["status"] == "SUCCEEDED_WITH_SKIPS"
    assert sorted(path.name for path in out.iterdir()) == ["plain"]
    assert run.report["skipped"]["count"] == 2
    named = {entry["path"]: (entry["reason"], entry["message"]) for entry in run.report["skipped"]["first"]}
    assert {path: reason for path, (reason, _) in named.items()} == dict.fromkeys(
        ("capable", "null"), "destination-refused"
    )
    assert "security.capability" in named["capable"][1]
    assert "a device, which only root makes" in named["null"][1]


def test_owners_without_root_are_refused_before_anything_costs_money(account: Account, tmp_path: Path) -> None:
    source, out = tmp_path / "file", tmp_path / "out"
    source.write_text("x")
    out.mkdir()
    os.chown(out, OWNER, GROUP)
    open_way(tmp_path)
    run = account.run(account.request(source, out, preserve={"owners": "names"}), "owners-without-root")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert run.cause is not None
    assert "preserve.owners needs root" in run.cause
    assert 'runAs to "root"' in run.cause
    assert list(out.iterdir()) == []


def test_a_path_that_is_a_pipe_or_a_device_is_an_error_that_names_it(account: Account, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    run = account.run(account.request(tmp_path / "pipe", tmp_path / "out"), "pipe")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert run.cause is not None
    assert "/pipe' on " in run.cause
    assert ": is a pipe, and no file" in run.cause
    kept = account.run(
        account.request(tmp_path / "pipe", tmp_path / "out", preserve={"specialFiles": True}, relays={"pairs": 0}),
        "pipe-kept",
    )
    assert kept.status == "SUCCEEDED", kept.cause
    assert stat.S_ISFIFO((tmp_path / "out" / "pipe").lstat().st_mode)
