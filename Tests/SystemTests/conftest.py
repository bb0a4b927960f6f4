"""Fixtures: a broker, a simulator and services, each in a process of its own."""

import contextlib
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import kafka as kafka_processes  # noqa: E402
from harness.bench import Bench  # noqa: E402
from harness.processes import ROOT  # noqa: E402
from harness.simulator import running_simulator  # noqa: E402

DEMO_SCENARIO = ROOT / "examples" / "demo-scenario.json"


@pytest.fixture
def broker(tmp_path):
    """A persistent broker; the real cluster of HELIOGRAPH_TEST_BOOTSTRAP if there is one."""
    real = kafka_processes.real_cluster()
    if real:
        yield real
        return
    with kafka_processes.separate_broker(tmp_path / "broker") as kafka:
        yield kafka


@pytest.fixture
def expiring_broker():
    """A broker that notices dead members; the real cluster if there is one."""
    real = kafka_processes.real_cluster()
    if real:
        yield real
        return
    with kafka_processes.mock_cluster() as kafka:
        yield kafka


@pytest.fixture
def simulators(tmp_path):
    """Starts simulators: `simulators(scenario)`; the demo's scenario by default."""
    with contextlib.ExitStack() as stack:
        count = 0

        def start(scenario=DEMO_SCENARIO, options=()):
            nonlocal count
            count += 1
            folder = tmp_path / f"simulator-{count}"
            return stack.enter_context(running_simulator(folder, scenario, options))

        yield start


@pytest.fixture
def benches(tmp_path):
    """Makes benches: `benches(kafka)`; ends their services afterwards."""
    with contextlib.ExitStack() as stack:
        yield lambda kafka, partitions=4: Bench(kafka, tmp_path, stack, partitions)
