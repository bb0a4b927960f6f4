"""The APNs simulator in its own process, and its request log."""

import contextlib
import dataclasses
import json
import pathlib
import urllib.error
import urllib.request

from .processes import Child, built_binary


@dataclasses.dataclass
class Simulator:
    """The simulator's addresses, and its request log: one JSON line per answered request.

    None: no log.
    """

    child: Child
    ready: dict
    request_log: pathlib.Path | None

    def requests(self):
        """Every request so far, without a line that is still being written."""
        assert self.request_log, "the simulator was started without a request log"
        if not self.request_log.exists():
            return []
        whole, _, _ = self.request_log.read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def count(self):
        """How many requests there are."""
        return self.request_log.read_bytes().count(b"\n") if self.request_log.exists() else 0

    def accepted(self):
        return [request for request in self.requests() if request["status"] == 200]

    def control(self, method, path, body=None):
        """Sends a request to the control endpoint; returns the status and the JSON of the answer."""
        request = urllib.request.Request(
            self.ready["control"] + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as failure:
            return failure.code, json.loads(failure.read() or b"null")


def keys_option(path, *keys):
    """Writes a key file of these objects; returns the options that name it.

    By default the keys belong to the simulator's own team.
    """
    path.write_text(json.dumps([{"team_id": "DEF123GHIJ", **key} for key in keys]))
    return ["--keys", path]


@contextlib.contextmanager
def running_simulator(folder, scenario, options=(), logs_requests=True):
    """Starts the simulator with a scenario: a path, or a value to write as JSON.

    `options` are extra command-line options.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not isinstance(scenario, pathlib.Path):
        path = folder / "scenario.json"
        path.write_text(json.dumps(scenario))
        scenario = path
    log = folder / "requests.ndjson" if logs_requests else None
    files = {
        "--scenario": scenario,
        "--write-ca": folder / "ca.pem",
        "--write-key": folder / "key.p8",
    }
    if log:
        files["--request-log"] = log
    arguments = [str(part) for option in files.items() for part in option]
    arguments += [str(word) for word in options]
    with Child([built_binary("heliograph-lab"), "simulate-apns", *arguments]) as child:
        yield Simulator(child, child.wait_for_json(), log)
