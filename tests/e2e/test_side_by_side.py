"""Transfers between the same two machines at the same time."""

from pathlib import Path

from tests.chaos.extent import only_full
from tests.e2e.account import LARGE, Account
from tests.e2e.files import make_files, tree

NAMES = ("left", "middle", "right")


@only_full
def test_transfers_to_paths_of_one_machine_arrive_side_by_side(account: Account, tmp_path: Path) -> None:
    sources = {name: make_files(tmp_path / name, large_bytes=LARGE) for name in NAMES}
    arns = {
        name: account.start_slowly(account.request(source, tmp_path / "out" / name, relays={"pairs": 1}), name)
        for name, source in sources.items()
    }
    account.cloud.wait_for(lambda: all(account.progress(name).get("bytes", 0) > 0 for name in NAMES), 90)
    for name in NAMES:
        account.limit(name, None)
    runs = {name: account.wait(arn) for name, arn in arns.items()}
    assert {name: (run.status, run.cause) for name, run in runs.items()} == dict.fromkeys(NAMES, ("SUCCEEDED", None))
    for name, source in sources.items():
        assert tree(tmp_path / "out" / name / source.name) == tree(source)
        assert account.left(name) == {}
    records = [account.record(name, "transfer") or {} for name in NAMES]
    assert len({record["receiverPort"] for record in records}) == len(NAMES)
