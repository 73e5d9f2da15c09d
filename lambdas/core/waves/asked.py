"""What is asked for: waves of one request under a label, up to a bound, or the cutover that ends them."""

import json
from hashlib import sha256
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from lambdas.core.documents import Document, Integer, whole
from lambdas.core.errors import InvalidRequest
from lambdas.core.request.deletion import WITHOUT_DRY_RUN
from lambdas.core.request.labels import Label
from lambdas.core.request.problems import describe
from lambdas.core.request.quantities import Seconds, SizeBytes
from lambdas.core.request.request import Limits, TransferRequest, parse_request

MOST_WAVES = 50
USUAL_WAVES = 10
UNTIL_SECONDS = 60
_OF_ALL = "objective"


class WavesRequest(Document):
    """Contract `waves-request`: the input of an execution of `cpt-waves`; `request` is one of a transfer.

    `most_waves` of 0: what is left is looked at, and nothing is moved. `cut_over`: the last wave, with what the request
    says of extras.
    """

    schema_version: Annotated[Literal[1], BeforeValidator(whole)] = 1
    label: Label
    until_seconds: Annotated[Seconds, Field(ge=1)] | None = None
    until_bytes: SizeBytes | None = None
    most_waves: Annotated[Integer, Field(ge=0, le=MOST_WAVES)] = USUAL_WAVES
    cut_over: bool = False
    request: dict[str, Any]

    @property
    def seconds(self) -> int | None:
        """The bound by time; None where one by bytes was given."""
        return UNTIL_SECONDS if self.until_seconds is None and self.until_bytes is None else self.until_seconds

    @property
    def ends(self) -> str:
        """The same for requests about the same ends, as they are written."""
        about = [self.request.get("source"), self.request.get("destination")]
        return sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]

    def look(self, spent_usd: float) -> dict[str, Any]:
        """A dry run of the request."""
        return {**self._with_rest(spent_usd, "confirmDelete"), "dryRun": True}

    def wave(self, spent_usd: float) -> dict[str, Any]:
        """A transfer that removes nothing, and leaves to the next one what changes while it is sent."""
        found = self._with_rest(spent_usd, "confirmDelete", "delete", "maxDelete")
        if found.get("overwrite") == "never":
            found.pop("keepReplaced", None)  # nothing is replaced then, and nothing removed
        return {**found, "onProblem": "skip"}

    def last(self, spent_usd: float) -> dict[str, Any]:
        """The request itself."""
        return self._with_rest(spent_usd)

    def _with_rest(self, spent_usd: float, *without: str) -> dict[str, Any]:
        """The request under the label, with what is left of its budget, which is one for all waves together."""
        found = {key: value for key, value in self.request.items() if key not in ("name", *without)}
        budget = self._budget
        if budget is not None:
            found[_OF_ALL] = {**found[_OF_ALL], "maxCostUsd": round(budget - spent_usd, 6)}
        return {**found, "label": self.label}

    def is_spent(self, spent_usd: float) -> bool:
        """Whether nothing is left of the request's budget."""
        return self._budget is not None and self._budget - spent_usd < 1e-6

    @property
    def _budget(self) -> float | None:
        objective = self.request.get(_OF_ALL)
        found = objective.get("maxCostUsd") if isinstance(objective, dict) else None
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    @classmethod
    def read(cls, raw: object, limits: Limits) -> Self:
        """Validate `raw`, and the requests of its transfers; raises InvalidRequest with one line per problem."""
        try:
            asked = cls.from_document(raw)
        except ValidationError as error:
            raise InvalidRequest(describe(error)) from None
        problems = asked._problems
        if not problems:
            # Each of them is judged again by its own execution, with its machines.
            first = asked.last(0.0) if asked.cut_over else asked.look(0.0)
            problems = [*_judged(first, limits), *([] if asked.cut_over else _judged(asked.wave(0.0), limits))]
        if problems:
            raise InvalidRequest(list(dict.fromkeys(problems)))
        return asked

    @property
    def _problems(self) -> list[str]:
        request, problems = self.request, []
        if self.until_seconds is not None and self.until_bytes is not None:
            problems.append("$.untilBytes: one bound ends the waves; leave it or untilSeconds out")
        problems += [
            f"$.request.{key}: {request[key]!r}: {why}; leave it out"
            for key, refused, why in (
                ("dryRun", True, "waves look by themselves, and with $.mostWaves 0 they do nothing else"),
                ("resume", True, "each wave is a transfer of its own, which sends only what is not there yet"),
                ("resendAll", True, "each wave would send everything again"),
                ("approval", "required", "waves go on without a person; objective.maxCostUsd bounds all of them"),
                ("profile", "measure", "nothing would be moved"),
            )
            if request.get(key) == refused
        ]
        label, confirmed = request.get("label"), request.get("confirmDelete")
        if label not in (None, self.label):
            problems.append(f"$.request.label: {label!r}, and $.label is {self.label!r}; leave one of them out")
        if confirmed is not None and not self.cut_over:
            problems.append("$.request.confirmDelete: no wave removes anything; give it with the cutover")
        if confirmed == WITHOUT_DRY_RUN and self.cut_over:
            problems.append("$.request.confirmDelete: a cutover takes the digest that the latest look reports")
        return problems


def _judged(document: dict[str, Any], limits: Limits) -> list[str]:
    try:
        request = parse_request(document, limits)
    except InvalidRequest as error:
        return [f"$.request{problem.removeprefix('$')}" for problem in error.problems]
    return _of_copies(request)


def _of_copies(request: TransferRequest) -> list[str]:
    if request.copied_ends is None:
        return []
    return ["$.request.destination.kind: between two buckets S3 replicates by itself; waves need a machine at one end"]
