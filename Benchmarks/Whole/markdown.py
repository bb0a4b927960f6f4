"""A report as text: all of it for its file, and its medians for the pages."""

from .figures import summary
from .pairs import KINDS

LABELS = {
    "consume_us": "floor: librdkafka reads a record, µs",
    "produce_us": "floor: librdkafka writes an outcome, µs",
    "h2load_us": "floor: h2load sends a request, µs",
    "floor_us": "floor, µs",
    "cpu_us_per_event": "CPU, µs an event",
    "ratio_to_floor": "CPU, x floor",
    "events_per_second": "events/s",
    "events_measured": "events measured",
    "context_switches_per_event": "context switches an event",
    "system_calls_per_event": "system calls an event",
    "allocations_per_event": "allocations an event",
    "rss_peak_mib": "RSS at its highest, MiB",
    "bytes_from_kafka_per_event": "bytes an event from Kafka",
    "bytes_to_kafka_per_event": "bytes an event to Kafka",
    "bytes_to_apns_per_event": "bytes an event to APNs",
    "bytes_from_apns_per_event": "bytes an event from APNs",
    "rss_idle_mib": "RSS idle, MiB",
    "rss_full_mib": "RSS, 100,000 in flight, MiB",
    "this_us": "this build, µs an event",
    "other_us": "the other, µs an event",
    "this_over_other": "this build, x the other",
}
START_LABELS = {"first_push_ms": "from the start of the process to its first push, ms"}
TURN_FIGURES = ("cpu_us_per_event", "events_per_second", "rss_peak_mib", "events_measured")
FLOOR_FIGURES = ("consume_us", "produce_us", "h2load_us", "floor_us")
NETWORK = tuple(name for name in LABELS if name.startswith("bytes_"))
GROWTH_FIGURES = (
    "cpu_us_per_event",
    "floor_us",
    "ratio_to_floor",
    "events_per_second",
    "rss_peak_mib",
)
OURS = "heliograph"


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    return lines + [f"| {' | '.join(row)} |" for row in rows]


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def range_of(found):
    low, median, high = (number(found[word]) for word in ("min", "median", "max"))
    return median if found["runs"] == 1 else f"{median} ({low}-{high})"


def figures(found):
    words = ("min", "median", "max")
    rows = [[LABELS[n], *(number(told[word]) for word in words)] for n, told in found.items()]
    return table(["figure", *words], rows)


def costs(report):
    """{peer: what an event cost it in each round}."""
    rounds = report["rounds"]
    return {
        name: [turn["turns"][name]["cpu_us_per_event"] for turn in rounds]
        for name in report["peers"]
    }


def ratios(report, name):
    """What a peer takes, over what the service takes in the same round."""
    found = costs(report)
    return [theirs / ours for theirs, ours in zip(found[name], found[OURS])]


def floor_ratios(report):
    floors = [turn["floors"]["floor_us"] for turn in report["rounds"]]
    return [ours / floor for ours, floor in zip(costs(report)[OURS], floors)]


def turn_summary(report, name, figure):
    return summary([turn["turns"][name][figure] for turn in report["rounds"]])


def floor_summary(report, figure):
    return summary([turn["floors"][figure] for turn in report["rounds"]])


def taken(report):
    machine = report["machine"]
    lines = [
        f"- `{report['command']}` of commit {report['commit']}, at {report['taken_at']}",
        f"- {machine['cores']} cores of {machine['cpu']}, Linux {machine['kernel']}; load average "
        f"{machine['load_at_start']:.1f} at the start and {machine['load_at_end']:.1f} at the end",
    ]
    if "size" in report:
        size = report["size"]
        lines.append(
            f"- {size['measured']:,} events after {size['warm_up']:,}, payloads of "
            f"{size['payload_bytes']} bytes, topics of {size['partitions']} partitions"
        )
    if "versions" in report:
        named = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
        lines.append(f"- {named}")
    return lines


