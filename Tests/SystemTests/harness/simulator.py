"""The APNs simulator in a process of its own, and what it was asked."""

import contextlib
import dataclasses
import json
import pathlib

from .processes import Child, built_binary


@dataclasses.dataclass
class Simulator:
    """Where the simulator listens, and its request log: one JSON line per answered request."""

    child: Child
    ready: dict
    request_log: pathlib.Path

    def requests(self):
        """Every request so far; a line that is still being written is left for the next time."""
        if not self.request_log.exists():
            return []
        whole, _, _ = self.request_log.read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def accepted(self):
        return [request for request in self.requests() if request["status"] == 200]


@contextlib.contextmanager
def running_simulator(folder, scenario, *further):
    """Starts the simulator with a scenario: a path, or a value to be written as JSON.

    `further` are more arguments.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not isinstance(scenario, pathlib.Path):
        path = folder / "scenario.json"
        path.write_text(json.dumps(scenario))
        scenario = path
    log = folder / "requests.ndjson"
    options = {
        "--scenario": scenario,
        "--request-log": log,
        "--write-ca": folder / "ca.pem",
        "--write-key": folder / "key.p8",
    }
    arguments = [str(part) for option in options.items() for part in option]
    with Child([built_binary("heliograph-lab"), "simulate-apns", *arguments, *further]) as child:
        yield Simulator(child, child.wait_for_json(), log)
