import os

from local.open_files import raise_limit

# Tests talk to several clouds at once, whose clients keep their connections.
raise_limit(what="pytest")

# Powertools reads these when a handler is imported, by whichever test comes first.
os.environ.setdefault("POWERTOOLS_SERVICE_NAME", "cpt-test")
os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "cpt")
os.environ.setdefault("POWERTOOLS_TRACE_DISABLED", "1")
os.environ.setdefault("AWS_DEFAULT_REGION", "us-west-2")
