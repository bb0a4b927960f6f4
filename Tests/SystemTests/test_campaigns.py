"""Campaigns: what an event names, the orders that processes read, and who writes them: the command
`heliograph campaigns`, and visitors of the admin port."""

import collections
import datetime
import json
import subprocess
import time
import urllib.parse

import pytest

from harness import contracts
from harness.apache_kafka import LIMITED
from harness.commands import run_command
from harness.deadlines import eventually
from harness.events import new_event, record
from harness.kafka import Written
from harness.retries import create_retry_topics
from harness.rights import Rights
from harness.service import outcomes_of

CAMPAIGN = 'spring "sale" ü'
PAUSED, CANCELLED = {"state": "paused"}, {"state": "cancelled"}


def order(campaign, value):
    text = None if value is None else json.dumps(value).encode()
    return Written(text, key=campaign.encode())


class Bed:
    """A bench with a campaigns' topic."""

    def __init__(self, broker, benches, simulator, folder, partitions=1):
        self.kafka = broker
        self.bench = benches(broker, 1)
        self.simulator = simulator
        self.folder = folder
        self.topic = f"{self.bench.topics.source}.campaigns"
        broker.create(self.topic, partitions, **{"cleanup.policy": "compact"})

    def settings(self, **changes):
        return self.bench.configuration(
            self.simulator, campaigns={"topic": self.topic}, **changes
        )

    def write(self, *orders):
        return self.kafka.produce(self.topic, list(orders))

    def start(self, **changes):
        return self.bench.start(self.settings(**changes))

    def command(self, *words):
        return run_command(self.folder, self.settings(), "campaigns", *words)

    def listed(self):
        ended = self.command("list", "--json")
        assert ended.code == 0, ended.output
        return {entry["campaign"]: entry for entry in map(json.loads, ended.out)}

    def newest(self):
        """{campaign: its newest order, or None}, in the words of another program."""
        found = {}
        for message in self.kafka.read_all(self.topic):
            value = message.value()
            found[message.key().decode()] = None if value is None else json.loads(value)
        return found


@pytest.fixture
def bed(broker, benches, simulators, tmp_path):
    return Bed(broker, benches, simulators({}), tmp_path)


def counted(service):
    """{state: the number of campaigns with such an order}."""
    found = {}
    for line in service.fetch("/metrics")[1].splitlines():
        for state in ("running", "paused", "cancelled"):
            if line.startswith(f'heliograph_campaign_orders{{state="{state}"}} '):
                found[state] = int(line.split()[-1])
    return found


def metric(service, name):
    lines = service.fetch("/metrics")[1].splitlines()
    [line] = [line for line in lines if line.startswith(f"heliograph_{name} ")]
    return int(line.split()[-1])


# Events


@pytest.mark.core
def test_an_outcome_names_its_events_campaign(bed):
    passed = int(time.time()) - 60
    good = new_event(campaign=CAMPAIGN, not_before=passed)
    invalid = new_event(campaign=CAMPAIGN, priority=7)
    listed = new_event(campaign=CAMPAIGN)
    listed["recipients"] = [listed.pop("device_token")]
    plain = new_event()
    service = bed.start().wait_until_ready()
    events = good, invalid, listed, plain
    bed.bench.produce([Written(json.dumps(event).encode(), event["id"].encode()) for event in events])
    bed.bench.wait_for_outcomes(4, service=service)
    service.drain()
    found = [outcome for _, outcome in outcomes_of(bed.kafka, bed.bench.topics)]
    assert sorted(
        (outcome["event_id"], outcome["outcome"], outcome.get("campaign")) for outcome in found
    ) == sorted(
        [
            (good["id"], "accepted", CAMPAIGN),
            (invalid["id"], "invalid", CAMPAIGN),
            (listed["id"], "accepted", CAMPAIGN),
            (plain["id"], "accepted", None),
        ]
    )


# Orders


