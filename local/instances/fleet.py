"""Life cycle of instances: launch, boot, SSM registration, stop, termination, spot interruption, and counted faults."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

from local.caps import Caps, PairCap, changed
from local.config import LocalConfig
from local.instances.clock import Clock
from local.instances.faults import Faults
from local.instances.model import AddressPlan, Backend, Held, Instance, NoAddressLeftError

log = logging.getLogger("local.fleet")

USER_DATA_SECONDS = 60  # cloud-init has no limit; a script that takes longer than this is a mistake here
# cloud-init runs user data at the first boot, and these scripts at each.
PER_BOOT = '#!/bin/sh\nfor script in "$CPT_PER_BOOT"/*; do [ ! -x "$script" ] || "$script"; done\n'

State = Literal["pending", "running", "stopping", "stopped", "shutting-down", "terminated"]


class Fleet:
    """The instances of all regions. Callbacks run on the clock's threads."""

    def __init__(self, config: LocalConfig, plan: AddressPlan, backend: Backend, clock: Clock) -> None:
        self.plan = plan
        self.config = config
        self.backend = backend
        self.clock = clock
        self.faults = Faults(config.faults)
        self.on_state: Callable[[Instance, State], None] = lambda instance, state: None
        self.before_running: Callable[[Instance], None] = lambda instance: None
        self.may_register: Callable[[Instance], bool] = lambda instance: True
        self.on_spot_warning: Callable[[Instance], None] = lambda instance: None
        self._instances: dict[str, Instance] = {}
        self._launches: dict[str, int] = {}
        self._matched: dict[int, int] = {}
        self._numbers: dict[str, int] = {}
        self._ending: set[str] = set()
        self._off: dict[str, Literal["stopping", "stopped"]] = {}
        self._lock = threading.RLock()
        self._between: Mapping[str, PairCap] = config.caps.between
        self._between_began = 0.0
        self._running_since: dict[str, float] = {}
        self._recapping = threading.Lock()
        self.begin_changes()

    def next_number(self, region: str) -> int:
        """Number of the next instance of a region, 1-250; raises NoAddressLeftError."""
        with self._lock:
            used = {item.number for item in self._instances.values() if item.region == region}
            last = self._numbers.get(region, 0)
            for step in range(250):  # .251-.254 are kept for the block's lock and the network
                number = (last + step) % 250 + 1
                if number not in used:
                    self._numbers[region] = number
                    return number
        raise NoAddressLeftError(f"region {region} has 250 live instances; terminate some")

    def caps_for(self, instance_type: str, region: str, tags: dict[str, str]) -> Caps:
        """Caps of a launch: the type's, scaled by every counted rule that its tags match."""
        caps = self.config.caps.of_type(instance_type)
        with self._lock:
            for index, rule in enumerate(self.config.caps.launches):
                if rule.region not in (None, region) or (rule.tag is not None and rule.tag not in tags):
                    continue
                if rule.tag is not None and rule.value not in (None, tags[rule.tag]):
                    continue
                count = self._matched.get(index, 0) + 1
                self._matched[index] = count
                caps = caps.scaled(rule.factor_of(count))
        return caps

    def launch_number(self, region: str) -> int:
        """Return how many instances the region has launched, this one included."""
        with self._lock:
            self._launches[region] = self._launches.get(region, 0) + 1
            return self._launches[region]

    def add(self, instance: Instance) -> None:
        """Take a new instance; it becomes running, boots and registers with SSM after the configured times."""
        with self._lock:
            self._instances[instance.instance_id] = instance
        self.clock.after(0, lambda: self.on_state(instance, "pending"))
        self.clock.after(self.config.launch_seconds, lambda: self._start(instance))

    def get(self, instance_id: str) -> Instance | None:
        """A live instance, or None."""
        return self._instances.get(instance_id)

    def live(self) -> list[Instance]:
        """Return all instances that are not terminated."""
        with self._lock:
            return list(self._instances.values())

    def terminate(self, instance_id: str) -> bool:
        """Begin the end of an instance; False when it is unknown or already ending."""
        with self._lock:
            instance = self._instances.get(instance_id)
            if instance is None or instance_id in self._ending:
                return False
            self._ending.add(instance_id)
            instance.online = False
        self.clock.after(0, lambda: self.on_state(instance, "shutting-down"))
        self.clock.after(self.config.terminate_seconds, lambda: self._end(instance))
        return True

    def stop(self, instance_id: str) -> bool:
        """Begin to stop an instance, of which its disk stays; False when it does not run."""
        with self._lock:
            instance = self._instances.get(instance_id)
            if instance is None or not self._alive(instance):
                return False
            self._off[instance_id] = "stopping"
            instance.online = False
        self.clock.after(0, lambda: self.on_state(instance, "stopping"))
        self.clock.after(self.config.terminate_seconds, lambda: self._halt(instance))
        return True

    def start(self, instance_id: str) -> bool:
        """Boot a stopped instance, with another public address; False when it is not stopped."""
        with self._lock:
            instance = self._instances.get(instance_id)
            if instance is None or self._off.get(instance_id) != "stopped":
                return False
            del self._off[instance_id]
            if instance.public_address:
                instance.public_address = self.plan.public(instance.region, self.next_number(instance.region))
        self.clock.after(0, lambda: self.on_state(instance, "pending"))
        self.clock.after(self.config.launch_seconds, lambda: self._start(instance))
        return True

    def interrupt(self, instance_id: str, grace: float | None = None) -> bool:
        """Send a spot interruption warning, terminate after `grace` seconds; False when unknown."""
        instance = self.get(instance_id)
        if instance is None:
            return False
        self.on_spot_warning(instance)
        seconds = self.config.spot_grace_seconds if grace is None else grace
        self.clock.after(seconds, lambda: self._done(self.terminate(instance_id)))
        return True

    def begin_changes(self, between: Mapping[str, PairCap] | None = None) -> None:
        """Count the changes of the caps between regions from now on; `between` in place of the configured caps.

        Returns when all running instances are held to them. Raises ValueError for other pairs than the configured.
        """
        configured = self.config.caps.between
        if between is not None and between.keys() != configured.keys():
            given, known = (", ".join(sorted(pairs)) or "none" for pairs in (between, configured))
            raise ValueError(f"between: {given}; the pairs of this cloud's configuration are {known}")
        with self._recapping:
            self._between = configured if between is None else between
            self._between_began = time.monotonic()
            moments = {change.after_seconds for cap in self._between.values() for change in cap.changes}
            for seconds in moments:
                self.clock.at(self._between_began + seconds, self._recap_all)
        self._recap_all()

    def stop_all(self) -> None:
        """End every instance now, without events."""
        for instance in self.live():
            self.backend.terminate(instance)

    @staticmethod
    def _done(known: bool) -> None:
        """A timer's answer has no reader; an instance that is gone by then needs nothing."""

    def _alive(self, instance: Instance) -> bool:
        id_ = instance.instance_id
        return id_ in self._instances and id_ not in self._ending and id_ not in self._off

    def _start(self, instance: Instance) -> None:
        if not self._alive(instance):
            return
        instance.held = self._held(instance)
        self.backend.launch(instance)
        since = time.monotonic()
        with self._lock:
            self._running_since[instance.instance_id] = since
        self._recap(instance)  # caps may have changed during the launch
        self.before_running(instance)
        self.on_state(instance, "running")
        self.clock.after(self.config.boot_seconds, lambda: self._booted(instance))
        for change in instance.caps.changes:
            self.clock.at(since + change.after_seconds, partial(self._recap, instance))
        for warning in self.config.spot_warnings:
            if (warning.region, warning.launch) == (instance.region, instance.launch_number):
                self.clock.after(warning.after_seconds, lambda: self._done(self.interrupt(instance.instance_id)))

    def _held(self, instance: Instance) -> Held:
        now = time.monotonic()
        since = self._running_since.get(instance.instance_id, now)
        began, pairs = self._between_began, self._between
        between = {pair: changed(cap.mb_s, cap.changes, began, now) for pair, cap in pairs.items()}
        return Held(instance.caps.at(since, now), between)

    def _recap(self, instance: Instance) -> None:
        with self._recapping:  # what is read last is applied last
            held = self._held(instance)
            launched = instance.instance_id in self._running_since and self._alive(instance)
            if launched and held != instance.held:
                instance.held = held
                self.backend.apply_caps(instance)

    def _recap_all(self) -> None:
        for instance in self.live():
            try:
                self._recap(instance)
            except Exception:
                log.exception("the caps of %s did not change", instance.instance_id)

    def _booted(self, instance: Instance) -> None:
        self.clock.after(self.config.ssm_registration_seconds, lambda: self._register(instance))
        first, instance.booted = not instance.booted, True
        script = instance.user_data if first else PER_BOOT
        if script.startswith("#!") and self._alive(instance):
            result = self.backend.run(instance, script, {}, USER_DATA_SECONDS)
            if result.code != 0:
                log.error("boot of %s: code %d: %s", instance.instance_id, result.code, result.stderr[-500:])

    def _register(self, instance: Instance) -> None:
        aim = {"zone": instance.zone, "instance_type": instance.instance_type}
        if self.faults.hit("UpdateInstanceInformation", instance.region, **aim) or not self.may_register(instance):
            return
        with self._lock:
            if self._alive(instance):
                instance.online = True

    def _halt(self, instance: Instance) -> None:
        if self._off.get(instance.instance_id) != "stopping" or instance.instance_id in self._ending:
            return
        self.backend.halt(instance)
        with self._lock:
            self._running_since.pop(instance.instance_id, None)
            self._off[instance.instance_id] = "stopped"
        self.on_state(instance, "stopped")

    def _end(self, instance: Instance) -> None:
        try:
            self.backend.terminate(instance)
        finally:
            with self._lock:
                self._instances.pop(instance.instance_id, None)
                self._ending.discard(instance.instance_id)
                self._off.pop(instance.instance_id, None)
                self._running_since.pop(instance.instance_id, None)
            self.on_state(instance, "terminated")
