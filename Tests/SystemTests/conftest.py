"""Fixtures: a broker, a simulator and services, each in its own process."""

import contextlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest
from xdist.scheduler import LoadScopeScheduling

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from harness import kafka as kafka_processes  # noqa: E402
from harness.apache_kafka import (  # noqa: E402
    kafka_home,
    reached_apache_kafka,
    running_apache_kafka,
    shared_apache_kafka,
)
from harness.bench import Bench  # noqa: E402
from harness.processes import ROOT  # noqa: E402
from harness.simulator import running_simulator  # noqa: E402
from harness.strict_peer import running_peer  # noqa: E402

DEMO_SCENARIO = ROOT / "examples" / "demo-scenario.json"
# Tests mostly wait, so each core runs several workers.
WORKERS_PER_CORE = 4
# These files share an expensive setup, or tests reuse what the first one made. Running them in one
# worker is cheaper than repeating that in each.
TOGETHER = ("test_status_page.py", "chart/test_chart_")
# Fixtures that are Apache Kafka where there is one.
BROKERS = {"apache", "broker", "expiring_broker", "fragile_apache"}
HAS_FAILED = pytest.StashKey[bool]()
# The workers' address of the shared broker.
SHARED = "HELIOGRAPH_TEST_SHARED_KAFKA"
BROKER = pytest.StashKey[contextlib.ExitStack]()


def is_worker(config):
    return hasattr(config, "workerinput")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    # SIGTERM raises KeyboardInterrupt, so that child processes end and files are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if is_worker(config):
        return
    # Programs that are killed leave temporary files.
    os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="heliograph-tests-")
    if config.option.basetemp is None:
        config.option.basetemp = os.path.join(os.environ["TMPDIR"], "tests")


def pytest_xdist_auto_num_workers(config):
    """None if a single test is named."""
    is_single = len(config.args) == 1 and "::" in config.args[0]
    return 0 if is_single else WORKERS_PER_CORE * len(os.sched_getaffinity(0))


class Scheduling(LoadScopeScheduling):
    """Runs tests one by one in collection order, but whole files of `TOGETHER`."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        return file if any(name in file for name in TOGETHER) else nodeid


def pytest_xdist_make_scheduler(config, log):
    return Scheduling(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_sessionstart(session):
    """Starts the broker that all workers share: one answers faster than one per worker."""
    config = session.config
    stack = config.stash[BROKER] = contextlib.ExitStack()
    if is_worker(config) or not config.getoption("numprocesses", 0) or kafka_home() is None:
        return
    folder = pathlib.Path(os.environ["TMPDIR"]) / "shared-kafka"
    os.environ[SHARED] = stack.enter_context(shared_apache_kafka(folder))


def pytest_itemcollected(item):
    """What is tried at each change, and talks to Kafka, is tried on each version of it."""
    if item.get_closest_marker("core") and not BROKERS.isdisjoint(item.fixturenames):
        item.add_marker("kafka")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Runs the longest tests first, so that none of them runs alone at the end."""

    def seconds(item):
        marker = item.get_closest_marker("takes")
        return marker.args[0] if marker else 0

    items.sort(key=seconds, reverse=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Removes the files of a test that passed, including its teardown."""
    report = yield
    if report.failed:
        item.stash[HAS_FAILED] = True
    folder = item.funcargs.get("tmp_path")
    if report.when == "teardown" and folder and not item.stash.get(HAS_FAILED, False):
        shutil.rmtree(folder, ignore_errors=True)
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    session.config.stash[HAS_FAILED] = session.testsfailed > 0
    # The workers have ended.
    session.config.stash[BROKER].close()


def pytest_terminal_summary(terminalreporter, config):
    if config.stash[HAS_FAILED]:
        terminalreporter.write_line(f"Files of failed tests: {config.option.basetemp}")


def pytest_unconfigure(config):
    if is_worker(config):
        return
    kept, temporary = pathlib.Path(config.option.basetemp), pathlib.Path(os.environ["TMPDIR"])
    if not config.stash.get(HAS_FAILED, False):
        shutil.rmtree(kept, ignore_errors=True)
    if temporary not in kept.parents or not kept.exists():
        shutil.rmtree(temporary, ignore_errors=True)


@pytest.fixture(scope="session")
def apache(tmp_path_factory):
    """One broker of Apache Kafka for all tests: their topics and groups have different names."""
    shared = os.environ.get(SHARED)
    if shared:
        running = reached_apache_kafka(shared)
    else:
        running = own_broker(tmp_path_factory)
    with running as apache:
        yield apache


@pytest.fixture(scope="session")
def fragile_apache(tmp_path_factory):
    """This worker's own broker of Apache Kafka, for tests that crash and restart it."""
    with own_broker(tmp_path_factory) as apache:
        yield apache


def own_broker(tmp_path_factory):
    if kafka_home() is None:
        pytest.skip("KAFKA_HOME names no Apache Kafka")
    return running_apache_kafka(tmp_path_factory.mktemp("apache") / "kafka")


@pytest.fixture
def broker(request):
    """A persistent broker: the cluster of HELIOGRAPH_TEST_BOOTSTRAP, Apache Kafka, or noida-db."""
    return own_or_apache(request) or request.getfixturevalue("empty_broker")


@pytest.fixture
def empty_broker(tmp_path):
    """A broker that no other test uses, for topics with fixed names."""
    with kafka_processes.separate_broker(tmp_path / "broker") as kafka:
        yield kafka


@pytest.fixture
def expiring_broker(request):
    """A broker that expires dead members: as `broker`, but the mock cluster instead of noida-db."""
    real = own_or_apache(request)
    if real:
        yield real
        return
    with kafka_processes.mock_cluster() as kafka:
        yield kafka


def own_or_apache(request):
    """The configured real cluster, or None."""
    named = kafka_processes.real_cluster()
    return named or (kafka_home() and request.getfixturevalue("apache").kafka)


@pytest.fixture
def simulators(tmp_path):
    """Starts simulators: `simulators(scenario)`; the default is the demo's scenario."""
    with contextlib.ExitStack() as stack:
        count = 0

        def start(scenario=DEMO_SCENARIO, options=()):
            nonlocal count
            count += 1
            folder = tmp_path / f"simulator-{count}"
            return stack.enter_context(running_simulator(folder, scenario, options))

        yield start


@pytest.fixture
def peer(tmp_path):
    """Starts strict peers: `peer(script, **settings)`; none may see a protocol violation."""
    with contextlib.ExitStack() as stack:
        yield lambda *arguments, **settings: stack.enter_context(
            running_peer(tmp_path / "peer", *arguments, **settings)
        )


@pytest.fixture
def benches(tmp_path):
    """Creates benches: `benches(kafka)`; ends their services afterwards."""
    with contextlib.ExitStack() as stack:
        yield lambda kafka, partitions=4: Bench(kafka, tmp_path, stack, partitions)
