"""Instances as processes on loopback addresses: any user, no root. Caps are kept by the daemon's own rate limiter."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from local.instances import tree
from local.instances.imds import Credentials, MetadataServer
from local.instances.model import AddressPlan, CommandResult, Instance
from local.state import StateDir, kill_all, processes_with


class ProcessBackend:
    """Backend of the process mode."""

    def __init__(
        self, plan: AddressPlan, state: StateDir, endpoint: str, credentials: Credentials, image: Path | None
    ) -> None:
        self._plan = plan
        self._state = state
        self._endpoint = endpoint
        self._credentials = credentials
        self._image = image
        self._metadata: dict[str, MetadataServer] = {}
        self._environments: dict[str, dict[str, str]] = {}

    def launch(self, instance: Instance) -> None:
        """Start the metadata service on the instance's private address, write its tree and its caps."""
        listener = socket.create_server((instance.private_address, 0))
        port = listener.getsockname()[1]
        self._metadata[instance.instance_id] = MetadataServer(instance, listener, self._credentials)
        environment = tree.base_environment(
            instance, self._state, self._endpoint, f"http://{instance.private_address}:{port}"
        )
        limits = rate_limits(instance, self._plan)
        if limits:
            environment["CPT_RATE_LIMITS"] = str(instance.home / "rate-limits.json")
        tree.make_tree(instance, environment, self._image)
        if limits:
            (instance.home / "rate-limits.json").write_text(json.dumps(limits))
        self._environments[instance.instance_id] = environment

    def run(self, instance: Instance, script: str, env: dict[str, str], timeout: float) -> CommandResult:
        """Run a shell script as the SSM agent does: own session, killed as a group at the timeout."""
        environment = {**self._environments[instance.instance_id], **env}
        return run_script([], instance.home, script, environment, timeout)

    def halt(self, instance: Instance) -> None:
        """Kill what carries the instance's marker, and keep its logs."""
        metadata = self._metadata.pop(instance.instance_id, None)
        if metadata is not None:
            metadata.close()
        kill_all(lambda: marked(instance.instance_id))
        tree.forget_units(instance, self._state)

    def terminate(self, instance: Instance) -> None:
        """The same, and its tree goes."""
        self.halt(instance)
        shutil.rmtree(instance.home, ignore_errors=True)

    def apply_caps(self, instance: Instance) -> None:
        """Do nothing: the configuration refuses caps that change here, as the daemon reads its own once."""

    def apply_rules(self, instance: Instance, ruleset: str) -> None:
        """Nothing: loopback has no firewall of its own; namespaces mode enforces the rules."""


def rate_limits(instance: Instance, plan: AddressPlan) -> list[dict[str, object]]:
    """Content of the file that `CPT_RATE_LIMITS` names: own region first, then all else; first match wins."""
    limits: list[dict[str, object]] = []
    caps = instance.caps
    if caps.intra_region_mb_s is not None:
        own = plan.ranges(instance.region)
        limits += [{"cidr": cidr, "megabytesPerSecond": caps.intra_region_mb_s} for cidr in own]
    if caps.inter_region_mb_s is not None:
        limits += [{"cidr": cidr, "megabytesPerSecond": caps.inter_region_mb_s} for cidr in plan.everywhere]
    return limits


def run_script(
    prefix: Sequence[str], home: Path, script: str, environment: dict[str, str], timeout: float
) -> CommandResult:
    """Run `script` after the command `prefix` (enters a namespace), wait until its output is closed.

    A first line `#!` is honoured; without one the shell is sh, which on Amazon Linux 2023 is bash.
    """
    argv = [*prefix, "/bin/bash", "--posix", "-c", script]
    if script.startswith("#!"):
        path = home / "tmp" / f"script-{os.urandom(6).hex()}.sh"
        path.write_text(script, encoding="utf-8")
        # Not executed itself: a process that another thread forks meanwhile has it open for writing (ETXTBSY).
        interpreter = script.partition("\n")[0].removeprefix("#!").split(maxsplit=1)
        argv = [*prefix, *interpreter, str(path)]
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd="/",
        start_new_session=True,
    )
    timed_out = False
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
    return CommandResult(
        code=process.returncode,
        stdout=out.decode("utf-8", "replace"),
        stderr=err.decode("utf-8", "replace"),
        timed_out=timed_out,
    )


def marked(instance_id: str) -> list[int]:
    """Process ids whose environment names the instance."""
    return processes_with("CPT_INSTANCE_ID", instance_id)
