"""What a process has used so far: its CPU clock, /proc (proc(5)), getrusage(2), and perf."""

import contextlib
import dataclasses
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import time


@dataclasses.dataclass
class Usage:
    """Of all threads, since the process began."""

    cpu_seconds: float
    context_switches: int
    allocations: int | None

    def __sub__(self, before):
        def less(now, then):
            return None if now is None or then is None else now - then

        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(before))
        return Usage(*(less(now, then) for now, then in pairs))


def threads(pid):
    """Each thread's folder in /proc, its status, and whether it is the admin port's.

    That one works for whoever asks, here the harness, and is left out where threads are counted.
    """
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        # A thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status = (thread / "status").read_text()
            yield thread, status, status.startswith("Name:\tadmin\n")


def usage(pid, allocations=None):
    """`allocations`: the file that Benchmarks/Whole/allocations.c counts in."""
    switches, admin_seconds = 0, 0.0
    for thread, status, is_admin in threads(pid):
        if is_admin:
            # Nanoseconds on the CPU.
            admin_seconds = int((thread / "schedstat").read_text().split()[0]) / 1e9
        else:
            switches += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", status)))
    counted = None
    if allocations is not None:
        counted = struct.unpack("=Q", allocations.read_bytes())[0]
    return Usage(cpu_seconds(pid) - admin_seconds, switches, counted)


def cpu_seconds(pid):
    """User and system, to the nanosecond: the clock that clock_getcpuclockid(3) names."""
    return time.clock_gettime((~pid << 3) | 2)


def resident_bytes(pid, field="VmRSS"):
    """`VmRSS`: now; `VmHWM`: at its highest."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", text).group(1)) * 1024


def run_and_measure(arguments, **options):
    """Runs a command to its end; its output, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return done.stdout, spent


def bytes_by_port(pid):
    """{port of the peer: (received, sent)} over a process's open connections, or {} without ss(8).

    What TCP carried, without its headers and without what was sent twice.
    """
    try:
        words = ["ss", "-tinpH", "state", "established"]
        told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError:
        return {}
    found = {}
    # Two lines for each connection: its addresses and owner, and its counters.
    for addresses, counters in re.findall(rf"^(\S.*\bpid={pid},.*)\n(\s.*)$", told, re.MULTILINE):
        port = int(re.search(r":(\d+)\s+users:", addresses).group(1))
        received, sent = found.get(port, (0, 0))
        received += _counter("bytes_received", counters)
        found[port] = (received, sent + _counter("bytes_acked", counters))
    return found


def _counter(name, text):
    value = re.search(rf"\b{name}:(\d+)", text)
    return int(value.group(1)) if value else 0


class SystemCalls:
    """Counts a process's system calls between two moments, where the kernel lets perf do it."""

    EVENT = "raw_syscalls:sys_enter"

    @classmethod
    def can_be_counted(cls):
        try:
            words = ["perf", "stat", "-e", cls.EVENT, "true"]
            done = subprocess.run(words, capture_output=True, text=True)
        except FileNotFoundError:
            return False
        return done.returncode == 0 and "not supported" not in done.stderr

    def __init__(self, pid):
        """Waits until perf is attached to every thread that there is, and those that they start."""
        wishes, self._wishes = os.pipe()
        self._answers, answers = os.pipe()
        words = ["perf", "stat", "-x,", "-D", "-1", "-e", self.EVENT, "-p", str(pid)]
        self._perf = subprocess.Popen(
            [*words, "--control", f"fd:{wishes},{answers}"],
            pass_fds=(wishes, answers),
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(wishes)
        os.close(answers)
        # An answer comes when it is attached.
        self._tell("disable")

    def _tell(self, wish):
        os.write(self._wishes, f"{wish}\n".encode())
        assert os.read(self._answers, 16).startswith(b"ack"), f"perf does not {wish}"

    def begin(self):
        self._tell("enable")

    def end(self):
        """How many there were since `begin`; None if no thread ran meanwhile."""
        self._tell("disable")
        self._perf.send_signal(signal.SIGINT)
        _, told = self._perf.communicate(timeout=20)
        os.close(self._wishes)
        os.close(self._answers)
        count = told.strip().splitlines()[-1].split(",")[0]
        return int(count) if count.isdigit() else None
