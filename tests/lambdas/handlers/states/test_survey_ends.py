from collections.abc import Callable
from typing import Any

import pytest

from lambdas.adapters.records import CommandResult
from lambdas.core.chunks.chunk import Chunk
from lambdas.core.chunks.listing import Announcement, OpenSurvey
from lambdas.core.chunks.transfer_plan import PlanListing
from lambdas.core.errors import (
    CommandFailed,
    CptError,
    DaemonVersionSkew,
    DeletionRefused,
    DestinationBusy,
    DestinationTaken,
    DestinationTooSmall,
    EmptySource,
    SurveyProblem,
)
from lambdas.core.intake.destination_lock import Busy, ways_of
from lambdas.core.record import transfer_life
from lambdas.core.seats.commands import Command
from lambdas.core.survey.survey import ComparisonSurvey, LeftAlone, Same, Survey
from lambdas.handlers.states.survey_ends import SurveyInput, survey_ends
from tests.lambdas.builders import ENDS, IRELAND, SOURCE_ID, WEST, announcement, chunk, plan, request, survey, transfer
from tests.lambdas.cloud import Cloud
from tests.lambdas.core.intake.test_extras import DIGEST, extras
from tests.lambdas.machines import failed, printed


def run(source: dict[str, Any] | None = None, destination: dict[str, Any] | None = None) -> Survey:
    cloud = Cloud()
    good = survey()
    cloud.commands[WEST].scripts["scan"] = lambda _: printed({**good.source.to_document(), **(source or {})})
    cloud.commands[IRELAND].scripts["scan"] = lambda _: printed(
        {**good.destination.to_document(), **(destination or {})}
    )
    found = survey_ends(SurveyInput(transfer=transfer()), cloud.world)
    assert isinstance(found, Survey)
    return found


def test_both_surveys_come_back() -> None:
    assert run() == survey()


def surveyed_empty(source: dict[str, Any], **keys: Any) -> str | None:
    """What is noted of a source without a file but for `source`."""
    cloud, good, asked = Cloud(), survey(), transfer(**keys)
    cloud.transfers.create(asked)
    listed = {**good.source.to_document(), "files": 0, "symlinks": 0, "bytes": 0, **source}
    cloud.commands[WEST].scripts["scan"] = lambda _: printed(listed)
    cloud.commands[IRELAND].scripts["scan"] = lambda _: printed(good.destination.to_document())
    survey_ends(SurveyInput(transfer=asked), cloud.world)
    record = cloud.transfers.get(asked.transfer_id)
    assert record is not None
    return record.empty_source


def test_a_source_without_a_file_is_said_in_words() -> None:
    assert surveyed_empty({"files": 1}) is None
    assert surveyed_empty({"symlinks": 1}) is None
    assert surveyed_empty({}) == (
        f"$.source.paths: '/data/set' on {SOURCE_ID} holds no file; look whether its disk is mounted"
    )


def test_a_selection_that_leaves_no_file_is_said_with_its_reasons() -> None:
    assert surveyed_empty({"unselected": {"too-small": 3, "excluded": 12}}) == (
        f"no file of $.source.paths '/data/set' on {SOURCE_ID} is selected: 12 excluded, 3 too-small; look at $.select"
    )
    told = surveyed_empty({"unselected": {"link-outside": 2}}, links="follow")
    assert str(told).endswith("is selected: 2 link-outside; look at $.select and $.links")
    told = surveyed_empty({}, select={"pathsFrom": "/data/list"})
    assert str(told).startswith("$.select.pathsFrom: '/data/list' names no file of '/data/set'")


def test_a_source_without_a_file_ends_the_survey_where_the_request_says_so() -> None:
    assert surveyed_empty({"files": 1}, emptySource="fail") is None
    with pytest.raises(EmptySource, match=r"holds no file.*mounted, or leave \$\.emptySource out"):
        surveyed_empty({}, emptySource="fail")


def problem(path: str, reason: str, count: int = 1) -> dict[str, Any]:
    return {"problems": [{"path": path, "reason": reason}], "problemCount": count}


