"""Tables, bucket or destination emptied or put back between two runs: success means that every file is there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.extent import only_full
from tests.e2e.account import Account
from tests.e2e.story import Story

STORIES = {
    "a deployment made anew, the destination cleared but for dotfiles": (
        "begin and stop",
        "make deployment anew",
        "clear visible",
        "succeed",
    ),
    "a bucket that was emptied": ("begin and stop", "empty bucket", "remove some", "succeed"),
    "tables of before the run that was stopped last": (
        "begin and stop",
        "save tables",
        "begin and stop",
        "remove some",
        "restore tables",
        "succeed",
    ),
    "tables of before it succeeded": (
        "begin and stop",
        "save tables",
        "succeed",
        "clear visible",
        "restore tables",
        "succeed",
    ),
    "files removed while it was stopped": ("begin and stop", "remove some", "succeed"),
    "files removed while data moves": ("run while files vanish", "succeed"),
}


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:
    return make_account()


@only_full
@pytest.mark.parametrize("story", list(STORIES))
def test_success_means_that_every_file_is_there(account: Account, tmp_path: Path, story: str) -> None:
    number = list(STORIES).index(story)
    Story(account, tmp_path, f"restored-{number}", seed=number).tell(*STORIES[story])
