"""Dead letters: their headers, how they are listed, and how they are replayed."""

import collections
import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import termios

import pytest
import yaml

from harness.commands import run_command, running_command
from harness.deadlines import eventually
from harness.events import encoded, new_event, only, record
from harness.kafka import Written
from harness.processes import built_binary, clean_environment
from harness.retries import create_retry_topics, history_of
from harness.service import outcomes_of

BROKEN = {"default": {"is": "TooManyRequests"}}
OWN_HEADERS = (("traceparent", b"00-1-2-01"), ("binary", b"\x00\xff"), ("null", None))
OLD_HEADERS = (
    ("__connect.errors.topic", b"of-an-older-failure"),
    ("kafka_dlt-original-topic", b"of-an-older-failure"),
    ("heliograph-retry-attempts", b"3"),
)
ONE_ATTEMPT = {"attempts": 1, "here_for": "1s", "later": []}
# A line break, and 8-bit and 7-bit escape sequences.
STEERING = "a\nheliograph: 9 of 9 dead letters replayed\x1b\x9b2J\u202e"
FOREIGN_APP = "com.example.Other"


class Bed:
    """A bench, an APNs that fails, and a folder for the commands' configuration."""

    def __init__(self, broker, simulators, benches, folder):
        self.kafka = broker
        self.bench = benches(broker)
        self.simulators = simulators
        self.folder = folder
        self.broken = simulators(BROKEN)

    def settings(self, simulator=None, **changes):
        changes = {"retry": ONE_ATTEMPT, **changes}
        return self.bench.configuration(simulator or self.broken, **changes)

    def make_dead_letters(self, records, **changes):
        """Has the service fail these events, and ends it."""
        written = self.bench.produce(records)
        service = self.bench.start(self.settings(**changes)).wait_until_ready()
        self.bench.wait_for_outcomes(len(records), service=service)
        self.bench.wait_until_settled(service=service)
        service.drain()
        return written

    def command(self, *arguments, **changes):
        return run_command(self.folder, self.settings(**changes), "dead-letters", *arguments)

    @property
    def letters(self):
        return self.kafka.read_all(self.bench.topics.dead_letters)


@pytest.fixture
def bed(broker, simulators, benches, tmp_path):
    return Bed(broker, simulators, benches, tmp_path)


def listed(ended):
    assert ended.code == 0, ended.output
    return [json.loads(line) for line in ended.out]


def test_spring_headers_are_readable_by_spring_tools(bed):
    [place] = bed.make_dead_letters(
        [record(new_event(), headers=OWN_HEADERS + OLD_HEADERS)],
        results={"dead_letter_headers": "spring"},
    )
    [letter] = bed.letters
    headers = letter.headers()
    assert headers[: len(OWN_HEADERS)] == list(OWN_HEADERS)
    names = [name for name, _ in headers]
    assert len(names) == len(set(names)), "a header was appended, not replaced"
    found = dict(headers)
    source = bed.bench.topics.source
    assert found["kafka_dlt-original-topic"] == source.encode()
    assert struct.unpack(">i", found["kafka_dlt-original-partition"]) == (place.partition,)
    assert struct.unpack(">q", found["kafka_dlt-original-offset"]) == (place.offset,)
    [written] = bed.kafka.read_all(source)
    assert struct.unpack(">q", found["kafka_dlt-original-timestamp"])[0] == written.timestamp()[1]
    assert found["kafka_dlt-original-consumer-group"] == bed.bench.group.encode()
    assert found["kafka_dlt-exception-fqcn"] == b"TooManyRequests"
    assert not [name for name in names if name.startswith(("__connect.", "heliograph-"))]
    # The commands read both styles.
    [line] = listed(bed.command("list", "--json"))
    assert line["source"] == {
        "topic": source,
        "partition": place.partition,
        "offset": place.offset,
    }


