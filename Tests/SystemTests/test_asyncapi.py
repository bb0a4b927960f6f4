"""schemas/asyncapi.json: checked against AsyncAPI's own schema, the examples, and real records."""

import json
import os
import pathlib
import subprocess

import jsonschema
import pytest

from harness import contracts
from harness.events import encoded, new_event, record
from harness.kafka import Written
from harness.processes import ROOT
from harness.retries import create_retry_topics, retrying

DOCUMENT = json.loads((ROOT / "schemas" / "asyncapi.json").read_text())
MESSAGES = DOCUMENT["components"]["messages"]
SCHEMAS = DOCUMENT["components"]["schemas"]
PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_the_document_is_up_to_date():
    subprocess.run([ROOT / "scripts" / "make-asyncapi", "--check"], check=True)


@pytest.mark.skipif(
    "HELIOGRAPH_TEST_ASYNCAPI" not in os.environ,
    reason="HELIOGRAPH_TEST_ASYNCAPI names no JSON Schema of AsyncAPI 3.0.0",
)
def test_the_document_matches_the_schema_of_asyncapi():
    """The schema also rejects documents with a mistake, so it does not accept everything."""
    schema = json.loads(pathlib.Path(os.environ["HELIOGRAPH_TEST_ASYNCAPI"]).read_text())
    validator = jsonschema.Draft7Validator(schema)
    assert [error.message for error in validator.iter_errors(DOCUMENT)] == []
    wrong = json.loads(json.dumps(DOCUMENT))
    wrong["operations"]["readRetries"]["action"] = "subscribe"
    assert not validator.is_valid(wrong)


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from references(child)


def resolved(reference):
    assert reference.startswith("#/"), f"{reference} is outside of the document"
    node = DOCUMENT
    for step in reference.removeprefix("#/").split("/"):
        node = node[step.replace("~1", "/").replace("~0", "~")]
    return resolved(node["$ref"]) if "$ref" in node else node


def test_references_resolve():
    found = list(references(DOCUMENT))
    assert len(found) > 20
    for reference in found:
        assert resolved(reference), reference


def test_everything_is_used():
    """Each channel has an operation, and each message a channel."""
    operations = DOCUMENT["operations"].values()
    channels = {f"#/channels/{name}" for name in DOCUMENT["channels"]}
    assert {operation["channel"]["$ref"] for operation in operations} == channels
    used = set(references(DOCUMENT["channels"])) | set(references(MESSAGES))
    for kind in ("messages", "schemas"):
        named = {f"#/components/{kind}/{name}" for name in DOCUMENT["components"][kind]}
        assert named <= used, named - used
    for operation in operations:
        place = operation["channel"]["$ref"]
        of_channel = {f"{place}/messages/{name}" for name in resolved(place)["messages"]}
        assert {m["$ref"] for m in operation["messages"]} <= of_channel


def test_channels_are_the_topics_that_are_created():
    """With the names and cleanup policies of deploy/kafka/create-topics.sh."""
    text = (ROOT / "deploy" / "kafka" / "create-topics.sh").read_text()
    created = {line.split()[1]: line for line in text.splitlines() if line.startswith("create n")}
    told = {}
    for channel in DOCUMENT["channels"].values():
        kafka = channel.get("bindings", {}).get("kafka", {}).get("topicConfiguration", {})
        cleanup = kafka.get("cleanup.policy", ["delete"])
        parameters = channel.get("parameters", {})
        for delay in parameters.get("delay", {}).get("examples", [""]):
            source = parameters.get("source", {}).get("default", "")
            address = channel["address"].format(source=source, delay=delay)
            told[address] = cleanup == ["compact"]
    # A source of broadcasts is optional, and so are campaigns.
    assert told.pop("broadcasts") is False
    assert told.pop("notifications.campaigns") is True
    assert told.pop("notifications.campaign-tallies") is False
    assert told == {name: "cleanup.policy=compact" in line for name, line in created.items()}


