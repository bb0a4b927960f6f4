"""Writes the first inputs of the fuzzer of commit metadata: one of each codec, with and without a mark.

python3 make_metadata_corpus.py FOLDER
"""

import pathlib
import sys

LIMIT, TEXT = b"\xff", b"\x00"
BASE = (1_000_000).to_bytes(8, "big")
NONCE, MARK = b"\1\2\3\4", b"\5\6\7\x08\x01"
# By the codec's place among the three: what stands behind the span.
BODIES = {
    "distances": (0, b"\x09" + b"\x02\x00\x03"),
    "runs": (1, b"\x09" + b"\x01\x02\x02\x03"),
    "bitmap": (2, b"\x0a" + b"\x66\x01"),
}
INPUTS = {
    "nothing": TEXT,
    "foreign": TEXT + b"p3D" + b"A" * 16,
    "no-base64": TEXT + b"p1D====",
    "unsealed": TEXT + b"p1DAAAAAAAAAAAAAAAA",
    "empty": b"\x03" + BASE + NONCE + b"\x00",
    "wide": b"\x03" + BASE + NONCE + b"\xff\xff\x7f" + b"\xfe\xff\x7f",
}
for name, (place, body) in BODIES.items():
    # 3, 1 and 2 are the forms without a mark, 6, 4 and 5 those with one.
    INPUTS[name] = bytes([place or 3]) + BASE + NONCE + body
    INPUTS[f"{name}-marked"] = bytes([(place or 3) + 3]) + BASE + NONCE + MARK + body

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, octets in INPUTS.items():
    for limit in (LIMIT, b"\x01"):
        (folder / f"{name}-{limit[0]}").write_bytes(limit + octets)
