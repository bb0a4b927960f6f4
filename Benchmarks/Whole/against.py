"""Two builds of the service at once: what disturbs the machine disturbs both."""

import concurrent.futures
import contextlib
import pathlib

from . import workload
from .figures import rounds as rounds_of
from .figures import summaries
from .service import TOPICS, Case, drained, running, world

# Of a backlog: the slower one is to be measured while the other still works.
SHARE = 0.7


def measured(folder, events, rounds):
    """CPU microseconds an event of this build and of the one in `folder`, and their ratio."""
    other = pathlib.Path(folder) / "heliograph"
    if not other.is_file():
        raise SystemExit(f"bench: {other} is not there")
    # As many partitions as the embedded broker needs to hold them.
    case = Case(events=events, partitions=64)
    numbers = iter(range(rounds))
    return summaries(rounds_of(rounds, lambda: one_round(case, other, next(numbers))))


def one_round(case, other, number):
    with contextlib.ExitStack() as stack:
        worlds = [stack.enter_context(world(case)) for _ in range(2)]
        for kafka, _, _ in worlds:
            workload.fill(kafka, TOPICS.source, case.count, case.payload_bytes)
        # Who starts first takes turns.
        binaries = [None, other] if number % 2 == 0 else [other, None]
        services = [
            stack.enter_context(running(case, *parts, binary=binary))
            for parts, binary in zip(worlds, binaries)
        ]
        with concurrent.futures.ThreadPoolExecutor(2) as both:
            found = list(both.map(lambda service: drained(case, service, SHARE), services))
    this, that = found if number % 2 == 0 else reversed(found)
    this, that = this["cpu_us_per_event"], that["cpu_us_per_event"]
    return {"this_us": this, "other_us": that, "this_over_other": this / that}


def told(found):
    names = {
        "this_us": "this build, µs an event",
        "other_us": "the other, µs an event",
        "this_over_other": "this build, x the other",
    }
    rows = ["| figure | min | median | max |", "|---|---:|---:|---:|"]
    for name, text in names.items():
        figure = found[name]
        cells = (f"{figure[key]:.2f}" for key in ("min", "median", "max"))
        rows.append(f"| {text} | {' | '.join(cells)} |")
    return "\n".join(rows)
