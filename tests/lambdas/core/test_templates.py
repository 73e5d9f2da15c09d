"""What all pages have from one place: names are data, quantities have words, and what is unknown is an error."""

import pytest
from jinja2 import UndefinedError

from lambdas.core.templates import environment

PAGES = environment("lambdas.core.watch", loud=str.upper)


def test_names_are_data() -> None:
    assert PAGES.from_string("{{ name }}").render(name="<b>") == "&lt;b&gt;"


def test_quantities_have_words_and_a_page_its_own_filters() -> None:
    page = PAGES.from_string("{{ 5000 | size }}, {{ many(2, 'chunk') }}, {{ 'a' | loud }}")
    assert page.render() == "5 kB, 2 chunks, A"


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        PAGES.from_string("{{ absent }}").render()
