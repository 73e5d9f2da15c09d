"""The parts of the ASL engine and the JSONata evaluator that patches touch; both are untyped and pinned by version."""

from __future__ import annotations

import enum
import importlib
import sys
import types
from typing import Any

# The engine's Batch task takes one enumeration from moto.batch, which loads moto's EC2 models:
# 0.9 s of a start of 2.2 s, for a task nobody uses here.
JobStatus = enum.Enum("JobStatus", ["SUCCEEDED", "FAILED"])
_batch = types.ModuleType("moto.batch.utils")
vars(_batch)["JobStatus"] = JobStatus
sys.modules.setdefault("moto.batch", types.ModuleType("moto.batch"))
sys.modules.setdefault("moto.batch.utils", _batch)

ENGINE = "moto.stepfunctions"
_PARSER = f"{ENGINE}.parser"


def _module(name: str) -> Any:
    return importlib.import_module(name)


# The first of these loads every module of the engine.
Execution: Any = _module(f"{_PARSER}.backend.execution").Execution
boto_client: Any = _module(f"{_PARSER}.asl.utils.boto_client")
to_json_str: Any = _module(f"{_PARSER}.asl.utils.encoding").to_json_str
engine_jsonata: Any = _module(f"{_PARSER}.asl.jsonata.jsonata")
intrinsic_functions: Any = _module(f"{_PARSER}.asl.component.intrinsic.jsonata")
callbacks: Any = _module(f"{_PARSER}.asl.eval.callback.callback")
parser: Any = _module(f"{_PARSER}.asl.parse.asl_parser")
RuleContext: Any = _module("antlr4").RuleContext
HistoryEventType: Any = _module(f"{_PARSER}.api").HistoryEventType

_COMPONENT = f"{_PARSER}.asl.component"
_EXECUTED = f"{_COMPONENT}.state.exec"
WaitFunction: Any = _module(f"{_COMPONENT}.state.wait.wait_function.wait_function").WaitFunction
ErrorName: Any = _module(f"{_COMPONENT}.common.error_name.error_name").ErrorName
events: Any = _module(f"{_COMPONENT}.common.error_name.failure_event")
branches: Any = _module(f"{_EXECUTED}.state_parallel.branches_decl")
iterations: Any = _module(f"{_EXECUTED}.state_map.iteration.iteration_worker")
ExecutionState: Any = _module(f"{_EXECUTED}.execute_state").ExecutionState
LambdaTask: Any = _module(f"{_EXECUTED}.state_task.service.state_task_service_lambda").StateTaskServiceLambda
NestedTask: Any = _module(f"{_EXECUTED}.state_task.service.state_task_service_sfn").StateTaskServiceSfn

Jsonata: Any = _module("jsonata.jsonata").Jsonata
JException: Any = _module("jsonata.jexception").JException
Utils: Any = _module("jsonata.utils").Utils
