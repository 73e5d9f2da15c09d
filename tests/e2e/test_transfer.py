"""The main job, whole: real bytes, the real state machine, the template's own roles."""

import json
import os
import stat
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from tests.chaos.extent import cases
from tests.e2e.account import HOME, LARGE, OTHER, Account
from tests.e2e.files import make_files, tree

BUCKET = "cpt-control-000000000000-us-west-2"
# Of CRC-64/NVME, from its lowest term on.
POLYNOMIAL, MASK = 0x9A6C9329AC4BC9B5, (1 << 64) - 1
STAGES = [
    "Validate Request",
    "Resolve Paths",
    "Survey Ends",
    "Estimate Transfer",
    "Plan Chunks",
    "Start Transfer",
    "Verify Transfer",
    "Tear Down",
    "Write Report",
]


@pytest.mark.parametrize("pairs", cases([0, 1, 2, 4], [0, 4]))
def test_a_tree_arrives_identical_through_any_number_of_pairs(account: Account, tmp_path: Path, pairs: int) -> None:
    source = make_files(tmp_path / "a b", large_bytes=LARGE if pairs else 6_000_000)
    name = f"pairs-{pairs}"
    request = account.request(source, tmp_path / "out", relays={"pairs": pairs})
    arn = account.start_slowly(request, name) if pairs else account.start(request, name)
    if pairs:
        account.lift_once_joined(name, pairs)
    run = account.wait(arn)
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)
    assert tree(tmp_path / "out" / "a b") == tree(source)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a b"]
    assert run.report["verified"]
    assert run.report["pairs"] == pairs
    history = account.history(run.arn)
    stages = [stage for stage in history if stage in STAGES]
    # The two that look at the ends do so at once.
    assert [stages[0], *sorted(stages[1:3]), *stages[3:]] == STAGES
    for region, role in ((HOME, "source"), (OTHER, "destination")):
        relays = account.launched(name, region)
        assert len(relays) == pairs
        assert {relay["State"]["Name"] for relay in relays} <= {"terminated", "shutting-down"}
        assert {tag["Value"] for relay in relays for tag in relay["Tags"] if tag["Key"] == "cpt:role"} <= {role}


def test_contents_of_a_path_with_trailing_slash_land_in_the_destination_itself(
    account: Account, tmp_path: Path
) -> None:
    source = make_files(tmp_path / "set", large_bytes=1000)
    run = account.run(account.request(f"{source}/", tmp_path / "out", relays={"pairs": 0}, verify="crc64"), "slash")
    assert run.status == "SUCCEEDED"
    assert tree(tmp_path / "out") == tree(source)
    assert (run.report["verified"], run.report["verification"]) == (True, "crc64")
    listed = account.aws.client("s3").get_object(Bucket=BUCKET, Key="transfers/slash/files/part-00000.ndjson")["Body"]
    files = {os.path.join(folder, name) for folder, _, names in os.walk(os.fsencode(source)) for name in names}
    checksums = {os.path.relpath(path, os.fsencode(source)): crc64(path) for path in files if not os.path.islink(path)}
    entries = [json.loads(line) for line in listed.read().splitlines()]
    assert {unquote_to_bytes(entry["path"]): int(entry["crc64"], 16) for entry in entries} == checksums


def crc64(path: bytes) -> int:
    """CRC-64/NVME, a bit at a time."""
    crc = MASK
    with open(path, "rb") as file:
        for byte in file.read():
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc ^ MASK


def test_an_empty_directory_moves(account: Account, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    run = account.run(account.request(tmp_path / "nothing", tmp_path / "out", relays={"pairs": 0}), "nothing")
    assert run.status == "SUCCEEDED"
    assert tree(tmp_path / "out")[b"nothing"][0] == "directory"
    # A person enters what was made for them, and reads that it holds no file.
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o755
    assert "holds no file" in run.report["emptySource"]


def test_a_second_transfer_replaces_files_atomically_and_keeps_strangers(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1000)
    (tmp_path / "out" / "set").mkdir(parents=True)
    (tmp_path / "out" / "set" / "large.bin").write_text("old")
    (tmp_path / "out" / "stranger").write_text("stays")
    run = account.run(account.request(source, tmp_path / "out", relays={"pairs": 0}), "replace")
    assert run.status == "SUCCEEDED"
    assert tree(tmp_path / "out" / "set") == tree(source)
    assert (tmp_path / "out" / "stranger").read_text() == "stays"
