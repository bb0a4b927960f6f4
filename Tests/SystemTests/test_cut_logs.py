"""Apache Kafka loses a log's last records: nothing of the rest is sent again, and no new record is lost."""

import base64
import json
import signal

import pytest

from harness.commands import librdkafka_version
from harness.deadlines import eventually
from harness.events import new_event, record
from harness.service import EXPIRES_SOON

pytestmark = [pytest.mark.takes(30), pytest.mark.kafka]
CUT = "the log ends before the next offset; reading continues at the log's end"
IGNORED = "commit metadata ignored; events after the committed offset may be sent again"
OLD, NEW = 40, 5
STUCK = "57ac"


@pytest.mark.parametrize("is_transactional", [False, True], ids=["plain", "transactional"])
@pytest.mark.parametrize("lost", [1, 10])
@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it is down"])
def test_reading_continues_at_the_end_of_a_truncated_log(
    fragile_apache, benches, simulators, runs, lost, is_transactional
):
    bench, simulator = benches(fragile_apache.kafka, 1), simulators({})
    settings = bench.configuration(simulator, results={"transactional": is_transactional})
    service = bench.start(settings).wait_until_ready()
    # In separate batches: a log loses whole batches.
    bench.produce([record(new_event()) for _ in range(OLD - lost)])
    for _ in range(lost):
        bench.produce([record(new_event())])
    bench.wait_until_settled(service=service)
    # The control records of outcome transactions are not in the source.
    assert bench.kafka.committed(bench.group, bench.topics.source) == {0: OLD}
    if not runs:
        service.drain()
    fragile_apache.broker.crash()
    fragile_apache.broker.cut(bench.topics.source, 0, OLD - lost)
    fragile_apache.start_broker_again()
    eventually(
        lambda: bench.kafka.ends(bench.topics.source) == {0: OLD - lost}, 60, "the log to be truncated"
    )
    if not runs:
        service = bench.start(settings)
    eventually(lambda: service.log_lines(CUT), 60, service.child.output)
    written = bench.produce([record(new_event()) for _ in range(NEW)])
    assert written[0].offset == OLD - lost
    # The position stays, and the records at the old offsets are new.
    bench.wait_until_settled(service=service)
    assert bench.kafka.committed(bench.group, bench.topics.source) == {0: OLD - lost + NEW}
    service.drain()
    told = bench.kafka.read_committed(bench.topics.results)
    ids = [json.loads(message.value())["event_id"] for message in told]
    assert len(ids) == len(set(ids)) == OLD + NEW
    assert len(simulator.requests()) == OLD + NEW


@pytest.mark.parametrize("is_transactional", [False, True], ids=["plain", "transactional"])
def test_a_log_that_is_filled_again_before_its_next_reader_hides_nothing(
    fragile_apache, benches, simulators, is_transactional
):
    """New records stand where the commit metadata says that all is settled."""
    # No answer before the service is killed, however long that takes.
    slow = {"prefix": STUCK, "is": "ok", "delay_ms": 300_000}
    bench = benches(fragile_apache.kafka, 1)
    simulator = simulators({"rules": [slow]}, ["--control-port", 0])
    settings = bench.configuration(
        simulator,
        results={"transactional": is_transactional},
        kafka=EXPIRES_SOON,
        apns={"request_timeout": "5m"},
    )
    # A connection has one stream until the first answer: it must not be a slow one.
    bench.produce([record(new_event())])
    first = bench.start(settings).wait_until_ready()
    bench.wait_for_outcomes(1, service=first)
    bench.produce([record(new_event(device_token=f"{STUCK}{0:060x}"))])
    # In batches of their own, which is what a log loses.
    for _ in range(OLD - 2):
        bench.produce([record(new_event())])
    eventually(
        lambda: span_of(bench) == OLD - 1, 60, lambda: f"{stored(bench)} {first.child.output()}"
    )
    first.child.kill()
    assert simulator.control("POST", "/scenario", {})[0] == 204
    fragile_apache.broker.crash()
    fragile_apache.broker.cut(bench.topics.source, 0, OLD // 2)
    fragile_apache.start_broker_again()
    eventually(
        lambda: bench.kafka.ends(bench.topics.source) == {0: OLD // 2}, 60, "a log that is cut"
    )
    new = [new_event() for _ in range(OLD)]
    written = bench.produce([record(event) for event in new])
    assert written[0].offset == OLD // 2
    second = bench.start(settings)
    bench.wait_until_settled(service=second)
    [line] = second.log_lines(IGNORED)
    assert line["problem"] == "replaced"
    second.drain()
    told = bench.kafka.read_committed(bench.topics.results)
    ids = {json.loads(message.value())["event_id"] for message in told}
    # What the log still has of the settled ones is sent again: nobody knows where it was cut.
    assert {event["id"] for event in new} <= ids
    assert len(ids) == OLD + len(new)


def test_a_running_member_reads_on_where_a_log_was_cut_that_has_grown_again(
    fragile_apache, benches, simulators, tmp_path
):
    """The leader tells where the old epoch ended (KIP-320); librdkafka before 2.1 does not ask."""
    bench, simulator = benches(fragile_apache.kafka, 1), simulators({})
    # It stays in the group while the broker is down.
    stays = {"session.timeout.ms": 300_000, "max.poll.interval.ms": 300_000}
    settings = bench.configuration(simulator, kafka={"properties": stays})
    if librdkafka_version(tmp_path, settings) < (2, 1):
        pytest.skip("this librdkafka does not notice")
    service = bench.start(settings).wait_until_ready()
    # In separate batches: a log loses whole batches.
    for _ in range(OLD):
        bench.produce([record(new_event())])
    bench.wait_until_settled(service=service)
    service.child.send(signal.SIGSTOP)
    fragile_apache.broker.crash()
    fragile_apache.broker.cut(bench.topics.source, 0, OLD // 2)
    fragile_apache.start_broker_again()
    fragile_apache.kafka.wait_for_leaders(bench.topics.source)
    new = [new_event() for _ in range(OLD)]
    written = bench.produce([record(event) for event in new])
    assert written[0].offset == OLD // 2
    service.child.send(signal.SIGCONT)
    bench.wait_until_settled(service=service)
    assert service.log_lines(CUT)
    service.drain()
    told = bench.kafka.read_committed(bench.topics.results)
    ids = [json.loads(message.value())["event_id"] for message in told]
    assert {event["id"] for event in new} <= set(ids)
    assert len(ids) == 2 * OLD


def stored(bench):
    """What the group has committed."""
    group, source = bench.group, bench.topics.source
    return bench.kafka.committed(group, source), bench.kafka.committed_metadata(group, source)


def span_of(bench):
    """How many offsets from the committed one on the metadata speaks of, with both its records."""
    [text] = bench.kafka.committed_metadata(bench.group, bench.topics.source).values()
    if not text.startswith("p4"):
        return 0
    nonce, mark, end = 4, 5, 4
    # Whole octets, whatever follows.
    start = base64.urlsafe_b64decode(text[3:23])
    return start[nonce + mark + end]
