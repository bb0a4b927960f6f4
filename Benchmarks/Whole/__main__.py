"""Measures the parts, the whole service, Kafka to Kafka, and the libraries underneath it.

Every figure has its minimum, median and maximum over the rounds. The floor of an event is what
librdkafka takes to read and to write a record, and h2load to send a request: bare loops, run one
after the other in every round. On shared machines only the ratio to it can be compared.

The report is .build/bench/report.md and report.json; `soak` writes soak.md and soak.json. With
`--publish` it also takes the place of the one before in docs/performance.md.
"""

import argparse
import dataclasses
import functools
import json
import os
import re
import sys
import time

from harness.processes import ROOT

from . import against, floors, markdown, parts, profile, service, soak, workload
from .figures import rounds, summaries, with_ratio
from .floors import FLOOR_TOPICS, FOLDER, OUTCOME_BYTES
from .service import Case

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
PAGE = ROOT / "docs" / "performance.md"


def measure_floors(case):
    with service.world(dataclasses.replace(case, latency_ms=0)) as (kafka, simulator, _):
        workload.fill(kafka, FLOOR_TOPICS[0], case.count, case.payload_bytes)
        read = floors.kafka_floor("consume", kafka, FLOOR_TOPICS[0], case.count)
        write = floors.kafka_floor("produce", kafka, FLOOR_TOPICS[1], case.count, OUTCOME_BYTES)
        send = floors.h2load_floor(simulator, case.count, case.payload_bytes)
        return {
            "consume_us": read,
            "produce_us": write,
            "h2load_us": send,
            "floor_us": read + write + send,
        }


def beside_floors(case, count):
    return with_ratio(rounds(count, lambda: measure_floors(case), lambda: service.drain(case)))


def whole(arguments):
    case = Case(events=arguments.events)
    found = summaries(beside_floors(case, arguments.rounds))
    found |= summaries(rounds(1, lambda: service.count_calls(case)))
    return found | summaries(rounds(arguments.rounds, lambda: service.memory(100_000)))


def loads(arguments):
    """Latency at shares of what passes while somebody writes and reads beside the service."""
    case, found = service.steady(events=2 * arguments.events), {}
    full = summaries(rounds(arguments.rounds, lambda: service.at_a_rate(case, 0, 0)))
    for share in (0.25, 0.5, 0.9):
        rate = full["events/s"]["median"] * share
        measure = functools.partial(service.at_a_rate, case, rate, arguments.seconds)
        found[f"{share:.0%}"] = summaries(rounds(arguments.rounds, measure))
    return {**found, "as fast as it goes": full}


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
    for name, values in GROWTH.items():
        for value in values:
            case = growth_case(name, value, arguments.events)
            found = summaries(beside_floors(case, arguments.rounds))
            table.setdefault(name, {})[value] = found
            # Whoever ends a long run early has what was measured.
            print(*markdown.growth(name, {value: found}), sep="\n", file=sys.stderr)
    return table


def machine():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    return {
        "cores": os.cpu_count(),
        "cpu": model.group(1) if model else "an unnamed CPU",
        "load_at_start": os.getloadavg()[0],
    }


def parsed():
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("all", "whole", "soak", "profile", "against"))
    parser.add_argument("folder", nargs="?", help="of `against`: where the other build is")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, help="of one run; 100,000, or by `what`")
    parser.add_argument("--seconds", type=float, default=5, help="of one run at a steady rate")
    parser.add_argument("--latency", action="store_true", help="also at 25, 50 and 90 %% load")
    parser.add_argument("--growth", action="store_true", help="also by partitions, payload, ...")
    parser.add_argument("--publish", action="store_true", help="put it into docs/performance.md")
    arguments = parser.parse_args()
    if (arguments.what == "against") != (arguments.folder is not None):
        parser.error("`against` wants the folder of another build, and nothing else does")
    if arguments.events is None:
        arguments.events = {
            "soak": 10_000_000,
            "profile": 10_000,
            "against": 300_000,
        }.get(arguments.what, 100_000)
    return arguments


def measured(arguments):
    if arguments.what == "soak":
        return {"soak": soak.measured(arguments.events)}
    found = {"parts": parts.measured(arguments.rounds)} if arguments.what == "all" else {}
    found["whole"] = whole(arguments)
    if arguments.latency:
        found["latency"] = loads(arguments)
    if arguments.growth:
        found["growth"] = growth(arguments)
    return found


def main():
    arguments = parsed()
    if arguments.what == "profile":
        print(profile.told(profile.measured(arguments.events)))
        return
    if arguments.what == "against":
        found = against.measured(arguments.folder, arguments.events, arguments.rounds)
        print(*markdown.whole(found), sep="\n")
        return
    report = {
        "taken_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "rounds": 1 if arguments.what == "soak" else arguments.rounds,
        "machine": machine(),
    }
    report |= measured(arguments)
    report["machine"]["load_at_end"] = os.getloadavg()[0]
    name = "soak" if arguments.what == "soak" else "report"
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(report, indent=2) + "\n")
    text = markdown.of(report)
    (FOLDER / f"{name}.md").write_text(text)
    if arguments.publish:
        PAGE.write_text(markdown.published(PAGE.read_text(), name, text))
    print(text)


if __name__ == "__main__":
    main()
