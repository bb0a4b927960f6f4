"""Experiments 11 to 15: commit metadata, clock, file descriptors, memory, admin port."""

import contextlib
import os
import pathlib
import resource
import socket
import subprocess
import threading
import time

from confluent_kafka import TopicPartition
from harness.events import new_event, record

from .lab import IN_FLIGHT, MEBIBYTE, SLOW, experiment, stopwatch
from .peers import PATIENT
from .processes import seconds_to_next_push

CLOCK_SOURCE = pathlib.Path(__file__).with_name("clock.c")
PARTITIONS = 4
# How far experiment 11 moves an offset back.
SET_BACK = 20


@experiment(11, "metadata torture")
def metadata_torture(lab):
    bench = lab.bench(lab.persistent_broker(), PARTITIONS)
    simulator = lab.simulator({"latency_ms": 10})
    settings = bench.slow(simulator)
    rounds, warnings, known = lab.size(3, 25), 0, []
    for _ in range(rounds):
        bench.write(120)
        offsets = bench.kafka.committed(bench.group, bench.topics.source)
        forged = {p: forgery(lab, bench, max(o, 0), known) for p, o in offsets.items()}
        commit(bench, forged)
        service = bench.start(settings).wait_until_ready()
        bench.wait_until_settled(60, service)
        warnings += len(said_ignored(service))
        service.drain()
        known += [text for text in map(readable_metadata, positions(bench)) if text]
    # Moving offsets back repeats events on purpose; each round begins with everything settled.
    lab.account(bench, [simulator], rounds * PARTITIONS * SET_BACK)
    assert warnings >= rounds, f"only {warnings} warnings"
    lab.note(f"{rounds * PARTITIONS} forgeries, {warnings} warnings; offsets were moved back at random")


def said_ignored(service):
    return [line for line in service.messages() if line.startswith("commit metadata ignored")]


def forgery(lab, bench, offset, known):
    """An offset at or before the committed one, with metadata that does not belong to it."""
    texts = ["committed by a script", "p1", "p1D", "p1B" + "A" * 4000, "p1R" + "_" * 300]
    for text in lab.random.sample(known, min(3, len(known))):
        place = lab.random.randrange(len(text))
        texts += [text[:place], text[:place] + "!" + text[place + 1 :], text]
    return lab.random.randint(max(0, offset - SET_BACK), offset), lab.random.choice(texts)


def commit(bench, forged):
    with bench.kafka.consumer(bench.group) as consumer:
        consumer.commit(
            offsets=[
                TopicPartition(bench.topics.source, partition, offset, metadata)
                for partition, (offset, metadata) in forged.items()
            ],
            asynchronous=False,
        )


def positions(bench):
    asked = [TopicPartition(bench.topics.source, p) for p in range(PARTITIONS)]
    with bench.kafka.consumer(bench.group) as consumer:
        return consumer.committed(asked, timeout=60)


def readable_metadata(position):
    """The metadata, or None if the client returns bytes past its end that are not text."""
    try:
        return position.metadata
    except UnicodeDecodeError:
        return None


@experiment(12, "clock jumps")
def clock_jump(lab):
    bench, simulator = lab.bench(lab.persistent_broker()), lab.simulator({"latency_ms": 20})
    library, clock = lab.folder / "clock.so", lab.folder / "clock"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, CLOCK_SOURCE], check=True)
    clock.write_text("0")
    environment = {"LD_PRELOAD": str(library), "CHAOS_CLOCK_FILE": str(clock)}
    service = bench.start(bench.slow(simulator, retry=PATIENT["retry"]), environment).wait_until_ready()
    for jump in ("0", "3600", "-3600", "86400", "0"):
        bench.write(200)
        bench.wait_for_share(0.9, service)
        clock.write_text(jump)
        bench.write(200)
        with stopwatch() as passed:
            bench.wait_until_settled(90, service)
        lab.recovered(passed(), 60)
    retries = service.sampler.last["retries_total"]
    service.drain()
    found, _ = lab.account(bench, [simulator], 0)
    latest = max(outcome["completed_at"] for _, outcome in found)
    tomorrow = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 86400))
    assert latest.startswith(tomorrow), f"the clock did not jump: {latest}"
    lab.note(f"+1 h, -1 h, +1 day and back; {retries:g} retries; recovery: until everything settled")


@experiment(13, "no file descriptor left")
def descriptors(lab):
    bench, simulator = lab.bench(lab.persistent_broker()), lab.simulator(SLOW)
    link, url = lab.link(simulator)
    # A successor takes the place of a member that died, because this broker expires none.
    static = {"group_instance_id": "press-0"}
    settings = bench.slow(simulator, url, kafka=static, retry=PATIENT["retry"])
    service = bench.start(settings).wait_until_ready()
    bench.write(600)
    bench.wait_for_share(0.3, service)
    pid, start = service.child.pid, open_descriptors(service)
    hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (8, hard))
    link.cut()
    bench.write(600)
    time.sleep(lab.size(4, 30))
    service = restarted_if_ended(lab, bench, service, settings)
    resource.prlimit(service.child.pid, resource.RLIMIT_NOFILE, (hard, hard))
    lab.recovered(seconds_to_next_push(simulator, service), 10)
    bench.wait_until_settled(90, service)
    end = open_descriptors(service)
    service.drain()
    lab.account(bench, [simulator], IN_FLIGHT)
    lab.wish(end <= start + 5, "as many descriptors as before")
    lab.note(f"{start} descriptors before, {end} after; a read-only root was not tried")