@pytest.mark.parametrize(
    ("source", "destination", "error", "words"),
    [
        (
            problem("/no%20where", "No such file or directory"),
            None,
            SurveyProblem,
            ["'/no%20where'", "No such file", "correct"],
        ),
        (problem("/s", "Permission denied", 30), None, SurveyProblem, ["$.source.paths", "let root read", "29 more"]),
        (None, problem("/restore", "Not a directory"), SurveyProblem, ["$.destination.path", "name a directory"]),
        (None, problem("/restore", "odd"), SurveyProblem, ["odd; repair it"]),
        (
            problem("/s/now", 'is a symbolic link, and $.links is "follow"; it leads to nothing: make what it should'),
            None,
            SurveyProblem,
            ["'/s/now'", "make what it should; or leave this path out"],
        ),
        ({"bytes": 10**13}, None, DestinationTooSmall, ["1000000000000 bytes free", "10000000000000"]),
        ({"files": 2 * 10**6}, None, DestinationTooSmall, ["1000000 inodes", "2000000"]),
        ({"daemonVersion": "0.2.0"}, None, DaemonVersionSkew, ["0.2.0", "0.1.0", "deploy"]),
    ],
)
def test_what_stands_in_the_way_is_named_with_a_remedy(
    source: dict[str, Any] | None, destination: dict[str, Any] | None, error: type[CptError], words: list[str]
) -> None:
    with pytest.raises(error) as raised:
        run(source, destination)
    for word in words:
        assert word in str(raised.value)


def test_command_that_fails_shows_the_tail_of_its_output() -> None:
    cloud = Cloud()
    cloud.commands[WEST].scripts["scan"] = lambda _: failed("cpt: cannot read s3://assets/d")
    with pytest.raises(
        CommandFailed, match=r"scan on i-0aaaaaaaaaaaaaaa1 \(us-west-2\) ended with Failed: cpt: cannot read"
    ):
        survey_ends(SurveyInput(transfer=transfer()), cloud.world)


@pytest.mark.parametrize(("when_busy", "error"), [("refuse", DestinationBusy), ("wait", DestinationTaken)])
def test_destination_under_another_name_is_refused_or_waited_for(when_busy: str, error: type[CptError]) -> None:
    cloud = Cloud()
    asked = transfer(whenBusy=when_busy)
    good = survey(3)
    scans: list[str] = []

    def scan(side: str) -> Callable[[Command | None], CommandResult]:
        def script(_: Command | None) -> CommandResult:
            scans.append(side)
            return printed((good.source if side == "source" else good.destination).to_document())

        return script

    cloud.commands[WEST].scripts["scan"] = scan("source")
    cloud.commands[IRELAND].scripts["scan"] = scan("destination")
    cloud.transfers.create(asked)
    machine = asked.at_destination.instance_id
    cloud.locks.acquire(machine, "/other-name", "holder", ways_of(good.destination))
    cloud.locks.acquire(machine, asked.request.destination.where, asked.transfer_id)
    with pytest.raises(error, match="overlaps with what transfer 'holder' writes"):
        survey_ends(SurveyInput(transfer=asked), cloud.world)
    if when_busy == "wait":
        assert scans == ["destination"], "the source is not listed again and again"
    cloud.locks.release(machine, "holder")
    assert isinstance(survey_ends(SurveyInput(transfer=asked), cloud.world), Survey)
    assert cloud.locks.acquire(machine, "/third-name", "late", ways_of(good.destination)) == Busy(asked.transfer_id)


COMPARISON = ComparisonSurvey(
    schema_version=1,
    side="comparison",
    daemon_version="0.1.0",
    files=1,
    directories=2,
    symlinks=0,
    bytes=7,
    largest_file_bytes=7,
    parts=1,
    same_files=2,
    same_bytes=10**9 - 7,
    new_files=1,
    new_bytes=7,
)


def compared(comparison: ComparisonSurvey = COMPARISON, **request: Any) -> tuple[Cloud, Survey]:
    """A destination that is not empty, and has room for what is not there yet and for no more."""
    cloud = Cloud()
    cloud.transfers.create(transfer(**request))
    good = survey(3)
    destination = good.destination.model_copy(update={"occupied": True, "free_bytes": 7})

    def scan(command: Command | None) -> CommandResult:
        compares = command is not None and command["side"] == "comparison"
        return printed((comparison if compares else destination).to_document())

    cloud.commands[WEST].scripts["scan"] = lambda _: printed(good.source.to_document())
    cloud.commands[IRELAND].scripts["scan"] = scan
    found = survey_ends(SurveyInput(transfer=transfer(**request)), cloud.world)
    assert isinstance(found, Survey)
    return cloud, found


