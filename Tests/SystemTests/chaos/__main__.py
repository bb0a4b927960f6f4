"""The command behind scripts/chaos."""

import argparse
import os
import random
import signal
import sys
import tempfile

from harness.apache_kafka import kafka_home

from . import cluster
from .lab import EXPERIMENTS
from .runner import run_all


def main():
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__)
    parser.add_argument("--short", action="store_true", help="small numbers; takes minutes in total")
    parser.add_argument("--only", type=int, action="append", choices=range(1, 17), metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 16))
    parser.add_argument(
        "--cluster",
        nargs="*",
        choices=cluster.ROWS,
        metavar="ROW",
        help=f"faults of three brokers: {', '.join(cluster.ROWS)}; all by default",
    )
    parser.add_argument("--rounds", type=int, help="how often, with --cluster")
    parser.add_argument("--transactional", action="store_true", help="with --cluster")
    options = parser.parse_args()
    # SIGTERM raises KeyboardInterrupt, so that child processes end and files are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.cluster is not None:
        if kafka_home() is None:
            parser.error("KAFKA_HOME names no Apache Kafka")
        os.environ.setdefault("TMPDIR", tempfile.gettempdir())
        rows = options.cluster or list(cluster.ROWS)
        return min(cluster.run_all(rows, options.rounds, options.transactional), 1)
    numbers = options.only or sorted(EXPERIMENTS)
    return min(run_all(numbers, options.seed, options.short), 1)


sys.exit(main())