def test_a_process_reads_all_orders_before_it_starts_and_follows_them(bed):
    bed.write(
        *(order(f"paused-{number}", PAUSED) for number in range(700)),
        *(order(f"cancelled-{number}", CANCELLED) for number in range(300)),
        *(order(f"paused-{number}", None) for number in range(100)),
        order("paced", {"state": "running", "per_second": 0.5}),
    )
    broken = bed.write(
        Written(b"{", key=b"paused-100"),
        Written(b'{"state":"paused"}', key=b"two\nlines"),
        order("paused-101", {"state": "running", "per_second": 0}),
        order("paced", {"state": "running", "per_secnd": 5}),
    )
    service = bed.start().wait_until_ready()
    [loaded] = service.log_lines("campaign orders loaded")
    assert loaded["count"] == "901 campaigns"
    # The order before a malformed one stays in effect.
    assert counted(service) == {"running": 1, "paused": 600, "cancelled": 300}
    assert metric(service, "campaign_orders_read_total") == 1105
    assert metric(service, "campaign_orders_malformed_total") == len(broken)
    lines = service.log_lines("malformed campaign order; the previous one stays in effect")
    assert [line["source"] for line in lines] == [
        f"{bed.topic}[{place.partition}]@{place.offset}" for place in broken
    ]
    for line, part in zip(
        lines, ("not JSON", "not a campaign's name", "pause the campaign", "per_secnd")
    ):
        assert part in line["problem"], line

    bed.write(order("new", CANCELLED), order("paused-100", None))
    eventually(
        lambda: counted(service) == {"running": 1, "paused": 599, "cancelled": 301},
        60,
        service.child.output,
    )
    first, second = service.log_lines("campaign order received")
    assert (first["campaign"], first["order"]) == ("new", "cancelled")
    assert (second["campaign"], second["order"]) == ("paused-100", "none")
    service.drain()


def test_a_topic_with_several_partitions_is_read_whole(broker, benches, simulators, tmp_path):
    bed = Bed(broker, benches, simulators({}), tmp_path, partitions=3)
    for partition in (0, 2):
        bed.kafka.produce(bed.topic, [order(f"c{partition}", PAUSED)], partition)
    service = bed.start().wait_until_ready()
    assert counted(service)["paused"] == 2
    bed.kafka.produce(bed.topic, [order("c1", PAUSED)], 1)
    eventually(lambda: counted(service)["paused"] == 3, 60, service.child.output)
    service.drain()
    assert list(bed.listed()) == ["c0", "c1", "c2"]


@pytest.mark.kafka
@pytest.mark.takes(20)
def test_nothing_is_sent_before_the_orders_are_known(apache, benches, simulators, tmp_path):
    bed = Bed(apache.kafka, benches, simulators({}), tmp_path)
    topics = bed.bench.topics
    rights = Rights(apache, LIMITED)
    allowed = {
        ("TOPIC", name, operation)
        for name in (*vars(topics).values(), bed.topic)
        for operation in ("READ", "WRITE", "DESCRIBE")
    } | {("GROUP", bed.bench.group, "READ")}
    forbidden = ("TOPIC", bed.topic, "READ")
    rights.set(allowed - {forbidden})
    login = apache.login(**{"sasl.username": LIMITED})
    kafka = {"bootstrap_servers": apache.server("LOGIN"), "properties": login}
    bed.bench.produce([record(new_event())])

    # It can also be stopped while it waits.
    service = bed.start(kafka=kafka)
    reason = "loading campaign orders: "
    eventually(lambda: reason in service.fetch("/ready")[1], 60, service.child.output)
    service.drain()
    assert "shutdown requested during startup; no records were consumed" in service.messages()

    service = bed.start(kafka=kafka)

    def is_refused():
        told = service.fetch("/ready")[1]
        return reason in told and "TOPIC_AUTHORIZATION_FAILED" in told

    eventually(is_refused, 60, service.child.output)
    assert bed.simulator.requests() == []
    rights.set(allowed)
    service.wait_until_ready(60)
    bed.bench.wait_for_outcomes(1, service=service)

    # Later on, the known orders stay in effect.
    bed.write(order("a", PAUSED))
    eventually(lambda: counted(service)["paused"] == 1, 60, service.child.output)
    rights.set(allowed - {forbidden})
    eventually(
        lambda: any("campaign orders cannot be read" in one for one in service.warnings()),
        60,
        service.child.output,
    )
    assert counted(service)["paused"] == 1
    rights.set(allowed)
    bed.write(order("b", PAUSED))
    eventually(lambda: counted(service)["paused"] == 2, 60, service.child.output)
    eventually(lambda: service.warnings() == set(), 60, service.child.output)
    service.drain()


