"""Start, use and stop a local cloud from Python; what `cpt local` and the tests call."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import boto3
from botocore.config import Config

from local import endpoints, interpreters, nursery
from local.caps import PairCap
from local.config import Fault, LocalConfig
from local.deploy import account_of, deploy, runtimes_of, stacks_of
from local.state import StateDir
from local.waiting import wait_for

CHECKOUT = Path(__file__).parents[1]
ASSEMBLY = Path("cdk.out")
STOP_SECONDS = 20
RELAY_TAG = "cpt:transfer"

T = TypeVar("T")


class LocalCloudError(Exception):
    """The local cloud cannot start or be used; the message says what to do."""


class LocalCloud:
    """One emulator with the stacks of a cloud assembly. `with` starts and stops it."""

    def __init__(self, config: LocalConfig, state_dir: Path | str, assembly: Path | str | None = ASSEMBLY) -> None:
        self.state = StateDir(Path(state_dir).resolve())
        self.config = config
        self.outputs: dict[str, dict[str, str]] = {}
        self.endpoint = ""
        self._clients: dict[tuple[str, str, str], Any] = {}
        self._assembly = None if assembly is None else Path(assembly).resolve()

    @classmethod
    def attach(cls, state_dir: Path | str) -> LocalCloud:
        """The running cloud of a state directory. Raises LocalCloudError when none runs."""
        state = StateDir(Path(state_dir).resolve())
        found = state.read()
        if found is None or not _alive(int(str(found["pid"]))):
            raise LocalCloudError(f"no local cloud runs in {state_dir}; start one with `cpt local up`")
        cloud = cls(LocalConfig.model_validate_json(state.config_file.read_bytes()), state_dir)
        cloud.endpoint = str(found["endpoint"])
        return cloud

    def start(self) -> None:
        """Start the emulator as a process of its own and deploy the assembly; returns when both are done.

        Raises LocalCloudError, DeployError or AssetError; what was started is stopped then.
        """
        running = self.state.read()
        if running is not None and _alive(int(str(running["pid"]))):
            raise LocalCloudError(f"a local cloud runs in {self.state.root} already; stop it with `cpt local down`")
        self.state.clean_up()
        if self._assembly is not None:
            account = account_of(self._assembly)
            if account is not None:
                self.config = self.config.model_copy(update={"account": account})
            self._take_regions(self._assembly)
        self.state.root.mkdir(parents=True, exist_ok=True)
        self.state.config_file.write_text(self.config.model_dump_json(by_alias=True, indent=1), encoding="utf-8")
        try:
            self.endpoint = _spawn(self.state)
            if self._assembly is not None:
                self.outputs = deploy(self._assembly, self.client, self.config.account, self.config.home_region)
        except BaseException:
            self.stop()
            raise

    def _take_regions(self, assembly: Path) -> None:
        """Have the regions of all stacks, unless the configuration names regions: then it must name those."""
        needed = {stack.region: stack.name for stack in stacks_of(assembly, self.config.home_region)}
        missing = [region for region in needed if region not in self.config.regions]
        if missing and "regions" in self.config.model_fields_set:
            raise LocalCloudError(
                f"regions = {self.config.regions}: {needed[missing[0]]} goes to {missing[0]}; write that region into "
                "the configuration too, or synthesize without it (context.cpt.regions in cdk.json)"
            )
        self.config = self.config.model_copy(update={"regions": [*self.config.regions, *missing]})

    def notes(self) -> list[str]:
        """Return what a person should know of this cloud: runtimes of functions that this machine has no Python for."""
        runtimes = sorted(runtimes_of(self._assembly)) if self._assembly is not None else []
        return [told for runtime in runtimes if (told := interpreters.note(runtime))]

    def stop(self) -> None:
        """Stop everything; leaves no process, namespace or instance, and of files only the logs."""
        down(self.state.root)

    def __enter__(self) -> LocalCloud:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        found = self.state.violations.read_text() if self.state.violations.exists() else ""
        self.stop()
        if found and kind is None:
            raise LocalCloudError(f"the emulator answered what AWS never answers (local/conformance):\n{found}")

    def client(self, service: str, region: str | None = None) -> Any:
        """A boto3 client of the account's owner, made once: making one takes 50 ms of a core."""
        key = (self.endpoint, service, region or self.config.home_region)
        if key not in self._clients:
            self._clients[key] = self._make_client(*key)
        return self._clients[key]

    @staticmethod
    def _make_client(endpoint: str, service: str, region: str) -> Any:
        make: Any = boto3.client  # its overloads name every service literally
        return make(
            service,
            region_name=region,
            endpoint_url=endpoint,
            aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 - the emulator's owner
            config=Config(retries={"total_max_attempts": 1}, read_timeout=120),
        )

    def launch_vm(
        self, region: str, name: str, instance_type: str = "t3.small", zone: str = "", *, wait: bool = True
    ) -> str:
        """Launch a VM that can be an end of a transfer: group and policy attached; waits until SSM shows it online."""
        instance_id = endpoints.launch(self.client, region, name, instance_type, zone)
        if wait:
            self.wait_online(region, instance_id)
        return instance_id

    def wait_online(self, region: str, instance_id: str) -> None:
        """Wait until SSM shows a VM online. Raises TimeoutError."""
        ssm = self.client("ssm", region)
        filters = [{"Key": "InstanceIds", "Values": [instance_id]}]
        self.wait_for(lambda: ssm.describe_instance_information(Filters=filters)["InstanceInformationList"], 60)

    def live_relays(self) -> list[str]:
        """Ids of instances of any transfer that are not terminated, in all regions."""
        states = ["pending", "running", "shutting-down"]
        filters = [{"Name": "tag-key", "Values": [RELAY_TAG]}, {"Name": "instance-state-name", "Values": states}]
        found = []
        for region in self.config.regions:
            answer = self.client("ec2", region).describe_instances(Filters=filters)
            found += [item["InstanceId"] for group in answer["Reservations"] for item in group["Instances"]]
        return found

    def calls(self) -> dict[str, float]:
        """Return what was asked for so far that AWS would charge: see `local.calls.Calls.add`."""
        return endpoints.calls(self.endpoint)

    def interrupt(self, instance_id: str, grace_seconds: float | None = None) -> None:
        """Send a spot interruption warning to an instance, which ends after the grace. Raises LocalCloudError."""
        body = json.dumps({"instanceId": instance_id, "graceSeconds": grace_seconds}).encode()
        endpoints.control(self.endpoint, "interrupt", body)

    def spoil(self, fault: Fault) -> None:
        """Add a counted fault; it counts from now on."""
        endpoints.control(self.endpoint, "fault", fault.model_dump_json(by_alias=True).encode())

    def expire(self, access_key: str) -> None:
        """Have a session of a role end now. Raises endpoints.ControlError."""
        endpoints.control(self.endpoint, "expire-session", json.dumps({"accessKeyId": access_key}).encode())

    def age_restores(self, hours: float) -> None:
        """Have so many hours go by for what S3 restores: what is due is restored, and copies expire."""
        endpoints.control(self.endpoint, "age-restores", json.dumps({"hours": hours}).encode())

    def share_subnet(self, region: str, subnet_id: str, owner: str) -> None:
        """Have another account own a subnet, as Resource Access Manager does. Raises endpoints.ControlError."""
        body = json.dumps({"region": region, "subnetId": subnet_id, "owner": owner}).encode()
        endpoints.control(self.endpoint, "share-subnet", body)

    def begin_changes(self, between: Mapping[str, PairCap] | None = None) -> None:
        """Count the changes of the caps between regions from now on; `between` in place of the configured caps.

        Returns when all running VMs are held to them. Raises endpoints.ControlError.
        """
        given = {pair: cap.model_dump(by_alias=True) for pair, cap in (between or {}).items()} or None
        endpoints.control(self.endpoint, "begin-changes", json.dumps({"between": given}).encode())

    def has_delayed(self, operation: str, region: str) -> bool:
        """Return whether a fault has made such a call late, which may still wait."""
        try:
            endpoints.control(self.endpoint, "delayed", json.dumps({"operation": operation, "region": region}).encode())
        except endpoints.ControlError:
            return False
        return True

    @contextmanager
    def holding(self, request: str) -> Iterator[None]:
        """Requests whose `METHOD /path` matches the pattern `request` are not served until the end."""
        endpoints.control(self.endpoint, "hold", json.dumps({"request": request}).encode())
        try:
            yield
        finally:
            endpoints.control(self.endpoint, "release", b"")

    def wait_for(self, find: Callable[[], T | None], seconds: float) -> T:
        """The first true value of `find()`. Raises TimeoutError after `BUSY` times the `seconds` of an idle machine."""
        return wait_for(find, seconds)  # the APIs have no push


