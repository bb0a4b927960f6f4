"""Faults of brokers, of the way to them and of members, under load, on three brokers of Apache Kafka.

Each topic has three replicas, of which two must take a record. Whatever a row does, no event is
lost; and as an event in flight finishes sooner than a rebalance asks for it, none is sent twice,
unless a service is killed (docs/guarantees.md).
"""

import collections.abc
import contextlib
import dataclasses
import itertools
import json
import pathlib
import resource
import signal
import tempfile
import time
import traceback

from harness.apache_kafka import kafka_version, running_apache_cluster
from harness.bench import Bench
from harness.deadlines import Deadline, eventually
from harness.events import new_event
from harness.load import Load
from harness.service import position_of
from harness.simulator import running_simulator

PARTITIONS = 6
PER_SECOND = 200
# One event in this many has that many recipients, more than may be in flight.
FAN_OUT_EVERY, RECIPIENTS = 200, 300
LATENCY = {"latency_ms": 50}
# A process exits if its transaction times out while it is being committed, and a busy machine takes
# longer than the shipped 15 s to move a coordinator.
TRANSACTION = {"transaction.timeout.ms": 60_000}
# What must come between two faults.
BETWEEN = 300
GOES_ON_SECONDS = 300
# Long after the others have taken over what a broker leads and coordinates.
PAUSE_SECONDS = 35

IN_FLIGHT = 200
# In flight when a process dies, and what settles in two intervals of commits.
KILL_BOUND = int(IN_FLIGHT + 2 * 0.25 * IN_FLIGHT / (LATENCY["latency_ms"] / 1000))

ROWS = {}


def events():
    """Makes events, most of them for one device."""
    numbers = itertools.count(1)

    def make():
        number = next(numbers)
        if number % FAN_OUT_EVERY:
            return new_event()
        tokens = [f"fa000000{number * RECIPIENTS + index:056x}" for index in range(RECIPIENTS)]
        return new_event(device_token=None, recipients=tokens)

    return make


def named(outcome):
    """Its event, and which of its recipients."""
    return outcome["event_id"], outcome.get("recipient")


def placed(outcome):
    """Its record, and which of its recipients.

    Even an idempotent producer can write an event twice, after brokers have failed: librdkafka
    sends a batch again with a new epoch, and the broker has the old one.
    """
    return position_of(outcome), outcome.get("recipient")


@dataclasses.dataclass(frozen=True)
class Row:
    """Something that happens; `do` does it once to a `World`."""

    title: str
    # How often in the long form.
    rounds: int
    # How many pushes each may repeat.
    bound: int
    do: collections.abc.Callable


def row(name, title, rounds, bound=0):
    """Registers a function as what a row does."""

    def register(function):
        ROWS[name] = Row(title, rounds, bound, function)
        return function

    return register


