"""What starts transfers at set times: schedules of the settings, those that people have added, and what is neither."""

from collections.abc import Iterable

from cli.aws import Aws
from cli.doctor.finding import Finding, Findings, looked, ok, warning
from cli.executions import machine_arn
from cli.options import and_local
from lambdas.adapters.start_schedules import FoundSchedule, StartSchedules


def schedules(aws: Aws) -> Findings:
    """All schedules that start transfers of the deployment."""

    def found() -> Findings:
        yield from judge(list(StartSchedules(aws.client("scheduler"), aws.deployment, machine_arn(aws)).all()))

    yield from looked("starts", "schedules", found)


def judge(found: Iterable[FoundSchedule]) -> Findings:
    """One finding for each, or that there is none."""
    found = list(found)
    if not found:
        yield ok("starts", "schedules", "no schedule starts transfers")
    deployed = {one.name for one in found if one.origin == "deployed"}
    for one in found:
        yield _judge(one, deployed)


def _judge(one: FoundSchedule, deployed: set[str]) -> Finding:
    remove = f"cpt schedule remove {one.name}{and_local()}"
    if one.origin == "foreign":
        message = f"somebody put it into the group of added schedules, and it does not start transfers: {one.target}"
        return warning("starts", one.name, message, f"ask who made it (CloudTrail), or {remove}")
    if one.origin == "added" and one.name in deployed:
        message = "it was added, and the settings have one of its name: both start transfers"
        return warning("starts", one.name, message, f"{remove}, or rename cpt.starts.schedules.{one.name} and deploy")
    return ok("starts", one.name, f"{one.origin}: {one.expression} in {one.time_zone}, {one.state.lower()}")
