"""scripts/bench on real parts: reports have what they must have, and a wrong round fails the run.

No time is looked at: other tests run beside these.
"""

import json
import os
import subprocess
import sys
import uuid

import pytest
from harness.apache_kafka import kafka_home
from harness.kafka import Written
from harness.processes import ROOT

sys.path.insert(0, str(ROOT / "Benchmarks"))

from Whole import markdown, publish, turn, workload  # noqa: E402

pytestmark = [
    pytest.mark.takes(60),
    pytest.mark.skipif(kafka_home() is None, reason="KAFKA_HOME names no Apache Kafka"),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is only one core"),
]


def report(folder, what, *options):
    """Of one round with few events, as JSON, and its text."""
    few = ["--quick", "--events", "500", "--warm-up", "0", "--out", folder]
    words = [sys.executable, "-m", "Whole", what, *few, *options]
    path = os.pathsep.join(str(ROOT / part) for part in ("Tests/SystemTests", "Benchmarks"))
    subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, cwd=ROOT, check=True)
    text = (folder / f"{what}.md").read_text()
    return json.loads((folder / f"{what}.json").read_text()), text


def assert_complete(found, peers):
    """It says what it is of, and each round has the floors and a turn of each peer."""
    assert {"command", "commit", "taken_at", "machine", "size", "versions"} <= found.keys()
    assert {"cpu", "cores", "kernel", "load_at_start", "load_at_end"} == found["machine"].keys()
    assert {"Apache Kafka", "librdkafka", "OpenSSL", "Heliograph"} <= found["versions"].keys()
    [only] = found["rounds"]
    assert all(figure > 0 for figure in only["floors"].values())
    assert only["turns"].keys() == set(only["order"]) - {"floors"} == peers
    for name in peers:
        assert only["turns"][name]["cpu_us_per_event"] > 0
        assert only["turns"][name]["events_measured"] > 250 * (0.05 if name == "script" else 1)


def test_the_report_of_the_whole_has_every_round_and_fits_the_pages(tmp_path):
    found, text = report(tmp_path, "whole")
    assert_complete(found, {"heliograph"})
    assert found["counts"]["allocations_per_event"] > 0
    assert f"commit {found['commit']}" in text and "## Every round" in text
    pages = publish.pages("whole", found)
    assert publish.on_page("whole", found) in pages[publish.PAGE]
    assert publish.sizing(found) in pages[publish.SIZING]
    assert pages[publish.README] != publish.README.read_text()


def test_the_report_of_the_peers_has_their_ratio_and_what_they_omit(tmp_path):
    found, text = report(tmp_path, "peers", "--only", "script")
    assert_complete(found, {"heliograph", "script"})
    assert "*script* does not: check events against a schema" in text
    ours, theirs = (markdown.costs(found)[name][0] for name in ("heliograph", "script"))
    assert markdown.ratios(found, "script") == [theirs / ours]
    assert publish.on_page("peers", found) in publish.pages("peers", found)[publish.PAGE]


@pytest.mark.parametrize("what", ["partitions", "start"])
def test_a_report_fits_its_section(tmp_path, what):
    found, text = report(tmp_path, what)
    assert f"commit {found['commit']}" in text and "## Every round" in text
    assert publish.on_page(what, found) in publish.pages(what, found)[publish.PAGE]


def outcome(number, what="accepted"):
    text = {"event_id": workload.event_id(number), "outcome": what}
    return Written(json.dumps(text).encode())


def test_an_id_tells_the_number_of_its_event():
    for number in (0, 1, 999_999, (1 << 48) - 1):
        assert workload.number_of(workload.event_id(number)) == number
        assert uuid.UUID(workload.event_id(number)).version == 4


@pytest.mark.parametrize(
    ("outcomes", "sent", "why"),
    [
        ([outcome(0), outcome(0)], 2, "two outcomes of push 0"),
        ([outcome(0), outcome(1, "rejected")], 2, "rejected"),
        ([outcome(0), outcome(1)], 3, "2 pushes became 3 requests"),
    ],
)
def test_a_round_with_a_wrong_outcome_fails(apache, outcomes, sent, why):
    topic = apache.kafka.create(f"bench-check-{uuid.uuid4().hex[:8]}", 1)
    apache.kafka.produce(topic, outcomes)
    with pytest.raises(AssertionError, match=why):
        turn.verify(apache.kafka, topic, turn.Size(1, 1), sent)
