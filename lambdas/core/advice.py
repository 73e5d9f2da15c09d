"""What to do about a failure, by its name, in one or two sentences; the cause beside it holds the particulars."""

from lambdas.core import errors

_BY_NAME = {
    "InvalidRequest": "Correct the request: each line of the cause names a field, its value and what would be right.",
    "DestinationBusy": "Wait until the other transfer has ended, or choose another destination path.",
    "DestinationTaken": "Start again once the other transfer has ended, or let schedules start less often.",
    "PathUnreachable": "Attach the security group cpt-endpoint to both machines; check routes, public addresses and "
    "peering on the port that the cause names.",
    "TooManyRules": "Wait until other transfers have ended, use fewer pairs, or raise the quota that the cause names.",
    "SurveyProblem": "Correct the path that the cause names, or the permissions on it, and start again.",
    "DestinationTooSmall": "Make room at the destination, or choose another disk; the cause has both numbers.",
    "DeadlineUnreachable": "Allow more time in objective.deadlineSeconds, or more pairs.",
    "BudgetTooSmall": "Raise objective.maxCostUsd at least to the amount in the cause.",
    "BudgetReached": "What has arrived stays. Raise objective.maxCostUsd, and go on with cpt start --resume.",
    "MissingPrice": "Name another type in relays.instanceTypes.",
    "InvalidApproval": "Start again and approve with cpt approve, which checks the answer before it sends it.",
    "NoSuchTransfer": "Check the name: cpt list shows what has run.",
    "TransferRunning": "Wait until it has ended and is taken down, stop its execution first, or say with cpt teardown "
    "NAME --yes that it may be taken down.",
    "TransferEnding": "Start again in some minutes; if it is still not taken down then, cpt teardown NAME says why.",
    "NotMoving": "Say bandwidthLimitMbps in the request, or call cpt limit again while data moves: cpt watch NAME "
    "shows where it is.",
    "RelayUnusable": "Nothing: another relay takes its place, or the transfer goes on with fewer.",
    "NoCapacity": "Nothing: the transfer goes on with fewer relays. If it happens often, allow more "
    "relays.instanceTypes, or subnets in further zones.",
    "NotAwaitingApproval": "See with cpt watch where the transfer is.",
    "ApprovalRejected": "Nothing was launched. Start again when whoever rejected it agrees.",
    "ApprovalTimedOut": "Nothing was launched. Start again, with a larger approvalTimeoutSeconds, or with more "
    "addresses in approvalMail.",
    "NoSuitableType": "Name other types in relays.instanceTypes, or ask for 0 pairs.",
    "MissingPermission": "Give the role the permission that the cause names; the deployment's own roles come back with "
    "cdk deploy.",
    "DaemonVersionSkew": "Deploy again: both machines then get the daemon of the deployment.",
    "RecordOfOtherVersion": "Start the transfer again under a new name: the deployment was updated while it ran.",
    "CommandFailed": "The cause holds the end of what the command printed on the machine.",
    "EndNotStarted": "Read the end of its log in the cause; on the machine: journalctl -u 'cpt-*'.",
    "EndSilent": "Look at that machine: is it running, does its SSM agent answer, does it reach AWS? Its log: "
    "journalctl -u 'cpt-*'.",
    "FileSystemHangs": "Look at the destination's file system on that machine: does ls return, does the server of a "
    "network file system or the volume answer? Once it does, go on with cpt start --resume.",
    "MeasuringFailed": "Start it again; where relays cannot be had, the cause says why.",
    "VerificationFailed": "Start again. If it happens twice, report it with the logs of both machines.",
    "DigestMismatch": "Start again. If it happens twice, report it with the logs of both machines.",
    "ChunksFailed": "Correct what the failed chunks name, and go on with cpt start --resume; everything else is at the "
    "destination.",
    "FilesSkipped": "Correct what the cause names, and send what differs with cpt start --resume. Where files may stay "
    'behind, request onProblem: "skip".',
    "DestinationFull": "Make room at the destination, or correct what the cause names, and go on with cpt start "
    "--resume; what has arrived stays.",
    "NotEnoughMemory": "Use a machine with more memory, or ask for fewer pairs.",
    "TooFewOpenFiles": "Raise the machine's hard limit of open files to what the cause names.",
    "DestinationError": "Look at the destination's disk: the cause has what the system answered.",
    "SenderError": "Start again. If it happens twice, report it with the logs of both machines.",
    "ReceiverError": "Start again. If it happens twice, report it with the logs of both machines.",
    "PlanInvalid": "Deploy again, so that functions and daemons are of one version, and start again.",
    "NoKey": "The machine gave the daemon no randomness, or no way to keep a key: look at its log in the cause.",
    "RunAs": "Name a user of that machine in runAs, or leave it out; the cause says what the system answered.",
    "ControlUnavailable": "Check that both machines reach the AWS endpoints and carry the policy cpt-endpoint.",
    "PlanGoesOn": "Split the transfer: planning it takes longer than the state machine waits.",
    "TransferFenced": "It was taken down while it ran; start again.",
    "TeardownIncomplete": "Instances were still alive at the last look; the reconciler goes on ending them. Check with "
    "the tag cpt:transfer, and end them by hand if any is left after some minutes.",
    "LaunchRefused": "EC2 refuses the launch; the cause has its words. Other types or another subnet may help.",
    "States.HeartbeatTimeout": "Nobody looked after the ends for 300 s: read the log of cpt-reconcile.",
    "States.Timeout": "A step took longer than it may: read the logs of both machines, and start again.",
    "ExecutionAborted": "Somebody stopped the execution. Everything was taken down; what has arrived stays; cpt start "
    "--resume goes on with the rest.",
    "ExecutionTimedOut": "The execution ran for longer than it may. Everything was taken down; cpt start --resume "
    "goes on with the rest.",
    "ExecutionGone": "The execution is gone, and its transfer was taken down; cpt start --resume goes on with the "
    "rest.",
}
_BY_DECISION: tuple[tuple[type[errors.CptError], str], ...] = (
    (errors.AskPerson, "Change the request as the cause says, and start again."),
    (errors.RetryLater, "AWS did not keep up for longer than the retries last; start again later."),
)
_ELSE = "Start again. If it fails again, the cause and the logs of the step that failed say where to look."


def advice(error: str) -> str:
    """For the name of an error, as state machine, functions and ends give it."""
    if known := _BY_NAME.get(error):
        return known
    kind = getattr(errors, error, None)
    if isinstance(kind, type):
        return next((words for base, words in _BY_DECISION if issubclass(kind, base)), _ELSE)
    return _ELSE
