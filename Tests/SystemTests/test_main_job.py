"""The main job: every example event gets its expected outcome, and APNs the expected request."""

import collections
import json
import re

import jsonschema
import pytest

from harness.events import (
    ANY_REASON,
    derived_apns_id,
    new_event,
    payload_bytes,
    read_examples,
    record,
    sha256,
)
from harness.processes import ROOT
from harness.service import outcomes_of, position_of

SCHEMA = ROOT / "schemas" / "notification-outcome.v1.schema.json"
TOPIC_SUFFIXES = {
    "alert": "",
    "background": "",
    "location": ".location-query",
    "voip": ".voip",
    "complication": ".complication",
    "fileprovider": ".pushkit.fileprovider",
    "mdm": "",
    "liveactivity": ".push-type.liveactivity",
    "pushtotalk": ".voip-ptt",
    "widgets": ".push-type.widgets",
    "controls": ".push-type.controls",
}


def topic_of(event):
    if "topic" in event:
        return event["topic"]
    return event["bundle_id"] + TOPIC_SUFFIXES[event["push_type"]]


def place_of(outcome):
    """Where its event is, and for which of its recipients."""
    return position_of(outcome), outcome.get("recipient")


class Run:
    """The topics and the simulator's log after all examples."""

    def __init__(self, bench, simulator):
        self.examples = read_examples()
        written = bench.produce([example.record for example in self.examples])
        self.expected = {
            (place.position, recipient): expected
            for place, example in zip(written, self.examples)
            for recipient, expected in example.expected.items()
        }
        service = bench.run(simulator)
        bench.wait_for_outcomes(len(self.expected), service=service)
        bench.wait_until_settled(service=service)
        service.drain()
        self.settled = bench.kafka.committed(bench.group, bench.topics.source)
        self.ends = bench.kafka.ends(bench.topics.source)
        # Read only now, to find a second outcome for an event.
        self.outcomes = outcomes_of(bench.kafka, bench.topics)
        self.by_place = {place_of(outcome): outcome for _, outcome in self.outcomes}
        self.requests = simulator.requests()
        self.token_status = bench.kafka.read_all(bench.topics.token_status)
        self.dead_letters = bench.kafka.read_all(bench.topics.dead_letters)


@pytest.fixture
def run(broker, simulators, benches):
    return Run(benches(broker), simulators())


@pytest.mark.core
def test_every_example_ends_as_expected(run):
    assert_exactly_one_outcome_each(run)
    assert_outcomes_as_expected(run)
    assert_outcomes_fit_their_schema(run)
    assert_outcomes_echo_their_events(run)
    assert_requests_are_the_events(run)
    assert_token_statuses_follow(run)
    assert_dead_letters_are_the_records(run)
    assert run.settled == run.ends


def assert_exactly_one_outcome_each(run):
    counts = collections.Counter(place_of(outcome) for _, outcome in run.outcomes)
    assert set(counts) == set(run.expected)
    assert set(counts.values()) == {1}


def assert_outcomes_as_expected(run):
    wrong = []
    for place, expected in run.expected.items():
        outcome = run.by_place[place]
        found = (outcome["outcome"], outcome.get("reason"))
        reason = found[1] if expected.reason is ANY_REASON else expected.reason
        if found != (expected.outcome, reason):
            wrong.append((place, (expected.outcome, reason), outcome, expected.record.value[:200]))
    assert not wrong


def assert_outcomes_fit_their_schema(run):
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for _, outcome in run.outcomes:
        validator.validate(outcome)


def assert_outcomes_echo_their_events(run):
    for message, outcome in run.outcomes:
        expected = run.expected[place_of(outcome)]
        headers = dict(message.headers() or [])
        assert headers["outcome"].decode() == outcome["outcome"]
        for name, value in expected.record.headers:
            assert headers[name] == value
        if expected.event is None:
            continue
        assert message.key().decode() == expected.event["device_token"].lower()
        assert headers["event-id"].decode() == expected.event["id"] == outcome["event_id"]
        assert outcome["apns_id"] == derived_apns_id(expected.event)
        assert outcome.get("metadata") == expected.event.get("metadata")


def assert_requests_are_the_events(run):
    events = {
        derived_apns_id(expected.event): expected
        for expected in run.expected.values()
        if expected.outcome in ("accepted", "unregistered", "rejected")
    }
    assert {request["apns-id"] for request in run.requests} == set(events)
    for request in run.requests:
        expected = events[request["apns-id"]]
        event = expected.event
        assert request["token"] == event["device_token"]
        assert request["topic"] == topic_of(event)
        assert request["push_type"] == event["push_type"]
        assert request["environment"] == event.get("environment", "production")
        default_priority = 5 if event["push_type"] == "background" else None
        assert request["priority"] == event.get("priority", default_priority)
        assert request["expiration"] == event.get("expiration")
        assert request["collapse_id"] == event.get("collapse_id")
        assert request["payload_sha256"] == sha256(payload_bytes(expected.record.value))
    accepted = collections.Counter(r["apns-id"] for r in run.requests if r["status"] == 200)
    assert set(accepted.values()) == {1}
    assert len(accepted) == sum(one.outcome == "accepted" for one in run.expected.values())


def assert_token_statuses_follow(run):
    dead = {
        (outcome["topic"], outcome["environment"], outcome["device_token"])
        for _, outcome in run.outcomes
        if outcome["outcome"] == "unregistered"
    }
    removed = set()
    for message in run.token_status:
        status = json.loads(message.value())
        assert set(status) >= {"status", "token_action", "reason", "observed_at"}
        if status["token_action"] == "remove":
            removed.add(tuple(message.key().decode().split("|")))
    assert removed == dead


def assert_dead_letters_are_the_records(run):
    wanted = collections.Counter(
        (expected.record.key, expected.value)
        for expected in run.expected.values()
        if expected.outcome in ("invalid", "undeliverable")
    )
    assert collections.Counter((m.key(), m.value()) for m in run.dead_letters) == wanted


def test_a_record_that_arrives_at_runtime_is_delivered(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    service = bench.run(simulator)
    event = new_event()
    bench.produce([record(event)])
    bench.wait_for_outcomes(1, service=service)
    [(_, outcome)] = outcomes_of(broker, bench.topics)
    assert (outcome["outcome"], outcome["event_id"]) == ("accepted", event["id"])
    assert service.fetch("/live")[0] == 200
    metrics = service.fetch("/metrics")[1]
    assert "# TYPE" in metrics
    assert re.search(r"^heliograph_apns_attempts_total 1$", metrics, re.MULTILINE), metrics
    service.drain()


def test_log_and_metrics_never_contain_device_tokens(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    service = bench.run(simulator, log={"level": "debug"})
    examples = read_examples()
    bench.produce([example.record for example in examples])
    bench.wait_until_settled(service=service)
    metrics = service.fetch("/metrics")[1]
    service.drain()
    said = metrics + "\n".join(service.child.lines("stderr"))
    expected = [one for example in examples for one in example.expected.values()]
    tokens = {one.event["device_token"] for one in expected if one.event}
    assert not [token for token in tokens if token in said]
