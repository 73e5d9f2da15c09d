"""Each kind of experiment runs with real bytes: their numbers mean nothing here."""

import subprocess
import sys

import pytest

from local.cloud import namespaces_available

SECONDS = 120


@pytest.mark.skipif(not namespaces_available(), reason="needs root, iproute2 and nftables")
@pytest.mark.parametrize("figure", ["network", "cpt-6.1", "rcd-18d", "green-4.1.7"])
def test_an_experiment_measures_all_that_its_claims_are_about(figure: str) -> None:
    argv = [sys.executable, "-m", "bench.lab", "--figure", figure, "--smoke"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    assert "smoke, " in done.stderr
