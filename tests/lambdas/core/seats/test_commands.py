"""Every command that is sent is one of the contract's."""

import base64
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lambdas.core.seats import commands
from lambdas.core.seats.commands import Control, RelayMachine
from tests.lambdas.builders import ENDS, SHARED, request, survey, transfer
from tests.lambdas.core.intake.test_extras import extras
from tests.lambdas.hdfs import between_clusters
from tests.paths import CONTRACTS

SCHEMA = Draft202012Validator(json.loads((CONTRACTS / "relay-command.schema.json").read_text()))
CONTROL = Control(
    region="us-west-2",
    bucket="b",
    prefix=ENDS,
    partition=SHARED,
    transfers_table="t",
    chunks_table="c",
    bus="cpt",
)
LISTEN = commands.listen_addresses("10.0.0.1", "54.0.0.1", 4600)
LAUNCHED = RelayMachine(node_id="source-1-0", listen=LISTEN, time_to_live_seconds=900)
LENT = RelayMachine(node_id="source-2-0", listen=LISTEN, bandwidth_limit_mbps=80)
ELSEWHERE = {
    **request()["source"],
    "paths": ["/data/set", {"path": "/data/run-17", "as": "2026/run"}, {"path": "/data/in/", "as": "here/in"}],
}
IN_HDFS = between_clusters(
    source={"paths": ["/warehouse/sales", {"path": "/warehouse/stock", "as": "2026/stock"}]},
    destination={"replication": 2, "blockSizeMiB": 256},
)
OF_HDFS: dict[str, dict[str, Any]] = {
    "scan source": commands.scan_source(IN_HDFS, CONTROL, "announced/first.json"),
    "scan beside": commands.scan_beside(IN_HDFS, CONTROL, "s1", ".cpt-partial-beside"),
    "scan digests": commands.scan_digests(IN_HDFS, CONTROL, 3),
    "marked": commands.marked(IN_HDFS, "0" * 32, ["/warehouse"]),
    "marked at destination": commands.marked_at_destination(IN_HDFS, "0" * 32, "/backup"),
    "send": commands.send(IN_HDFS, CONTROL, "s0", 1, f"{ENDS}plan.json", 900),
    "scan destination": commands.scan_destination(IN_HDFS, CONTROL),
    "mark": commands.mark(IN_HDFS, "0" * 32, present=True),
    "mark in the source": commands.mark_source(IN_HDFS, "/warehouse", "0" * 32, present=True),
    "scan comparison": commands.scan_comparison(IN_HDFS, CONTROL, 3),
    "scan extras": commands.scan_extras(IN_HDFS, CONTROL, survey(3).source),
    "receive": commands.receive(IN_HDFS, CONTROL, "r0", 1, f"{ENDS}plan.json"),
}
COMMANDS: dict[str, dict[str, Any]] = {
    "scan source": commands.scan_source(transfer(), CONTROL),
    "scan source, announced": commands.scan_source(transfer(), CONTROL, "announced/first.json"),
    "scan source that may be packed": commands.scan_source(transfer(compress="auto"), CONTROL),
    "scan destination": commands.scan_destination(transfer(), CONTROL),
    "receive": commands.receive(transfer(), CONTROL, "r0", 1, f"{ENDS}plan.json"),
    "receive with readback": commands.receive(transfer(verify="readback"), CONTROL, "r0", 1, f"{ENDS}plan.json"),
    "receive by checksum": commands.receive(transfer(verify="crc64"), CONTROL, "r0", 1, f"{ENDS}plan.json"),
    "send by checksum": commands.send(transfer(verify="crc64"), CONTROL, "s0", 1, f"{ENDS}plan.json", 900),
    "send": commands.send(transfer(), CONTROL, "s0", 1, f"{ENDS}plan.json", 900),
    "send packed": commands.send(transfer(compress="auto"), CONTROL, "s0", 1, f"{ENDS}plan.json", 900),
    "scan digests": commands.scan_digests(transfer(), CONTROL, 3),
    "scan comparison": commands.scan_comparison(transfer(), CONTROL, 3),
    "scan extras": commands.scan_extras(transfer(delete=True), CONTROL, survey(3).source),
    "scan extras of a selection": commands.scan_extras(
        transfer(delete=True, select={"exclude": ["*.o"]}, preserve={"specialFiles": True}),
        CONTROL,
        survey(3).source.model_copy(update={"unselected_parts": 1, "unselected_digest": "cd" * 32}),
    ),
    "delete": commands.delete(transfer(delete=True), CONTROL, extras(), 65536),
    "scan source that lands elsewhere": commands.scan_source(transfer(source=ELSEWHERE), CONTROL),
    "scan digests of what lands elsewhere": commands.scan_digests(transfer(source=ELSEWHERE), CONTROL, 3),
    "scan extras of what lands elsewhere": commands.scan_extras(
        transfer(delete=True, source=ELSEWHERE), CONTROL, survey(3).source
    ),
    "receive what lands elsewhere": commands.receive(transfer(source=ELSEWHERE), CONTROL, "r0", 1, f"{ENDS}plan.json"),
    "send what lands elsewhere": commands.send(transfer(source=ELSEWHERE), CONTROL, "s0", 1, f"{ENDS}plan.json", 900),
    "relay": commands.relay("first", ["k" * 43], 600, {"i-0123456789abcdef0": LAUNCHED}),
    "relays, one of them on an existing machine": commands.relay(
        "first", ["k" * 43], 600, {"i-0123456789abcdef0": LAUNCHED, "i-0123456789abcdef1": LENT}
    ),
    "probe listen": commands.probe("first", "listen", LISTEN, 20.0),
    "probe connect": commands.probe("first", "connect", "54.0.0.1:4600", 15.0),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_fits_its_contract(name: str) -> None:
    SCHEMA.validate(COMMANDS[name])


@pytest.mark.parametrize("name", OF_HDFS)
def test_a_command_about_hdfs_fits_its_contract_and_says_the_user(name: str) -> None:
    command = OF_HDFS[name]
    SCHEMA.validate(command)
    end = command["end"]
    assert (end["kind"], end["user"]) == ("hdfs", "etl")
    reads = {"scan source", "scan beside", "scan digests", "marked", "marked at destination", "send"}
    assert ("paths" in end, "path" in end) == (name in reads, name not in reads)
    assert ("blockSizeBytes" in end) == ("path" in end and name != "mark in the source"), "as the destination is asked"


def test_another_worker_looks_below_each_path_and_at_the_destination_as_the_first_one_calls_it() -> None:
    there = [f"{path}/.cpt-partial-beside" for path in ("/warehouse/sales", "/warehouse/stock")]
    assert OF_HDFS["scan beside"]["end"]["paths"] == there
    assert OF_HDFS["marked at destination"]["end"] == {"kind": "hdfs", "user": "etl", "paths": ["/backup"]}
    assert OF_HDFS["mark in the source"]["end"] == {"kind": "hdfs", "user": "etl", "path": "/warehouse"}


def test_the_sender_packs_where_the_request_says_so() -> None:
    assert [COMMANDS[name]["compress"] for name in ("send", "send packed")] == ["never", "auto"]
    assert COMMANDS["scan source that may be packed"]["compress"] == "auto"
    assert "compress" not in COMMANDS["scan source"]


def test_what_reads_the_source_is_told_its_paths() -> None:
    for name in ("scan source", "scan digests", "send"):
        assert COMMANDS[name]["end"] == {"kind": "machine", "paths": transfer().request.source.asked_paths}


def test_what_touches_the_destination_is_told_its_directory() -> None:
    for name in ("scan destination", "scan comparison", "scan extras", "delete", "receive"):
        assert COMMANDS[name]["end"] == {"kind": "machine", "path": transfer().request.destination.where}


def test_where_paths_land_is_told_to_whatever_lists_or_makes_something_of_it() -> None:
    named = ELSEWHERE["paths"]
    told = {name: command for name, command in COMMANDS.items() if name.endswith("elsewhere")}
    assert [command["end"].get("paths") for command in told.values()] == [named, named, None, None, named]
    assert [command.get("above") for command in told.values()] == [None, None, *[["2026", "here/in"]] * 2, None]
    extras = COMMANDS["scan extras of what lands elsewhere"]
    assert extras["within"] == extras["apart"] == ["set", "2026/run", "here/in"]
    assert not any("above" in command for name, command in COMMANDS.items() if name not in told)


def test_the_users_of_the_request_are_told_to_whatever_touches_their_end() -> None:
    document = request()
    document["source"]["runAs"], document["destination"]["runAs"] = "reader", "1000"
    named = transfer(source=document["source"], destination=document["destination"])
    at_source = [
        commands.scan_source(named, CONTROL),
        commands.scan_digests(named, CONTROL, 3),
        commands.send(named, CONTROL, "s0", 1, "plan.json", 900),
    ]
    at_destination = [
        commands.scan_destination(named, CONTROL),
        commands.scan_comparison(named, CONTROL, 3),
        commands.scan_extras(named, CONTROL, survey(3).source),
        commands.delete(named, CONTROL, extras(), 65536),
        commands.receive(named, CONTROL, "r0", 1, "plan.json"),
    ]
    for commanded, user in ((at_source, "reader"), (at_destination, "1000")):
        for command in commanded:
            SCHEMA.validate(command)
            assert command["end"]["runAs"] == user
    assert not any("runAs" in command.get("end", {}) for command in COMMANDS.values())


def test_both_ends_are_told_the_same_proof() -> None:
    for verify in ("digest", "readback", "crc64"):
        asked = transfer(verify=verify)
        receiver = commands.receive(asked, CONTROL, "r0", 1, "plan.json")
        sender = commands.send(asked, CONTROL, "s0", 1, "plan.json", 900)
        assert (receiver["verify"], sender["verify"]) == (verify, verify)


def test_receiver_is_told_what_verification_the_request_wants() -> None:
    assert (COMMANDS["receive"]["verify"], COMMANDS["receive with readback"]["verify"]) == ("digest", "readback")


def test_sender_keeps_relays_alive_fifteen_times_as_often_as_they_need() -> None:
    assert LAUNCHED.time_to_live_seconds == 15 * COMMANDS["send"]["keepaliveSeconds"]


def test_encoding_is_base64url_that_decodes_to_the_same() -> None:
    text = commands.encode(COMMANDS["relay"])
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))) == COMMANDS["relay"]


