"""The service in turns of two kinds that differ in one thing: what that thing costs."""

import dataclasses
import functools

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


def turns(on, size, what):
    """Both kinds: on the same broker and sink, on the same core, the same number of pushes."""
    return {
        kind: functools.partial(turn.take, on, heliograph, dataclasses.replace(size, **other))
        for kind, other in KINDS[what].items()
    }
