"""`heliograph tail`: outcomes as they arrive, as lines for people and for programs."""

import hashlib
import hmac
import json
import os
import pty
import signal
import subprocess
import time

import pytest
import yaml

from harness.deadlines import eventually
from harness.events import new_event, record
from harness.kafka import Written, mock_cluster
from harness.processes import LEASH, Child, built_binary, clean_environment

KEY = "0123456789abcdef0123456789abcdef"
DEAD = "dead0000" + "5e" * 28
FIRST, SECOND = (prefix + "00" * 28 for prefix in ("a11ce001", "a11ce002"))
APP, OTHER = "com.example.News", "com.example.Chat"
CAMPAIGN = "spring sale"
STATUS = {"accepted": 200, "rejected": 400, "unregistered": 410}
NO_TIMES = b"cannot look up records by time"
STEERING = "\x1b[2Jgone\n\x9b2Janother line\u202e"


def outcome(
    event_id, kind="accepted", token=FIRST, topic=APP, reason=None, credential="example", **fields
):
    value = {
        "event_id": event_id,
        "apns_id": "eabeae54-14a8-11e5-b60b-1697f925ec7b",
        "device_token": token,
        "topic": topic,
        "push_type": "alert",
        "environment": "production",
        "credential": credential,
        "outcome": kind,
        "reason": reason,
        "decided_by": "apns",
        "token_action": "remove" if kind == "unregistered" else "keep",
        "attempts": 1,
        "received_at": "2026-01-31T08:00:00.000Z",
        "completed_at": "2026-01-31T08:00:00.012Z",
        "latency_ms": 12,
        "source": {"topic": "notifications", "partition": 0, "offset": 7},
        **fields,
    }
    if kind in STATUS:
        value["http_status"] = STATUS[kind]
    else:
        value["decided_by"] = "heliograph"
    if kind == "cancelled":
        value["campaign"] = CAMPAIGN
    if kind == "unregistered":
        value["unregistered_at"] = 1767225600000
    return Written(json.dumps(value).encode(), key=token.encode())


OUTCOMES = [
    outcome("one"),
    outcome("two", "rejected", SECOND, reason="BadTopic"),
    outcome("three", "unregistered", SECOND, f"{APP}.voip", "Unregistered"),
    outcome("four", "undeliverable", topic=OTHER, reason="NoCredential", credential=None),
    Written(b"no outcome"),
    outcome(STEERING, "rejected", reason="BadPriority"),
    outcome("five", "cancelled", reason="CampaignCancelled"),
]


def fingerprint(token):
    """Computed as the documentation describes."""
    return hmac.new(KEY.encode(), token.lower().encode(), hashlib.sha256).hexdigest()[:16]


class Bed:
    """A results topic, and the command that reads it."""

    def __init__(self, broker, simulators, benches, folder):
        self.bench = benches(broker, 1)
        self.topic = self.bench.topics.results
        self.kafka = broker
        key = folder / "fingerprint.key"
        key.write_text(f"{KEY}\n")
        log = {"level": "info", "format": "json", "fingerprint_key_file": str(key)}
        self.settings = self.bench.configuration(simulators(), log=log)
        self.file = folder / "tail.yaml"
        self.file.write_text(yaml.safe_dump(self.settings))

    def command(self, *options):
        words = [built_binary("heliograph"), "tail", "--config", self.file, *options]
        return [str(word) for word in words]

    def write(self, records=OUTCOMES):
        return self.kafka.produce(self.topic, records)

    def read(self, *options):
        """Reads the existing outcomes to the end."""
        return subprocess.run(
            self.command("--no-follow", *options),
            capture_output=True,
            timeout=60,
            env=clean_environment(),
        )

    def events(self, *options):
        done = self.read("--json", *options)
        assert done.returncode == 0, done.stderr
        return [json.loads(line)["event_id"] for line in done.stdout.splitlines()]


@pytest.fixture
def bed(broker, simulators, benches, tmp_path):
    return Bed(broker, simulators, benches, tmp_path)


def following(child):
    child.wait_for("stderr", lambda line: True if "following" in line else None)
    return child