def test_machine_without_public_address_listens_on_one() -> None:
    assert commands.listen_addresses("10.0.0.1", None, 4600) == ["10.0.0.1:4600"]


def test_the_search_for_extras_is_told_all_that_protects_them() -> None:
    plain, selected = COMMANDS["scan extras"], COMMANDS["scan extras of a selection"]
    assert (plain["within"], "select" in plain, "unselectedParts" in plain) == (["set"], False, False)
    assert (selected["select"], selected["end"]["preserve"]["specialFiles"]) == ({"exclude": ["*.o"]}, True)
    assert (selected["unselectedParts"], selected["unselectedDigest"]) == (1, "cd" * 32)
    assert plain["apart"] == ["set"]
    source = {**request()["source"], "paths": ["/data/set/", "/media"]}
    mixed = commands.scan_extras(transfer(source=source), CONTROL, survey(3).source)
    assert ("within" in mixed, mixed["apart"]) == (False, ["media"])


@pytest.mark.parametrize("overwrite", ["always", "if-newer", "never"])
def test_what_is_replaced_is_told_to_the_comparison_and_to_the_search_for_extras(overwrite: str) -> None:
    asked = transfer(overwrite=overwrite)
    for command in (
        commands.scan_comparison(asked, CONTROL, 3),
        commands.scan_extras(asked, CONTROL, survey(3).source),
    ):
        assert command.get("overwrite", "always") == overwrite


