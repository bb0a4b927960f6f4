"""Measures what an event costs, from Kafka to APNs and back to Kafka, and writes a report.

`whole` runs the service on Apache Kafka (KAFKA_HOME) and a sink on nghttp2; the service has a core
of its own, everything else has the others. `peers` runs other programs for the same job in turns
with it. `recipients` takes turns between events for one device and events with 500 recipients,
`partitions` between a results topic of 16 partitions and one of 1,000. `start` measures how long a
new process takes until its first push, with a source topic of 1,000 partitions.
Each round of `whole` and `peers` also has the floor of an event: what bare loops take for the same work.

A report has every round of one run. It is written to .build/bench, and with `--publish` also to
Benchmarks/reports, to docs/performance.md and to the README.
"""

import argparse
import dataclasses
import functools
import os
import pathlib
import sys

from Peers import heliograph

from . import against, machine, markdown, pairs, parts, peers, profile, publish, service
from . import soak, stage, start
from . import whole as real
from .figures import rounds, summaries, with_ratio
from .floors import FLOOR_TOPICS, FOLDER, h2load_floor, kafka_floor
from .service import Case
from .turn import Size
from .workload import fill

# Growth is measured between the embedded broker and the simulator: it has rows to compare, not
# figures.
GROWTH = {
    "partitions": (1, 16, 100, 1000),
    "outcome_partitions": (1, 16, 100, 1000),
    "payload_bytes": (200, 1000, 4000),
    "connections": (1, 2, 4, 8),
    "shards": (1, 2),
    "in_flight": (100, 1000, 10_000, 100_000),
    "credentials": (1, 10, 100),
    "latency_ms": (1, 10, 50, 100, 500),
}
# The far side holds every stream so long: more of them, or the streams are the limit.
CONNECTIONS_FOR_LATENCY = 8
IN_FLIGHT_FOR_LATENCY = 50_000
GROWTH_EVENTS = 100_000
# Enough to see that it works; nobody may believe it.
QUICK = {"rounds": 1, "events": 20_000, "warm_up": 2_000}
ROUNDS = 5
EVENTS = {"soak": 10_000_000, "profile": 10_000}
WARM_UP = 100_000


def measure_floors(case):
    with service.world(dataclasses.replace(case, latency_ms=0)) as (kafka, simulator, _):
        fill(kafka, FLOOR_TOPICS[0], case.count, case.payload_bytes)
        read = kafka_floor("consume", kafka, FLOOR_TOPICS[0], 0, case.count)
        write = kafka_floor("produce", kafka, FLOOR_TOPICS[1], 0, case.count)
        send = h2load_floor(simulator.ready, case.count, case.payload_bytes)
        return {"floor_us": read + write + send}


def growth_case(name, value, events):
    case = dataclasses.replace(Case(events=events), **{name: value})
    if name == "latency_ms":
        case.connections, case.in_flight = CONNECTIONS_FOR_LATENCY, IN_FLIGHT_FOR_LATENCY
    if name == "in_flight":
        # Enough of them for so many to be in flight, and a broker that holds them.
        case.events, case.partitions = max(events, 2 * value), 64
    return case


def growth(arguments):
    table = {}
    for name in arguments.growth or GROWTH:
        for value in GROWTH[name]:
            case = growth_case(name, value, min(arguments.events, GROWTH_EVENTS))
            measures = (
                functools.partial(measure_floors, case),
                functools.partial(service.drain, case),
            )
            found = summaries(with_ratio(rounds(arguments.rounds, *measures)))
            table.setdefault(name, {})[value] = found
            # Whoever ends a long run early has what was measured.
            print(*markdown.growth(name, {value: found}), sep="\n", file=sys.stderr)
    return table


def told(what, figures):
    cost, rate = figures["cpu_us_per_event"], figures["events_per_second"]
    print(f"{what}: {cost:.2f} µs an event, {rate:,.0f} events/s", file=sys.stderr)


def sized(arguments):
    return Size(
        arguments.warm_up, arguments.events, arguments.payload_bytes, is_quick=arguments.quick
    )


