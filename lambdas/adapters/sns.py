"""The topic that people subscribe to."""

from typing import TYPE_CHECKING

from lambdas.core.visible import visible

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient


class SnsNotifications:
    """Letters over SNS."""

    def __init__(self, client: "SNSClient", topic: str) -> None:
        self._client = client
        self._topic = topic

    def send(self, subject: str, text: str) -> None:
        """See Notifications."""
        self._client.publish(TopicArn=self._topic, Subject=visible(subject), Message=visible(text))
