"""A transfer that is stopped and run again while somebody changes destination, tables or bucket in between."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.e2e.account import Account, Run
from tests.e2e.files import tree

FILES, FILE_BYTES = 12, 500_000
LIMIT_MBPS = 4
"""While a run is to be stopped: 6 MB take 12 s, so that a slow machine too stops it in the middle."""
STOP_BYTES = 1_000_000
TABLES = ("cpt-transfers", "cpt-chunks", "cpt-nodes")

Tables = dict[str, list[dict[str, Any]]]


class Story:
    """One transfer by its name, and what happens to it."""

    def __init__(self, account: Account, work: Path, name: str, seed: int) -> None:
        self.account, self.name, self.random = account, name, Random(seed)
        self.source, self.out = work / "set", work / "out"
        self.runs = 0
        self.told: list[str] = []
        self.compare = "size-time"
        self.saved: Tables | None = None
        self.before: dict[str, Any] | None = None  # the sender's last report of an earlier run
        (self.source / "deep" / "empty").mkdir(parents=True)
        for number in range(FILES):
            place = self.source / ("deep" if number % 3 else ".") / f"{'.' * (number % 4 == 0)}{number:02d}"
            place.write_bytes(self.random.randbytes(FILE_BYTES))
        (self.source / "link").symlink_to("deep/01")

    def tell(self, *steps: str) -> None:
        """Take these steps, by the names of the methods; success is checked whenever an execution says it."""
        # Other bytes of the same size and time are the same file unless the request says how to tell them apart.
        self.compare = "digest" if "replace one" in steps else "size-time"
        for step in steps:
            self.told.append(step)
            getattr(self, step.replace(" ", "_"))()

    # Executions.

    def begin_and_stop(self) -> None:
        """Stopped from outside once some chunks have arrived; nothing runs any more then."""
        arn = self._start(bandwidthLimitMbps=LIMIT_MBPS)
        self._arrived(arn)
        if self.account.describe(arn)["status"] == "RUNNING":
            client = self.account.aws.client("stepfunctions")
            client.stop_execution(executionArn=arn, error="User", cause="changed my mind")
        self._check(self.account.wait(arn))
        self.account.cloud.wait_for(lambda: not self.account.left(self.name), 90)

    def run(self) -> Run:
        """To its end, whatever that is."""
        run = self.account.wait(self._start())
        self._check(run)
        return run

    def run_while_files_vanish(self) -> None:
        """Files that have arrived are removed while others are still on their way."""
        arn = self._start(bandwidthLimitMbps=LIMIT_MBPS)
        in_time = True
        if self._arrived(arn):
            self.remove_some()
            # Else the receiver may have looked for the last time before.
            in_time = any(item["state"] != "DELIVERED" for item in self.account.chunks(self.name))
        run = self.account.wait(arn)
        if in_time:
            self._check(run)

    def succeed(self) -> None:
        """Without any interference it gets there."""
        run = self.run()
        assert (run.status, run.error, run.cause) == ("SUCCEEDED", None, None), ", ".join(self.told)

    # What somebody does meanwhile.

    def remove_some(self) -> None:
        """Files at the destination; a directory sometimes."""
        found = sorted(path for path in self._out().rglob("*") if path.is_file() and ".cpt-partial" not in str(path))
        for path in self.random.sample(found, k=min(2, len(found))):
            path.unlink()
        if self.random.random() < 0.3:
            shutil.rmtree(self._out() / "deep", ignore_errors=True)

    def replace_one(self) -> None:
        """By other bytes; size, mode and modification time stay."""
        found = sorted(path for path in self._out().rglob("*") if path.is_file() and ".cpt-partial" not in str(path))
        for path in self.random.sample(found, k=min(1, len(found))):
            stat = path.stat()
            path.write_bytes(self.random.randbytes(stat.st_size))
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def clear_visible(self) -> None:
        """As `rm -rf *` does: what begins with a dot stays."""
        for path in self.out.glob("*") if self.out.exists() else []:
            if not path.name.startswith("."):
                shutil.rmtree(path)

    def clear_all(self) -> None:
        """Partial files too."""
        shutil.rmtree(self.out, ignore_errors=True)

    def save_tables(self) -> None:
        """A backup."""
        tables = (self._table(name) for name in TABLES)
        self.saved = {table.name: table.scan(ConsistentRead=True)["Items"] for table in tables}

    def restore_tables(self) -> None:
        """The backup takes the tables' place."""
        self.empty_tables()
        for name, items in (self.saved or {}).items():
            with self._table(name).batch_writer() as writer:
                for item in items:
                    writer.put_item(Item=item)

    def empty_tables(self) -> None:
        """Nothing is known of any transfer."""
        for table in map(self._table, TABLES):
            keys = [key["AttributeName"] for key in table.key_schema]
            with table.batch_writer() as writer:
                for item in table.scan(ConsistentRead=True)["Items"]:
                    writer.delete_item(Key={key: item[key] for key in keys})

    def empty_bucket(self) -> None:
        """Plans, manifests, listings, digests and reports are gone."""
        self.account.aws.resource("s3").Bucket(self.account.bucket).objects.all().delete()

    def make_deployment_anew(self) -> None:
        """What `cdk destroy` and `cdk deploy` leave."""
        self.empty_tables()
        self.empty_bucket()

    def _out(self) -> Path:
        return self.out / "set"

    def _table(self, name: str) -> Any:
        return self.account.aws.resource("dynamodb").Table(name)

    def _start(self, **more: Any) -> str:
        self.runs += 1
        self.before = self.account.record(self.name, "progress#s0")
        known = self.account.record(self.name, "transfer") is not None
        request = self.account.request(
            self.source,
            self.out,
            relays={"pairs": 0},
            chunkSizeMiB=1,
            name=self.name,
            resume=known,
            compare=self.compare,
            **more,
        )
        return self.account.start(request, f"{self.name}-{self.runs}")

    def _arrived(self, arn: str) -> bool:
        """Wait until some bytes are delivered or the execution has ended; whether it still runs."""

        def reached() -> bool:
            report = self.account.record(self.name, "progress#s0")
            return report not in (None, self.before) and self.account.progress(self.name).get("bytes", 0) >= STOP_BYTES

        running: Callable[[], bool] = lambda: self.account.describe(arn)["status"] == "RUNNING"  # noqa: E731
        self.account.cloud.wait_for(lambda: reached() or not running(), 60)
        return running()

    def _check(self, run: Run) -> None:
        assert run.error is None or run.status != "SUCCEEDED"
        if run.status == "SUCCEEDED":
            assert run.report["verified"] is True
            assert tree(self._out()) == tree(self.source), f"{self.name} says success after: {', '.join(self.told)}"
            assert [path.name for path in self.out.iterdir()] == ["set"]
        else:
            assert run.error, f"{self.name} gives no reason after: {', '.join(self.told)}"
