"""Compares the YAML fuzzer's target with PyYAML's scanner and parser, which are Python alone.

Trees, places, styles and the core schema's kinds have to agree, on the first inputs, on parts of
them, on generated documents, and on soups of YAML's own characters. libyaml and PyYAML draw some
lines differently (a tab, `?` and `a:,` in flow style, `!a]`), so that a text that only one of them
takes is no disagreement, unless our own rules decide: aliases and several documents. Tags that end
in a comma or a bracket, which is a character of the tag to PyYAML alone, are left out.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import yaml

BATCH = 200
PREFIX = "tag:yaml.org,2002:"
STYLES = {
    None: "plain",
    "": "plain",
    "'": "singleQuoted",
    '"': "doubleQuoted",
    "|": "literal",
    ">": "folded",
}
# YAML 1.2.2, 10.3.2.
KINDS = [
    ("null", r"null|Null|NULL|~|"),
    ("boolean", r"true|True|TRUE|false|False|FALSE"),
    ("integer", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
        r"|[-+]?(\.inf|\.Inf|\.INF)|\.nan|\.NaN|\.NAN",
    ),
    ("string", r"(?s:.*)"),
]
FITTING = {"null": ["null"], "bool": ["boolean"], "int": ["integer"], "float": ["integer", "float"]}
OWN_RULES = re.compile(r"^error \S+ is not YAML: (the alias|expected one document)")
# Where a value or a key has no text at all, libyaml means the next token, PyYAML the end of the
# last.
PLACE_OF_NOTHING = re.compile(r"(?<=\()\d+:\d+ (?=plain null \))|\d+:\d+ (?==)")
ODD_TAG = re.compile(r"!\S*[,\[\]{}]")
SOUP = [
    *"-:,[]{}#&*!|>'\"%@` \n\n\n   abé🙂~<=.0179xeo+",
    "- ",
    "? ",
    ": ",
    "a: ",
    "b: ",
    "&x ",
    "*x ",
    "!!str ",
    "!!int ",
    "---",
    "...",
    "\n  ",
    "\n- ",
    "\na: ",
    "\r\n",
    "|\n ",
    ">-\n  ",
    "null",
    "0x1F",
    "1e3",
    "\\n",
    "\\x41",
    "# c\n",
]


class Refused(Exception):
    """What PyYAML's parser takes, and ours does not."""


def kind(text):
    return next(name for name, pattern in KINDS if re.fullmatch(pattern, text))


class Theirs:
    """PyYAML's events as the line that the target prints."""

    def __init__(self, text):
        self.text = text
        self.events = iter(yaml.parse(text, Loader=yaml.Loader))
        # By their names: a node's line and key, or the event of one that has not ended.
        self.anchors = {}

    def place(self, mark):
        """Of an index: PyYAML's lines end as in YAML 1.1."""
        lines = re.split(r"\r\n|\r|\n", self.text[: mark.index])
        return f"{len(lines)}:{len(lines[-1]) + 1}"

    def line(self):
        shown = "nothing"
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise Refused
                shown = self.node(next(self.events))[0]
        return shown

    def node(self, event):
        """The node that begins with an event: its line, and its text as a key or None."""
        if isinstance(event, yaml.AliasEvent):
            found = self.anchors.get(event.anchor)
            if not isinstance(found, tuple):
                raise Refused
            return found
        if event.anchor:
            self.anchors[event.anchor] = event
        if isinstance(event, yaml.ScalarEvent):
            made = self.scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            made = self.list(event)
        else:
            made = self.mapping(event)
        if event.anchor and self.anchors[event.anchor] is event:
            self.anchors[event.anchor] = made
        return made

    def scalar(self, event):
        text, style = event.value, STYLES[event.style]
        tag = event.tag if event.tag and not fits_nothing(event.tag, text) else None
        is_text = tag in ("!", PREFIX + "str") or (tag is None and style != "plain")
        name = "string" if is_text else kind(text)
        shown = f"({self.place(event.start_mark)} {style} {name} {text.encode().hex()})"
        return shown, (text, self.place(event.start_mark), is_text)

    def list(self, start):
        shown = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            shown.append(self.node(event)[0])
        return f"[{self.place(start.start_mark)} {' '.join(shown)}]", None

    def mapping(self, start):
        pairs = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.node(event)[1]
            value = self.node(next(self.events))[0]
            if key is None or (key[0] == "<<" and not key[2]):
                continue
            pairs.pop(key[0], None)
            pairs[key[0]] = f"{key[1]} {key[0].encode().hex()}={value}"
        return f"{{{self.place(start.start_mark)} {' '.join(pairs.values())}}}", None


