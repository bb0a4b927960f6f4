"""The demo as a newcomer runs it."""

import json
import pathlib
import re
import subprocess
import urllib.request

import pytest
from harness.deadlines import eventually
from harness.processes import LEASH, ROOT, Child, built_binary

SECONDS = 300
ALIVE = {
    "id": "own-1",
    "device_token": "ab" * 32,
    "bundle_id": "org.example.Mine",
    "push_type": "alert",
    "payload": {"aps": {"alert": "Hello"}},
}


def demo(*arguments):
    return subprocess.run(
        [*LEASH, built_binary("heliograph-lab"), "demo", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def written(folder, *lines):
    path = pathlib.Path(folder) / "events.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.core
def test_every_example_gets_its_outcome():
    run = demo()
    assert run.returncode == 0, run.stdout + run.stderr
    assert "NOT AS EXPECTED" not in run.stdout
    for row in ("accepted", "Unregistered", "BadDeviceToken", "SchemaViolation", "NoCredential"):
        assert row in run.stdout, run.stdout
    assert "0 events handed back" in run.stdout


@pytest.mark.parametrize(("outcome", "code"), [("accepted", 0), ("rejected", 1)])
def test_own_events_are_compared_with_their_expectations(outcome, code, tmp_path):
    line = {"value": ALIVE, "expect": {"outcome": outcome}}
    run = demo("--events", written(tmp_path, line))
    assert run.returncode == code, run.stdout + run.stderr
    assert ("NOT AS EXPECTED: line 1" in run.stdout) == (code == 1)


ALL = [{"outcome": "accepted"}, {"outcome": "accepted"}, {"outcome": "invalid"}]


@pytest.mark.parametrize(
    ("change", "expected", "code", "said"),
    [
        ({}, None, 0, "All 1 events got their 3 outcomes"),
        ({}, ALL, 0, "All 1 events got the expected 3 outcomes."),
        ({}, [ALL[0], ALL[2], ALL[2]], 1, "line 1, recipient 1: accepted ; expected invalid"),
        # It waits no longer than for the first wrong outcome.
        ({}, ALL[0], 1, "recipients; expected 1"),
        ({"push_type": "none"}, ALL, 1, "line 1: 1 outcomes for 1 recipients; expected 3"),
    ],
)
def test_each_recipient_has_its_own_expectation(change, expected, code, said, tmp_path):
    recipients = ["ab" * 32, "cd" * 32, "not a token"]
    event = {**ALIVE, **change, "recipients": recipients}
    del event["device_token"]
    line = {"value": event, "expect": expected} if expected else event
    run = demo("--events", written(tmp_path, line))
    assert run.returncode == code, run.stdout + run.stderr
    assert said in run.stdout, run.stdout


@pytest.mark.takes(25)
def test_a_campaign_is_paused_resumed_and_cancelled():
    run = demo("--campaign", "--devices", 2000)
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    assert "status page http://127.0.0.1:" in run.stdout and "nothing moves" in run.stdout
    sum_of = r"(\S+) accepted \+ (\S+) cancelled = 2,000 outcomes for 2,000 devices"
    accepted, cancelled = (
        int(number.replace(",", "")) for number in re.fullmatch(sum_of, lines[-1]).groups()
    )
    assert accepted >= 600 and cancelled > 0 and accepted + cancelled == 2000


def test_an_expectation_inside_an_event_is_refused(tmp_path):
    run = demo("--events", written(tmp_path, {**ALIVE, "expect": {"outcome": "accepted"}}))
    assert run.returncode == 1
    assert "belongs next to 'value'" in run.stderr


def test_the_events_after_the_examples_are_valid():
    """Nearly all of them are accepted, so the status page does not start with an alarm."""
    binary = built_binary("heliograph-lab")
    with Child([binary, "demo", "--keep-running"], folder=ROOT) as child:

        def said(pattern):
            return re.search(pattern, "\n".join(child.lines("stdout")))

        address = eventually(lambda: said(r"admin port (http://\S+)"), 60, child.output)[1]
        eventually(lambda: said("fresh events a second"), SECONDS, child.output)

        def outcomes():
            with urllib.request.urlopen(f"{address}/metrics", timeout=60) as answer:
                text = answer.read().decode()
            counts = {}
            for outcome, count in re.findall(
                r'^heliograph_events_terminal_total\{.*?outcome="(\w+)".*?\} (\S+)', text, re.M
            ):
                counts[outcome] = counts.get(outcome, 0) + float(count)
            return counts

        def fresh():
            now = outcomes()
            return {kind: count - before.get(kind, 0) for kind, count in now.items()}

        before = outcomes()
        eventually(lambda: sum(fresh().values()) >= 100, 60, child.output)
        counts = fresh()
        assert counts["accepted"] >= 0.9 * sum(counts.values()), counts
        child.terminate(60)
