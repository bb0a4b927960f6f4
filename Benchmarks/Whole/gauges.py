"""What a process has used so far, read from /proc (proc(5)) and getrusage(2)."""

import dataclasses
import os
import pathlib
import re
import resource
import struct
import subprocess

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass
class Usage:
    """Of all threads, since the process began."""

    cpu_seconds: float
    context_switches: int
    system_calls: int | None
    allocations: int | None

    def __sub__(self, before):
        def less(now, then):
            return None if now is None or then is None else now - then

        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(before))
        return Usage(*(less(now, then) for now, then in pairs))


def usage(pid, allocations=None):
    """`allocations`: the file that Benchmarks/Whole/allocations.c counts in."""
    process = pathlib.Path(f"/proc/{pid}")
    # The second field is the command in parentheses, which may hold anything.
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
    switches = 0
    for thread in (process / "task").iterdir():
        try:
            text = (thread / "status").read_text()
        except FileNotFoundError:
            continue
        switches += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", text)))
    counted = None
    if allocations is not None:
        counted = struct.unpack("=Q", allocations.read_bytes())[0]
    return Usage(cpu, switches, None, counted)


def resident_bytes(pid, field="VmRSS"):
    """`VmRSS`: now; `VmHWM`: at its highest."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+) kB", text).group(1)) * 1024


def run_and_measure(arguments, **options):
    """Runs a command to its end; its output, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return done.stdout, spent
