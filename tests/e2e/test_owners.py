"""Who writes and owns what arrives, and whom root follows: only root can become somebody else."""

import os
from pathlib import Path

import pytest

from tests.e2e.account import HOME, OTHER, Account

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

# No entry in /etc/passwd has it.
OWNER = 4_242
NOBODY = 65_534


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Somebody's directory, on a way that everybody may go."""
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.geteuid() and directory != Path("/"):
            directory.chmod(directory.stat().st_mode | 0o055)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    os.chown(home, OWNER, OWNER)
    return home


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "set"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "file").write_text("content")
    (source / "link").symlink_to("inner/file")
    (source / "large").write_bytes(os.urandom(3_000_000))
    for path in (source, source / "inner", source / "inner" / "file", source / "large"):
        path.chmod(0o755 if path.is_dir() else 0o644)  # whatever the umask
    return source


def owners(directory: Path) -> dict[str, tuple[int, int]]:
    found = [directory, *directory.rglob("*")]
    return {str(path.relative_to(directory)): (path.lstat().st_uid, path.lstat().st_gid) for path in found}


def test_what_arrives_in_a_home_belongs_to_its_owner(account: Account, home: Path, source: Path) -> None:
    run = account.run(account.request(source, home / "new" / "deep", relays={"pairs": 0}), "owned")
    assert run.status == "SUCCEEDED", run.cause
    found = owners(home / "new")
    assert set(found) == {
        ".",
        "deep",
        "deep/set",
        "deep/set/inner",
        "deep/set/inner/file",
        "deep/set/link",
        "deep/set/large",
    }
    assert set(found.values()) == {(OWNER, OWNER)}


def test_the_user_of_the_request_reads_and_writes(account: Account, home: Path, source: Path) -> None:
    home.chmod(0o777)
    request = account.request(source, home / "theirs", relays={"pairs": 0})
    request["source"]["runAs"], request["destination"]["runAs"] = "nobody", str(NOBODY)
    run = account.run(request, "run-as")
    assert run.status == "SUCCEEDED", run.cause
    assert {uid for uid, _ in owners(home / "theirs").values()} == {NOBODY}
    (source / "inner" / "file").chmod(0o600)
    run = account.run(request | {"destination": request["destination"] | {"path": str(home / "other")}}, "run-as-2")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert f"{source}/inner/file" in str(run.cause)

    skips = request | {"onProblem": "skip", "destination": request["destination"] | {"path": str(home / "third")}}
    run = account.run(skips, "run-as-3")
    assert (run.status, run.report["status"]) == ("SUCCEEDED", "SUCCEEDED_WITH_SKIPS"), run.cause
    (left_out,) = run.report["skipped"]["first"]
    assert (left_out["path"], left_out["reason"]) == ("set/inner/file", "source-unreadable")
    assert (home / "third" / "set" / "large").read_bytes() == (source / "large").read_bytes()

    (source / "inner").chmod(0o700)
    for name in ("run-as-4", "run-as-5"):
        run = account.run(skips, name)
        assert (run.status, run.report["status"]) == ("SUCCEEDED", "SUCCEEDED_WITH_SKIPS"), run.cause
        (left_out,) = run.report["skipped"]["first"]
        assert (left_out["path"], left_out["reason"]) == ("set/inner", "source-unreadable"), "each time, by its name"


def test_a_user_whom_a_machine_does_not_have_is_named(account: Account, home: Path, source: Path) -> None:
    request = account.request(source, home / "new", relays={"pairs": 1})
    request["destination"]["runAs"] = "no-such-user"
    run = account.run(request, "no-such-user")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    for word in ("runAs", "no-such-user", "/etc/passwd"):
        assert word in str(run.cause)


def test_a_link_that_a_user_planted_leads_root_nowhere(
    account: Account, home: Path, source: Path, tmp_path: Path
) -> None:
    (tmp_path / "etc").mkdir()
    (home / "backups").symlink_to(tmp_path / "etc")
    os.lchown(home / "backups", OWNER, OWNER)
    run = account.run(account.request(source, home / "backups", relays={"pairs": 1}), "planted")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    for word in (str(home / "backups"), f"user {OWNER}", str(tmp_path / "etc")):
        assert word in str(run.cause)
    assert not list((tmp_path / "etc").iterdir())


def test_what_the_owner_of_a_machine_keeps_back_is_neither_read_nor_written(
    account: Account, source: Path, tmp_path: Path
) -> None:
    ends = (
        (account.source, HOME, f"read {tmp_path}/set"),
        (account.destination, OTHER, f"write {tmp_path}/into"),
    )
    for machine, region, line in ends:
        script = f'umask 022; mkdir -p "${{CPT_ALLOWED_PATHS%/*}}"; echo {line} >"$CPT_ALLOWED_PATHS"'
        account.shell(machine, region, script)
    try:
        (tmp_path / "private").mkdir()
        (tmp_path / "private" / "key").write_text("secret")
        refused = account.request(tmp_path / "private", tmp_path / "elsewhere", relays={"pairs": 0})
        run = account.run(refused, "kept-back")
        assert (run.status, run.error) == ("FAILED", "SurveyProblem")
        for words in (
            f"{tmp_path}/private",
            "is not among what transfers may read on this machine",
            f"names {tmp_path}/set",
            f"{tmp_path}/elsewhere",
            "is not among what transfers may write on this machine",
            f"names {tmp_path}/into",
        ):
            assert words in str(run.cause)
        assert not (tmp_path / "elsewhere").exists()
        run = account.run(account.request(source, tmp_path / "into" / "new", relays={"pairs": 0}), "allowed")
        assert run.status == "SUCCEEDED", run.cause
        assert (tmp_path / "into" / "new" / "set" / "large").read_bytes() == (source / "large").read_bytes()
    finally:
        for machine, region, _ in ends:
            account.shell(machine, region, 'rm "$CPT_ALLOWED_PATHS"')
