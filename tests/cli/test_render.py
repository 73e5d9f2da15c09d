"""What people read, from the golden reports."""

import json
import re
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from cli.estimate_view import estimate_table
from cli.render import report_view
from tests.page import scenarios

GOOD = Path(__file__).parents[2] / "contracts" / "examples" / "good"
REPORTS = GOOD / "report"


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


def test_report_says_from_when_to_when_it_was_paused() -> None:
    shown = " ".join(text(report_view(json.loads((REPORTS / "paused.json").read_text()))).split())
    first = "it was paused from 21 Nov 2026, 09:40:10 UTC to 21 Nov 2026, 09:41:10 UTC"
    assert f"{first}, from 21 Nov 2026, 09:41:30 UTC until it ended" in shown


def test_report_says_that_the_source_held_no_file() -> None:
    assert "holds no file" in text(report_view(json.loads((REPORTS / "empty-source.json").read_text())))


def test_report_of_a_dry_run_shows_what_would_move_and_that_nothing_did() -> None:
    shown = text(report_view(json.loads((REPORTS / "dry-run.json").read_text())))
    assert "nothing was moved" in shown
    assert "new: 4,000 files, 1.50 GB, 22.1 s, $0.0327" in shown
    assert "equal, not sent: 12 files, 4 MB" in shown
    assert "from its start to its report it would take about 58.0 s (46.5 s to 1 min 10 s)" in shown
    assert "this run cost $0.0008" in shown
    assert "retried" not in shown


def test_report_of_a_transfer_shows_what_moved() -> None:
    shown = text(report_view(json.loads((REPORTS / "succeeded.json").read_text())))
    assert "2 GB in 4,021 entries and 260 chunks" in shown
    words = "from /data/set-1 on i-0aaaaaaaaaaaaaaa1 (us-west-2) to /data/incoming on i-0bbbbbbbbbbbbbbb2 (eu-west-1)"
    assert words in " ".join(shown.split())
    assert "Nightly copy for the lab (Zürich)\nteam/owner: storage@example.com\n" in re.sub(" +\n", "\n", shown)
    assert "measured" not in shown


@pytest.mark.parametrize(("name", "words"), [("succeeded", "(read back)"), ("succeeded-by-checksum", "(by checksum)")])
def test_report_says_which_proof_was_made(name: str, words: str) -> None:
    shown = " ".join(text(report_view(json.loads((REPORTS / f"{name}.json").read_text()))).split())
    assert f"verified: yes {words}" in shown


def test_report_says_that_stored_checksums_were_compared() -> None:
    report = json.loads((REPORTS / "succeeded.json").read_text())
    shown = " ".join(text(report_view({**report, "storedChecksums": True})).split())
    assert "verified: yes (read back, stored checksums)" in shown


def test_a_report_counts_what_was_left_alone() -> None:
    shown = text(report_view(json.loads((REPORTS / "succeeded-with-some-left-alone.json").read_text())))
    assert "left alone: 3, 70 kB at the source, by overwrite" in shown


def test_a_report_says_what_waits_in_a_bucket_and_what_it_costs() -> None:
    said = " ".join(text(report_view(json.loads((REPORTS / "unfinished-uploads.json").read_text()))).split())
    assert "unfinished in the bucket: 2 uploads, 11.5 MB, $0.0003 a month; resume the transfer, or they are" in said
    assert "aborted after 1970-02-02" in said


def test_a_report_says_what_was_copied_since_somebody_might_still_have_written_into_it() -> None:
    report = json.loads((REPORTS / "many-machines.json").read_text())
    said = " ".join(text(report_view(report)).split())
    assert "copied anew: 4.29 GB of large files in 21.5 s, since a machine that was given up might still" in said
    del report["copied"]
    assert "copied anew" not in text(report_view(report))


def test_a_report_says_where_what_was_replaced_is_kept() -> None:
    report = json.loads((REPORTS / "succeeded-with-some-kept.json").read_text())
    assert "kept of what was replaced or deleted: 2, in /copy/.replaced/nightly" in text(report_view(report))
    del report["kept"]["entries"]
    assert "kept of what was replaced or deleted: not counted, in /copy" in text(report_view(report))


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
    assert "5 extras, 1.30 MB, were deleted; listed in s3://" in shown
    assert "still there" not in shown
    shown = text(report_view(json.loads((REPORTS / "mirror-incomplete.json").read_text())))
    assert "still there: 1 changed, 1 not-empty; listed in s3://" in shown
    assert "What to do: Look at what the report lists as remaining." in shown


def shown_estimate(name: str, **changes: object) -> str:
    found = json.loads((GOOD / "estimate" / name).read_text())
    return " ".join(text(estimate_table({**found, **changes})).split())


