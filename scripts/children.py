"""Child processes that end with the script that starts them."""

import os
import signal
import subprocess
import sys
import tempfile
import threading


class Interrupted(Exception):
    """The script is ending: no command starts any more."""


class Children:
    """Runs commands as a context manager: no command outlives it, nor do files in TMPDIR.

    SIGINT and SIGTERM end the script. Only threads of a pool may call `run`: the main thread
    handles the signals, and one between a start and its registration would orphan the child.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._processes = set()
        self._isOver = False

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._interrupt)
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        return self

    def __exit__(self, *_):
        self._end()
        self._folder.cleanup()

    def run(self, command, timeout=None, environment={}):
        """The exit code, None after a timeout, and the output."""
        with self._lock:
            if self._isOver:
                raise Interrupted
            # In its own process group, so that its children end with it.
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", process_group=0,
                env={**os.environ, "TMPDIR": self._folder.name, **environment})
            self._processes.add(process)
        try:
            output, _ = process.communicate(timeout=timeout)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            signal_group(process, signal.SIGKILL)
            return None, process.communicate()[0]
        finally:
            with self._lock:
                self._processes.discard(process)

    def _interrupt(self, number, _):
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, signal.SIG_IGN)
        self._end()
        sys.exit(128 + number)

    def _end(self):
        """SIGINT first, because `swift build` puts its children into their own groups; then SIGKILL."""
        with self._lock:
            self._isOver = True
            processes = list(self._processes)
        for process in processes:
            signal_group(process, signal.SIGINT)
        for process in processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                pass
            signal_group(process, signal.SIGKILL)


def signal_group(process, number):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
