"""Clients for many looks one after another."""

from functools import cached_property

import boto3

from cli.aws import Aws


class OneSession(Aws):
    """Clients of one session, which reads the description of a service once; for one thread."""

    @classmethod
    def of(cls, aws: Aws) -> "OneSession":
        """For the same deployment."""
        return cls(aws.region, aws.deployment, aws.endpoint_url)

    @cached_property
    def _only(self) -> boto3.Session:
        return super()._session()

    def _session(self) -> boto3.Session:
        return self._only
