"""Our own CloudWatch metrics, written to the log in the embedded metric format: a metric costs no call."""

from collections.abc import Mapping

from aws_lambda_powertools.metrics import EphemeralMetrics

from lambdas.core.metrics import UNITS, MetricName

# One service for all functions, so that a metric has one sum, whichever function saw what it counts.
SERVICE = "control-plane"


class EmfMetrics:
    """Measures over Powertools; the namespace is POWERTOOLS_METRICS_NAMESPACE."""

    def put(self, measured: Mapping[MetricName, float]) -> None:
        """See Metrics."""
        metrics = EphemeralMetrics(service=SERVICE)
        for name, value in measured.items():
            metrics.add_metric(name=name, unit=UNITS[name], value=value)
        metrics.flush_metrics()
