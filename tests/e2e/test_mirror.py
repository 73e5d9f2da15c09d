"""What only the destination has goes last, exactly what was confirmed; anything else is refused or told."""

import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from blake3 import blake3

from local.config import Fault
from tests.chaos.extent import cases, only_full
from tests.e2e.account import HOME, Account, Run
from tests.e2e.files import make_files, tree
from tests.e2e.test_dry_run import stamps

ANYTHING = {"delete": True, "confirmDelete": "without-dry-run"}


def listed(account: Account, where: str) -> tuple[list[bytes], str]:
    """Paths of a list, and the digest of its objects."""
    bucket, _, prefix = where.removeprefix("s3://").partition("/")
    client = account.aws.client("s3")
    keys = sorted(found["Key"] for found in client.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"])
    text = b"".join(client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys)
    return [unquote_to_bytes(json.loads(line)["path"]) for line in text.splitlines()], blake3(text).hexdigest()


def succeeded(run: Run) -> dict[str, Any]:
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    return run.report


@pytest.fixture
def ends(account: Account, tmp_path: Path) -> tuple[Path, Path, dict[str, Any]]:
    """A source, a destination that has it already, and the request for a mirror of it."""
    source, out = make_files(tmp_path / "set", small=10, large_bytes=1_000_000), tmp_path / "out"
    subdirectory = out / "set"
    shutil.copytree(source, subdirectory, symlinks=True)
    return source, out, account.request(source, out, relays={"pairs": 0}, delete=True)


def add_extras(out: Path) -> set[bytes]:
    """Of every kind, below a directory that the source has; one leads outside of the destination."""
    outside = out.parent / "outside"
    outside.mkdir()
    (outside / "kept").write_text("not ours")
    added = out / "set" / "deep" / "old"
    (added / "er").mkdir(parents=True)
    (added / "line\nbreak").write_text("x")
    Path(os.fsdecode(os.fsencode(added) + b"/\xff\xfe")).write_bytes(b"not UTF-8")
    (added / "er" / "link").symlink_to(outside)
    os.link(outside / "kept", added / "er" / "other name")
    names = [b"", b"/er", b"/line\nbreak", b"/\xff\xfe", b"/er/link", b"/er/other name"]
    return {b"set/deep/old" + name for name in names}


def test_a_dry_run_tells_the_extras_and_with_its_digest_exactly_these_go(
    account: Account, ends: tuple[Path, Path, dict[str, Any]]
) -> None:
    source, out, request = ends
    extras = add_extras(out)
    (out / "set" / "kept by a rule" / "in").mkdir(parents=True)
    (out / "set" / "kept by a rule" / "in" / "file.log").write_text("mine")
    (out / "beside").write_text("of another transfer")
    (source / "new").write_text("to be sent")
    was = (out / "set" / "deep" / "small 3.txt").read_bytes()
    (source / "deep" / "small 3.txt").write_text("of the source, and another one")
    request["select"] = {"exclude": ["*.log"]}

    before = stamps(out)
    look = succeeded(account.run({**request, "dryRun": True}, "mirror-look"))
    assert stamps(out) == before
    told = look["dryRun"]["deleted"]
    paths, digest = listed(account, told["where"])
    assert (set(paths), digest) == (extras, told["digest"])
    counts = {name: told[name] for name in ("files", "directories", "symlinks", "maxDelete", "spared")}
    assert counts == {"files": 3, "directories": 2, "symlinks": 1, "maxDelete": 1000, "spared": {"not-selected": 1}}

    run = account.run({**request, "confirmDelete": digest, "keepReplaced": ".replaced"}, "mirror")
    report = succeeded(run)
    kept = out / ".replaced" / "mirror"
    assert report["kept"] == {"entries": 5, "where": str(kept)}
    assert (kept / "set" / "deep" / "small 3.txt").read_bytes() == was
    assert (kept / "set" / "deep" / "old" / "line\nbreak").read_text() == "x"
    assert (kept / "set" / "deep" / "old" / "er" / "link").is_symlink()
    assert report["deleted"] == {"entries": 6, "bytes": told["bytes"], "where": report["deleted"]["where"]}
    assert set(listed(account, report["deleted"]["where"])[0]) == extras
    states = account.history(run.arn)
    assert states.index("Verify Transfer") < states.index("Delete Extras") < states.index("Tear Down")
    left = tree(out)
    assert {b"kept by a rule", b"kept by a rule/in", b"kept by a rule/in/file.log"} == {
        name.removeprefix(b"set/") for name in left if b"kept by" in name
    }
    assert {name: entry for name, entry in tree(out / "set").items() if b"kept by" not in name} == tree(source)
    assert (out / "beside").read_text() == "of another transfer"
    assert (out.parent / "outside" / "kept").read_text() == "not ours"
    nothing_left_but_lists(account, "mirror")

    again = account.run({**request, "confirmDelete": digest}, "mirror-again")
    assert succeeded(again)["chunks"] == 0, "the directories have the source's times"
    assert "deleted" not in again.report
    assert "Delete Extras" not in account.history(again.arn)


def nothing_left_but_lists(account: Account, name: str) -> None:
    left = account.left(name)
    assert left.keys() <= {"objects"}
    assert all(key.split("/")[-3] in ("extras", "remaining") for key in left.get("objects", []))


def test_other_extras_than_those_confirmed_or_too_many_are_refused_before_a_byte_moves(
    account: Account, ends: tuple[Path, Path, dict[str, Any]]
) -> None:
    source, out, request = ends
    add_extras(out)
    (source / "new").write_text("not to be sent")
    before = stamps(out)
    run = account.run({**request, "confirmDelete": "5c" * 32, "maxDelete": 5}, "mirror-refused")
    assert (run.status, run.error) == ("FAILED", "DeletionRefused")
    cause = str(run.cause)
    digest = listed(account, cause.rpartition("all: ")[2])[1]
    for word in ("5c" * 32, digest, "$.maxDelete: 5 is less than the 6", "6 entries (3 files of", "start a dry run"):
        assert word in cause
    assert stamps(out) == before
    assert not {"Estimate Transfer", "Plan Chunks", "Start Transfer"} & set(account.history(run.arn))
    nothing_left_but_lists(account, "mirror-refused")


def test_a_path_whose_disk_is_not_mounted_empties_no_copy_that_nobody_has_looked_at(
    account: Account, tmp_path: Path
) -> None:
    """Its mount point is empty but for a file that keeps it, and another path has many files."""
    database, media, out = tmp_path / "db", tmp_path / "media", tmp_path / "out"
    make_files(database, small=40)
    media.mkdir()
    (media / ".keep").touch()
    for number in range(10):
        (out / "media").mkdir(parents=True, exist_ok=True)
        (out / "media" / f"film-{number}").write_bytes(b"x" * 100)
    shutil.copytree(database, out / "db", symlinks=True)
    request = account.request(database, out, relays={"pairs": 0}, **ANYTHING)
    request["source"]["paths"] = [str(database), str(media)]
    run = account.run(request, "mirror-unmounted")
    assert (run.status, run.error) == ("FAILED", "DeletionRefused")
    for word in ("$.confirmDelete", "10 of 11 entries (1,000 of 1,000 bytes)", f"{out}/media", "not mounted"):
        assert word in str(run.cause), run.cause
    assert len(list((out / "media").iterdir())) == 10


def change_kinds(source: Path, destination: Path) -> int:
    """A directory becomes a link and a file, a link and a file become directories; how many entries are in the way."""
    for name in ("release", "plain"):
        (destination / name / "deep").mkdir(parents=True)
        (destination / name / "deep" / "file").write_text("of the directory")
    (destination / "opened").symlink_to("deep")
    (destination / "grown").write_text("a file before")
    (source / "release").symlink_to("deep")
    (source / "plain").write_text("a file now")
    for name in ("opened", "grown"):
        (source / name).mkdir()
        (source / name / "inside").write_text(f"inside {name}")
    return 8


def test_what_has_become_of_another_kind_is_confirmed_goes_first_and_its_successor_comes(
    account: Account, ends: tuple[Path, Path, dict[str, Any]], tmp_path: Path
) -> None:
    """Beside it a directory lands under another path than its own name."""
    source, out, request = ends
    in_the_way = change_kinds(source, out / "set")
    (out / "set" / "old").write_text("goes last")
    make_files(tmp_path / "run-17", small=5)
    request["source"]["paths"].append({"path": f"{tmp_path}/run-17", "as": "2026/new/run"})
    (out / "2026").mkdir()
    (out / "2026" / "other").write_text("of another transfer")
    before = stamps(out)
    look = succeeded(account.run({**request, "dryRun": True}, "mirror-kinds-look"))
    assert stamps(out) == before
    told = look["dryRun"]["deleted"]
    assert told["files"] + told["directories"] + told["symlinks"] == in_the_way + 1

    fault = {"operation": "Invoke", "region": HOME, "function": "cpt-make-way", "code": "Twice", "count": 1}
    account.cloud.spoil(Fault.model_validate(fault))
    run = account.run({**request, "confirmDelete": told["digest"]}, "mirror-kinds")
    assert succeeded(run)["deleted"]["entries"] == in_the_way + 1
    assert tree(out / "set") == tree(source)
    assert tree(out / "2026" / "new" / "run") == tree(tmp_path / "run-17")
    assert (out / "2026" / "other").read_text() == "of another transfer"
    assert stat.S_IMODE((out / "2026" / "new").stat().st_mode) == 0o755
    states = account.history(run.arn)
    assert states.index("Plan Chunks") < states.index("Make Way") < states.index("Start Transfer")
    assert states.index("Verify Transfer") < states.index("Delete Extras")


@only_full
def test_what_was_in_the_way_and_is_gone_when_the_execution_dies_is_filled_by_the_next_run(
    account: Account, ends: tuple[Path, Path, dict[str, Any]]
) -> None:
    source, out, request = ends
    change_kinds(source, out / "set")
    request |= {**ANYTHING, "name": "mirror-kinds-killed"}
    with held(out):
        arn = account.start(request, "mirror-kinds-killed")
        (first,) = account.cloud.wait_for(lambda: waiting(out), 60)
        assert "Start Transfer" not in account.history(arn)
        os.kill(first, signal.SIGKILL)
        account.cloud.wait_for(lambda: waiting(out) - {first}, 60)
    account.entered(arn, "Start Transfer", 60)
    account.aws.client("stepfunctions").stop_execution(executionArn=arn, error="User", cause="between the two")
    account.cloud.wait_for(lambda: account.left("mirror-kinds-killed").keys() <= {"objects"}, 60)
    assert not any((out / "set" / name / "deep").exists() for name in ("release", "plain"))
    succeeded(account.run({**request, "resume": True}, "mirror-kinds-resumed"))
    assert tree(out / "set") == tree(source)


def test_what_is_in_the_way_and_has_changed_since_it_was_confirmed_stays_and_nothing_moves(
    account: Account, ends: tuple[Path, Path, dict[str, Any]]
) -> None:
    source, out, request = ends
    change_kinds(source, out / "set")
    with held(out):
        arn = account.start({**request, **ANYTHING}, "mirror-kinds-changed")
        account.cloud.wait_for(lambda: waiting(out), 60)
        (out / "set" / "plain" / "deep" / "file").write_text("needed again")
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "DeletionIncomplete")
    assert "set/plain/deep/file (changed)" in str(run.cause)
    assert (out / "set" / "plain" / "deep" / "file").read_text() == "needed again"
    assert "Start Transfer" not in account.history(arn)


