"""Events with recipients: an outcome for each, and no repetition without need."""

import base64
import collections
import itertools
import json

from harness.deadlines import eventually
from harness.events import derived_apns_id, encoded, for_one, new_event, payload_bytes, sha256
from harness.kafka import Written
from harness.retries import create_retry_topics, retrying
from harness.service import EXPIRES_SOON, outcomes_of

EVENTS, RECIPIENTS = 20, 200
SLOW = {"latency_ms": 400}
FLAKY = "f1a00503"

_numbers = itertools.count(1)


def tokens(count, prefix="beefbeef"):
    return [f"{prefix}{next(_numbers):056x}" for _ in range(count)]


def fan_out(recipients, **fields):
    return new_event(device_token=None, recipients=recipients, **fields)


def records_of(events):
    return [Written(encoded(event)) for event in events]


def outcomes(bench):
    return [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]


def places(found):
    """How often each recipient of each event has ended."""
    return collections.Counter((outcome["event_id"], outcome["recipient"]) for outcome in found)


def test_each_recipient_has_its_own_outcome(broker, benches, simulators):
    bench, simulator = benches(broker, 1), simulators({})
    good = tokens(3)
    own = {"device_token": good[2], "collapse_id": "own", "expiration": 0}
    event = fan_out([good[0], "not-hex", good[0].upper(), good[1], own], collapse_id="shared")
    bench.produce(records_of([event]))
    service = bench.run(simulator)
    bench.wait_for_outcomes(5, service=service)
    bench.wait_until_settled(service=service)
    service.drain()
    found = {outcome["recipient"]: outcome for outcome in outcomes(bench)}
    assert {index: (one["outcome"], one["reason"]) for index, one in found.items()} == {
        0: ("accepted", None),
        1: ("invalid", "SchemaViolation"),
        2: ("duplicate", "DuplicateRecipient"),
        3: ("accepted", None),
        4: ("accepted", None),
    }
    assert {one["recipients"] for one in found.values()} == {5}
    requests = {request["token"]: request for request in simulator.requests()}
    assert requests.keys() == set(good)
    collapse = {token: request["collapse_id"] for token, request in requests.items()}
    assert collapse == {good[0]: "shared", good[1]: "shared", good[2]: "own"}


def test_a_crash_repeats_no_recipient_that_has_settled(expiring_broker, benches, simulators):
    bench, simulator = benches(expiring_broker), simulators(SLOW)
    events = [fan_out(tokens(RECIPIENTS)) for _ in range(EVENTS)]
    bench.produce(records_of(events))
    settings = bench.configuration(
        simulator, limits={"in_flight_events": 300}, kafka=EXPIRES_SOON
    )
    first = bench.start(settings).wait_until_ready()
    bench.wait_for_outcomes(EVENTS * RECIPIENTS // 4, service=first)
    first.child.kill()
    second = bench.start(settings).wait_until_ready()
    eventually(
        lambda: len(places(outcomes(bench))) == EVENTS * RECIPIENTS, 120, second.child.output
    )
    bench.wait_until_settled(service=second)
    second.drain()
    found = outcomes(bench)
    assert {outcome["outcome"] for outcome in found} == {"accepted"}
    repeated = places(found).total() - EVENTS * RECIPIENTS
    # What was in flight, and what settled after the last commit.
    assert repeated < EVENTS * RECIPIENTS // 4, repeated


def test_recipients_that_fail_come_back_in_one_record(broker, benches, simulators):
    scenario = {"rules": [{"prefix": FLAKY, "is": "flaky", "steps": ["TooManyRequests"]}]}
    bench, simulator = benches(broker, 1), simulators(scenario)
    create_retry_topics(bench, "1s", partitions=1)
    mixed = [token for pair in zip(tokens(20), tokens(20, FLAKY)) for token in pair]
    bench.produce(records_of([fan_out(mixed)]))
    service = bench.run(simulator, retry=retrying("1s"))
    bench.wait_for_outcomes(40, service=service)
    bench.wait_until_settled(service=service)
    service.drain()
    found = outcomes(bench)
    assert places(found) == {(found[0]["event_id"], index): 1 for index in range(40)}
    assert {outcome["outcome"] for outcome in found} == {"accepted"}
    assert {outcome["recipients"] for outcome in found} == {40}
    attempts = {outcome["recipient"]: outcome["attempts"] for outcome in found}
    assert attempts == {index: 1 + index % 2 for index in range(40)}
    [message] = bench.kafka.read_all(f"{bench.topics.source}.retry.1s")
    assert len(json.loads(message.value())["recipients"]) == 20


def test_recipients_in_an_envelope_come_back_from_a_retry_topic(broker, benches, simulators):
    """The event is Base64 in a structured CloudEvent; what waits is such an envelope again."""
    scenario = {"rules": [{"prefix": FLAKY, "is": "flaky", "steps": ["TooManyRequests"]}]}
    bench, simulator = benches(broker, 1), simulators(scenario)
    [topic] = create_retry_topics(bench, "1s", partitions=1)
    mixed = [token for pair in zip(tokens(3), tokens(3, FLAKY)) for token in pair]
    mixed[3] = {"device_token": mixed[3], "collapse_id": "own"}
    event = fan_out(mixed, payload={"aps": {"alert": "größer"}, "n": 1.50})
    inside = json.dumps(event, ensure_ascii=False, indent=3).encode()
    envelope = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    envelope |= {"data_base64": base64.b64encode(inside).decode(), "own": "kept"}
    bench.produce([Written(encoded(envelope))])
    service = bench.run(simulator, retry=retrying("1s"))
    bench.wait_for_outcomes(len(mixed), service=service)
    bench.wait_until_settled(service=service)
    service.drain()

    found = {outcome["recipient"]: outcome for outcome in outcomes(bench)}
    attempts = {index: (one["outcome"], one["attempts"]) for index, one in found.items()}
    assert attempts == {index: ("accepted", 1 + index % 2) for index in range(len(mixed))}
    assert {one["recipients"] for one in found.values()} == {len(mixed)}
    for index, entry in enumerate(mixed):
        assert found[index]["apns_id"] == derived_apns_id(for_one(event, entry))
    sent = simulator.accepted()
    assert {request["payload_sha256"] for request in sent} == {sha256(payload_bytes(inside))}
    collapse = {request["token"]: request["collapse_id"] for request in sent}
    assert [token for token, own in collapse.items() if own] == [mixed[3]["device_token"]]
    [message] = bench.kafka.read_all(topic)
    waiting = json.loads(message.value())
    kept = json.loads(base64.b64decode(waiting.pop("data_base64")))
    assert kept == {**event, "recipients": mixed[1::2]}
    assert waiting == {name: text for name, text in envelope.items() if name != "data_base64"}