def on_real_parts(arguments):
    """The rounds of the service, or of the service and its peers."""
    stage.require()
    if arguments.what == "peers":
        chosen, lacking = peers.chosen(arguments.only)
        if arguments.publish and (lacking or arguments.only):
            raise SystemExit(f"bench: --publish wants all peers; missing: {lacking or 'by --only'}")
    else:
        chosen, lacking = peers.chosen([peers.OURS])
    size = sized(arguments)
    with stage.set_up() as on:
        found = {
            "size": dataclasses.asdict(size) | {"partitions": stage.PARTITIONS},
            "versions": machine.libraries(on.sink) | peers.versions(chosen),
            "peers": peers.description(chosen),
            "not_run": lacking,
            "rounds": peers.take_rounds(
                on, size, arguments.rounds, peers.of_each(on, chosen, size), told
            ),
        }
        if arguments.what == "peers":
            return found
        found["counts"] = real.count_calls(on, size)
        if arguments.latency:
            found["latency"] = real.latencies(on, arguments.rounds, size.total, arguments.seconds)
    if not arguments.quick:
        found["memory"] = real.memories(arguments.rounds)
    return found


def in_pairs(arguments):
    """The rounds of two kinds of turns."""
    stage.require()
    size = sized(arguments)
    with stage.set_up() as on:
        return {
            "what": arguments.what,
            "size": dataclasses.asdict(size) | {"partitions": stage.PARTITIONS},
            "versions": machine.libraries(on.sink) | heliograph.versions(),
            "pairs": peers.take_rounds(
                on, size, arguments.rounds, pairs.turns(on, size, arguments.what), told
            ),
        }


def cold_starts(arguments):
    stage.require()
    with stage.set_up() as on:
        return {
            "versions": machine.libraries(on.sink) | heliograph.versions(),
            "start": start.measured(on, arguments.rounds, functools.partial(print, file=sys.stderr)),
        }


def parsed():
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = ("all", "whole", "peers", *pairs.KINDS, "start", "soak", "profile", "against")
    parser.add_argument("what", choices=kinds)
    parser.add_argument("folder", nargs="?", help="of `against`: where the other build is")
    parser.add_argument("--rounds", type=int, help=f"{ROUNDS}")
    parser.add_argument("--events", type=int, help="measured in a round; 300,000, or by `what`")
    parser.add_argument("--warm-up", type=int, help=f"events before them; {WARM_UP:,}")
    parser.add_argument("--payload-bytes", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=[], metavar="PEER", help="of `peers`")
    parser.add_argument("--seconds", type=float, default=5, help="of one run at a steady rate")
    parser.add_argument("--latency", action="store_true", help="also at 25, 50 and 90 %% load")
    parser.add_argument(
        "--growth",
        nargs="*",
        choices=GROWTH,
        metavar="NAME",
        help=f"also by these, on the embedded broker: {', '.join(GROWTH)}; without names by all",
    )
    parser.add_argument("--quick", action="store_true", help="one short round, to see that it runs")
    parser.add_argument("--out", type=pathlib.Path, default=FOLDER, help="folder of the report")
    parser.add_argument("--publish", action="store_true", help="the report becomes the published")
    arguments = parser.parse_args()
    if (arguments.what == "against") != (arguments.folder is not None):
        parser.error("`against` wants the folder of another build, and nothing else does")
    if arguments.quick and arguments.publish:
        parser.error("a quick report is not for publishing")
    usual = {"rounds": ROUNDS, "events": EVENTS.get(arguments.what, 300_000), "warm_up": WARM_UP}
    for name, value in (QUICK if arguments.quick else usual).items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, value)
    return arguments


def measured(arguments):
    if arguments.what == "soak":
        return {"soak": soak.measured(arguments.events)}
    if arguments.what in pairs.KINDS:
        return in_pairs(arguments)
    if arguments.what == "start":
        return cold_starts(arguments)
    found = on_real_parts(arguments)
    if arguments.what == "all":
        found["parts"] = parts.measured(arguments.rounds)
    if arguments.growth is not None:
        found["growth"] = growth(arguments)
    return found


def main():
    arguments = parsed()
    if arguments.what == "profile":
        print(profile.told(profile.measured(arguments.events)))
        return
    if arguments.what == "against":
        found = against.measured(arguments.folder, arguments.events, arguments.rounds)
        print(*markdown.figures(found), sep="\n")
        return
    report = {
        "command": " ".join(["scripts/bench", *(word for word in sys.argv[1:] if word != "all")]),
        "commit": machine.commit(),
        "taken_at": machine.now(),
        "machine": machine.described(),
    }
    if arguments.publish and report["commit"].endswith(("+", "unknown")):
        raise SystemExit("bench: --publish wants a clean clone: there are changes without a commit")
    report |= measured(arguments)
    report["machine"]["load_at_end"] = os.getloadavg()[0]
    name = "whole" if arguments.what == "all" else arguments.what
    publish.write(arguments.out, name, report)
    if arguments.publish:
        publish.publish(name, report)
    print(markdown.of(report))


if __name__ == "__main__":
    main()