def test_filters_select_outcomes(bed):
    bed.write()
    everything = ["one", "two", "three", "four", STEERING, "five"]
    for options, expected in [
        ([], everything),
        (["--outcome", "rejected"], ["two", STEERING]),
        (["--outcome", "rejected", "--outcome", "unregistered"], ["two", "three", STEERING]),
        (["--reason", "BadTopic"], ["two"]),
        (["--reason", "badtopic"], ["two"]),
        (["--outcome", "accepted", "--reason", "BadTopic"], []),
        (["--bundle-id", APP], ["one", "two", "three", STEERING, "five"]),
        (["--topic", f"{APP}.voip"], ["three"]),
        (["--credential", "example"], ["one", "two", "three", STEERING, "five"]),
        (["--campaign", CAMPAIGN], ["five"]),
        (["--campaign", CAMPAIGN, "--outcome", "accepted"], []),
        (["--event-id", "four", "--event-id", "one"], ["one", "four"]),
        (["--token", SECOND.upper()], ["two", "three"]),
        (["--fingerprint", fingerprint(SECOND)], ["two", "three"]),
        (["--token-action", "remove"], ["three"]),
        (["--token-action", "remove", "--token-action", "keep"], everything),
        (["--token-action", "keep", "--outcome", "unregistered"], []),
        (["--limit", "2"], ["one", "two"]),
        (["--since", "1h"], everything),
        (["--since", "2001-01-01T00:00:00Z", "--limit", "1"], ["one"]),
    ]:
        assert bed.events(*options) == expected, options


def test_a_value_that_selects_nothing_is_noted(bed):
    bed.write()
    reasons = ("--reason", "BadTopik", "--reason", "FromTheFuture", "--reason", "badtopic")
    done = bed.read(*reasons, "--credential", "exampel", "--credential", "example")
    assert done.returncode == 0
    assert done.stderr.decode().splitlines()[:3] == [
        "heliograph: --reason: 'BadTopik' is not a known reason; did you mean 'BadTopic'?",
        "heliograph: --reason: 'FromTheFuture' is not a known reason; see docs/reasons.md",
        "heliograph: --credential: the configuration has no credential 'exampel'; "
        "did you mean 'example'?",
    ]
    assert len(done.stdout.splitlines()) == 1


