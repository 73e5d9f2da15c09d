"""Two Hadoops on a local cloud, and the transfer of a staged copy: the product, between the name nodes' machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.hdfs.staged_job import WORKERS, Rates, StagingError
from bench.hdfs.staged_run import Move
from bench.hdfs.staged_side import Side
from bench.machine import DAEMON
from local.cloud import LocalCloud, namespaces_available
from local.config import LocalConfig
from local.hadoop.cluster import HadoopCluster
from local.hadoop.instances import on_instances
from local.hadoop.runtime import Runtime
from local.hadoop.settings import Options
from tests.e2e.account import HOME, OTHER, Account
from tests.e2e.image import with_daemon

TRANSFER_SECONDS = 600.0
ENDED_SECONDS = 120.0


@dataclass
class Site:
    """A deployment, and a Hadoop in each of its two regions. `account.source` and `account.destination` are the
    machines of the name nodes; `workers` are those of the data nodes of both, lent to the deployment.
    """

    account: Account
    source: HadoopCluster
    destination: HadoopCluster
    workers: list[str]
    started: int = 0

    def sides(self, folder: str) -> tuple[Side, Side]:
        """Both sides of one copy, with staging folders of that name in the homes of the name nodes' machines."""
        homes = self.account.cloud.state.instances
        return (
            Side("source", self.source, homes / self.account.source / "mnt" / folder),
            Side("destination", self.destination, homes / self.account.destination / "mnt" / folder),
        )

    def moving(self, pairs: int = 0) -> Move:
        """How `copy_staged` moves its files: by the workers, all of them lent, and `pairs` pairs that are launched."""

        def move(source: str, destination: Path) -> dict[str, Any]:
            self.started += 1
            name = f"staged-{self.started}"
            relays = {"pairs": len(self.workers) // 2 + pairs, "existing": self.workers, "existingShare": 1.0}
            arn = self.account.start(self.account.request(source, destination, relays=relays), name)
            try:
                run = self.account.wait(arn, TRANSFER_SECONDS)
            except BaseException:
                self._end(arn)
                raise
            if run.status != "SUCCEEDED":
                raise StagingError(f"transfer: {run.status}: {run.error}: {run.cause}")
            return run.report

        return move

    def _end(self, arn: str) -> None:
        """Stop a transfer; returns when neither name node's machine works for it, so that nothing is written any more.

        Raises TimeoutError.
        """
        account = self.account
        account.aws.client("stepfunctions").stop_execution(executionArn=arn, cause="the staged copy was ended")
        for machine, region in ((account.source, HOME), (account.destination, OTHER)):
            account.cloud.wait_for(partial(self._is_idle, machine, region), ENDED_SECONDS)

    def _is_idle(self, machine: str, region: str) -> bool:
        return not self.account.units(machine, region)


@contextmanager
def laboratory(runtime: Runtime, folder: Path, rates: Rates, options: Options | None = None) -> Iterator[Site]:
    """A local cloud with both clusters; all of it is gone at the end. `folder`: of its files, without a blank.

    Machines are network namespaces where this machine has them, else processes. Raises HadoopError, TimeoutError or
    LocalCloudError.
    """
    caps = {"interRegionMBps": rates.inter_mb_s, "intraRegionMBps": rates.intra_mb_s}
    settings = {
        "port": 0,
        "instances": "netns" if namespaces_available() else "process",
        "caps": caps,
        "bootSeconds": rates.boot_seconds,
        "pollSeconds": 0.2,
        "image": with_daemon(folder / "image") if DAEMON.exists() else None,
    }
    with ExitStack() as stack:
        cloud = stack.enter_context(LocalCloud(LocalConfig.model_validate(settings), folder / "state"))
        account = Account(cloud, folder)
        clusters, workers = [], []
        for region, name_node in ((HOME, account.source), (OTHER, account.destination)):
            lent = [account.lend(region) for _ in range(WORKERS)]
            clusters.append(stack.enter_context(on_instances(runtime, cloud, region, name_node, lent, options)))
            workers += lent
        yield Site(account, clusters[0], clusters[1], workers)
