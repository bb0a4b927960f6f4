"""Bad records among good ones: each gets the right reason, and none blocks the others."""

import json

import pytest

from harness.events import APP, encoded, new_event, record, records
from harness.kafka import Written
from harness.processes import ROOT
from harness.service import outcomes_of, position_of


def broken(**fields):
    return encoded(new_event(**fields))


def padded(byte_count):
    """A payload of exactly this many bytes."""
    empty = {"aps": {"alert": "x"}, "filler": ""}
    return {**empty, "filler": "x" * (byte_count - len(encoded(empty)))}


WHOLE = encoded(new_event())
DEEP = 100_000

# name: (value, reason, JSON pointer to the fault, end of the rule's location)
BAD_VALUES = {
    "not UTF-8": (WHOLE.replace(b"Number", b"\xff\xfe"), "MalformedEvent", "", ""),
    "not JSON": (b"hello", "MalformedEvent", "", ""),
    "no bytes": (b"", "MalformedEvent", "", ""),
    "cut short": (WHOLE[:-7], "MalformedEvent", "", ""),
    "two documents": (WHOLE + WHOLE, "MalformedEvent", "", ""),
    "deeply nested": (b"[" * DEEP + b"]" * DEEP, "MalformedEvent", "", ""),
    "deep and cut": (b'{"a":' * DEEP, "MalformedEvent", "", ""),
    "10 MB": (broken(payload=padded(10_000_000)), "EventTooLarge", "", ""),
    "an array": (b"[]", "SchemaViolation", "", "/type"),
    "a number": (b"42", "SchemaViolation", "", "/type"),
    "no id": (broken(id=None), "SchemaViolation", "", "/required"),
    "no device token": (broken(device_token=None), "SchemaViolation", "", "/required"),
    "no push type": (broken(push_type=None), "SchemaViolation", "", "/required"),
    "no payload": (broken(payload=None), "SchemaViolation", "", "/required"),
    "no destination": (broken(bundle_id=None), "SchemaViolation", "", ""),
    "two destinations": (broken(topic="com.example.News"), "SchemaViolation", "", ""),
    "unknown field": (broken(prioritty=5), "SchemaViolation", "/prioritty", ""),
    "id is a number": (broken(id=5), "SchemaViolation", "/id", "/type"),
    "token is not hex": (broken(device_token="zz" * 32), "SchemaViolation", "/device_token", ""),
    "token of odd length": (broken(device_token="a" * 63), "SchemaViolation", "/device_token", ""),
    "unknown push type": (broken(push_type="sms"), "SchemaViolation", "/push_type", "/enum"),
    "payload is a string": (broken(payload="x"), "SchemaViolation", "/payload", "/type"),
    "unknown priority": (broken(priority=7), "SchemaViolation", "/priority", "/enum"),
    "urgent background": (
        broken(push_type="background", priority=10, payload={"aps": {"content-available": 1}}),
        "SchemaViolation",
        "/priority",
        "",
    ),
    "negative expiration": (broken(expiration=-1), "SchemaViolation", "/expiration", "/minimum"),
    "long collapse id": (broken(collapse_id="x" * 65), "SchemaViolation", "/collapse_id", ""),
    "collapse id of 65 bytes": (
        broken(collapse_id="é" * 32 + "x"),
        "SchemaViolation",
        "/collapse_id",
        "",
    ),
    "space behind a collapse id": (
        broken(collapse_id="line "),
        "SchemaViolation",
        "/collapse_id",
        "",
    ),
    "bad UUID": (broken(apns_id="17"), "SchemaViolation", "/apns_id", ""),
    "metadata with a name that stands twice": (
        WHOLE[:-1] + b',"metadata":{"order":"1","\\u006frder":"2"}}',
        "MalformedEvent",
        "/metadata/order",
        "",
    ),
    "metadata of numbers": (broken(metadata={"a/b": 1}), "SchemaViolation", "/metadata/a~1b", "/type"),
    "payload over the limit": (broken(payload=padded(4097)), "PayloadTooLarge", "/payload", ""),
    "voip payload over the limit": (
        broken(push_type="voip", payload=padded(5121)),
        "PayloadTooLarge",
        "/payload",
        "",
    ),
}

