"""Random stories of one transfer: stopped and run again while the destination, the tables and the bucket change."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.chaos.extent import only_full
from tests.e2e.account import Account
from tests.e2e.conftest import make_account  # noqa: F401 - a fixture
from tests.e2e.story import Story

RUNS = ["begin and stop", "begin and stop", "run", "run while files vanish"]
CHANGES = [
    "remove some",
    "replace one",
    "clear visible",
    "clear all",
    "save tables",
    "restore tables",
    "empty bucket",
    "empty tables",
    "make deployment anew",
]


@pytest.fixture(scope="module")
def account(make_account: Callable[..., Account]) -> Account:  # noqa: F811
    return make_account()


@only_full
@pytest.mark.parametrize("seed", range(20))
def test_success_means_that_every_file_is_there_whatever_happened_before(
    account: Account, tmp_path: Path, seed: int
) -> None:
    random = Random(seed)
    steps = ["begin and stop"]
    for _ in range(random.randrange(2, 5)):
        steps += [*random.choices(CHANGES, k=random.randrange(1, 4)), random.choice(RUNS)]
    Story(account, tmp_path, f"story-{seed}", seed=seed).tell(*steps, "succeed")