def test_connect_headers_replace_older_ones_and_keep_the_rest(bed):
    [place] = bed.make_dead_letters([record(new_event(), headers=OWN_HEADERS + OLD_HEADERS)])
    [letter] = bed.letters
    assert (letter.key(), letter.value()) == (place.key, place.value)
    headers = letter.headers()
    assert headers[: len(OWN_HEADERS)] == list(OWN_HEADERS)
    errors = headers[len(OWN_HEADERS) :]
    assert all(name.startswith("__connect.errors.") for name, _ in errors)
    assert len({name for name, _ in errors}) == len(errors)
    texts = {name.removeprefix("__connect.errors."): value.decode() for name, value in errors}
    assert texts["topic"] == bed.bench.topics.source
    assert (int(texts["partition"]), int(texts["offset"])) == place.position
    assert texts["exception.class.name"] == "TooManyRequests"
    assert texts["stage"] == "TASK_PUT"


def test_a_dead_letter_of_a_retried_event_names_the_first_record(bed):
    [topic] = create_retry_topics(bed.bench, "1s")
    retry = {**ONE_ATTEMPT, "later": ["1s"], "give_up_after": "3s"}
    [place] = bed.make_dead_letters([record(new_event(), headers=OWN_HEADERS)], retry=retry)
    assert bed.kafka.count(topic) >= 1
    [letter] = bed.letters
    assert (letter.key(), letter.value()) == (place.key, place.value)
    assert letter.headers()[: len(OWN_HEADERS)] == list(OWN_HEADERS)
    assert not history_of(letter)
    [line] = listed(bed.command("list", "--json"))
    assert (line["source"]["partition"], line["source"]["offset"]) == place.position
    assert line["source"]["topic"] == bed.bench.topics.source


def test_a_listing_shows_everything_but_the_token(bed):
    event, foreign = new_event(), new_event(bundle_id=FOREIGN_APP)
    steering = new_event(id="\x1b[2Jgone", bundle_id="com.example.Chat")
    broken = Written(b'{"device_token": "feedface00', key=b"feedface00")
    records = [record(event), record(foreign), record(steering), broken]
    written = bed.make_dead_letters(records)
    lines = listed(bed.command("list", "--json"))
    found = {
        (line["reason"], line["event_id"], line["bundle_id"], line["source"]["offset"])
        for line in lines
    }
    offsets = [place.offset for place in written]
    assert found == {
        ("TooManyRequests", event["id"], event["bundle_id"], offsets[0]),
        ("NoCredential", foreign["id"], FOREIGN_APP, offsets[1]),
        ("TooManyRequests", steering["id"], "com.example.Chat", offsets[2]),
        ("MalformedEvent", None, None, offsets[3]),
    }
    ended = bed.command("list")
    assert len(ended.out) == 4
    assert "4 dead letters" in ended.err[-1]
    assert "\x1b" not in ended.output
    tokens = [e["device_token"] for e in (event, foreign, steering)] + ["feedface00"]
    assert not [token for token in tokens if token in ended.output]


def test_filters_select_dead_letters(bed):
    events = [new_event() for _ in range(3)] + [new_event(bundle_id=FOREIGN_APP)]
    written = bed.make_dead_letters([record(event) for event in events])
    ids = [event["id"] for event in events]

    def chosen(*arguments):
        return {line["event_id"] for line in listed(bed.command("list", "--json", *arguments))}

    assert chosen() == set(ids)
    assert chosen("--reason", "NoCredential") == {ids[3]}
    assert chosen("--reason", "nocredential") == {ids[3]}
    assert chosen("--reason", "NoCredential", "--reason", "TooManyRequests") == set(ids)
    assert chosen("--reason", "NoSuchReason") == set()
    noted = bed.command("list", "--reason", "NoCredentials").err[0]
    assert noted.endswith("'NoCredentials' is not a known reason; did you mean 'NoCredential'?")
    assert chosen("--bundle-id", FOREIGN_APP) == {ids[3]}
    place = written[1]
    at = ("--partition", place.partition, "--offset", place.offset)
    assert chosen(*at) == {ids[1]}
    assert chosen(*at, "--source", "another") == set()
    assert chosen("--source", "another", "--source", bed.bench.topics.source) == set(ids)
    assert chosen("--since", "2001-01-01T00:00:00Z") == set(ids)
    assert chosen("--until", "2001-01-01T00:00:00Z") == set()
    assert chosen("--since", "1h") == set(ids)
    assert chosen("--until", "1h") == set()
    assert len(chosen("--limit", 2)) == 2
    for wrong in (("--since", "yesterday"), ("--offset", "1"), ("--limit", "0")):
        assert bed.command("list", *wrong).code == 64


