"""Step Functions with moto's ASL engine.

AWS: heartbeats and timeouts of tasks fire, variables are assigned, a definition is parsed when the machine is created,
the same name and input return the running execution, tokens end with their task, and inputs and outputs above 262 144
bytes are refused.
Emulator: its own interpreter ignores heartbeats, execution timeouts and Assign, and accepts any definition. Its API,
records and status events are kept; each execution runs in the engine under the state machine's role.
"""

from __future__ import annotations

import json
import logging
import threading
import types
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from local.facts import fact
from local.patches.replace import override
from local.patches.states import aliases
from local.patches.states.definitions import problems
from local.patches.states.engine import Execution, callbacks, parser, to_json_str
from local.patches.upstream import responses, stepfunctions

log = logging.getLogger("local.states")

PAYLOAD_BYTES = fact("states-payload-bytes")

Json = dict[str, Any]
_create = stepfunctions._create_state_machine
_update = stepfunctions._update_state_machine
_start = stepfunctions._start_execution
_stop = stepfunctions._stop_execution
_delete = stepfunctions._delete_state_machine
_history = stepfunctions._get_execution_history
_setup_heartbeat_endpoint = callbacks.CallbackEndpoint.setup_heartbeat_endpoint
_running: dict[str, Any] = {}


def install(endpoint: str) -> None:
    """Put the engine under the API. `endpoint`: where tasks call AWS."""
    from local.patches.states import clients as states_clients
    from local.patches.states import failures, jsonata, nested, trees

    trees.install()
    failures.install()
    nested.install()
    states_clients.install(endpoint)
    aliases.install()
    jsonata.install()
    override(callbacks.CallbackEndpoint, setup_heartbeat_endpoint=_setup_heartbeat)
    override(
        stepfunctions,
        _create_state_machine=create_state_machine,
        _update_state_machine=update_state_machine,
        _start_execution=start_execution,
        _stop_execution=stop_execution,
        _delete_state_machine=delete_state_machine,
        _get_execution_history=get_execution_history,
        _run_execution=run_execution,
        _send_task_success=send_task_success,
        _send_task_failure=send_task_failure,
        _send_task_heartbeat=send_task_heartbeat,
    )


def create_state_machine(data: Json) -> Any:
    """CreateStateMachine: the definition must parse, and each state must have a way on."""
    return _refused(data) or _create(data)


def update_state_machine(data: Json) -> Any:
    """UpdateStateMachine: the same of a new definition."""
    return (_refused(data) if data.get("definition") else None) or _update(data)


def _refused(data: Json) -> Any:
    definition = data.get("definition") or ""
    try:
        parser.AmazonStateLanguageParser.parse(definition)
        document = json.loads(definition)
        found = problems(document)
    except (parser.ASLParserException, ValueError, RuntimeError, TypeError) as error:
        found = [str(error)]
    if not found:
        return None
    cause = ", ".join(found)
    return responses.error_response_json("InvalidDefinition", f"Invalid State Machine Definition: '{cause}'", 400)


def start_execution(data: Json) -> Any:
    """StartExecution: JSON input within the limit; the same name and input return the running execution."""
    text = data.get("input", "{}")
    if len(text.encode()) > PAYLOAD_BYTES:
        message = f"input: at most {PAYLOAD_BYTES} bytes of UTF-8, not {len(text.encode())}"
        return responses.error_response_json("ValidationException", message, 400)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return responses.error_response_json(
            "InvalidExecutionInput", f"Invalid State Machine Execution Input: '{error}'", 400
        )
    name = data.get("name")
    arn = stepfunctions._resolve_state_machine_arn(data.get("stateMachineArn", "")) if name else None
    known = stepfunctions._executions.get(f"{arn.replace(':stateMachine:', ':execution:')}:{name}") if arn else None
    if known and known["status"] == "RUNNING" and known["input"] == text:
        return responses.json_response({"executionArn": known["executionArn"], "startDate": known["startDate"]})
    aliases.remember(str(data.get("stateMachineArn", "")))
    return _start(data)


def run_execution(arn: str) -> None:
    """Run one execution to its end, on the thread that the emulator made for it."""
    record = stepfunctions._executions[arn]
    record.update(aliases.of_started())
    machine = aliases.published(stepfunctions._state_machines[record["stateMachineArn"]], record)
    region, account = arn.split(":")[3:5]
    execution = Execution(
        name=record["name"],
        sm_type=machine.get("type", "STANDARD"),
        role_arn=machine["roleArn"],
        exec_arn=arn,
        account_id=account,
        region_name=region,
        state_machine=types.SimpleNamespace(
            arn=machine["stateMachineArn"],
            name=machine["name"],
            definition=machine["definition"],
            sm_type=machine.get("type", "STANDARD"),
            revision_id=None,
            logging_config=None,
            create_date=None,
        ),
        start_date=record["startDate"],
        cloud_watch_logging_session=None,
        input_data=record["input"] or "{}",
        activity_store={},
    )
    done = threading.Event()
    reflect = execution._get_start_execution_worker_comm()

    def terminated() -> None:
        try:
            reflect.terminated()
        finally:
            done.set()

    execution._get_start_execution_worker_comm = lambda: types.SimpleNamespace(terminated=terminated)
    _running[arn] = execution
    try:
        execution.start()
        done.wait()
    finally:
        _running.pop(arn, None)
    record["events"] = _events(execution)
    if record["status"] != "RUNNING":  # stopped: the record says so already
        return
    record["stopDate"] = responses.now_iso()
    record["error"], record["cause"] = execution.error, execution.cause
    record["status"] = execution.status
    if execution.status == "SUCCEEDED":
        record["output"] = to_json_str(execution.output, separators=(",", ":"))
    stepfunctions._emit_execution_status_event(record)


