"""The check whether the two ends, as surveyed, can take part in the transfer."""

from collections.abc import Iterable
from functools import partial
from urllib.parse import unquote

from lambdas.core.ends import archived, hdfs_refusals
from lambdas.core.ends.bucket import BucketEnd
from lambdas.core.ends.bucket_refusals import remedy_of
from lambdas.core.ends.hdfs import HdfsEnd
from lambdas.core.ends.kinds import DestinationEnd, SourceEnd
from lambdas.core.errors import CptError, DaemonVersionSkew, DestinationTooSmall, SurveyProblem
from lambdas.core.survey.survey import DestinationSurvey, Listed, SourceSurvey, Survey, SurveyProblemEntry
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.seat import Seat
from lambdas.core.visible import visible

_REMEDIES = (
    ("no rule of a gitignore", "correct the rule"),
    ("pathsfrom", "correct the list, or the path of it"),
    ("no such file", "correct the path or make it"),
    ("not found", "correct the path or make it"),
    ("runas is", "correct $.source.runAs or $.destination.runAs"),
    ("symbolic link of user", "or remove the link"),
    ("a symbolic link, and $.links", "or leave this path out"),
    ("directories that links lead to", "or leave this path out"),
    ("permission", "let root read (source) or write (destination) it, or the user of runAs or the destination's owner"),
    ("read-only", "mount the file system for writing or choose another destination"),
    ("both land as", "move them in two transfers to two destinations, or give one another path in 'as'"),
    ("would be below the other", "give one of them another path in 'as'"),
    ("not a directory", "name a directory, or remove the file that is in the way"),
    ("modification time", "or leave this path out"),
    ("no space", "free some space or choose another destination"),
)
_OTHER_REMEDY = "repair it on the machine, or leave this path out"
_OTHER_REMEDY_OF_HDFS = "repair it in the cluster, or leave this path out"


def check(transfer: AcceptedTransfer, survey: Survey) -> None:
    """Raise SurveyProblem or DaemonVersionSkew; return when all is well."""
    error = _problems(transfer, survey.source, survey.destination) or _skew(survey.source, survey.destination)
    if error:
        raise error


def check_beside(
    asked: DestinationEnd,
    version: str,
    sources: Iterable[tuple[Seat, SourceSurvey]],
    destinations: Iterable[tuple[Seat, DestinationSurvey]],
) -> None:
    """Raise SurveyProblem or DaemonVersionSkew for other machines of both ends; `asked`: the destination.

    What a source is asked for is not there: that is its only problem. Whether its paths are, others judge.
    """
    there, where = list(destinations), f"$.destination.{asked.where_field}"
    lines = [
        _line(asked, where, seat.machine.instance_id, problem) for seat, survey in there for problem in survey.problems
    ]
    if lines:
        raise SurveyProblem("\n".join(lines))
    versions = [(seat, survey.daemon_version) for seat, survey in sources]
    for seat, found in versions + [(seat, survey.daemon_version) for seat, survey in there]:
        if found != version:
            raise DaemonVersionSkew(
                f"cpt-relay is {version} on the source and {found} on {seat.machine.instance_id}; "
                "deploy all region stacks from one version"
            )


def empty_source(transfer: AcceptedTransfer, source: SourceSurvey) -> str | None:
    """Return in words that the listing has no file and no link, and why if that is known; None where it has one."""
    request = transfer.request
    if source.files or source.symlinks:
        return None
    first, *others = request.source.plain_paths
    more = f" and {len(others)} more" if others else ""
    field = f"$.source.{request.source.where_field}"
    if isinstance(request.source, BucketEnd):
        where, remedy = f"'{first}'", "look at the prefix, and whether its objects are there yet"
    else:
        where, remedy = f"'{first}'{more} on {transfer.at_source.instance_id}", "look whether its disk is mounted"
        if isinstance(request.source, HdfsEnd):
            where, remedy = f"'hdfs:{first}'{more}", "look at the path, and whether its files are there yet"
    if source.unselected:
        counts = ", ".join(f"{count} {reason}" for reason, count in sorted(source.unselected.items()))
        keys = "$.select" if request.links == "keep" else "$.select and $.links"
        return f"no file of {field} {where} is selected: {counts}; look at {keys}"
    if request.select.paths_from:
        return f"$.select.pathsFrom: '{request.select.paths_from}' names no file of {where}; look at the list"
    return f"{field}: {where} holds no file; {remedy}"