def test_an_empty_topic_differs_from_a_missing_one(bed):
    empty = bed.command("list")
    assert (empty.code, empty.out) == (0, []), empty.output
    assert "0 dead letters" in empty.output
    replayed = bed.command("replay")
    assert (replayed.code, replayed.out) == (0, []), replayed.output
    assert "0 of 0 dead letters replayed" in replayed.output
    missing = bed.command("list", results={"dead_letter_topic": "no-such-topic"})
    assert missing.code == 1
    assert "results.dead_letter_topic: topic 'no-such-topic' does not exist" in missing.output
    off = bed.command("list", results={"dead_letter_topic": None})
    assert off.code == 1
    assert "results.dead_letter_topic: is null" in off.output


def test_a_listing_handles_transactions(bed):
    topic = bed.bench.topics.dead_letters
    bed.kafka.produce_in_transaction(topic, [Written(b"{}", key=b"kept")])
    bed.kafka.produce_in_transaction(topic, [Written(b"{}", key=b"undone")] * 3, aborts=True)
    # The partitions end with transaction markers, which are not records.
    lines = listed(bed.command("list", "--json"))
    assert len(lines) == 1


@pytest.mark.core
def test_replayed_dead_letters_are_delivered(bed):
    events = [new_event() for _ in range(100)]
    # Another client's partitioner puts a key elsewhere.
    placed = enumerate(events)
    records = [record(e, headers=OWN_HEADERS, partition=n % 4) for n, e in placed]
    written = bed.make_dead_letters(records)
    trial = bed.command("replay", "--dry-run")
    assert trial.code == 0, trial.output
    assert len(trial.out) == 100
    assert "100 of 100 dead letters would be replayed" in trial.output
    source = bed.bench.topics.source
    assert bed.kafka.count(source) == 100

    replayed = bed.command("replay", "--rate", "500/s")
    assert replayed.code == 0, replayed.output
    assert "100 of 100 dead letters replayed" in replayed.output
    before = {place.position for place in written}
    again = [
        message
        for message in bed.kafka.read_all(source)
        if (message.partition(), message.offset()) not in before
    ]
    wanted = sorted((place.partition, place.key, place.value) for place in written)
    found = sorted((message.partition(), message.key(), message.value()) for message in again)
    assert found == wanted
    for message in again:
        assert message.headers() == list(OWN_HEADERS)

    well = bed.simulators()
    service = bed.bench.start(bed.settings(well)).wait_until_ready()
    bed.bench.wait_for_outcomes(200, service=service)
    service.drain()
    outcomes = [outcome for _, outcome in outcomes_of(bed.kafka, bed.bench.topics)]
    accepted = {o["event_id"] for o in outcomes if o["outcome"] == "accepted"}
    assert accepted == {event["id"] for event in events}
    assert bed.kafka.count(bed.bench.topics.dead_letters) == 100