@only_full
def test_a_mirror_whose_disk_is_another_than_the_last_time_is_refused_until_a_person_has_looked(
    account: Account, tmp_path: Path
) -> None:
    """What lies beneath its mount point has nearly all of its files: no other guard would notice."""
    media, out = tmp_path / "media", tmp_path / "out"
    media.mkdir()
    for number in range(9):
        (media / f"film-{number}").write_bytes(b"x" * 100)
    if subprocess.run(["mount", "-t", "tmpfs", "cpt-test", media], check=False).returncode:
        pytest.skip("this machine may not mount")
    try:
        for number in range(10):
            (media / f"film-{number}").write_bytes(b"x" * 100)
        request = account.request(f"{media}/", out, relays={"pairs": 0}, **ANYTHING)
        succeeded(account.run(request, "mirror-of-a-disk"))
    finally:
        subprocess.run(["umount", media], check=True)
    run = account.run(request, "mirror-of-its-mount-point")
    assert (run.status, run.error) == ("FAILED", "DeletionRefused")
    for word in (
        f"'{media}/' was on another file system (tmpfs at ",
        "when the last mirror of it was made",
        "mount it",
    ):
        assert word in str(run.cause), run.cause
    assert len(list(out.iterdir())) == 10
    look = succeeded(account.run({**request, "dryRun": True}, "mirror-of-its-mount-point-look"))
    digest = look["dryRun"]["deleted"]["digest"]
    succeeded(account.run({**request, "confirmDelete": digest}, "mirror-that-is-meant"))
    assert len(list(out.iterdir())) == 9
    succeeded(account.run(request, "mirror-from-then-on"))


