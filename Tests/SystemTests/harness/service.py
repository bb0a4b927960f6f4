"""`heliograph run` as a process: its configuration, log, admin port and topics."""

import contextlib
import dataclasses
import http.client
import json
import pathlib
import re
import signal
import ssl
import urllib.error
import urllib.request

import yaml

from .deadlines import eventually
from .events import APP
from .kafka import Kafka
from .processes import Child, built_binary, json_object
from .sampler import Sampler

CRASH_WORDS = (
    "Fatal error",
    "Crash",
    "crashed",
    "Stack dump",
    "Backtrace",
    "Illegal instruction",
    # What a C library prints before it aborts.
    "Assertion",
)


@dataclasses.dataclass(frozen=True)
class Topics:
    """The four topics of a test."""

    source: str
    results: str
    token_status: str
    dead_letters: str

    @classmethod
    def create(cls, kafka: Kafka, prefix, partitions=4):
        return cls(
            kafka.create(prefix, partitions),
            kafka.create(f"{prefix}.results", partitions),
            kafka.create(f"{prefix}.token-status", partitions, **{"cleanup.policy": "compact"}),
            kafka.create(f"{prefix}.dead-letters", partitions),
        )


# For a member that ends without leaving its group: others soon get its partitions.
EXPIRES_SOON = {"properties": {"session.timeout.ms": 6000}}
# In seconds: less than the chart's `terminationGracePeriodSeconds`, after which Kubernetes kills.
WITHIN_GRACE = 40


def configuration(kafka: Kafka, topics: Topics, simulator, group):
    """A complete configuration; a test merges its own changes into it."""
    apns = simulator.ready
    return {
        "kafka": {
            "bootstrap_servers": kafka.bootstrap_servers,
            "group_id": group,
            "properties": {
                # noida-db ignores fetch limits.
                "receive.message.max.bytes": 1_000_000_000,
                **kafka.fetching,
                "session.timeout.ms": kafka.session_ms,
            },
        },
        "sources": [{"topic": topics.source}],
        "results": {
            "topic": topics.results,
            "token_status_topic": topics.token_status,
            "dead_letter_topic": topics.dead_letters,
        },
        "apns": {
            "credentials": [
                {
                    "name": "example",
                    "team_id": apns["team_id"],
                    "key_id": apns["key_id"],
                    "key_file": apns["key_file"],
                    "bundle_ids": [APP, "com.example.Chat", "com.apple.mgmt.*"],
                    "environment": "production",
                }
            ],
            "endpoints": {"production": apns["production"], "sandbox": apns["sandbox"]},
            "ca_file": apns["ca_file"],
        },
        # Without retry topics: an event that cannot be delivered ends at once.
        "retry": {"later": []},
        "shards": 1,
        "admin": {"host": "127.0.0.1", "port": 0},
        "log": {"level": "info", "format": "json"},
    }


def opened_port(line):
    """The admin port if this log line reports it, in either format."""
    entry = json_object(line)
    if entry:
        return entry["port"] if entry.get("message") == "admin port is listening" else None
    told = re.search(r" admin port is listening\b.* port=(\d+)", line)
    return told and told[1]