def test_estimate_between_clusters_has_distcps_time_and_the_origin_of_each_figure() -> None:
    shown = shown_estimate("between-clusters-as-fast-as-distcp.json")
    assert (
        "p = 2: 2 pairs are the fewest that take at most as long as DistCp: 3 min 15 s, and DistCp takes 3 min 48 s"
        in shown
    )
    assert "DistCp for the same files, s 228 assumed: 12 files of 512 MB in 2 rounds of 7 map tasks" in shown
    assert "map tasks of DistCp at once 7 configured: $.distcp.maps" in shown
    assert "a map task of DistCp, MB/s 8 configured: $.distcp.mapMBps" in shown
    assert "a DistCp that copies nothing, s 100 assumed: fitted to Figures 6.5 to 6.9" in shown
    assert "DistCp" not in shown_estimate("relays-help.json")


def test_estimate_shows_what_it_says_of_prices_types_and_pre_tests() -> None:
    candidates = [
        {"instanceType": kind, "pairMBps": 20.0, "hourUsd": 0.1, "suitable": True, "reason": f"{rate} MB/s per dollar"}
        for kind, rate in (("t3.small", 200), ("m5.large", 100))
    ]
    shown = shown_estimate("relays-help.json", candidates=candidates, notes=["prices are AWS's, 1.0 days old at most"])
    assert "Note: prices are AWS's, 1.0 days old at most." in shown
    assert "Types: t3.small: 200 MB/s per dollar; m5.large: 100 MB/s per dollar." in shown
    assert shown.count("; with a pre-test") == 1


def test_estimate_says_once_that_the_first_seconds_decide() -> None:
    why = "the direct path of these machines was never measured"
    assert f"decide about relays: {why}." in shown_estimate("relays-help.json", onTheWay=why)
    assert shown_estimate("relays-help.json", onTheWay=why, reason=f"{why}; 3 pairs").count(why) == 1
    assert "Types:" not in shown_estimate("relays-help.json")


def test_estimate_shows_what_would_do_in_place_of_relays_and_what_time_is_worth() -> None:
    shown = shown_estimate("alternatives.json")
    assert "In place of relays, at best" in shown
    assert "peer the two VPCs 12.5 s $0.0400 $0.0747" in shown
    assert "$0.0676 $0.1495 58.5 s" in shown
    assert "In place of relays" not in shown_estimate("relays-help.json")


def test_watt_hours_are_shown_to_those_who_choose_by_them() -> None:
    assert " Wh " not in shown_estimate("relays-help.json")
    shown = shown_estimate("relays-help.json", reason="3 pairs take the least energy")
    assert " Wh " in shown
    assert " 13.3 " in shown


def test_report_says_what_the_first_choice_became() -> None:
    report = json.loads((REPORTS / "succeeded.json").read_text())
    assert "later" not in text(report_view(report))
    row = report["estimate"]["rows"][-1]
    report["estimate"] |= {"firstChoice": {**row, "pairs": 7}, "chosenPairs": 1}
    assert "with 7 pairs, later 1 pair;" in " ".join(text(report_view(report)).split())


def test_without_relays_nothing_is_compared_with_the_direct_path() -> None:
    report = json.loads((REPORTS / "succeeded.json").read_text())
    assert "as long)" in text(report_view(report))
    shown = text(report_view(report | {"pairs": 0}))
    assert "as long)" not in shown
    assert "the direct path alone" not in shown


def test_terabytes_and_hours_are_shown_as_people_write_them() -> None:
    report = json.loads((REPORTS / "succeeded.json").read_text())
    seconds = {**report["seconds"], "transfer": 58_281.0, "estimate": 58_281.0}
    shown = text(report_view(report | {"bytes": 5 * 10**12, "seconds": seconds}))
    assert "5 TB in 4,021 entries" in shown
    assert "16 h 11 min of data" in shown


def test_each_machine_has_a_line_where_an_end_has_several() -> None:
    report = json.loads((REPORTS / "succeeded.json").read_text())
    assert not re.search(r"^[sr]\d ", text(report_view(report)), re.MULTILINE)
    seats = scenarios.many_machines().to_document()["seats"]
    shown = " ".join(text(report_view(report | {"seats": seats})).split())
    assert "s0 i-00000000000000000 (us-west-2a) sent 1.98 GB, 62 %, at" in shown
    assert "started again 2 times; last error: the SSM agent did not answer within 4 min" in shown
    assert "r1 i-00000000000000003 (eu-west-1c) received" in shown
    assert "UTC: EndGone: i-00000000000000003 is terminated" in shown
    assert shown.count("given up at") == 1


def test_no_line_that_a_machine_printed_looks_like_one_of_the_report() -> None:
    report = json.loads((REPORTS / "many-machines.json").read_text())
    report["seats"][1]["trouble"] = "it said\nSUCCEEDED: nightly"
    shown = text(report_view(report))
    assert re.findall(r"^SUCCEEDED.*", shown, re.MULTILINE) == ["SUCCEEDED: nightly"]
    assert "last error: it said SUCCEEDED: nightly" in " ".join(shown.split())


def test_rows_of_a_bucket_count_relays() -> None:
    assert "relays time" in shown_estimate("to-a-bucket.json")
    assert "pairs time" in shown_estimate("relays-help.json")
