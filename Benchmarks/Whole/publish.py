"""Puts a report where readers find it: Benchmarks/reports, docs/performance.md and the README."""

import json
import re
import textwrap

from harness.processes import ROOT

from . import markdown
from .figures import summary
from .pairs import KINDS
from .whole import IN_FLIGHT

REPORTS = ROOT / "Benchmarks" / "reports"
PAGE = ROOT / "docs" / "performance.md"
SIZING = ROOT / "docs" / "how-to" / "size-a-deployment.md"
README = ROOT / "README.md"
# By the page's rule, before it doubles: 10,000 events with payloads of 200 bytes, and duplicates.
PLANNED_MIB = 96
# What the README compares with.
COMPARED = "pushy"


def write(folder, name, report):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    (folder / f"{name}.md").write_text(text(name, report))


def text(name, report):
    return f"# Report: {name}\n\n{markdown.of(report)}"


def publish(name, report):
    write(REPORTS, name, report)
    for path, content in pages(name, report).items():
        path.write_text(content)


def pages(name, report):
    """{page: its text with this report}."""
    page = marked(PAGE.read_text(), name, on_page(name, report))
    found = {PAGE: marked(page, "goals", goals()), README: README.read_text()}
    for head, words in bullets(name, report).items():
        found[README] = bullet(found[README], head, words)
    if name == "whole":
        found[SIZING] = marked(SIZING.read_text(), "sizing", sizing(report))
    return found


def on_page(name, report):
    source = f"From [{name}.md](../Benchmarks/reports/{name}.md), which has every round:\n\n"
    if name == "soak":
        lines = [markdown.taken(report)[0], "", markdown.soak_sentence(report["soak"]["told"])]
        return source + "\n".join(wrapped(line) for line in lines) + "\n"
    pairs = dict.fromkeys(KINDS, markdown.pairs)
    bodies = {"peers": markdown.peers, "start": markdown.start, **pairs}
    body = bodies.get(name, markdown.whole)(report)
    # The first report of the page names machine and versions; the others' files do.
    taken = markdown.taken(report)
    lines = [*(taken if name == "whole" else taken[:1]), "", *body]
    if "latency" in report:
        shown = [f"{to} {share}" for to in ("made", "read", "added") for share in ("p50", "p99")]
        shown = ["events/s", *shown, "added p99.9"]
        lines += ["", "Latency, ms:", "", *markdown.latency(report["latency"], shown)]
    if "parts" in report:
        lines += ["", *markdown.parts(report["parts"])]
    return source + "\n".join(wrapped(line) for line in lines) + "\n"


def goals():
    """What was aimed for, and whether every round of the published reports meets it."""
    whole, peers, partitions, start = (
        json.loads((REPORTS / f"{name}.json").read_text())
        for name in ("whole", "peers", "partitions", "start")
    )
    few, many = KINDS["partitions"]
    growth = [
        turn["turns"][many]["cpu_us_per_event"] / turn["turns"][few]["cpu_us_per_event"]
        for turn in partitions["pairs"]
    ]
    cheaper = markdown.ratios(peers, COMPARED)
    measured = [
        ("at most 1.15 times the floor", markdown.floor_ratios(whole), 1.15),
        ("1,000 partitions of results cost at most 1.3 times as much as 16", growth, 1.3),
        ("at half load, added p99.9 of at most 5 ms", whole["latency"]["50%"]["added p99.9"], 5),
        ("a first push within 500 ms", start["start"]["first_push_ms"], 500),
    ]
    rows = [
        [goal, markdown.range_of(summary(found)), "yes" if max(found) <= most else "**no**"]
        for goal, found, most in measured
    ]
    met = "yes" if min(cheaper) >= 4 else "**no**"
    theirs = markdown.range_of(summary(cheaper))
    rows.insert(1, ["the Pushy service takes at least 4 times as much CPU", theirs, met])
    return "\n".join(markdown.table(["goal", "measured", "met in every round"], rows)) + "\n"


