"""What a finished transfer tells about its machines: samples for their profiles."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from statistics import fmean, median

from lambdas.core.chunks.events import Delivered
from lambdas.core.chunks.plan import SMALL_FILE_BYTES
from lambdas.core.estimate.measured import CREDIT_VARIES
from lambdas.core.estimate.profile import CREDIT_OF, LASTING_OF, MOST, Metric, Profile, hosts_of
from lambdas.core.estimate.profiling import Measured
from lambdas.core.fleet.membership import DIRECT
from lambdas.core.fleet.relay_node import Node
from lambdas.core.fleet.topology import share_relays
from lambdas.core.learning.arrivals import Arrivals
from lambdas.core.learning.bursts import fallen, split
from lambdas.core.learning.path_links import LinkProfiles, PathLinks, link_at
from lambdas.core.learning.path_rates import (
    BYTES_PER_MB,
    LEAST_SECONDS,
    NOISE,
    WARM_UP_SECONDS,
    Expected,
    Judgement,
    Rates,
    Windows,
    judge,
    windows,
)
from lambdas.core.learning.relay_samples import Relays
from lambdas.core.learning.sample import Sample
from lambdas.core.request.bandwidth import MBIT_PER_MB
from lambdas.core.transfer.accepted import AcceptedTransfer

DIRECT_SECONDS = 2
LEAST_REPEATED_BYTES, FULL_REPEATED_BYTES = 16 * 2**20, 10**9
"""What is sent twice is measured from two chunks of 8 MiB on, and in full by 1 GB: their last 1 % is 10 MB."""
MOST_PARTS = 5


def subjects(transfer: AcceptedTransfer, nodes: Iterable[Node]) -> list[str]:
    """Whom a transfer may tell about: its pair of hosts and the types of its relays."""
    return [
        hosts_of(transfer),
        *sorted({node.instance_type for node in nodes}),
    ]


def samples_of(
    transfer: AcceptedTransfer,
    arrivals: Arrivals,
    nodes: Iterable[Node],
    profiles: Mapping[str, Profile],
    measured_direct: float | None = None,
    lowest_limit_mbps: int | None = None,
    other_links: LinkProfiles | None = None,
    beside: Sequence[tuple[float, float]] = (),
) -> list[Sample]:
    """All samples of a transfer, succeeded or not; `profiles`: what was known of its `subjects`.

    `other_links`: what was known of its relays' types on the links of its routes through third regions.

    `measured_direct`, MB/s: the direct path where nothing was moved but measured. `lowest_limit_mbps`, Mbit/s: the
    lowest bound that the sender ever had; where it was reached, machines may have been able to do more. `beside`: when
    other transfers used the same ends, Unix seconds; what was measured then is not learnt.
    """
    ends = hosts_of(transfer)
    own_link = {(subject, transfer.region_pair): profile for subject, profile in profiles.items()}
    links = PathLinks(transfer, {**(other_links or {}), **own_link})
    relays = Relays(transfer, list(nodes), arrivals.begun, links, beside)
    limit = lowest_limit_mbps / MBIT_PER_MB if lowest_limit_mbps else inf
    # What a relay carries on several paths at once is no path's own rate.
    found, to_the_end = (
        {paths: seconds for paths, seconds in every.items() if not share_relays(paths)}
        for every in (windows(arrivals, limit, beside=beside), windows(arrivals, limit, 0.0, beside))
    )
    found, fallen = _burst(found, ends, relays.types, links)
    whole = [second for seconds in found.values() for second in seconds]
    alone = [rates[DIRECT] for rates in found.pop(frozenset({DIRECT}), [])]
    tested = relays.tested()
    own = dict(tested)
    if len(alone) >= DIRECT_SECONDS:
        own[DIRECT] = median(alone)
    elif measured_direct is not None:
        own[DIRECT] = measured_direct
    machines = profiles.get(ends, Profile())
    known, passed = machines.known("ends"), machines.known("endsAtLeast")
    expected = Expected(own, relays.likely(), known.value if known else None, passed.value if passed else 0.0)
    judgement = judge(found, expected, to_the_end)
    samples = [*relays.samples(), *fallen]
    mean_mb = arrivals.bytes / arrivals.files / BYTES_PER_MB if arrivals.files else 0.0
    small = 0 < mean_mb < SMALL_FILE_BYTES / BYTES_PER_MB
    if DIRECT in own:
        samples.append(Sample(ends, "direct", own[DIRECT], _lasted(whole, DIRECT, own[DIRECT])))
    for path, kind in sorted(relays.types.items()):
        rates = [second[path] for second in judgement.free if path in second]
        # A pre-tested pair has given its sample: those that stayed would count twice, and they are the better half.
        if len(rates) >= LEAST_SECONDS and path not in tested:
            samples += links.samples(path, kind, median(rates), _lasted(whole, path, median(rates)))
        elif path not in tested and (held_back := [second[path] for second in judgement.bounded if path in second]):
            rate = median(held_back)
            samples += [Sample(kind, "interRegionAtLeast", rate, link=links.named(one)) for one in links.of(path)]
    samples += relays.gains(judgement.free, tested)
    held = _limit_of_ends(judgement)
    if held and small:
        # Making files was the limit: of large ones the ends may move more.
        samples += [Sample(ends, "files", rate / mean_mb) for rate, _ in held]
    elif held:
        samples += [Sample(ends, "ends", rate, lasted) for rate, lasted in held]
    elif known and judgement.most > (1 + NOISE) * known.value:
        samples.append(Sample(ends, "ends", judgement.most))  # more passed than was thought possible
    elif not known:
        samples += _bounds_of_ends(judgement, ends)
    samples += _outlasted([*samples, *_passed(judgement, ends, samples)], profiles)
    return [sample for sample in samples if sample.value > 0]


def _bounds_of_ends(judgement: Judgement, ends: str) -> list[Sample]:
    """What passed through ends of which no limit was met, and where they may have met one."""
    found = []
    if any(len(second) > 1 for second in (*judgement.free, *judgement.bounded)):
        found.append(Sample(ends, "endsAtLeast", judgement.most))
    if judgement.suspected is not None:
        found.append(Sample(ends, "endsSuspected", judgement.suspected))
    return found


def _limit_of_ends(judgement: Judgement) -> list[tuple[float, int]]:
    """What the ends moved while they were full, MB/s, and for how many seconds; several times where that is vague.

    Seconds whose sums swing are told in two to five parts: how much these differ makes the range of the figure.
    """
    if judgement.held:
        return [(median(sum(second.values()) for second in judgement.held), len(judgement.held))]
    sums = [sum(second.values()) for second in judgement.delayed]
    count = min(MOST_PARTS, max(2, len(sums) // 2)) if sums else 0
    parts = [sums[index * len(sums) // count : (index + 1) * len(sums) // count] for index in range(count)]
    return [(fmean(part), len(part)) for part in parts]


def _burst(found: Windows, ends: str, types: Mapping[str, str], links: PathLinks) -> tuple[Windows, list[Sample]]:
    """The windows up to where their rates fell for good, and what the rest tells: what lasts, and the credit.

    Where all of several paths fell, it was the ends that had no more credit.
    """
    kept: Windows = {}
    samples: list[Sample] = []
    for paths, seconds in found.items():
        kept[paths], after = split(seconds)
        if not after:
            continue
        fell = fallen(kept[paths], after)
        if len(paths) > 1 and fell.keys() == paths:
            one, other = (sum(part) for part in zip(*fell.values(), strict=True))
            samples += _fall(ends, "ends", one, other, len(kept[paths]), len(after))
            continue
        for path, (one, other) in sorted(fell.items()):
            earlier = sum(len(some) for others, some in found.items() if path in others and others < paths)
            if path == DIRECT:
                samples += _fall(ends, "direct", one, other, earlier + len(kept[paths]), len(after))
            elif path in types and (limit := links.limit(path, types[path])):
                fall = _fall(types[path], "interRegion", one, other, earlier + len(kept[paths]), len(after))
                samples += [replace(sample, link=links.named(limit)) for sample in fall]
    return kept, samples


def _fall(subject: str, metric: Metric, one: float, other: float, before: float, after: float) -> list[Sample]:
    """A rate of `one` MB/s that was `other` after `before` seconds, for `after` more of them."""
    credit = (one - other) * (before + WARM_UP_SECONDS)
    return [Sample(subject, LASTING_OF[metric], other, after), Sample(subject, CREDIT_OF[metric], credit)]


def _passed(judgement: Judgement, ends: str, samples: Iterable[Sample]) -> list[Sample]:
    """What the ends let pass without being the limit, and for how many seconds; none where their limit was seen."""
    if any(sample.metric == "ends" for sample in samples):
        return []
    seconds = sum(sum(rates.values()) >= (1 - NOISE) * judgement.most for rates in judgement.free)
    return [Sample(ends, "ends", judgement.most, seconds)]


def _outlasted(samples: Sequence[Sample], profiles: Mapping[str, Profile]) -> list[Sample]:
    """Rates that lasted longer than a credit seen earlier can have let them: what fell then was no burst that ended."""
    found: list[Sample] = []
    fell = {(sample.subject, sample.metric) for sample in samples}
    for sample in samples:
        profile = profiles.get(sample.subject)
        if profile is None or sample.link is not None or sample.metric not in LASTING_OF:
            continue
        if (sample.subject, LASTING_OF[sample.metric]) in fell:
            continue  # it did so again
        lasting, credit = profile.known(LASTING_OF[sample.metric]), profile.known(CREDIT_OF[sample.metric])
        if not lasting or not credit or sample.value <= (1 + NOISE) * lasting.value:
            continue
        if sample.lasted_seconds > CREDIT_VARIES * credit.value / (sample.value - lasting.value):
            found.append(Sample(sample.subject, LASTING_OF[sample.metric], sample.value, sample.lasted_seconds))
    return found


def _lasted(seconds: Iterable[Rates], path: str, rate: float) -> float:
    """Seconds in which the path carried its rate, with the one in which it began."""
    seen = sum(second.get(path, 0.0) >= (1 - NOISE) * rate for second in seconds)
    return seen + WARM_UP_SECONDS if seen else 0.0


def tails_of(transfer: AcceptedTransfer, arrivals: Arrivals, nodes: Iterable[Node]) -> list[Sample]:
    """How much longer than data moved each relay lived that was there to the end of a transfer that delivered all."""
    if arrivals.ended is None:
        return []
    moved = arrivals.ended - min(arrivals.begun.values())
    return [
        Sample(
            node.instance_type,
            "tail",
            max(node.ended_at - node.requested_at - moved, 0.0),
            link=link_at(transfer, node),
        )
        for node in nodes
        if node.state == "TERMINATED" and node.ended_at is not None and node.is_ours and not node.generation
    ]


def links_of(transfer: AcceptedTransfer, measured: Measured | None) -> list[Sample]:
    """What an execution found that measured links; that of the ends is told by their relays, as of any pair."""
    return [
        Sample(link.instance_type, "interRegion", link.inter_region, link=name)
        for link in (measured and measured.links) or []
        if link.instance_type and link.inter_region > 0
        if (name := f"{link.from_region}>{link.to_region}") != transfer.region_pair
    ]


def repeats_of(transfer: AcceptedTransfer, delivered: Delivered) -> list[Sample]:
    """What a first run that succeeded sent beyond what arrived, as a share of that; weighed by its bytes.

    Of what was skipped the bytes were sent and did not arrive. In a few MB the last chunks, which may go twice, are
    most of it.
    """
    if transfer.run > 1 or delivered.skipped or delivered.bytes < LEAST_REPEATED_BYTES:
        return []
    share = max(delivered.sent_bytes / delivered.bytes - 1.0, 0.0)
    ends = hosts_of(transfer)
    weight = min(delivered.bytes / FULL_REPEATED_BYTES, 1.0)
    return [Sample(ends, "repeated", min(share, MOST["repeated"]), weight=weight)]
