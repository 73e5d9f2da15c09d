"""CPU seconds per GB of what stands between the ends: our relay, HAProxy with splice, socat.

Sender, receiver and data are the same; the forwarder in the middle changes. Our stream is plain bytes to a forwarder,
so the sender dials HAProxy or socat as if it were the receiver. Our relay does challenge and signed header on top.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager

from bench.data_plane import files
from bench.data_plane.bench import Bench, median, say
from bench.data_plane.network import network
from bench.data_plane.ours import PORT, Route, Transfer
from bench.data_plane.peers import forwarders
from bench.data_plane.peers.programs import have
from bench.data_plane.process import Program, until
from bench.results import Result

NODES = {"sender": "10.0.0.1", "relay": "10.1.0.2", "receiver": "10.1.0.1"}
BAR = 1.0


def run(bench: Bench) -> list[Result]:
    """Ours over the better HAProxy, and over socat."""
    source, size = files.large_source(bench)
    ours = Transfer(bench, source)
    with network(NODES) as net:
        sender, relay, receiver = net["sender"], net["relay"], net["receiver"]
        target = f"{receiver.address}:{PORT}"

        def through_relay() -> float:
            moved = ours.move(Route(sender, receiver, [(relay,)], direct=False))
            return moved.ended["relay-0"].cpu_seconds

        def through(forwarder: Callable[[], AbstractContextManager[Program]]) -> Callable[[], float]:
            def move() -> float:
                with forwarder() as program:
                    ours.move(Route(sender, receiver, front=f"{relay.address}:{forwarders.PORT}"))
                    until(lambda: forwarders.without_children(program), "connections end", [program])
                    return program.stop().cpu_seconds

            return move

        def trial(setting: str) -> Callable[[], float]:
            return through(lambda: forwarders.haproxy(bench, relay, target, setting))

        sides: dict[str, Callable[[], float]] = {"cpt-relay": through_relay}
        setting = ""
        if have("haproxy"):
            say("  CPU seconds of HAProxy:")
            setting = bench.fastest({name: trial(name) for name in forwarders.HAPROXY_SETTINGS})
            sides["haproxy"] = trial(setting)
        if have("socat"):
            sides["socat"] = through(lambda: forwarders.socat(bench, relay, target))
        found = bench.alternate(sides)
    cost = {name: median(values) / size * 1e9 for name, values in found.items()}
    results = [Result("relay-cpu", cost["cpt-relay"], "s/GB")]
    if "haproxy" in cost:
        note = f"{setting}: {cost['haproxy']:.3f} s/GB"
        results.append(Result("relay-cpu / HAProxy", cost["cpt-relay"] / cost["haproxy"], "×", BAR, note=note))
    if "socat" in cost:
        note = f"socat {cost['socat']:.3f} s/GB"
        results.append(Result("relay-cpu / socat", cost["cpt-relay"] / cost["socat"], "×", note=note))
    return results