@pytest.mark.kafka
def test_check_wants_a_compacted_topic(apache, benches, simulators, tmp_path):
    bed = Bed(apache.kafka, benches, simulators({}), tmp_path)
    ended = run_command(tmp_path, bed.settings(), "check", "--connect")
    assert ended.code == 0, ended.output
    [line] = [line for line in ended.out if "campaigns.topic" in line]
    assert line.endswith(f"'{bed.topic}' has 1 partition and can be read")
    apache.kafka.configure(bed.topic, **{"cleanup.policy": "delete"})
    eventually(
        lambda: run_command(tmp_path, bed.settings(), "check", "--connect").code == 1,
        60,
        "the broker to know of the policy",
    )
    ended = run_command(tmp_path, bed.settings(), "check", "--connect")
    [line] = [line for line in ended.out if line.startswith("failed")]
    assert f"'{bed.topic}' is not compacted" in line and "cleanup.policy=compact" in line


def test_a_missing_topic_is_created_with_one_partition(broker, benches, simulators, tmp_path):
    bench, simulator = benches(broker, 2), simulators({})
    name = f"{bench.topics.source}.campaigns"
    settings = bench.configuration(simulator, campaigns={"topic": name})
    ended = run_command(tmp_path, settings, "check", "--connect")
    assert ended.code == 1
    assert f"--create --topic {name} --partitions 1 --config cleanup.policy=compact" in ended.output
    settings["kafka"]["create_topics"] = True
    service = bench.start(settings).wait_until_ready()
    assert list(broker.partitions(name)) == [0]
    service.drain()


# Commands


@pytest.mark.core
def test_commands_change_what_holds(bed):
    """Each command, what it prints, and the record that another program finds."""
    hour = {"until": 4_000_000_000}
    at = "2096-10-02T07:06:40.000Z"
    for words, said, value in [
        (["pause"], "paused", {"state": "paused"}),
        (["pace", "500/s"], "paused, then at 500/s", {"state": "paused", "per_second": 500}),
        (["resume"], "running at 500/s", {"state": "running", "per_second": 500}),
        (["pause", "--until", at], f"paused until {at}, then at 500/s",
         {"state": "paused", "per_second": 500, **hour}),
        (["pace", "none"], f"paused until {at}", {"state": "paused", **hour}),
        (["resume"], "running", None),
        (["pace", "0.5", "--until", at], f"running at 0.5/s until {at}",
         {"state": "running", "per_second": 0.5, **hour}),
        (["cancel", "--yes"], "cancelled", {"state": "cancelled"}),
        (["resume", "--yes"], "running", None),
    ]:
        [command, *options] = words
        ended = bed.command(command, CAMPAIGN, *options)
        assert (ended.code, ended.out) == (0, [f"{CAMPAIGN}: {said}"]), ended.output
        found = bed.newest()[CAMPAIGN]
        if value is None:
            assert found is None
            assert bed.listed() == {}
        else:
            assert found == {"per_second": None, "until": None, **value}
            assert not list(contracts.validator("campaign-order.v1").iter_errors(found))
            assert bed.listed()[CAMPAIGN]["order"] == found


