"""Our own CloudWatch metrics, written to the log in the embedded metric format: a metric costs no call."""

from collections.abc import Mapping

from aws_lambda_powertools.metrics import EphemeralMetrics

from lambdas.core.metrics import UNITS, MeasureName

# One service for all functions, so that a metric has one sum, whichever function saw what it counts.
SERVICE = "control-plane"


class EmfMeasures:
    """Measures over Powertools; the namespace is POWERTOOLS_METRICS_NAMESPACE."""

    def put(self, measured: Mapping[MeasureName, float]) -> None:
        """See Measures."""
        metrics = EphemeralMetrics(service=SERVICE)
        for name, value in measured.items():
            metrics.add_metric(name=name, unit=UNITS[name], value=value)
        metrics.flush_metrics()
