"""The effect of signals: a drain, an immediate exit, a reload of files."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import threading

import pytest

from harness.deadlines import eventually
from harness.events import new_event, record, records
from harness.processes import Child, built_binary
from harness.service import EXPIRES_SOON, outcomes_of
from harness.simulator import keys_option

SILENT = {"default": {"is": "stall"}}
HELD = 5
# Longer than any test waits.
LONG_DRAIN = "10m"
DRAINING = "{} received; draining, a second SIGTERM or SIGINT exits at once"
RELOADING = "SIGHUP received; reloading all watched files"
KEY_TAKEN = "credential reloaded"
KEY_REFUSED = "credential not reloaded; the old one stays in use"
SCHEMAS_TAKEN = "schemas reloaded"
SCHEMA = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}


@pytest.fixture
def bench(broker, benches):
    return benches(broker)


def wait_for_log(service, message):
    eventually(lambda: service.log_lines(message), 60, service.child.output)


def draining_service(bench, simulator, first):
    """A service in an endless drain: its events are never answered."""
    service = bench.run(simulator, limits={"drain_timeout": LONG_DRAIN}, kafka=EXPIRES_SOON)
    bench.produce(records(HELD))
    in_flight = f"heliograph_inflight_events {HELD}\n"
    eventually(lambda: in_flight in service.fetch("/metrics")[1], 60, service.child.output)
    service.child.send(first)
    wait_for_log(service, DRAINING.format(first.name))
    return service


def ended_by(service, second):
    """The exit code after a second signal; it is repeated, because one right after the first is merged."""

    def has_ended():
        service.child.send(second)
        return not service.child.is_running

    eventually(has_ended, 60, service.child.output)
    return service.child.wait_for_exit()


@pytest.mark.takes(10)
@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        (signal.SIGTERM, signal.SIGTERM, 143),
        (signal.SIGINT, signal.SIGINT, 130),
        (signal.SIGTERM, signal.SIGINT, 130),
    ],
    ids=["term-term", "int-int", "term-int"],
)
def test_a_second_signal_ends_the_drain_at_once_and_loses_nothing(
    expiring_broker, benches, simulators, first, second, code
):
    bench = benches(expiring_broker)
    simulator = simulators(SILENT, ["--control-port", 0])
    service = draining_service(bench, simulator, first)
    # No second one.
    service.child.send(signal.SIGHUP)

    def is_shutting_down():
        status, body = service.fetch("/ready")
        return status == 503 and "shutting down" in body

    # It is logged a moment before.
    eventually(is_shutting_down, 60, service.child.output)
    assert ended_by(service, second) == code
    assert not service.log_lines(RELOADING)

    assert simulator.control("POST", "/scenario", {})[0] == 204
    successor = bench.run(simulator, kafka=EXPIRES_SOON)
    bench.wait_until_settled(service=successor)
    successor.drain()
    outcomes = [outcome["outcome"] for _, outcome in outcomes_of(bench.kafka, bench.topics)]
    assert outcomes == ["accepted"] * HELD


def test_sigint_drains_like_sigterm(bench, simulators):
    service = bench.run(simulators({}))
    bench.produce(records(10))
    bench.wait_until_settled(service=service)
    service.child.send(signal.SIGINT)
    assert service.child.wait_for_exit() == 0
    assert DRAINING.format("SIGINT") in service.messages()
    assert any(line.startswith("left the consumer group: 10 out") for line in service.messages())


def replaced(path, text):
    """Replaces a file's content atomically."""
    fresh = path.with_name(f".{path.name}.fresh")
    fresh.write_text(text)
    os.replace(fresh, path)


@contextlib.contextmanager
def restless(write):
    """Calls `write(number)` many times a second, so that two checks a second apart always differ."""
    stop = threading.Event()

    def run():
        for number in itertools.count():
            write(number)
            if stop.wait(0.05):
                return

    writer = threading.Thread(target=run)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def test_sighup_reloads_files_that_change_all_the_time(bench, simulators, tmp_path):
    """Without a signal, a change is loaded once two checks agree, which never happens here."""
    simulator = simulators({})
    directory = tmp_path / "schemas"
    directory.mkdir()
    schema_file = directory / "news.json"
    replaced(schema_file, json.dumps(SCHEMA))
    key_file = tmp_path / "AuthKey.p8"
    with open(simulator.ready["key_file"]) as key:
        replaced(key_file, key.read())
    settings = bench.configuration(simulator, schemas={"directory": str(directory)})
    settings["apns"]["credentials"][0]["key_file"] = str(key_file)
    service = bench.start(settings).wait_until_ready()

    def write(number):
        replaced(schema_file, json.dumps({**SCHEMA, "$comment": str(number)}))
        replaced(key_file, f"no key {number}\n")

    with restless(write):
        eventually(lambda: "no key" in key_file.read_text(), 60, "other content")
        service.child.send(signal.SIGHUP)
        wait_for_log(service, RELOADING)
        wait_for_log(service, SCHEMAS_TAKEN)
        wait_for_log(service, KEY_REFUSED)
    assert len(service.log_lines(RELOADING)) == 1
    service.drain()


@pytest.mark.core
def test_sighup_loads_a_new_key(bench, simulators, tmp_path):
    following = {"key_id": "NEXT123456", "file": str(tmp_path / "next.p8")}
    simulator = simulators({}, keys_option(tmp_path / "keys.json", following))
    key_file, key_id_file = tmp_path / "key.p8", tmp_path / "key_id"
    with open(simulator.ready["key_file"]) as key:
        replaced(key_file, key.read())
    replaced(key_id_file, simulator.ready["key_id"])
    settings = bench.configuration(simulator)
    credential = settings["apns"]["credentials"][0]
    del credential["key_id"]
    credential.update(key_file=str(key_file), key_id_file=str(key_id_file))
    service = bench.start(settings).wait_until_ready()

    replaced(key_file, (tmp_path / "next.p8").read_text())
    replaced(key_id_file, "NEXT123456")
    service.child.send(signal.SIGHUP)
    wait_for_log(service, KEY_TAKEN)
    bench.produce([record(new_event())])
    bench.wait_until_settled(service=service)
    # The service continues to run.
    service.child.send(signal.SIGHUP)
    service.drain()
    [(_, outcome)] = outcomes_of(bench.kafka, bench.topics)
    assert outcome["outcome"] == "accepted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_pid_1_ends_by_a_signal(number):
    """As in a container; the kernel ignores a signal to PID 1 that has no handler."""
    namespace = ["unshare", "--map-root-user", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*namespace, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("this system allows no PID namespace")
    words = [*namespace, built_binary("heliograph"), "validate", "-"]
    with Child(words, takes_input=True) as child:
        # unshare is the child, and the command is its own.
        path = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")

        def command():
            """Its PID here, once it handles the signal."""
            for pid in path.read_text().split():
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
                [caught] = re.findall(r"SigCgt:\s*(\w+)", status)
                if "heliograph" in status and int(caught, 16) >> (number - 1) & 1:
                    return int(pid)
            return None

        os.kill(eventually(command, 60, child.output), number)
        assert child.wait_for_exit(60) == 128 + number
