"""Puts every patch into the emulator, in the order that their imports need."""

from __future__ import annotations

import os

from local.calls import Calls
from local.config import LocalConfig
from local.instances.fleet import Fleet
from local.state import StateDir


def install(config: LocalConfig, state: StateDir, fleet: Fleet, calls: Calls) -> None:
    """Install all patches; GATEWAY_PORT and AWS_ENDPOINT_URL are in the environment."""
    from local.patches import (
        cloudformation,
        dead_letters,
        ec2_describe,
        ec2_launch,
        event_faults,
        events,
        faults,
        iam_checks,
        images,
        instance_types,
        lambda_faults,
        lambda_runtime,
        policy_variables,
        pricing,
        privileges,
        security_groups,
        service_quotas,
        spot_prices,
        ssm_commands,
        stepfunctions,
        table_faults,
    )

    endpoint = os.environ["AWS_ENDPOINT_URL"]
    stepfunctions.install(endpoint)
    lambda_runtime.install(state, endpoint, calls)
    events.install(config)
    dead_letters.install()
    iam_checks.install()
    policy_variables.install()
    privileges.install()
    images.install(config)
    instance_types.install()
    spot_prices.install()
    pricing.install()
    service_quotas.install(config)
    ec2_launch.install(fleet, state)
    ec2_describe.install()
    security_groups.install(fleet)
    faults.install(fleet.faults)
    table_faults.install(fleet.faults)
    event_faults.install(fleet.faults)
    lambda_faults.install(fleet.faults)
    ssm_commands.install(fleet)
    cloudformation.install(state)