def test_a_running_service_obeys_commands(bed):
    service = bed.start().wait_until_ready()
    for words, state in ((["pause", "a"], "paused"), (["cancel", "a", "--yes"], "cancelled")):
        assert bed.command(*words).code == 0
        eventually(lambda state=state: counted(service)[state] == 1, 60, service.child.output)
    assert [line["order"] for line in service.log_lines("campaign order received")] == [
        "paused", "cancelled",
    ]
    service.drain()


def test_list_and_show(bed):
    outcomes = [
        (kind, campaign)
        for kind, campaign, count in [
            ("accepted", CAMPAIGN, 3), ("cancelled", CAMPAIGN, 2), ("accepted", "other", 4),
            ("accepted", None, 1),
        ]
        for _ in range(count)
    ]
    bed.kafka.produce(
        bed.bench.topics.results,
        [
            Written(json.dumps({"outcome": kind, **({"campaign": name} if name else {})}).encode())
            for kind, name in outcomes
        ],
    )
    bed.write(order("b", PAUSED), order(CAMPAIGN, CANCELLED), order("a", None))
    [broken] = bed.write(order("b", {"state": "stopped"}))
    ended = bed.command("list")
    assert ended.code == 0
    assert [line.split("  ")[1:] for line in ended.out] == [["b", "paused"], [CAMPAIGN, "cancelled"]]
    place = f"{bed.topic}[{broken.partition}]@{broken.offset}: malformed"
    assert any(place in line for line in ended.err), ended.err
    assert ended.err[-1] == "heliograph: 2 campaigns"

    ended = bed.command("show", CAMPAIGN)
    assert ended.code == 0, ended.output
    rows = dict(line.split(maxsplit=1) for line in ended.out)
    assert rows.pop("written") != "-"
    assert rows == {
        "campaign": CAMPAIGN, "holds": "cancelled", "outcomes": "5", "accepted": "3",
        "cancelled": "2",
    }
    [line] = bed.command("show", "other", "--json").out
    shown = json.loads(line)
    assert (shown["holds"], shown["order"], shown["complete"]) == ("running", None, True)
    assert shown["outcomes"]["accepted"] == 4 and sum(shown["outcomes"].values()) == 4


@pytest.mark.parametrize(
    "words, code, part",
    [
        (["cancel", CAMPAIGN], 64, "add --yes"),
        (["pause", "x" * 129], 64, "1 to 128 characters"),
        (["pause", CAMPAIGN, "--until", "2020-01-01T00:00:00Z"], 64, "a time to come"),
        (["pace", CAMPAIGN, "0/s"], 64, "a rate such as 500/s"),
        (["pace", CAMPAIGN, "nan"], 64, "a rate such as 500/s"),
        (["pace", CAMPAIGN, "none", "--until", "1h"], 64, "needs a rate"),
        (["pause", "gone"], 1, "gone is cancelled; resume it first"),
        (["resume", "gone"], 1, "gone is cancelled; add --yes"),
    ],
    ids=lambda value: "-".join(value)[:40] if isinstance(value, list) else None,
)
def test_a_wrong_command_writes_nothing(bed, words, code, part):
    bed.write(order("gone", CANCELLED))
    ended = bed.command(*words)
    assert ended.code == code, ended.output
    assert part in ended.output
    assert bed.newest() == {"gone": CANCELLED}


def test_without_a_topic_the_commands_say_so(broker, benches, simulators, tmp_path):
    settings = benches(broker, 1).configuration(simulators({}))
    ended = run_command(tmp_path, settings, "campaigns", "list")
    assert (ended.code, ended.err) == (
        1, ["heliograph: campaigns.topic: is null, so campaigns cannot be paused or cancelled; set it"],
    )


# What orders do


def many(count, **fields):
    """An event for so many devices of its own."""
    event = new_event(campaign=CAMPAIGN, **fields)
    token = event.pop("device_token")
    event["recipients"] = [f"a11ce000{token[-28:]}{number:028x}" for number in range(count)]
    return event


