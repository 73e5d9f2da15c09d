"""`cpt waves`, up to what it starts and of what it reads; tests/e2e has it against a deployment."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from typer.testing import CliRunner, Result

from cli import main, waving
from cli.exit_codes import ExitCode
from lambdas.core.waves.waves import Waves
from tests.cli.transfers import EXAMPLES, REQUEST, Account

WAVES = Waves.from_document(json.loads((EXAMPLES / "waves" / "cut-over-now.json").read_text()))
EXECUTIONS = "arn:aws:states:us-west-2:123456789012:execution:cpt-waves:"


class Waving(Account):
    """An account whose executions are of waves; a name is taken once."""

    def start_execution(self, **asked: Any) -> dict[str, Any]:
        assert asked["stateMachineArn"].endswith(":stateMachine:cpt-waves")
        arn = EXECUTIONS + asked["name"]
        if arn in {one["executionArn"] for one in self.executions}:
            raise ClientError({"Error": {"Code": "ExecutionAlreadyExists", "Message": "no"}}, "StartExecution")
        self.started.append(json.loads(asked["input"]))
        self.executions.append({"executionArn": arn, "status": "RUNNING"})
        return {"executionArn": arn}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Waving:
    found = Waving()
    (tmp_path / "request.json").write_text(json.dumps({**REQUEST, "delete": True, "name": "its-own"}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(waving, "home", lambda *, local: found)
    monkeypatch.setattr(waving, "_read", lambda _aws, label: WAVES if label == WAVES.label else None)
    monkeypatch.setattr("cli.waving.time.sleep", lambda _: None)
    return found


def cpt(*words: str) -> Result:
    return CliRunner().invoke(main.app, ["waves", *words])


def begun(*words: str) -> Result:
    return cpt("request.json", *words)


def over(account: Waving, arn: str, status: str, **more: Any) -> None:
    account.executions.append({"executionArn": arn, "status": status, **more})


@pytest.mark.parametrize(
    ("label", "told"),
    [("", "write 1 characters or more"), (" ", "printable characters in one line"), ("a\nb", "one line")],
)
def test_what_is_no_label_is_refused_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch, label: str, told: str
) -> None:
    monkeypatch.setattr(waving, "home", lambda *, local: pytest.fail("AWS was asked"))
    for words in ((), ("request.json",)):
        answer = cpt(*words, "--label", label)
        assert answer.exit_code == ExitCode.REQUEST
        assert "InvalidRequest: $.label: " in answer.output
        assert told in answer.output


def test_what_is_asked_goes_to_the_execution_without_the_requests_own_name(account: Waving) -> None:
    digest = "5" * 64
    answer = begun("--label", "archive", "--cut-over", "--confirm-delete", digest, "--json")
    assert answer.exit_code == ExitCode.SUCCEEDED, answer.output
    assert json.loads(answer.stdout) == {"label": "archive", "executionArn": f"{EXECUTIONS}archive"}
    request = {**REQUEST, "delete": True, "confirmDelete": digest}
    assert account.started == [{"label": "archive", "request": request, "mostWaves": 10, "cutOver": True}]


@pytest.mark.parametrize(("until", "bound"), [("90s", "untilSeconds"), ("5m", "untilSeconds"), ("500MB", "untilBytes")])
def test_the_bound_is_a_time_or_a_size(account: Waving, until: str, bound: str) -> None:
    assert begun("--label", "archive", "--until", until).exit_code == ExitCode.SUCCEEDED
    assert account.started[0][bound] == until


def test_a_bound_that_is_neither_is_a_wrong_command_line(account: Waving) -> None:
    answer = begun("--label", "archive", "--until", "soon")
    assert (answer.exit_code, account.started) == (ExitCode.USAGE, [])


def test_a_request_that_waves_cannot_have_is_refused_before_it_is_sent(account: Waving) -> None:
    answer = begun("--label", "archive", "--most", "51")
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert "$.mostWaves: 51" in answer.output


def test_the_execution_is_named_by_the_label_or_by_what_of_it_is_fit_for_that(account: Waving) -> None:
    for label, name in (("archive", "archive"), ("Move of the archive!", "Move-of-the-archive-"), ("ü", "waves-")):
        assert begun("--label", label).exit_code == ExitCode.SUCCEEDED
        assert account.executions[-1]["executionArn"].startswith(EXECUTIONS + name)
    assert len(account.started) == 3


def test_a_label_is_used_again_once_its_waves_have_ended(account: Waving) -> None:
    over(account, f"{EXECUTIONS}archive", "SUCCEEDED")
    over(account, f"{EXECUTIONS}archive-2", "ABORTED")
    assert begun("--label", "archive").exit_code == ExitCode.SUCCEEDED
    assert account.executions[-1]["executionArn"] == f"{EXECUTIONS}archive-3"
    answer = begun("--label", "archive")
    assert (answer.exit_code, len(account.started)) == (ExitCode.REQUEST, 1)
    assert f"TransferRunning: $.label: waves run under 'archive' already: {EXECUTIONS}archive-3" in answer.output


def test_without_a_request_what_is_known_of_the_label_is_shown(account: Waving) -> None:
    assert WAVES.said in cpt("--label", "archive").stdout
    assert Waves.from_document(json.loads(cpt("--label", "archive", "--json").stdout)) == WAVES
    answer = cpt("--label", "other")
    assert answer.exit_code == ExitCode.REQUEST
    assert "NoSuchTransfer: there are no waves of 'other' in us-west-2" in answer.output


def watched(
    account: Waving, monkeypatch: pytest.MonkeyPatch, states: list[Waves], end: dict[str, Any], *words: str
) -> Result:
    """`--watch`, while the label's states come one after the other and the execution ends with the last one."""
    left = list(states)

    def read(_aws: object, _label: str) -> Waves:
        found = left.pop(0) if len(left) > 1 else left[0]
        if len(left) == 1:
            account.executions[-1].update(end)
        return found

    monkeypatch.setattr(waving, "_read", read)
    return begun("--label", "archive", "--watch", *words)


