"""Writes the HTTP/2 fuzzer's first inputs: a request, and what a server may say to it.

python3 make_frame_corpus.py FOLDER
"""

import pathlib
import sys


def frame(kind, flags=0, stream=0, payload=b""):
    head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    return head + payload


def said(*frames):
    """The script's octets for a peer that says these frames."""
    octets = b"".join(frames)
    return bytes([4, len(octets)]) + octets


def number(value):
    return value.to_bytes(4, "big")


SUBMIT, CANCEL, PING, SHUTDOWN = b"\x10", b"\x01", b"\x02", b"\xf3"
OK = b"\x88"
SETTINGS = {
    "streams-0": b"\x00\x03" + number(0),
    "streams-1": b"\x00\x03" + number(1),
    "streams-1000": b"\x00\x03" + number(1000),
    "window-0": b"\x00\x04" + number(0),
    "window-max": b"\x00\x04" + number(0x7FFFFFFF),
    "table-0": b"\x00\x01" + number(0),
}
INPUTS = {
    "answer": SUBMIT + said(frame(1, 5, 1, OK)),
    "answer-with-body": SUBMIT + said(frame(1, 4, 1, OK), frame(0, 1, 1, b"{}")),
    "answer-in-pieces": SUBMIT + said(frame(1, 0, 1, b""), frame(9, 4, 1, OK), frame(0, 1, 1)),
    "answer-twice": SUBMIT + said(frame(1, 5, 1, OK), frame(1, 5, 1, OK)),
    "early-hint": SUBMIT + said(frame(1, 4, 1, b"\x08\x03103"), frame(1, 5, 1, OK)),
    "refused": SUBMIT + SUBMIT + said(frame(3, 0, 3, number(7)), frame(1, 5, 1, OK)),
    "reset": SUBMIT + said(frame(3, 0, 1, number(2))),
    "goaway": SUBMIT + SUBMIT + said(frame(7, 0, 0, number(1) + number(0) + b'{"reason":"x"}')),
    "goaway-0-twice": SUBMIT + said(frame(7, 0, 0, number(0) * 2), frame(7, 0, 0, number(0) * 2)),
    "cancelled": SUBMIT + CANCEL + said(frame(1, 5, 1, OK)),
    "ping": PING + said(frame(6, 1, 0, bytes(8)), frame(6, 0, 0, bytes(8))),
    "shutdown": SUBMIT + SHUTDOWN + said(frame(1, 5, 1, OK)),
    "promise": SUBMIT + said(frame(5, 4, 1, number(2) + OK)),
    "windows": SUBMIT + said(frame(8, 0, 0, number(1)), frame(8, 0, 1, number(0x7FFFFFFF))),
    **{name: SUBMIT + said(frame(4, 0, 0, entry)) + SUBMIT for name, entry in SETTINGS.items()},
}

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, octets in INPUTS.items():
    (folder / name).write_bytes(octets)