def test_a_destination_that_is_not_empty_is_compared_with_the_listing() -> None:
    cloud, found = compared()
    assert found.to_send == COMPARISON
    assert (found.folder, found.goes_on) == ("changed/1/", False)
    asked = [command for _, _, command in cloud.commands[IRELAND].sent if command and command["side"] == "comparison"]
    assert [(command["end"]["path"], command["parts"]) for command in asked] == [("/restore", 3)]
    record = cloud.transfers.get("first")
    assert record is not None
    assert record.same == Same(files=2, bytes=10**9 - 7)


@pytest.mark.parametrize("left", [None, LeftAlone(entries=3, bytes=5)])
def test_what_is_left_alone_is_noted_for_the_report(left: LeftAlone | None) -> None:
    update = {"left_alone_entries": left.entries, "left_alone_bytes": left.bytes} if left else {}
    record = compared(COMPARISON.model_copy(update=update), overwrite="never")[0].transfers.get("first")
    assert record is not None
    assert record.left_alone == left


def gone_on(*chunks: Chunk, digest: str = "ab" * 32, before: str = "digest", **request: Any) -> Survey:
    """The second run of a transfer; these are the chunks of its plan, one large file of 400 bytes in four parts.

    `before`: how the first one was verified.
    """
    cloud = Cloud()
    cloud.transfers.create(transfer(verify=before))
    listing = PlanListing(parts=1, digest=digest, planned_folder="listing/", planned_parts=1)
    planned = plan(chunks=4).model_copy(update={"listing": listing})
    cloud.transfers.change(transfer(), transfer_life.note(plan=planned))
    cloud.transfers.change(transfer(), transfer_life.close("FAILED"))
    cloud.objects.put(f"{ENDS}plan.json", b"{}")
    cloud.chunks.put_all(chunks)
    again = transfer(arn="arn:aws:states:us-west-2:000000000000:execution:cpt-transfer:second", **request).model_copy(
        update={"run": 2}
    )
    cloud.transfers.resume(again)
    good = survey(1)
    changed = {"files": 1, "bytes": 400, "directories": 0, "symlinks": 0, "same_files": 0, "same_bytes": 0}
    comparison = COMPARISON.model_copy(update=changed)

    def scan(command: Command | None) -> CommandResult:
        compares = command is not None and command["side"] == "comparison"
        return printed((comparison if compares else good.destination).to_document())

    cloud.commands[WEST].scripts["scan"] = lambda _: printed(good.source.to_document())
    cloud.commands[IRELAND].scripts["scan"] = scan
    found = survey_ends(SurveyInput(transfer=again), cloud.world)
    assert isinstance(found, Survey)
    return found


PARTS = [chunk(n, files=int(n == 3), state="DELIVERED" if n < 3 else "PENDING") for n in range(4)]


def test_an_unfulfilled_plan_goes_on_where_source_and_destination_are_as_it_left_them() -> None:
    found = gone_on(*PARTS)
    assert found.goes_on
    assert found.to_send.bytes == 100


@pytest.mark.parametrize(
    "found",
    [
        lambda: gone_on(*PARTS, digest="cd" * 32),  # the source has changed
        lambda: gone_on(*PARTS[:3], PARTS[3].model_copy(update={"state": "DELIVERED"})),  # the file was removed
        lambda: gone_on(*PARTS[:3], PARTS[3].model_copy(update={"state": "FAILED"})),
        lambda: gone_on(*PARTS, chunkSizeMiB=8),  # the plan has 1 MiB
        # Of its parts the ends have checksums, or would have, and these do not tell content.
        lambda: gone_on(*PARTS, before="crc64"),
        lambda: gone_on(*PARTS, verify="crc64"),
        lambda: gone_on(*PARTS, before="crc64", verify="crc64"),
    ],
)
def test_a_plan_that_does_not_fit_any_more_is_made_anew(found: Callable[[], Survey]) -> None:
    assert not found().goes_on
    assert found().to_send.bytes in (400, 10**9)


def test_by_digest_the_source_digests_first() -> None:
    cloud, found = compared(compare="digest")
    assert found.to_send == COMPARISON
    sides = [[command["side"] for _, _, command in cloud.commands[r].sent if command] for r in (WEST, IRELAND)]
    assert sides == [["source", "digests"], ["destination", "comparison"]]
    assert cloud.commands[IRELAND].sent[-1][2]["compare"] == "digest"  # type: ignore[index]


CONTENTS = {**request()["source"], "paths": ["/data/set/"]}