def up(config: LocalConfig, state_dir: Path, assembly: Path = ASSEMBLY) -> LocalCloud:
    """Start a local cloud that outlives the caller."""
    cloud = LocalCloud(config, state_dir, assembly)
    cloud.start()
    return cloud


def down(state_dir: Path) -> None:
    """Stop the cloud of a state directory and remove what it left, also after its emulator was killed."""
    state = StateDir(Path(state_dir).resolve())
    running = state.read()
    if running is not None:
        pid = int(str(running["pid"]))
        if pid in state.processes():
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + STOP_SECONDS
            while _alive(pid) and time.monotonic() < deadline:
                time.sleep(0.02)
    state.clean_up()
    shutil.rmtree(state.root / "tmp", ignore_errors=True)


def status(state_dir: Path) -> dict[str, object]:
    """`{"running": bool, …}` with what the state file says."""
    state = StateDir(Path(state_dir).resolve())
    found = state.read()
    if found is None:
        return {"running": False}
    return {"running": _alive(int(str(found["pid"]))), **found}


def namespaces_available() -> bool:
    """Return whether instances can be network namespaces here: root, with iproute2 and nftables."""
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in ("ip", "tc", "nft", "nsenter")):
        return False
    with tempfile.NamedTemporaryFile(prefix="cptprobe", dir="/tmp") as unique:
        name = Path(unique.name).name
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
        if made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return made


def _spawn(state: StateDir) -> str:
    """Start the emulator's process; its endpoint. Raises LocalCloudError with the end of its log."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("AWS_")},
        "CPT_LOCAL_STATE": str(state.root),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(CHECKOUT), os.environ.get("PYTHONPATH")])),
        "PYTHONUNBUFFERED": "1",
        # As Lambda's runtime and the machines' agent do, whatever the terminal's locale.
        "PYTHONUTF8": "1",
    }
    reading, writing = os.pipe()
    with state.log_file.open("wb") as log:
        if not nursery.start(state.root, environment, writing, log.fileno()):
            subprocess.Popen(
                [sys.executable, "-m", "local.emulator", str(state.root)],
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=log,
                env=environment,
                cwd=state.root,
                start_new_session=True,
            )
    os.close(writing)
    with os.fdopen(reading) as answer:
        line = answer.readline().strip()
    if not line.startswith("http"):
        end = state.log_file.read_text(errors="replace").strip().splitlines()[-5:]
        raise LocalCloudError("the local cloud did not start: " + " / ".join(end))
    return line


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
