"""Resolve Measured Paths: as Resolve Paths, for machines that are only measured."""

from lambdas.adapters.world import World
from lambdas.core.fleet.resolved_paths import ResolvedPaths
from lambdas.handlers.states.resolve_paths import ResolveInput, resolve_paths
from lambdas.runtime.handler import task_state


def resolve_measured_paths(event: ResolveInput, world: World) -> ResolvedPaths:
    """Addresses of the hops; raises PathUnreachable, or AgentBusy where a machine's agent did not begin."""
    return resolve_paths(event, world)


handler = task_state("Resolve Measured Paths", ResolveInput, resolve_measured_paths)
