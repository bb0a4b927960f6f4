"""The report as tables, and its place in docs/performance.md."""

LABELS = {
    "consume_us": "floor: librdkafka reads a record, µs",
    "produce_us": "floor: librdkafka writes an outcome, µs",
    "h2load_us": "floor: h2load sends a request, µs",
    "floor_us": "floor, µs",
    "cpu_us_per_event": "CPU, µs an event",
    "ratio_to_floor": "CPU, x floor",
    "events_per_second": "events/s",
    "context_switches_per_event": "context switches an event",
    "system_calls_per_event": "system calls an event",
    "allocations_per_event": "allocations an event",
    "rss_peak_mib": "RSS at its highest, MiB",
    "rss_idle_mib": "RSS idle, MiB",
    "rss_full_mib": "RSS, 100,000 in flight, MiB",
    "this_us": "this build, µs an event",
    "other_us": "the other, µs an event",
    "this_over_other": "this build, x the other",
}
GROWTH_FIGURES = (
    "cpu_us_per_event",
    "floor_us",
    "ratio_to_floor",
    "events_per_second",
    "rss_peak_mib",
)
GOALS = {
    "cpu_us_per_event": "at most 8",
    "ratio_to_floor": "at most 1.5",
    "events_per_second": "at least 100,000 with one shard",
    "allocations_per_event": "a handful",
    "rss_idle_mib": "under 64",
    "rss_full_mib": "under 200",
}


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def cells(figures, *words):
    return [number(figures[word]) for word in words]


def range_of(figures):
    low, median, high = cells(figures, "min", "median", "max")
    return median if figures["runs"] == 1 else f"{median} ({low}-{high})"


def goals(report):
    rows = [
        [LABELS[name], goal, range_of(report["whole"][name])]
        for name, goal in GOALS.items()
        if name in report["whole"]
    ]
    half = report.get("latency", {}).get("50%")
    if half:
        rows.append(["added latency at half load, p99, ms", "under 5", range_of(half["added p99"])])
    return table(["figure", "goal", "measured"], rows)


def parts(found):
    rows = [
        [name, *cells(figures, "min", "median", "max", "ratio")] for name, figures in found.items()
    ]
    return table(["part", "min ns", "median ns", "max ns", "x bare parse"], rows)


def whole(found):
    rows = [
        [LABELS[name], *cells(figures, "min", "median", "max")] for name, figures in found.items()
    ]
    return table(["figure", "min", "median", "max"], rows)


def latency(found):
    """A line a load, a column a figure."""
    names = list(next(iter(found.values())))
    rows = [[load, *(range_of(told[name]) for name in names)] for load, told in found.items()]
    return table(["load", *names], rows)


def growth(name, found):
    rows = [
        [number(int(value)) if int(value) >= 1000 else str(value)]
        + [range_of(figures[figure]) for figure in GROWTH_FIGURES]
        for value, figures in found.items()
    ]
    return table([name.replace("_", " "), *(LABELS[figure] for figure in GROWTH_FIGURES)], rows)


def taken(report):
    machine = report["machine"]
    return (
        f"Taken at {report['taken_at']}, {report['rounds']} rounds, on {machine['cores']} cores "
        f"of {machine['cpu']}; load average {machine['load_at_start']:.1f} at the start and "
        f"{machine['load_at_end']:.1f} at the end."
    )


def of(report):
    sections = [[taken(report)]]
    if "whole" in report:
        sections.append(["### Goals", "", *goals(report)])
        sections.append(["### The whole service", "", *whole(report["whole"])])
        if "system_calls_per_event" not in report["whole"]:
            sections.append(["System calls are not counted: the kernel does not let perf do it."])
    if "parts" in report:
        sections.append(["### Parts", "", *parts(report["parts"])])
    if "latency" in report:
        sections.append(["### Latency, ms", "", *latency(report["latency"])])
    if "growth" in report:
        sections.append(["### Growth"])
        sections += [growth(name, found) for name, found in report["growth"].items()]
    if "soak" in report:
        sections.append(soak(report["soak"]))
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def soak(found):
    told = found["told"]
    rows = [[number(events), f"{mib:.1f}"] for events, mib in found["samples"]]
    return [
        f"{told['events']:,} events in {told['seconds']:.0f} s, {told['events_per_second']:,.0f} "
        f"a second, at {told['cpu_us_per_event']:.1f} µs. RSS was {told['rss_at_a_tenth_mib']:.1f} "
        f"MiB after a tenth of them and {told['rss_at_the_end_mib']:.1f} MiB at the end, "
        f"{told['rss_highest_mib']:.1f} MiB at its highest; in the second half of the "
        "time it rose by "
        f"{told['kib_per_million_events_in_the_second_half']:.0f} KiB a million events.",
        "",
        *table(["events", "RSS MiB"], rows),
    ]


def published(page, name, text):
    """The page with the text between the marks of that name."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"the page has no marks of the {name}"
    return f"{before}{begin}{text}{end}{after}"