def ended(bed):
    """{(event, recipient): its outcomes}."""
    found = {}
    for _, outcome in outcomes_of(bed.kafka, bed.bench.topics):
        place = outcome["event_id"], outcome.get("recipient")
        found.setdefault(place, []).append(outcome["outcome"])
    return found


def produce(bed, events):
    bed.bench.produce([Written(json.dumps(event).encode(), event["id"].encode()) for event in events])


@pytest.fixture
def slow_bed(broker, benches, simulators, tmp_path):
    bed = Bed(broker, benches, simulators({"latency_ms": 400}), tmp_path)
    create_retry_topics(bed.bench, "1s", "5s")
    return bed


def slowly(bed, **changes):
    """So few places that a send takes a while."""
    retry = {"later": ["1s", "5s"]}
    return bed.start(limits={"in_flight_events": 200}, retry=retry, **changes)


@pytest.mark.core
def test_a_cancellation_ends_all_that_is_not_on_a_stream(slow_bed):
    bed = slow_bed
    service = slowly(bed).wait_until_ready()
    lists, singles = [many(100) for _ in range(90)], [new_event(campaign=CAMPAIGN) for _ in range(50)]
    produce(bed, lists + singles)
    bed.bench.wait_for_outcomes(300, service=service)
    bed.write(order(CAMPAIGN, CANCELLED))
    bed.bench.wait_for_outcomes(9050, service=service)
    other = new_event(campaign="other")
    produce(bed, [other])
    bed.bench.wait_for_outcomes(9051, service=service)
    bed.bench.wait_until_settled(service=service)
    service.drain()
    found = ended(bed)
    assert len(found) == 9051 and all(len(outcomes) == 1 for outcomes in found.values())
    assert found.pop((other["id"], None)) == ["accepted"]
    kinds = collections.Counter(outcome for [outcome] in found.values())
    assert kinds["accepted"] >= 300 and kinds["cancelled"] >= 300 and len(kinds) == 2
    assert len(bed.simulator.requests()) == kinds["accepted"] + 1
    assert bed.kafka.read_all(bed.bench.topics.dead_letters) == []


def test_a_pause_holds_over_a_restart_and_lets_others_go_on(slow_bed):
    bed = slow_bed
    bed.write(order(CAMPAIGN, PAUSED))
    service = slowly(bed).wait_until_ready()
    waiting = [many(100) for _ in range(5)] + [new_event(campaign=CAMPAIGN) for _ in range(300)]
    others = [new_event() for _ in range(20)]
    produce(bed, waiting + others)
    bed.bench.wait_for_outcomes(20, service=service)
    # More than may wait in memory has gone to the retry topics.
    eventually(lambda: metric(service, "events_deferred_total") > 500, 60, service.child.output)
    service.drain()
    service = slowly(bed).wait_until_ready()
    eventually(lambda: metric(service, "events_returned_total") > 100, 60, service.child.output)
    assert ended(bed).keys() == {(event["id"], None) for event in others}
    bed.write(order(CAMPAIGN, None))
    bed.bench.wait_for_outcomes(820, service=service)
    bed.bench.wait_until_settled(service=service)
    service.drain()
    found = ended(bed)
    assert len(found) == 820
    assert all(outcomes == ["accepted"] for outcomes in found.values())
    assert len(bed.simulator.requests()) == 820


@pytest.mark.takes(15)
def test_two_processes_share_a_pace(broker, benches, simulators, tmp_path):
    bed = Bed(broker, benches, simulators({}), tmp_path)
    create_retry_topics(bed.bench, "1s", "5s")
    bed.write(order(CAMPAIGN, {"state": "running", "per_second": 100}))
    services = [slowly(bed).wait_until_ready() for _ in range(2)]
    produce(bed, [new_event(campaign=CAMPAIGN) for _ in range(600)])
    bed.bench.wait_for_outcomes(600, service=services[0])
    for service in services:
        service.drain()
    times = sorted(
        datetime.datetime.fromisoformat(outcome["completed_at"])
        for _, outcome in outcomes_of(bed.kafka, bed.bench.topics)
    )
    assert len(times) == 600
    # At 100 a second, with what may be sent at once.
    assert (times[-1] - times[0]).total_seconds() > 600 / 100 - 1