def sizing(report):
    """What the page on sizing plans with, next to what was measured."""

    def turn(figure):
        return markdown.turn_summary(report, markdown.OURS, figure)

    size = report["size"]["payload_bytes"]
    cost, rate = turn("cpu_us_per_event"), turn("events_per_second")
    rows = [
        ["CPU of an event", "33 µs", f"{markdown.range_of(cost)} µs"],
        ["events/s of a core", "30,000", markdown.range_of(rate)],
    ]
    network = {
        "to_apns": ("network to APNs, bytes an event", f"{size} + 340"),
        "from_kafka": ("network from Kafka, bytes an event", f"{size} + 250"),
        "from_apns": ("network from APNs, bytes an event", "40"),
        "to_kafka": ("network to Kafka, lz4, bytes an event", "200"),
    }
    for way, (label, plan) in network.items():
        figure = f"bytes_{way}_per_event"
        if figure in report["rounds"][0]["turns"][markdown.OURS]:
            rows.append([label, plan, markdown.range_of(turn(figure))])
    peak = markdown.range_of(turn("rss_peak_mib"))
    label = "memory of a process, 10,000 in flight, no dead tokens"
    rows.append([label, f"{2 * PLANNED_MIB} MiB", f"{peak} MiB"])
    if "memory" in report:
        idle, full = memory(report)
        each = (full - idle) * 2**20 / IN_FLIGHT
        rows.append(["memory of an idle process", "40 MiB", f"{idle:.0f} MiB"])
        rows.append(["memory of an event in flight", f"1,400 + {size} bytes", f"{each:,.0f} bytes"])
    head = ["term", f"the model, payload of {size} bytes", "measured"]
    return "\n".join(markdown.table(head, rows)) + "\n"


def wrapped(line):
    """As the pages are; tables stay as they are."""
    if line.startswith("|"):
        return line
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, 120, subsequent_indent=indent, break_on_hyphens=False)


def marked(page, name, text):
    """The page with the text between the marks of that name."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"the page has no marks of {name}"
    return f"{before}{begin}{text}{end}{after}"


def bullets(name, report):
    """What the README says, by the bold word that its line begins with."""
    if name == "peers" and COMPARED in report["peers"]:
        ours = markdown.turn_summary(report, markdown.OURS, "cpu_us_per_event")
        theirs = markdown.turn_summary(report, COMPARED, "cpu_us_per_event")
        ratio = summary(markdown.ratios(report, COMPARED))
        return {
            "Cost": f"{spread(ours)} µs of CPU an event, from Apache Kafka to APNs and back. "
            f"A plain service on kafka-clients, Jackson and Pushy takes {spread(theirs)} µs, "
            f"{spread(ratio)} times as much, and does less."
        }
    if name == "soak":
        told = report["soak"]["told"]
        grown = told["rss_at_the_end_mib"] - told["rss_at_a_tenth_mib"]
        return {
            "Endurance": f"in a run of {told['seconds'] / 60:.0f} minutes with "
            f"{told['events'] / 1e6:.0f} million events, memory grew by {grown:.1f} MiB after the "
            "first tenth."
        }
    if name != "whole":
        return {}
    found = {}
    rate = markdown.turn_summary(report, markdown.OURS, "events_per_second")
    floor = summary(markdown.floor_ratios(report))
    found["Speed"] = (
        f"one shard (thread) on one core, with Kafka and a stand-in for APNs on another, sends "
        f"{spread(rate)} events/s, at {spread(floor)} times the CPU time of the bare libraries."
    )
    if "latency" in report:
        half = {name: summary(figures) for name, figures in report["latency"]["50%"].items()}
        found["Latency"] = (
            f"at {half['events/s']['median']:,.0f} events/s, half of what this set-up can do, the "
            f"outcome is made {spread(half['added p50'])} ms (p50) and {spread(half['added p99'])} "
            "ms (p99) after Kafka has the event."
        )
    if "memory" in report:
        idle, full = memory(report)
        found["Memory"] = f"{idle:.0f} MiB idle, {full:.0f} MiB with 100,000 events in flight."
    return found


def memory(report):
    """MiB of an idle service, and of one with `IN_FLIGHT` events in hand."""
    return [summary(report["memory"][name])["median"] for name in ("rss_idle_mib", "rss_full_mib")]


def spread(found):
    return markdown.range_of(found).replace("-", "–")


def bullet(page, head, words):
    """The page with a new text for the list item that begins with the bold word."""
    old = re.compile(rf"^- \*\*{head}:\*\* .*\n(?:  .*\n)*", re.MULTILINE)
    assert len(old.findall(page)) == 1, f"the page has no item {head}"
    return old.sub(lambda _: wrapped(f"- **{head}:** {words}") + "\n", page)
