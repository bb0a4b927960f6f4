"""Framings, written by clients that share no code with the service."""

import base64
import json
import struct
from datetime import datetime, timezone

import pytest
from cloudevents.core.bindings.kafka import to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent

from harness.deadlines import eventually
from harness.events import encoded, new_event, payload_bytes, record, sha256
from harness.kafka import Written
from harness.ports import reserved_port
from harness.registry import running_registry
from harness.service import outcomes_of, position_of

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

# A schema that a team might register for its events: stricter than the event's own.
TEAM_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "TeamEvent",
    "type": "object",
    "properties": {"metadata": {"type": "object", "required": ["team"]}},
    "required": ["metadata"],
}


def cloud_event(event, **attributes):
    base = {
        "id": f"ce-{event['id']}",
        "source": "/tests",
        "type": "com.example.notification",
        "specversion": "1.0",
        "datacontenttype": "application/json",
        "time": datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
    }
    return CloudEvent(attributes={**base, **attributes}, data=event)


def written(message, key=None):
    headers = tuple(message.headers.items())
    return Written(message.value, key, headers)


def structured(**envelope):
    """A structured CloudEvent as a JSON object, without the content type."""
    base = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    members = {**base, **envelope}
    return Written(encoded({k: v for k, v in members.items() if v is not None}), None, ())


def outcomes_by_id(kafka, topics):
    return {outcome["event_id"]: (message, outcome) for message, outcome in outcomes_of(kafka, topics)}


def framings(service):
    lines = service.fetch("/metrics")[1].splitlines()
    prefix = 'heliograph_events_consumed_total{framing="'
    found = (line.removeprefix(prefix) for line in lines if line.startswith(prefix))
    counts = {line.split('"')[0]: int(line.split()[-1]) for line in found}
    return {framing: count for framing, count in counts.items() if count}


def metric(service, name):
    for line in service.fetch("/metrics")[1].splitlines():
        if line.startswith(f"heliograph_{name} "):
            return float(line.split()[-1])
    return None


def assert_sent_as_written(simulator, sent):
    """APNs got each payload byte for byte as it is in `sent`, the JSON texts of the events."""
    got = {request["token"]: request["payload_sha256"] for request in simulator.accepted()}
    texts = [text if isinstance(text, bytes) else encoded(text) for text in sent]
    assert got == {json.loads(t)["device_token"]: sha256(payload_bytes(t)) for t in texts}


