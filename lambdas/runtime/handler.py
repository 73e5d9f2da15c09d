"""The wrapper of every handler: parsed input, logs, traces, metrics, and the times of its state.

Powertools' Logger, Tracer, Metrics and parser are put together here once; a handler's file is only its decision.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar, cast

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.parser import parse
from aws_lambda_powertools.utilities.typing import LambdaContext
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, Field, ValidationError

from lambdas.adapters.metrics import EmfMetrics
from lambdas.adapters.stores import TransferStore
from lambdas.adapters.throttling import is_throttle
from lambdas.adapters.world import World, world
from lambdas.core.documents import Document, Handover
from lambdas.core.errors import CptError, InvalidRequest, Throttled
from lambdas.core.fleet.relay_node import ENDED_INSTANCE_STATES
from lambdas.core.record import transfer_life
from lambdas.core.request.problems import describe
from lambdas.core.request.tenancy import tenant_of_alias
from lambdas.core.transfer.accepted import AcceptedTransfer
from lambdas.core.transfer.record_format import format_of, refuse_other
from lambdas.runtime import idempotency
from lambdas.runtime.correlation import ReadingStore, run_of
from lambdas.runtime.tenants import of_his_own

# After any other state a transfer that is closed was swept while the state's function still ran: stopping an execution
# cancels no function. What that has left is taken down once more, by the reconciler.
LAST_STAGES = frozenset({"Tear Down", "Write Report"})

logger = Logger()
tracer = Tracer(patch_modules=("botocore",))
metrics = Metrics()
counts = EmfMetrics()

Input = TypeVar("Input", bound=BaseModel)
Result = Document | dict[str, Any] | None
Handler = Callable[[dict[str, Any], LambdaContext], Any]


# What the state machine invokes a function with, for it to be there when it is needed.
WARM = {"warm": True}
# Source of what the control plane puts onto its bus; ends cannot.
CONTROL = "cpt.control"
# By which AWS's clocks and the seconds of an event's time differ at most.
CLOCK_SECONDS = 2.0
STATE_CHANGE = "EC2 Instance State-change Notification"


class BusEvent(Handover):
    """An event as a rule hands it to a Lambda."""

    detail_type: str = Field(alias="detail-type", default="Scheduled Event")
    source: str = ""
    time: datetime | None = Field(default=None, strict=False)  # a string in what Lambda has parsed
    """When it was put, to the second."""
    detail: dict[str, Any] = Field(default_factory=dict)

    @property
    def instance_id(self) -> str:
        """The instance that an event of EC2 is about."""
        return str(self.detail.get("instance-id", ""))

    def is_older_than(self, moment: float) -> bool:
        """It was put before that time (Unix, s), by more than two clocks differ and a second is long."""
        return self.time is not None and self.time.timestamp() < moment - CLOCK_SECONDS

    @property
    def tells_of_an_end(self) -> bool:
        """The event says that an instance carries no more."""
        return self.detail_type == STATE_CHANGE and self.detail.get("state") in ENDED_INSTANCE_STATES


def task_state(stage: str, model: type[Input], run: Callable[[Input, World], Result]) -> Handler:
    """The Lambda of a state of the state machine; `stage` is the state's name."""

    def staged(event: Input, here: World) -> Result:
        entered = here.clock.now()
        _note(here, _transfer(event), stage, {"enteredAt": entered})
        result: Result = None
        try:
            result = run(event, here)
        finally:
            left = {"enteredAt": entered, "leftAt": here.clock.now()}
            _note(here, _transfer(event) or _transfer(result), stage, left)
        return result

    read = _read if stage in LAST_STAGES else _read_of_this_version
    return _observed(model, lambda event, here, _: staged(event, here), read)


def event_rule(run: Callable[[BusEvent, World], Result], *, hurried: bool = False, each: bool = False) -> Handler:
    """The Lambda of an event rule; `hurried`: it waits for no call of AWS longer than seconds.

    With `each` what it returns is by transfer, and each transfer gets a line of the log.
    """
    return _observed(BusEvent, lambda event, here, _: run(event, here), hurried=hurried, each=each)


def tenants_rule(run: Callable[[BusEvent, World, str | None], Result]) -> Handler:
    """The Lambda of an event that may be a tenant's: then he has it invoked by his alias, and `run` is told."""
    return _observed(BusEvent, run)


def _noting_runs(here: World, about: str | None, runs: dict[str, str]) -> World:
    """The world, in which each record that is read tells its run; that of `about` goes into all lines that follow."""

    def note(transfer_id: str, run: str) -> None:
        runs[transfer_id] = run
        if transfer_id == about:
            logger.append_keys(run=run)

    return replace(here, transfers=cast(TransferStore, ReadingStore(here.transfers, note)))


def raise_broken(**broken: Mapping[str, Exception]) -> None:
    """Log what looks have failed at, under the key that says what their names are, and raise the first."""
    errors = [(key, name, error) for key, looks in broken.items() for name, error in looks.items()]
    for key, name, error in errors:
        logger.error("could not be looked at", extra={key: name}, exc_info=error)
    for _, _, error in errors[:1]:
        raise error


