"""The rights that docs/kafka.md lists suffice on Apache Kafka, and each that is taken away is told.

Under load, from a running service: one clear line in the log and a reason in `/ready`. When it is
given back the service goes on by itself, and nothing is lost.
"""

import collections
import contextlib
import itertools
import json

import pytest

from harness.apache_kafka import LIMITED
from harness.commands import run_command
from harness.deadlines import eventually
from harness.events import changed
from harness.load import Load, in_turn
from harness.retries import create_retry_topics, retrying
from harness.rights import Rights, documented
from harness.service import EXPIRES_SOON, WITHIN_GRACE

PER_SECOND = 60
UNREGISTERED, LATER = "dead0410", "f1a00429"
SCENARIO = {
    "latency_ms": 50,
    "rules": [
        {"prefix": UNREGISTERED, "is": "unregistered", "since": 1767225600000},
        {"prefix": LATER, "is": "flaky", "steps": ["TooManyRequests"]},
    ],
}
# (mode, resource) of the page's table: what kind it is, and whose name of a test's own it has.
RESOURCES = {
    ("always", "topic: each source"): ("TOPIC", "source"),
    ("always", "group: `kafka.group_id`"): ("GROUP", "group"),
    ("always", "topic: `results.topic`"): ("TOPIC", "results"),
    ("`results.token_status_topic`", "that topic"): ("TOPIC", "token_status"),
    ("`results.dead_letter_topic`", "that topic"): ("TOPIC", "dead_letters"),
    ("`retry.later`", "topic `P`: `<source>.retry.`"): ("TOPIC", "retry"),
    (
        "`results.transactional`",
        "transactional ID `P`: `results.transactional_id`, by default `<group_id>-`",
    ): ("TRANSACTIONAL_ID", "transactional_id"),
}
# What the service needs only at its start, or on brokers that nobody tests, or not at all.
OTHERS = {
    ("`kafka.create_topics`", "topic: each of the above, or cluster"),
    ("brokers before 2.8", "cluster"),
    # `test_campaigns.py`
    ("`campaigns.topic`", "that topic"),
    # `test_campaign_tallies.py`
    ("`campaigns.tally_topic`", "that topic"),
    ("optional, to read `max.message.bytes`", "topic: each of the above"),
}
REMEDIES = {
    "TOPIC": "give the service's principal Read on topics that it reads and Write on those",
    "GROUP": "give the service's principal Read on the group",
    "TRANSACTIONAL_ID": "give the service's principal Write on the transactional ID",
}
PAGE = documented("mode | resource | operations")
assert PAGE.keys() == RESOURCES.keys() | OTHERS, PAGE.keys() ^ RESOURCES.keys()
OF_TRANSACTIONS = "transactional_id"


def rights_of(row, names):
    kind, name = RESOURCES[row]
    return {(kind, names[name], operation.upper()) for operation in PAGE[row]}


def rows(is_transactional):
    return [row for row in RESOURCES if is_transactional or RESOURCES[row][1] != OF_TRANSACTIONS]


def cases():
    """(whether with transactions, the row)"""
    for is_transactional in (False, True):
        for row in rows(is_transactional):
            kind = "transactional" if is_transactional else "plain"
            marks = () if is_transactional else pytest.mark.kafka
            yield pytest.param(is_transactional, row, marks=marks, id=f"{kind}-{RESOURCES[row][1]}")


def takings(row):
    """Each operation by itself, but for Describe, which comes with the others; and all together."""
    operations = PAGE[row]
    single = [[operation] for operation in operations if operation != "Describe"]
    return [*single, operations] if len(operations) > 1 else single


class Limited:
    """A service of a principal that has the rights of the page, and no others."""

    def __init__(self, apache, benches, simulators, is_transactional):
        self.apache, self.is_transactional = apache, is_transactional
        self.bench, self.simulator = benches(apache.kafka, 2), simulators(SCENARIO)
        create_retry_topics(self.bench, "1s", partitions=2)
        login = apache.login(**{"sasl.username": LIMITED})
        kafka = {"bootstrap_servers": apache.server("LOGIN"), "properties": login}
        self.settings = self.bench.configuration(
            self.simulator,
            kafka=kafka,
            retry=retrying("1s"),
            results={"transactional": is_transactional},
        )
        topics = self.bench.topics
        self.names = {
            **vars(topics),
            "retry": f"{topics.source}.retry.*",
            "group": self.bench.group,
            OF_TRANSACTIONS: f"{self.bench.group}-*",
        }
        self.every = set().union(*(rights_of(r, self.names) for r in rows(is_transactional)))
        self.rights = Rights(apache, LIMITED)
        self.rights.set(self.every)

    def load(self):
        """Every twelfth event of each kind that has another way."""
        numbers = itertools.count()

        def of(prefix):
            return lambda: {"device_token": f"{prefix}{next(numbers):056x}"}

        kinds = [dict] * 9 + [of(UNREGISTERED), of(LATER), lambda: {"push_type": "unheard-of"}]
        make = in_turn(*kinds)
        return Load(self.apache.kafka, self.bench.topics.source, PER_SECOND, make)

    def outcomes(self):
        told = self.bench.kafka.read_committed(self.bench.topics.results, 60)
        return collections.Counter(json.loads(message.value())["event_id"] for message in told)


