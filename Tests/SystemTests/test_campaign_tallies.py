"""The tally topic: how many events of each campaign ended how, as the processes count it."""

import collections
import json
import random

import pytest

from harness import contracts
from harness.apache_kafka import LIMITED
from harness.commands import run_command
from harness.deadlines import eventually
from harness.events import encoded, new_event
from harness.kafka import Written
from harness.retries import create_retry_topics, retrying
from harness.rights import Rights
from harness.service import EXPIRES_SOON

CAMPAIGN = 'spring "sale" ü'
KINDS = ["plain", "transactional"]
DEAD = {"prefix": "dead", "is": "unregistered", "since": 1767225600000}
LATER = {"prefix": "1a7e", "is": "flaky", "steps": ["ServiceUnavailable"]}


class Bed:
    """A bench with a tally topic."""

    def __init__(self, kafka, benches, simulator, folder, kind):
        self.kafka, self.simulator, self.folder = kafka, simulator, folder
        self.bench = benches(kafka, 4)
        self.is_transactional = kind == "transactional"
        self.topic = f"{self.bench.topics.source}.tallies"
        kafka.create(self.topic, 3, **{"cleanup.policy": "compact,delete"})

    def settings(self, name="a", **changes):
        results = {"transactional": self.is_transactional}
        if self.is_transactional:
            results["transactional_id"] = f"{self.bench.group}-{name}"
        return self.bench.configuration(
            self.simulator,
            **{"campaigns": {"tally_topic": self.topic}, "results": results, **changes},
        )

    def start(self, name="a", **changes):
        return self.bench.start(self.settings(name, **changes))

    def produce(self, events):
        self.bench.produce([Written(encoded(event), event["id"].encode()) for event in events])

    def _read(self, topic):
        read = self.kafka.read_committed if self.is_transactional else self.kafka.read_all
        return read(topic)

    def outcomes(self):
        """{campaign: its outcomes}, with those that were published twice."""
        found = collections.defaultdict(list)
        for message in self._read(self.bench.topics.results):
            outcome = json.loads(message.value())
            if "campaign" in outcome:
                found[outcome["campaign"]].append(outcome)
        return found

    def expected(self):
        """{campaign: {sent, and each kind of outcome}} of the outcomes."""
        return {
            campaign: collections.Counter(outcome["outcome"] for outcome in outcomes)
            + collections.Counter(sent=sum(outcome["attempts"] > 0 for outcome in outcomes))
            for campaign, outcomes in self.outcomes().items()
        }

    def tallies(self):
        """The same, of the newest record of each key of the tally topic."""
        newest = {}
        for message in self._read(self.topic):
            value = json.loads(message.value())
            assert not list(contracts.validator("campaign-tally.v1").iter_errors(value))
            key = {name: value[name] for name in ("campaign", "topic", "partition", "owner")}
            assert json.loads(message.key()) == key
            newest[message.key()] = value
        found = collections.defaultdict(collections.Counter)
        for value in newest.values():
            found[value["campaign"]] += collections.Counter(value["counts"])
        return dict(found)

    def command(self, *words):
        return run_command(self.folder, self.settings(), "campaigns", *words)

    def shown(self, campaign):
        ended = self.command("show", campaign, "--json")
        assert ended.code == 0, ended.output
        [line] = ended.out
        shown = json.loads(line)
        assert shown["complete"]
        return +collections.Counter({"sent": shown["sent"], **shown["outcomes"]})