def fits_nothing(tag, text):
    if tag in ("!", PREFIX + "str"):
        return False
    return kind(text) not in FITTING.get(tag.removeprefix(PREFIX), [])


def line_of_theirs(text):
    try:
        return Theirs(text).line()
    except Refused:
        return "refused"
    except (yaml.YAMLError, ValueError, OverflowError):
        # The last two for escapes of characters that there are not.
        return "error"


def agree(ours, theirs):
    if ours.startswith("error"):
        return theirs in ("refused", "error") or not OWN_RULES.search(ours)
    return theirs == "error" or PLACE_OF_NOTHING.sub("", ours) == PLACE_OF_NOTHING.sub("", theirs)


def lines_of_ours(target, texts):
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / str(n) for n in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_bytes(text.encode())
        run = subprocess.run(
            # When it looks for leaks, libFuzzer tries some inputs twice.
            [target, "-detect_leaks=0", *paths],
            env={"YAML_TREES": "1", "SWIFT_BACKTRACE": "enable=no"},
            capture_output=True,
            timeout=120,
        )
    lines = run.stdout.decode().rstrip("\n").split("\n")
    assert len(lines) == len(texts), f"{len(lines)} lines for {len(texts)} texts"
    return lines


def data(dice, depth=0):
    word = lambda: "".join(dice.choices("abé🙂:#-' \n.0179xe~", k=dice.randrange(0, 8)))
    kind = dice.randrange(8 if depth < 4 else 5)
    if kind < 3:
        return word()
    if kind < 5:
        return dice.choice([None, True, False, 0, -17, 1.5, float("inf"), "no", "0x10", "1e3"])
    if kind < 7:
        return {word(): data(dice, depth + 1) for _ in range(dice.randrange(4))}
    return [data(dice, depth + 1) for _ in range(dice.randrange(4))]


def text(dice, first):
    """A document, or something like one; it ends in a line end, or libyaml adds one."""
    return f"{fragment(dice, first)}\n"


def fragment(dice, first):
    choice = dice.randrange(4)
    if choice == 0:
        return yaml.dump(
            data(dice),
            default_flow_style=dice.choice([True, False, None]),
            default_style=dice.choice([None, None, "'", '"', "|", ">"]),
            width=dice.choice([10, 80]),
            indent=dice.choice([2, 4]),
            allow_unicode=dice.random() < 0.5,
            explicit_start=dice.random() < 0.2,
        )
    if choice == 1:
        return "".join(dice.choices(SOUP, k=dice.randrange(1, 30)))
    lines = dice.choice(first).splitlines(keepends=True)
    start = dice.randrange(len(lines) or 1)
    part = "".join(lines[start : start + dice.randrange(1, 40)])
    for _ in range(dice.randrange(4) if choice == 2 else 0):
        at = dice.randrange(len(part) + 1)
        part = part[:at] + dice.choice(SOUP) + part[at + dice.randrange(2) :]
    return part


def run(arguments):
    first = []
    for path in sorted(arguments.first.iterdir()):
        try:
            first.append(path.read_bytes().decode().removeprefix("\ufeff"))
        except UnicodeDecodeError:
            pass
    dice = random.Random(arguments.seed)
    end = time.monotonic() + arguments.seconds
    batch, seen, both, failures = first, 0, 0, 0
    while batch and failures < 5:
        for given, ours in zip(batch, lines_of_ours(arguments.target, batch)):
            seen += 1
            # PyYAML has no limits.
            if re.match(r"error \S+ (has|is nested) ", ours) or ODD_TAG.search(given):
                continue
            theirs = line_of_theirs(given)
            both += not ours.startswith("error") and theirs[0] in "([{n"
            if agree(ours, theirs):
                continue
            failures += 1
            path = arguments.found / f"yaml-{arguments.seed}-{seen}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(given.encode())
            print(f"yaml differential: {given!r}\n  ours: {ours}\n  theirs: {theirs}")
            print(f"  again: YAML_TREES=1 {arguments.target} {path}")
        is_over = time.monotonic() >= end
        batch = [] if is_over else [text(dice, first) for _ in range(BATCH)]
    # A reader that refuses everything agrees with every error of the other one.
    if both * 10 < seen:
        failures += 1
        print("yaml differential: hardly any text is a document for both")
    print(
        f"yaml differential: seed {arguments.seed}: {seen} texts, {both} of them documents for "
        f"both, {failures} disagreements"
    )
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", required=True, help="the YAML fuzzer's target")
    parser.add_argument("--first", required=True, type=pathlib.Path, help="the first inputs")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--found", type=pathlib.Path, default=pathlib.Path(".build/fuzz/found"))
    sys.exit(run(parser.parse_args()) > 0)


main()
