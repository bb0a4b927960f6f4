"""Rounds of measures, and what is told of them."""

import statistics
import sys


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


def summaries(found):
    return {name: summary(figures) for name, figures in found.items()}


def with_ratio(found):
    """Adds what the service costs in floors, round by round: both were taken one after another."""
    pairs = zip(found["cpu_us_per_event"], found["floor_us"])
    return {**found, "ratio_to_floor": [cost / floor for cost, floor in pairs]}