def stop_execution(data: Json) -> Any:
    """StopExecution: the record is aborted at once, the engine follows.

    No Catch runs, and no Lambda in flight is cancelled.
    """
    answer = _stop(data)
    execution = _running.get(data.get("executionArn", ""))
    if execution is not None and execution.exec_worker.env is not None:
        execution.stop(datetime.now(UTC), data.get("error"), data.get("cause"))
    return answer


def delete_state_machine(data: Json) -> Any:
    """DeleteStateMachine: its executions end with it, and nobody is told."""
    for arn, execution in list(_running.items()):
        record = stepfunctions._executions.get(arn)
        if record and record["stateMachineArn"] == data.get("stateMachineArn"):
            record["status"] = "ABORTED"
            execution.stop(datetime.now(UTC), None, None)
    aliases.forget(str(data.get("stateMachineArn", "")))
    return _delete(data)


def get_execution_history(data: Json) -> Any:
    """GetExecutionHistory, also of a running execution."""
    execution = _running.get(data.get("executionArn", ""))
    record = stepfunctions._executions.get(data.get("executionArn"))
    if execution is not None and record is not None and execution.exec_worker.env is not None:
        record["events"] = _events(execution)
    return _history(data)


def _events(execution: Any) -> list[Json]:
    events = [
        {key: _iso(value) for key, value in event.items()} for event in list(execution.to_history_output()["events"])
    ]
    by_id = {event["id"]: event for event in events}
    for event in events:
        if "taskFailedEventDetails" in event:
            # The engine leaves out whose failure it is where a task never began.
            event["taskFailedEventDetails"] = {**_resource(event, by_id), **event["taskFailedEventDetails"]}
    return events


def _resource(event: Json, by_id: dict[int, Json]) -> Json:
    """Resource of the task that an event belongs to, from the nearest event before it that names one."""
    while event := by_id.get(event.get("previousEventId", 0)):  # type: ignore[assignment]
        for name, details in event.items():
            if name.startswith("task") and "resourceType" in details:
                return {key: details[key] for key in ("resourceType", "resource")}
    return {"resourceType": "lambda", "resource": "invoke"}


def _iso(value: Any) -> Any:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value


def send_task_success(data: Json) -> Any:
    """SendTaskSuccess."""
    output = data.get("output", "")
    if len(output.encode()) > PAYLOAD_BYTES:
        message = f"output: at most {PAYLOAD_BYTES} bytes of UTF-8, not {len(output.encode())}"
        return responses.error_response_json("ValidationException", message, 400)
    try:
        json.loads(output)
    except json.JSONDecodeError as error:
        return responses.error_response_json("InvalidOutput", f"Invalid Output: '{error}'", 400)
    token = data["taskToken"]
    return _deliver(
        token, lambda pool: pool.notify(callback_id=token, outcome=callbacks.CallbackOutcomeSuccess(token, output))
    )


def send_task_failure(data: Json) -> Any:
    """SendTaskFailure."""
    token = data["taskToken"]
    outcome = callbacks.CallbackOutcomeFailure(token, data.get("error"), data.get("cause"))
    return _deliver(token, lambda pool: pool.notify(callback_id=token, outcome=outcome))


def send_task_heartbeat(data: Json) -> Any:
    """SendTaskHeartbeat: also before the task's own call has returned, and where no heartbeat is asked for."""
    return _deliver(data["taskToken"], lambda pool: pool.heartbeat(callback_id=data["taskToken"]))


def _setup_heartbeat(endpoint: Any, heartbeat_seconds: int) -> Any:
    """The engine waits from when the task's own call has returned; a token used before must not be slept over."""
    heartbeat = _setup_heartbeat_endpoint(endpoint, heartbeat_seconds)
    if endpoint.get_outcome() is not None:
        heartbeat.notify()
    return heartbeat


def _deliver(token: str, act: Callable[[Any], object]) -> Any:
    """Act on the pool of the execution that waits for `token`; the token of a task that has ended is refused."""
    for execution in list(_running.values()):
        environment = execution.exec_worker.env if execution.exec_worker else None
        pool = environment.callback_pool_manager if environment is not None else None
        waiting = pool.get(token) if pool is not None else None
        if waiting is not None and waiting.get_outcome() is None:
            try:
                act(pool)
            except callbacks.CallbackNotifyConsumerError as error:
                log.info("token refused: %r", error)
                break
            return responses.json_response({})
    return responses.error_response_json("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'", 400)
