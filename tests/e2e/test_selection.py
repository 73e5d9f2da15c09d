"""A transfer moves what the request selects, counts no more than that, and names what it leaves out."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.account import Account
from tests.e2e.files import make_files, tree

RULES = {"exclude": ["*.txt", "!small 1*.txt", "/set/empty directory/", "large.bin"]}


def unselected(account: Account, report: dict[str, Any]) -> list[tuple[str, str]]:
    bucket, _, prefix = report["unselected"]["where"].removeprefix("s3://").partition("/")
    client = account.aws.client("s3")
    keys = [found["Key"] for found in client.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]]
    text = b"".join(client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in sorted(keys))
    return [(line["path"], line["reason"]) for line in map(json.loads, text.splitlines())]


def test_only_what_is_selected_is_counted_and_arrives_and_the_rest_is_named(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=30_000_000)
    request = account.request(source, tmp_path / "out", relays={"pairs": 0}, select=RULES)
    run = account.run(request, "selected")
    assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None)

    # git's own word for what these rules leave out of a work tree with the same names.
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("\n".join(RULES["exclude"]) + "\n")
    names = [b"set/" + name for name in tree(source)]
    asked = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=tmp_path,
        input=b"\0".join(names),
        capture_output=True,
        check=True,
    )
    ignored = {os.fsencode(name) for name in os.fsdecode(asked.stdout).split("\0") if name}
    assert len(ignored) > 20
    expected = {name: entry for name, entry in tree(source).items() if b"set/" + name not in ignored}
    assert tree(tmp_path / "out" / "set") == expected

    sizes = [len(entry[3]) for entry in expected.values() if entry[0] == "file"]
    assert run.report["bytes"] == sum(sizes) < 1_000_000
    assert run.report["unselected"]["counts"] == {"excluded": len(ignored)}
    assert {os.fsencode(name.replace("%20", " ")) for name, _ in unselected(account, run.report)} == ignored
    assert run.report["estimate"]["bytes"] == sum(sizes)


def test_run_again_with_rules_and_followed_links_nothing_is_sent(account: Account, tmp_path: Path) -> None:
    source = make_files(tmp_path / "set", large_bytes=1_000)
    (source / "elsewhere").symlink_to(tmp_path)
    (source / "deep" / "er" / "behind a link").write_text("what it leads to")
    request = account.request(source, tmp_path / "out", relays={"pairs": 0}, select=RULES, links="follow")
    run = account.run(request, "selected-once")
    assert run.status == "SUCCEEDED"
    arrived = tmp_path / "out" / "set"
    assert tree(arrived / "link") == tree(arrived / "deep" / "er")
    assert not (arrived / "link").is_symlink()
    assert (arrived / "link" / "behind a link").is_file()
    left_out = [line for line in unselected(account, run.report) if line[1] != "excluded"]
    assert left_out == [("set/dangling", "link-outside"), ("set/elsewhere", "link-outside")]
    again = account.run(request, "selected-twice")
    assert (again.status, again.report["bytes"], again.report["chunks"]) == ("SUCCEEDED", 0, 0)


def test_a_rule_that_is_none_is_refused_by_field_and_value_before_anything_moves(
    account: Account, tmp_path: Path
) -> None:
    source = make_files(tmp_path / "set", large_bytes=1_000)
    request = account.request(
        source, tmp_path / "out", relays={"pairs": 0}, select={"exclude": ["fine", "[[:digit:]]"]}
    )
    run = account.run(request, "selected-by-no-rule")
    assert (run.status, run.error) == ("FAILED", "SurveyProblem")
    assert '$.select.exclude[1]: "[[:digit:]]" is no rule of a gitignore file' in str(run.cause)
    assert "correct the rule" in str(run.cause)
    assert not (tmp_path / "out").exists()