class World:
    """Three brokers, and services under a load that never ends."""

    def __init__(self, folder, stack, is_transactional=False, has_links=False):
        self.is_short = False
        self.cluster = stack.enter_context(
            running_apache_cluster(folder / "kafka", has_links=has_links)
        )
        self.simulator = stack.enter_context(running_simulator(folder / "simulator", LATENCY))
        self.bench = Bench(self.cluster.kafka, folder / "bench", stack, PARTITIONS)
        self._settings = self.bench.configuration(
            self.simulator,
            kafka={"properties": TRANSACTION if is_transactional else {}},
            limits={"in_flight_events": IN_FLIGHT},
            results={"transactional": is_transactional},
        )
        self.members = []
        self.start_member()
        self.load = stack.enter_context(
            contextlib.closing(
                Load(self.cluster.kafka, self.bench.topics.source, PER_SECOND, events())
            )
        )

    # Members

    def start_member(self):
        # Two of one ID would shut each other out.
        identity = f"{self.bench.group}-{len(self.members)}-{time.monotonic_ns()}"
        settings = {**self._settings, "results": {**self._settings["results"]}}
        if settings["results"]["transactional"]:
            settings["results"]["transactional_id"] = identity
        self.members.append(self.bench.start(settings).wait_until_ready(GOES_ON_SECONDS))

    def stop_member(self):
        """Stops the oldest process with SIGTERM."""
        self.members.pop(0).drain()

    def have_members(self, count):
        while len(self.members) < count:
            self.start_member()
        while len(self.members) > count:
            self.stop_member()

    # Brokers

    def broker(self, number):
        return self.cluster.brokers[number]

    def goes_on(self, count=BETWEEN):
        """Waits until the members have gone on for a while, as APNs sees it."""
        wanted = self.simulator.count() + count
        eventually(lambda: self.simulator.count() >= wanted, GOES_ON_SECONDS, self.output, 0.2)

    def output(self):
        return "\n".join(member.child.output() for member in self.members)

    @contextlib.contextmanager
    def without(self, broker, end):
        """Ends the broker by `end`, and starts it again."""
        end(broker)
        yield
        broker.start_again()
        self.cluster.wait_until_whole()

    # Accounts

    def accounts(self):
        """(outcomes owed, how many are lost, how many pushes are repeated, how many may be)"""
        self.load.close()
        self.bench.wait_until_settled(120, service=self.members[-1])
        for member in self.members:
            member.drain()
        owed = self.load.owed

        deadline = Deadline(60)
        while True:
            told = self.bench.kafka.read_committed(self.bench.topics.results, 120)
            # The end of a transaction reaches each broker on its own.
            if len(told) >= len(owed) or deadline.passed:
                break
        outcomes = [json.loads(message.value()) for message in told]
        pushes = collections.Counter(push["apns-id"] for push in self.simulator.requests())
        may_repeat = 0
        if self._settings["results"]["transactional"]:
            counts = collections.Counter(map(placed, outcomes))
            assert set(counts.values()) == {1}, counts.most_common(3)
            # A lost session aborts the open transaction, which holds at most what is in flight.
            may_repeat = IN_FLIGHT * sum(member.count("partitions lost") for member in self.members)
        repeated = pushes.total() - len(pushes)
        return len(owed), len(owed - set(map(named, outcomes))), repeated, may_repeat


# --- Brokers --------------------------------------------------------------------------------------


@row("restart", "each broker is restarted in order, one after the other", 20)
def restart(world):
    for broker in world.cluster.brokers.values():
        with world.without(broker, lambda broker: broker.stop()):
            world.goes_on()
        world.goes_on()


def crash(world, number):
    with world.without(world.broker(number), lambda broker: broker.crash()):
        world.goes_on()
    world.goes_on()


@row("leader", "kill -9 of the broker that leads a partition of the source", 5)
def leader(world):
    crash(world, world.cluster.kafka.leader(world.bench.topics.source, 0))


@row("coordinator", "kill -9 of the group's coordinator", 5)
def coordinator(world):
    crash(world, world.cluster.kafka.coordinator(world.bench.group))


@row("controller", "kill -9 of the active controller", 5)
def controller(world):
    crash(world, world.cluster.controller())


@row("pause", f"the group's coordinator does nothing for {PAUSE_SECONDS} s (SIGSTOP)", 3)
def pause(world):
    broker = world.broker(world.cluster.kafka.coordinator(world.bench.group))
    broker.send(signal.SIGSTOP)
    try:
        if not world.is_short:
            time.sleep(PAUSE_SECONDS)
        world.goes_on()
    finally:
        broker.send(signal.SIGCONT)
    world.cluster.wait_until_whole()
    world.goes_on()


@row("disk", "a broker whose disk takes nothing more, until it has room again", 3)
def disk(world):
    """Its files may not grow: to the broker that is the same as a disk that is full."""
    broker = world.broker(world.cluster.kafka.leader(world.bench.topics.source, 0))
    resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (1, 1))
    broker.wait_for_end()
    world.goes_on()
    broker.start_again()
    world.cluster.wait_until_whole()
    world.goes_on()


CUT = "the log ends before the next offset; reading continues at the log's end"


