"""The command behind scripts/chaos."""

import argparse
import random
import signal
import sys

from .lab import EXPERIMENTS
from .runner import run_all


def main():
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--short", action="store_true", help="small numbers; takes minutes in total")
    parser.add_argument("--only", type=int, action="append", choices=range(1, 17), metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 16))
    options = parser.parse_args()
    # # SIGTERM raises KeyboardInterrupt, so that child processes end and files are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    numbers = options.only or sorted(EXPERIMENTS)
    return min(run_all(numbers, options.seed, options.short), 1)


sys.exit(main())
