"""A command's output is never lost without an error: a full disk, and a pipe without a reader."""

import contextlib
import os
import subprocess

import pytest
import yaml

from harness.events import APP
from harness.kafka import Written
from harness.processes import built_binary, clean_environment

TOKEN = "a11ce000" + "5e" * 28
WORDS = {"full": "No space left on device", "without a reader": "Broken pipe"}


@contextlib.contextmanager
def nowhere(kind):
    """A file to which nothing can be written."""
    if kind == "full":
        with open("/dev/full", "wb") as full:
            yield full
        return
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@pytest.fixture(params=WORDS)
def run(request, tmp_path):
    """Runs a command whose standard output cannot be written; returns the lines of standard error."""

    def run(settings, *words):
        path = tmp_path / "command.yaml"
        path.write_text(yaml.safe_dump(settings))
        command = [built_binary("heliograph"), *map(str, words), "--config", str(path)]
        return ended(command)

    def ended(command):
        with nowhere(request.param) as output:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                timeout=60,
                text=True,
                env=clean_environment(),
            )
        lines = done.stderr.splitlines()
        assert done.returncode == 1, (command, lines)
        complaint = f"heliograph: standard output: cannot be written: {WORDS[request.param]}"
        assert lines[-1] == complaint, lines
        return lines

    run.ended = ended
    return run


@pytest.fixture
def bench(broker, benches):
    return benches(broker, 1)


@pytest.fixture
def simulator(simulators):
    return simulators({})


@pytest.fixture
def settings(bench, simulator):
    settings = bench.configuration(simulator)
    settings["apns"]["endpoints"] |= {
        "management_production": simulator.ready["production_channels"],
        "management_sandbox": simulator.ready["sandbox_channels"],
    }
    return settings


def test_a_local_command_reports_lost_output(run, settings, tmp_path):
    [_] = run(settings, "check")
    [_] = run(settings, "check", "--schemas")
    [_] = run.ended([built_binary("heliograph"), "explain", "BadDeviceToken"])
    key = tmp_path / "fingerprint.key"
    key.write_text("5e" * 32)
    [_] = run.ended([built_binary("heliograph"), "fingerprint", "00ff", "--key-file", str(key)])


def test_a_created_channel_is_named_on_standard_error(run, settings, simulator):
    lines = run(settings, "channels", "create", "--bundle-id", APP)
    assert "created a channel" in lines[0]
    # The channel exists, so its ID must not be lost.
    channel = lines[1].removeprefix("heliograph: ")
    lines = run(settings, "channels", "read", "--bundle-id", APP, "--channel", channel)
    assert "storage none" in lines[1]
    assert channel in "".join(run(settings, "channels", "list", "--bundle-id", APP))


@pytest.mark.core
def test_the_answer_of_apns_is_repeated_on_standard_error(run, settings, simulator):
    words = ["push", "--token", TOKEN, "--bundle-id", APP, "--alert", "Hello"]
    lines = run(settings, *words)
    assert any("< :status: 200" in line for line in lines)
    assert any("accepted: APNs has it" in line for line in lines)
    [request] = simulator.requests()
    assert request["token"] == TOKEN


def test_dead_letters_that_cannot_be_shown_are_an_error(run, settings, bench):
    service = bench.start(settings).wait_until_ready()
    bench.produce([Written(b"{"), Written(b"{")])
    bench.wait_for_outcomes(2, service=service)
    service.drain()
    [_] = run(settings, "dead-letters", "list")
    [_] = run(settings, "dead-letters", "list", "--json")
    [_] = run(settings, "dead-letters", "replay", "--dry-run")


def test_what_holds_for_a_campaign_is_repeated_on_standard_error(run, settings, bench):
    """The order is in Kafka even if nobody could read so."""
    topic = bench.kafka.create(f"{bench.topics.source}.campaigns", 1, **{"cleanup.policy": "compact"})
    settings = {**settings, "campaigns": {"topic": topic}}
    lines = run(settings, "campaigns", "pause", "spring")
    assert lines[0] == "heliograph: spring: paused"
    assert [message.key() for message in bench.kafka.read_all(topic)] == [b"spring"]
    for words in (["list"], ["list", "--json"], ["show", "spring"]):
        [_] = run(settings, "campaigns", *words)