class Watched:
    """A service under load, and what it says."""

    def __init__(self, limited, row):
        self.limited, self.row = limited, row
        self.kind, self.name = RESOURCES[row]
        self.code = f"{self.kind}_AUTHORIZATION_FAILED"
        # A process that ends by a failure does not leave its group.
        expires = EXPIRES_SOON if self.name == OF_TRANSACTIONS else {}
        self.settings = changed(limited.settings, {"kafka": expires})
        self.start()

    def start(self):
        self.service = self.limited.bench.start(self.settings).wait_until_ready(60)

    def output(self):
        return f"{self.reasons()} {self.service.child.output()}"

    def reasons(self):
        _, body = self.service.fetch("/ready")
        told = json.loads(body) if body else {"reasons": [], "warnings": []}
        return [one["reason"] for one in told["reasons"] + told["warnings"]]

    def goes_on(self):
        simulator = self.limited.simulator
        wanted = simulator.count() + PER_SECOND
        eventually(lambda: simulator.count() >= wanted, 60, self.output)

    def take(self, operations):
        every, names = self.limited.every, self.limited.names
        taken = {one for one in rights_of(self.row, names) if one[2].title() in operations}
        self.limited.rights.set(every - taken)

    def give_back(self):
        self.limited.rights.set(self.limited.every)

    def wait_until_it_is_told(self):
        def reasons():
            assert self.service.child.is_running, self.output()
            return [reason for reason in self.reasons() if self.code in reason]

        return eventually(reasons, 60, self.output)[0]

    def is_logged(self):
        """Whether the log tells it, in a warning or an error."""
        lines = self.service.child.lines("stderr")
        return any(self.code in line and is_loud(line) for line in lines)


@pytest.mark.takes(40)
@pytest.mark.parametrize("is_transactional, row", list(cases()))
def test_a_right_that_is_taken_away_is_told_and_missed_no_longer_when_given_back(
    apache, benches, simulators, is_transactional, row
):
    limited = Limited(apache, benches, simulators, is_transactional)
    watched = Watched(limited, row)
    with contextlib.closing(limited.load()) as load:
        watched.goes_on()
        for operations in takings(row):
            watched.take(operations)
            if watched.name == OF_TRANSACTIONS:
                # Nothing can be produced any more; a restarted process tries again.
                assert watched.service.child.wait_for_exit(60) == 1, watched.output()
                told = "\n".join(watched.service.child.lines("stderr"))
                assert f"{watched.code}: " in told and REMEDIES[watched.kind] in told, told
                watched.give_back()
                watched.start()
            else:
                reason = watched.wait_until_it_is_told()
                assert REMEDIES[watched.kind] in reason, reason
                # Of a transaction that fails Kafka does not say for which topic it does.
                if watched.kind == "TOPIC" and not is_transactional and watched.name != "retry":
                    assert limited.names[watched.name] in reason, reason
                # The log may tell it after readiness does.
                eventually(watched.is_logged, 60, watched.output)
                watched.give_back()
            eventually(lambda: not watched.reasons(), 90, watched.output)
            watched.goes_on()
    service = watched.service
    written = set(load.written)
    # What was put off ends later.
    eventually(lambda: limited.outcomes().keys() == written, 90, watched.output, interval=1)
    service.drain(WITHIN_GRACE)
    outcomes = limited.outcomes()
    assert outcomes.keys() == written
    if is_transactional:
        assert set(outcomes.values()) == {1}


def is_loud(line):
    return json.loads(line)["level"] in ("warning", "error")


@pytest.mark.kafka
@pytest.mark.takes(30)
def test_commands_need_no_more_than_the_page_says(apache, benches, simulators, tmp_path):
    limited = Limited(apache, benches, simulators, False)
    service = limited.bench.start(limited.settings).wait_until_ready(60)
    ended = run_command(tmp_path, limited.settings, "check", "--connect")
    assert ended.code == 0, ended.output
    with contextlib.closing(limited.load()) as load:
        eventually(lambda: limited.simulator.count() >= 60, 60, service.child.output)
    limited.bench.wait_until_settled(60, service=service)
    service.drain(WITHIN_GRACE)
    page = documented("command | needs")
    names = {
        "tail": "results", "dead-letters list": "dead_letters", "dead-letters replay": "source",
    }
    replayed = {"dead-letters replay"}
    for command, name in names.items():
        rights = {("TOPIC", limited.names[name], right.upper()) for right in page[f"`{command}`",]}
        if command in replayed:
            letters = page["`dead-letters list`",]
            rights |= {("TOPIC", limited.names["dead_letters"], r.upper()) for r in letters}
        words = [*command.split(), *(["--no-follow"] if command == "tail" else [])]
        limited.rights.set(rights)
        ended = run_command(tmp_path, limited.settings, *words)
        assert ended.code == 0 and ended.output, command
        for right in rights:
            # Describe comes with the others.
            if right[2] == "DESCRIBE":
                continue
            limited.rights.set(rights - {right})
            ended = run_command(tmp_path, limited.settings, *words)
            assert ended.code == 1, (command, right, ended.output)
            assert "AUTHORIZATION_FAILED" in ended.output or "give the" in ended.output, ended.output
    assert load.written