@pytest.mark.parametrize("name", SCHEMAS)
def test_payload_schemas_agree_with_the_shipped_ones(name):
    """AsyncAPI's schemas extend draft 7; the shipped ones use draft 2020-12."""
    jsonschema.Draft7Validator.check_schema(SCHEMAS[name])
    validator = jsonschema.Draft7Validator(SCHEMAS[name])
    shipped = jsonschema.Draft202012Validator(json.loads(
        (contracts.SCHEMAS / f"{name}.schema.json").read_text()
    ))
    verdicts = set()
    for path in sorted((contracts.EXAMPLES / name).glob("*valid/*.json")):
        event = json.loads(path.read_bytes())
        verdicts.add(shipped.is_valid(event))
        assert validator.is_valid(event) == shipped.is_valid(event), path
    assert verdicts == {True, False}


def test_all_schemas_are_included():
    assert set(SCHEMAS) == set(contracts.NAMES) - {"aps-payload.v1"}


def test_examples_match_their_message():
    count = 0
    for name, message in MESSAGES.items():
        for example in message.get("examples", ()):
            assert_kept(name, example["payload"])
            count += 1
    assert count >= 6


def validator_of(schema):
    """Validates within the whole document, so that references resolve."""
    return jsonschema.Draft7Validator({**schema, "components": DOCUMENT["components"]})


def assert_kept(name, payload, headers=None):
    for schema, value in (("payload", payload), ("headers", headers)):
        if schema == "headers" and value is None:
            continue
        validator = validator_of(MESSAGES[name][schema])
        errors = [f"{e.json_path}: {e.message}" for e in validator.iter_errors(value)]
        assert not errors, f"{name}, {schema}: {errors}"


def assert_names_known(name, headers, prefixes):
    """The document lists the service's own header names."""
    own = {header for header in headers if header.startswith(prefixes)}
    assert own and own <= set(MESSAGES[name]["headers"]["properties"]), own


def headers_of(message):
    return {name: value.decode("utf-8", "replace") for name, value in message.headers() or ()}


# Both header styles of dead letters.
@pytest.mark.parametrize("style", ["connect", "spring"])
def test_records_of_the_service_match_their_messages(style, broker, simulators, benches):
    bench = benches(broker)
    [retry] = create_retry_topics(bench, "1s")
    rules = [
        {"prefix": "dead", "is": "unregistered", "since": 1767225600000},
        {"prefix": "510e", "is": "rateLimited", "requests": 1},
    ]
    events = [
        new_event(),
        new_event(device_token="dead" + "0" * 60),
        new_event(device_token="510e" + "0" * 60),
        new_event(priority=7),
    ]
    trace = (("traceparent", PARENT), ("tracestate", b"a=b"))
    recipients = ["510e" + "1" * 60, "not a token", "a11c" + "1" * 60]
    many = new_event(device_token=None, recipients=recipients)
    bench.produce([record(event, headers=trace) for event in events])
    bench.produce([Written(encoded(many), many["id"].encode(), trace)])
    count = len(events) + len(recipients)
    service = bench.run(
        simulators({"rules": rules}),
        retry=retrying("1s"),
        results={"dead_letter_headers": style, "timing_headers": True},
    )
    bench.wait_for_outcomes(count, service=service)
    bench.wait_until_settled(service=service)
    service.drain()

    outcomes = broker.read_all(bench.topics.results)
    assert len(outcomes) == count
    for message in outcomes:
        assert_kept("notificationOutcome", json.loads(message.value()), headers_of(message))
        known = set(MESSAGES["notificationOutcome"]["headers"]["properties"])
        assert {"traceparent", "event-id", "received-us"} <= set(headers_of(message)) <= known
    [status] = broker.read_all(bench.topics.token_status)
    assert_kept("tokenStatus", json.loads(status.value()), headers_of(status))
    app, environment, token = status.key().decode().split("|")
    assert (environment, token) == ("production", events[1]["device_token"]) and app
    letters = broker.read_all(bench.topics.dead_letters)
    assert len(letters) == 2
    for letter in letters:
        assert_kept("deadLetter", json.loads(letter.value()), headers_of(letter))
        assert_names_known("deadLetter", headers_of(letter), ("__connect.errors.", "kafka_dlt-"))
    waiting = broker.read_all(retry)
    assert len(waiting) == 2
    for retried in waiting:
        assert_kept("retriedEvent", json.loads(retried.value()), headers_of(retried))
        assert_names_known("retriedEvent", headers_of(retried), "heliograph-retry-")