APART = [
    ("mirror-beside", "releases/42/", "releases", "holds", ANYTHING),
    ("deeper-each-time", "releases/", "releases/42/backup", "lies in", {}),
    ("mirror-by-a-link", "releases/42", "link/releases", "holds", ANYTHING),
    ("look-at-itself", "releases", "releases", "is", {**ANYTHING, "dryRun": True}),
    ("file-onto-itself", "releases/42/f1", "releases/42", "holds", {}),
]


@pytest.mark.parametrize(("name", "source", "destination", "verb", "asked"), cases(APART, APART[:2]))
def test_one_directory_at_both_ends_is_written_nothing_into_and_loses_nothing(
    account: Account, tmp_path: Path, name: str, source: str, destination: str, verb: str, asked: dict[str, Any]
) -> None:
    """As on a network file system that both machines have mounted."""
    (tmp_path / "releases" / "42").mkdir(parents=True)
    for number in range(3):
        (tmp_path / "releases" / "42" / f"f{number}").write_text(f"release {number}")
    (tmp_path / "link").symlink_to(tmp_path)
    before = stamps(tmp_path)
    request = account.request(tmp_path / "x", tmp_path / destination, relays={"pairs": 0}, **asked)
    request["source"]["paths"] = [f"{tmp_path}/{source}"]
    run = account.run(request, name)
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert f"' on {account.destination} {verb} the source's '{tmp_path}/{source}'" in str(run.cause)
    assert stamps(tmp_path) == before
    assert not {"Estimate Transfer", "Plan Chunks", "Start Transfer"} & set(account.history(run.arn))


