"""The path below a destination under which a source path arrives, where that is not its own name."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

# As of any path: Linux takes no longer one in a call, and no longer name.
MOST_OF_PATH = 1024
MOST_OF_NAME_BYTES = 255
# Partial files of transfers have names that begin so: no receiver takes another's.
KEPT_NAME = ".cpt-partial-"


def _landing(value: str) -> str:
    names = value.split("/")
    if "" in names:
        why = "write names joined by single slashes, none at the beginning or the end"
    elif "." in names or ".." in names:
        why = "write names only, without '.' and '..'"
    elif "\0" in value:
        why = "write it without the character NUL"
    elif any(name.startswith(KEPT_NAME) for name in names):
        why = f"names that begin with '{KEPT_NAME}' are those of partial files; choose another"
    elif any(len(name.encode(errors="surrogatepass")) > MOST_OF_NAME_BYTES for name in names):
        why = f"write names of {MOST_OF_NAME_BYTES} bytes at most"
    else:
        return value
    raise PydanticCustomError("landing", f"{why}, e.g. 2026/run-17")


LandingPath = Annotated[str, Field(min_length=1, max_length=MOST_OF_PATH), AfterValidator(_landing)]


def is_or_holds(directory: str, path: str) -> bool:
    """Whether `directory` is the path, or one above it."""
    return path == directory or path.startswith(f"{directory}/")


def leading(landings: Iterable[tuple[str, bool]]) -> list[str]:
    """The directories that lead to these, without those above them; `True`: contents land in this path, which leads."""
    directories = {path if is_directory else path.rpartition("/")[0] for path, is_directory in landings} - {""}
    below = [one for one in directories if any(one != other and is_or_holds(one, other) for other in directories)]
    return sorted(directories.difference(below))