def test_since_starts_at_a_time(bed):
    bed.write([outcome("early")])
    [early] = [message.timestamp()[1] for message in bed.kafka.read_all(bed.topic)]
    eventually(lambda: time.time() * 1000 > early + 1, 60, "the clock to advance")
    bed.write([outcome("late"), outcome("later")])
    late = bed.kafka.read_all(bed.topic)[1].timestamp()[1]
    moment = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(late // 1000))}.{late % 1000:03}Z"
    assert bed.events("--since", moment) == ["late", "later"]
    assert NO_TIMES not in bed.read("--since", moment).stderr


def test_without_timestamps_kafka_is_read_from_the_beginning(simulators, benches, tmp_path):
    with mock_cluster() as kafka:
        bed = Bed(kafka, simulators, benches, tmp_path)
        assert NO_TIMES not in bed.read("--since", "1h").stderr
        bed.write([outcome("one"), outcome("two")])
        assert bed.events("--since", "1h") == ["one", "two"]
        assert bed.events("--since", "2100-01-01T00:00:00Z") == []
        assert NO_TIMES in bed.read("--since", "1h").stderr


def test_lines_show_everything_but_the_token(bed):
    bed.write()
    done = bed.read()
    said = done.stdout.decode()
    lines = said.splitlines()
    assert len(lines) == 6
    assert "\x1b" not in said and "?[2Jgone??2Janother line?" in lines[4]
    assert "rejected" in lines[1] and "BadTopic" in lines[1] and "two" in lines[1]
    assert f"device={fingerprint(SECOND)}" in lines[1]
    assert "token=remove" in lines[2]
    assert f"campaign={CAMPAIGN}" in lines[5]
    assert b"6 outcomes; 1 records are not outcomes" in done.stderr
    for everything in (done, bed.read("--json")):
        said = (everything.stdout + everything.stderr).decode().lower()
        assert FIRST not in said and SECOND not in said and KEY not in said
        assert not {"\x1b", "\x9b", "\u202e"} & set(said)


def test_outcomes_of_recipients_say_which(bed):
    of_many = [outcome("many", recipient=index, recipients=500) for index in (0, 3, 499)]
    bed.write([*of_many, outcome("single"), outcome("other", recipient=3, recipients=4)])
    lines = bed.read().stdout.decode().splitlines()
    columns = [[text for text in line.split("  ") if "recipient" in text] for line in lines]
    wanted = [["recipient=0/500"], ["recipient=3/500"], ["recipient=499/500"], []]
    assert columns == [*wanted, ["recipient=3/4"]]
    assert bed.events("--recipient", "3") == ["many", "other"]
    assert bed.events("--recipient", "3", "--recipient", "0", "--event-id", "many") == ["many"] * 2
    assert bed.read("--recipient", "1000").returncode == 64


def test_json_is_the_outcome_without_its_token(bed):
    written = bed.write()
    done = bed.read("--json", "--event-id", "two")
    [line] = [json.loads(line) for line in done.stdout.splitlines()]
    expected = json.loads(OUTCOMES[1].value)
    del expected["device_token"]
    place = line.pop("outcome_record")
    assert line.pop("device") == fingerprint(SECOND)
    assert line == expected
    assert (place["topic"], place["partition"], place["offset"]) == (
        bed.topic,
        written[1].partition,
        written[1].offset,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_tail_follows_until_it_is_interrupted(bed, number):
    bed.write([outcome("old")])
    with Child(bed.command("--json")) as child:
        following(child)
        for name in ("new", "newer"):
            bed.write([outcome(name)])
            child.wait_for("stdout", lambda line, name=name: name if name in line else None)
        child.send(number)
        assert child.wait_for_exit() == 0, child.output()
        found = [json.loads(line)["event_id"] for line in child.lines("stdout")]
        assert found == ["new", "newer"]
        assert child.lines("stderr")[-1] == "heliograph: 2 outcomes"


def test_a_reader_that_leaves_is_not_an_error(bed):
    with subprocess.Popen(
        [*LEASH, *bed.command("--json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
    ) as process:
        try:
            assert b"following" in process.stderr.readline()
            bed.write([outcome("first")])
            assert json.loads(process.stdout.readline())["event_id"] == "first"
            process.stdout.close()
            bed.write([outcome("second")])
            assert process.wait(60) == 0
            assert process.stderr.read() == b"heliograph: 1 outcome\n"
        finally:
            process.kill()


def shown_on_a_terminal(command, environment):
    """The command's output when its standard output is a terminal."""
    master, slave = pty.openpty()
    try:
        process = subprocess.run(
            command,
            stdout=slave,
            stderr=subprocess.PIPE,
            timeout=60,
            env={**clean_environment(), **environment},
        )
    finally:
        os.close(slave)
    said = b""
    try:
        while block := os.read(master, 65536):
            said += block
    except OSError:
        # Linux reports EIO when no process has the terminal open any more.
        pass
    finally:
        os.close(master)
    assert process.returncode == 0, process.stderr
    return said


@pytest.mark.parametrize(
    ("environment", "options", "is_colored"),
    [
        ({"TERM": "xterm", "NO_COLOR": ""}, [], True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, [], False),
        ({"TERM": "dumb", "NO_COLOR": ""}, [], False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, ["--color", "always"], True),
        ({"TERM": "xterm", "NO_COLOR": ""}, ["--color", "never"], False),
    ],
)
def test_colors_are_only_for_terminals(bed, environment, options, is_colored):
    bed.write([outcome("one")])
    said = shown_on_a_terminal(bed.command("--no-follow", *options), environment)
    assert b"accepted" in said
    assert (b"\x1b[32m" in said) == is_colored


@pytest.mark.takes(10)
def test_an_error_takes_one_line(bed):
    nowhere = yaml.safe_dump({**bed.settings, "results": {"topic": "not-there"}})
    silent = {**bed.settings["kafka"], "bootstrap_servers": "127.0.0.1:1"}
    without_key = {**bed.settings, "log": {"level": "info"}}
    for settings, options, complaint in [
        (nowhere, [], b"heliograph: results.topic: topic 'not-there' does not exist"),
        (
            yaml.safe_dump({**bed.settings, "kafka": silent}),
            [],
            b"heliograph: kafka.bootstrap_servers: no answer from 127.0.0.1:1",
        ),
        (
            yaml.safe_dump(without_key),
            ["--fingerprint", "0" * 16],
            b"heliograph: log.fingerprint_key_file: is not set",
        ),
    ]:
        bed.file.write_text(settings)
        done = bed.read(*options)
        assert done.returncode == 1
        [line] = done.stderr.splitlines()
        assert line.startswith(complaint)


@pytest.mark.parametrize(
    "options",
    [
        ["--outcome", "lost"],
        ["--since", "yesterday"],
        ["--limit", "0"],
        ["--token", "xyz"],
        ["--color", "blue"],
    ],
)
def test_a_contradictory_command_line_is_refused(bed, options):
    assert bed.read(*options).returncode == 64


@pytest.mark.core
def test_tail_shows_what_the_service_publishes(bed, simulators, benches):
    simulator = simulators({"rules": [{"prefix": "dead", "is": "unregistered", "since": 1}]})
    settings = {**bed.settings, "apns": bed.bench.configuration(simulator)["apns"]}
    good, dead = new_event(), new_event(device_token=DEAD)
    with Child(bed.command("--json")) as child:
        following(child)
        bed.bench.produce([record(good), record(dead)])
        service = bed.bench.start(settings).wait_until_ready()
        bed.bench.wait_for_outcomes(2, service=service)
        for event in (good, dead):
            child.wait_for("stdout", lambda line, event=event: event["id"] in line or None)
        service.drain()
    found = {o["event_id"]: o for o in map(json.loads, child.lines("stdout"))}
    assert found[good["id"]]["outcome"] == "accepted"
    assert found[dead["id"]]["reason"] == "Unregistered"
    assert found[dead["id"]]["device"] == fingerprint(DEAD)