@pytest.mark.takes(10)
def test_dead_letters_of_recipients_are_listed_and_sent_again(bed):
    """They name the first record and its entries, although they come from a retry topic."""
    create_retry_topics(bed.bench, "1s")
    good, one, other = (f"{prefix}{'0a' * 28}" for prefix in ("a11ce0aa", "510e0001", "510e0002"))
    entries = [good, "not a token", one, {"device_token": other, "collapse_id": "own"}]
    event = new_event(device_token=None, recipients=entries)
    [place] = bed.bench.produce([Written(encoded(event), event["id"].encode(), OWN_HEADERS)])
    failing = bed.simulators({"rules": [{"prefix": "510e", "is": "TooManyRequests"}]})
    retry = {**ONE_ATTEMPT, "later": ["1s"], "give_up_after": "3s"}
    service = bed.bench.start(bed.settings(failing, retry=retry)).wait_until_ready()
    bed.bench.wait_for_outcomes(len(entries), service=service)
    bed.bench.wait_until_settled(service=service)
    service.drain()

    lines = listed(bed.command("list", "--json"))
    source = {"topic": bed.bench.topics.source, "partition": place.partition, "offset": place.offset}
    found = {line["recipient"]: (line["reason"], line["recipients"]) for line in lines}
    failed = ("TooManyRequests", len(entries))
    assert found == {1: ("SchemaViolation", len(entries)), 2: failed, 3: failed}
    assert [line["source"] for line in lines] == [source] * 3
    assert {line["event_id"] for line in lines} == {event["id"]}
    ended = bed.command("list", "--reason", "TooManyRequests")
    assert sorted(line.split()[-1] for line in ended.out) == ["recipient=2/4", "recipient=3/4"]
    assert not [token for token in (good, one, other) if token in ended.output]

    replayed = bed.command("replay", "--reason", "TooManyRequests")
    assert replayed.code == 0, replayed.output
    again = [m for m in bed.kafka.read_all(source["topic"]) if m.value() != place.value]
    wanted = {only(event, entry) for entry in entries[2:]}
    assert {(m.key(), m.value()) for m in again} == {(place.key, value) for value in wanted}
    assert [m.headers() for m in again] == [list(OWN_HEADERS)] * 2
    well = bed.simulators()
    service = bed.bench.start(bed.settings(well)).wait_until_ready()
    bed.bench.wait_for_outcomes(len(entries) + 2, service=service)
    service.drain()
    assert {(r["token"], r["collapse_id"]) for r in well.accepted()} == {(one, None), (other, "own")}
    outcomes = [outcome for _, outcome in outcomes_of(bed.kafka, bed.bench.topics)]
    accepted = [o for o in outcomes if o["outcome"] == "accepted" and o["device_token"] != good]
    assert [(o["recipient"], o["recipients"]) for o in accepted] == [(0, 1)] * 2


def test_a_replay_ends_although_its_events_fail_again(bed):
    bed.make_dead_letters([record(new_event()) for _ in range(20)])
    service = bed.bench.start(bed.settings()).wait_until_ready()
    replayed = bed.command("replay", "--rate", "10/s")
    assert replayed.code == 0, replayed.output
    assert "20 of 20 dead letters replayed" in replayed.output
    bed.bench.wait_for_outcomes(40, service=service)
    service.drain()
    assert bed.kafka.count(bed.bench.topics.dead_letters) == 40


def test_a_replay_writes_only_to_known_sources_or_the_given_topic(bed):
    other = bed.kafka.create(f"{bed.bench.topics.source}.elsewhere", 1)
    named = ("__connect.errors.topic", bed.bench.topics.source.encode())
    strangers = [
        # A partition that does not exist: the key selects one.
        Written(b"{}", headers=(named, ("__connect.errors.partition", b"99"))),
        Written(b"{}", headers=(("__connect.errors.topic", other.encode()),)),
        Written(b"{}"),
        Written(b"{}", headers=(("__connect.errors.topic", STEERING.encode()),)),
    ]
    bed.kafka.produce(bed.bench.topics.dead_letters, strangers)
    refused = bed.command("replay")
    assert refused.code == 1
    assert "1 of 4 dead letters replayed" in refused.output
    assert bed.kafka.count(bed.bench.topics.source) == 1
    assert "'a?heliograph: 9 of 9 dead letters replayed??2J?' is not a source" in refused.output
    assert not {"\x1b", "\x9b", "\u202e"} & set(refused.output)
    assert f"'{other}' is not a source of this configuration" in refused.output
    assert "its headers name no source" in refused.output
    assert bed.kafka.count(other) == 0
    told = bed.command("replay", "--to", other, "--limit", "1")
    assert told.code == 0, told.output
    [message] = bed.kafka.read_all(other)
    assert (message.value(), message.headers()) == (b"{}", None)