@pytest.mark.core
def test_cloud_events_of_both_modes_are_sent(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    plain, binary, whole, bare, inside = (new_event() for _ in range(5))
    spaced = json.dumps(inside, indent=3).encode()
    in_binary = to_binary_event(cloud_event(binary, traceparent=TRACE, tracestate="a=b"))
    in_structured = to_structured_event(cloud_event(whole, traceparent=TRACE))
    sent = [
        record(plain),
        written(in_binary),
        written(in_structured),
        structured(data=bare, time="2026-01-02T03:04:05Z"),
        structured(data_base64=base64.b64encode(spaced).decode()),
        Written(None, b"gone", ()),
    ]
    bench.produce(sent)
    service = bench.run(simulator)
    events = [plain, binary, whole, bare, inside]
    bench.wait_for_outcomes(len(events), service=service)
    bench.wait_until_settled(service=service)
    found = outcomes_by_id(broker, bench.topics)
    assert {found[event["id"]][1]["outcome"] for event in events} == {"accepted"}
    data = in_structured.value.partition(b'"data":')[2].strip()
    text = json.JSONDecoder().raw_decode(data.decode())[1]
    assert_sent_as_written(
        simulator, [plain, in_binary.value, data[:text], bare, spaced]
    )
    for event, expected in [
        (binary, {"traceparent": TRACE.encode(), "tracestate": b"a=b"}),
        (whole, {"traceparent": TRACE.encode()}),
        (plain, {}),
    ]:
        headers = dict(found[event["id"]][0].headers())
        assert {k: v for k, v in headers.items() if k.startswith("trace")} == expected
    # Counted from the CloudEvent's time, which is long ago.
    assert found[bare["id"]][1]["latency_ms"] > 1_000_000
    expected = {"plain": 1, "cloudevents_binary": 1, "cloudevents_structured": 3}
    assert framings(service) == expected
    assert metric(service, "tombstones_total") == 1
    service.drain()


BATCH = (("content-type", b"application/cloudevents-batch+json"),)
STRUCTURED = (("content-type", b"application/cloudevents+json; charset=utf-8"),)

# name: (record, location of the violation, part of its message)
BAD_FRAMINGS = {
    "batch": (Written(b"[]", None, BATCH), "", "batch"),
    "other format": (
        Written(b"x", None, (("content-type", b"application/cloudevents+avro"),)),
        "",
        "only the JSON format",
    ),
    "no object": (Written(b"[]", None, STRUCTURED), "", "a JSON object"),
    "old version": (structured(specversion="0.3", data={}), "/specversion", "is not 1.0"),
    "no source": (structured(source=None, data={}), "/source", "is missing"),
    "no data": (structured(), "", "has no data"),
    "null data": (structured(data=None, data_base64=None), "", "has no data"),
    "text": (structured(datacontenttype="text/plain", data="x"), "/datacontenttype", "is not JSON"),
    "not Base64": (structured(data_base64="***"), "/data_base64", "not Base64"),
    "binary without id": (
        Written(encoded(new_event()), None, (("ce_specversion", b"1.0"),)),
        "",
        "attribute id is missing",
    ),
    "binary without data": (
        Written(b"", None, tuple((f"ce_{k}", v) for k, v in [
            ("specversion", b"1.0"), ("id", b"1"), ("source", b"/s"), ("type", b"t")
        ])),
        "",
        "no data",
    ),
    "prefix alone": (Written(b"\x00\x00\x00\x00\x01", None, ()), "", "no data"),
    "prefix cut short": (Written(b"\x00\x00", None, ()), "", "cut short"),
    "bad header": (
        Written(encoded(new_event()), None, (("__value_schema_id", b"\x02abc"),)),
        "",
        "__value_schema_id",
    ),
}


def test_a_record_that_breaks_its_framing_is_named(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    sent = [bad for bad, _, _ in BAD_FRAMINGS.values()]
    places = bench.produce([*sent, record(new_event())], partition=0)
    service = bench.run(simulator)
    bench.wait_for_outcomes(len(places), service=service)
    bench.wait_until_settled(service=service)
    outcomes = {position_of(outcome): outcome for _, outcome in outcomes_of(broker, bench.topics)}
    wrong = {}
    for (name, (_, pointer, message)), place in zip(BAD_FRAMINGS.items(), places):
        outcome = outcomes[place.position]
        violations = outcome.get("violations", [{}])
        fits = (
            (outcome["outcome"], outcome["reason"]) == ("invalid", "MalformedEvent")
            and violations[0]["instance_location"] == pointer
            and message in violations[0]["message"]
        )
        if not fits:
            wrong[name] = outcome
    assert not wrong
    assert outcomes[places[-1].position]["outcome"] == "accepted"
    # The original bytes, even if they were decoded.
    letters = broker.read_all(bench.topics.dead_letters)
    assert sorted(letter.value() for letter in letters) == sorted(bad.value for bad in sent)
    service.drain()


def serializer(registry, place, schema=TEAM_SCHEMA):
    """Puts the schema's ID into `prefix` or `header`."""
    # Imported here, because the import takes half a second in each worker.
    from confluent_kafka import schema_registry
    from confluent_kafka.schema_registry.json_schema import JSONSerializer

    return JSONSerializer(
        json.dumps(schema),
        schema_registry.SchemaRegistryClient({"url": registry.url}),
        conf={
            "auto.register.schemas": False,
            "schema.id.serializer": getattr(schema_registry, f"{place}_schema_id_serializer"),
            # Without validation, so that records that violate the schema can be written.
            "validate": False,
        },
    )


def serialized(topic, serialize, event):
    """A record as JSONSerializer writes it."""
    from confluent_kafka.serialization import MessageField, SerializationContext

    headers = []
    context = SerializationContext(topic, MessageField.VALUE, headers)
    return Written(serialize(event, context), None, tuple(headers))


def wire_format(schema_id, event):
    return Written(struct.pack(">bI", 0, schema_id) + encoded(event), None, ())


def registry_settings(registry, **settings):
    return {"schema_registry": {"url": registry.url, "request_timeout": "30s", **settings}}


@pytest.mark.core
def test_the_wire_format_is_read_from_prefix_and_header(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    with running_registry() as registry:
        schema = registry.register(f"{bench.topics.source}-value", TEAM_SCHEMA)
        sent = []
        for place in ("prefix", "header"):
            write = serializer(registry, place)
            good, bad = new_event(metadata={"team": "a"}), new_event(metadata={"tem": "a"})
            for event in (good, bad):
                sent.append((event, serialized(bench.topics.source, write, event)))
        bench.produce([written for _, written in sent])
        registry.requests.clear()
        service = bench.run(simulator, **registry_settings(registry))
        bench.wait_for_outcomes(len(sent), service=service)
        found = outcomes_by_id(broker, bench.topics)
        for index, (event, written) in enumerate(sent):
            outcome = found[event["id"]][1]
            path = [f"schemas/ids/{schema['id']}", f"schemas/guids/{schema['guid']}"][index // 2]
            if index % 2 == 0:
                assert outcome["outcome"] == "accepted"
                continue
            assert (outcome["outcome"], outcome["reason"]) == ("invalid", "SchemaViolation")
            assert outcome["violations"] == [
                {
                    "instance_location": "/metadata",
                    "keyword_location": f"{path}#/properties/metadata/required",
                    "message": outcome["violations"][0]["message"],
                }
            ]
        assert_sent_as_written(simulator, [sent[0][1].value[5:], sent[2][1].value])
        assert framings(service) == {"confluent": 4}
        # Each schema is fetched once, however many records name it.
        assert sorted(registry.requests) == sorted(
            [f"schemas/ids/{schema['id']}", f"schemas/guids/{schema['guid']}"]
        )
        service.drain()


def test_a_schema_with_references_is_fetched(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    with running_registry() as registry:
        name = {"type": "string", "minLength": 3}
        inner = registry.register("team names/v 1", name)
        metadata = {"properties": {"team": {"$ref": "name.json"}}}
        middle = registry.register(
            "metadata", metadata, [{"name": "name.json", "subject": inner["subject"], "version": 1}]
        )
        outer = registry.register(
            "outer",
            {"properties": {"metadata": {"$ref": "metadata.json"}}},
            [{"name": "metadata.json", "subject": middle["subject"], "version": 1}],
        )
        good, bad = new_event(metadata={"team": "abc"}), new_event(metadata={"team": "ab"})
        bench.produce([wire_format(outer["id"], event) for event in (good, bad)])
        service = bench.run(simulator, **registry_settings(registry))
        bench.wait_for_outcomes(2, service=service)
        found = outcomes_by_id(broker, bench.topics)
        assert found[good["id"]][1]["outcome"] == "accepted"
        [violation] = found[bad["id"]][1]["violations"]
        assert violation["instance_location"] == "/metadata/team"
        assert violation["keyword_location"].startswith(f"schemas/ids/{outer['id']}#")
        assert "subjects/team names/v 1/versions/1" in registry.requests
        service.drain()


def test_the_schema_id_is_ignored_without_a_registry(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    event = new_event()
    bench.produce([wire_format(77, event)])
    service = bench.run(simulator)
    bench.wait_for_outcomes(1, service=service)
    assert outcomes_by_id(broker, bench.topics)[event["id"]][1]["outcome"] == "accepted"
    service.drain()


def test_a_registry_outage_stops_no_known_schema(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    with running_registry() as registry:
        known = registry.register("known", TEAM_SCHEMA)
        late = registry.register("late", {"type": "object", "required": ["bundle_id"]})
        service = bench.run(
            simulator, **registry_settings(registry), retry={"here_for": "60s", "max_delay": "1s"}
        )
        bench.produce([wire_format(known["id"], new_event(metadata={"team": "a"}))])
        bench.wait_for_outcomes(1, service=service)
        registry.stop()
        waiting = new_event()
        bench.produce([wire_format(late["id"], waiting)], partition=0)
        eventually(
            lambda: metric(service, "events_awaiting_schema") == 1, 60, "a record to wait"
        )
        # In the same partition, behind the record that waits.
        bench.produce(
            [wire_format(known["id"], new_event(metadata={"team": "a"})) for _ in range(5)],
            partition=0,
        )
        bench.wait_for_outcomes(6, service=service)
        eventually(
            lambda: "schema_registry" in str(service.warnings()), 60, "a warning about the registry"
        )
        assert metric(service, "events_unaccounted") == 0
        registry.start()
        bench.wait_for_outcomes(7, service=service)
        found = outcomes_by_id(broker, bench.topics)
        assert found[waiting["id"]][1]["outcome"] == "accepted"
        assert metric(service, "events_awaiting_schema") == 0
        service.drain()


def test_registries_are_tried_in_turn(broker, simulators, benches):
    """If one does not answer or refuses, the next one is asked."""
    bench, simulator = benches(broker), simulators()
    with (
        reserved_port() as nobody,
        running_registry(authorization="nobody") as refusing,
        running_registry() as registry,
    ):
        schema = registry.register("known", TEAM_SCHEMA)
        addresses = [f"http://127.0.0.1:{nobody}", refusing.url, registry.url]
        service = bench.run(
            simulator, schema_registry={"url": ", ".join(addresses), "request_timeout": "30s"}
        )
        event = new_event(metadata={"team": "a"})
        bench.produce([wire_format(schema["id"], event)])
        bench.wait_for_outcomes(1, service=service)
        assert outcomes_by_id(broker, bench.topics)[event["id"]][1]["outcome"] == "accepted"
        path = f"schemas/ids/{schema['id']}"
        assert refusing.requests == registry.requests == [path]
        assert not service.warnings()
        service.drain()


def test_no_record_makes_the_service_unready(broker, simulators, benches):
    """Whatever the registry answers for one schema ID, other schemas load and the service stays ready."""
    bench, simulator = benches(broker), simulators()
    statuses = {100: 302, 101: 400, 102: 401, 103: 403, 104: 404, 105: 429, 106: 500, 107: 503}
    impossible = (1 << 31, (1 << 32) - 1)
    with running_registry() as registry:
        registry.statuses = {f"schemas/ids/{n}": status for n, status in statuses.items()}
        odd = [
            wire_format(number, new_event(id=f"odd-{number}"))
            for number in (*statuses, *impossible)
        ]
        good = registry.register("good", TEAM_SCHEMA)
        known = [new_event(metadata={"team": "a"}) for _ in range(3)]
        settings = registry_settings(registry)
        service = bench.run(simulator, **settings, retry={"here_for": "1s", "max_delay": "1s"})
        bench.produce([*odd, *(wire_format(good["id"], event) for event in known)], partition=0)
        seen = []

        def are_written():
            seen.append(service.fetch("/ready")[1])
            return len(outcomes_by_id(broker, bench.topics)) == len(odd) + len(known)

        eventually(are_written, 60, "every outcome")
        assert not [text for text in seen if "schema_registry" in text]
        found = outcomes_by_id(broker, bench.topics)
        assert {found[event["id"]][1]["outcome"] for event in known} == {"accepted"}
        reasons = {number: found[f"odd-{number}"][1]["reason"] for number in statuses}
        assert set(reasons.values()) == {"SchemaUnavailable"}
        for number in impossible:
            assert found[f"odd-{number}"][1]["reason"] == "UnknownSchema"
            assert f"schemas/ids/{number}" not in registry.requests
        service.drain()


def test_proxy_variables_do_not_apply_to_the_registry(broker, simulators, benches):
    """The proxy would get the registry's credentials."""
    bench, simulator = benches(broker), simulators()
    with reserved_port() as nobody, running_registry() as registry:
        schema = registry.register("known", TEAM_SCHEMA)
        names = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        service = bench.start(
            bench.configuration(simulator, **registry_settings(registry)),
            {name: f"http://127.0.0.1:{nobody}" for name in names},
        ).wait_until_ready()
        event = new_event(metadata={"team": "a"})
        bench.produce([wire_format(schema["id"], event)])
        bench.wait_for_outcomes(1, service=service)
        assert outcomes_by_id(broker, bench.topics)[event["id"]][1]["outcome"] == "accepted"
        service.drain()


def test_missing_and_unusable_schemas_have_reasons(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    with running_registry() as registry:
        avro = registry.register("avro", '{"type": "string"}', schema_type="AVRO")
        broken = registry.register("broken", {"type": "strin"})
        sent = {
            "UnknownSchema": wire_format(4711, new_event(id="UnknownSchema")),
            "UnusableSchema": wire_format(avro["id"], new_event(id="UnusableSchema")),
            "broken": wire_format(broken["id"], new_event(id="broken")),
        }
        service = bench.run(simulator, **registry_settings(registry), retry={"here_for": "1s"})
        bench.produce(list(sent.values()))
        bench.wait_for_outcomes(3, service=service)
        registry.stop()
        bench.produce([wire_format(4712, new_event(id="SchemaUnavailable"))])
        bench.wait_for_outcomes(4, service=service)
        bench.wait_until_settled(service=service)
        found = outcomes_by_id(broker, bench.topics)
        ends = {
            event_id: (outcome["outcome"], outcome["reason"])
            for event_id, (_, outcome) in found.items()
        }
        assert ends == {
            "UnknownSchema": ("invalid", "UnknownSchema"),
            "UnusableSchema": ("invalid", "UnusableSchema"),
            "broken": ("invalid", "UnusableSchema"),
            "SchemaUnavailable": ("undeliverable", "SchemaUnavailable"),
        }
        assert "AVRO" in found["UnusableSchema"][1]["violations"][0]["message"]
        assert "/type" in found["broken"][1]["violations"][0]["message"]
        assert len(broker.read_all(bench.topics.dead_letters)) == 4
        service.drain()


def test_records_of_avro_and_protobuf_are_named(broker, simulators, benches):
    bench, simulator = benches(broker), simulators()
    with running_registry() as registry:
        types = {None: "AVRO", "AVRO": "AVRO", "PROTOBUF": "PROTOBUF", "avro": "AVRO"}
        expected = {}
        for number, (schema_type, name) in enumerate(types.items()):
            schema = registry.register(f"a{number}", '{"type":"string"}', schema_type=schema_type)
            message = f"schema {schema['id']} is {name}; Heliograph reads JSON"
            expected[schema["id"]] = ("UnusableSchema", message)
        own = registry.register("json", {"type": "object"})["id"]
        expected[own] = expected[4711] = ("MalformedEvent", "not JSON")
        service = bench.run(simulator, **registry_settings(registry))
        avro = b"\x0e\x08ab"
        sent = [Written(struct.pack(">bI", 0, number) + avro, None, ()) for number in expected]
        written = bench.produce(sent)
        bench.wait_for_outcomes(len(sent), service=service)
        registry.stop()
        written += bench.produce([Written(struct.pack(">bI", 0, 4712) + avro, None, ())])
        bench.wait_for_outcomes(len(sent) + 1, service=service)
        bench.wait_until_settled(service=service)
        service.drain()
        found = {position_of(outcome): outcome for _, outcome in outcomes_of(broker, bench.topics)}
        for place, (reason, message) in zip(
            written, [*expected.values(), ("MalformedEvent", "not JSON")], strict=True
        ):
            outcome = found[place.position]
            [violation] = outcome["violations"]
            assert (outcome["outcome"], outcome["reason"]) == ("invalid", reason), outcome
            assert violation["message"].startswith(message), violation


@pytest.mark.parametrize("kind", ["basic", "bearer"])
def test_the_registry_gets_its_credentials(broker, simulators, benches, tmp_path, kind):
    bench, simulator = benches(broker), simulators()
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    if kind == "basic":
        expected = "Basic " + base64.b64encode(b"me:s3cret").decode()
        settings = {"username": "me", "password_file": str(secret)}
    else:
        expected, settings = "Bearer s3cret", {"bearer_token_file": str(secret)}
    with running_registry(authorization=expected) as registry:
        schema = registry.register("s", TEAM_SCHEMA)
        bench.produce([wire_format(schema["id"], new_event(metadata={"team": "a"}))])
        service = bench.run(simulator, **registry_settings(registry, **settings))
        bench.wait_for_outcomes(1, service=service)
        [(_, outcome)] = outcomes_of(broker, bench.topics)
        assert outcome["outcome"] == "accepted"
        assert "s3cret" not in "".join(service.child.lines("stderr"))
        service.drain()
