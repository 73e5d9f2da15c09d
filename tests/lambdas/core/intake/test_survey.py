"""What is to be sent has room by what it takes, not by what it says."""

import pytest

from lambdas.core.errors import DestinationTooSmall, SurveyProblem
from lambdas.core.intake.survey import check, check_room, has_room
from lambdas.core.survey.survey import SurveyProblemEntry
from tests.lambdas.builders import survey, transfer

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