def restarted_if_ended(lab, bench, service, settings):
    """The service, or a successor if it gave up with a message and an exit code."""
    with contextlib.suppress(AssertionError):
        service.child.wait_for_exit(lab.size(8, 20))
    if service.child.is_running:
        return service
    code = service.child.wait_for_exit()
    if service.has_trapped():
        lab.wish(False, "stays up: libdispatch could not open a file")
    else:
        service.assert_no_crash()
        assert code == 1, f"exit code {code}: {service.child.output()}"
        lab.wish(False, "stays up: the admin port could not accept, and the service exited cleanly")
    return bench.start(settings).wait_until_ready()


def open_descriptors(service):
    return len(os.listdir(f"/proc/{service.child.pid}/fd"))


@experiment(14, "memory cap: Kafka full, APNs dead")
def memory_cap(lab):
    bench, simulator = lab.bench(lab.faulty_broker()), lab.simulator({"latency_ms": 20})
    link, url = lab.link(simulator)
    limits = {"in_flight_events": 10_000, "in_flight_bytes": "8MiB"}
    settings = bench.slow(simulator, url, limits=limits, retry=PATIENT["retry"])
    service = bench.start(settings).wait_until_ready(60)
    bench.write(100)
    bench.wait_for_outcomes(100, service=service)
    pid = service.child.pid
    cap = address_space(pid) + 256 * MEBIBYTE
    resource.prlimit(pid, resource.RLIMIT_AS, (cap, cap))
    link.become("silent", cutting=True)
    for _ in range(4):
        bench.write_records([record(new_event(payload=big_payload())) for _ in range(1000)])
    time.sleep(lab.size(5, 120))
    assert service.child.is_running, service.child.output()
    bytes_held = service.sampler.last["inflight_bytes"]
    link.become("open", cutting=True)
    lab.recovered(seconds_to_next_push(simulator, service), 10)
    bench.settle(service)
    lab.account(bench, [simulator], IN_FLIGHT)
    assert bytes_held <= 8 * MEBIBYTE + 5000, f"{bytes_held} bytes in flight"
    rss = service.sampler.peaks.rss_bytes / MEBIBYTE
    assert rss <= 220, f"RSS was {rss:.0f} MiB"
    lab.note(f"16 MiB waited in Kafka, {bytes_held / MEBIBYTE:.1f} MiB were held")


def big_payload():
    return {"aps": {"alert": "A"}, "filling": "x" * 3900}


def address_space(pid):
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@experiment(15, "slow loris on the admin port")
def slow_loris(lab):
    bench = lab.bench(lab.persistent_broker())
    simulator = lab.simulator({"latency_ms": 20})
    service = bench.start(bench.slow(simulator)).wait_until_ready()
    clean = seconds_for_burst(bench, service)
    with lorises(service.port, lab.size(200, 500)) as count_open:
        attacked = seconds_for_burst(bench, service)
        times, answers = zip(*(timed_health(service) for _ in range(20)))
        opened = count_open()
    service.drain()
    lab.account(bench, [simulator], 0)
    slowest = max(times) * 1000
    answered = answers.count(200)
    lab.wish(answered == len(answers) and slowest <= 100, "/live always answers within 100 ms")
    lab.wish(opened <= 64, "at most 64 connections")
    lab.note(
        f"{opened} connections stayed open; /live answered {answered} of {len(answers)} times, "
        f"at most {slowest:.0f} ms; burst {clean:.1f} s before, {attacked:.1f} s meanwhile"
    )


def seconds_for_burst(bench, service):
    with stopwatch() as passed:
        bench.write(2000)
        bench.wait_until_settled(60, service)
        return passed()


def timed_health(service):
    with stopwatch() as passed:
        status, _ = service.fetch("/live")
        return passed(), status


def is_open(connection):
    """Checks without waiting; a write to a connection that the peer closed fails only the second time."""
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@contextlib.contextmanager
def lorises(port, count):
    """Connections that send one header byte per second; yields a function that counts the open ones."""
    end = threading.Event()
    sockets = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            sockets.append(socket.create_connection(("127.0.0.1", port), timeout=1))
            sockets[-1].sendall(b"GET /live HTTP/1.1\r\nX-Slow: ")
            sockets[-1].setblocking(False)

    def drip():
        while not end.wait(1):
            for one in list(sockets):
                try:
                    one.sendall(b"x")
                except OSError:
                    sockets.remove(one)

    dripping = threading.Thread(target=drip, daemon=True)
    dripping.start()
    try:
        yield lambda: sum(map(is_open, list(sockets)))
    finally:
        end.set()
        dripping.join()
        for one in sockets:
            one.close()
