"""A path of a source lands under its last name, or under the one that it is given."""

import pytest

from lambdas.core.ends.paths import NamedPath, landing_name, landing_of, path_of, words

NAMED = NamedPath(path="/data/set/", lands_as="2026/set")


@pytest.mark.parametrize(
    ("path", "name"),
    [("/data/set", "set"), ("/data//set/.", "set"), ("/data/set/", None), ("/", None), ("/.", None)],
)
def test_a_path_lands_under_its_last_name_and_its_contents_in_the_destination(path: str, name: str | None) -> None:
    assert landing_name(path) == landing_of(path) == name


def test_a_path_with_another_name_lands_as_that() -> None:
    assert (path_of(NAMED), landing_of(NAMED), words(NAMED)) == ("/data/set/", "2026/set", "/data/set/ as 2026/set")
    assert (path_of("/a"), words("/a")) == ("/a", "/a")
