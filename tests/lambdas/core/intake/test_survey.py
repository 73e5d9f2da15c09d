"""What is to be sent has room by what it takes, not by what it says."""

import pytest

from lambdas.core.errors import DestinationTooSmall, SurveyProblem
from lambdas.core.intake.survey import check, check_room, empty_source, has_room
from lambdas.core.survey.survey import SurveyProblemEntry
from tests.lambdas.builders import DESTINATION_ID, SOURCE_ID, survey, transfer
from tests.lambdas.hdfs import between_clusters

FREE = 10**12


def test_holes_that_are_kept_and_further_names_need_no_room() -> None:
    thin = survey().source.model_copy(update={"bytes": 3 * FREE, "stored_bytes": 10**6, "files": 5 * 10**6})
    names = thin.model_copy(update={"further_names": 5 * 10**6 - 3})
    destination = survey().destination.model_copy(update={"free_bytes": FREE, "free_inodes": 10**6})
    check_room(transfer(), names, names, destination)
    assert has_room(names, destination)
    with pytest.raises(DestinationTooSmall, match="inodes"):
        check_room(transfer(), thin, thin, destination)
    whole = names.model_copy(update={"stored_bytes": None})
    with pytest.raises(DestinationTooSmall, match=f"needs {3 * FREE}"):
        check_room(transfer(), whole, whole, destination)


def test_a_quota_that_does_not_hold_what_was_listed_is_named_with_its_directory() -> None:
    found = survey()
    source = found.source.model_copy(update={"bytes": 800, "files": 7, "directories": 0, "symlinks": 0})
    update = {"free_bytes": 800, "bytes_quota_of": "/a%20b", "free_inodes": 7, "inodes_quota_of": "/"}
    there = found.destination.model_copy(update=update)
    check_room(between_clusters(), source, source, there)
    full = there.model_copy(update={"free_bytes": 799})
    with pytest.raises(
        DestinationTooSmall, match=r"the space quota of 'hdfs:/a%20b' leaves 799 bytes .* 800 are needed"
    ):
        check_room(between_clusters(), source, source, full)
    many = there.model_copy(update={"free_inodes": 6})
    with pytest.raises(
        DestinationTooSmall, match=r"the name quota of 'hdfs:/' leaves 6 files .* 7 are needed; raise it"
    ):
        check_room(between_clusters(), source, source, many)


def test_what_a_comparison_leaves_needs_no_more_than_all_of_the_source() -> None:
    source = survey().source.model_copy(update={"bytes": 3 * FREE, "stored_bytes": 10**6})
    compared = source.model_copy(update={"bytes": 2 * FREE, "stored_bytes": None})
    destination = survey().destination.model_copy(update={"free_bytes": FREE, "free_inodes": 10**6})
    check_room(transfer(), compared, source, destination)


def test_a_path_stays_percent_encoded_and_forges_no_line() -> None:
    evil = SurveyProblemEntry(path="/data/%1B[2J%0ASUCCEEDED", reason="permission denied\x1b[1A")
    found = survey()
    source = found.source.model_copy(update={"problems": [evil], "problem_count": 1})
    with pytest.raises(SurveyProblem) as refused:
        check(transfer(), found.model_copy(update={"source": source}))
    [line] = str(refused.value).splitlines()
    assert "'/data/%1B[2J%0ASUCCEEDED' on " in line
    assert "permission denied\\x1b[1A;" in line


@pytest.mark.parametrize(
    ("side", "said", "line"),
    [
        (
            "source",
            "AccessControlException: Permission denied: user=etl, access=READ",
            f"$.source.paths: 'hdfs:/a%20b' by {SOURCE_ID}: AccessControlException: Permission denied: user=etl, "
            "access=READ; let the user that the request names do it (hdfs dfs -chmod or -setfacl), or name another "
            "user",
        ),
        (
            "source",
            "no such file or directory",
            f"$.source.paths: 'hdfs:/a%20b' by {SOURCE_ID}: no such file or directory; correct the path or make it",
        ),
        (
            "destination",
            "something else",
            f"$.destination.path: 'hdfs:/a%20b' by {DESTINATION_ID}: something else; repair it in the cluster, or "
            "leave this path out",
        ),
    ],
)
def test_what_stands_in_the_way_in_hdfs_is_told_with_what_helps_there(side: str, said: str, line: str) -> None:
    found = survey()
    problems = {"problems": [SurveyProblemEntry(path="/a%20b", reason=said)], "problem_count": 1}
    changed = {side: getattr(found, side).model_copy(update=problems)}
    with pytest.raises(SurveyProblem) as refused:
        check(between_clusters(), found.model_copy(update=changed))
    assert str(refused.value) == line


def test_an_empty_source_in_hdfs_is_looked_for_by_its_path() -> None:
    nothing = survey().source.model_copy(update={"files": 0, "symlinks": 0})
    assert empty_source(between_clusters(), nothing) == (
        "$.source.paths: 'hdfs:/warehouse/sales' holds no file; look at the path, and whether its files are there yet"
    )