def mixed(count):
    """Events of two campaigns and of none, with and without recipients."""
    singles = [
        new_event(**({"campaign": name} if name else {}))
        for name in (CAMPAIGN, "autumn", None)
        for _ in range(count)
    ]
    lists = []
    for number in range(count // 10):
        event = new_event(campaign=CAMPAIGN)
        token = event.pop("device_token")
        event["recipients"] = [f"a11c{number:04x}{token[-28:]}{one:028x}" for one in range(20)]
        lists.append(event)
    events = singles + lists
    random.Random(1).shuffle(events)
    return events


def counted(service, name):
    lines = service.fetch("/metrics")[1].splitlines()
    [line] = [line for line in lines if line.startswith(f"heliograph_{name} ")]
    return int(line.split()[-1])


@pytest.mark.core
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_end_is_counted(broker, benches, simulators, tmp_path, kind):
    bed = Bed(broker, benches, simulators({"rules": [DEAD, LATER]}), tmp_path, kind)
    create_retry_topics(bed.bench, "1s")
    retry = retrying("1s")
    service = bed.start(retry=retry).wait_until_ready()
    events = [
        new_event(campaign=CAMPAIGN),
        new_event(campaign=CAMPAIGN, device_token="dead" + "0" * 60),
        new_event(campaign=CAMPAIGN, device_token="1a7e" + "0" * 60),
        new_event(campaign=CAMPAIGN, expiration=1_600_000_000),
        new_event(campaign=CAMPAIGN, priority=7),
        new_event(campaign="other"),
        new_event(),
    ]
    bed.produce(events)
    eventually(lambda: len(bed._read(bed.bench.topics.results)) >= 7, 60, service.child.output)
    wanted = {
        CAMPAIGN: {"sent": 3, "accepted": 2, "unregistered": 1, "expired": 1, "invalid": 1},
        "other": {"sent": 1, "accepted": 1},
    }
    eventually(lambda: bed.tallies() == wanted, 60, lambda: f"{wanted}, not {bed.tallies()}")
    assert counted(service, "campaign_tally_records_total") > 0
    assert bed.shown(CAMPAIGN) == wanted[CAMPAIGN]
    ended = bed.command("show", "other")
    assert [line.split() for line in ended.out] == [
        ["campaign", "other"], ["holds", "running"], ["written", "-"], ["sent", "1"],
        ["outcomes", "1"], ["accepted", "1"],
    ]
    ended = bed.command("list")
    assert [line.split("  ") for line in ended.out] == [
        ["-", "other", "running", "1 outcome"], ["-", CAMPAIGN, "running", "5 outcomes"],
    ]
    service.drain()
    # The processes that are gone still count.
    service = bed.start("b", retry=retry).wait_until_ready()
    bed.produce([new_event(campaign="other")])
    wanted["other"] = {"sent": 2, "accepted": 2}
    eventually(lambda: bed.tallies() == wanted, 60, lambda: f"{wanted}, not {bed.tallies()}")
    service.drain()
    assert bed.shown("other") == wanted["other"]


@pytest.mark.kafka
@pytest.mark.takes(40)
@pytest.mark.parametrize("kind", KINDS)
def test_a_crash_loses_no_count(apache, benches, simulators, tmp_path, kind):
    """With transactions, the tally is exact; without, it counts what was published twice."""
    simulator = simulators({"latency_ms": 500})
    bed = Bed(apache.kafka, benches, simulator, tmp_path, kind)
    changes = {"limits": {"in_flight_events": 40}, "kafka": EXPIRES_SOON}
    first, second = (bed.start(name, **changes).wait_until_ready() for name in "ab")
    events = mixed(500)
    bed.produce(events)
    of_campaigns = sum(
        len(event.get("recipients", [1])) for event in events if "campaign" in event
    )

    def total(counts):
        return sum(count for one in counts.values() for kind, count in one.items() if kind != "sent")

    eventually(lambda: total(bed.tallies()) > of_campaigns // 4, 60, second.child.output)
    first.child.kill()
    seen = total(bed.tallies())
    assert seen < of_campaigns, "the events have ended already"
    third = bed.start("c", **changes).wait_until_ready(60)
    bed.bench.wait_until_settled(seconds=120, service=third)
    second.drain()
    third.drain()
    # What follows the killed process's open transaction can be read once Kafka has ended it.
    eventually(lambda: total(bed.expected()) >= of_campaigns, 90, third.child.output)
    expected, tallies = bed.expected(), bed.tallies()
    if bed.is_transactional:
        assert tallies == expected
        assert total(tallies) == of_campaigns
    else:
        published = {campaign: total({0: counts}) for campaign, counts in expected.items()}
        once = collections.Counter()
        for campaign, outcomes in bed.outcomes().items():
            places = {(one["event_id"], one.get("recipient")) for one in outcomes}
            once[campaign] = len(places)
        assert once.total() == of_campaigns
        for campaign, counts in tallies.items():
            assert once[campaign] <= total({0: counts}) <= published[campaign]
    assert bed.shown("autumn") == tallies["autumn"]


@pytest.mark.kafka
@pytest.mark.takes(40)
@pytest.mark.parametrize("kind", KINDS)
def test_a_topic_that_refuses_records_stops_nothing(apache, benches, simulators, tmp_path, kind):
    bed = Bed(apache.kafka, benches, simulators({}), tmp_path, kind)
    rights = Rights(apache, LIMITED)
    allowed = {
        ("TOPIC", name, operation)
        for name in (*vars(bed.bench.topics).values(), bed.topic)
        for operation in ("READ", "WRITE", "DESCRIBE")
    } | {("GROUP", bed.bench.group, "READ")}
    if bed.is_transactional:
        allowed |= {
            ("TRANSACTIONAL_ID", f"{bed.bench.group}-*", operation)
            for operation in ("WRITE", "DESCRIBE")
        }
    rights.set(allowed)
    login = apache.login(**{"sasl.username": LIMITED})
    kafka = {"bootstrap_servers": apache.server("LOGIN"), "properties": login}
    service = bed.start(kafka=kafka).wait_until_ready()
    bed.produce([new_event(campaign=CAMPAIGN) for _ in range(10)])
    ten = {CAMPAIGN: {"sent": 10, "accepted": 10}}
    eventually(lambda: bed.tallies() == bed.expected() == ten, 60, service.child.output)

    rights.set(allowed - {("TOPIC", bed.topic, "WRITE")})
    bed.produce([new_event(campaign=CAMPAIGN) for _ in range(20)])
    bed.bench.wait_until_settled(service=service)
    assert bed.expected() == {CAMPAIGN: {"sent": 30, "accepted": 30}}
    assert bed.tallies() == ten
    warning = "campaign tally cannot be written; its sums are too small until it is"
    line = service.log_lines(warning)[0]
    assert bed.topic in line["error"] and "TOPIC_AUTHORIZATION_FAILED" in line["error"]

    rights.set(allowed)
    eventually(lambda: bed.tallies() == bed.expected(), 120, service.child.output)
    again = "campaign tally is written again"
    eventually(lambda: service.log_lines(again), 60, service.child.output)
    service.drain()


@pytest.mark.kafka
def test_check_wants_a_compacted_topic_and_startup_creates_one(
    apache, benches, simulators, tmp_path
):
    bed = Bed(apache.kafka, benches, simulators({}), tmp_path, "plain")
    ended = run_command(tmp_path, bed.settings(), "check", "--connect")
    assert ended.code == 0, ended.output
    [line] = [line for line in ended.out if "campaigns.tally_topic" in line]
    assert line.endswith(f"'{bed.topic}' has 3 partitions and can be written")
    apache.kafka.configure(bed.topic, **{"cleanup.policy": "delete"})

    def refused():
        ended = run_command(tmp_path, bed.settings(), "check", "--connect")
        return ended.code == 1 and f"'{bed.topic}' is not compacted" in ended.output

    eventually(refused, 60, "the broker to know of the policy")
    settings = bed.settings(campaigns={"tally_topic": f"{bed.topic}.new"})
    ended = run_command(tmp_path, settings, "check", "--connect")
    assert ended.code == 1
    assert "--config cleanup.policy=compact,delete --config retention.ms=2592000000" in ended.output
    settings["kafka"]["create_topics"] = True
    service = bed.bench.start(settings).wait_until_ready()
    service.drain()
    ended = run_command(tmp_path, settings, "check", "--connect")
    assert ended.code == 0, ended.output
