"""How a state, or an execution, has failed."""

import json
from typing import Any

from lambdas.core.documents import Handover

# `States.` is reserved for Step Functions: no execution can be made to fail by such a name.
_RESERVED = ("States.", "Workflow.")
_OUR_NAMES = {"HeartbeatTimeout": "HeartbeatLost", "Timeout": "StepTimedOut"}


def name_of_ours(error: str) -> str:
    """An error of Step Functions by a name that an execution may fail with; any other as it is."""
    prefix = next((one for one in _RESERVED if error.startswith(one)), None)
    if prefix is None:
        return error
    name = error.removeprefix(prefix)
    return _OUR_NAMES.get(name, f"Workflow{name}")


def ending(status: str, error: str, cause: str) -> str:
    """How an execution ended, for people: `ABORTED (Cancelled): wrong directory`; error and cause may be empty."""
    named = f"{status} ({error})" if error else status
    return f"{named}: {_sentence(cause)}" if cause else named


class Failure(Handover):
    """A state's failure, as Step Functions catches it or as a branch returns it."""

    error: str
    cause: str = ""

    @classmethod
    def from_any(cls, value: Any) -> "Failure | None":
        """Accept {Error, Cause} and {error, cause}; None when there is no failure."""
        if not isinstance(value, dict):
            return None
        error = value.get("error", value.get("Error"))
        if isinstance(error, dict):
            return cls.from_any(error)
        cause = value.get("cause", value.get("Cause"))
        return None if error is None else cls(error=name_of_ours(str(error)), cause=_sentence(cause))


def _sentence(cause: object) -> str:
    """The message inside a Lambda's cause, which is JSON with `errorMessage`; else the cause itself."""
    try:
        inner = json.loads(str(cause or ""))
    except ValueError:
        return str(cause or "")
    return str(inner["errorMessage"]) if isinstance(inner, dict) and "errorMessage" in inner else str(cause)
