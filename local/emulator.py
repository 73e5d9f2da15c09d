"""The emulator's process: `python -m local.emulator STATE_DIR`. Prints one line, the endpoint, when it serves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from local.calls import Calls, counted
from local.config import LocalConfig
from local.instances.clock import Clock
from local.instances.fleet import Fleet
from local.instances.model import AddressPlan, Backend
from local.instances.netns import NamespaceBackend, NetworkError
from local.instances.process import ProcessBackend
from local.instances.tree import CommandLineMissingError, aws_command_line
from local.open_files import OpenFilesError, raise_limit
from local.state import StateDir

log = logging.getLogger("local")

BLOCK_LOCK_PORT = 4599  # held on .254 of an address block by the cloud that uses it
BLOCKS = 200


class PortTakenError(Exception):
    """The port is in use."""


def listen(port: int) -> socket.socket:
    """The API's listening socket, loopback only. Raises PortTakenError."""
    try:
        return socket.create_server(("127.0.0.1", port), backlog=512)
    except OSError as error:
        raise PortTakenError(
            f"port {port} on 127.0.0.1 is in use ({error.strerror}); stop what uses it (`cpt local down`), "
            "or set port = 0 in the configuration"
        ) from error


def claim_block() -> tuple[int, socket.socket]:
    """A block of loopback addresses that no other cloud on this machine uses, and the socket that holds it."""
    for block in range(BLOCKS):
        with contextlib.suppress(OSError):
            return block, socket.create_server((f"127.10.{block}.254", BLOCK_LOCK_PORT))
    raise PortTakenError(f"{BLOCKS} local clouds run on this machine already; stop one with `cpt local down`")


def prepare_environment(config: LocalConfig, state: StateDir, port: int) -> None:
    """Set the variables that the emulator reads at import."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(
        GATEWAY_PORT=str(port),
        MINISTACK_ACCOUNT_ID=config.account,
        MINISTACK_REGION=config.home_region,
        AUTH="true" if config.iam else "false",
        IOT_MTLS_ENABLED="0",
        SFTP_ENABLED="0",
        LOG_LEVEL=os.environ.get("LOG_LEVEL", "WARNING"),
        LAMBDA_WARM_TTL_SECONDS="300",
        LAMBDA_ASYNC_RETRY_BASE_SECONDS=str(config.lambda_retry_seconds),
        TMPDIR=str(state.root / "tmp"),
        STATE_DIR=str(state.root / "tmp" / "state"),
        S3_DATA_DIR=str(state.root / "tmp" / "s3"),
        AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}",
    )
    (state.root / "tmp").mkdir(parents=True, exist_ok=True)


def make_backend(config: LocalConfig, state: StateDir, plan: AddressPlan, port: int) -> Backend:
    """The backend that the configuration names."""
    from local.patches.iam.credentials import instance_credentials

    if config.instances == "netns":
        return NamespaceBackend(plan, state, port, instance_credentials, peering=config.peering, image=config.image)
    return ProcessBackend(plan, state, f"http://127.0.0.1:{port}", instance_credentials, config.image)


async def serve(state: StateDir, config: LocalConfig, listener: socket.socket, fleet: Fleet, calls: Calls) -> None:
    """Serve until SIGTERM or SIGINT, then end all instances."""
    from hypercorn.asyncio import serve as hypercorn_serve
    from hypercorn.config import Config
    from ministack import app

    from local.conformance.door import Notes, conforming
    from local.control import with_control
    from local.dashboard.serving import with_dashboard
    from local.holds import Holds, with_holds
    from local.patches.ec2.shared_subnets import share
    from local.patches.faults.latency import with_latency
    from local.patches.faults.objects import with_object_faults
    from local.patches.faults.rates import with_rates
    from local.patches.iam.credentials import expire
    from local.patches.objects import completions, conditions
    from local.patches.objects.restores import age

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    settings = Config()
    settings.bind = [f"fd://{listener.fileno()}"]
    settings.keep_alive_timeout = 75
    settings.loglevel = "WARNING"
    settings.graceful_timeout = 0.2
    holds = Holds()
    judged = conforming(app.app, Notes(state.violations))
    spoiled = conditions.arriving(with_object_faults(judged, fleet.faults, completions.forget))
    served = with_holds(with_rates(with_latency(spoiled, config, fleet.faults), config), holds)
    port = listener.getsockname()[1]
    endpoint = f"http://127.0.0.1:{port}"
    controlled = with_dashboard(with_control(served, fleet, holds, share, expire, age), config.home_region, endpoint)
    door: Any = counted(controlled, calls)
    server = asyncio.create_task(hypercorn_serve(door, settings, shutdown_trigger=stop.wait))
    await answering(port)
    content: dict[str, Any] = {
        "pid": os.getpid(),
        "port": port,
        "endpoint": endpoint,
        "account": config.account,
        "instances": config.instances,
    }
    partial = state.state_file.with_suffix(".new")
    partial.write_text(json.dumps(content))
    partial.rename(state.state_file)
    print(endpoint, flush=True)  # noqa: T201 - the signal that the parent waits for
    await server
    await asyncio.to_thread(fleet.stop_all)


async def answering(port: int) -> None:
    """Return when the API answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /_ministack/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    await reader.readline()
    writer.close()


def main() -> None:
    """Entry point; the configuration lies in the state directory."""
    state = StateDir(Path(sys.argv[1]).resolve())
    config = LocalConfig.model_validate_json(state.config_file.read_bytes())
    logging.basicConfig(
        level=os.environ.get("LOG_LEVEL", "WARNING"), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # It prints each failing component with all its children, a page per failed state; the program's line says enough.
    logging.getLogger("moto.stepfunctions.parser.asl.component.eval_component").setLevel(logging.CRITICAL)
    try:
        raise_limit()
        listener = listen(config.port)
        block, lock = claim_block() if config.instances == "process" else (0, None)
    except (OpenFilesError, PortTakenError) as error:
        sys.exit(str(error))
    port = listener.getsockname()[1]
    prepare_environment(config, state, port)
    plan = AddressPlan(config.instances, tuple(config.regions), block)
    from local.patches import install  # imports the emulator, which reads the environment

    clock = Clock()
    try:
        aws_command_line()
        backend = make_backend(config, state, plan, port)
    except (NetworkError, CommandLineMissingError) as error:
        sys.exit(str(error))
    fleet = Fleet(config, plan, backend, clock)
    calls = Calls()
    install.install(config, state, fleet, calls)
    asyncio.run(serve(state, config, listener, fleet, calls))
    if lock is not None:
        lock.close()
    os._exit(0)  # executions and pollers of the emulator are daemon threads that may block an orderly exit


if __name__ == "__main__":
    main()
