"""Runs the page about undoing wrong removals unchanged, against a service whose fuse blew."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from harness.apache_kafka import LIMITED
from harness.deadlines import eventually
from harness.events import Written, new_event, record
from harness.processes import ROOT
from harness.rights import OPERATION, Rights
from harness.service import outcomes_of

PAGE = ROOT / "docs" / "how-to" / "undo-removals.md"
DEAD = "de" + "0" * 62
# As for a wrong host: APNs calls every token dead except one kind, until the scenario changes.
WRONG = {"default": {"is": "unregistered"}}


def script(folder, bench, since, until, **login):
    """The page's program with the places and times of this test."""
    [text] = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text())
    values = {
        "KAFKA": repr({"bootstrap.servers": bench.kafka.bootstrap_servers, **login}),
        "TOPIC": repr(bench.topics.token_status),
        "SINCE, UNTIL": f"{since.isoformat()!r}, {until.isoformat()!r}",
    }
    for name, value in values.items():
        text, count = re.subn(rf"(?m)^{name} = .*$", lambda _: f"{name} = {value}", text)
        assert count == 1, name
    file = folder / "undo_removals.py"
    file.write_text(text)

    def run(*arguments):
        ended = subprocess.run(
            [sys.executable, file, *arguments], capture_output=True, text=True, timeout=120
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.splitlines()

    return run


def outcomes(bench):
    return [outcome for _, outcome in outcomes_of(bench.kafka, bench.topics)]


def test_removals_before_the_fuse_blew_can_be_undone(broker, simulators, benches, tmp_path):
    bench, wrong, right = benches(broker), simulators(WRONG), simulators({})
    before = bench.run(wrong)
    # Already dead before the mistake, so outside of the given times.
    bench.produce([record(new_event(device_token=DEAD))])
    bench.wait_for_outcomes(1, service=before)
    began = datetime.now(UTC)
    bench.produce([record(new_event()) for _ in range(600)])
    bench.wait_for_outcomes(601, service=before)
    eventually(
        lambda: before.log_lines("token fuse blown; no token is removed"), 60, "the fuse to blow"
    )
    before.drain()
    run = script(tmp_path, bench, began, datetime.now(UTC) + timedelta(seconds=1))
    removed = [o["device_token"] for o in outcomes(bench) if o["token_action"] == "remove"]
    wrongly = sorted(token for token in removed if token != DEAD)
    assert len(removed) == len(wrongly) + 1

    service = bench.run(right)

    def suppressed():
        return f"heliograph_suppressed_tokens {len(removed)}\n" in service.fetch("/metrics")[1]

    eventually(suppressed, 60, "the dead tokens to be read")
    listed = run()
    assert sorted(line.split("|")[2] for line in listed) == wrongly
    assert suppressed(), "without --apply nothing is written"
    # Partitions are read in any order.
    assert sorted(run("--apply")) == sorted(listed)
    eventually(
        lambda: "heliograph_suppressed_tokens 1\n" in service.fetch("/metrics")[1],
        60,
        "the tombstones to be written",
    )
    service.drain()
    assert run() == []

    # The next process treats them as alive, too.
    after = bench.run(right)
    count = bench.kafka.count(bench.topics.results)
    events = [new_event(device_token=token) for token in [*wrongly, DEAD]]
    bench.produce([record(event) for event in events])
    bench.wait_for_outcomes(count + len(events), service=after)
    after.drain()
    kinds = {o["event_id"]: o["outcome"] for o in outcomes(bench)}
    assert [kinds[event["id"]] for event in events] == ["accepted"] * len(wrongly) + ["suppressed"]


@pytest.mark.kafka
def test_the_program_needs_no_more_than_the_page_says(apache, benches, tmp_path):
    bench, now = benches(apache.kafka), datetime.now(UTC)
    topic, key = bench.topics.token_status, f"com.example.Shop|production|{DEAD}"
    status = {"token_action": "remove", "observed_at": now.isoformat()}
    bench.kafka.produce(topic, [Written(json.dumps(status).encode(), key=key.encode())])
    [needs] = re.findall(r"(?m)^This needs (.+?) on the token-status topic", PAGE.read_text())
    Rights(apache, LIMITED).set(("TOPIC", topic, right.upper()) for right in OPERATION.findall(needs))
    login = apache.login(**{"sasl.username": LIMITED, "bootstrap.servers": apache.server("LOGIN")})
    run = script(tmp_path, bench, now, now, **login)
    assert run("--apply") == [key]
    assert run() == []