def test_a_source_that_is_gone_does_not_hold_up_the_others(bed):
    [place] = bed.make_dead_letters([record(new_event())])
    gone = f"{bed.bench.topics.source}.gone"
    headers = (("__connect.errors.topic", gone.encode()), ("__connect.errors.partition", b"0"))
    letters = [Written(b"{}", headers=headers)] * 3
    bed.kafka.produce(bed.bench.topics.dead_letters, letters)
    sources = [{"topic": bed.bench.topics.source}, {"topic": gone}]
    ended = bed.command("replay", sources=sources)
    assert ended.code == 1, ended.output
    assert "1 of 4 dead letters replayed" in ended.output
    assert ended.output.count(f"topic '{gone}': ") == 3, ended.output
    # Each source may have such an event.
    at = ("--partition", place.partition, "--offset", place.offset)
    ambiguous = bed.command("list", *at, sources=sources)
    assert ambiguous.code == 64
    assert "--offset: needs --source, because there are several sources" in ambiguous.output
    one = bed.command("list", *at, "--source", bed.bench.topics.source, sources=sources)
    assert (one.code, len(one.out)) == (0, 1), one.output


def test_a_slow_reader_gets_every_line(bed, tmp_path):
    """The options to continue a replay are in the last one."""
    count = 200
    letters = [Written(b"{}", headers=(("__connect.errors.topic", b"other"),))] * count
    bed.kafka.produce(bed.bench.topics.dead_letters, letters)
    path = tmp_path / "command.yaml"
    path.write_text(yaml.safe_dump(bed.settings()))
    words = [built_binary("heliograph"), "dead-letters", "replay", "--config", path]
    reader, writer = os.pipe()
    size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    with (
        subprocess.Popen(words, stderr=writer, env=clean_environment()) as replay,
        open(reader, encoding="utf-8") as lines,
    ):
        os.close(writer)

        def held():
            return int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder)

        eventually(lambda: held() > size - 200 or replay.poll() is not None, 60, "a full pipe")
        # Meanwhile, nobody reads.
        assert bed.command("list").code == 0
        told = lines.read().splitlines()
        assert replay.wait(60) == 1
    assert sum("not replayed: " in line for line in told) == count
    assert told[-1] == f"heliograph: 0 of {count} dead letters replayed"


def test_a_replay_does_not_create_a_topic(bed):
    bed.make_dead_letters([record(new_event())])
    missing = f"{bed.bench.topics.source}.typo"
    ended = bed.command("replay", "--to", missing)
    assert ended.code == 1
    assert f"--to: topic '{missing}' does not exist; check the name, or create it" in ended.output


def test_a_replay_that_kafka_refuses_reports_it(bed):
    small = bed.kafka.create(f"{bed.bench.topics.source}.small", 1)
    bed.make_dead_letters([record(new_event())])
    # Larger than the client's own limit.
    limit = {"properties": {"producer.message.max.bytes": 1000}}
    bed.kafka.produce(bed.bench.topics.dead_letters, [Written(b"x" * 5000)])
    ended = bed.command("replay", "--to", small, kafka=limit)
    assert ended.code == 1, ended.output
    assert "1 of 2 dead letters replayed" in ended.output
    assert "not replayed: " in ended.output
    assert bed.kafka.count(small) == 1


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay_can_be_continued(bed, signal_number):
    source = bed.bench.topics.source
    headers = (("__connect.errors.topic", source.encode()),)
    copies = [record(new_event(), headers=headers) for _ in range(200)]
    bed.kafka.produce(bed.bench.topics.dead_letters, copies)
    with running_command(
        bed.folder, bed.settings(), "dead-letters", "replay", "--rate", "5/s", "--since", "1h"
    ) as child:
        bed.kafka.wait_for_count(source, 5, 60, child)
        child.send(signal_number)
        assert child.wait_for_exit() == 1
    last = child.lines("stderr")[-1]
    told = re.fullmatch(
        r"heliograph: interrupted: (\d+) dead letters replayed, 0 failed; "
        r"to continue, repeat the command with --from (\S+) --since (\S+Z) "
        r"instead of its own --from, --since, --until and --limit",
        last,
    )
    assert told, last
    # The total is exact: records in flight are counted.
    assert bed.kafka.count(source) == int(told[1]) < 200
    rest = bed.command("replay", "--from", told[2], "--since", told[3])
    assert rest.code == 0, rest.output
    assert f"{200 - int(told[1])} of {200 - int(told[1])} dead letters replayed" in rest.output
    keys = collections.Counter(message.key() for message in bed.kafka.read_all(source))
    assert keys == {copy.key: 1 for copy in copies}
