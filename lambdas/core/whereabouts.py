"""The directory that a path leads to."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from lambdas.core.documents import Document


class DirectoryWay(Document):
    """One way from the root to the destination: directories that exist, names that lead on from the first."""

    directories: Annotated[list[str], Field(min_length=1)]
    names: list[str]

    @model_validator(mode="after")
    def _names_lead_to_directories(self) -> Self:
        if len(self.names) < len(self.directories) - 1:
            raise ValueError(
                f"names has {len(self.names)} entries; {len(self.directories)} directories need at least one fewer"
            )
        return self
