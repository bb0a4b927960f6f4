"""Writes the fuzzer's first inputs: the shipped examples, attacks that were tried, and the official
suite if it is there."""

import base64
import hashlib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent
SUITE = ROOT / ".build" / "schema-suite"
DIALECTS = ("draft2020-12", "draft7")


def compact(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="surrogatepass")


def shipped():
    for schema in sorted((ROOT / "schemas").glob("*.schema.json")):
        name = schema.name.removesuffix(".schema.json")
        rules = compact(json.loads(schema.read_text()))
        for example in sorted((ROOT / "schemas" / "examples" / name).glob("*valid/*.json")):
            document = compact(json.loads(example.read_text()))
            yield document
            yield rules + b"\n" + document


def ambiguous():
    """The shipped events, with a name of each of their objects written once more."""
    for example in sorted((ROOT / "schemas" / "examples").glob("*-event.v1/valid/*.json")):
        text = compact(json.loads(example.read_text()))
        for at, byte in enumerate(text):
            name = re.match(rb'\{"([a-z])([^"]*"):', text[at:]) if byte == ord("{") else None
            if name:
                escaped = b'"\\u%04x' % name[1][0] + name[2]
                yield text[: at + 1] + escaped + b':"",' + text[at + 1 :]


def lists():
    """Events with recipients, good and bad beside each other, in three framings."""
    examples = ROOT / "schemas" / "examples" / "notification-event.v1"
    entries = []
    for example in sorted(examples.glob("*valid/recipient*.json")):
        listed = json.loads(example.read_text()).get("recipients")
        entries += listed[:3] if isinstance(listed, list) else []
    event = json.loads((examples / "valid" / "recipients.json").read_text())
    for listed in (entries, entries * 20, [entry for entry in entries for _ in range(2)]):
        text = compact({**event, "recipients": listed})
        # json.dumps writes no name twice.
        text = text.replace(b"]", b',{"device_token":"00","device_token":"01"}]', 1)
        envelope = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
        encoded = base64.b64encode(text).decode()
        yield text
        yield b"\0\0\0\0\7" + text
        yield compact({**envelope, "data_base64": encoded})
        yield compact(envelope)[:-1] + b',"data":' + text + b"}"


def suite():
    for dialect in DIALECTS:
        for folder in SUITE.rglob(f"tests/{dialect}"):
            for file in sorted(folder.rglob("*.json")):
                for group in json.loads(file.read_text()):
                    rules = compact(group["schema"])
                    for test in group["tests"]:
                        yield rules + b"\n" + compact(test["data"])


def attacks():
    """Schemas and documents that once took minutes or gigabytes."""
    names = [f"{'a' * 16}{number:04}{'b' * 16}" for number in range(300)]
    named = {"properties": {name: True for name in names}}
    yield compact(named) + b"\n" + compact({name: 1 for name in names})
    yield compact({"items": {"enum": names}}) + b"\n" + compact(names)
    for pattern in (r"^\p{L}{400}%dN$", r"^\p{L}{1,%d}$"):
        patterns = {"anyOf": [{"pattern": pattern % number} for number in range(1, 200)]}
        yield compact(patterns) + b'\n"x"'
    yield compact({"pattern": "(a|b)*a(a|b){999}c"}) + b"\n" + compact("ab" * 2000)
    long = {"n" * 10000: {"properties": {str(number): {} for number in range(1000)}}}
    yield compact({"properties": long}) + b"\n{}"
    anchors = {str(number): {"$dynamicAnchor": f"a{number}"} for number in range(800)}
    yield compact({"$defs": anchors}) + b"\n{}"
    mixed = ["{" + ",".join(f'"a":{n == m}'.lower() for n in range(20)) + "}" for m in range(20)]
    yield b'{"uniqueItems":true}\n[' + ",".join(mixed).encode() + b"]"


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for inputs in (shipped(), ambiguous(), lists(), attacks(), suite()):
        for text in inputs:
            (folder / hashlib.sha1(text).hexdigest()).write_bytes(text)
            count += 1
    print(f"fuzz: {count} inputs to begin with" + ("" if SUITE.exists() else ", without the suite"))


main(pathlib.Path(sys.argv[1]))
