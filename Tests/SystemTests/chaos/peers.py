"""Experiments 6 to 9: APNs is silent, overloaded or slow, or sends garbage."""

import collections
import itertools
import time

from harness.events import new_event, record
from harness.kafka import Written
from harness.service import WITHIN_GRACE

from .lab import IN_FLIGHT, MEBIBYTE, SLOW, experiment, stopwatch
from .processes import seconds_to_next_push

_tokens = itertools.count(1)
TIMEOUT_SECONDS = 2
PATIENT = {
    "apns": {"request_timeout": f"{TIMEOUT_SECONDS}s"},
    "retry": {"attempts": 100, "here_for": "1h"},
}


def burst_with(bench, special, count, every=10):
    """Writes `count` events; every tenth has a token that begins with `special`."""
    new = []
    for number in range(count):
        token = f"{special}{next(_tokens):060x}" if number % every == 0 else None
        new.append(record(new_event(device_token=token) if token else new_event()))
    bench.write_records(new)


def attempts_of(found):
    return collections.Counter(outcome["attempts"] for _, outcome in found)


@experiment(6, "APNs behind a black hole")
def black_hole(lab):
    bench, simulator = lab.bench(lab.persistent_broker()), lab.simulator(SLOW)
    link, url = lab.link(simulator)
    service = bench.start(bench.slow(simulator, url, **PATIENT)).wait_until_ready()
    bench.write(1000)
    bench.wait_for_share(0.5, service)
    before = service.sampler.peaks.rss_bytes
    link.become("silent")
    bench.write(2000)
    hole = lab.size(6, 60)
    time.sleep(hole)
    opened = link.accepted
    link.become("open")
    lab.recovered(seconds_to_next_push(simulator, service), 10)
    bench.settle(service)
    # Requests that timed out are sent again; the network delivers both copies when it recovers.
    lab.account(bench, [simulator], IN_FLIGHT * (hole // TIMEOUT_SECONDS))
    peaks = service.sampler.peaks
    assert peaks.in_flight <= IN_FLIGHT, f"{peaks.in_flight} in flight"
    grown = (peaks.rss_bytes - before) / MEBIBYTE
    lab.wish(grown <= 20, "RSS grows by at most 20 MiB")
    lab.note(f"RSS grew by {grown:.0f} MiB; {opened} connections until it recovered")


@experiment(7, "GOAWAY, REFUSED_STREAM and RST_STREAM")
def goaway_storm(lab):
    steps = [{"steps": ["goaway", "ok"]}, {"steps": ["refused", "ok"]}, {"steps": ["reset", "ok"]}]
    prefixes = ["90a1", "4ef0", "4e5e"]
    rules = [{"prefix": p, "is": "flaky", **s} for p, s in zip(prefixes, steps)]
    bench = lab.bench(lab.persistent_broker())
    simulator = lab.simulator({"latency_ms": 20, "rules": rules})
    service = bench.start(bench.slow(simulator, retry=PATIENT["retry"])).wait_until_ready()
    with stopwatch() as passed:
        for prefix in prefixes:
            burst_with(bench, prefix, lab.size(300, 5000))
        bench.wait_until_settled(120, service)
        seconds = passed()
    connects = service.sampler.last["apns_connects_total"]
    service.drain()
    found, _ = lab.account(bench, [simulator], 0)
    for _, outcome in found:
        token = outcome["device_token"]
        if token.startswith(("90a1", "4ef0")):
            assert outcome["attempts"] == 1, "a request that APNs did not process counts as an attempt"
    lab.note(f"{connects:g} connections in {seconds:.1f} s; attempts {dict(attempts_of(found))}")


@experiment(8, "503 and 429 storm")
def overload(lab):
    rules = [
        {"prefix": "5035", "is": "flaky", "steps": ["ServiceUnavailable", "503 html", "ok"]},
        {"prefix": "4294", "is": "rateLimited", "requests": 1, "retry_after": 1},
    ]
    bench = lab.bench(lab.persistent_broker())
    simulator = lab.simulator({"latency_ms": 20, "rules": rules})
    service = bench.start(bench.slow(simulator, retry=PATIENT["retry"])).wait_until_ready()
    for prefix in ("5035", "4294"):
        burst_with(bench, prefix, lab.size(400, 5000), every=50)
    # If half of the answers fail, the breaker opens, and its probes are the failed events, so the
    # last ones wait for minutes. Other traffic keeps the failing share below that.
    for _ in range(lab.size(12, 60)):
        bench.write(100)
        time.sleep(0.5)
    bench.settle(service)
    found, _ = lab.account(bench, [simulator], 0)
    times = collections.defaultdict(list)
    for request in simulator.requests():
        if request["token"].startswith("4294"):
            times[request["token"]].append(request["time"])
    waits = [(later[1] - later[0]) / 1000 for later in map(sorted, times.values())]
    assert min(waits) >= 0.99, f"Retry-After was not waited for: {min(waits)} s"
    most = max(attempts_of(found))
    assert most <= 3, f"{most} attempts"
    lab.note(f"Retry-After 1 s: waited {min(waits):.2f} to {max(waits):.2f} s; at most {most} tries")


@experiment(9, "slow and garbage peer")
def garbage(lab):
    rules = [{"prefix": "510e", "is": "ok", "delay_ms": 2500}]
    bench = lab.bench(lab.persistent_broker())
    simulator = lab.simulator({"latency_ms": 20, "rules": rules})
    link, url = lab.link(simulator)
    settings = bench.slow(simulator, url, retry=PATIENT["retry"])
    service = bench.start(settings).wait_until_ready()
    rounds = lab.size(3, 30)
    for _ in range(rounds):
        burst_with(bench, "510e", 200)
        bench.wait_for_share(0.6, service)
        link.become("garbage")
        burst_with(bench, "510e", 100)
        time.sleep(1)
        link.become("open", cutting=True)
        bench.wait_until_settled(60, service)
    service.drain(WITHIN_GRACE)
    lab.account(bench, [simulator], rounds * IN_FLIGHT)
    lab.note(f"{rounds} rounds of random bytes instead of TLS records and in handshakes")


@experiment(10, "poison events")
def poison(lab):
    bench = lab.bench(lab.persistent_broker())
    simulator = lab.simulator({"latency_ms": 20})
    service = bench.start(bench.slow(simulator)).wait_until_ready()
    good, bad = poison_and_neighbours(lab)
    bench.write_records(good + bad)
    with stopwatch() as passed:
        bench.wait_until_settled(120, service)
        seconds = passed()
    service.drain(WITHIN_GRACE)
    found, pushes = lab.account(bench, [simulator], 0, ("accepted", "invalid"))
    kinds = collections.Counter(outcome["outcome"] for _, outcome in found)
    assert kinds == {"accepted": len(good), "invalid": len(bad)}, kinds
    assert len(pushes) == len(good)
    lab.note(f"{len(bad)} bad among {len(good)} good events: all settled in {seconds:.1f} s")


def poison_and_neighbours(lab):
    event = b'{"id":"p","device_token":"aa","bundle_id":"com.example.News","push_type":"alert",'
    values = [
        b'{"id":"\xff\xfe"}',
        b"{",
        b"[" * 100_000 + b"]" * 100_000,
        event + b'"payload":{"a":"' + b"x" * 900_000 + b'"}}',
        event + b'"payload":{},"payload":{}}',
        event + b'"priority":' + b"9" * 1_000_000 + b',"payload":{}}',
        event + b'"payload":{}}\x00',
        b"",
        event + b'"payload":7}',
        event + b'"payload":{},"Payload":1}',
    ]
    bad = [Written(value) for value in values for _ in range(lab.size(2, 10))]
    good = [record(new_event()) for _ in range(19 * len(bad))]
    return good, bad
