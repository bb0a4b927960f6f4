"""The answers of the admin port about the service, and how robust the port is."""

import contextlib
import ctypes
import os
import re
import resource
import signal
import socket
import threading

import pytest

from harness.deadlines import eventually
from harness.events import records
from harness.link import OPEN, REFUSING, Link
from harness.service import WITHIN_GRACE

SILENT_PEERS = 200
DRIPPING_PEERS = 100
# sys/ptrace.h
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207
# linux/wait.h
WALL = 0x40000000


@pytest.fixture
def bench(broker, benches):
    return benches(broker)


@pytest.fixture
def simulator(simulators):
    return simulators({})


def statuses(service):
    return {path: service.fetch(path)[0] for path in ("/startup", "/live", "/ready")}


@pytest.mark.core
def test_a_running_service_is_started_live_and_ready(bench, simulator):
    service = bench.run(simulator)
    assert statuses(service) == {"/startup": 200, "/live": 200, "/ready": 200}
    service.drain()


@pytest.mark.takes(10)
def test_a_missing_broker_causes_no_restart_and_a_late_one_is_used(bench, simulator):
    link = Link(int(bench.kafka.bootstrap_servers.rpartition(":")[2]))
    link.become(REFUSING)
    settings = bench.configuration(simulator)
    settings["kafka"]["bootstrap_servers"] = f"127.0.0.1:{link.port}"
    service = bench.start(settings)
    eventually(
        lambda: "kafka.bootstrap_servers" in service.fetch("/ready")[1], 60, service.child.output
    )
    assert statuses(service) == {"/startup": 200, "/live": 200, "/ready": 503}
    eventually(lambda: service.log_lines("waiting for Kafka"), 60, service.child.output)
    assert len(service.log_lines("waiting for Kafka")) == 1
    link.become(OPEN)
    service.wait_until_ready()
    bench.produce(records(3))
    bench.wait_for_outcomes(3, service=service)
    service.drain()
    link.close()


@contextlib.contextmanager
def silent_broker():
    """A socket that refuses connections until it listens, and its address."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound, f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.takes(20)
def test_another_failure_of_the_broker_is_logged_again(bench, simulator):
    with silent_broker() as (broker, address):
        kafka = {"bootstrap_servers": address}
        service = bench.start(bench.configuration(simulator, kafka=kafka))

        def refusals():
            lines = service.log_lines("waiting for Kafka")
            return ["refused" in line["error"] for line in lines]

        eventually(lambda: refusals() == [True], 60, service.child.output)
        # From now on connections open, and nobody answers.
        broker.listen()
        eventually(lambda: False in refusals(), 60, service.child.output)
        service.drain(WITHIN_GRACE)
    assert refusals()[:2] == [True, False]


@pytest.mark.takes(10)
def test_a_service_that_waits_for_its_broker_can_be_stopped(bench, simulator):
    with silent_broker() as (_, address):
        kafka = {"bootstrap_servers": address}
        service = bench.start(bench.configuration(simulator, kafka=kafka))
        eventually(
            lambda: "kafka.bootstrap_servers" in service.fetch("/ready")[1],
            60,
            service.child.output,
        )
        service.drain(WITHIN_GRACE)


@pytest.mark.takes(20)
def test_a_drain_ends_readiness_first_and_keeps_liveness(bench, simulators):
    """Events that are never answered keep the service draining during the checks."""
    service = bench.run(
        simulators({"default": {"is": "stall"}}), limits={"drain_timeout": "20s"}
    )
    bench.produce(records(5))
    eventually(
        lambda: "heliograph_inflight_events 5\n" in service.fetch("/metrics")[1],
        60,
        service.child.output,
    )
    os.kill(service.child.pid, signal.SIGTERM)
    eventually(lambda: service.fetch("/ready")[0] == 503, 60, service.child.output)
    assert "shutting down" in service.fetch("/ready")[1]
    assert statuses(service) == {"/startup": 200, "/live": 200, "/ready": 503}
    assert "heliograph_inflight_events 5\n" in service.fetch("/metrics")[1]
    assert service.child.wait_for_exit(60) == 0


def threads_named(service, name):
    """A list that is read while threads start and end may lack some, so two must agree."""

    def agreed():
        first, second = (list_of_threads(service, name) for _ in range(2))
        return first if first == second else None

    return eventually(agreed, 60, lambda: f"a thread {name}: {service.child.output()}")


def list_of_threads(service, name):
    tasks = f"/proc/{service.child.pid}/task"
    found = []
    for task in os.listdir(tasks):
        with contextlib.suppress(OSError), open(f"{tasks}/{task}/comm") as comm:
            if comm.read().strip() == name:
                found.append(int(task))
    return found


@contextlib.contextmanager
def stopped_thread(thread):
    """Stops one thread of a child process, as a debugger does (ptrace(2))."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        assert libc.ptrace(request, thread, None, None) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        if libc.ptrace(PTRACE_DETACH, thread, None, None) != 0:
            # The thread ends with its process, which ends only after waitpid.
            while not has_ended(os.waitpid(thread, WALL)[1]):
                pass


