"""Queues that a service of AWS may send to."""

import json
from typing import Any


def open_queue(sqs: Any, name: str, service: str) -> tuple[str, str]:
    """URL and ARN of a new queue that takes messages of `service` (as `events.amazonaws.com`)."""
    url = str(sqs.create_queue(QueueName=name)["QueueUrl"])
    arn = str(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"])
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sqs:SendMessage", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    return url, arn
