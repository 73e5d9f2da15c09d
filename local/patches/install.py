"""Puts every patch into the emulator, in the order that their imports need."""

from __future__ import annotations

import os

from local.calls import Calls
from local.config import LocalConfig
from local.instances.fleet import Fleet
from local.state import StateDir


def install(config: LocalConfig, state: StateDir, fleet: Fleet, calls: Calls) -> None:
    """Install all patches; GATEWAY_PORT and AWS_ENDPOINT_URL are in the environment."""
    from local.patches import cloudformation, clusters, models, stack_deletion
    from local.patches.ec2 import describe as ec2_describe
    from local.patches.ec2 import images, instance_types, interfaces, name_servers, security_groups, spot_prices
    from local.patches.ec2 import launch as ec2_launch
    from local.patches.events import bus as events
    from local.patches.events import schedules
    from local.patches.faults import answers as faults
    from local.patches.faults import events as event_faults
    from local.patches.faults import functions as lambda_faults
    from local.patches.faults import tables as table_faults
    from local.patches.functions import concurrency, dead_letters, logs, queues
    from local.patches.functions import runtime as lambda_runtime
    from local.patches.iam import checks as iam_checks
    from local.patches.iam import credentials, parsed_policies, policy_variables, privileges, simulation, spot_role
    from local.patches.market import file_systems, pricing, service_quotas
    from local.patches.objects import (
        access,
        bodies,
        checksums,
        completions,
        conditions,
        copies,
        encryption,
        listing,
        notices,
        pages,
        payers,
        questions,
        reads,
        requests,
        restores,
        tags,
        uploads,
        writes,
    )
    from local.patches.ssm import commands as ssm_commands
    from local.patches.states import stepfunctions, waits
    from local.patches.tables import item_copies, request_units

    endpoint = os.environ["AWS_ENDPOINT_URL"]
    models.install()
    parts_of_objects = (
        conditions,
        copies,
        tags,
        uploads,
        completions,
        listing,
        pages,
        reads,
        payers,
        writes,
        notices,
        access,
        requests,
    )
    for objects in (bodies, checksums, encryption, *parts_of_objects):
        objects.install()
    restores.install(config)
    stepfunctions.install(endpoint)
    waits.install(config)
    lambda_runtime.install(config, state, endpoint, calls)
    concurrency.install(config)
    events.install(config)
    schedules.install()
    dead_letters.install()
    queues.install(config)
    logs.install()
    iam_checks.install()
    questions.install()
    credentials.install()
    policy_variables.install()
    parsed_policies.install()
    privileges.install()
    simulation.install()
    spot_role.install(config)
    images.install(config)
    instance_types.install()
    spot_prices.install()
    pricing.install()
    service_quotas.install(config)
    file_systems.install()
    ec2_launch.install(fleet, state)
    ec2_describe.install()
    clusters.install()
    security_groups.install(fleet)
    interfaces.install(fleet)
    name_servers.install(fleet)
    faults.install(fleet.faults)
    item_copies.install()
    request_units.install(calls)
    table_faults.install(fleet.faults)
    event_faults.install(fleet.faults)
    lambda_faults.install(fleet.faults)
    ssm_commands.install(fleet)
    cloudformation.install(state)
    stack_deletion.install()