class Service:
    """A running service."""

    def __init__(self, folder: pathlib.Path, settings, environment=None, binary=None):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "heliograph.yaml"
        text = settings if isinstance(settings, str) else yaml.safe_dump(settings)
        path.write_text(text)
        binary = binary or built_binary("heliograph")
        self.child = Child([str(binary), "run", "--config", str(path)], environment)
        self._port = None
        admin = {} if isinstance(settings, str) else settings.get("admin", {})
        self._token_file = admin.get("bearer_token_file")
        # Not verified here; the TLS tests check whose certificate it is.
        self._tls = ssl._create_unverified_context() if "certificate_file" in admin else None
        # Set by a test that makes it crash.
        self.is_to_crash = False
        self.sampler = Sampler(self)

    def log_lines(self, message):
        """The log entries with that message."""
        entries = (json_object(line) for line in self.child.lines("stderr"))
        return [entry for entry in entries if entry and entry.get("message") == message]

    def count(self, message):
        """How often the message was logged, including repetitions that another line summarizes."""
        entries = (json_object(line) for line in self.child.lines("stderr"))
        told = [entry for entry in entries if entry and entry["message"].startswith(message)]
        return sum(int(entry.get("repeated", 1)) for entry in told)

    def messages(self):
        """The log messages, in order."""
        entries = (json_object(line) for line in self.child.lines("stderr"))
        return [entry.get("message", "") for entry in entries if entry]

    @property
    def port(self):
        if self._port is None:
            self._port = int(self.child.wait_for("stderr", opened_port))
        return self._port

    @property
    def has_port(self):
        """Whether the admin port is or was open; does not wait."""
        return self._port is not None or any(map(opened_port, self.child.lines("stderr")))

    def fetch(self, path):
        """(status, body) of a GET on the admin port; (0, "") if there is no answer."""
        try:
            port = self.port
        except AssertionError:
            # A service that has ended has no port.
            if not self.child.is_silent:
                raise
            return 0, ""
        try:
            with self._open(port, path) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""

    def fetch_with_headers(self, path):
        """(body, headers) of a GET on the admin port that must succeed."""
        with self._open(self.port, path) as answer:
            return answer.read(), answer.headers

    def _open(self, port, path):
        scheme = "https" if self._tls else "http"
        request = urllib.request.Request(f"{scheme}://127.0.0.1:{port}{path}")
        if self._token_file:
            token = pathlib.Path(self._token_file).read_text().split()[0]
            request.add_header("Authorization", f"Bearer {token}")
        return urllib.request.urlopen(request, timeout=60, context=self._tls)

    def status(self):
        """The content of `/status.json`."""
        return json.loads(self.fetch("/status.json")[1])

    def warnings(self):
        """The problems of single parts that `/ready` reports while the service is ready."""

        def body_if_ready():
            status, body = self.fetch("/ready")
            return body if status == 200 else None

        body = eventually(body_if_ready, 60, lambda: f"/ready; it says {self.fetch('/ready')}")
        told = json.loads(body)
        assert told["ready"] and told["reasons"] == [], body
        return {f"{one['part']}: {one['reason']}" for one in told["warnings"]}

    def wait_until_ready(self, seconds=60):
        def ready():
            assert self.child.is_running, f"the service ended: {self.child.output()}"
            return self.fetch("/ready")[0] == 200

        def what():
            return f"/ready; it says {self.fetch('/ready')}\n{self.child.output()}"

        eventually(ready, seconds, what)
        return self

    def drain(self, seconds=60):
        """Sends SIGTERM; the service must drain and exit with 0."""
        self.sampler.look_last()
        code = self.child.terminate(seconds)
        assert code == 0, f"exit code {code} after SIGTERM: {self.child.output()}"
        self.assert_no_crash()

    def has_trapped(self):
        """Whether it ended by a trap; a test that calls this accepts that.

        Without file descriptors libdispatch can trap: when all its threads are busy it reads their
        states in /proc, and traps if it cannot open them (_dispatch_workq_monitor_pools).
        """
        with contextlib.suppress(AssertionError):
            # The output that shows the trap may still be on its way.
            self.child.wait_for_exit()
        self.is_to_crash = self.child.exit_code == -signal.SIGILL
        return self.is_to_crash

    def assert_no_crash(self):
        code = self.child.exit_code
        is_in_order = code is None or code >= 0 or code == -signal.SIGKILL
        assert is_in_order, f"ended by signal {-code}: {self.child.output()}"
        lines = self.child.lines("stdout") + self.child.lines("stderr")
        # Text that the log quotes, such as librdkafka's "Fatal error", is not a crash.
        said = "\n".join(line for line in lines if json_object(line) is None)
        found = [word for word in CRASH_WORDS if word in said]
        assert not found, f"{found} in the output of {self.child.output()}"

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        """Ends it; fails on a crash, and on counts that were never sampled."""
        try:
            if exception[0] is None and self.child.is_running:
                self.sampler.look_last()
            self.child.__exit__(*exception)
        finally:
            self.child.end()
            self.sampler.stop()
        if exception[0] is None and not self.is_to_crash:
            self.assert_no_crash()
        if exception[0] is None:
            self.sampler.check()


def outcomes_of(kafka: Kafka, topics: Topics):
    """Every outcome published so far: (message, outcome)."""
    return [(message, json.loads(message.value())) for message in kafka.read_all(topics.results)]


def position_of(outcome):
    """(partition, offset) of the outcome's event."""
    return (outcome["source"]["partition"], outcome["source"]["offset"])
