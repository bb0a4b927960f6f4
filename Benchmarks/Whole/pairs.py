"""The service in turns of two kinds that differ in one thing: what that thing costs."""

import dataclasses

from Peers import heliograph

from . import turn

# The first is what the second is compared with.
KINDS = {
    "recipients": {
        "one device an event": {},
        "500 recipients an event": {"recipients": 500},
    },
    "partitions": {
        "16 partitions of outcomes": {"outcome_partitions": 16},
        "1,000 partitions of outcomes": {"outcome_partitions": 1000},
    },
}


def measured(on, size, what, count, told):
    """Both kinds in turns: on the same broker and sink, on the same core, the same number of pushes."""
    sizes = {kind: dataclasses.replace(size, **other) for kind, other in KINDS[what].items()}
    found, order = [], list(sizes)
    for number in range(count):
        turns = {}
        for kind in order:
            turns[kind] = turn.take(on, heliograph, sizes[kind])
            told(f"round {number + 1} of {count}: {kind}", turns[kind])
        found.append({"order": list(order), "turns": turns})
        order = order[1:] + order[:1]
    return found
