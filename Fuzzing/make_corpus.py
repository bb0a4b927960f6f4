"""Writes the fuzzer's first inputs: the shipped examples, and the official suite if it is there."""

import hashlib
import json
import pathlib
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


def suite():
    for dialect in DIALECTS:
        for folder in SUITE.rglob(f"tests/{dialect}"):
            for file in sorted(folder.rglob("*.json")):
                for group in json.loads(file.read_text()):
                    rules = compact(group["schema"])
                    for test in group["tests"]:
                        yield rules + b"\n" + compact(test["data"])


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for inputs in (shipped(), suite()):
        for text in inputs:
            (folder / hashlib.sha1(text).hexdigest()).write_bytes(text)
            count += 1
    print(f"fuzz: {count} inputs to begin with" + ("" if SUITE.exists() else ", without the suite"))


main(pathlib.Path(sys.argv[1]))
