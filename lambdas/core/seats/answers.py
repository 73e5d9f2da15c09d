"""Answers of commands that run as units (contract `command-answer`), where `cpt-relay answer` writes them."""

from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError

from lambdas.core.documents import SCHEMA_VERSION, Document, Integer
from lambdas.core.seats.commands import Control


class Answer(Document):
    """The end of a command; `output` is the last line of what it printed, `error` what it said beside that."""

    schema_version: Literal[1] = SCHEMA_VERSION
    code: Annotated[Integer, Field(ge=0, le=255)]
    output: str
    error: str

    @classmethod
    def told(cls, text: object) -> Self | None:
        """What the JSON text of a record says; None where it is no answer: an end may write anything there."""
        try:
            return cls.model_validate_json(str(text), by_alias=True, by_name=False)
        except ValidationError:
            return None


def record_name(answer_id: str) -> str:
    """Return which of a transfer's records holds the answer."""
    return f"answer#{answer_id}"


def place(control: Control, answer_id: str) -> str:
    """The documents' parameter `Answer`."""
    return f"{control.region} {control.transfers_table} {control.partition} {answer_id}"
