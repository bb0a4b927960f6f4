"""The report as tables."""


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def cells(figures, *words):
    return [f"{figures[word]:.2f}" for word in words]


def range_of(figures):
    low, median, high = cells(figures, "min", "median", "max")
    return median if figures["runs"] == 1 else f"{median} ({low}-{high})"


def parts(found):
    rows = [
        [name, *cells(figures, "min", "median", "max", "ratio")] for name, figures in found.items()
    ]
    return table(["part", "min ns", "median ns", "max ns", "x bare parse"], rows)


def whole(found):
    rows = [[name, *cells(figures, "min", "median", "max")] for name, figures in found.items()]
    return table(["figure", "min", "median", "max"], rows)


def wide(first, found):
    """A line a case, a column a figure."""
    names = list(next(iter(found.values())))
    rows = [
        [str(case), *(range_of(figures[name]) for name in names)] for case, figures in found.items()
    ]
    return table([first, *names], rows)


def of(report):
    machine = report["machine"]
    lines = [
        f"Taken at {report['taken_at']}, {report['rounds']} rounds, on {machine['cores']} cores of "
        f"{machine['cpu']}; load average {machine['load_at_start']:.1f} at the start and "
        f"{machine['load_at_end']:.1f} at the end."
    ]
    if "parts" in report:
        lines += ["", "## Parts", "", *parts(report["parts"])]
    if "whole" in report:
        lines += ["", "## Whole", "", *whole(report["whole"])]
        if "system_calls_per_event" not in report["whole"]:
            lines += ["", "System calls are not counted: the kernel does not let perf do it."]
    if "latency" in report:
        lines += ["", "## Latency", "", *wide("load", report["latency"])]
    for name, found in report.get("growth", {}).items():
        lines += ["", f"## Growth: {name}", "", *wide(name, found)]
    if "soak" in report:
        lines += ["", "## Soak", "", *soak(report["soak"])]
    return "\n".join(lines) + "\n"


def soak(found):
    lines = [f"{name}: {value:.2f}" for name, value in found["told"].items()]
    rows = [[str(events), f"{mib:.1f}"] for events, mib in found["samples"]]
    return [*lines, "", *table(["events", "RSS MiB"], rows)]
