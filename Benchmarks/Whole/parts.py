"""The parts, as heliograph-bench measures them."""

import json
import subprocess

from harness.processes import built_binary

from .figures import summary


def measured(runs):
    """{part: summary of its nanoseconds, with its ratio to simdjson's bare parse}."""
    words = [built_binary("heliograph-bench"), "--json", "--runs", str(runs)]
    output = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {name: summary(figures) for name, figures in json.loads(output).items()}
    floor = next(iter(found.values()))["median"]
    return {name: {**told, "ratio": told["median"] / floor} for name, told in found.items()}
