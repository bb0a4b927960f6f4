"""Two builds of the service at once: what disturbs the machine disturbs both."""

import concurrent.futures
import contextlib
import math
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
    return summaries(rounds_of(rounds, lambda: one_round(case, other)))


def one_round(case, other):
    """Twice, because it matters who starts first."""
    this_first, that_last = pair(case, None, other)
    that_first, this_last = pair(case, other, None)
    return {
        "this_us": (this_first + this_last) / 2,
        "other_us": (that_first + that_last) / 2,
        "this_over_other": math.sqrt(this_first / that_last * this_last / that_first),
    }


def pair(case, *binaries):
    """What an event costs each of two services at once."""
    with contextlib.ExitStack() as stack:
        worlds = [stack.enter_context(world(case)) for _ in binaries]
        for kafka, _, _ in worlds:
            workload.fill(kafka, TOPICS.source, case.count, case.payload_bytes)
        services = [
            stack.enter_context(running(case, *parts, binary=binary))
            for parts, binary in zip(worlds, binaries)
        ]
        with concurrent.futures.ThreadPoolExecutor(len(services)) as both:
            found = both.map(lambda service: drained(case, service, SHARE), services)
            return [figures["cpu_us_per_event"] for figures in found]
