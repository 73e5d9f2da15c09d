"""`cpt redrive`: events that reached nobody, once more to the functions (and news to the topic) that they were for.

SQS moves letters back by itself only where a queue is the source; here rules and functions are.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cli.aws import Aws, enrolled, home
from cli.console import say
from cli.options import AsJson, Local

SUFFIX = "-dead-letters"
# The rule in each region that sends EC2's events to the home region; there a function reads them from a queue.
FORWARDING, TELLING, MACHINE_ENDS = "forward-ec2", "tell-machine-ends", "machine-ends"
# The function that reads objects from a queue.
COLLECTING, ARRIVALS = "collect-object", "arrivals"
# The rule that puts news on the topic.
NOTIFYING, NOTIFIED = "notify", "notifications"
# A letter that is not put back within this time shows itself again.
HIDDEN_SECONDS = 60


@dataclass(frozen=True)
class Queue:
    """A dead-letter queue; `to` is the function, the topic or the queue that its events were for."""

    name: str
    region: str
    url: str
    to: str
    letters: int

    def to_document(self, redriven: int) -> dict[str, Any]:
        """Return the queue as a line of `--json`."""
        told = {"queue": self.name, "region": self.region, "letters": self.letters}
        return {**told, "to": self.to, "redriven": redriven}


def redrive(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; show which messages are in which queue.")
    ] = False,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Give events from the dead-letter queues to their functions again; twice or late, they do no harm."""
    aws = home(local=local)
    found = [queue for queue in queues(aws, enrolled(aws)) if queue.letters]
    for queue in found:
        redriven = 0 if dry_run else put_back(aws, queue)
        if as_json:
            say(json.dumps(queue.to_document(redriven)))
        else:
            told = "" if dry_run else f", {redriven} given to {queue.to} again"
            say(f"{queue.name} ({queue.region}): {queue.letters} letters{told}")
    if not found and not as_json:
        say("no dead letters")


def queues(aws: Aws, regions: Iterable[str]) -> Iterator[Queue]:
    """Return all dead-letter queues of the deployment."""
    prefix = f"{aws.deployment}-"
    for region in sorted({aws.region, *regions}):
        sqs = aws.client("sqs", region)
        pages = sqs.get_paginator("list_queues").paginate(QueueNamePrefix=prefix)
        for url in (url for page in pages for url in page.get("QueueUrls", [])):
            name = url.rsplit("/", 1)[-1]
            if name.endswith(SUFFIX):
                of = name.removeprefix(prefix).removesuffix(SUFFIX)
                to = {FORWARDING: MACHINE_ENDS, TELLING: MACHINE_ENDS, NOTIFYING: NOTIFIED, COLLECTING: ARRIVALS}.get(
                    of, of
                )
                yield Queue(name, region, url, prefix + to, _letters(sqs, url))


def _letters(sqs: Any, url: str) -> int:
    name = "ApproximateNumberOfMessages"
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def put_back(aws: Aws, queue: Queue) -> int:
    """Give what lies in a queue now to whom it was for: how many letters. What fails again comes back as another."""
    sqs, give = aws.client("sqs", queue.region), _giver(aws, queue)
    done = 0
    while done < queue.letters:
        wanted = min(10, queue.letters - done)
        answer = sqs.receive_message(
            QueueUrl=queue.url, MaxNumberOfMessages=wanted, VisibilityTimeout=HIDDEN_SECONDS, WaitTimeSeconds=1
        )
        letters = answer.get("Messages", [])
        if not letters:
            break
        for letter in letters:
            give(letter["Body"])
            sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=letter["ReceiptHandle"])
        done += len(letters)
    return done


def _giver(aws: Aws, queue: Queue) -> Callable[[str], Any]:
    if queue.to.endswith((f"-{MACHINE_ENDS}", f"-{ARRIVALS}")):
        sqs = aws.client("sqs")
        url = sqs.get_queue_url(QueueName=queue.to)["QueueUrl"]
        return lambda body: sqs.send_message(QueueUrl=url, MessageBody=body)
    if not queue.to.endswith(f"-{NOTIFIED}"):
        functions = aws.client("lambda")
        return lambda body: functions.invoke(FunctionName=queue.to, InvocationType="Event", Payload=body.encode())
    sns = aws.client("sns")
    topic = next(
        found["TopicArn"]
        for page in sns.get_paginator("list_topics").paginate()
        for found in page["Topics"]
        if found["TopicArn"].endswith(f":{queue.to}")
    )

    def publish(body: str) -> None:
        event = json.loads(body)
        sns.publish(TopicArn=topic, Message=json.dumps(event.get("detail", event)))

    return publish
