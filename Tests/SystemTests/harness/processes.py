"""A child process whose output is read line by line and which never outlives its test."""

import json
import os
import pathlib
import signal
import subprocess
import threading

from .deadlines import Deadline

ROOT = pathlib.Path(__file__).resolve().parents[3]
# With this prefix the kernel ends a command when the tests end, however they end (prctl(2),
# PR_SET_PDEATHSIG).
LEASH = ("setpriv", "--pdeathsig", "KILL", "--")


def built_binary(name):
    """The binary under test, built by `scripts/test` or by hand as a release."""
    folder = os.environ.get("HELIOGRAPH_TEST_BIN_PATH") or ROOT / ".build" / "release"
    path = pathlib.Path(folder) / name
    assert path.is_file(), f"{path} is not built; run scripts/test, or set HELIOGRAPH_TEST_BIN_PATH"
    return str(path)


def clean_environment():
    """The environment without what is for tests and benchmarks: the service refuses unknown ones."""
    own = ("HELIOGRAPH_TEST_", "HELIOGRAPH_BENCH_")
    return {k: v for k, v in os.environ.items() if not k.startswith(own)}


class Child:
    """A running process; `lines("stderr")` grows with its output."""

    def __init__(self, arguments, environment=None, takes_input=False, folder=None):
        self.name = pathlib.Path(arguments[0]).name
        self._spoken = threading.Condition()
        self._lines = {"stdout": [], "stderr": []}
        self._open_streams = 2
        # Whether the test has checked how it ended.
        self._is_end_known = False
        self._process = subprocess.Popen(
            [*LEASH, *arguments],
            stdin=subprocess.PIPE if takes_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**clean_environment(), **(environment or {})},
            cwd=folder,
        )
        self._readers = [
            threading.Thread(target=self._read, args=(name, stream), daemon=True)
            for name, stream in (("stdout", self._process.stdout), ("stderr", self._process.stderr))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, name, stream):
        for line in stream:
            with self._spoken:
                self._lines[name].append(line.decode("utf-8", "replace").rstrip("\n"))
                self._spoken.notify_all()
        with self._spoken:
            self._open_streams -= 1
            self._spoken.notify_all()

    @property
    def pid(self):
        return self._process.pid

    @property
    def is_silent(self):
        """Whether both output streams are closed: it has ended or is about to."""
        return self._open_streams == 0

    @property
    def is_running(self):
        return self._process.poll() is None

    @property
    def exit_code(self):
        """None while it runs; negative if a signal ended it."""
        return self._process.poll()

    def lines(self, stream):
        with self._spoken:
            return list(self._lines[stream])

    def output(self):
        """Its whole output, for the message of a failing test."""
        return f"{self.name} ({self._process.poll()}):\n" + "\n".join(
            self.lines("stdout")[-20:] + self.lines("stderr")[-60:]
        )

    def wait_for(self, stream, match, seconds=60):
        """Waits for the first line for which `match(line)` is not None; returns that value."""
        deadline, seen = Deadline(seconds), 0
        with self._spoken:
            while True:
                for line in self._lines[stream][seen:]:
                    seen += 1
                    found = match(line)
                    if found is not None:
                        return found
                if deadline.passed or self._open_streams == 0:
                    break
                self._spoken.wait(deadline.remaining)
        raise AssertionError(f"no such line on {stream} within {seconds} s from {self.output()}")

    def wait_for_json(self, stream="stdout", seconds=60):
        """The first JSON object that it prints."""
        return self.wait_for(stream, json_object, seconds)

    def wait_for_exit(self, seconds=60):
        """Waits for the exit code; negative if a signal ended it."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {seconds} s: {self.output()}") from None
        self._is_end_known = True
        for reader in self._readers:
            reader.join(60)
        return code

    def tell(self, line):
        """Writes a line to its standard input."""
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def send(self, number):
        if self.is_running:
            self._process.send_signal(number)

    def terminate(self, seconds=60):
        """Asks it to end (SIGTERM) and returns the exit code."""
        self.send(signal.SIGTERM)
        return self.wait_for_exit(seconds)

    def kill(self):
        """Ends it with SIGKILL, as a crash would. It must still be running."""
        code = self.end()
        assert code == -signal.SIGKILL, f"it had ended before it was killed: {self.output()}"

    def end(self):
        """Ends it if it still runs; returns the exit code."""
        self.send(signal.SIGKILL)
        return self.wait_for_exit()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        ended_alone = not self.is_running and not self._is_end_known
        self.end()
        if exception[0] is None:
            assert not ended_alone, f"it ended without a request: {self.output()}"


def json_object(line):
    """The line as a JSON object, or None."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