@pytest.mark.parametrize(
    ("status", "code"),
    [("CUT_OVER_NOW", ExitCode.SUCCEEDED), ("CUT_OVER", ExitCode.SUCCEEDED), ("NOT_YET", ExitCode.REQUEST)],
)
def test_each_state_is_told_once_and_the_end_has_its_code(
    account: Waving, monkeypatch: pytest.MonkeyPatch, status: str, code: ExitCode
) -> None:
    before = WAVES.model_copy(update={"execution_arn": f"{EXECUTIONS}earlier", "version": 2, "said": "of another one"})
    looks = WAVES.model_copy(update={"version": 4, "status": "RUNNING", "said": "looks at what is left"})
    ended = WAVES.model_copy(update={"version": 5, "status": status, "said": "that is all"})
    end = {"status": "SUCCEEDED", "output": ended.to_json()}
    answer = watched(account, monkeypatch, [before, looks, looks, ended], end)
    assert (answer.exit_code, "of another one" in answer.stdout) == (code, False)
    assert answer.stdout.count("looks at what is left") == 1
    assert "that is all" in answer.stdout
    account.executions.clear()
    as_json = watched(account, monkeypatch, [looks, ended], end, "--json")
    assert [json.loads(line)["version"] for line in as_json.stdout.splitlines()] == [4, 5]


def test_an_execution_that_is_stopped_says_so(account: Waving, monkeypatch: pytest.MonkeyPatch) -> None:
    end = {"status": "ABORTED", "error": "Cancelled", "cause": "wrong tree"}
    answer = watched(account, monkeypatch, [WAVES], end)
    assert answer.exit_code not in (ExitCode.SUCCEEDED, ExitCode.USAGE)
    assert "cpt: Cancelled: wrong tree" in answer.output


def test_who_no_longer_watches_is_told_how_to_look_again(account: Waving, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cli.waving.time.sleep", interrupted)
    answer = begun("--label", "the archive", "--watch")
    assert answer.exit_code == ExitCode.INTERRUPTED
    assert "no longer watched; the waves go on. Again: cpt waves --label 'the archive'" in answer.output
