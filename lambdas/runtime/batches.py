"""The wrapper of a handler that a queue invokes: one event of a rule after the other, and only those that fail again.

Powertools' BatchProcessor answers with the ids of the messages that failed; SQS shows these again, alone, once the
queue's visibility timeout is over.
"""

from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.adapters.world import World, world
from lambdas.runtime.handler import BusEvent, Handler, failures_named, logger, metrics, tracer


def queued(run: Callable[[BusEvent, World], Mapping[str, Any]]) -> Handler:
    """The Lambda of a queue of events; it waits for no call of AWS longer than seconds.

    What `run` returns is by transfer, and each transfer gets a line of the log.
    """

    def take(record: SQSRecord) -> None:
        with failures_named():
            event = BusEvent.model_validate_json(record.body, by_alias=True)
            result = run(event, world(hurried=True))
        metrics.add_metric(name="Completed", unit=MetricUnit.Count, value=1)
        for transfer_id, found in result.items():
            logger.info(event.detail_type, extra={"transfer_id": transfer_id, "result": found})

    @logger.inject_lambda_context(clear_state=True)
    @tracer.capture_lambda_handler(capture_response=False)
    @metrics.log_metrics(capture_cold_start_metric=True)
    def handler(event: dict[str, Any], context: LambdaContext) -> Any:
        # A batch of which all fail comes again as one of which some do.
        processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        return process_partial_response(event=event, record_handler=take, processor=processor, context=context)

    wrapped: Handler = handler
    return wrapped
