"""Runs experiments and prints one table row for each."""

import contextlib
import pathlib
import tempfile
import time
import traceback

from . import peers, processes, resources  # noqa: F401  (they register their experiments)
from .lab import EXPERIMENTS, MEBIBYTE, Lab

HEADINGS = (
    "no.", "experiment", "broker", "seed", "events", "pushes", "repeated", "bound", "RSS max",
    "recovery", "took", "result",
)
HEADER = "| " + " | ".join(HEADINGS) + " |\n|" + "---|" * len(HEADINGS)


def run(number, seed, is_short, folder=None):
    """Runs one experiment; returns its table row, and the failure if there was one."""
    title, function = EXPERIMENTS[number]
    failure, begun = None, time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(folder or stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            with contextlib.ExitStack() as world:
                lab = Lab(folder, world, seed, is_short)
                function(lab)
                lab.finish()
        except Exception as error:
            failure = error
    return line(number, title, lab.seed, lab.numbers, time.monotonic() - begun, failure), failure


def line(number, title, seed, numbers, seconds, failure):
    def shown(value, form="{}"):
        return "-" if value is None else form.format(value)

    result = "; ".join(
        ([f"FAILED: {str(failure).splitlines()[0]}"] if failure else ["passed"])
        + [f"missed: {text}" for text in numbers.missed]
        + numbers.notes
    )
    cells = (
        number, title, numbers.broker, seed, shown(numbers.events), shown(numbers.pushes),
        shown(numbers.repeated), shown(numbers.bound),
        shown(numbers.rss_bytes / MEBIBYTE if numbers.rss_bytes else None, "{:.0f} MiB"),
        shown(numbers.recovery_seconds, "{:.1f} s"), f"{seconds:.0f} s", result,
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def run_all(numbers, seed, is_short):
    """Prints the table row by row; returns how many experiments failed."""
    print(HEADER, flush=True)
    failures = []
    for number in numbers:
        text, failure = run(number, seed, is_short)
        print(text, flush=True)
        if failure:
            failures.append((number, failure))
    for number, failure in failures:
        print(f"\nexperiment {number}: scripts/chaos --only {number} --seed {seed}")
        traceback.print_exception(failure)
    return len(failures)
