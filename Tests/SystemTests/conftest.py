"""Fixtures: a broker, a simulator and services, each in a process of its own."""

import contextlib
import pathlib
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import kafka as kafka_processes  # noqa: E402
from harness.events import changed  # noqa: E402
from harness.processes import ROOT  # noqa: E402
from harness.service import Service, Topics, configuration  # noqa: E402
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

        def start(scenario=DEMO_SCENARIO):
            nonlocal count
            count += 1
            folder = tmp_path / f"simulator-{count}"
            return stack.enter_context(running_simulator(folder, scenario))

        yield start


class Bench:
    """One test's topics, group and services on one broker."""

    def __init__(self, kafka, folder, stack, partitions):
        name = f"test-{uuid.uuid4().hex[:12]}"
        self.kafka = kafka
        self.group = f"{name}-group"
        self.topics = Topics.create(kafka, name, partitions)
        self._folder = folder
        self._stack = stack
        self._count = 0

    def configuration(self, simulator, **changes):
        return changed(configuration(self.kafka, self.topics, simulator, self.group), changes)

    def start(self, settings):
        """Starts a service without waiting for it."""
        self._count += 1
        folder = self._folder / f"service-{self._count}"
        return self._stack.enter_context(Service(folder, settings))

    def run(self, simulator, **changes):
        """Starts a service and waits until it is ready."""
        return self.start(self.configuration(simulator, **changes)).wait_until_ready()

    def produce(self, records, partition=-1):
        return self.kafka.produce(self.topics.source, records, partition)

    def wait_for_outcomes(self, count, seconds=60, service=None):
        child = service.child if service else None
        self.kafka.wait_for_count(self.topics.results, count, seconds, child)

    def wait_until_settled(self, seconds=60, service=None):
        child = service.child if service else None
        self.kafka.wait_until_settled(self.group, self.topics.source, seconds, child)


@pytest.fixture
def benches(tmp_path):
    """Makes benches: `benches(kafka)`; ends their services afterwards."""
    with contextlib.ExitStack() as stack:
        yield lambda kafka, partitions=4: Bench(kafka, tmp_path, stack, partitions)
