"""Who has credentials of a role with a path, and runs `make aws-smoke` with them."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.aws_smoke.ends import TAG
from local.cloud import CHECKOUT, LocalCloud
from tests.e2e.account import HOME, OTHER

TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}],
}
ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


@dataclass
class Person:
    """Who runs it: credentials of a role with a path, and a directory with `cdk.json`."""

    cloud: LocalCloud
    work: Path
    environment: dict[str, str]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "bench.aws_smoke", "--yes", *arguments]
        return subprocess.Popen(
            command,
            cwd=self.work,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # Where the tests themselves were started in the background, a shell has had them ignore Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def machines(self) -> dict[str, list[str]]:
        """State of every machine that the account has ever had, by the run that it was for."""
        found: dict[str, list[str]] = {}
        for region in (HOME, OTHER):
            for group in self.cloud.client("ec2", region).describe_instances()["Reservations"]:
                for one in group["Instances"]:
                    (run,) = (tag["Value"] for tag in one["Tags"] if tag["Key"] in (TAG, "cpt:transfer"))
                    found.setdefault(run, []).append(one["State"]["Name"])
        return found


def by_role(cloud: LocalCloud, work: Path) -> Person:
    """A person whose role lies below a path, and who starts programs in the directory `work`."""
    iam = cloud.client("iam")
    role = iam.create_role(Path="/team/data/", RoleName="mover", AssumeRolePolicyDocument=json.dumps(TRUST))
    iam.put_role_policy(RoleName="mover", PolicyName="all", PolicyDocument=json.dumps(ALL))
    keys = cloud.client("sts").assume_role(RoleArn=role["Role"]["Arn"], RoleSessionName="me")["Credentials"]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "PYTHONPATH": str(CHECKOUT),
        "AWS_ENDPOINT_URL": cloud.endpoint,
        "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
        "AWS_SESSION_TOKEN": keys["SessionToken"],
        "AWS_DEFAULT_REGION": HOME,
    }
    return Person(cloud, work, environment)
