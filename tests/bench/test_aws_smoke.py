"""What `make aws-smoke` decides by itself; whole runs are in tests/e2e and tests/chaos."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from bench.aws_smoke import transfer
from bench.aws_smoke.account import SmokeError, principal_of
from bench.aws_smoke.options import Options, ends_usd, limit_for, parse
from bench.aws_smoke.recording import Recorder

SETTINGS = {
    "name": "cpt",
    "homeRegion": "us-west-2",
    "regions": {"us-west-2": {}, "eu-west-1": {}},
    "instanceTypes": ["c6in.large", "t3.small"],
}
ENOUGH = ["--yes", "--max-cost-usd", "0.5"]


def options(*arguments: str, **settings: Any) -> Options:
    return parse([*ENOUGH, *arguments], {**SETTINGS, **settings})


def test_by_default_the_data_moves_for_longer_than_the_control_plane_waits_for_a_relay() -> None:
    given = options()
    assert (given.megabytes, given.limit_mbps, given.relay_seconds) == (400, 10, 300)
    assert given.megabytes * 8 / given.limit_mbps == 320
    assert (given.source, given.destination, given.relay_type) == ("us-west-2", "eu-west-1", "t3.small")


@pytest.mark.parametrize(("megabytes", "seconds"), [(24, 22), (400, 300), (4000, 300), (41, 300)])
def test_the_limit_makes_the_data_outlast_a_relays_start(megabytes: int, seconds: float) -> None:
    assert megabytes * 8 / limit_for(megabytes, seconds) >= seconds * 1.05


def test_what_may_be_spent_is_divided_between_ends_and_transfer() -> None:
    given = options()
    # An hour of two t3.small with busy processors, address and disk.
    assert ends_usd((given.source, given.destination), 3600) == pytest.approx(0.215, abs=0.005)
    assert given.transfer_usd == pytest.approx(0.5 - ends_usd((given.source, given.destination), 3600))


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        (["--max-cost-usd", "0.1"], {}, "--max-cost-usd 0.1: this may cost $0.28; give 0.29 or more"),
        (["--max-cost-usd", "much"], {}, "--max-cost-usd 'much': give a number from 0"),
        (["--max-cost-usd", "nan"], {}, "--max-cost-usd nan: give a number from 0"),
        (["--megabytes", "1.5"], {}, "--megabytes '1.5': give a whole number from 1 to 4000"),
        (["--megabytes", "5000"], {}, "--megabytes 5000: give a whole number from 1 to 4000"),
        (["--megabytes", "20"], {}, "--megabytes 20: at 1 Mbit/s, the lowest limit"),
        (["--relay-seconds", "0"], {}, "--relay-seconds 0: give a number from 1"),
        (["--to", "eu-east-9"], {}, "--to eu-east-9: not enrolled; name one of us-west-2, eu-west-1"),
        (["--from", "us-west-2", "--to", "us-west-2"], {}, "in two regions"),
        ([], {"regions": {"us-west-2": {}}}, "context.cpt.regions us-west-2: source and destination are in two"),
        ([], {"instanceTypes": ["c7gn.large"]}, "context.cpt.instanceTypes c7gn.large: no x86-64 type"),
        (["--record", "/no/such/place.json"], {}, "--record /no/such/place.json: /no/such is no directory"),
    ],
)
def test_bad_input_is_refused_by_field_and_value_with_what_would_be_right(
    arguments: list[str], settings: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options(*arguments, **settings)
    assert said in " ".join(capsys.readouterr().err.split())


def test_without_consent_it_says_what_it_may_cost(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([], SETTINGS)
    assert "for up to $0.28; say --yes --max-cost-usd 0.29" in capsys.readouterr().err


def no_role(name: str) -> str:
    raise LookupError(name)


@pytest.mark.parametrize(
    ("caller", "principal"),
    [
        ("arn:aws:iam::123456789012:root", None),
        ("arn:aws:iam::123456789012:user/team/me", "arn:aws:iam::123456789012:user/team/me"),
        ("arn:aws-cn:sts::123456789012:assumed-role/mover/me", "arn:aws-cn:iam::123456789012:role/team/mover"),
    ],
)
def test_whom_to_simulate(caller: str, principal: str | None) -> None:
    def role_arn(name: str) -> str:
        return {"mover": "arn:aws-cn:iam::123456789012:role/team/mover"}[name]

    assert principal_of(caller, role_arn) == principal


def test_federated_users_are_told_what_would_do() -> None:
    with pytest.raises(SmokeError, match="federated-user cannot be simulated; use a role or a user"):
        principal_of("arn:aws:sts::123456789012:federated-user/me", no_role)


SUMS = {f"./{number}": f"{number:064x}" for number in range(transfer.SMALL_FILES + 2)}
REPORT = {
    "bytes": 1000,
    "verified": True,
    "seconds": {"transfer": 320.0},
    "cost": {"total": 0.05},
    "nodes": [{"nodeId": "source-1-0", "endedAt": 5.0}, {"nodeId": "destination-1-0", "endedAt": 5.0}],
    "course": {"lanes": [{"pathId": path, "bars": [{"bytes": 500}]} for path in ("direct", "pair-1")]},
}


def test_a_transfer_that_is_as_claimed_has_no_problems() -> None:
    assert transfer.problems(REPORT, options(), SUMS, SUMS) == []


def burst(report: dict[str, Any]) -> None:
    report["seconds"]["transfer"] = 12.0


def all_direct(report: dict[str, Any]) -> None:
    report["course"]["lanes"][1]["pathId"] = "direct"


def all_through_the_pair(report: dict[str, Any]) -> None:
    report["course"]["lanes"][0]["pathId"] = "pair-1"


def dear(report: dict[str, Any]) -> None:
    report["cost"]["total"] = 0.4


def not_verified(report: dict[str, Any]) -> None:
    report["verified"] = False


def a_relay_stays(report: dict[str, Any]) -> None:
    del report["nodes"][1]["endedAt"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (burst, "it took 12.0 s, less than the 300 s"),
        (all_direct, "0 of 1000 bytes through pair-1"),
        (all_through_the_pair, "0 bytes on the direct path"),
        (dear, "$0.4000 exceed maxCostUsd"),
        (not_verified, "verification said False"),
        (a_relay_stays, "running: destination-1-0"),
    ],
)
def test_each_claim_is_checked(change: Callable[[dict[str, Any]], None], said: str) -> None:
    report = copy.deepcopy(REPORT)
    change(report)
    (found,) = transfer.problems(report, options(), SUMS, SUMS)
    assert said in found


def test_every_file_is_compared() -> None:
    lost = {name: digest for name, digest in SUMS.items() if name != "./3"}
    changed = {**SUMS, "./4": "0" * 64}
    assert transfer.problems(REPORT, options(), SUMS, lost) == ["different at the destination: ./3"]
    assert transfer.problems(REPORT, options(), SUMS, changed) == ["different at the destination: ./4"]
    assert transfer.problems(REPORT, options(), {}, {})[0].startswith("0 files at the source")


def test_a_recording_keeps_what_models_list_and_nothing_else(tmp_path: Path) -> None:
    session = botocore.session.Session()
    recorder = Recorder()

    def cleaned(service: str, operation: str, answer: dict[str, Any]) -> Any:
        model = session.get_service_model(service).operation_model(operation)
        return recorder.clean(answer, model.output_shape)

    instance = {
        "InstanceId": "i-0123456789abcdef0",
        "InstanceType": "t3.small",
        "PublicDnsName": "ec2-203-0-113-7.compute-1.amazonaws.com",
        "PublicIpAddress": "203.0.113.7",
        "State": {"Code": 16, "Name": "running"},
        "Tags": [{"Key": "owner", "Value": "me@example.com"}],
    }
    reservation = {"OwnerId": "123456789012", "Instances": [instance, instance]}
    found = cleaned("ec2", "DescribeInstances", {"Reservations": [reservation], "NextToken": "eyJhbGciOi"})
    assert found["Reservations"][0]["Instances"][0] == found["Reservations"][0]["Instances"][1]
    assert found["Reservations"][0]["Instances"][0]["State"] == {"Code": 16, "Name": "running"}
    assert found["Reservations"][0]["Instances"][0]["InstanceId"] == "<id:1>"
    assert found["Reservations"][0]["Instances"][0]["PublicIpAddress"] == "<address:1>"
    assert found["Reservations"][0]["OwnerId"] == "<account:1>"
    policy = {"Statement": [{"Principal": {"AWS": "arn:aws:iam::123456789012:root"}}]}  # as botocore decodes it
    role = cleaned("iam", "GetRole", {"Role": {"Arn": "arn:aws:iam::123456789012:role/x", "RoleName": "x",
                                               "AssumeRolePolicyDocument": policy}})  # fmt: skip
    assert role["Role"]["AssumeRolePolicyDocument"] == "<document>"
    text = json.dumps([found, role])
    assert [name for name in ("0123", "203.", "amazonaws", "example", "owner", "eyJ") if name in text] == []
    recorder.save(tmp_path / "deep" / "record.json", "local", "abc")
    assert json.loads((tmp_path / "deep" / "record.json").read_text())["cloud"] == "local"


def test_limits_of_a_run_are_in_its_request() -> None:
    given = replace(options(), limit_mbps=7)
    request = transfer.request_of(given, "i-1", "i-2", "run")
    assert request["bandwidthLimitMbps"] == 7
    assert request["objective"] == {"maxCostUsd": round(given.transfer_usd, 4), "onBudget": "stop"}
    assert request["relays"] == {"pairs": 1, "instanceTypes": ["t3.small"]}