TRACE = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HEADERS = (("traceparent", TRACE), ("octets", b"\x00\xff"), ("nothing", None), ("octets", b""))


def violations_match(outcome, pointer, rule):
    return any(
        violation["instance_location"] == pointer
        and violation["keyword_location"].endswith(rule)
        and violation["message"]
        for violation in outcome.get("violations") or []
    )


@pytest.mark.core
def test_each_bad_record_gets_its_reason_and_good_ones_are_sent(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    sent, names = [], []
    for name, (value, *_) in BAD_VALUES.items():
        sent += [*records(1), Written(value, b"key of " + name.encode(), HEADERS)]
        names += [None, name]
    sent += records(1)
    names += [None]
    written = bench.produce(sent, partition=0)
    service = bench.run(simulator, kafka={"properties": {"message.max.bytes": 20_000_000}})
    bench.wait_for_outcomes(len(sent), service=service)
    bench.wait_until_settled(service=service)
    service.drain()

    outcomes = outcomes_of(broker, bench.topics)
    assert len(outcomes) == len(sent)
    found = {position_of(outcome): (message, outcome) for message, outcome in outcomes}
    assert_named(dict(zip(names, (found[place.position] for place in written))))
    good = [found[place.position][1] for place, name in zip(written, names) if name is None]
    assert {outcome["outcome"] for outcome in good} == {"accepted"}
    bad = [place for place, name in zip(written, names) if name]
    assert_dead_letters(broker.read_all(bench.topics.dead_letters), bad, bench.topics.source)


def assert_named(found_by_name):
    wrong = {}
    for name, (_, reason, pointer, rule) in BAD_VALUES.items():
        message, outcome = found_by_name[name]
        ends = (outcome["outcome"], outcome["reason"], outcome["decided_by"])
        if ends != ("invalid", reason, "heliograph") or not violations_match(outcome, pointer, rule):
            wrong[name] = {k: outcome.get(k) for k in ("outcome", "reason", "violations")}
        if outcome["device_token"] is None:
            assert message.key() == b"key of " + name.encode()
        assert dict(message.headers())["traceparent"] == TRACE
    assert not wrong, json.dumps(wrong, indent=1)


def assert_dead_letters(dead_letters, bad, source):
    assert sorted(letter.key() for letter in dead_letters) == sorted(place.key for place in bad)
    letters = {letter.key(): letter for letter in dead_letters}
    for place in bad:
        letter = letters[place.key]
        assert letter.value() == place.value
        headers = letter.headers()
        own = tuple(header for header in headers if not header[0].startswith("__connect.errors."))
        assert own == HEADERS
        errors = dict(header for header in headers if header[0].startswith("__connect.errors."))
        assert errors["__connect.errors.topic"] == source.encode()
        assert errors["__connect.errors.partition"] == str(place.partition).encode()
        assert errors["__connect.errors.offset"] == str(place.offset).encode()


def test_common_mistakes_get_outcomes_that_name_them(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    folder = ROOT / "Tests" / "Mistakes"
    answers = json.loads((folder / "answers.json").read_text())
    values = {name: (folder / name).read_bytes() for name in answers}
    for name in [name for name in answers if not answers[name]]:
        for old, new in ((b"com.example.MyApp", APP.encode()), (b"order-1", name.encode())):
            values[name] = values[name].replace(old, new)
    written = bench.produce([Written(value) for value in values.values()])
    service = bench.run(simulator)
    bench.wait_for_outcomes(len(answers), service=service)
    bench.wait_until_settled(service=service)
    service.drain()

    found = {position_of(outcome): outcome for _, outcome in outcomes_of(broker, bench.topics)}
    outcomes = dict(zip(answers, (found[place.position] for place in written)))
    said = {
        name: [[v["instance_location"], v["message"]] for v in outcome.get("violations") or []]
        for name, outcome in outcomes.items()
    }
    assert said == answers
    for name, outcome in outcomes.items():
        assert outcome["outcome"] == ("invalid" if answers[name] else "accepted"), name
    given = json.loads((folder / "apns-id-upper-case.json").read_bytes())["apns_id"]
    assert outcomes["apns-id-upper-case.json"]["apns_id"] == given.lower() != given
    assert given.lower() in {request["apns-id"] for request in simulator.requests()}


def test_error_headers_are_replaced_when_a_dead_letter_is_read_again(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    stale = (("__connect.errors.topic", b"of long ago"), ("own", b"1"))
    [written] = bench.produce([Written(b"{", b"again", stale)])
    service = bench.run(simulator)
    bench.wait_for_outcomes(1, service=service)
    bench.wait_until_settled(service=service)
    service.drain()
    [letter] = broker.read_all(bench.topics.dead_letters)
    topics = [value for name, value in letter.headers() if name == "__connect.errors.topic"]
    assert topics == [bench.topics.source.encode()]
    assert ("own", b"1") in letter.headers()
    assert (letter.key(), letter.value()) == (written.key, written.value)


def test_a_tombstone_is_skipped_and_committed(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    bench.produce([Written(None, b"gone"), *records(1), Written(None, b"gone")], partition=0)
    service = bench.run(simulator)
    bench.wait_until_settled(service=service)
    service.drain()
    assert [outcome["outcome"] for _, outcome in outcomes_of(broker, bench.topics)] == ["accepted"]
    assert broker.read_all(bench.topics.dead_letters) == []


def doubling_schema():
    """Both alternatives check the same children, so each level of a payload doubles the work."""
    member = {"a": {"$ref": "#"}, "u": {"uniqueItems": True}, "z": {"type": "string"}}
    same = {"$ref": "#/$defs/same"}
    return {"anyOf": [same, same], "$defs": {"same": {"properties": member}}}


def test_a_payload_that_takes_forever_to_check_blocks_nothing(
    broker, simulators, benches, tmp_path
):
    bench, simulator = benches(broker), simulators()
    (tmp_path / "tree.json").write_text(json.dumps(doubling_schema()))
    payload = {"u": [{f"k{number}": number} for number in range(200)], "z": 1}
    for _ in range(50):
        payload = {"a": payload}
    # Padding around a payload does not buy more work for it.
    endless = new_event(payload=payload, metadata={"pad": "x" * 900_000})
    neighbour = new_event()
    bench.produce([record(endless), record(neighbour)], partition=0)
    schemas = {
        "directory": str(tmp_path),
        "payload_schemas": [{"bundle_ids": [APP], "schema": "tree"}],
    }
    service = bench.run(simulator, schemas=schemas)
    bench.wait_for_outcomes(2, service=service)
    service.drain()
    outcomes = {outcome["event_id"]: outcome for _, outcome in outcomes_of(broker, bench.topics)}
    refused = outcomes[endless["id"]]
    assert (refused["outcome"], refused["reason"]) == ("invalid", "SchemaViolation")
    assert violations_match(refused, "/payload", "tree#")
    assert outcomes[neighbour["id"]]["outcome"] == "accepted"


@pytest.mark.parametrize("mode", ["warn", "strict", "off"])
def test_apple_payload_rules_apply_as_configured(mode, broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    bench.produce([record(new_event(payload={"aps": {"badge": "three"}}))])
    service = bench.run(simulator, schemas={"payload": mode})
    bench.wait_for_outcomes(1, service=service)
    service.drain()
    [(_, outcome)] = outcomes_of(broker, bench.topics)
    assert outcome["outcome"] == ("invalid" if mode == "strict" else "accepted")
    assert violations_match(outcome, "/payload/aps/badge", "") == (mode != "off")