def test_where_what_is_replaced_is_kept_is_told_to_all_that_would_touch_it() -> None:
    for asked, name in ((transfer(), None), (transfer(keepReplaced=".replaced"), ".replaced")):
        for command in (
            commands.scan_source(asked, CONTROL),
            commands.scan_destination(asked, CONTROL),
            commands.scan_extras(asked, CONTROL, survey(3).source),
            commands.delete(asked, CONTROL, extras(), 1),
            commands.receive(asked, CONTROL, "r0", 1, "plan.json"),
        ):
            assert command.get("keepReplaced") == name
            SCHEMA.validate(command)


def test_everything_is_sent_where_the_request_says_so() -> None:
    assert "resendAll" not in commands.scan_comparison(transfer(), CONTROL, 3)
    assert commands.scan_comparison(transfer(resendAll=True), CONTROL, 3)["resendAll"] is True


@pytest.mark.parametrize("links", ["skip", "follow"])
def test_both_ends_know_what_becomes_of_links(links: str) -> None:
    asked = transfer(links=links, select={"exclude": ["*.o"]})
    for command in (commands.scan_source(asked, CONTROL), commands.scan_extras(asked, CONTROL, survey(3).source)):
        assert command["select"] == {"exclude": ["*.o"], "links": links}
    assert "select" not in commands.scan_source(transfer(links="keep"), CONTROL)


@pytest.mark.parametrize(("on_problem", "told"), [("fail", None), ("skip", True)])
def test_files_that_cannot_be_read_are_listed_where_the_request_skips_them(on_problem: str, told: bool | None) -> None:
    assert commands.scan_source(transfer(onProblem=on_problem), CONTROL).get("listUnreadable") == told
