"""The live page: what it shows, and that names are data."""

import json
import re
from collections.abc import Iterator
from html import unescape

from lambdas.core.watch.overview import Execution, Running
from lambdas.core.watch.page import Acts, message, overview_page, transfer_page, waves_page
from lambdas.core.watch.transfer_state import Lane, TransferState
from lambdas.core.waves.waves import Waves
from tests.paths import CONTRACTS

ACTS = Acts(
    show="show", start="start", decide="decide", pause="pause", unpause="unpause", limit="limit", cancel="cancel"
)
MOVING = TransferState(
    transfer_id="nightly",
    status="ACTIVE",
    stage="Start Transfer",
    moved=("i-1:/data", "i-2:/copy"),
    total_bytes=600_000_000,
    delivered_bytes=300_000_000,
    megabytes_per_second=30.0,
    spent_usd=0.0123,
    paths=("direct", "pair-1"),
    lanes=(Lane("pair-1", 0, 20.0), Lane("direct", 0, 5.0), Lane("direct", 1, 5.0)),
)
WAITING = TransferState(
    transfer_id="large",
    status="ACTIVE",
    stage="Await Approval",
    awaits_approval=True,
    estimate={
        "chosenPairs": 3,
        "rows": [
            {"pairs": 0, "seconds": 30, "costUsd": 0.02, "limit": "the direct path"},
            {"pairs": 3, "seconds": 16, "costUsd": 0.05, "limit": "the source machine"},
        ],
    },
)
WAVES = Waves.from_document(json.loads((CONTRACTS / "examples/good/waves/cut-over-now.json").read_text()))
EVIL = """</cwdb-action><script>alert("1")</script>'\x1b[2J"""


def clicks(page: str) -> Iterator[tuple[str, dict[str, object], str]]:
    """Endpoint, payload and what is asked before, of each act, as a browser reads them."""
    for attributes, body in re.findall(r"<cwdb-action ([^>]*)>(.*?)</cwdb-action>", page, re.DOTALL):
        named = {key: unescape(value) for key, value in re.findall(r'([a-z]+)="([^"]*)"', attributes)}
        yield named["endpoint"], json.loads(unescape(body)), named.get("confirmation", "")


def test_a_transfer_that_moves_shows_progress_paths_limit_and_cancel() -> None:
    page = transfer_page(MOVING, ACTS, "light")
    for words in ("300 MB of 600 MB", "30.0 MB/s", "10.0 s left", "From i-1:/data to i-2:/copy", "pair-1"):
        assert words in page
    made = list(clicks(page))
    assert ("limit", {"transferId": "nightly"}, "") in made
    assert ("cancel", {"transferId": "nightly"}, "Stop nightly? What has arrived stays.") in made
    assert "decide" not in {endpoint for endpoint, _, _ in made}


def test_a_transfer_that_waits_has_an_answer_for_each_row_that_asks_before() -> None:
    made = [
        (payload, ask)
        for endpoint, payload, ask in clicks(transfer_page(WAITING, ACTS, "dark"))
        if endpoint == "decide"
    ]
    assert [payload.get("pairs") for payload, _ in made] == [0, 3, None]
    assert made[1][1] == "Approve large with 3 pairs for about $0.0500?"
    assert made[2][0]["decision"] == "reject"


def test_one_that_is_over_can_be_looked_at_alone() -> None:
    over = TransferState(transfer_id="nightly", status="SUCCEEDED", total_bytes=1, delivered_bytes=1)
    assert {endpoint for endpoint, _, _ in clicks(transfer_page(over, ACTS, "light"))} == {"show"}


def test_all_transfers_lead_to_each_of_them() -> None:
    ended = [Execution("old", "SUCCEEDED", 1000.0, 1016.0), Execution("bad", "FAILED", 900.0, 901.0)]
    page = overview_page(Running([MOVING, WAITING], 70), ended, 2000.0, ACTS, "light")
    assert "70 transfers run; the first 2 are shown" in page
    assert "waits for approval" in page
    shown = [payload.get("transferId") for _, payload, _ in clicks(page)]
    assert shown == [None, "nightly", "large", "old", "bad", None]


