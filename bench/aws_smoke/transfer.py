"""The transfer, and what proves that it did what is claimed."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from bench.aws_smoke import ends
from bench.aws_smoke.account import Client
from bench.aws_smoke.options import Options

SMALL_FILES = 20
FOLDER = "/var/tmp/cpt-smoke-{run}"  # noqa: S108 - of the machines that the run has made
SUMS = "cd {folder} && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum"
# A relay that joins at the last moment still has the last 5 % of the time, and about half of what moves then.
LEAST_SHARE = 0.01
LEFT_SECONDS = 300.0


def make_files(client: Client, options: Options, instance: str, run: str) -> dict[str, str]:
    """Files of several sizes, with spaces and nothing in them; the digest of each by name."""
    folder = f"{FOLDER.format(run=run)}/data"
    script = (
        f"set -e; mkdir -p {folder}/deep; : > {folder}/empty; "
        f'for i in $(seq {SMALL_FILES}); do head -c $((i * 997)) /dev/urandom > "{folder}/deep/small $i"; done; '
        f"head -c {options.megabytes}000000 /dev/urandom > {folder}/large; " + SUMS.format(folder=folder)
    )
    return _digests(ends.shell(client, options.source, instance, script))


def arrived(client: Client, options: Options, instance: str, run: str) -> dict[str, str]:
    """The digest of each file at the destination."""
    folder = f"{FOLDER.format(run=run)}/incoming/data"
    return _digests(ends.shell(client, options.destination, instance, SUMS.format(folder=folder)))


def request_of(options: Options, source: str, destination: str, run: str) -> dict[str, Any]:
    """The request of the execution."""
    folder = FOLDER.format(run=run)
    return {
        "source": {"instanceId": source, "region": options.source, "paths": [f"{folder}/data"]},
        "destination": {"instanceId": destination, "region": options.destination, "path": f"{folder}/incoming"},
        "relays": {"pairs": 1, "instanceTypes": [options.relay_type]},
        "bandwidthLimitMbps": options.limit_mbps,
        "objective": {"maxCostUsd": round(options.transfer_usd, 4), "onBudget": "stop"},
        "preTest": False,
    }


def wait(client: Client, arn: str, seconds: float) -> dict[str, Any]:
    """The execution once it has ended. Raises SmokeError."""
    states = client("stepfunctions")

    def ended() -> dict[str, Any] | None:
        found: dict[str, Any] = states.describe_execution(executionArn=arn)
        return found if found["status"] != "RUNNING" else None

    return ends.wait_for(ended, seconds, f"end of {arn}")


def read_report(client: Client, execution: Mapping[str, Any], bucket: str) -> dict[str, Any]:
    """The whole report; the execution's output has a part of it."""
    key = f"transfers/{json.loads(execution['output'])['transferId']}/report.json"
    document: dict[str, Any] = json.loads(client("s3").get_object(Bucket=bucket, Key=key)["Body"].read())
    return document


def bytes_by_path(report: Mapping[str, Any]) -> Counter[str]:
    """Delivered payload by path, from the bars of its lanes."""
    found: Counter[str] = Counter()
    for lane in report["course"]["lanes"]:
        found[lane["pathId"]] += sum(bar["bytes"] for bar in lane["bars"])
    return found


def problems(
    report: Mapping[str, Any], options: Options, sent: Mapping[str, str], received: Mapping[str, str]
) -> list[str]:
    """What is not as claimed, one line each."""
    through, size, cost = bytes_by_path(report), report["bytes"], report["cost"]["total"]
    seconds = report["seconds"]["transfer"]
    different = sorted(name for name in sent.keys() | received.keys() if sent.get(name) != received.get(name))
    running = [node["nodeId"] for node in report["nodes"] if node.get("endedAt") is None]
    claims = {
        f"{len(sent)} files at the source, {SMALL_FILES + 2} were made": len(sent) == SMALL_FILES + 2,
        f"different at the destination: {', '.join(different[:5])}": not different,
        f"verification said {report['verified']}": report["verified"] is True,
        f"{through['direct']} bytes on the direct path: it carries data from the start": through["direct"] > 0,
        f"{through['pair-1']} of {size} bytes through pair-1, {LEAST_SHARE:.0%} is the least": (
            through["pair-1"] >= LEAST_SHARE * size
        ),
        f"it took {seconds:.1f} s, less than the {options.relay_seconds:g} s that the limit of {options.limit_mbps} "
        "Mbit/s makes it take": seconds >= options.relay_seconds,
        f"relays that the report has as running: {', '.join(running)}": not running,
        f"the report's ${cost:.4f} exceed maxCostUsd ${options.transfer_usd:.4f}": cost <= options.transfer_usd,
    }
    return [claim for claim, holds in claims.items() if not holds]


def left(client: Client, regions: tuple[str, ...], transfer_id: str) -> list[str]:
    """What of a transfer is still there: machines, disks, rules."""
    found = []
    for region in regions:
        ec2, filters = client("ec2", region), [{"Name": "tag:cpt:transfer", "Values": [transfer_id]}]
        found += [f"{one} in {region}" for one in ends.live(client, region, "cpt:transfer", transfer_id)]
        rules = ec2.describe_security_group_rules(Filters=filters)["SecurityGroupRules"]
        found += [f"{rule['SecurityGroupRuleId']} in {region}" for rule in rules]
        volumes = ec2.describe_volumes(Filters=filters)["Volumes"]
        found += [f"{one['VolumeId']} in {region}" for one in volumes if one["State"] != "deleting"]
    return found


def left_of_deployment(client: Client, regions: tuple[str, ...], name: str) -> list[str]:
    """What EC2 still has with the deployment's tag, terminated machines aside."""
    found = []
    for region in regions:
        ec2 = client("ec2", region)
        filters = [{"Name": "tag:cpt:deployment", "Values": [name]}]
        found += [f"{one} in {region}" for one in ends.live(client, region, "cpt:deployment", name)]
        for operation, items, key in (
            ("describe_vpcs", "Vpcs", "VpcId"),
            ("describe_security_groups", "SecurityGroups", "GroupId"),
            ("describe_volumes", "Volumes", "VolumeId"),
            ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
        ):
            answer = getattr(ec2, operation)(Filters=filters)
            found += [f"{one[key]} in {region}" for one in answer[items]]
    return found


def _digests(listing: str) -> dict[str, str]:
    return {name: digest for digest, _, name in (line.partition("  ") for line in listing.splitlines())}
