"""What the sender follows changes by versions, and one change leaves the rest as it is."""

from lambdas.core.fleet.membership import BudgetLease, Membership, Probe, TransferPath

DIRECT = TransferPath(path_id="direct", generation=0, hops=[], receiver="10.0.0.1:4601", lanes=2)
LEASE = BudgetLease(start=1, at=10.0, sent_bytes=10**9, usd=0.1, usd_per_gb=0.02, usd_per_hour=3.6)


def test_each_change_is_the_next_version_and_leaves_the_rest() -> None:
    first = Membership(version=1, paths=[DIRECT], bandwidth_limit_mbps=8, budget_lease=LEASE)
    probes = [Probe(path=DIRECT, seconds=3.0)]
    assert first.changed(probes=probes) == first.model_copy(update={"version": 2, "probes": probes})
    assert first.changed(paths=[]) == first.model_copy(update={"version": 2, "paths": []})
    assert first.limited(None) == first.model_copy(update={"version": 2, "bandwidth_limit_mbps": None})
    later = LEASE.model_copy(update={"at": 11.0})
    assert first.leased(later) == first.model_copy(update={"version": 2, "budget_lease": later})


def test_a_lease_bears_what_was_sent_before_it_and_no_more_than_its_dollars() -> None:
    assert LEASE.bears(10**9, 0.0)
    assert LEASE.bears(10**9 + 5 * 10**9, 0.0), "5 GB cost $0.1"
    assert not LEASE.bears(10**9 + 5 * 10**9, 1.0), "and a second $0.001"
    assert LEASE.bears(0, 100.0)
    assert not LEASE.bears(0, 101.0)
    assert LEASE.bears(0, -50.0), "a clock that was put back gives nothing, and takes nothing"