def every_round(report):
    names, rows = list(report["peers"]), []
    for index, turn in enumerate(report["rounds"]):
        floors = turn["floors"]
        row = [str(index + 1), ", ".join(turn["order"])]
        row += [number(floors[f]) for f in FLOOR_FIGURES]
        for name in names:
            row += [number(turn["turns"][name][figure]) for figure in TURN_FIGURES]
        row += [f"{floor_ratios(report)[index]:.2f}"]
        row += [f"{ratios(report, name)[index]:.2f}" for name in names if name != OURS]
        rows.append(row)
    head = ["round", "order", "floor: read", "floor: write", "floor: send", "floor"]
    head += [f"{name}: {what}" for name in names for what in ("µs", "events/s", "MiB", "events")]
    head += [f"{OURS} / floor", *(f"{name} / {OURS}" for name in names if name != OURS)]
    return table(head, rows)


def peers(report):
    """Medians, and what each does not do."""
    rows = []
    for name, peer in report["peers"].items():
        found = [range_of(turn_summary(report, name, figure)) for figure in TURN_FIGURES]
        ratio = "1" if name == OURS else range_of(summary(ratios(report, name)))
        rows.append([peer["title"], *found, ratio])
    lines = table(["program", *(LABELS[f] for f in TURN_FIGURES), f"x {OURS}"], rows)
    floor, cost = floor_summary(report, "floor_us"), summary(floor_ratios(report))
    lines += ["", f"Floor: {range_of(floor)} µs; *{OURS}* took {range_of(cost)} times as much."]
    for name, peer in report["peers"].items():
        if peer["omits"]:
            lines += ["", f"*{name}* does not: {'; '.join(peer['omits'])}."]
    lines += [f"\n*{name}* was not run; missing: {why}." for name, why in report["not_run"].items()]
    return lines


def whole(report):
    """Medians of the service and of the floors, with their spread."""
    rows = [[LABELS[name], range_of(floor_summary(report, name))] for name in FLOOR_FIGURES]
    rows += [[LABELS[f], range_of(turn_summary(report, OURS, f))] for f in TURN_FIGURES]
    rows.insert(5, [LABELS["ratio_to_floor"], range_of(summary(floor_ratios(report)))])
    rows += [
        [LABELS[figure], range_of(turn_summary(report, OURS, figure))]
        for figure in ("context_switches_per_event", *NETWORK)
        if figure in report["rounds"][0]["turns"][OURS]
    ]
    rows += [
        [f"{LABELS[name]} (one turn)", number(value)]
        for name, value in report.get("counts", {}).items()
    ]
    rows += [[LABELS[name], range_of(summary(f))] for name, f in report.get("memory", {}).items()]
    return table(["figure", "median (least-greatest)"], rows)


def pairs(report):
    """Medians of both kinds of turns, and the ratio of each round. All figures are for a push."""
    rounds, kinds = report["pairs"], KINDS[report["what"]]
    rows = []
    for name in TURN_FIGURES[:3]:
        values = [[turn["turns"][kind][name] for turn in rounds] for kind in kinds]
        values.append([second / first for first, second in zip(*values)])
        label = LABELS[name].replace("an event", "a push").replace("events", "pushes")
        rows.append([label, *(range_of(summary(figures)) for figures in values)])
    floor = summary([turn["floors"]["floor_us"] for turn in rounds])
    lines = table(["figure", *kinds, "ratio"], rows)
    return [*lines, "", f"Floor of an event: {range_of(floor)} µs."]


def every_pair(report):
    kinds, rows = KINDS[report["what"]], []
    for index, turn in enumerate(report["pairs"]):
        row = [str(index + 1), ", ".join(turn["order"]), number(turn["floors"]["floor_us"])]
        for kind in kinds:
            row += [number(turn["turns"][kind][figure]) for figure in TURN_FIGURES]
        rows.append(row)
    head = [f"{kind}: {what}" for kind in kinds for what in ("µs", "pushes/s", "MiB", "pushes")]
    return table(["round", "order", "floor", *head], rows)


