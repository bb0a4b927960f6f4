"""Counts the parts' instructions and allocations under callgrind, and compares with the kept ones.

    instructions.py PROGRAM           prints the counts and how they changed
    instructions.py PROGRAM --write   keeps them in instructions.json

Fails if a part takes clearly more than was kept. Most counts move by less than 0.2 % from run to
run, decoding by 3 %. They are of this compiler and of Debian 12's libraries, as valgrind's CPU runs
them: AVX2 if the machine has it, no AVX-512, no SHA extensions.
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
SHOWN_PERCENT = 0.2
# What a part may grow by before somebody has to say why: the larger one, and half an allocation.
ALLOWED_PERCENT, ALLOWED_INSTRUCTIONS, ALLOWED_ALLOCATIONS = 5, 100, 0.5
ALLOCATORS = {"malloc", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign"}


def dumps(folder):
    """The dumps of one run, in the order of the parts; the last one is of the process's end."""
    return sorted(folder.glob("counts.*"), key=lambda path: int(path.suffix[1:]))


def counted(dump):
    """The instructions of a dump, and the calls of the allocator.

    The calls that a dump tells are those of the whole run. What was called while callgrind counted
    shows in how often a function's first instruction was run.
    """
    instructions, function, is_callee = 0, "", False
    executions = {}
    for line in dump.read_text(errors="replace").splitlines():
        if line.startswith("summary:"):
            instructions = int(line.split()[1])
        elif line.startswith("fn="):
            function = line[3:]
        elif line.startswith("calls="):
            # The next line is what the callee cost.
            is_callee = True
        elif line.startswith("0x"):
            if function in ALLOCATORS and not is_callee:
                address, _, times = line.split()
                costs = executions.setdefault(function, {})
                costs[int(address, 16)] = costs.get(int(address, 16), 0) + int(times)
            is_callee = False
    return instructions, sum(costs[min(costs)] for costs in executions.values())


def count(program):
    """{part: what one repetition takes}."""
    with tempfile.TemporaryDirectory() as folder:
        # Debian's valgrind stumbles over the debug information of Swift's compiler.
        stripped = f"{folder}/program"
        subprocess.run(["objcopy", "--strip-debug", program, stripped], check=True)
        words = [
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            "--compress-strings=no",
            "--compress-pos=no",
            "--dump-instr=yes",
            f"--callgrind-out-file={folder}/counts",
            "--toggle-collect=hg_bench_measured",
            "--dump-after=hg_bench_part_ended",
            stripped,
            f"--count={REPETITIONS}",
        ]
        # The hashes of a dictionary decide how long a look-up is.
        environment = {**os.environ, "SWIFT_DETERMINISTIC_HASHING": "1"}
        run = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        parts = [line.split(" ", 1) for line in run.stdout.splitlines()]
        found = dumps(pathlib.Path(folder))
        if not parts or len(parts) != len(found):
            sys.exit(f"{len(parts)} parts, but {len(found)} dumps of callgrind")
        return {
            name: {
                "instructions": round(instructions / int(repetitions)),
                "allocations": round(allocations / int(repetitions), 1),
            }
            for (repetitions, name), (instructions, allocations) in zip(parts, map(counted, found))
        }


def change(kept, now):
    percent = (now - kept) / kept * 100
    return "" if abs(percent) < SHOWN_PERCENT else f"{percent:+.1f} %"


def comparison(kept, now):
    lines = [
        "| part | instructions kept | now | change | allocations kept | now |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, figures in now.items():
        instructions, allocations = figures["instructions"], figures["allocations"]
        before = kept.get(name)
        if before is None:
            lines.append(f"| {name} | | {instructions} | new | | {allocations} |")
            continue
        lines.append(
            f"| {name} | {before['instructions']} | {instructions} "
            f"| {change(before['instructions'], instructions)} "
            f"| {before['allocations']} | {allocations} |"
        )
    lines += [f"| {name} | | | gone | | |" for name in kept if name not in now]
    return "\n".join(lines)


def grown(kept, now):
    """The names of the parts that take clearly more than was kept."""

    def is_more(name):
        before, after = kept[name], now[name]
        allowed = max(ALLOWED_INSTRUCTIONS, before["instructions"] * ALLOWED_PERCENT / 100)
        return (
            after["instructions"] > before["instructions"] + allowed
            or after["allocations"] > before["allocations"] + ALLOWED_ALLOCATIONS
        )

    return [name for name in now if name in kept and is_more(name)]


def text(counts):
    """JSON with a line for each part, in the order of their names."""
    lines = [f"  {json.dumps(name)}: {json.dumps(counts[name])}" for name in sorted(counts)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench --check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("program")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    now = count(arguments.program)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    print(comparison(kept, now))
    if arguments.write:
        KEPT.write_text(text(now))
    elif costly := grown(kept, now):
        sys.exit(
            f"more than {ALLOWED_PERCENT} % or {ALLOWED_INSTRUCTIONS} instructions above the kept"
            f" counts: {', '.join(costly)}. Find the reason; if it is worth it, keep the new counts"
            " with scripts/bench --write."
        )


main()