def check_room(
    transfer: AcceptedTransfer, wanted: Listed, source: SourceSurvey, destination: DestinationSurvey
) -> None:
    """Raise DestinationTooSmall where what is to be sent of the source has no room."""
    # A comparison does not tell holes and further names; what it sends is a part of the source.
    needed_bytes = min(wanted.needed_bytes, source.needed_bytes)
    needed_inodes = min(wanted.needed_inodes, source.needed_inodes)
    asked = transfer.request.destination
    where = f"$.destination.{asked.where_field}: {asked.told(transfer.at_destination.instance_id)}"
    if needed_bytes > destination.free_bytes:
        if destination.bytes_quota_of is not None:
            raise DestinationTooSmall(
                f"{where}: the space quota of 'hdfs:{visible(destination.bytes_quota_of)}' leaves "
                f"{destination.free_bytes} bytes for files, each byte counted once for each replica, and "
                f"{needed_bytes} are needed; raise it (hdfs dfsadmin -setSpaceQuota), write fewer replicas or choose "
                "another destination"
            )
        raise DestinationTooSmall(
            f"{where} has {destination.free_bytes} bytes free and needs {needed_bytes}; "
            "free some space, grow the disk or choose another destination"
        )
    if needed_inodes > destination.free_inodes:
        if destination.inodes_quota_of is not None:
            raise DestinationTooSmall(
                f"{where}: the name quota of 'hdfs:{visible(destination.inodes_quota_of)}' leaves "
                f"{destination.free_inodes} files and directories beside what a transfer keeps meanwhile, and "
                f"{needed_inodes} are needed; raise it (hdfs dfsadmin -setQuota) or choose another destination"
            )
        raise DestinationTooSmall(
            f"{where} has {destination.free_inodes} inodes free and needs {needed_inodes}; "
            "choose a file system with more inodes"
        )


def has_room(wanted: Listed, destination: DestinationSurvey) -> bool:
    """Return whether what is to be sent has room."""
    return wanted.needed_bytes <= destination.free_bytes and wanted.needed_inodes <= destination.free_inodes


def _problems(transfer: AcceptedTransfer, source: SourceSurvey, destination: DestinationSurvey) -> CptError | None:
    request = transfer.request
    sides: tuple[tuple[SourceSurvey | DestinationSurvey, str, SourceEnd | DestinationEnd, str], ...] = (
        (source, "source", request.source, transfer.at_source.instance_id),
        (destination, "destination", request.destination, transfer.at_destination.instance_id),
    )
    lines = []
    for survey, side, end, instance in sides:
        where = f"$.{side}.{end.where_field}"
        told = _of_bucket if isinstance(end, BucketEnd) else partial(_line, end, instance=instance)
        lines += [told(where, problem=problem) for problem in survey.problems]
        if survey.problem_count > len(survey.problems):
            lines.append(f"{where}: and {survey.problem_count - len(survey.problems)} more on {instance}")
    return SurveyProblem("\n".join(lines)) if lines else None


def _of_bucket(where: str, problem: SurveyProblemEntry) -> str:
    """Whichever machine looked."""
    reason = problem.reason.strip().rstrip(".")
    path = visible(unquote(problem.path, errors="backslashreplace"))
    if amounts := archived.told(reason):
        return f"{where}: {archived.refusal(amounts, path)}"
    return f"{where}: '{path}': {visible(reason)}; {remedy_of(reason).text}"


def _line(end: SourceEnd | DestinationEnd, where: str, instance: str, problem: SurveyProblemEntry) -> str:
    reason, path = problem.reason.strip().rstrip("."), visible(problem.path)
    remedy = next((text for key, text in _REMEDIES if key in reason.lower()), None)
    if isinstance(end, HdfsEnd):
        remedy = hdfs_refusals.remedy_of(reason) or remedy or _OTHER_REMEDY_OF_HDFS
        return f"{where}: 'hdfs:{path}' by {instance}: {visible(reason)}; {remedy}"
    return f"{where}: '{path}' on {instance}: {visible(reason)}; {remedy or _OTHER_REMEDY}"


def _skew(source: SourceSurvey, destination: DestinationSurvey) -> CptError | None:
    if source.daemon_version == destination.daemon_version:
        return None
    return DaemonVersionSkew(
        f"cpt-relay is {source.daemon_version} on the source and {destination.daemon_version} on the destination; "
        "deploy all region stacks from one version"
    )
