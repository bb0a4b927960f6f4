"""Many events, and whether the service's memory grows with them."""

import subprocess
import time

from . import gauges
from .service import TOPICS, metric, pace_command, running, steady, world

ROWS = 24


def measured(events, payload_bytes=200):
    """Samples once a second while the events pass as fast as outcomes come back."""
    case = steady(payload_bytes=payload_bytes)
    with world(case) as (kafka, simulator, folder):
        with running(case, kafka, simulator, folder) as service:
            service.wait_until_ready()
            samples, begun = [], time.monotonic()
            cpu_at_start = gauges.cpu_seconds(service.child.pid)
            words = pace_command(kafka, TOPICS, events, 0, payload_bytes)
            with subprocess.Popen(words, stdout=subprocess.PIPE) as pace:
                while pace.poll() is None:
                    time.sleep(1)
                    ended = metric(service, "events_terminal_total")
                    samples.append((ended, gauges.resident_bytes(service.child.pid) / 2**20))
                assert pace.returncode == 0, service.child.output()
            seconds = time.monotonic() - begun
            cpu = gauges.cpu_seconds(service.child.pid) - cpu_at_start
    return {
        "told": {
            "events": events,
            "seconds": seconds,
            "events_per_second": events / seconds,
            "cpu_us_per_event": cpu / events * 1e6,
            **growth(samples),
        },
        "samples": samples[:: max(len(samples) // ROWS, 1)],
    }


def growth(samples):
    """RSS early and late, and how it rises in the second half (least squares)."""
    late = samples[len(samples) // 2 :]
    mean_x = sum(x for x, _ in late) / len(late)
    mean_y = sum(y for _, y in late) / len(late)
    spread = sum((x - mean_x) ** 2 for x, _ in late)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in late) / spread if spread else 0.0
    return {
        "rss_at_a_tenth_mib": samples[len(samples) // 10][1],
        "rss_at_the_end_mib": samples[-1][1],
        "rss_highest_mib": max(y for _, y in samples),
        "kib_per_million_events_in_the_second_half": slope * 1024 * 1e6,
    }