def has_ended(status):
    return os.WIFEXITED(status) or os.WIFSIGNALED(status)


@contextlib.contextmanager
def peers(service, count):
    """Connections on which nothing is sent."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(socket.create_connection(("127.0.0.1", service.port)))
            for _ in range(count)
        ]


def test_silent_and_slow_peers_do_not_block_probes(bench, simulator):
    service = bench.run(simulator)
    stop = threading.Event()

    def drip(connections):
        while not stop.wait(0.05):
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.send(b"x")

    with peers(service, SILENT_PEERS), peers(service, DRIPPING_PEERS) as dripping:
        dripper = threading.Thread(target=drip, args=[dripping])
        dripper.start()
        try:
            for _ in range(50):
                assert service.fetch("/live") == (200, "alive\n")
        finally:
            stop.set()
            dripper.join()
    assert service.fetch("/live")[0] == 200
    service.drain()


@pytest.mark.takes(25)
def test_a_lack_of_file_descriptors_ends_nothing(bench, simulator):
    """libdispatch may trap without them, but not each time (`Service.has_trapped`)."""
    assert any(outlives_a_lack_of_descriptors(bench, simulator) for _ in range(5))


def outlives_a_lack_of_descriptors(bench, simulator):
    # The next service replaces one that trapped.
    service = bench.run(simulator, kafka={"group_instance_id": "press-0"})
    # All connections are open once an event has been sent.
    bench.produce(records(1))
    bench.wait_until_settled(service=service)
    try:
        starve(service)
    except (AssertionError, OSError):
        if service.has_trapped():
            return False
        raise
    before = bench.kafka.count(bench.topics.results)
    bench.produce(records(10))
    bench.wait_for_outcomes(before + 10, service=service)
    service.drain()
    return True


def starve(service):
    """Takes away its free file descriptors while many peers connect, then restores them."""
    pid = service.child.pid
    used = len(os.listdir(f"/proc/{pid}/fd"))
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    # No new descriptor, except the one in reserve.
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, limits[1]))
    for _ in range(20):
        assert service.fetch("/live") == (200, "alive\n"), service.child.output()

    def answers(path):
        assert service.child.is_running, service.child.output()
        return service.fetch(path)[0] == 200

    with peers(service, SILENT_PEERS):
        eventually(lambda: answers("/live"), 60, service.child.output)
    assert service.log_lines("admin port: accept failed")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    eventually(lambda: answers("/ready"), 60, service.child.output)


def test_a_stuck_shard_fails_live_and_ends_the_process(bench, simulator):
    """The shard's only thread is stopped; the admin port's and the watchdog's continue."""
    service = bench.run(simulator)
    # Threads that it started inherit its name; it is the first of them.
    shard = min(threads_named(service, "shard-0"))
    with stopped_thread(shard):
        eventually(lambda: service.fetch("/live")[0] == 503, 28, service.child.output)
        _, text = service.fetch("/metrics")
        [silence] = re.findall(r"^heliograph_shard_silence_seconds (\S+)$", text, re.M)
        assert float(silence) >= 20
        eventually(lambda: service.log_lines("shard is stuck; exiting"), 60, text)
    assert service.child.wait_for_exit() == os.EX_TEMPFAIL
