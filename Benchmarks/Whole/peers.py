"""Clients in turns: on the same broker, events and sink, each alone on the same core."""

import functools
import importlib
import pathlib

import Peers

from . import turn, whole

FOLDER = pathlib.Path(Peers.__file__).parent
OURS = "heliograph"
FLOORS = "floors"


def names():
    """A file a peer; what a peer runs itself ends in `_service.py`."""
    files = [path.stem for path in FOLDER.glob("*.py")]
    others = sorted(n for n in files if not n.endswith(("_service", "__")) and n != OURS)
    return [OURS, *others]


def chosen(wanted):
    """The peers that this machine can run, ours first, and why it cannot run the others."""
    unknown = set(wanted) - set(names())
    if unknown:
        raise SystemExit(f"bench: no such peer: {', '.join(sorted(unknown))}; see Benchmarks/Peers")
    modules = {
        name: importlib.import_module(f"Peers.{name}")
        for name in names()
        if not wanted or name in (OURS, *wanted)
    }
    lacking = {name: why for name, module in modules.items() if (why := module.missing())}
    if wanted and lacking:
        raise SystemExit(f"bench: these cannot run here: {lacking}")
    return {n: m for n, m in modules.items() if n not in lacking}, lacking


def take_rounds(on, size, count, turns, told):
    """Every round: the floors and each turn; which is first changes from round to round.

    `turns` are functions by name. Floors are taken once before, so that the broker is warm.
    """
    whole.measure_floors(on, size)
    found, order = [], [FLOORS, *turns]
    for number in range(count):
        figures = {"order": list(order), "turns": {}}
        for name in order:
            if name == FLOORS:
                figures["floors"] = whole.measure_floors(on, size)
                continue
            figures["turns"][name] = turns[name]()
            told(f"round {number + 1} of {count}: {name}", figures["turns"][name])
        found.append(figures)
        order = order[1:] + order[:1]
    return found


def of_each(on, peers, size):
    """The turns of the peers."""
    return {
        name: functools.partial(turn.take, on, peer, size) for name, peer in peers.items()
    }


def description(peers):
    return {name: {"title": peer.TITLE, "omits": peer.OMITS} for name, peer in peers.items()}


def versions(peers):
    found = {}
    for peer in peers.values():
        found |= peer.versions()
    return found