def start(report):
    found = report["start"]
    rows = [[START_LABELS[name], range_of(summary(figures))] for name, figures in found.items()]
    return table(["figure", "median (least-greatest)"], rows)


def every_start(report):
    found = report["start"]
    rows = [
        [str(index + 1), *map(number, figures)]
        for index, figures in enumerate(zip(*found.values()))
    ]
    return table(["round", *(START_LABELS[name] for name in found)], rows)


def parts(found):
    words = ("min", "median", "max", "ratio")
    rows = [[name, *(number(told[word]) for word in words)] for name, told in found.items()]
    return table(["part", "min ns", "median ns", "max ns", "x bare parse"], rows)


def latency(found, names=None):
    """A line a load, a column a figure."""
    names = names or list(next(iter(found.values())))
    rows = [
        [load, *(range_of(summary(told[name])) for name in names)] for load, told in found.items()
    ]
    return table(["load", *names], rows)


def every_latency(found):
    names = list(next(iter(found.values())))
    rows = [
        [load, str(index + 1), *map(number, figures)]
        for load, told in found.items()
        for index, figures in enumerate(zip(*(told[name] for name in names)))
    ]
    return table(["load", "round", *names], rows)


def every_memory(found):
    rows = [[str(i + 1), *map(number, figures)] for i, figures in enumerate(zip(*found.values()))]
    return table(["round", *(LABELS[name] for name in found)], rows)


def growth(name, found):
    rows = [
        [number(int(value)) if int(value) >= 1000 else str(value)]
        + [range_of(told[figure]) for figure in GROWTH_FIGURES]
        for value, told in found.items()
    ]
    return table([name.replace("_", " "), *(LABELS[figure] for figure in GROWTH_FIGURES)], rows)


def soak(found):
    told = found["told"]
    rows = [[number(events), f"{mib:.1f}"] for events, mib in found["samples"]]
    return [soak_sentence(told), "", *table(["events", "RSS MiB"], rows)]


def soak_sentence(told):
    return (
        f"{told['events']:,} events in {told['seconds']:.0f} s, {told['events_per_second']:,.0f} "
        f"a second, at {told['cpu_us_per_event']:.1f} µs. RSS was {told['rss_at_a_tenth_mib']:.1f} "
        f"MiB after a tenth of the time and {told['rss_at_the_end_mib']:.1f} MiB at the end, "
        f"{told['rss_highest_mib']:.1f} MiB at its highest; in the second half of the "
        "time it rose by "
        f"{told['kib_per_million_events_in_the_second_half']:.0f} KiB a million events."
    )


def sections(report):
    yield taken(report)
    if "rounds" in report:
        body = whole(report) if len(report["peers"]) == 1 else peers(report)
        yield ["## Medians", "", *body]
        yield ["## Every round", "", *every_round(report)]
    if "pairs" in report:
        yield ["## Medians", "", *pairs(report)]
        yield ["## Every round", "", *every_pair(report)]
    if "start" in report:
        yield ["## Medians", "", *start(report)]
        yield ["## Every round", "", *every_start(report)]
    if "counts" in report and "system_calls_per_event" not in report["counts"]:
        yield ["System calls were not counted: perf was not allowed to, or came too late."]
    if "latency" in report:
        yield ["## Latency, ms", "", *latency(report["latency"])]
        yield ["Every round:", "", *every_latency(report["latency"])]
    if "memory" in report:
        yield ["## Memory, every round", "", *every_memory(report["memory"])]
    if "parts" in report:
        yield ["## Parts", "", *parts(report["parts"])]
    if "growth" in report:
        yield ["## Growth, on the embedded broker"]
        yield from (growth(name, found) for name, found in report["growth"].items())
    if "soak" in report:
        yield soak(report["soak"])


def of(report):
    """Everything."""
    return "\n\n".join("\n".join(lines) for lines in sections(report)) + "\n"
