"""Tests of the harness itself: a test tool that reports wrong results is worse than none."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import uuid

import pytest

from harness import sampler
from harness.deadlines import eventually
from harness.events import (
    APNS_ID_NAMESPACE,
    derived_apns_id,
    encoded,
    new_event,
    payload_bytes,
    read_examples,
    record,
    records,
)
from harness.kafka import Kafka, Written, faulty_cluster
from harness.kafka_link import running_kafka_link
from harness.link import running_link
from harness.processes import ROOT, Child, built_binary
from harness.sampler import PLACES, REST_SAMPLES, metric_sums, violation
from harness.service import Service


@pytest.mark.core
def test_a_record_is_read_byte_for_byte_as_written(broker):
    topic = broker.create("bytes", partitions=1)
    headers = (("a", b"\x00\xff"), ("a", None), ("b", b""))
    sent = [
        Written(b"\xff\x00not UTF-8", b"\xfe", headers),
        Written(None, b"tombstone"),
        Written(b"", None),
        Written(b"z" * 10_000_000),
    ]
    broker.produce(topic, sent)
    read = broker.read_all(topic)
    assert [(r.value(), r.key()) for r in read] == [(w.value, w.key) for w in sent]
    assert tuple(read[0].headers()) == headers


@pytest.mark.parametrize("kind", ["broker", "expiring_broker"])
def test_records_are_where_they_were_written(kind, request):
    kafka = request.getfixturevalue(kind)
    topic = kafka.create(f"positions-{kind}", partitions=4)
    written = kafka.produce(topic, records(200))
    read = kafka.read_all(topic)
    values = {(r.partition(), r.offset()): r.value() for r in read}
    assert values == {w.position: w.value for w in written}
    assert kafka.count(topic) == 200
    assert set(kafka.committed("nobody", topic).values()) == {-1001}


def test_lines_and_exit_code_of_a_child_are_reported():
    program = "import sys; print('{\"a\": 1}'); print('x', file=sys.stderr); sys.exit(3)"
    with Child([sys.executable, "-c", program]) as child:
        assert child.wait_for_json() == {"a": 1}
        assert child.wait_for_exit() == 3
        assert child.lines("stderr") == ["x"]
        with pytest.raises(AssertionError, match="no such line"):
            child.wait_for("stdout", lambda line: None)


@pytest.mark.core
def test_a_killed_child_reports_the_signal():
    program = "import signal; print('up', flush=True); signal.pause()"
    with Child([sys.executable, "-c", program]) as child:
        child.wait_for("stdout", lambda line: line)
        child.kill()
        assert child.wait_for_exit() == -9
        with pytest.raises(AssertionError, match="ended before it was killed"):
            kill_the_dead()


def kill_the_dead():
    with Child([sys.executable, "-c", "print()"]) as child:
        child.wait_for_exit()
        child.kill()


@pytest.mark.core
def test_a_child_that_ends_without_a_request_fails_its_test():
    with pytest.raises(AssertionError, match="ended without a request"):
        with Child([sys.executable, "-c", "print('up', flush=True)"]) as child:
            eventually(lambda: not child.is_running, 60, child.output)


def test_the_examples_cover_every_kind():
    examples = read_examples()
    assert len(examples) >= 200
    expected = [one for example in examples for one in example.expected.values()]
    outcomes = {one.outcome for one in expected}
    assert outcomes >= {"accepted", "unregistered", "rejected", "invalid", "expired", "duplicate"}
    assert not all(example.expected for example in examples), "no tombstone"
    assert {len(example.expected) for example in examples} >= {12, 200}
    sent = [one.event for one in expected if one.event and one.outcome != "duplicate"]
    source = (ROOT / "Sources" / "Vocabulary" / "APNs.swift").read_text()
    declared = re.search(r"enum PushType.*?\n}", source, re.S).group()
    push_types = set(re.findall(r"case (\w+)", declared))
    assert {event["push_type"] for event in sent} == push_types
    identifiers = [derived_apns_id(event) for event in sent]
    assert len(set(identifiers)) == len(identifiers)


def test_the_payload_is_cut_out_of_the_event_unchanged():
    text = '{ "id" : "a,}" , "n": [1, {"payload": 0}],\n"payload" : { "x" : "\\u00e9\\/" } , "z":1}'
    assert payload_bytes(text.encode()) == b'{ "x" : "\\u00e9\\/" }'
    event = new_event()
    assert json.loads(payload_bytes(record(event).value)) == event["payload"]
    assert payload_bytes(encoded(event)) == encoded(event["payload"])


def test_the_apns_id_equals_the_one_that_the_service_derives():
    event = {"id": "order-1", "device_token": "ABCD"}
    identifier = uuid.UUID(derived_apns_id(event))
    assert (identifier.version, identifier.variant) == (5, uuid.RFC_4122)
    assert derived_apns_id({**event, "device_token": "abcd"}) == str(identifier)
    assert derived_apns_id({**event, "apns_id": "given"}) == "given"
    source = (ROOT / "Sources" / "Vocabulary" / "APNsID.swift").read_text()
    high, low = re.findall(r"(?:high|low): 0x([0-9a-f_]+)", source)[:2]
    assert APNS_ID_NAMESPACE.hex == (high + low).replace("_", "")


BALANCED = {
    "events_consumed_total": 10,
    "events_terminal_total": 6,
    "inflight_events": 2,
    "waiting_recipients": 1,
    "events_deferred_total": 1,
    "events_released_total": 0,
    "events_unaccounted": 0,
}


@pytest.mark.parametrize("unaccounted", [-1, 2])
def test_an_unaccounted_event_is_a_violation(unaccounted):
    assert violation(BALANCED) is None
    found = violation({**BALANCED, "events_unaccounted": unaccounted})
    assert found == f"events_unaccounted is {unaccounted}"


@pytest.mark.parametrize("name", BALANCED)
def test_a_missing_accounting_metric_is_a_violation(name):
    page = {other: value for other, value in BALANCED.items() if other != name}
    assert violation(page) == f"the page has no {name}"


# Replaces the service: opens an admin port that answers each request with the next page, and prints
# what a JSON log and a crash print.
STAND_IN = """
import http.server, itertools, json, os, signal, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(STATUS)
        self.end_headers()
        self.wfile.write(next(pages))

    def log_message(self, *_):
        pass

