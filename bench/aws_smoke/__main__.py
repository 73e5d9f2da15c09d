"""`make aws-smoke`: from permissions to teardown, in this order, stopping at the first failure.

Permissions are simulated; the stacks are deployed unless they are there; RunInstances is tried dry; two small machines
are launched; one transfer moves files through one pair of relays; every claim about it is checked, and what is left of
it. Whatever this run has made is removed, also after a failure or Ctrl-C: machines, files, and stacks unless `--keep`.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn
from urllib.parse import urlsplit

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from bench.aws_smoke import account, ends, questions, transfer
from bench.aws_smoke.account import SmokeError
from bench.aws_smoke.options import Options, ends_usd, parse
from bench.aws_smoke.recording import Recorder
from bench.results import Result, publish, say, versions
from cli.settings import configuration

FAILURES = (SmokeError, ClientError, BotoCoreError, OSError)


class Smoke:
    """One run: what it has made so far, so that it can be removed."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.run = f"smoke-{int(time.time())}-{os.getpid()}"
        self.recorder = Recorder()
        session = boto3.Session()
        self.recorder.attach(session.events)
        make: Any = session.client  # its overloads name every service literally
        self.client: account.Client = cache(
            lambda service, region=None: make(service, region_name=region or options.home)
        )
        self.made_stacks = False
        self.launched_at: float | None = None
        self.execution: str | None = None
        self.usd = 0.0
        self.end_regions = (options.source, options.destination)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Say what is done, and keep how long it took."""
        say(f"aws-smoke: {what} …")
        began = time.monotonic()
        try:
            yield
        finally:
            self.recorder.timings[what] = round(time.monotonic() - began, 1)

    def go(self) -> list[Result]:
        """All steps; what was measured. Raises one of FAILURES."""
        options, client = self.options, self.client
        with self.step("permissions"):
            say(f"  {account.check_permissions(client, deploys=not options.deployed)}")
        if not options.deployed:
            with self.step("deploy"):
                self.made_stacks = not account.stacks_of(client, options.name, options.home, options.regions)
                account.cdk("deploy", "--require-approval", "never")
        requests = {region: ends.launch_request(client, options, region, self.run) for region in self.end_regions}
        with self.step("dry run"):
            for region, request in requests.items():
                ends.dry_run(client, region, request)
            identity = client("sts").get_caller_identity()["Account"]
            bucket = f"{options.name}-control-{identity}-{options.home}"
            questions.ask(client, options, requests[options.source]["NetworkInterfaces"][0]["SubnetId"], bucket)
        with self.step("machines"):
            self.launched_at = time.monotonic()
            source, destination = (
                client("ec2", region).run_instances(**request)["Instances"][0]["InstanceId"]
                for region, request in requests.items()
            )
            for region, instance in zip(self.end_regions, (source, destination), strict=True):
                ends.wait_online(client, region, instance)
                client("ec2", region).describe_instances(InstanceIds=[instance])  # for the recording
        with self.step("files"):
            sent = transfer.make_files(client, options, source, self.run)
        with self.step("transfer"):
            report = self._transfer(transfer.request_of(options, source, destination, self.run), bucket)
        with self.step("comparison"):
            received = transfer.arrived(client, options, destination, self.run)
        with self.step("teardown"):
            gone = self._wait_gone()
        found = transfer.problems(report, options, sent, received) + gone
        self.usd += report["cost"]["total"]
        self.recorder.timings["relayStarts"] = report["fleet"]["starts"]
        self.recorder.timings["reportSeconds"] = report["seconds"]
        through = transfer.bytes_by_path(report)
        share = through["pair-1"] / report["bytes"]
        return [
            Result("data", report["seconds"]["transfer"], "s", options.relay_seconds, "higher"),
            Result("through pair-1", share, "of the bytes", transfer.LEAST_SHARE, "higher"),
            Result("cost of the transfer", report["cost"]["total"], "$", round(options.transfer_usd, 4)),
            Result("claims that do not hold", len(found), "", 0, note="; ".join(found)),
        ]

    def _transfer(self, request: dict[str, Any], bucket: str) -> dict[str, Any]:
        machine = account.outputs(self.client, f"{self.options.name}-control", self.options.home)["StateMachineArn"]
        # Known before it starts, so that an answer which is lost leaves nothing behind.
        self.execution = f"{machine.replace(':stateMachine:', ':execution:')}:{self.run}"
        started = self.client("stepfunctions").start_execution(
            stateMachineArn=machine, name=self.run, input=json.dumps(request)
        )
        seconds = self.options.megabytes * 8 / self.options.limit_mbps
        execution = transfer.wait(self.client, started["executionArn"], seconds * 2 + 600)
        self.execution = None
        if execution["status"] != "SUCCEEDED":
            raise SmokeError(f"{execution['status']}: {execution.get('error')}: {execution.get('cause')}")
        return transfer.read_report(self.client, execution, bucket)

    def _wait_gone(self) -> list[str]:
        """What of the transfer is left for too long, one line each."""
        regions = self.end_regions
        try:
            ends.wait_for(
                lambda: not transfer.left(self.client, regions, self.run), transfer.LEFT_SECONDS, "what the relays had"
            )
        except SmokeError:
            return [f"left after the teardown: {one}" for one in transfer.left(self.client, regions, self.run)]
        return []

    def clean_up(self) -> list[str]:
        """Remove what this run has made; what could not be removed, one line each."""
        steps: list[Callable[[], object]] = []
        if self.execution is not None:
            steps += [self._stop]
        if self.launched_at is not None:
            steps += [lambda region=region: self._end(region) for region in self.end_regions]  # type: ignore[misc]
        if self.made_stacks and not self.options.keep:
            steps += [self._destroy]
        problems = []
        for step in steps:
            try:
                step()
            except FAILURES as error:
                problems.append(str(error))
        if self.launched_at is not None:
            self.usd += ends_usd(self.end_regions, max(time.monotonic() - self.launched_at, 60.0))
        return problems

    def _stop(self) -> None:
        say("aws-smoke: stopping the execution; its relays end with it …")
        states = self.client("stepfunctions")
        try:
            states.stop_execution(executionArn=self.execution, cause="make aws-smoke was ended")
        except states.exceptions.ExecutionDoesNotExist:
            return
        if gone := self._wait_gone():
            raise SmokeError("; ".join(gone))

    def _end(self, region: str) -> None:
        say(f"aws-smoke: terminating the machine in {region} …")
        folder = transfer.FOLDER.format(run=self.run)
        for instance in ends.live(self.client, region, ends.TAG, self.run):
            try:
                # Where machines share a file system (the local cloud), terminating them removes no files.
                ends.shell(self.client, region, instance, f"rm -rf {folder}")
            except FAILURES as error:
                say(f"  {folder} on {instance} goes with it: {error}")
        ends.terminate(self.client, region, self.run)

    def _destroy(self) -> None:
        options = self.options
        with self.step("destroy"):
            account.cdk("destroy", "--force", to_the_end=True)
        found = account.stacks_of(self.client, options.name, options.home, options.regions)
        found += transfer.left_of_deployment(self.client, options.regions, options.name)
        if found:
            raise SmokeError(f"left of the deployment: {', '.join(found)}")

    @property
    def cloud(self) -> str:
        """Who answered."""
        host = urlsplit(self.client("sts").meta.endpoint_url).hostname or ""
        return "aws" if host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu")) else "local"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all steps and clean up; 0 only if every claim holds and nothing is left."""
    smoke = Smoke(parse(sys.argv[1:] if arguments is None else arguments, configuration()))
    signal.signal(signal.SIGTERM, _interrupted)
    results: list[Result] = []
    failure = ""
    try:
        results = smoke.go()
    except FAILURES as error:
        failure = str(error)
    except KeyboardInterrupt:
        failure = "interrupted"
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: say("aws-smoke: still removing what was made; that ends by itself"))
        left = smoke.clean_up()
        smoke.recorder.save(smoke.options.record, smoke.cloud, versions()["commit"])
    problems = ([failure] if failure else []) + left
    say(
        "".join(f"aws-smoke: {problem}\n" for problem in problems) + f"aws-smoke: answers are in {smoke.options.record}"
    )
    most = smoke.options.max_cost_usd
    results += [
        Result("cost of everything", smoke.usd, "$", most, note="by the table of prices, machines at their most"),
        Result("steps that failed", len(problems), "", 0, note="; ".join(problems)),
    ]
    return publish("aws-smoke", results, "make aws-smoke")


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