def test_the_form_starts_with_the_token_of_its_page_after_a_question() -> None:
    page = overview_page(Running([], 0), [], 2000.0, ACTS, "light", token="0123456789abcdef")
    assert ("start", {"token": "0123456789abcdef"}, "Start a transfer of this request?") in list(clicks(page))
    assert '<textarea id="cpt-request" name="request"' in page


def test_each_problem_of_a_refusal_is_a_line() -> None:
    assert message("InvalidRequest: $.a: 1\n$.b: 2", "light", error=True).count('<p class="bad">') == 2


def test_waves_of_a_label_show_what_to_do_now_and_each_step_with_its_forecast() -> None:
    page = waves_page(WAVES, ACTS, "light")
    for words in (
        "cut over now: 12 files (5 MB)",
        "12 files, 5 MB left",
        "25.4 s",
        "22.9 s to 27.9 s",
        "$0.0444 in all",
    ):
        assert words in page
    asked = [payload for _, payload, _ in clicks(page)]
    assert asked[:2] == [{}, {"label": "archive"}]
    assert {"transferId": "archive-wave-1"} in asked
    assert page.index("archive-look-2") < page.index("archive-look-1"), "the latest first"


def test_waves_that_were_stopped_say_so() -> None:
    over = WAVES.model_copy(update={"status": "STOPPED", "said": "the execution of the waves ended as ABORTED"})
    assert '<span class="bad">stopped</span>' in waves_page(over, ACTS, "light")
    assert '<span class="bad">stopped</span>' in overview_page(Running([], 0), [], 2000.0, ACTS, "light", [over])


def test_a_label_leads_to_its_waves_from_all_transfers_and_from_one() -> None:
    labelled = TransferState(**{**vars(MOVING), "label": "archive"})
    for page in (
        overview_page(Running([], 0), [], 2000.0, ACTS, "light", [WAVES]),
        transfer_page(labelled, ACTS, "light", WAVES),
    ):
        assert {"label": "archive"} in [payload for _, payload, _ in clicks(page)]
    assert {"label": "archive"} not in [payload for _, payload, _ in clicks(transfer_page(labelled, ACTS, "light"))]


def test_a_thousand_transfers_make_less_than_100_kb() -> None:
    states = [TransferState(**{**vars(MOVING), "transfer_id": f"t{number:079}"}) for number in range(50)]
    ended = [Execution(f"e{number:079}", "TIMED_OUT", 1000.0, 99_000.0) for number in range(60)]
    labels = [WAVES.model_copy(update={"label": f"{number:0200}", "said": "x" * 900}) for number in range(10)]
    assert len(overview_page(Running(states, 1000), ended, 2000.0, ACTS, "light", labels).encode()) < 100_000
    many = WAVES.model_copy(update={"steps": [WAVES.steps[0].model_copy(update={"name": "n" * 80})] * 161})
    assert len(waves_page(many, ACTS, "light").encode()) < 100_000


def test_names_are_data() -> None:
    state = TransferState(**{**vars(MOVING), "label": EVIL, "moved": (EVIL, EVIL)})
    waves = WAVES.model_copy(update={"label": EVIL, "said": EVIL})
    for page in (
        transfer_page(state, ACTS, "light", waves),
        waves_page(waves, ACTS, "light"),
        overview_page(Running([], 0), [], 3.0, ACTS, "light", [waves]),
        overview_page(Running([state], 1), [Execution(EVIL, "FAILED", 1.0, 2.0)], 3.0, ACTS, "light"),
        message(EVIL, "light", error=True),
    ):
        assert "<script" not in page
        names = {step.name for step in WAVES.steps} | {None, "nightly", EVIL}
        assert all(payload.get("transferId") in names for _, payload, _ in clicks(page))
    assert "\x1b" not in message(EVIL, "light")


def test_no_page_has_what_cloudwatch_takes_away() -> None:
    for page in (
        transfer_page(MOVING, ACTS, "light"),
        transfer_page(WAITING, ACTS, "dark"),
        waves_page(WAVES, ACTS, "dark"),
    ):
        assert not re.search(r"<(script|iframe|use)\b|\son[a-z]+=", page)