def open_port(*moving):
    global pages
    pages = itertools.cycle(moving or [PAGE])
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    line = {"message": "admin port is listening", "port": str(server.server_port)}
    print(json.dumps(line), file=sys.stderr, flush=True)
    server.serve_forever()

print("up", flush=True)
"""


def page_of(metrics):
    return "".join(f"heliograph_{name} {value}\n" for name, value in metrics.items()).encode()


@contextlib.contextmanager
def stand_in(folder, body, page=page_of(BALANCED), status=200):
    """A "service" that runs this piece of Python."""
    program = folder / "stand-in"
    settings = f"PAGE, STATUS = {page!r}, {status}"
    program.write_text(f"#!{sys.executable}\n{settings}\n{STAND_IN}\n{body}\n")
    program.chmod(0o755)
    with Service(folder / "run", {}, binary=program) as service:
        service.child.wait_for("stdout", lambda line: line)
        yield service


@pytest.mark.core
def test_a_correct_service_passes(tmp_path):
    with stand_in(tmp_path, "open_port()") as service:
        assert service.port
    assert service.sampler.samples > 0


@pytest.mark.core
@pytest.mark.parametrize("end", ["sys.exit(0)", "sys.exit(1)", "os.abort()", "os.kill(os.getpid(), 9)"])
def test_a_service_that_ends_without_a_request_fails_its_test(end, tmp_path):
    with pytest.raises(AssertionError, match="ended without a request"):
        with stand_in(tmp_path, end) as service:
            eventually(lambda: not service.child.is_running, 60, service.child.output)


@pytest.mark.core
def test_a_crash_fails_a_test_that_waits_for_the_exit(tmp_path):
    with pytest.raises(AssertionError, match="ended by signal 11"):
        with stand_in(tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)") as service:
            assert service.child.wait_for_exit() == -signal.SIGSEGV


@pytest.mark.core
@pytest.mark.parametrize(
    "words", ["Fatal error: Index out of range", "x.c:872: f: Assertion `a' failed."]
)
def test_a_service_that_crashes_at_the_end_fails_its_test(words, tmp_path):
    with pytest.raises(AssertionError, match="in the output of"):
        with stand_in(tmp_path, f"print({words!r}, flush=True); signal.pause()") as service:
            service.child.wait_for("stdout", lambda line: line if line == words else None)


@pytest.mark.core
@pytest.mark.parametrize("gone", ["events_unaccounted", "events_consumed_total", *PLACES])
def test_a_service_without_an_accounting_metric_fails_its_test(gone, tmp_path):
    page = page_of({name: value for name, value in BALANCED.items() if name != gone})
    with pytest.raises(AssertionError, match=f"the page has no {gone}"):
        with stand_in(tmp_path, "open_port()", page) as service:
            assert service.port


@pytest.fixture
def quick_sampler(monkeypatch):
    monkeypatch.setattr(sampler, "PERIOD_SECONDS", 0.01)


@pytest.mark.core
@pytest.mark.parametrize("place", PLACES)
def test_sums_that_never_balance_fail_even_a_short_test(place, quick_sampler, tmp_path):
    page = page_of({**BALANCED, place: 7})
    with pytest.raises(AssertionError, match="consumed is not terminal"):
        with stand_in(tmp_path, "open_port()", page) as service:
            assert service.port


def test_sums_that_balance_again_fail_no_test(quick_sampler, tmp_path):
    """The metrics are read one by one, so they may differ while events move."""
    pages = [page_of({**BALANCED, PLACES[0]: terminal}) for terminal in (6, 7, 7, 7)]
    with stand_in(tmp_path, f"open_port(*{pages!r})") as service:
        eventually(lambda: service.sampler.samples > 4 * REST_SAMPLES, 60, "many looks")


@pytest.mark.core
def test_metrics_that_were_never_sampled_fail_a_test(tmp_path):
    with pytest.raises(AssertionError, match="nobody saw the metrics"):
        with stand_in(tmp_path, "open_port()", status=503) as service:
            assert service.port


def test_a_sampler_that_ends_early_fails_its_test(tmp_path):
    # Not a number: the sampler cannot parse it.
    page = b"heliograph_events_consumed_total many\n"
    with pytest.raises(AssertionError, match="the sampler ended early"):
        with stand_in(tmp_path, "open_port()", page) as service:
            eventually(lambda: service.sampler.failure, 60, "the sampler to read the page")


def test_metrics_are_summed_over_their_labels():
    page = '# HELP a b\nheliograph_a_total{x="1"} 2\nheliograph_a_total{x="2"} 3\nheliograph_b 0\n'
    assert metric_sums(page) == {"a_total": 5, "b": 0}


def test_a_link_can_be_cut_and_silenced():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with running_link(f"https://localhost:{port}") as (link, url):
            assert url == f"https://localhost:{link.port}"
            near = socket.create_connection(("127.0.0.1", link.port), timeout=60)
            near.sendall(b"before")
            far, _ = listener.accept()
            far.settimeout(60)
            assert far.recv(100) == b"before"
            link.become("silent")
            near.sendall(b"meanwhile")
            far.settimeout(0.5)
            with pytest.raises(TimeoutError):
                far.recv(100)
            link.become("open")
            far.settimeout(60)
            assert far.recv(100) == b"meanwhile"
            link.cut()
            assert near.recv(100) == b""


def test_the_embedded_kafka_ends_while_its_input_is_open():
    with Child([built_binary("heliograph-lab"), "kafka"], takes_input=True) as kafka:
        kafka.wait_for_json()
        assert kafka.terminate() == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--brokers", "0"], "--brokers: invalid value '0'; expected a number from 1 to 100"),
        (["--brokers", "101"], "--brokers: invalid value '101'; expected a number from 1 to 100"),
        (["--topic", "a b"], "--topic: invalid value 'a b'; expected <name> or <name>:<partitions>"),
        (["--topic", ""], "--topic: invalid value ''; expected <name>"),
        (["--topic", ":3"], "--topic: invalid value ':3'; expected <name>"),
        (["--topic", ".."], "--topic: invalid value '..'; expected <name>"),
        (["--topic", "ä"], "--topic: invalid value 'ä'; expected <name>"),
        (["--topic", "a" * 250], "expected <name>"),
        (["--topic", "a:"], "--topic: invalid value 'a:'; expected 1 to 10000 partitions"),
        (["--topic", "a:0"], "--topic: invalid value 'a:0'; expected 1 to 10000 partitions"),
        (["--topic", "a:10001"], "--topic: invalid value 'a:10001'; expected 1 to 10000 partitions"),
        (["--topic", "a:10000", "--topic", "b:1"], "--topic: too many partitions"),
    ],
)
def test_the_embedded_kafka_refuses_invalid_topics_and_numbers(arguments, words):
    command = [built_binary("heliograph-lab"), "kafka", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (64, "")
    assert words in ended.stderr


def test_the_embedded_kafka_accepts_names_and_numbers_at_their_limits():
    topics = ["a" * 249, "A.b_c-9:1", "many:995"]
    command = [built_binary("heliograph-lab"), "kafka", "--brokers", "100"]
    with Child(command + [word for name in topics for word in ("--topic", name)]) as kafka:
        assert kafka.wait_for_json()["bootstrap_servers"].count(":") == 100
        assert kafka.terminate() == 0


def test_a_link_to_kafka_damages_only_the_marked_batch(broker):
    """Everything else arrives unchanged, for clients that know only the link."""
    topic = broker.create("damage", partitions=1)
    events = [new_event() for _ in range(20)]
    broker.produce(topic, list(map(record, events)))
    mark = events[7]["id"].encode() + b'"'
    with running_kafka_link(broker.bootstrap_servers) as (link, servers):
        link.damage(mark, times=1)
        damaged = [message.value() for message in Kafka(servers).read_all(topic)]
        whole = [message.value() for message in Kafka(servers).read_all(topic)]
    assert link.damaged == 1
    assert whole == list(map(encoded, events))
    assert damaged != whole
    turned = bytes([mark[0] ^ 1]) + mark[1:]
    assert damaged == [value.replace(mark, turned) for value in whole]


def test_faults_are_injected_or_refused():
    with faulty_cluster() as kafka:
        topic = kafka.create("faults")
        for fault in ("delay 1 10", "fail produce 6 2", "down 1", "up 1"):
            kafka.cause(fault)
        kafka.produce(topic, records(10))
        assert kafka.count(topic) == 10
        for nonsense in ("down 2", "explode", "fail produce"):
            with pytest.raises(AssertionError, match="false"):
                kafka.cause(nonsense)
