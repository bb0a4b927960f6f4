"""Counts the instructions of the parts under callgrind, and compares them with the kept ones.

    instructions.py PROGRAM           prints the counts and how they changed
    instructions.py PROGRAM --write   keeps them in instructions.json

Fails only when nothing can be counted, never because of a number. A count moves by less than 0.1 %
from run to run. It is of this compiler and of Debian 12's libraries, as valgrind's CPU runs them:
AVX2 if the machine has it, no AVX-512, no SHA extensions.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

KEPT = pathlib.Path(__file__).with_name("instructions.json")
REPETITIONS = 1024
# Less than this is noise.
SHOWN_PERCENT = 0.1


def dumps(folder):
    """The dumps of one run, in the order of the parts; the last one is of the process's end."""
    return sorted(folder.glob("counts.*"), key=lambda path: int(path.suffix[1:]))


def collected(dump):
    lines = dump.read_text().splitlines()
    return int(next(line for line in lines if line.startswith("summary:")).split()[1])


def count(program):
    """{part: instructions of one repetition}."""
    with tempfile.TemporaryDirectory() as folder:
        # Debian's valgrind stumbles over the debug information of Swift's compiler.
        stripped = f"{folder}/program"
        subprocess.run(["objcopy", "--strip-debug", program, stripped], check=True)
        words = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            f"--callgrind-out-file={folder}/counts",
            "--toggle-collect=hg_bench_measured",
            "--dump-after=hg_bench_part_ended",
            stripped,
            f"--count={REPETITIONS}",
        ]
        # The hashes of a dictionary decide how long a look-up is.
        environment = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
        run = subprocess.run(
            words, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        parts = [line.split(" ", 1) for line in run.stdout.splitlines()]
        found = dumps(pathlib.Path(folder))
        if not parts or len(parts) != len(found):
            sys.exit(f"{len(parts)} parts, but {len(found)} dumps of callgrind")
        return {
            name: round(collected(dump) / int(repetitions))
            for (repetitions, name), dump in zip(parts, found)
        }


def change(kept, now):
    if kept is None:
        return "new"
    percent = (now - kept) / kept * 100
    return "" if abs(percent) < SHOWN_PERCENT else f"{percent:+.1f} %"


def comparison(kept, now):
    lines = ["| part | kept | now | change |", "|---|---:|---:|---:|"]
    for name, figure in now.items():
        before = kept.get(name)
        shown = "" if before is None else before
        lines.append(f"| {name} | {shown} | {figure} | {change(before, figure)} |")
    lines += [f"| {name} | {kept[name]} | | gone |" for name in kept if name not in now]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench --check", description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    now = count(arguments.program)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    print(comparison(kept, now))
    if arguments.write:
        KEPT.write_text(json.dumps(now, indent=2, sort_keys=True) + "\n")


main()
