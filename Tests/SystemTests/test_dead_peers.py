"""APNs accepts connections and serves nothing: silent, PINGs only, every stream refused or reset.

The peers use Python's h2, which shares no code with the service or the simulator.
"""

import re

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.retries import create_retry_topics, history_of, retrying
from harness.service import outcomes_of

# RFC 9113, 7.
INTERNAL_ERROR, REFUSED_STREAM = 2, 7
LEFT_ALONE = "circuit breaker opened: APNs keeps failing"
UNSERVED = "APNs is not answering requests"
GIVEN_UP = "valid events are given up"


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


class Sick:
    """Calls `treat` instead of answering requests, until it is well."""

    def __init__(self, treat):
        self.treat = treat
        self.is_well = False

    def __call__(self, connection, request):
        if self.is_well:
            connection.answer(request)
        else:
            self.treat(connection, request)

    @classmethod
    def resetting(cls, code):
        return cls(lambda connection, request: connection.reset(request, code))


def outcomes(bench):
    return [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]


def produce(bench, count, **fields):
    bench.produce([record(new_event(**fields)) for _ in range(count)])


def samples(service, name):
    """A metric's samples, as the status page has them."""
    return service.status()["metrics"][name]


def pings(connection):
    return [frame for frame in connection.frames if type(frame).__name__ == "PingFrame"]


@pytest.mark.takes(30)
@pytest.mark.parametrize("answers", [0, 3], ids=["from the start", "later"])
@pytest.mark.parametrize("death", ["silent", "pings only"])
def test_a_dead_connection_is_replaced_at_any_time_limit(bench, peer, death, answers):
    """With 5 s and one stream at a time, each request ends before ten seconds of silence."""

    def script(connection, request):
        if connection.number > 0 or connection.answers < answers:
            connection.answer(request)
        elif death == "silent":
            connection.fall_silent()

    server = peer(script)
    retry = {"attempts": 100, "here_for": "5m"}
    service = bench.run(server, apns={"request_timeout": "5s"}, retry=retry)
    produce(bench, answers)
    bench.wait_for_outcomes(answers, service=service)
    produce(bench, 3)
    bench.wait_for_outcomes(answers + 3, service=service)
    assert {outcome["outcome"] for outcome in outcomes(bench)} == {"accepted"}
    first, second = server.connections[:2]
    assert pings(first), "the connection got no PING"
    if death == "silent":
        [told] = service.log_lines("APNs connection failed")
        assert told["error"] == "a PING was not answered in time"
    else:
        message = "APNs connection stalled; replacing it"
        assert [line["connection"] for line in service.log_lines(message)] == ["1"]
    assert second.requests


@pytest.mark.takes(15)
@pytest.mark.parametrize(
    "code, said, attempts",
    [(REFUSED_STREAM, "stream refused", {1}), (INTERNAL_ERROR, "stream reset", {1, 2, 3})],
    ids=["refused", "reset"],
)
def test_a_peer_that_ends_every_stream_opens_the_breaker(bench, peer, code, said, attempts):
    script = Sick.resetting(code)
    server = peer(script, max_concurrent_streams=100)
    produce(bench, 60)
    service = bench.start(bench.configuration(server))
    [told] = eventually(lambda: service.log_lines(LEFT_ALONE), 60, service.child.output)
    assert told["reason"] == said
    assert len(server.requests) <= 100, "requests continued without limit"
    eventually(lambda: f"last: {said}" in str(service.warnings()), 60, service.child.output)
    assert not outcomes(bench), "they wait"
    script.is_well = True
    bench.wait_for_outcomes(60, service=service)
    ended = outcomes(bench)
    assert {outcome["outcome"] for outcome in ended} == {"accepted"}
    assert {outcome["attempts"] for outcome in ended} <= attempts
    assert len(server.requests) <= 60 + 140
    broken = {s["cause"]: s["value"] for s in samples(service, "apns_broken_streams_total")}
    assert broken[said.removeprefix("stream ")] >= 10
    assert not service.log_lines(GIVEN_UP)
    eventually(lambda: not service.warnings(), 60, service.child.output)


@pytest.mark.takes(10)
def test_a_few_refused_events_wait_and_are_reported(bench, peer):
    """Too few devices for the breaker, and no retry topic: no event ends."""
    script = Sick.resetting(REFUSED_STREAM)
    server = peer(script)
    produce(bench, 3)
    service = bench.start(bench.configuration(server))
    [told] = eventually(lambda: service.log_lines(UNSERVED), 60, service.child.output)
    assert told["reason"] == "stream refused"
    eventually(
        lambda: "answers no request, last: stream refused" in str(service.warnings()),
        60,
        service.child.output,
    )
    # If refusals counted as attempts, an event would have none left by now.
    eventually(lambda: len(server.requests) >= 24, 60, service.child.output)
    assert not outcomes(bench)
    script.is_well = True
    bench.wait_for_outcomes(3, service=service)
    assert [(o["outcome"], o["attempts"]) for o in outcomes(bench)] == [("accepted", 1)] * 3
    service.wait_until_ready()


@pytest.mark.takes(10)
def test_a_long_refused_event_goes_to_a_retry_topic(bench, peer):
    [topic] = create_retry_topics(bench, "1h", partitions=1)
    produce(bench, 3)
    server = peer(Sick.resetting(REFUSED_STREAM))
    service = bench.start(bench.configuration(server, retry=retrying("1h", give_up_after="24h")))
    bench.kafka.wait_for_count(topic, 3, child=service.child)
    told = [history_of(message) for message in bench.kafka.read_all(topic)]
    assert {(history["attempts"], history["reason"]) for history in told} == {("0", "StreamBroken")}
    assert not outcomes(bench)


@pytest.mark.takes(15)
def test_events_that_are_given_up_are_reported(bench, peer):
    """Streams are reset with one attempt allowed: events end, and log, metrics and status page report it."""
    script = Sick.resetting(INTERNAL_ERROR)
    server = peer(script, max_concurrent_streams=100)
    produce(bench, 9)
    service = bench.start(bench.configuration(server, retry={"attempts": 1}))
    [told] = eventually(lambda: service.log_lines(GIVEN_UP), 60, service.child.output)
    assert (told["level"], told["credential"]) == ("warning", "example")
    assert told["reason"] == "StreamBroken"
    assert re.fullmatch(r"\d+ of the last \d+ events", told["problem"])
    bench.wait_for_outcomes(9, service=service)

    def seen(name):
        return {sample["credential"]: sample["value"] for sample in samples(service, name)}

    eventually(lambda: seen("events_given_up_total")["example"] == 9, 60, service.child.output)
    assert seen("events_giving_up") == {"example": 1, "": 0}
