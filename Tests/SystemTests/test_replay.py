"""A log of inputs repeats the same decisions, and contains no secret."""

import subprocess

import pytest

from harness.events import new_event, record
from harness.kafka import Written
from harness.processes import built_binary


def replay(path):
    command = [built_binary("heliograph-lab"), "replay", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def logs(broker, simulators, benches, tmp_path):
    """The folder of logs that a service of two shards has written, and its events."""
    folder = tmp_path / "inputs"
    folder.mkdir()
    bench, simulator = benches(broker), simulators()
    configuration = bench.configuration(simulator, shards=2)
    configuration["log"]["inputs_folder"] = str(folder)
    service = bench.start(configuration).wait_until_ready()
    events = [new_event() for _ in range(50)]
    bench.produce([record(event) for event in events])
    bench.produce([Written(b"no event")])
    bench.wait_for_outcomes(len(events) + 1, service=service)
    service.drain()
    return folder, events


def test_a_run_is_repeated_from_its_logs(logs):
    folder, events = logs
    files = list(folder.iterdir())
    assert sorted(file.name.partition("-shard-")[2] for file in files) == ["0", "1"]
    records = 0
    for file in files:
        assert file.stat().st_mode & 0o777 == 0o600
        ended = replay(file)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        first, last = ended.stdout.splitlines()
        assert first.startswith("logged by Heliograph ")
        assert last.endswith(", 0 in flight at the end")
        records += int(last.partition(": ")[2].partition(" records")[0])
    assert records == len(events) + 1


def test_no_log_contains_a_token(logs):
    folder, events = logs
    content = b"".join(file.read_bytes() for file in folder.iterdir())
    for event in events:
        token = event["device_token"]
        assert token.encode() not in content
        assert bytes.fromhex(token) not in content
        assert event["id"].encode() not in content


def test_a_file_that_is_not_a_log_is_reported(logs, tmp_path):
    folder, _ = logs
    file = next(folder.iterdir())
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    damaged = tmp_path / "damaged"
    damaged.write_bytes(content)
    (tmp_path / "text").write_text("a text and not an input log")
    for path, words in [
        (damaged, "damaged at byte"),
        (tmp_path / "text", "not an input log"),
        (tmp_path / "nowhere", "cannot be read"),
    ]:
        ended = replay(path)
        assert ended.returncode == 1
        assert words in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