def test_an_event_is_not_sent_before_its_time(slow_bed):
    bed = slow_bed
    service = slowly(bed).wait_until_ready()
    at = int(time.time()) + 4
    event, listed = new_event(not_before=at), many(3, not_before=at)
    far = new_event(not_before=at + 2 * 86_400)
    produce(bed, [event, listed, far])
    bed.bench.wait_for_outcomes(5, service=service)
    bed.bench.wait_until_settled(service=service)
    service.drain()
    outcomes = [outcome for _, outcome in outcomes_of(bed.kafka, bed.bench.topics)]
    refused = [one for one in outcomes if one["event_id"] == far["id"]]
    assert [(one["outcome"], one["reason"]) for one in refused] == [("invalid", "NotBeforeTooFar")]
    sent = [one for one in outcomes if one["event_id"] != far["id"]]
    assert len(sent) == 4 and {one["outcome"] for one in sent} == {"accepted"}
    for one in sent:
        completed = datetime.datetime.fromisoformat(one["completed_at"])
        assert completed.timestamp() >= at


# Orders through the admin port


TOKEN = "the-token-of-the-campaigns"


def ask(service, campaign, action, *words):
    """(status, text) of a request for an order, as curl sends it."""
    name = urllib.parse.quote(campaign, safe="")
    run = subprocess.run(
        ["curl", "-sS", "-X", "POST", "-w", "\n%{http_code}", *(words or ("--oauth2-bearer", TOKEN)),
         f"http://127.0.0.1:{service.port}/campaigns/{name}/{action}"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    text, _, status = run.stdout.rpartition("\n")
    return int(status), text.strip()


def with_token(folder):
    file = folder / "token"
    file.write_text(TOKEN)
    return {"bearer_token_file": str(file)}


def told(service, campaign):
    """The campaign as the status page has it; None: it is not there."""
    table = service.status()["campaigns"]
    return next((one for one in table["shown"] if one["campaign"] == campaign), None)


@pytest.mark.kafka
@pytest.mark.takes(20)
def test_buttons_pause_resume_and_cancel_a_send(apache, benches, simulators, tmp_path):
    bed = Bed(apache.kafka, benches, simulators({"latency_ms": 400}), tmp_path)
    create_retry_topics(bed.bench, "1s", "5s")
    pace = order(CAMPAIGN, {"state": "running", "per_second": 1000})
    bed.write(pace)
    service = slowly(bed, admin=with_token(tmp_path)).wait_until_ready()
    produce(bed, [many(100) for _ in range(120)])
    bed.bench.wait_for_outcomes(300, service=service)

    assert ask(service, CAMPAIGN, "pause") == (200, f"{CAMPAIGN}: paused, then at 1000/s")
    eventually(lambda: told(service, CAMPAIGN)["holds"] == "paused", 60, service.child.output)
    eventually(lambda: told(service, CAMPAIGN)["in_flight"] == 0, 60, service.child.output)
    sent = len(bed.simulator.requests())
    other = new_event()
    produce(bed, [other])
    eventually(lambda: (other["id"], None) in ended(bed), 60, service.child.output)
    assert len(bed.simulator.requests()) == sent + 1 and sent < 12000

    # A browser, on a page of this port: the pace was kept.
    page = ("-u", f"ann:{TOKEN}", "-H", f"Origin: http://127.0.0.1:{service.port}")
    assert ask(service, CAMPAIGN, "resume", *page) == (200, f"{CAMPAIGN}: running at 1000/s")
    bed.bench.wait_for_outcomes(sent + 300, service=service)
    assert ask(service, CAMPAIGN, "cancel") == (200, f"{CAMPAIGN}: cancelled")
    # At once, though the process may not have read its own order yet.
    code, text = ask(service, CAMPAIGN, "pause")
    assert code == 409 and "is cancelled" in text
    code, text = ask(service, CAMPAIGN, "resume")
    assert code == 409 and "heliograph campaigns resume --yes" in text

    bed.bench.wait_for_outcomes(12001, service=service)
    bed.bench.wait_until_settled(service=service)
    found = ended(bed)
    assert len(found) == 12001 and all(len(outcomes) == 1 for outcomes in found.values())
    assert found.pop((other["id"], None)) == ["accepted"]
    kinds = collections.Counter(outcome for [outcome] in found.values())
    assert set(kinds) == {"accepted", "cancelled"} and kinds["cancelled"] > 0
    eventually(
        lambda: {kind: count for kind, count in told(service, CAMPAIGN)["outcomes"].items() if count}
        == kinds,
        60,
        lambda: told(service, CAMPAIGN),
    )
    assert told(service, CAMPAIGN)["holds"] == "cancelled"
    assert bed.newest()[CAMPAIGN]["state"] == "cancelled"
    written = service.log_lines("campaign order written")
    assert [(line["order"], line.get("user")) for line in written] == [
        ("paused, then at 1000/s", None), ("running at 1000/s", "ann"), ("cancelled", None),
    ]
    assert not any(TOKEN in line for line in service.child.lines("stderr"))
    service.drain()


@pytest.mark.kafka
def test_an_order_that_cannot_be_written_says_why(apache, benches, simulators, tmp_path):
    bed = Bed(apache.kafka, benches, simulators({}), tmp_path)
    topics = bed.bench.topics
    rights = Rights(apache, LIMITED)
    allowed = {
        ("TOPIC", name, operation)
        for name in vars(topics).values()
        for operation in ("READ", "WRITE", "DESCRIBE")
    } | {("GROUP", bed.bench.group, "READ")}
    reads = {("TOPIC", bed.topic, operation) for operation in ("READ", "DESCRIBE")}
    writes = ("TOPIC", bed.topic, "WRITE")
    rights.set(allowed | reads)
    login = apache.login(**{"sasl.username": LIMITED})
    changes = {
        "kafka": {"bootstrap_servers": apache.server("LOGIN"), "properties": login},
        "admin": with_token(tmp_path),
    }

    def checked():
        report = run_command(tmp_path, bed.settings(**changes), "check", "--connect")
        assert report.code == 0, report.output
        [line] = [line for line in report.out if "campaigns.topic" in line]
        return line

    # The service runs without that right; commands may have it.
    assert "buttons of the status page do not work" in checked() and "Write" in checked()
    service = bed.start(**changes).wait_until_ready()
    code, text = ask(service, CAMPAIGN, "pause")
    assert code == 502 and "no right to write" in text and bed.topic in text
    [line] = eventually(
        lambda: service.log_lines("campaign order not written"), 60, service.child.output
    )
    assert (line["campaign"], line["order"]) == (CAMPAIGN, "pause")
    assert bed.newest() == {}

    rights.set(allowed | reads | {writes})
    assert checked().endswith("can be read and written")
    assert ask(service, CAMPAIGN, "pause") == (200, f"{CAMPAIGN}: paused")
    assert bed.newest()[CAMPAIGN]["state"] == "paused"
    service.drain()


def test_without_a_token_or_a_topic_nothing_is_ordered(bed, tmp_path):
    service = bed.start().wait_until_ready()
    code, text = ask(service, CAMPAIGN, "cancel")
    assert code == 403 and "admin.bearer_token_file" in text
    assert not service.status()["campaigns"]["allows_orders"]
    service.drain()
    service = bed.bench.start(
        bed.bench.configuration(bed.simulator, admin=with_token(tmp_path))
    ).wait_until_ready()
    code, text = ask(service, CAMPAIGN, "cancel")
    assert code == 404 and "campaigns.topic is null" in text
    service.drain()
    assert bed.newest() == {}
