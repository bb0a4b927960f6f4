"""Writes the first inputs of the fuzzer of commit metadata: one of each codec, with and without a mark,
an end and recipients.

python3 make_metadata_corpus.py FOLDER
"""

import pathlib
import sys

LIMIT, TEXT = b"\xff", b"\x00"
BASE = (1_000_000).to_bytes(8, "big")
NONCE, MARK, END = b"\1\2\3\4", b"\5\6\7\x08\x01", b"\x09\x0a\x0b\x0c"
# By the codec's place among the three: what stands behind the span.
BODIES = {
    "distances": (0, b"\x09" + b"\x02\x00\x03"),
    "runs": (1, b"\x09" + b"\x01\x02\x02\x03"),
    "bitmap": (2, b"\x0a" + b"\x66\x01"),
}
# Their number, and for each record: the distance, the fingerprint, the number of recipients and the
# form, and the set: runs of 1,000, a bitmap of eight. Both offsets are unsettled in each body.
RUNS = b"\x0d\x0e\x0f\x10" + b"\xcc\x0f" + b"\x00\xf4\x03\xf4\x03"
BITMAP = b"\x11\x12\x13\x14" + b"\x0d" + b"\x2a"
RECIPIENTS = b"\x02" + b"\x00" + RUNS + b"\x0c" + BITMAP
WITH_RECIPIENTS = 16
INPUTS = {
    "nothing": TEXT,
    "foreign": TEXT + b"p9D" + b"A" * 16,
    "recipients-alone": b"\x13" + BASE + NONCE + b"\x00" + RECIPIENTS,
    "recipients-many": b"\x13" + BASE + NONCE + b"\x00" + b"\x20" + (b"\x00" + RUNS) * 32,
    "recipients-settled": b"\x13" + BASE + NONCE + b"\x09" + b"\x01\x02" + RUNS + b"\x02\x00\x03",
    "no-base64": TEXT + b"p1D====",
    "unsealed": TEXT + b"p1DAAAAAAAAAAAAAAAA",
    "empty": b"\x03" + BASE + NONCE + b"\x00",
    "wide": b"\x03" + BASE + NONCE + b"\xff\xff\x7f" + b"\xfe\xff\x7f",
    "end-of-nothing": b"\x09" + BASE + NONCE + END + b"\x00",
}
for name, (place, body) in BODIES.items():
    # 3, 1 and 2 are the forms without either; those with a mark, an end and both follow.
    for number, (suffix, records) in enumerate(
        [("", b""), ("-marked", MARK), ("-ended", END), ("-both", MARK + END)]
    ):
        form = (place or 3) + 3 * number
        INPUTS[name + suffix] = bytes([form]) + BASE + NONCE + records + body
        span, rest = body[:1], body[1:]
        INPUTS[f"{name}{suffix}-recipients"] = (
            bytes([form + WITH_RECIPIENTS]) + BASE + NONCE + records + span + RECIPIENTS + rest
        )

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, octets in INPUTS.items():
    for limit in (LIMIT, b"\x01"):
        (folder / f"{name}-{limit[0]}").write_bytes(limit + octets)