def user_call(model: type[Input], run: Callable[[Input, World], Result], *, of_no_transfer: bool = False) -> Handler:
    """The Lambda that a person invokes by name, a tenant by his alias; a wrong input is an InvalidRequest."""
    return _observed(model, of_his_own(run, of_no_transfer=of_no_transfer), _read_from_person)


def _read(event: dict[str, Any], model: type[Input]) -> Input:
    return parse(event, model)


def _read_of_this_version(event: dict[str, Any], model: type[Input]) -> Input:
    """An execution that another version's functions began ends here; what it has is taken down and reported.

    Looked at before anything is parsed: what the other version handed on may have another form.
    """
    transfer = event.get("transfer")
    if isinstance(transfer, dict) and "transferId" in transfer:
        refuse_other(str(transfer["transferId"]), format_of(transfer))
    return _read(event, model)


def _read_from_person(event: dict[str, Any], model: type[Input]) -> Input:
    try:
        return model.model_validate(event, by_alias=True, by_name=False)
    except ValidationError as error:
        raise InvalidRequest(describe(error)) from None


def _observed(
    model: type[Input],
    run: Callable[[Input, World, str | None], Result],
    read: Callable[[dict[str, Any], type[Input]], Input] = _read,
    *,
    hurried: bool = False,
    each: bool = False,
) -> Handler:
    @logger.inject_lambda_context(clear_state=True)
    @tracer.capture_lambda_handler(capture_response=False)
    @metrics.log_metrics(capture_cold_start_metric=True)
    def handler(event: dict[str, Any], context: LambdaContext) -> Any:
        if event == WARM:
            return None
        idempotency.register(context)
        with failures_named():
            parsed = read(event, model)
            _name(parsed)
            about, runs = _transfer_id(parsed), dict[str, str]()
            here = _noting_runs(world(hurried=hurried), about, runs)
            result = run(parsed, here, tenant_of_alias(context.invoked_function_arn))
        metrics.add_metric(name="Completed", unit=MetricUnit.Count, value=1)
        if isinstance(parsed, BusEvent):
            # Nobody else sees what a rule's target returns.
            if each and isinstance(result, Mapping):
                for name, found in result.items():
                    logger.info(parsed.detail_type, extra={"transfer_id": name, "run": runs.get(name), "result": found})
            else:
                logger.info(parsed.detail_type, extra={"result": result})
        return result.to_document() if isinstance(result, Document) else result

    wrapped: Handler = handler
    return wrapped


@contextmanager
def failures_named() -> Iterator[None]:
    """Log and count what fails; what AWS throttles gets the name by which it is tried again."""
    try:
        yield
    except Exception as error:
        named = Throttled(str(error)) if is_throttle(error) else error
        metrics.add_metric(name="Failed", unit=MetricUnit.Count, value=1)
        if isinstance(named, Throttled):
            counts.put({"Throttles": 1})
        elif not isinstance(named, CptError):
            counts.put({"Defects": 1})
        # Of our own errors the base class says what to do; anything else is a defect.
        decision = type(named).__mro__[1].__name__ if isinstance(named, CptError) else "defect"
        logger.warning("failed", extra={"error": type(named).__name__, "decision": decision})
        if named is error:
            raise
        raise named from error  # the state machine retries by this name


def _name(parsed: BaseModel) -> None:
    """Say whom a log line or a trace is about; ids are fit for these, and never for a metric's dimension."""
    if transfer_id := _transfer_id(parsed):
        logger.append_keys(transfer_id=transfer_id)
        tracer.put_annotation("transfer_id", transfer_id)
    if transfer := _transfer(parsed):
        logger.append_keys(run=run_of(transfer))
    if isinstance(parsed, BusEvent) and "chunk" in parsed.detail:
        logger.append_keys(chunk=parsed.detail["chunk"])


def _transfer_id(value: object) -> str | None:
    """The id in a handler's input, an event's detail, or an accepted transfer."""
    if isinstance(value, BusEvent):
        found = value.detail.get("transferId")
        return found if isinstance(found, str) else None
    found = getattr(_transfer(value) or value, "transfer_id", None)
    return found if isinstance(found, str) else None


def _transfer(value: object) -> AcceptedTransfer | None:
    """The accepted transfer that a handler's input holds, or that a result is."""
    inner = getattr(value, "transfer", value)
    return inner if isinstance(inner, AcceptedTransfer) else None


def _note(here: World, transfer: AcceptedTransfer | None, stage: str, times: dict[str, float]) -> None:
    if transfer is None:
        return
    try:
        noted = here.transfers.change(transfer, transfer_life.note_stage(stage, times))
        if noted and noted.closed and "leftAt" in times and stage not in LAST_STAGES:
            here.transfers.change(transfer, transfer_life.REOPEN)
    except (CptError, ClientError, BotoCoreError):
        # The times are for the report; a state must not fail for them.
        logger.warning("the times of a state were not noted", extra={"stage": stage}, exc_info=True)
