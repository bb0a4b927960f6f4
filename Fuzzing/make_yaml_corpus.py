"""Writes the YAML fuzzer's first inputs: the project's own files, and hostile texts.

python3 make_yaml_corpus.py FOLDER
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = [
    *ROOT.glob("examples/*.yaml"),
    *ROOT.glob("deploy/**/*.y*ml"),
    *ROOT.glob("helm/heliograph/**/*values*.yaml"),
    ROOT / "helm" / "heliograph" / "Chart.yaml",
    ROOT / "docker-compose.yml",
]


def bomb(levels, width=9):
    lines = [b"a0: &a0 x"]
    for level in range(1, levels + 1):
        entries = b", ".join([b"*a%d" % (level - 1)] * width)
        lines.append(b"a%d: &a%d [%s]" % (level, level, entries))
    return b"\n".join(lines) + b"\n"


TEXTS = {
    "bomb": bomb(9),
    "bomb-small": bomb(3, 3),
    "bomb-as-key": bomb(9) + b"? *a9\n: x\n",
    "bomb-merged": bomb(9) + b"b: {<<: *a9}\n",
    "inside-itself": b"a: &x [1, {b: *x}]\n",
    "anchors": b"- &x [&x 1, *x]\n- *x\n- {? *x : 1}\n",
    "deep-flow": b"[" * 70 + b"]" * 70,
    "deep-block": b"- " * 70 + b"x",
    "deep-keys": b"? " * 70 + b"x",
    "duplicates": b'a: 1\n"a": 2\n\'a\': {b: 1, b: 2}\n',
    "tags": b"%TAG !e! tag:e.com,2000:\n---\n"
    b"- !!str 5\n- !!int x\n- !e!x y\n- !<a%0Ab> {}\n- ! 1\n",
    "schema": b"- [~, null, no, true, TRUE, 0x1F, 0o17, +12, 1e3, .inf, -.INF, .nan, 0b1, 1_0]\n",
    "scalars": b"a: |+2\n    b\n\n\nc: >-\n  d\n   e\n\n  f\n"
    b"g: 'h''\n\n  i'\nj: \"k\\\n  \\x41\\u00e9\\0\"\n",
    "documents": b"%YAML 1.1\n--- a\n...\n--- b\n",
    "comments": b"# a\n\n  # b\n",
    "tabs": b"a:\n\tb: 1\n",
    "line-ends": b"a: 1\rb: 2\r\nc: 3\n",
    "old-line-ends": "a: 1\u2028b: 2\u2029c: 3\u0085d: 4\n".encode(),
    "wide": "é: [🙂, '日本', \"\\U0001F642\"]\n".encode(),
    "mark": b"\xef\xbb\xbfa: 1\n",
    "utf-16": "a: 1\n".encode("utf-16"),
    "not-utf-8": b"a: \xff\n",
    "nul": b"a: b\0c\n",
    "open": b"a: [b, {c: \"d\n",
    "nothing": b"- {? : 1, a: , b}\n- ? &x\n  : *x\n- ? !!str\n",
    "key-only": b"a:\n  b\n  c: d\n",
    "long-key": b"? " + b"k" * 1025 + b"\n: x\n",
}

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for path in FILES:
    (folder / str(path.relative_to(ROOT)).replace("/", "-")).write_bytes(path.read_bytes())
for name, text in TEXTS.items():
    (folder / name).write_bytes(text)