def mirrored(**keys: Any) -> tuple[Cloud, Survey]:
    """A destination with four extras."""
    cloud, good = Cloud(), survey(3)
    asked = transfer(delete=True, source=CONTENTS, **keys)
    cloud.transfers.create(asked)
    there = good.destination.model_copy(update={"occupied": True})
    answers = {"comparison": COMPARISON, "extras": extras()}
    cloud.commands[WEST].scripts["scan"] = lambda _: printed(good.source.to_document())
    cloud.commands[IRELAND].scripts["scan"] = lambda command: printed(
        answers.get((command or {})["side"], there).to_document()
    )
    found = survey_ends(SurveyInput(transfer=asked), cloud.world)
    assert isinstance(found, Survey)
    return cloud, found


@pytest.mark.parametrize("confirmed", [DIGEST, "without-dry-run"])
def test_extras_are_looked_for_last_and_handed_on_where_they_are_confirmed(confirmed: str) -> None:
    cloud, found = mirrored(confirmDelete=confirmed)
    assert found.extras == extras()
    sides = [command["side"] for _, _, command in cloud.commands[IRELAND].sent if command]
    assert sides == ["destination", "comparison", "extras"]


def test_extras_that_are_not_confirmed_end_the_survey_and_a_dry_run_only_tells_them() -> None:
    with pytest.raises(DeletionRefused, match=r"(?s)confirmDelete.*maxDelete: 1 is less than the 4.*extras/1/"):
        mirrored(confirmDelete="ab" * 32, maxDelete=1)
    assert mirrored(dryRun=True, maxDelete=1)[1].extras == extras()


def test_extras_are_not_looked_for_where_nothing_is_or_nothing_may_go() -> None:
    assert "extras" not in [command["side"] for _, _, command in compared()[0].commands[IRELAND].sent if command]
    cloud, good = Cloud(), survey(3)
    asked = transfer(delete=True, confirmDelete=DIGEST, source=CONTENTS)
    cloud.transfers.create(asked)
    cloud.commands[WEST].scripts["scan"] = lambda _: printed(good.source.to_document())
    cloud.commands[IRELAND].scripts["scan"] = lambda _: printed(good.destination.to_document())
    found = survey_ends(SurveyInput(transfer=asked), cloud.world)
    assert isinstance(found, Survey)
    assert (found.extras, len(cloud.commands[IRELAND].sent)) == (None, 1)


def listing_goes_on(
    listed: Announcement, destination: dict[str, Any] | None = None, **request: Any
) -> tuple[Cloud, Survey | OpenSurvey]:
    """The source's scan ends after ten seconds; until then it has announced `listed`."""
    cloud, accepted, good = Cloud(), transfer(**request), survey(3)
    cloud.transfers.create(accepted)

    def scan(command: Command | None) -> None:
        assert command is not None
        if "announce" in command:
            cloud.objects.put(f"{ENDS}{command['announce']}", listed.to_json().encode())

    cloud.commands[WEST].scripts["scan"] = scan
    cloud.clock.at(10.0, lambda: cloud.commands[WEST].end("command-1-us-west-2", printed(good.source.to_document())))
    there = {**good.destination.to_document(), **(destination or {})}
    compares = {"comparison": COMPARISON.to_document()}
    cloud.commands[IRELAND].scripts["scan"] = lambda command: printed(compares.get((command or {})["side"], there))
    return cloud, survey_ends(SurveyInput(transfer=accepted), cloud.world)


def test_a_listing_that_takes_long_is_left_to_go_on() -> None:
    cloud, found = listing_goes_on(announcement(2))
    assert isinstance(found, OpenSurvey)
    assert (found.command_id, found.listed, found.destination) == (
        "command-1-us-west-2",
        announcement(2),
        survey().destination,
    )
    assert cloud.clock.time < 1003


@pytest.mark.parametrize(
    ("listed", "destination", "request_"),
    [
        (announcement(2, complete=True), None, {}),
        (announcement(2, problem_count=1), None, {}),
        (announcement(2, daemon_version="0.2.0"), None, {}),
        (announcement(2), {"occupied": True}, {}),
        (announcement(2), None, {"objective": {"maxCostUsd": 1.0}}),
        (announcement(2), None, {"delete": True, "confirmDelete": "without-dry-run", "source": CONTENTS}),
    ],
)
def test_it_is_waited_for_where_the_whole_of_it_is_needed(
    listed: Announcement, destination: dict[str, Any] | None, request_: dict[str, Any]
) -> None:
    cloud, found = listing_goes_on(listed, destination, **request_)
    assert isinstance(found, Survey)
    assert cloud.clock.time >= 1010
