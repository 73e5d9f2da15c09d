import pytest

from lambdas.core.lock import holder, overlaps


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("/a", "/a", True),
        ("/a/", "/a", True),
        ("/a", "/a/b", True),
        ("/a//b/.", "/a/b/c", True),
        ("/", "/anything", True),
        ("/a", "/ab", False),
        ("/a/b", "/a/c", False),
    ],
)
def test_paths_overlap_when_one_holds_the_other(one: str, other: str, expected: bool) -> None:
    assert overlaps(one, other) is expected
    assert overlaps(other, one) is expected


def test_own_path_is_not_in_the_way() -> None:
    assert holder({"mine": "/a"}, "/a/b", "mine") is None
    assert holder({"mine": "/a", "theirs": "/a/b/c"}, "/a/b", "mine") == "theirs"
