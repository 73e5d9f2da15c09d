import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.copies.comparing import Found, Verdict, judge, side_by_side
from lambdas.core.copies.listed import Listed, Noted, Task, order
from lambdas.core.request.replacing import Overwrite

KEYS = st.sets(st.text(min_size=1, max_size=3), max_size=12)


def listed(key: str = "a", size: int = 3, etag: str = '"s"', modified: float = 100.0) -> Listed:
    return Listed(key, size, etag, modified)


@given(KEYS, KEYS, KEYS)
def test_each_key_of_the_source_comes_once_with_its_like(source: set[str], there: set[str], noted: set[str]) -> None:
    found = list(
        side_by_side(
            (listed(key) for key in sorted(source, key=order)),
            (listed(key) for key in sorted(there, key=order)),
            (Noted(key, 3, '"s"', 100.0, '"d"') for key in sorted(noted, key=order)),
        )
    )
    assert [one.source.key for one in found] == sorted(source, key=order)
    assert {one.source.key for one in found if one.there} == source & there
    assert {one.source.key for one in found if one.noted} == source & noted
    assert all(one.there is None or one.there.key == one.source.key for one in found)


NOTED = Noted("a", 3, '"s"', 100.0, '"d"')
THERE = listed(etag='"d"', modified=200.0)


@pytest.mark.parametrize(
    ("source", "there", "noted", "verdict"),
    [
        pytest.param(listed(), None, None, Verdict.NEW, id="nothing there"),
        pytest.param(listed(), None, NOTED, Verdict.NEW, id="removed since it was copied"),
        pytest.param(listed(), THERE, NOTED, Verdict.SAME, id="as it was copied"),
        pytest.param(listed(etag='"t"'), THERE, NOTED, Verdict.CHANGED, id="replaced by as many bytes"),
        pytest.param(listed(modified=101.0), THERE, NOTED, Verdict.CHANGED, id="written again"),
        pytest.param(listed(), listed(etag='"e"', modified=300.0), NOTED, Verdict.CHANGED, id="somebody else's copy"),
        pytest.param(listed(size=4), THERE, NOTED, Verdict.CHANGED, id="grown"),
        pytest.param(listed(), THERE, None, Verdict.SAME, id="not noted, and later than the source"),
        pytest.param(listed(etag='"d"', modified=200.9), THERE, None, Verdict.CHANGED, id="of the same second"),
        pytest.param(listed(etag='"d"', modified=300.0), THERE, None, Verdict.CHANGED, id="an ETag proves nothing"),
        pytest.param(listed(size=4), THERE, None, Verdict.CHANGED, id="not noted, of another size"),
    ],
)
def test_what_is_copied(source: Listed, there: Listed | None, noted: Noted | None, verdict: Verdict) -> None:
    assert judge(Found(source, there, noted), "always") is verdict


@pytest.mark.parametrize(
    ("overwrite", "modified", "verdict"),
    [
        ("never", 300.0, Verdict.LEFT_ALONE),
        ("if-newer", 300.0, Verdict.CHANGED),
        ("if-newer", 200.0, Verdict.LEFT_ALONE),
        ("if-newer", 100.0, Verdict.LEFT_ALONE),
        ("always", 100.0, Verdict.CHANGED),
    ],
)
def test_what_is_replaced(overwrite: Overwrite, modified: float, verdict: Verdict) -> None:
    assert judge(Found(listed(size=4, modified=modified), THERE, None), overwrite) is verdict


def test_all_again_means_what_looks_the_same_too() -> None:
    assert judge(Found(listed(), THERE, NOTED), "always", all_again=True) is Verdict.CHANGED


def test_lines_come_back_as_they_were() -> None:
    one = Listed('ä"\n', 3, '"s-2"', 1.25, "GLACIER")
    assert Listed.parse(one.line()) == one
    assert Task.parse(Task(one, None, 7).line()) == Task(one, None, 7)
    assert Noted.parse(NOTED.line()) == NOTED
