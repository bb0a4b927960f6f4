"""Measures the whole service, Kafka to Kafka, and the libraries underneath it in the same rounds.

Every figure has its minimum, median and maximum over the rounds. The floor of an event is what
librdkafka takes to read and to write a record, and h2load to send a request: bare loops, run one
after the other in every round. On shared machines only the ratio to it can be compared.
"""

import argparse
import dataclasses
import json
import os
import statistics
import sys
import time

from . import floors, service, workload
from .floors import FOLDER
from .service import Case

OUTCOME_BYTES = 480
GROWTH = {
    "partitions": (1, 16, 100, 1000),
    "payload_bytes": (200, 1000, 4000),
    "connections": (1, 2, 4, 8),
    "shards": (1, 2),
    "in_flight": (100, 1000, 10_000, 100_000),
    "credentials": (1, 10, 100),
    "latency_ms": (1, 50, 500),
}


def measure_floors(case):
    with service.world(case) as (kafka, simulator, _):
        for topic in ("floor-read", "floor-write"):
            kafka.create(topic, case.partitions)
        workload.fill(kafka, "floor-read", case.events, case.payload_bytes)
        read = floors.kafka_floor("consume", kafka, "floor-read", case.events)
        write = floors.kafka_floor("produce", kafka, "floor-write", case.events, OUTCOME_BYTES)
        send = floors.h2load_floor(simulator, case.events, case.payload_bytes)
        return {
            "consume_us": read,
            "produce_us": write,
            "h2load_us": send,
            "floor_us": read + write + send,
        }


def rounds(count, *measures):
    """Takes every measure in turn, so that a busy minute falls on all; {name: [figures]}."""
    found = {}
    for number in range(count):
        for measure in measures:
            for name, figure in measure().items():
                found.setdefault(name, []).append(figure)
        print(f"round {number + 1} of {count}", file=sys.stderr)
    return found


def summary(figures):
    low, high = min(figures), max(figures)
    return {"min": low, "median": statistics.median(figures), "max": high, "runs": len(figures)}


def whole(arguments):
    case = Case(events=arguments.events)
    found = rounds(
        arguments.rounds, lambda: measure_floors(case), lambda: service.drain(case)
    )
    pairs = zip(found["cpu_us_per_event"], found["floor_us"])
    found["ratio_to_floor"] = [cost / floor for cost, floor in pairs]
    counted = dataclasses.replace(case, counts_allocations=True)
    found["allocations_per_event"] = [service.drain(counted)["allocations_per_event"]]
    return {name: summary(figures) for name, figures in found.items()}


def loads(arguments, per_second):
    """Latency at shares of the throughput that was measured before."""
    case = Case()
    shares = {}
    for share in (0.25, 0.5, 0.9):
        rate = per_second * share
        found = rounds(arguments.rounds, lambda: service.latency(case, rate, arguments.seconds))
        shares[f"{share:.0%}"] = {
            "events_per_second": rate,
            **{name: summary(figures) for name, figures in found.items()},
        }
    return shares


def growth(arguments):
    table = {}
    for name, values in GROWTH.items():
        for value in values:
            case = dataclasses.replace(Case(events=arguments.events), **{name: value})
            found = rounds(arguments.rounds, lambda: service.drain(case))
            table.setdefault(name, {})[value] = {k: summary(v) for k, v in found.items()}
    return table


def row(name, figures):
    cells = (f"{figures[word]:.2f}" for word in ("min", "median", "max"))
    return f"| {name} | {' | '.join(cells)} |"


def markdown(report):
    lines = ["| figure | min | median | max |", "|---|---:|---:|---:|"]
    lines += [row(name, figures) for name, figures in report["whole"].items()]
    for share, figures in report.get("latency", {}).items():
        rate = figures.pop("events_per_second")
        label = f"at {share} ({rate:.0f} events/s)"
        lines += [row(f"{label}: {name}", values) for name, values in figures.items()]
        figures["events_per_second"] = rate
    for parameter, values in report.get("growth", {}).items():
        for value, figures in values.items():
            lines += [row(f"{parameter} {value}: {name}", f) for name, f in figures.items()]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench whole", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=60_000, help="of one run")
    parser.add_argument("--seconds", type=float, default=5, help="of one run at a steady rate")
    parser.add_argument("--latency", action="store_true", help="also at 25, 50 and 90 %% load")
    parser.add_argument("--growth", action="store_true", help="also by partitions, payload, ...")
    arguments = parser.parse_args()
    report = {
        "taken_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cores": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
        "whole": whole(arguments),
    }
    if arguments.latency:
        report["latency"] = loads(arguments, report["whole"]["events_per_second"]["median"])
    if arguments.growth:
        report["growth"] = growth(arguments)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "whole.json").write_text(json.dumps(report, indent=2) + "\n")
    text = markdown(report)
    (FOLDER / "whole.md").write_text(text + "\n")
    print(text)


main()