def test_what_changes_after_it_was_confirmed_stays_and_the_transfer_says_so(
    account: Account, ends: tuple[Path, Path, dict[str, Any]]
) -> None:
    source, out, request = ends
    add_extras(out)
    (source / "new").write_text("to be sent")
    with held(out):
        arn = account.start({**request, **ANYTHING}, "mirror-changed")
        account.cloud.wait_for(lambda: waiting(out), 60)
        (out / "set" / "deep" / "old" / "line\nbreak").write_text("needed again")
    run = account.wait(arn)
    assert (run.status, run.error) == ("FAILED", "DeletionIncomplete")
    for word in ("of 6 confirmed extras", "2 are still there (1 changed, 1 not-empty)", "line%0Abreak (changed)"):
        assert word in str(run.cause)
    deleted = run.report["deleted"]
    assert (deleted["entries"], deleted["remaining"]["counts"]) == (4, {"changed": 1, "not-empty": 1})
    assert set(listed(account, deleted["remaining"]["where"])[0]) == {b"set/deep/old", b"set/deep/old/line\nbreak"}
    assert (out / "set" / "deep" / "old" / "line\nbreak").read_text() == "needed again"
    assert (out / "set" / "new").read_text() == "to be sent", "all else has arrived"


@contextmanager
def held(destination: Path) -> Iterator[None]:
    """A removal waits for the destination's lock, as for that of an earlier attempt."""
    directory = os.open(destination, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def waiting(destination: Path) -> set[int]:
    """Processes that wait for it, as the kernel shows them."""
    inode = destination.stat().st_ino
    lines = (line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line)
    return {int(fields[5]) for fields in lines if fields[6].endswith(f":{inode}")}


def test_a_daemon_that_is_killed_while_it_removes_is_followed_by_another_that_goes_on(
    account: Account, ends: tuple[Path, Path, dict[str, Any]]
) -> None:
    source, out, request = ends
    add_extras(out)
    with held(out):
        arn = account.start({**request, **ANYTHING}, "mirror-killed")
        (first,) = account.cloud.wait_for(lambda: waiting(out), 60)
        # As far as it had come when it was killed.
        (out / "set" / "deep" / "old" / "er" / "link").unlink()
        os.kill(first, signal.SIGKILL)
        account.cloud.wait_for(lambda: waiting(out) - {first}, 60)
    report = succeeded(account.wait(arn))
    assert report["deleted"]["entries"] == 6
    assert tree(out / "set") == tree(source)


@only_full
def test_a_function_that_dies_after_the_removal_or_runs_twice_changes_nothing(
    account: Account, ends: tuple[Path, Path, dict[str, Any]]
) -> None:
    source, out, request = ends
    add_extras(out)
    for code in ("Sandbox.Timedout", "Twice"):
        fault = {"operation": "Invoke", "region": HOME, "function": "cpt-delete-extras", "code": code, "count": 1}
        account.cloud.spoil(Fault.model_validate(fault))
    report = succeeded(account.run({**request, **ANYTHING}, "mirror-twice"))
    assert (report["deleted"]["entries"], "remaining" in report["deleted"]) == (6, False)
    assert tree(out / "set") == tree(source)


@only_full
def test_an_execution_that_is_stopped_removes_nothing_more(
    account: Account, ends: tuple[Path, Path, dict[str, Any]]
) -> None:
    _, out, request = ends
    extras = add_extras(out)
    with held(out):
        arn = account.start({**request, **ANYTHING}, "mirror-stopped")
        account.cloud.wait_for(lambda: waiting(out), 60)
        account.aws.client("stepfunctions").stop_execution(executionArn=arn, error="User", cause="changed my mind")
        account.cloud.wait_for(lambda: not waiting(out), 60)
    account.cloud.wait_for(lambda: account.left("mirror-stopped").keys() <= {"objects"}, 60)
    assert all(os.path.lexists(os.path.join(os.fsencode(out), name)) for name in extras)


def test_what_cannot_be_a_mirror_is_refused(account: Account, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("x")
    request = account.request(tmp_path / "file", tmp_path / "out", **ANYTHING)
    run = account.run(request, "mirror-of-a-file")
    assert (run.status, run.error) == ("FAILED", "DeletionRefused")
    assert "brings a directory" in str(run.cause)
    run = account.run({**request, "confirmDelete": "yes"}, "mirror-of-yes")
    assert (run.status, run.error) == ("FAILED", "InvalidRequest")
    assert (tmp_path / "out" / "old").exists()