@row("unclean", "an unclean election: a broker leads that lacks the last events", 1)
def unclean(world):
    """Nothing is written from before it until the member has seen it: guarantees.md says why."""
    kafka, topic = world.cluster.kafka, world.bench.topics.source
    leader, stale, _ = world.cluster.brokers
    # The third keeps the quorum of controllers, and the group, alive.
    world.cluster.reassign(topic, [leader, stale])
    kafka.configure(topic, **{"unclean.leader.election.enable": "true", "min.insync.replicas": "1"})
    world.cluster.wait_until_whole()
    world.broker(stale).crash()
    world.goes_on()
    world.load.pause()
    world.bench.wait_until_settled(120, world.members[0])
    ends = kafka.ends(topic)
    seen = sum(member.count(CUT) for member in world.members)
    world.broker(leader).crash()
    world.broker(stale).start_again()
    kafka.wait_for_leaders(topic)
    world.broker(leader).start_again()
    world.cluster.wait_until_whole()
    cut = [p for p, end in kafka.ends(topic).items() if end < ends[p]]
    assert cut, "every election was clean"

    def is_seen():
        return sum(member.count(CUT) for member in world.members) >= seen + len(cut)

    eventually(is_seen, GOES_ON_SECONDS, world.output)
    world.load.resume()
    world.goes_on()


# --- The way to them ------------------------------------------------------------------------------


def cut_off(world, mode):
    """Between the members and the group's coordinator; between brokers all is well."""
    link = world.cluster.links[world.cluster.kafka.coordinator(world.bench.group)]
    link.become(mode, cutting=True)
    time.sleep(5 if world.is_short else PAUSE_SECONDS)
    link.become("open", cutting=True)
    world.goes_on()


@row("refused", f"no connection to the coordinator for {PAUSE_SECONDS} s: refused", 3)
def refused(world):
    cut_off(world, "refusing")


@row("silent", f"no connection to the coordinator for {PAUSE_SECONDS} s: silent", 3)
def silent(world):
    cut_off(world, "silent")


# --- Members --------------------------------------------------------------------------------------


@row("members", "two members are restarted in turn, 100 times in all", 50)
def members(world):
    world.have_members(2)
    for _ in range(2):
        world.stop_member()
        world.start_member()
        world.goes_on(50)


@row("scale", "one member becomes four, and one again", 10)
def scale(world):
    world.have_members(4)
    world.goes_on()
    world.have_members(1)
    world.goes_on()


@row("killed", "kill -9 of the only member, and another is started", 3, KILL_BOUND)
def killed(world):
    world.members.pop().child.kill()
    world.start_member()
    world.goes_on()


# --- The command ----------------------------------------------------------------------------------

HEADER = "| row | what | Kafka | rounds | events | lost | repeated | bound | took | result |"
HEADER += "\n|" + "---|" * 10
NEED_LINKS = {"refused", "silent"}


def run(names, folder, rounds=1, is_transactional=False, is_short=False):
    """Does all of this to one world; (events, lost, repeated, bound), of which none is too many."""
    with contextlib.ExitStack() as stack:
        world = World(folder, stack, is_transactional, not NEED_LINKS.isdisjoint(names))
        world.is_short = is_short
        world.goes_on()
        for name in names:
            for _ in range(rounds):
                ROWS[name].do(world)
        events, lost, repeated, may_repeat = world.accounts()
        bound = rounds * sum(ROWS[name].bound for name in names) + may_repeat
        told = f"{lost} of {events} events are lost, {repeated} pushes repeated: {world.output()}"
        assert lost == 0 and repeated <= bound, told
        return events, lost, repeated, bound


def run_row(name, rounds, is_transactional):
    """Prints one line of the table; returns whether all was well."""
    row, begun = ROWS[name], time.monotonic()
    rounds, accounts, result = rounds or row.rounds, "----", "passed"
    with tempfile.TemporaryDirectory() as folder:
        try:
            accounts = run([name], pathlib.Path(folder), rounds, is_transactional)
        except Exception as error:
            traceback.print_exception(error)
            result = f"FAILED: {str(error).splitlines()[0]}"
    version = ".".join(map(str, kafka_version()))
    took = f"{time.monotonic() - begun:.0f} s"
    cells = (name, row.title, version, rounds, *accounts, took, result)
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return result == "passed"


def run_all(names, rounds, is_transactional):
    """Prints the table as it grows; returns how many rows failed."""
    print(HEADER, flush=True)
    return sum(not run_row(name, rounds, is_transactional) for name in names)
