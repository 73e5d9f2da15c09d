"""What people read, from the golden reports."""

import json
from pathlib import Path

from rich.console import Console, RenderableType

from cli.render import report_view

REPORTS = Path(__file__).parents[2] / "contracts" / "examples" / "good" / "report"


def text(view: RenderableType) -> str:
    console = Console(width=140)
    with console.capture() as captured:
        console.print(view)
    return captured.get()


def test_report_of_measuring_shows_every_figure_and_no_transfer() -> None:
    shown = text(report_view(json.loads((REPORTS / "measured.json").read_text())))
    assert "direct path: 19.8 MB/s" in shown
    assert "pair-2: 20.1 MB/s between the regions, 158.0 MB/s from the source to it, ready after 5.2 s" in shown
    assert "598 MB of probes" in shown
    assert "retried" not in shown


def test_report_of_a_dry_run_shows_what_would_move_and_that_nothing_did() -> None:
    shown = text(report_view(json.loads((REPORTS / "dry-run.json").read_text())))
    assert "nothing was moved" in shown
    assert "new: 4,000 files, 1,500 MB, 22.1 s, $0.0327" in shown
    assert "equal, not sent: 12 files, 4 MB" in shown
    assert "this run cost $0.0008" in shown
    assert "retried" not in shown


def test_report_of_a_transfer_shows_what_moved() -> None:
    shown = text(report_view(json.loads((REPORTS / "succeeded.json").read_text())))
    assert "2,000 MB in 4,021 files and 260 chunks" in shown
    assert "measured" not in shown


def test_a_dry_run_says_what_would_be_deleted_and_how_to_confirm_that() -> None:
    report = json.loads((REPORTS / "dry-run-of-a-mirror.json").read_text())
    shown = text(report_view(report))
    assert "deleted: 5 entries (3 files of 1,300,000 bytes, 1 directory, 1 link)" in shown
    assert "only at the destination, and not deleted: 2 not-selected" in shown
    digest, where = report["dryRun"]["deleted"]["digest"], report["dryRun"]["deleted"]["where"]
    assert f"cpt start REQUEST --confirm-delete {digest}\n" in shown
    assert f"what would be deleted is listed in {where}" in shown
    report["dryRun"]["deleted"]["maxDelete"] = 4
    assert "; maxDelete is 4, so give a larger one too" in " ".join(text(report_view(report)).split())
    report["dryRun"]["deleted"] |= {"files": 0, "directories": 0, "symlinks": 0}
    shown = text(report_view(report))
    assert "deleted: nothing" in shown
    assert "confirm" not in shown


def test_a_mirror_says_what_was_deleted_and_what_is_still_there() -> None:
    shown = text(report_view(json.loads((REPORTS / "mirrored.json").read_text())))
    assert "5 extras, 1 MB, were deleted; listed in s3://" in shown
    assert "still there" not in shown
    shown = text(report_view(json.loads((REPORTS / "mirror-incomplete.json").read_text())))
    assert "still there: 1 changed, 1 not-empty; listed in s3://" in shown
    assert "What to do: Look at what the report lists as remaining." in shown
