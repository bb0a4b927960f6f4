"""Compares `heliograph validate` with Python's jsonschema on generated schemas and documents."""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import jsonschema
from generator import DRAFT_07, Generator

DOCUMENTS = 12


def lines(values):
    return "".join(json.dumps(value) + "\n" for value in values)


def verdicts_of_ours(binary, schema_file, text):
    """One boolean a document; a sentence if the schema was refused or the command failed."""
    run = subprocess.run(
        [binary, "validate", "--schema", schema_file, "-"],
        input=text.encode(),
        capture_output=True,
        timeout=60,
    )
    if run.returncode not in (0, 1):
        return f"exit code {run.returncode}: {run.stderr.decode(errors='replace').strip()}"
    verdicts = [json.loads(line)["valid"] for line in run.stdout.decode().splitlines()]
    return verdicts if all(verdicts) == (run.returncode == 0) else "the exit code says otherwise"


def verdicts_of_theirs(schema, documents):
    is_draft_07 = schema["$schema"] == DRAFT_07
    kind = jsonschema.Draft7Validator if is_draft_07 else jsonschema.Draft202012Validator
    kind.check_schema(schema)
    validator = kind(schema)
    return [validator.is_valid(document) for document in documents]


def case(seed, number):
    generator = Generator(f"{seed}/{number}")
    schema = generator.schema()
    return schema, [generator.document(schema) for _ in range(DOCUMENTS)]


def keep(folder, schema, documents):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.json").write_text(json.dumps(schema, indent=2) + "\n")
    (folder / "documents.ndjson").write_text(lines(documents))


def explain(ours, theirs, documents):
    if isinstance(ours, str):
        return ours
    if len(ours) != len(theirs):
        return f"{len(ours)} results for {len(theirs)} documents"
    differing = [n for n, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]]
    n = differing[0]
    return f"line {n + 1}: {json.dumps(documents[n])} is valid={ours[n]} here, {theirs[n]} there"


def run(arguments):
    scratch = arguments.found / f"schema-{arguments.seed}.json"
    scratch.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + arguments.seconds
    numbers = [arguments.case] if arguments.case is not None else range(arguments.cases)
    cases = documents_seen = valid = failures = 0
    for number in numbers:
        if time.monotonic() >= end or failures == 5:
            break
        schema, documents = case(arguments.seed, number)
        theirs = verdicts_of_theirs(schema, documents)
        scratch.write_text(json.dumps(schema))
        ours = verdicts_of_ours(arguments.binary, scratch, lines(documents))
        cases += 1
        documents_seen += len(documents)
        valid += sum(theirs)
        if ours == theirs:
            continue
        failures += 1
        folder = arguments.found / f"differential-{arguments.seed}-{number}"
        keep(folder, schema, documents)
        print(f"differential: case {number}: {explain(ours, theirs, documents)}")
        print(f"  {json.dumps(schema)}")
        print(
            f"  again: {arguments.binary} validate --schema {folder}/schema.json "
            f"{folder}/documents.ndjson"
        )
    scratch.unlink(missing_ok=True)
    share = 100 * valid // max(documents_seen, 1)
    print(
        f"differential: seed {arguments.seed}: {cases} schemas, {documents_seen} documents "
        f"({share} % valid), {failures} disagreements"
    )
    assert documents_seen > 0, "no case was tried"
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True, help="the heliograph command")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most so many")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int, help="this one case only")
    parser.add_argument("--found", type=pathlib.Path, default=pathlib.Path(".build/fuzz/found"))
    sys.exit(run(parser.parse_args()) > 0)


main()
