"""The whole service under callgrind: the instructions of its shard's thread an event, by function.

They move by less than 1 % from run to run, whatever else the machine does; what a function costs in
time, they tell only roughly, and valgrind's CPU has neither AVX-512 nor SHA instructions. Only a
shard's turns are counted, the first ones with their handshakes among them.
"""

import contextlib
import os
import pathlib
import re
import subprocess

from harness.processes import built_binary

from . import service, workload
from .floors import FOLDER, built

ROWS = 60
SECONDS = 300
# The module and the type have one name, which is mangled once.
TURN = "$s5ShardAAV4turn*"
NAME = re.compile(r"\s*([\d,]+) \([ \d.]+%\)\s+(.*)")


def measured(events):
    """Pairs of a function's name and its instructions an event, those of its callees included."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("callgrind.out*"):
        old.unlink()
    case = service.Case(events=events, partitions=4, outcome_partitions=4)
    with service.world(case) as (kafka, simulator, folder):
        workload.fill(kafka, service.TOPICS.source, case.count, case.payload_bytes)
        with counting(folder), service.running(case, kafka, simulator, folder) as running:
            service.sample_from(case.count, running, seconds=SECONDS)
            dump = ["callgrind_control", "-d", str(running.child.pid)]
            subprocess.run(dump, check=True, stdout=subprocess.DEVNULL)
    rows = [(name, count / case.count) for name, count in functions(shard_counts())]
    # Before it stand only its callers.
    first = next(index for index, (name, _) in enumerate(rows) if name.startswith("Shard.turn"))
    return rows[first : first + ROWS]


@contextlib.contextmanager
def counting(folder):
    """Has the harness start the service under valgrind, which reads no debug information of Swift's
    compiler, and whose main thread must not end."""
    binary, lab = built_binary("heliograph"), built_binary("heliograph-lab")
    folder = folder / "counted"
    folder.mkdir()
    subprocess.run(["objcopy", "--strip-debug", binary, folder / "service"], check=True)
    (folder / "heliograph-lab").symlink_to(lab)
    queue = built("../Tests/Memcheck/main_queue.c", "main_queue.so", "-shared", "-fPIC")
    out = FOLDER / "callgrind.out"
    script = folder / "heliograph"
    script.write_text(
        f"#!/bin/sh\nLD_PRELOAD={queue} exec valgrind --quiet --tool=callgrind"
        f" --separate-threads=yes '--toggle-collect={TURN}' --callgrind-out-file={out}"
        f' {folder}/service "$@"\n'
    )
    script.chmod(0o755)
    before = os.environ.get("HELIOGRAPH_TEST_BIN_PATH")
    os.environ["HELIOGRAPH_TEST_BIN_PATH"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HELIOGRAPH_TEST_BIN_PATH"]
        else:
            os.environ["HELIOGRAPH_TEST_BIN_PATH"] = before


def shard_counts() -> pathlib.Path:
    """The thread that counted most: the others make no turns."""

    def total(path):
        found = re.search(r"^(?:summary|totals): (\d+)", path.read_text(), re.MULTILINE)
        return int(found.group(1)) if found else 0

    return max(FOLDER.glob("callgrind.out.*"), key=total)


def functions(path):
    words = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(path)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = [match.groups() for match in map(NAME.fullmatch, text.splitlines()) if match]
    names = "\n".join(re.sub(r"^.*?:| \[.*", "", name) for _, name in rows)
    demangle = ["swift", "demangle", "--simplified"]
    done = subprocess.run(demangle, input=names, capture_output=True, text=True, check=True)
    counts = (int(count.replace(",", "")) for count, _ in rows)
    return list(zip(done.stdout.splitlines(), counts))


def told(rows):
    """A Markdown table."""
    lines = [f"| {count:,.0f} | `{name}` |" for name, count in rows]
    return "\n".join(["| instructions an event | function |", "|---:|---|", *lines])
