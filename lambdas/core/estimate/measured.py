"""Figures from what was measured or configured: a rate, its bounds, and how long it is known to last."""

from math import exp, log1p, sqrt

from lambdas.core.estimate import published_limits
from lambdas.core.estimate.figures import Burst, Figure
from lambdas.core.estimate.history import LEAST_SPREAD
from lambdas.core.estimate.profile import CREDIT_OF, LASTING_OF, Known, Metric, Profile
from lambdas.core.tariff.instance_types import TypeFacts

# Nine of ten values of a normal distribution lie above the mean less so many standard deviations, nine below it plus.
# The logarithm of a rate or a time is taken as normal: however much it varies, it is never 0.
NINE_OF_TEN = 1.28
# What is left of a credit depends on what the machine did before: half of what was seen, or twice as much.
CREDIT_VARIES = 2.0
# Until it is learnt: the last 1 % of a transfer may be on two lanes at once.
REPEATED = 0.01


def figure(profile: Profile | None, metric: Metric, what: str, facts: TypeFacts | None = None) -> Figure | None:
    """The metric's figure, `what` being its subject in words; None where nothing is known.

    `facts`: of the machine, for a rate. One above the published baseline is a burst until it was seen to last as long
    as AWS lets one last; a transfer in which it fell tells what lasts, and with which credit.
    """
    known = profile.known(metric) if profile else None
    if profile is None or known is None:
        return None
    if known.origin == "configured":
        return Figure(value=known.value, origin="configured", note=what)
    seen = _measured(known, _note(what, known))
    lasting = _lasting(profile, metric, what)
    if lasting is not None and seen.value > lasting.value:
        return _bursting(lasting, seen, profile, metric)
    if facts is None or not facts.bursts or seen.least <= facts.network:
        return seen
    if known.longest_seconds >= published_limits.LONGEST_BURST_SECONDS:
        return seen
    rate = seen.model_copy(update={"note": f"{seen.note}, for {known.longest_seconds:.0f} s at the longest"})
    credit = published_limits.credit(facts.network, rate, (rate.least - facts.network) * known.longest_seconds)
    note = f"{facts.instance_type}: baseline {facts.baseline_gbps:g} Gbps"
    return Figure(value=facts.network, burst=Burst(rate=rate, credit=credit), origin="published", note=note)


def ends(machines: Profile | None, what: str, facts: TypeFacts | None) -> Figure | None:
    """V as it was met. Where more had passed before, a network that was slow for a while may have looked like full
    ends: which of the two it was is not known, and the next transfer looks.
    """
    met, passed = figure(machines, "ends", what, facts), machines.known("endsAtLeast") if machines else None
    if met is None or met.burst or passed is None or passed.value <= met.greatest:
        return met
    note = f"{met.note}; {passed.value:.4g} MB/s had passed before"
    return met.model_copy(update={"high": passed.value, "origin": "assumed", "note": note})


def fallen(profile: Profile | None, metric: Metric, what: str, published: Figure) -> Figure | None:
    """The metric's figure where a rate fell that was never the limit itself: what lasts, and `published` until then."""
    lasting = _lasting(profile, metric, what) if profile else None
    if profile is None or lasting is None or published.now <= lasting.value:
        return None
    rate = published.burst.rate if published.burst else published
    return _bursting(lasting, rate, profile, metric)


def _bursting(lasting: Figure, rate: Figure, profile: Profile, metric: Metric) -> Figure:
    spent = profile.known(CREDIT_OF[metric])
    mb = spent.value if spent else published_limits.USUAL_BURST_SECONDS * (rate.value - lasting.value)
    note = "until the rate fell in an earlier transfer"
    credit = Figure(value=mb, low=mb / CREDIT_VARIES, high=mb * CREDIT_VARIES, origin="measured", note=note)
    return lasting.model_copy(update={"burst": Burst(rate=rate, credit=credit)})


def gain(profile: Profile | None, what: str) -> Figure | None:
    """What a pair after the first adds, in shares of the first, at most 1; None where nobody measured it."""
    known = figure(profile, "gain", what)
    if known is None:
        return None
    bounds = {"value": known.value, "low": known.least, "high": known.greatest}
    return known.model_copy(update={name: min(1.0, bound) for name, bound in bounds.items()})


def repeated(machines: Profile | None, what: str) -> Figure:
    """What was measured, as far as that weighs a whole sample; for what is missing of it what is assumed."""
    assumed = Figure(value=REPEATED, origin="assumed", note="last chunks on two lanes, and what is sent again")
    known, seen = machines.known("repeated") if machines else None, figure(machines, "repeated", what)
    if known is None or seen is None:
        return assumed
    share = 1.0 if known.weight is None else min(known.weight, 1.0)
    note = seen.note if share == 1.0 else f"{seen.note}; for {100 * (1 - share):.0f} % of it {REPEATED:g} is assumed"
    rest = (1 - share) * REPEATED
    bounds = {"value": seen.value, "low": seen.least, "high": seen.greatest}
    return seen.model_copy(update={**{name: share * bound + rest for name, bound in bounds.items()}, "note": note})


def _lasting(profile: Profile, metric: Metric, what: str) -> Figure | None:
    known = profile.known(LASTING_OF[metric]) if metric in LASTING_OF else None
    return _measured(known, f"{_note(what, known)}, after its credit") if known else None


def _measured(known: Known, note: str) -> Figure:
    spread = max(known.sigma / known.value, LEAST_SPREAD) if known.value else 0.0
    times = exp(NINE_OF_TEN * sqrt(log1p(spread * spread)))
    return Figure(value=known.value, low=known.value / times, high=known.value * times, origin=known.origin, note=note)


def _note(what: str, known: Known) -> str:
    times = f"{known.samples} sample{'s' if known.samples > 1 else ''}"
    values = f" of {known.measurements} values" if (known.measurements or 0) > known.samples else ""
    return f"{what}: {times}{values}, standard deviation {known.sigma:.3g}"
