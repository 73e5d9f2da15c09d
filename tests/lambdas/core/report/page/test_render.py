"""The page as text: nothing is loaded, nothing runs, names stay names. Its looks are judged in tests/page."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lambdas.core.chunks.file_list import FileEntry
from lambdas.core.report.page.render import readable, render
from lambdas.core.report.report import Report
from tests.page import scenarios
from tests.paths import CONTRACTS

GOLDEN = CONTRACTS / "examples" / "good" / "report"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", scenarios.ALL)
def test_page_has_no_scripts_no_styles_of_elements_and_links_only_to_itself(name: str) -> None:
    tags = Tags()
    tags.feed(render(scenarios.ALL[name](), scenarios.files()))
    assert {tag for tag, _ in tags.seen}.isdisjoint({"script", "img", "iframe", "link", "object", "embed", "base"})
    for tag, attributes in tags.seen:
        assert not any(key.startswith("on") or key in ("style", "src") for key in attributes), tag
        assert str(attributes.get("href", "#")).startswith("#")
    anchors = {attributes["href"] for tag, attributes in tags.seen if tag == "a"}
    ids = {f"#{attributes['id']}" for _, attributes in tags.seen if "id" in attributes}
    assert anchors <= ids


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_golden_reports_have_a_page(path: Path) -> None:
    assert "</html>" in render(Report.from_document(json.loads(path.read_text())))


def test_failure_says_what_happened_and_what_to_do() -> None:
    page = render(scenarios.failed())
    assert "Failed (ChunksFailed) after 664 MB in 83 chunks had arrived." in page
    assert "No space left on device" in page
    assert "What to do:</strong> Correct what the failed chunks name" in page


def test_page_says_from_when_to_when_it_was_paused() -> None:
    page = render(Report.from_document(json.loads((GOLDEN / "paused.json").read_text())))
    first = "from 21 Nov 2026, 09:40:10 UTC to 21 Nov 2026, 09:41:10 UTC (1 min 00 s)"
    assert f"Paused by a person: {first}, from 21 Nov 2026, 09:41:30 UTC until it ended." in page
    assert "Paused by" not in render(scenarios.succeeded())


def test_page_names_each_machine_where_an_end_has_several() -> None:
    page = render(scenarios.many_machines())
    section = page.partition('<section class="long" aria-labelledby="machines">')[2].partition("</section>")[0]
    rows = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in re.findall(r"<tr>(.*?)</tr>", section)[1:]]
    assert [row[:22] for row in rows] == [f"{seat} i-{at:017x}" for at, seat in enumerate(("s0", "s1", "r0", "r1"))]
    assert "c6in.large us-west-2a" in rows[0]
    assert "62.0 %" in rows[0]
    assert rows[0].endswith("– –")
    assert rows[1].endswith("the SSM agent did not answer within 4 min; started again 2 times –")
    assert rows[3].endswith("UTC: EndGone: i-00000000000000003 is terminated")
    assert 'href="#machines"' in page
    assert "Copied anew: 400 MB of large files in 2.5 s, since a machine that was given up might still have" in page


def test_page_of_one_machine_at_each_end_has_no_table_of_machines() -> None:
    assert "machines" not in re.findall(r'id="([^"]*)"', render(scenarios.succeeded()))


def test_long_list_of_files_says_what_is_left_out_and_where_it_is() -> None:
    page = render(scenarios.succeeded(), scenarios.files(400, total=1_000_000))
    assert "The first 200 of 1,000,000 files; 999,800 are left out, and all are listed in" in page
    assert "s3://cpt-control-000000000000-us-west-2/transfers/nightly-backup/files/" in page


def test_checksums_of_what_is_stored_are_told_of() -> None:
    words = "so do the checksums of what HDFS has stored"
    assert words not in render(scenarios.succeeded())
    assert words in render(scenarios.succeeded().model_copy(update={"stored_checksums": True}))


def test_checksums_are_called_so_and_not_digests() -> None:
    report = scenarios.succeeded().model_copy(update={"verification": "crc64"})
    files = scenarios.files(3, total=3)
    entries = [FileEntry(path=one.path, bytes=one.bytes, crc64="ae8b14860a799888") for one in files.shown]
    page = render(report, replace(files, shown=entries))
    assert "every file’s checksum agrees at both ends" in page
    assert "not that nobody made content to fit" in page
    assert page.count("ae8b14860a799888") == 3
    assert "b3sum" not in page


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("plain/name.txt", "plain/name.txt"),
        ("caf%C3%A9", "café"),
        ("%3Cscript%3E", "<script>"),
        ("%FF%FE", "%FF%FE"),
        ("line%0Abreak", "line%0Abreak"),
        ("gpj.exe%E2%80%AEimages.jpg", "gpj.exe%E2%80%AEimages.jpg"),
    ],
)
def test_paths_are_readable_where_that_deceives_nobody(path: str, shown: str) -> None:
    assert readable(path) == shown


def test_page_of_a_transfer_between_clusters_has_distcps_time_and_the_origin_of_each_figure() -> None:
    report = json.loads((GOLDEN / "succeeded.json").read_text())
    estimate = json.loads((GOLDEN.parent / "estimate" / "between-clusters-as-fast-as-distcp.json").read_text())
    page = render(Report.from_document({**report, "estimate": estimate}), scenarios.files())
    cells = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL)]
    figures = [cell for cell in cells if "DistCp" in cell]
    assert len(figures) == 4
    assert "DistCp for the same files 228 s assumed: 12 files of 512 MB in 2 rounds of 7 map tasks" in figures[0]
    assert "configured: $.distcp.maps" in figures[1]
    assert "configured: $.distcp.mapMBps" in figures[2]
    assert "assumed: fitted to Figures 6.5 to 6.9" in figures[3]
