"""Nothing is moved unless what would be removed is what was confirmed."""

from typing import Any

import pytest

from lambdas.core.errors import DeletionRefused
from lambdas.core.intake.extras import check_extras, check_source
from lambdas.core.request.deletion import ExtrasSurvey, Mostly
from lambdas.core.survey.survey import SourceSurvey
from tests.lambdas.builders import request, survey, transfer

DIGEST, OTHER = "5c" * 32, "6d" * 32
WHERE = "s3://bucket/ends/key/extras/1/"


def extras(files: int = 3, directories: int = 1, in_the_way: int | None = None) -> ExtrasSurvey:
    return ExtrasSurvey(
        schema_version=1,
        side="extras",
        daemon_version="0.1.0",
        files=files,
        directories=directories,
        symlinks=0,
        bytes=files * 100,
        parts=1 if files or directories else 0,
        digest=DIGEST,
        directory="1:2",
        in_the_way=in_the_way,
    )


def source(**changes: Any) -> SourceSurvey:
    return survey().source.model_copy(update={"directories": 1, **changes})


def refusal(found: ExtrasSurvey, listed: SourceSurvey | None = None, **keys: Any) -> str:
    with pytest.raises(DeletionRefused) as error:
        check_extras(transfer(delete=True, **keys), listed or source(), found, WHERE)
    return str(error.value)


@pytest.mark.parametrize("confirmed", [DIGEST, "without-dry-run"])
def test_what_is_confirmed_may_go(confirmed: str) -> None:
    check_extras(transfer(delete=True, confirmDelete=confirmed, maxDelete=4), source(), extras(), WHERE)


def test_other_extras_than_those_of_the_dry_run_are_refused_with_both_digests_and_the_counts() -> None:
    said = refusal(extras(), confirmDelete=OTHER)
    for word in (
        "$.confirmDelete",
        OTHER,
        DIGEST,
        "4 entries (3 files of 300 bytes, 1 directory, 0 links)",
        "/restore",
    ):
        assert word in said
    assert "start a dry run" in said
    assert WHERE in said


@pytest.mark.parametrize("confirmed", [DIGEST, "without-dry-run"])
def test_more_than_the_most_are_refused_whatever_confirms_them(confirmed: str) -> None:
    said = refusal(extras(), confirmDelete=confirmed, maxDelete=3)
    assert "$.maxDelete: 3 is less than the 4 that would be removed" in said
    assert "$.confirmDelete" not in said


def test_a_source_without_a_file_clears_no_destination_that_nobody_has_looked_at() -> None:
    """As where its disk is not mounted."""
    empty = source(files=0, bytes=0)
    assert "not mounted" in refusal(extras(), empty, confirmDelete="without-dry-run")
    check_extras(transfer(delete=True, confirmDelete=DIGEST), empty, extras(), WHERE)


MOSTLY = Mostly(path="media%20films", entries=900, of_entries=901, bytes=90_000, of_bytes=90_000)


def test_more_than_half_of_one_path_goes_from_no_destination_that_nobody_has_looked_at() -> None:
    found = extras().model_copy(update={"mostly": [MOSTLY]})
    said = refusal(found, confirmDelete="without-dry-run")
    assert "900 of 901 entries (90,000 of 90,000 bytes) of /restore/media films" in said
    assert "confirm the digest of a dry run" in said
    check_extras(transfer(delete=True, confirmDelete=DIGEST), source(), found, WHERE)


def test_a_path_that_brings_nothing_is_named_however_little_would_go() -> None:
    empty = MOSTLY.model_copy(update={"entries": 1, "bytes": 100, "empty": True})
    said = refusal(extras().model_copy(update={"mostly": [empty]}), confirmDelete="without-dry-run")
    assert "1 of 901 entries (100 of 90,000 bytes) of /restore/media films, of which the source has no file" in said


def test_where_there_are_none_nothing_has_to_be_confirmed() -> None:
    check_extras(transfer(delete=True, confirmDelete=OTHER, maxDelete=0), source(), extras(0, 0), WHERE)


def test_a_source_that_is_a_file_cannot_be_mirrored() -> None:
    only_files = source(directories=0)
    with pytest.raises(DeletionRefused, match=r"\$\.delete: true, and none of \$\.source\.paths \(/data/set\) brings"):
        check_source(transfer(delete=True, dryRun=True), only_files)
    check_source(transfer(delete=True, dryRun=True), source())
    contents = {**request()["source"], "paths": ["/data/set/"]}
    check_source(transfer(delete=True, dryRun=True, source=contents), only_files)
