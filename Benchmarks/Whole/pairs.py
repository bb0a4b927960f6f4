"""What a push of an event with many recipients costs, next to that of an event for one device."""

import dataclasses

from Peers import heliograph

from . import turn

ONE, MANY = "one device an event", "recipients"


def measured(on, size, recipients, count, told):
    """Both in turns: on the same broker and sink, on the same core, the same number of pushes."""
    sizes = {ONE: size, MANY: dataclasses.replace(size, recipients=recipients)}
    found, order = [], list(sizes)
    for number in range(count):
        turns = {}
        for name in order:
            turns[name] = turn.take(on, heliograph, sizes[name])
            told(f"round {number + 1} of {count}: {name}", turns[name])
        found.append({"order": list(order), "turns": turns})
        order = order[1:] + order[:1]
    return found
