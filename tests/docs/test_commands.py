"""Every command that the documentation shows is run here as it stands there, or is told why it cannot be."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.desk import Desk
from tests.docs.pages import FURTHER, PAGES, Block, blocks, inline_commands
from tests.docs.parsers import problem
from tests.e2e.account import Account
from tests.e2e.conftest import make_account  # noqa: F401  a fixture

LANGUAGES = {"sh", "console", "text", "json", "json console", "toml", "mermaid"}
# Commands in blocks that are not run here: read by their parser, and why.
NOT_RUN = {
    r"make demo": "a local cloud of its own, 600 MB, and the demo's own test is CI's first user",
    r"make test": "runs this",
    r"make synth|\.venv/bin/cpt (local (up|down|request .*)|start .* --local)": "tests/e2e/test_first_transfer.py runs "
    "the README's five commands",
    r"git (pull|checkout COMMIT)": "the checkout is the one that is tested; "
    "tests/infra/freshness.test.ts changes sources under what was built from them",
    r"npx cdk (diff|deploy --all)": "the account is this file's; "
    "tests/e2e/test_cdk_deploy.py deploys over a deployment, and compares",
    r"cpt starts .*": "no bucket of this file's account may start transfers; "
    "tests/e2e/test_collected_starts.py adds, changes and removes a start",
    r"cpt pool": "this file's account keeps no pool; tests/e2e/test_pool.py has one",
    r"(cpt leave|npx cdk destroy).*": "the account is this file's; tests/e2e/test_leaving.py leaves one",
    r"(sudo )?make bench-.*": "takes minutes, and the machine for itself",
}
NOT_PARSED = {
    r"aws logs tail .*": "of version 2 of the AWS command line, which is no Python package; people have it, not we",
}
COMMANDS = [block for page in PAGES for block in blocks(page) if block.language == "sh"]
INLINE = sorted({command for page in [*PAGES, *FURTHER] for command in inline_commands(page)})

# What NAME is in a command: the first that fits.
SCENES: list[tuple[str, Callable[[Desk], str]]] = [
    (r"cpt (approve|reject) ", Desk.waiting),
    (r"aws stepfunctions send-task-", Desk.waiting),
    (r"cpt (limit|cancel) ", Desk.moving),
    (r"cpt teardown .*--yes", Desk.moving),
    (r"cpt start .*--resume", Desk.ended),
    (r"(cpt start|aws stepfunctions start-execution) ", Desk.new),
    (r"cpt (watch|report|teardown) ", Desk.ended),
]


@pytest.fixture(scope="module")
def desk(make_account: Callable[..., Account], tmp_path_factory: pytest.TempPathFactory) -> Desk:  # noqa: F811
    return Desk(make_account(), tmp_path_factory.mktemp("desk"))


def reason(command: str, rules: dict[str, str]) -> str | None:
    return next((why for pattern, why in rules.items() if re.fullmatch(pattern, command)), None)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_block_says_what_it_is(page: Path) -> None:
    unknown = [block.where for block in blocks(page) if block.language not in LANGUAGES]
    assert not unknown, f"say behind the fence which of {sorted(LANGUAGES)} it is; `sh` is run here"


@pytest.mark.parametrize("command", INLINE)
def test_command_within_a_sentence_is_understood(command: str) -> None:
    assert reason(command, NOT_PARSED) or problem(command) is None


@pytest.mark.parametrize("block", COMMANDS, ids=lambda block: block.where)
def test_block_of_commands_runs(block: Block, desk: Desk) -> None:
    if all(reason(command, NOT_RUN) for command in block.commands):
        assert [problem(command) for command in block.commands] == [None] * len(block.commands)
    elif "local up" in block.text:
        desk.run_apart(block.text)
    elif any(re.match(r"\w+=", command) for command in block.commands):
        for script in block.scripts:
            desk.run(script, scene(script, desk))
    else:
        for command in block.commands:
            desk.run(command, scene(command, desk))


def scene(script: str, desk: Desk) -> str:
    """The transfer that NAME means."""
    if not re.search(r"\bNAME\b", script):
        return ""
    found = next((given for pattern, given in SCENES if re.search(pattern, script)), None)
    assert found, f"say in SCENES what NAME is in: {script}"
    return found(desk)


@pytest.mark.parametrize("rules", [NOT_RUN, NOT_PARSED], ids=["not run", "not parsed"])
def test_each_exception_is_of_use(rules: dict[str, str]) -> None:
    shown = [*INLINE, *(command for block in COMMANDS for command in block.commands)]
    assert [pattern for pattern in rules if not any(re.fullmatch(pattern, command) for command in shown)] == []
