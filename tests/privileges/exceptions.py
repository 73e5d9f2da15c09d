"""What is granted though no recorded run uses it, each with the reason; an entry that nothing needs fails a test."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.privileges.grants import Grant


@dataclass(frozen=True)
class Unused:
    """Unused grants whose role, action and resource match; `*` stands for anything."""

    role: str
    action: str
    resource: str
    why: str
    held_by: str = ""
    """The test that makes the call without the local cloud's IAM, as `FILE::TEST` under `tests/`."""

    def covers(self, grant: Grant) -> bool:
        """Whether this entry speaks for a grant."""
        pairs = ((grant.role, self.role), (grant.action, self.action), (grant.resource, self.resource))
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


_LAMBDA_LOGS = "Lambda itself writes a function’s log; the local cloud writes files"
_TRACES = "Lambda and Step Functions themselves send traces; the local cloud has no X-Ray"
_AGENT = "the SSM agent’s own; the local cloud’s agent is part of the emulator"

EXCEPTIONS = (
    Unused("*", "logs:*", "*:log-group:/aws/lambda/*", _LAMBDA_LOGS),
    Unused("*", "xray:*", "*", _TRACES),
    Unused("cpt-transfer", "logs:*", "*", "Step Functions itself sets up the delivery of its log"),
    Unused("*", "ssmmessages:*", "*", _AGENT),
    Unused("*", "ssm:UpdateInstanceInformation", "*", _AGENT),
)
