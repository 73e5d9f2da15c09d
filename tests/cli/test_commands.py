"""`cpt start`, `list`, `cancel` and `watch` against an account in memory; tests/e2e has them against a deployment."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError
from typer.testing import CliRunner, Result

from cli import cancelling, listing, main, reporting, starting, watching
from cli.exit_codes import ExitCode
from tests.cli.transfers import MACHINE, REQUEST, Account, execution, records, relay

Cpt = Callable[..., Result]


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Account:
    """One transfer runs, one has succeeded; a request's name differs from its execution's in `renamed`."""
    runs = execution("nightly")
    done = execution("first", "SUCCEEDED", output=json.dumps({"status": "SUCCEEDED"}))
    renamed = execution("by-object-1", input=json.dumps({"name": "renamed"}))
    arn = {"executionArn": renamed["executionArn"]}
    found = Account(
        [runs, done, renamed],
        {"nightly": records(), "renamed": records(**arn)},
        {"nightly": [relay("source-1-0", "JOINED", 1002.0, joinedAt=1008.0)]},
    )
    for module in (cancelling, listing, reporting, starting, watching):
        monkeypatch.setattr(module, "home", lambda *, local: found)
    return found


def cpt(*words: str | Path) -> Result:
    return CliRunner().invoke(main.app, [str(word) for word in words])


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"name": "weekly", **REQUEST}))
    return path


def test_start_takes_the_name_of_the_request(account: Account, request_file: Path) -> None:
    assert "cpt watch weekly" in cpt("start", request_file).stdout
    assert account.started == [
        {"stateMachineArn": MACHINE, "name": "weekly", "input": json.dumps({"name": "weekly", **REQUEST})}
    ]


def test_start_gives_execution_and_transfer_the_name_that_is_asked_for(account: Account, request_file: Path) -> None:
    answer = cpt("start", request_file, "--name", "again", "--json")
    assert json.loads(answer.stdout)["name"] == account.started[0]["name"] == "again"
    assert json.loads(account.started[0]["input"])["name"] == "again"


def test_a_dry_run_has_an_execution_name_of_its_own(account: Account, request_file: Path) -> None:
    cpt("start", request_file, "--dry-run")
    shown = cpt("start", request_file, "--dry-run", "--name", "look").stdout
    cpt("start", request_file, "--name", "look")
    request_file.write_text(json.dumps(REQUEST))
    cpt("start", request_file, "--dry-run")
    documents = [json.loads(started["input"]) for started in account.started]
    assert documents[:2] == [{**REQUEST, "dryRun": True}] * 2
    assert documents[2] == {"name": "look", **REQUEST}
    first, second, confirmed, nameless = (started["name"] for started in account.started)
    assert re.fullmatch("weekly-dry-run-[0-9a-f]{12}", first)
    assert re.fullmatch("look-dry-run-[0-9a-f]{12}", second)
    assert f"cpt watch {second}" in shown
    assert confirmed == "look"
    assert re.fullmatch("transfer-[0-9a-f]{12}", nameless)


def test_a_dry_run_of_the_longest_name_has_a_name_that_step_functions_takes(
    account: Account, request_file: Path
) -> None:
    cpt("start", request_file, "--dry-run", "--name", "n" * 80)
    assert len(account.started[0]["name"]) == 80


def test_what_a_dry_run_has_listed_is_confirmed_by_its_digest(account: Account, request_file: Path) -> None:
    request_file.write_text(json.dumps({**REQUEST, "delete": True}))
    cpt("start", request_file, "--confirm-delete", "5c" * 32)
    assert json.loads(account.started[0]["input"]) == {**REQUEST, "delete": True, "confirmDelete": "5c" * 32}


def test_name_that_a_transfer_has_is_refused(account: Account, request_file: Path) -> None:
    account.records["weekly"] = records()
    account.refusal = "ExecutionAlreadyExists"
    answer = cpt("start", request_file)
    assert answer.exit_code == ExitCode.REQUEST
    assert "choose another with --name" in answer.stderr


@pytest.mark.parametrize("words", [[], ["--resume"]])
@pytest.mark.parametrize("name", ["a b", "-a", "ä", "a\n", "n" * 90])
def test_what_cannot_be_a_name_is_refused_before_anything_is_started(
    account: Account, request_file: Path, name: str, words: list[str]
) -> None:
    answer = cpt("start", request_file, "--name", name, *words)
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    right = "write up to 80 letters, digits, '-' or '_', a letter or digit first"
    assert f"InvalidRequest: $.name: {json.dumps(name, ensure_ascii=False)} is not valid; {right}" in answer.stderr


@pytest.mark.parametrize("name", [5, "", None, ["a"]])
def test_name_in_the_request_that_is_none_is_refused_before_anything_is_started(
    account: Account, request_file: Path, name: object
) -> None:
    request_file.write_text(json.dumps({**REQUEST, "name": name}))
    answer = cpt("start", request_file)
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert f"$.name: {json.dumps(name)} is not valid; write up to 80 letters" in answer.stderr


def test_transfer_without_a_name_gets_a_new_one(account: Account, request_file: Path) -> None:
    request_file.write_text(json.dumps(REQUEST))
    cpt("start", request_file)
    assert re.fullmatch("transfer-[0-9a-f]{12}", account.started[0]["name"])


def test_resume_takes_the_first_free_number_and_the_same_name(account: Account, request_file: Path) -> None:
    account.used = {"weekly", "weekly-attempt2"}
    assert "cpt watch weekly-attempt3" in cpt("start", request_file, "--resume").stdout
    assert account.started[0]["name"] == "weekly-attempt3"
    assert json.loads(account.started[0]["input"]) == {"name": "weekly", **REQUEST, "resume": True}


@pytest.mark.parametrize("words", [["--resume"], ["--resume", "--name", ""]])
def test_without_a_name_nothing_is_resumed(account: Account, request_file: Path, words: list[str]) -> None:
    request_file.write_text(json.dumps(REQUEST))
    answer = cpt("start", request_file, *words)
    assert (answer.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert "$.name: is missing; say with --name" in answer.stderr


@pytest.mark.parametrize("command", ["start", "doctor", "estimate"])
def test_a_folder_is_no_request(account: Account, tmp_path: Path, command: str) -> None:
    answer = cpt(command, tmp_path)
    assert (answer.exit_code, account.started) == (ExitCode.USAGE, [])
    words = answer.stderr.replace("│", " ").split()  # in a frame, whose lines break where the path is long
    assert "is a directory" in " ".join(words)


def test_a_transfer_is_known_by_its_latest_execution(account: Account) -> None:
    later = execution("first-attempt2", input=json.dumps({"name": "first"}))
    account.executions.append(later)
    account.records["first"] = records(executionArn=later["executionArn"])
    cpt("cancel", "first")
    assert [stopped["executionArn"] for stopped in account.stopped] == [later["executionArn"]]


def test_an_execution_whose_record_is_still_of_an_earlier_one_has_nothing_to_show(account: Account) -> None:
    account.records["nightly"]["transfer"]["executionArn"] = "arn:earlier"
    nightly = json.loads(cpt("list", "--status", "running", "--json").stdout.splitlines()[0])
    assert (nightly["bytes"], nightly["totalBytes"]) == (0, None)


def test_list_shows_where_those_are_that_run(account: Account) -> None:
    nightly, first, renamed = (json.loads(line) for line in cpt("list", "--json").stdout.splitlines())
    assert (nightly["name"], nightly["status"], nightly["stage"]) == ("nightly", "RUNNING", "Start Transfer")
    assert (nightly["bytes"], nightly["totalBytes"], nightly["spentUsd"]) == (300_000_000, 600_000_000, 0.0123)
    assert first == {"name": "first", "status": "SUCCEEDED", "startedAt": first["startedAt"], "seconds": 90.0}
    assert renamed["bytes"] == 300_000_000


def test_list_is_a_table_for_people(account: Account) -> None:
    shown = cpt("list").stdout
    assert "300 MB of 600 MB" in shown
    assert "29.8 MB/s" in shown
    assert "1 min 30 s" in shown


def test_list_has_the_labels_of_requests(account: Account) -> None:
    account.executions[1]["input"] = json.dumps({"label": "Moves of May"})
    account.executions[2]["input"] = json.dumps({"name": "renamed", "label": "\x1b[2J"})
    assert [json.loads(line).get("label") for line in cpt("list", "--json").stdout.splitlines()] == [
        None,
        "Moves of May",
        "\x1b[2J",
    ]
    shown = cpt("list").stdout
    assert "Moves of May" in shown
    assert "\x1b" not in shown, "a request that was refused had any label"


@pytest.mark.parametrize("status", ["running", "RUNNING"])
def test_list_takes_a_status_and_a_limit(account: Account, status: str) -> None:
    assert [json.loads(line)["name"] for line in cpt("list", "--status", status, "--json").stdout.splitlines()] == [
        "nightly",
        "by-object-1",
    ]
    assert len(cpt("list", "--limit", "1", "--json").stdout.splitlines()) == 1


def test_list_of_nothing_says_how_to_begin(account: Account) -> None:
    account.executions.clear()
    assert "cpt start REQUEST" in cpt("list").stdout


def test_cancel_stops_with_the_reason(account: Account) -> None:
    assert "cancelled nightly" in cpt("cancel", "nightly", "--reason", "wrong disk").stdout
    assert account.stopped == [
        {"executionArn": account.executions[0]["executionArn"], "error": "Cancelled", "cause": "wrong disk"}
    ]


def test_cancel_finds_a_transfer_by_its_own_name(account: Account) -> None:
    cpt("cancel", "renamed")
    assert account.stopped[0]["executionArn"] == account.executions[2]["executionArn"]


def test_cancel_leaves_what_has_ended(account: Account) -> None:
    answer = cpt("cancel", "first", "--json")
    assert json.loads(answer.stdout) == {"name": "first", "cancelled": False, "status": "SUCCEEDED"}
    assert account.stopped == []


@pytest.mark.parametrize("command", ["watch", "cancel", "report"])
def test_name_that_nothing_has_is_told(account: Account, command: str) -> None:
    answer = cpt(command, "nobody")
    assert answer.exit_code == ExitCode.REQUEST
    assert "there is no transfer 'nobody' in us-west-2" in answer.stderr


def test_watching_goes_on_when_the_network_is_back(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    arn = account.executions[0]["executionArn"]
    fates: list[Any] = [
        EndpointConnectionError(endpoint_url="https://states"),
        execution("nightly"),
        execution("nightly", "FAILED"),
    ]

    def describe(**_: Any) -> dict[str, Any]:
        fate = fates.pop(0)
        if isinstance(fate, Exception):
            raise fate
        return dict(fate)

    monkeypatch.setattr(account, "describe_execution", describe)
    waited: list[float] = []
    monkeypatch.setattr("cli.watching.time.sleep", waited.append)
    told: list[str] = []
    looks: list[Any] = []
    ended = watching.follow(account, arn, looks.append, told.append)  # type: ignore[arg-type]
    assert ended["status"] == "FAILED"
    assert len(looks) == 2
    assert "AWS does not answer" in told[0]
    assert waited == [watching.RETRY_SECONDS, watching.LOOK_SECONDS]


@pytest.mark.parametrize(
    "words", [["watch", "nightly"], ["start", "REQUEST", "--watch"], ["watch", "renamed", "--json"]]
)
def test_ctrl_c_says_that_the_transfer_continues_and_how_to_return(
    account: Account, request_file: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    account.executions.append(execution("weekly"))

    def press(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cli.watching.time.sleep", press)
    answer = cpt(*(str(request_file) if word == "REQUEST" else word for word in words), "--local")
    name = {"nightly": "nightly", "REQUEST": "weekly", "renamed": "by-object-1"}[words[1]]
    assert answer.exit_code == 130
    assert f"no longer watched; {name} goes on. Again: cpt watch {name} --local\n" in answer.stderr
    assert f"stop: cpt cancel {name} --local\n" in answer.stderr
    assert account.stopped == []


@pytest.mark.parametrize("command", ["watch", "report", "cancel", "approve", "reject", "limit", "teardown"])
def test_an_empty_name_is_refused_before_anybody_is_asked(account: Account, command: str) -> None:
    answer = cpt(command, "", *(["--mbps", "5"] if command == "limit" else []))
    assert answer.exit_code == ExitCode.USAGE
    assert answer.stderr == "cpt: NAME is empty; give the name of a transfer: cpt list shows them\n"


@pytest.mark.parametrize("words", [["report", "nightly"], ["cancel", "nightly"], ["watch", "nobody"]])
def test_commands_that_are_hinted_at_are_for_the_local_cloud_where_this_one_is(
    account: Account, words: list[str]
) -> None:
    hint = r"cpt (watch nightly|report nightly|list)"
    assert re.search(f"{hint} --local", cpt(*words, "--local").output)
    assert re.search(hint, said := cpt(*words).output)
    assert "--local" not in said


def test_approval_is_asked_for_with_the_option_of_the_local_cloud(account: Account) -> None:
    account.records["nightly"]["transfer"]["stages"] = {"Await Approval": {"enteredAt": 1, "leftAt": 2}}
    account.executions[0] |= {"status": "FAILED", "stopDate": account.executions[1]["stopDate"], "error": "E"}
    said = cpt("watch", "nightly", "--local").stdout
    assert "cpt approve nightly [--pairs N] --local, or cpt reject nightly --local" in said


def test_version_is_that_of_the_package() -> None:
    answer = cpt("--version")
    assert (answer.exit_code, answer.stdout) == (0, f"cpt {version('cloud-parallel-transfer')}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("words", [["--size", "8GB", "--vi", "90", "--ve", "15", "--tv", "9"], ["--help"]])
def test_output_that_cannot_be_written_is_said_without_a_traceback(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "cli.main", "estimate", *words]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == ExitCode.OUTPUT
    assert done.stderr.splitlines()[-1] == "cpt: the output cannot be written: No space left on device"
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NoCredentialsError(), "give credentials"),
        (EndpointConnectionError(endpoint_url="https://states"), "look at the network"),
        (ClientError({"Error": {"Code": "ExpiredToken", "Message": "old"}}, "GetItem"), "Sign in again"),
        (ClientError({"Error": {"Code": "SlowDown", "Message": "too fast"}}, "GetItem"), "SlowDown: too fast"),
    ],
)
def test_refusal_of_aws_has_words_and_a_code_of_its_own(
    error: Exception, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app() -> None:
        raise error

    monkeypatch.setattr(main, "app", app)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == ExitCode.AWS
    assert words in capsys.readouterr().err


BASH = {"_CPT_COMPLETE": "complete_bash", "COMP_WORDS": "cpt re", "COMP_CWORD": "1"}
ZSH = {"_CPT_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "cpt re"}
FISH = {
    "_CPT_COMPLETE": "complete_fish",
    "_TYPER_COMPLETE_ARGS": "cpt re",
    "_TYPER_COMPLETE_FISH_ACTION": "get-args",
}


@pytest.mark.parametrize("asked", [BASH, ZSH, FISH], ids=["bash", "zsh", "fish"])
def test_shell_completes_commands(asked: dict[str, str]) -> None:
    cpt_itself = Path(sys.executable).with_name("cpt")
    answer = subprocess.run([cpt_itself], env={**os.environ, **asked}, capture_output=True, text=True)
    assert answer.returncode == 0
    assert {"reject", "report"} <= set(re.findall(r"\w+", answer.stdout))
    assert "cancel" not in answer.stdout


def test_list_tells_from_where_to_where_and_why_one_failed(account: Account) -> None:
    request: dict[str, Any] = {
        "source": {"instanceId": "i-0aaaaaaaaaaaaaaa1", "paths": ["/data/[red]\x1b", "/more"]},
        "destination": {"instanceId": "i-0bbbbbbbbbbbbbbb2", "path": "/restore"},
    }
    account.executions.append(execution("broken", "FAILED", input=json.dumps(request), error="DiskFull"))
    [line] = [json.loads(line) for line in cpt("list", "--status", "failed", "--json").stdout.splitlines()]
    assert line["source"] == "i-0aaaaaaaaaaaaaaa1:/data/[red]\x1b and 1 more"
    assert (line["destination"], line["error"]) == ("i-0bbbbbbbbbbbbbbb2:/restore", "DiskFull")
    shown = cpt("list").stdout
    assert "DiskFull" in shown
    assert "i-0aaaaaaaaaaaaaaa1:/data/[red]\\x1b" in shown
    assert "→ i-0bbbbbbbbbbbbbbb2:/restore" in shown
    request["source"]["paths"] = [{"path": "/data/run", "as": "2026/run"}]
    account.executions.append(execution("named", "ABORTED", input=json.dumps(request)))
    [line] = [json.loads(line) for line in cpt("list", "--status", "aborted", "--json").stdout.splitlines()]
    assert line["source"] == "i-0aaaaaaaaaaaaaaa1:/data/run as 2026/run"
    # Of a request that names no ends, and of one that is none, there is nothing to tell.
    assert "source" not in json.loads(cpt("list", "--json").stdout.splitlines()[0])


def test_a_tenant_starts_and_lists_through_his_alias_under_names_of_his(account: Account, request_file: Path) -> None:
    account.tenant = "acme"
    wrong = cpt("start", request_file)
    assert (wrong.exit_code, account.started) == (ExitCode.REQUEST, [])
    assert "'weekly' does not begin with 'acme-', as names of tenant 'acme' do; write 'acme-weekly'" in wrong.output
    assert cpt("start", request_file, "--name", "acme-weekly").exit_code == ExitCode.SUCCEEDED
    request_file.write_text(json.dumps(REQUEST))
    cpt("start", request_file)
    cpt("start", request_file, "--dry-run")
    named, nameless, dry = account.started
    assert {one["stateMachineArn"] for one in account.started} == {f"{MACHINE}:acme"}
    assert named["name"] == "acme-weekly"
    assert nameless["name"].startswith("acme-transfer-")
    assert dry["name"].startswith("acme-transfer-")
    account.executions.clear()
    cpt("list")
    assert account.listed == [f"{MACHINE}:acme"]
