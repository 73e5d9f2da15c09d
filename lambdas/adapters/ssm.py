"""SSM Run Command of one region: our own documents only."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from lambdas.adapters.records import (
    LEAST_DELIVERY_SECONDS,
    CommandResult,
    DocumentName,
    NotManagedError,
    OlderDocumentError,
)
from lambdas.adapters.throttling import is_throttle
from lambdas.core.errors import MissingPermission, Throttled
from lambdas.core.seats.commands import USUAL, Command, Share, encode
from lambdas.core.seats.consent import END_TAG, LENT_TAG, how_to_tag

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_ssm.type_defs import CommandInvocationTypeDef, GetCommandInvocationResultTypeDef

# Who waits longer gets an answer sooner by sending the command again.
MOST_DELIVERY_SECONDS = 600
# As the fields `StatusDetails` of SSM's answers write it, without blanks.
_NEVER_STARTED = frozenset({"DeliveryTimedOut", "Undeliverable"})
_RUNNING = frozenset({"Pending", "InProgress", "Delayed", "Cancelling"})
# A filter of DescribeInstanceInformation takes 100 ids; an answer has 50 machines at most, so it is whole.
_PAGE = 50


class SsmCommands:
    """Commands over SSM; which daemon runs is fixed in the documents."""

    def __init__(self, client: "SSMClient", deployment: str) -> None:
        self._client = client
        self._deployment = deployment

    def online(self, instance_ids: Iterable[str]) -> set[str]:
        """See Commands."""
        ids = list(instance_ids)
        online: set[str] = set()
        for start in range(0, len(ids), _PAGE):
            filters = [{"Key": "InstanceIds", "Values": ids[start : start + _PAGE]}]
            pages = self._client.get_paginator("describe_instance_information").paginate(Filters=filters)  # type: ignore[arg-type]
            for page in pages:
                found = page["InstanceInformationList"]
                online |= {item["InstanceId"] for item in found if item["PingStatus"] == "Online"}
        return online

    def send(
        self,
        document: DocumentName,
        instance_ids: Sequence[str],
        transfer_id: str,
        command: Command | None,
        share: Share = USUAL,
        seconds: float = LEAST_DELIVERY_SECONDS,
        answer: str | None = None,
    ) -> str:
        """See Commands."""
        parameters = {"TransferId": [transfer_id]}
        if command is not None:
            parameters["Command"] = [encode(command)]
        if answer is not None:
            parameters["Answer"] = [answer]
        if share.cpu_percent is not None:
            parameters["CpuQuota"] = [f"{share.cpu_percent}%"]
        weights = {"CpuWeight": share.cpu_weight, "IoWeight": share.io_weight}
        parameters |= {name: [str(weight)] for name, weight in weights.items() if weight is not None}
        try:
            sent = self._client.send_command(
                DocumentName=f"{self._deployment}-{document}",
                InstanceIds=list(instance_ids),
                Parameters=parameters,
                TimeoutSeconds=int(min(max(seconds, LEAST_DELIVERY_SECONDS), MOST_DELIVERY_SECONDS)),
            )
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in ("InvalidInstanceId", "InvalidInstanceID.NotFound"):
                raise NotManagedError(", ".join(instance_ids)) from error
            if code in ("AccessDeniedException", "AccessDenied"):
                raise MissingPermission(self._why_denied(document, instance_ids, str(error))) from error
            if code == "InvalidParameters" and answer is not None:
                raise OlderDocumentError(str(error)) from error
            if is_throttle(error):
                raise Throttled(f"ssm:SendCommand: {error}") from error
            raise
        return sent["Command"]["CommandId"]

    def _why_denied(self, document: DocumentName, instance_ids: Sequence[str], said: str) -> str:
        """Where it is a machine that may not be commanded, its tag is missing: IAM names what it was asked about."""
        refused = [instance_id for instance_id in instance_ids if f"instance/{instance_id}" in said]
        if not refused:
            return f"ssm:SendCommand of {self._deployment}-{document}: {said}"
        consent = LENT_TAG if document == "relay" else END_TAG
        tag = how_to_tag(refused, self._client.meta.region_name, self._deployment, consent)
        return (
            f"the machine {', '.join(refused)} is not tagged for this deployment, so {self._deployment}-{document} may "
            f"not be sent to it: its owner runs {tag} ({said})"
        )

    def ended(self, command_id: str) -> dict[str, CommandResult]:
        """See Commands."""
        pages = self._client.get_paginator("list_command_invocations").paginate(CommandId=command_id)
        try:
            listed = [item for page in pages for item in page["CommandInvocations"]]
        except ClientError as error:
            if is_throttle(error):
                return {}
            raise
        return {item["InstanceId"]: result for item in listed if (result := _result(item))}

    def result(self, command_id: str, instance_id: str) -> CommandResult | None:
        """See Commands."""
        try:
            found = self._client.get_command_invocation(CommandId=command_id, InstanceId=instance_id)
        except ClientError as error:
            unknown = error.response["Error"]["Code"] == "InvocationDoesNotExist"  # usual for a moment after sending
            if unknown or is_throttle(error):
                return None
            raise
        return _result(found, found.get("StandardOutputContent", ""), found.get("StandardErrorContent", ""))

    def started(self, command_id: str, instance_id: str) -> bool:
        """See Commands."""
        try:
            found = self._client.get_command_invocation(CommandId=command_id, InstanceId=instance_id)
        except ClientError as error:
            if error.response["Error"]["Code"] == "InvocationDoesNotExist":
                return False
            if is_throttle(error):
                return True
            raise
        return bool(found.get("ExecutionStartDateTime"))

    def cancel(self, command_id: str, instance_id: str) -> None:
        """See Commands."""
        try:
            self._client.cancel_command(CommandId=command_id, InstanceIds=[instance_id])
        except ClientError as error:
            ended = error.response["Error"]["Code"] in ("InvalidCommandId", "InvalidInstanceId")
            if not (ended or is_throttle(error)):
                raise


def _result(
    found: "GetCommandInvocationResultTypeDef | CommandInvocationTypeDef", output: str = "", error: str = ""
) -> CommandResult | None:
    status = found["Status"]
    if status in _RUNNING:
        return None
    details = found.get("StatusDetails") or status
    started = details.replace(" ", "") not in _NEVER_STARTED
    return CommandResult(status == "Success", details, output, error, started)
