"""What a transfer would do with each file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.estimate.dry_run import dry_run
from lambdas.core.estimate.estimate import Estimate
from lambdas.core.survey.survey import ComparisonSurvey, Survey
from tests.lambdas.builders import estimate, survey

WHERE = "s3://bucket/ends/key/changed/1/"
FILES = st.lists(st.tuples(st.sampled_from(["new", "changed", "equal"]), st.integers(0, 10**12)), max_size=20)


def compared(files: list[tuple[str, int]]) -> Survey:
    def of(*kinds: str) -> tuple[int, int]:
        sizes = [size for kind, size in files if kind in kinds]
        return len(sizes), sum(sizes)

    sent, new, same = of("new", "changed"), of("new"), of("equal")
    found = ComparisonSurvey(
        schema_version=1, side="comparison", daemon_version="0.1.0", files=sent[0], directories=0, symlinks=0,
        bytes=sent[1], largest_file_bytes=0, parts=1, same_files=same[0], same_bytes=same[1],
        new_files=new[0], new_bytes=new[1],
    )  # fmt: skip
    return survey().model_copy(update={"comparison": found})


@given(FILES)
def test_every_file_has_one_action_and_time_and_cost_are_those_of_the_chosen_row(files: list[tuple[str, int]]) -> None:
    chosen = estimate()
    row = chosen.row(chosen.chosen_pairs)
    found = dry_run(compared(files), chosen, WHERE)
    for name, one in (("new", found.new), ("changed", found.changed), ("equal", found.equal)):
        sizes = [size for kind, size in files if kind == name]
        assert (one.files, one.bytes) == (len(sizes), sum(sizes))
    assert (found.equal.seconds, found.equal.cost_usd) == (0, 0)
    if found.new.bytes + found.changed.bytes:
        assert found.new.seconds + found.changed.seconds == pytest.approx(row.seconds, abs=0.002)
        assert found.new.cost_usd + found.changed.cost_usd == pytest.approx(row.cost_usd, abs=2e-6)


def test_where_the_destination_is_empty_all_is_new() -> None:
    first, chosen = survey(files=7), estimate()
    found = dry_run(first, chosen, WHERE)
    assert (found.new.files, found.new.bytes) == (7, first.source.bytes)
    assert (found.changed.files, found.equal.files) == (0, 0)
    assert isinstance(chosen, Estimate)
