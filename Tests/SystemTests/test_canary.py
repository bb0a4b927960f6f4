"""`heliograph canary`: events through a running service, and what its own metrics say of them."""

import contextlib
import re
import urllib.request

import pytest

from harness.commands import run_command, running_command
from harness.deadlines import eventually
from harness.events import APP
from harness.processes import ROOT
from harness.service import opened_port

TOKEN = "a11ce000" + "0" * 56
DEAD = {"rules": [{"prefix": "dead", "is": "unregistered", "since": 1767225600000}]}
FILES = ROOT / "helm" / "heliograph" / "files"
MONITORING = "".join((FILES / name).read_text() for name in ("alerts.yaml", "dashboard.json"))
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()


class Canary:
    """A running canary."""

    def __init__(self, child):
        self.child = child
        self._port = child.wait_for("stderr", opened_port, 60)

    def text(self):
        url = f"http://127.0.0.1:{self._port}/metrics"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read().decode()

    def count(self, result):
        name = f'heliograph_canary_events_total{{result="{result}"}}'
        [value] = re.findall(rf"(?m)^{re.escape(name)} (\d+)$", self.text())
        return int(value)

    def wait_for_more(self, result):
        least = self.count(result) + 1
        eventually(lambda: self.count(result) >= least, 60, self.child.output)


@contextlib.contextmanager
def canary(folder, settings, interval, token=TOKEN):
    words = ["--bundle-id", APP, "--interval", interval]
    # As of a Secret that was made from a file.
    environment = {"CANARY_DEVICE_TOKEN": f"{token}\n"}
    with running_command(folder, settings, "canary", *words, environment=environment) as child:
        yield Canary(child)
        assert child.terminate(30) == 0, child.output()
        assert token not in child.output()


@pytest.mark.takes(30)
def test_it_tells_a_service_that_works_from_one_that_has_stopped(
    broker, benches, simulators, tmp_path
):
    bench, simulator = benches(broker, 2), simulators()
    settings = bench.configuration(simulator)
    service = bench.run(simulator)
    with canary(tmp_path, settings, interval=5) as bird:
        bird.wait_for_more("accepted")
        exposed = set(re.findall(r"(?m)^# TYPE (heliograph_canary_\w+) ", bird.text()))
        documented = set(re.findall(r"(?m)^\| `(heliograph_canary_\w+)` \|", OPERATIONS))
        assert exposed == documented
        used = set(re.findall(r"heliograph_canary_\w+", MONITORING))
        assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in used} == exposed
        timed = r"(?m)^heliograph_canary_latency_seconds_count [1-9]"
        eventually(lambda: re.search(timed, bird.text()), 60, bird.child.output)
        service.drain()
        bird.wait_for_more("no_outcome")
        accepted = bird.count("accepted")
        bird.wait_for_more("no_outcome")
        assert bird.count("accepted") == accepted
        assert "no outcome of canary-" in bird.child.output()
        bench.run(simulator)
        bird.wait_for_more("accepted")
    assert {push["token"] for push in simulator.accepted()} == {TOKEN}


@pytest.mark.takes(15)
def test_an_event_that_apns_refuses_does_not_come_through(broker, benches, simulators, tmp_path):
    bench, simulator = benches(broker, 2), simulators(DEAD)
    service = bench.run(simulator)
    settings = bench.configuration(simulator)
    with canary(tmp_path, settings, interval=20, token="dead" + "0" * 60) as bird:
        bird.wait_for_more("not_accepted")
        # It is counted before it is logged.
        said = "unregistered: Unregistered"
        eventually(lambda: said in bird.child.output(), 60, bird.child.output)
    service.drain()


@pytest.mark.takes(20)
def test_kafka_that_does_not_answer_is_told(broker, benches, simulators, tmp_path):
    settings = benches(broker, 1).configuration(simulators())
    settings["kafka"]["bootstrap_servers"] = "127.0.0.1:1"
    with canary(tmp_path, settings, interval=5) as bird:
        bird.wait_for_more("kafka")


def test_a_wrong_device_token_is_not_shown(broker, benches, simulators, tmp_path):
    settings = benches(broker, 1).configuration(simulators())
    variable = {"CANARY_DEVICE_TOKEN": f"{TOKEN}x"}
    by_variable = run_command(
        tmp_path, settings, "canary", "--bundle-id", APP, environment=variable
    )
    by_option = run_command(tmp_path, settings, "tail", "--token", f"{TOKEN}x")
    for name, ended in (("CANARY_DEVICE_TOKEN", by_variable), ("--token", by_option)):
        assert ended.code == 64, ended.output
        assert f"{name}: invalid value; expected an even number of hex" in ended.output
        assert TOKEN not in ended.output


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ("--bundle-id", APP, "--topic", "other"),
            "--topic: 'other' is no source of notifications",
        ),
        (
            ("--bundle-id", "com.nope"),
            "apns.credentials: none covers com.nope (NoCredential); add one",
        ),
    ],
)
def test_what_the_service_could_not_send_is_refused(
    broker, benches, simulators, tmp_path, words, problem
):
    settings = benches(broker, 1).configuration(simulators())
    with running_command(tmp_path, settings, "canary", "--token", TOKEN, *words) as child:
        assert child.wait_for_exit(60) == 1
        assert problem in child.output()
